# SPDX-License-Identifier: GPL-3.0-or-later
"""The system calls that a thread makes for its recorder are none of the program's: its track has
those that strace sees where nothing is recorded."""
import os
import re
import subprocess

import pytest

import fxt

COUNTED = {"getppid", "clock_nanosleep"}


def traced(need, path, *words):
    """The names of what strace sees, from behind execve on."""
    subprocess.run([need("strace"), "-o", path, *words], check=True, capture_output=True,
                   timeout=120)
    names = re.findall(r"^(\w+)\(", path.read_text(), re.M)
    assert names[0] == "execve"
    return names[1:]


def system_calls(trace):
    """Those of the one thread there is: name, first argument, result."""
    (track,) = (one for one in trace.threads.values()
                if one.name and one.name.startswith("system calls"))
    assert not track.instants
    return [(one.name, int(one.args["arguments"].split(", ")[0], 0), one.args.get("result"))
            for one in track.slices()]


def check_counted(calls):
    """Those of tracks_own.c, none missing, none twice."""
    numbers = [number for name, number, _ in calls if name == "getppid"]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    sleeps = [index for index, (name, *_) in enumerate(calls) if name == "clock_nanosleep"]
    due = [index + 1 for index, (name, number, _) in enumerate(calls)
           if name == "getppid" and number % 3 == 0]
    assert [index for index in due if index < len(calls)] == [one for one in sleeps if one]
    return numbers


@pytest.mark.parametrize("flags", [["-static"], []], ids=["static", "dynamic"])
def test_run(record, need, compile, with_tracefs, tmp_path, flags):
    program = compile("tracks_own.c", "-O1", *flags)
    run = record(["--events", "syscalls"], program, 20, before=with_tracefs)
    assert run.status == 0, run.stderr
    calls = system_calls(run.trace)
    assert [name for name, *_ in calls] == traced(need, tmp_path / "log", program, "20")
    assert check_counted([one for one in calls if one[0] in COUNTED]) == list(range(1, 20))


def test_faults(record, compile, with_tracefs):
    """Nor are the page faults that such calls take."""
    program = compile("tracks_own.c", "-O1", "-static")
    run = record(["--events", "faults"], program, 20, before=with_tracefs)
    assert run.status == 0, run.stderr
    (track,) = (one for one in run.trace.threads.values()
                if one.name and one.name.startswith("page faults"))
    places = {one.args.get("function") for one in track.instants}
    assert places and not any(name and "mtrace" in name for name in places), places


def test_attach(mtdb, compile, with_tracefs, tmp_path):
    """All that is mapped and unmapped while a process is entered and left, and what is made again
    since it was stopped."""
    output = tmp_path / "x.fxt"
    read_end, write_end = os.pipe()
    with subprocess.Popen([compile("tracks_own.c", "-O1")]) as program:
        with subprocess.Popen([*with_tracefs, mtdb, "attach", "--for", "200ms", "--events",
                               "syscalls", "-o", output, f"--ready-fd={write_end}",
                               str(program.pid)], stderr=subprocess.PIPE, text=True,
                              pass_fds=[write_end]) as tracer:
            os.close(write_end)
            os.close(read_end)
            _, stderr = tracer.communicate(timeout=120)
        assert program.poll() is None
        program.kill()
    assert tracer.returncode == 0, stderr
    calls = system_calls(fxt.read(output))
    # A sleep that began before, and goes on.
    if calls[0][0] == "restart_syscall":
        calls.pop(0)
    assert {name for name, *_ in calls} == COUNTED
    assert check_counted(calls), stderr
    # The last one may have been left within.
    assert all(result in ("0", None) for name, _, result in calls[:-1] if name != "getppid")


def test_gdb(need, mtdb, build, compile, with_tracefs, tmp_path):
    """From a breakpoint on, to another one."""
    if not (build / "mtrace.py").exists():
        pytest.skip("the plugin is not built")
    program = compile("tracks_own.c", "-O1")
    saved, output = tmp_path / "x.perf", tmp_path / "x.fxt"
    commands = [f"source {build / 'mtrace.py'}", "break main", "run 20",
                "set mtrace events syscalls", "mtrace start", "break half", "continue",
                f"mtrace save {saved}"]
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run([*with_tracefs, need("gdb"), "-nx", "-batch", *words, program],
                          text=True, check=False, capture_output=True, timeout=120,
                          stdin=subprocess.DEVNULL)
    assert saved.exists(), done.stdout + done.stderr
    subprocess.run([mtdb, "decode", "-o", output, saved], check=True, capture_output=True,
                   timeout=120)
    calls = system_calls(fxt.read(output))
    assert {name for name, *_ in calls} == COUNTED, calls
    assert check_counted(calls) == list(range(1, 10))
