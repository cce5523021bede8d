# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb is killed while a process is attached, at any moment: the process goes on, and so do its
children; and the next one to attach finds it in order."""
import contextlib
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import FIXTURES
from tests.calls.code import changed, ours

# Its first instruction is long enough for a jump.
LINE = 1 + [" = malloc(100)" in line for line in
            (FIXTURES / "calls_survive.c").read_text().splitlines()].index(True)
# Its instruction is too short for one.
SHORT = 1 + ["sum += i;" in line for line in
             (FIXTURES / "calls_survive.c").read_text().splitlines()].index(True)
TRIGGERS = {
    "none": [],
    "entry": ["--trigger", "work"],
    "line": ["--trigger", f"calls_survive.c:{LINE}"],
    "condition": ["--trigger", "work if n > 1000", "--trigger", "line if *(long *)n == 3"],
    "both": ["--trigger", "line", "--trigger", "work"],
}


@pytest.fixture(name="start")
def make_start(compile):
    library = compile("calls_part.c", "-O1", "-shared", "-fPIC", output="calls_part.so")
    small = compile("calls_survive.c", "-O1", "-pthread")

    @contextlib.contextmanager
    def start(*words, program=small):
        with subprocess.Popen([program, library, *words], text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                yield process
            finally:
                process.kill()

    return start


@pytest.fixture(name="survivor")
def start_survivor(start):
    with start() as process:
        yield process


@pytest.fixture(name="attach")
def start_attach(mtdb, tmp_path):
    """Attaches; the pipe tells when recording has begun."""

    def start(pid, *options):
        ours, its = os.pipe()
        process = subprocess.Popen(
            [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
             "--max=0", f"--ready-fd={its}", *options, "-p", str(pid)],
            text=True, stderr=subprocess.PIPE, pass_fds=[its])
        os.close(its)
        return process, os.fdopen(ours)

    return start


def end(process):
    out, _ = process.communicate("\n", timeout=60)
    assert (out, process.returncode) == ("0 wrong\n", 5)


def kill_after(attach, survivor, seconds, *options):
    mtdb, pipe = attach(survivor.pid, *options)
    with mtdb, pipe:
        assert pipe.read() == "recording\n", mtdb.communicate()
        time.sleep(seconds)
        mtdb.kill()
    time.sleep(0.05)
    assert survivor.poll() is None


def check_whole(attach, survivor):
    for _ in range(5):
        mtdb, pipe = attach(survivor.pid, "--for=200ms")
        with mtdb, pipe:
            _, messages = mtdb.communicate(timeout=60)
            assert mtdb.returncode == 0, messages
        assert [path for path in changed(survivor.pid) if not path.endswith("calls_part.so")] == []
        # As long as a thread is in what is left, that is for who comes next.
        if not list(ours(survivor.pid)):
            return
    assert list(ours(survivor.pid)) == []


@pytest.mark.parametrize("triggers", TRIGGERS)
def test_killed_while_recording(survivor, attach, triggers):
    for i in range(4):
        kill_after(attach, survivor, 0.1 + 0.07 * i, *TRIGGERS[triggers])
    check_whole(attach, survivor)
    end(survivor)


def kill_at_any_time(attach, survivor, rounds):
    for i in range(rounds):
        mtdb, pipe = attach(survivor.pid, "--trigger", "work")
        with mtdb, pipe:
            time.sleep(random.uniform(0, 0.3))
            mtdb.kill()
        assert survivor.poll() is None, f"round {i}"
    check_whole(attach, survivor)


def test_killed_at_any_time(survivor, attach):
    kill_at_any_time(attach, survivor, 10)
    end(survivor)


@pytest.mark.soak
def test_killed_at_any_time_often(survivor, attach):
    kill_at_any_time(attach, survivor, 300)
    end(survivor)


def test_a_child_that_is_born_while_its_parent_is_taken(survivor, attach, compile, monkeypatch):
    """Its memory is a copy of a time before the attach, with what a killed tracer left in it."""
    kill_after(attach, survivor, 0.1)
    preload = compile("slow_seize.c", "-shared", "-fPIC", "-D_GNU_SOURCE", output="slow_seize.so")
    monkeypatch.setenv("LD_PRELOAD", str(preload))
    check_whole(attach, survivor)
    end(survivor)


@pytest.fixture(name="attach_and_die")
def make_attach_and_die(compile, mtdb, tmp_path):
    """Attaches and lets go, but dies after so many of the things that it does to the process.
    Without a number: how many there are."""
    preload = compile("kill_at.c", "-shared", "-fPIC", output="kill_at.so")

    def attach_and_die(pid, number=None, *options):
        count = tmp_path / "count"
        environment = {**os.environ, "LD_PRELOAD": str(preload), "KILL_COUNT": str(count)}
        if number:
            environment["KILL_AT"] = str(number)
        done = subprocess.run(
            [mtdb, "attach", "--engine", "calls", "-o", tmp_path / "out.json", "--size", "16k",
             "--for=50ms", *options, "-p", str(pid)],
            env=environment, text=True, stderr=subprocess.PIPE, timeout=120, check=False)
        assert done.returncode in ((0, -signal.SIGKILL) if number else (0,)), done.stderr
        return None if number else int(count.read_text())

    return attach_and_die


def kill_step_by_step(survivor, attach_and_die, rounds, *options):
    count = attach_and_die(survivor.pid, None, *options)
    for i in range(rounds):
        number = random.randint(i * count // rounds, (i + 1) * count // rounds) + 1
        attach_and_die(survivor.pid, number, *options)
        time.sleep(0.01)
        assert survivor.poll() is None, f"killed after {number} of {count}"


def test_killed_after_each_thing_it_does(survivor, attach_and_die, attach):
    kill_step_by_step(survivor, attach_and_die, 25, "--trigger", "work")
    check_whole(attach, survivor)
    end(survivor)


def test_killed_while_a_large_text_comes_and_goes(start, compile, attach_and_die, attach):
    large = compile("calls_survive.c", "-O1", "-pthread", FIXTURES / "large_text.c", output="large_survive")
    with start(program=large) as survivor:
        kill_step_by_step(survivor, attach_and_die, 25)
        check_whole(attach, survivor)
        end(survivor)


def test_killed_while_a_small_stack_is_borrowed(compile, attach_and_die, attach):
    """Below it lies what another thread has."""
    program = compile("calls_small_stack.c", "-O1", "-pthread")
    with subprocess.Popen([program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as survivor:
        assert survivor.stdout.readline() == "ready\n"
        kill_step_by_step(survivor, attach_and_die, 25)
        check_whole(attach, survivor)
        end(survivor)


@pytest.mark.soak
@pytest.mark.parametrize("options", [(), ("--trigger", "work"), ("--timestamps", "full"),
                                     ("--modules", "calls_survive*")])
@pytest.mark.parametrize("words", [(), ("busy",), ("blocked",)])
def test_killed_after_each_thing_it_does_often(start, attach_and_die, attach, words, options):
    with start(*words) as survivor:
        kill_step_by_step(survivor, attach_and_die, 100, *options)
        check_whole(attach, survivor)
        end(survivor)


def test_blocked_signals(start, attach):
    """What tells us of a breakpoint does not come through; each call hits it all the same."""
    with start("blocked") as survivor:
        kill_after(attach, survivor, 0.2, "--trigger", "work")
        mtdb, pipe = attach(survivor.pid, "--for=300ms", "--trigger", "work")
        with mtdb, pipe:
            _, messages = mtdb.communicate(timeout=60)
            assert mtdb.returncode == 0, messages
        end(survivor)


def test_no_room_for_a_jump(survivor, attach):
    """A breakpoint instruction would outlive its tracer."""
    mtdb, pipe = attach(survivor.pid, "--trigger", f"calls_survive.c:{SHORT}")
    with mtdb, pipe:
        assert pipe.read() == "recording\n", mtdb.communicate()
        mtdb.kill()
        assert "no jump fits there" in mtdb.communicate()[1]
    end(survivor)


def test_another_program(survivor, attach):
    """The process became another program while it was traced."""
    mtdb, pipe = attach(survivor.pid)
    with mtdb, pipe:
        assert pipe.read() == "recording\n", mtdb.communicate()
        survivor.stdin.write("again\n")
        survivor.stdin.flush()
        assert survivor.stdout.readline() == "ready\n"
        time.sleep(0.1)
        mtdb.kill()
    time.sleep(0.1)
    end(survivor)


def test_other_modules_are_recorded_next(survivor, attach):
    """What the first one left in modules that the second one does not touch runs on."""
    kill_after(attach, survivor, 0.1)
    mtdb, pipe = attach(survivor.pid, "--for=100ms", "--modules", "calls_survive")
    with mtdb, pipe:
        _, messages = mtdb.communicate(timeout=60)
        assert mtdb.returncode == 0, messages
    time.sleep(0.1)
    end(survivor)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_asked_to_end(survivor, attach, number):
    """It lets go, whenever it is asked to; the others ask too early."""
    for i in range(4):
        mtdb, pipe = attach(survivor.pid, "--trigger", "work")
        with mtdb, pipe:
            if i == 0:
                assert pipe.read() == "recording\n", mtdb.communicate()
            else:
                time.sleep(0.04 * i)
            mtdb.send_signal(number)
            _, messages = mtdb.communicate(timeout=60)
            assert mtdb.returncode in (0, -number, 128 + number), messages
        assert survivor.poll() is None
    check_whole(attach, survivor)
    end(survivor)


def test_asked_to_end_before_it_has_begun(survivor, mtdb, need, tmp_path):
    """Where plans are read fast enough, nothing looks for Ctrl-C before the process is there."""
    command = [need("gdb"), "-nx", "-batch", "-ex", "tbreak ending_hold", "-ex", "run",
               "-ex", "signal SIGINT", "--args", mtdb, "attach", "--engine", "calls",
               "-o", tmp_path / "out.json", "-p", str(survivor.pid)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)
    assert "exited normally" in done.stdout or "planning the files: interrupted" in done.stderr, done
    end(survivor)


def is_waiting_in(pid, function):
    """Whether a thread of it sleeps in a function of the kernel's."""
    names = [(task / "wchan").read_text()
             for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    if set(names) <= {"", "0"}:
        pytest.skip("the kernel does not tell where threads sleep (/proc/PID/wchan)")
    return function in names


def test_while_libraries_are_loaded(compile, attach, tmp_path):
    """The loader's list is not whole, and nothing is known of libraries: no breakpoint yet."""
    needed = tmp_path / "needed.so"
    shutil.copy(compile("calls_part.c", "-shared", "-fPIC", output="calls_part.so"), needed)
    library = compile("calls_part.c", "-shared", "-fPIC", "-Wl,--no-as-needed", needed,
                      output="calls_needs.so")
    program = compile("calls_survive.c", "-O1", "-pthread")
    with subprocess.Popen([program, library], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as survivor:
        assert survivor.stdout.readline() == "ready\n"
        kill_after(attach, survivor, 0)
        needed.unlink()
        os.mkfifo(needed)
        while not is_waiting_in(survivor.pid, "wait_for_partner"):
            time.sleep(0.01)
        mtdb, pipe = attach(survivor.pid, "--trigger", "work")
        with mtdb, pipe:
            _, messages = mtdb.communicate(timeout=60)
            assert "is loading or unloading libraries" in messages
        needed.open("w").close()
        shutil.copy(library, tmp_path / "new.so")
        (tmp_path / "new.so").rename(needed)
        check_whole(attach, survivor)
        survivor.kill()


@pytest.mark.parametrize("kind", ["dynamic", "static", "musl"])
def test_system_calls_that_are_made_again(compile, need, attach, kind):
    """Their threads stand behind them, at what may be a patch; the kernel takes them back from where they are then."""
    flags = {"dynamic": [], "static": ["-static"],
             "musl": ["-static", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]}[kind]
    compiler = need("musl-gcc", "musl-tools") if kind == "musl" else None
    program = compile("calls_blocked.c", "-O1", "-pthread", *flags, compiler=compiler)
    with subprocess.Popen([program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(5):
            kill_after(attach, process, 0)
        mtdb, pipe = attach(process.pid, "--for=1ms")
        with mtdb, pipe:
            assert pipe.read() == "recording\n", mtdb.communicate()
        out, _ = process.communicate("\n", timeout=60)
        assert (out, process.returncode) == ("0 returned\n", 5)
