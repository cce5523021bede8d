# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb's prompt follows forks and execs as GDB does, and what it lets go runs on as if there had been
no debugger."""
import os
import signal
import subprocess
import time

import pytest
from tests.cli.same import same, words_of
from tests.processes import state_of

PATIENCE = 60

# Of the first letter of the arguments: how the child ended, as wait() tells it, and the parent's own.
FINE = "400 6"


@pytest.fixture(scope="module", name="program")
def compile_program(compile):
    return compile("debug_follow.c", "-O0")


def wait_for_results(path, count):
    """Lines of parents that were let go."""
    deadline = time.monotonic() + PATIENCE
    while True:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= count:
            return lines
        assert time.monotonic() < deadline, f"a parent did not come to its end: {lines}"
        time.sleep(0.01)


# A start of GDB for each: it keeps breakpoints' places in programs that ended, and after a followed
# vfork() comes to none at all.
CHILD = "set follow-fork-mode child\n"
FOLLOW = [
    ("f", "show follow-fork-mode\n" + CHILD + "break work\nrun\nbt\ninfo threads\nthread\nthread 1\n"
          "thread 2.1\nthread 1.1\nthread 2\nthread 7.1\nthread x\nthread apply all bt\nthread apply 2.1-2 print n\n"
          "info inferiors\ninfo program\nfinish\ncontinue\nprint $_exitcode\ninfo inferiors\nthread\nset args f\nrun\n"),
    ("f", CHILD + "break main\nrun\n" + "next\n" * 6 + "stepi\ninfo threads\ncontinue\n"),
    ("f", "break work\nrun\n" + CHILD + "continue\n"),
    ("v", CHILD + "break work\nrun\nbt\ninfo inferiors\nfinish\ncontinue\ninfo inferiors\n"),
    ("v", CHILD + "break main\nrun\n" + "next\n" * 7),
    ("v", "break work\nrun\nbt\ncontinue\n"),
    ("v /bin/true", CHILD + "break work\nbreak main\nrun\ncontinue\ncontinue\ninfo breakpoints\nrun\n"),
]


def test_forks(need, mtdb, program, tmp_path, monkeypatch):
    gdb, results = need("gdb"), tmp_path / "results"
    monkeypatch.setenv("RESULT", str(results))
    for script in FOLLOW:
        same(gdb, mtdb, [*words_of([script]), program])
    # In the first one the second run's child is killed in the end, in the fifth both sides are.
    lines = wait_for_results(results, 14)
    assert sorted(lines) == sorted(["0 6", "9 6"] * 2 + [FINE] * 10)


EXEC = [
    ("{static}", "break main\nrun\ncontinue\nbt\ninfo locals\ninfo threads\ncontinue\nrun\nprint $_exitcode\n"),
    ("/nonexistent", "break main\nrun\ncontinue\n"),
    ("{script}", "break main\nbreak 7\ndisable 2\nrun\ncontinue\ninfo breakpoints\ndelete\nrun\n"),
    ("{static}", "set follow-exec-mode new\nshow follow-exec-mode\nstart\ncontinue\ninfo threads\nrun\n"
                 "info inferiors\n"),
]


def test_execs(need, mtdb, compile, tmp_path):
    """Of a static program, of none, of a script."""
    files = {"dynamic": compile("debug_execs.c", "-O0"), "script": tmp_path / "script",
             "static": compile("debug_execs.c", "-O0", "-static", output="static")}
    files["script"].write_text("#!/bin/sh\nexit 4\n")
    files["script"].chmod(0o755)
    scripts = [(arguments.format(**files), script.format(**files)) for arguments, script in EXEC]
    gdb = need("gdb")
    for script in scripts:
        same(gdb, mtdb, [*words_of([script]), files["dynamic"]])


def run_mtdb(mtdb, program, *lines):
    words = [word for line in lines for word in ("-ex", line)]
    return subprocess.run([mtdb, "-batch", *words, program], capture_output=True, text=True, timeout=PATIENCE,
                          check=True, stdin=subprocess.DEVNULL).stdout


@pytest.mark.parametrize("end", ["kill", "detach", "quit"])
@pytest.mark.parametrize("how", ["f", "v"])
def test_nothing_is_left_behind(mtdb, program, tmp_path, monkeypatch, how, end):
    """GDB keeps the parent of a vfork() for ever when its child is killed or let go."""
    results = tmp_path / "results"
    monkeypatch.setenv("RESULT", str(results))
    # What was started is killed in the end, and a parent that waits for its child was started.
    expected = {"kill": ["9 6"], "detach": [FINE], "quit": ["9 6"] if how == "f" else []}[end]
    said = run_mtdb(mtdb, program, f"set args {how}", "set follow-fork-mode child", "break work", "run", "info inferiors",
                    "print n", end)
    assert "$1 = 2\n" in said
    assert wait_for_results(results, len(expected)) == expected


@pytest.mark.parametrize("mode", ["child", "parent"])
@pytest.mark.parametrize("arguments", ["f", "v", "c", "v {program}", "f {program}"])
def test_recording_follows(mtdb, program, tmp_path, monkeypatch, mode, arguments):
    """What is followed is recorded; neither side of the fork is harmed by what was patched in."""
    results = tmp_path / "results"
    monkeypatch.setenv("RESULT", str(results))
    monkeypatch.chdir(tmp_path)
    becomes = "{" in arguments
    said = run_mtdb(mtdb, program, f"set args {arguments.format(program=program)}", f"set follow-fork-mode {mode}",
                    "mtrace start", "tbreak work", "run", "delete", "continue", "mtrace history", "info inferiors")
    history = said[said.index("-- history"):]
    # What vfork() made has no memory to be recorded in before it is another program.
    seen = " tell " if mode == "parent" else " vfork " if arguments == "v" else " _exit "
    assert seen in history, said
    assert "exited normally]" in said or "exited with code 04]" in said
    # The child, which is the same program once more, has a child of its own.
    expected = [FINE, "0 6"] if becomes else [FINE]
    assert sorted(wait_for_results(results, len(expected))) == sorted(expected)


@pytest.mark.parametrize("end", ["detach", "continue", "kill"])
@pytest.mark.parametrize("mode", ["child", "parent"])
@pytest.mark.parametrize("arguments", ["f", "v", "c", "v {program}"])
def test_attached(mtdb, program, tmp_path, monkeypatch, arguments, mode, end):
    """Who was there before the debugger goes on whatever becomes of its child."""
    results = tmp_path / "results"
    monkeypatch.setenv("RESULT", str(results))
    words = [program, *arguments.format(program=program).split()]
    with subprocess.Popen(words, env={**os.environ, "STOPS": "1"}) as process:
        while state_of(process.pid) != "T":
            assert process.poll() is None
            time.sleep(0.01)
        lines = [f"attach {process.pid}", f"set follow-fork-mode {mode}", "break work", "continue", "continue", "print n"]
        said = run_mtdb(mtdb, program, *lines, "delete", end)
        assert f"$1 = {2 if mode == 'child' else 3}\n" in said, said
        killed = end == "kill"
        os.kill(process.pid, signal.SIGCONT)
        if mode == "parent" and killed:
            assert process.wait(PATIENCE) == -signal.SIGKILL
            return
        assert process.wait(PATIENCE) == 0
    expected = ["9 6"] if killed else [FINE, "0 6"] if "{" in arguments else [FINE]
    assert sorted(wait_for_results(results, len(expected))) == sorted(expected)


def test_off_is_refused(mtdb, program):
    words = ["-ex", "set detach-on-fork off", "-ex", "show detach-on-fork", program]
    done = subprocess.run([mtdb, "-batch", *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "one process at a time" in done.stderr and "is on." in done.stdout
