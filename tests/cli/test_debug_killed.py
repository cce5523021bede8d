# SPDX-License-Identifier: GPL-3.0-or-later
"""The debugger is killed while an attached program runs, at any moment: the program goes on, and nothing is left in
its text."""
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import pytest

from tests.calls.code import code_of
from tests.processes import all_processes, state_of

PATIENCE = 120
LEND_BYTES = 320  # of code behind a file's own that threads may still be in, and a frame: core/process/inject.h
VERBS = ["continue", "next", "step", "finish", "next", "stepi", "nexti", "until", "thread 2", "step", "next", "finish"]
SCRIPTS = {
    "false": ["break leaf if x == 1 && x == 2", "break round_of if x == 1 && x == 2", "continue"],
    "verbs": ["break leaf", "break tree if depth == 2"] + VERBS * 50,
    "steps": ["break leaf", "continue", "delete"] + ["step", "next"] * 300,
    "watched": ["watch sums", "hbreak tree if depth == 9", "break leaf if x == 1 && x == 2", "continue"],
}


def changed(pid):
    """(file, address in it) of what differs from it, but for what lies in the zeros behind a file's code."""
    places = []
    for path, offset, there in code_of(pid):
        own = pathlib.Path(path).read_bytes()[offset : offset + len(there)][:-LEND_BYTES]
        if there[: len(own)] != own:
            places += [(path, hex(offset + i)) for i in range(len(own)) if there[i] != own[i]]
    return places


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.002)


@pytest.fixture(name="start")
def make_start(compile):
    @contextlib.contextmanager
    def start(source, *words, flags=()):
        with subprocess.Popen([compile(source, "-O1", "-pthread", *flags), *words], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    return start


@pytest.fixture(name="busy")
def start_busy(start):
    with start("debugged_threads.c", flags=["-DTHREADS=2"]) as process:
        wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 3)
        yield process


def end(process):
    process.send_signal(signal.SIGUSR1)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (out, process.returncode) == ("3 of 3 sums are right\n", 0)


def is_there(pid):
    return state_of(pid) not in "ZX"


@pytest.fixture(name="attach")
def make_attach(mtdb, tmp_path):
    @contextlib.contextmanager
    def attach(pid, lines, environment=None):
        words = [word for line in lines for word in ("-ex", line)]
        with tempfile.TemporaryFile("w+") as out, subprocess.Popen(
                [mtdb, "-nx", "-p", str(pid), *words], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                env=environment, cwd=tmp_path) as debugger:
            debugger.told = lambda: os.pread(out.fileno(), 1 << 20, 0).decode()
            try:
                yield debugger
            finally:
                debugger.kill()

    return attach


def not_traced(pid):
    return "TracerPid:\t0" in pathlib.Path(f"/proc/{pid}/status").read_text()


def kill_while_it_runs(attach, busy, lines, rounds):
    for i in range(rounds):
        with attach(busy.pid, lines) as debugger:
            wait_until(lambda: changed(busy.pid) or debugger.poll() is not None
                       or "Old value" in debugger.told())  # what is watched changed at once
            time.sleep(random.uniform(0, 0.02))  # any moment will do
            debugger.kill()
        wait_until(lambda: not is_there(busy.pid) or changed(busy.pid) == [])
        assert busy.poll() is None, f"round {i}"


@pytest.mark.parametrize("script", SCRIPTS)
def test_killed_while_the_program_runs(attach, busy, script):
    kill_while_it_runs(attach, busy, SCRIPTS[script], 2)
    end(busy)


@pytest.mark.soak
@pytest.mark.parametrize("script", SCRIPTS)
def test_killed_while_the_program_runs_often(attach, busy, script):
    kill_while_it_runs(attach, busy, SCRIPTS[script], 50)
    end(busy)


@pytest.mark.parametrize("engine", ["calls", "sample"])
@pytest.mark.parametrize("script", ["false", "steps", "watched"])
def test_recorded_behind_a_killed_one(attach, busy, mtdb, tmp_path, script, engine):
    """What it left for the threads, and they have not come to yet, is neither a signal of theirs nor a crash."""
    for _ in range(3):
        with attach(busy.pid, SCRIPTS[script]) as debugger:
            wait_until(lambda: "Continuing" in debugger.told())
            time.sleep(random.uniform(0, 0.1))  # any moment will do
            debugger.kill()
        done = subprocess.run([mtdb, "attach", "--engine", engine, "--for", "50ms", "-o", tmp_path / "out.fxt", "-p",
                               str(busy.pid)], capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0 and "SIG" not in done.stdout + done.stderr, done.stderr
    end(busy)


def test_killed_while_it_is_recorded(attach, busy):
    """Patches stay; with the breakpoints that lay over them gone, they are whole."""
    lines = ["mtrace start", "break leaf if x == 1 && x == 2", "break round_of if x == 1 && x == 2", "continue"]
    for i in range(3):
        with attach(busy.pid, lines) as debugger:
            wait_until(lambda: "Continuing" in debugger.told())
            time.sleep(random.uniform(0, 0.2))  # any moment will do
            debugger.kill()
        wait_until(lambda: not is_there(busy.pid) or not_traced(busy.pid))
        assert busy.poll() is None, f"round {i}"
    end(busy)


@pytest.fixture(name="attach_and_die")
def make_attach_and_die(compile, attach, tmp_path):
    """Goes through its script and detaches, but dies after so many of the things that it does to the process.  Without
    a number: how many there are.  SIGNALLED: sent to the process when it is continued."""
    preload = compile("kill_at.c", "-shared", "-fPIC", output="kill_at.so")

    def attach_and_die(pid, lines, number=None, signalled=0):
        count = tmp_path / "count"
        environment = {**os.environ, "LD_PRELOAD": str(preload), "KILL_COUNT": str(count)}
        if number:
            environment["KILL_AT"] = str(number)
        with attach(pid, [*lines, "detach", "quit"], environment) as debugger:
            if signalled:
                wait_until(lambda: "Continuing" in debugger.told())
                os.kill(pid, signalled)
            status = debugger.wait(timeout=PATIENCE)
            assert status in ((0, -signal.SIGKILL) if number else (0,)), debugger.told()
        return None if number else int(count.read_text())

    return attach_and_die


def kill_step_by_step(attach_and_die, process, lines, rounds):
    count = attach_and_die(process.pid, lines)
    for i in range(rounds):
        number = random.randint(i * count // rounds, (i + 1) * count // rounds) + 1
        attach_and_die(process.pid, lines, number)
        wait_until(lambda: not is_there(process.pid) or changed(process.pid) == [])
        time.sleep(0.01)
        assert process.poll() is None, f"killed after {number} of {count}"


SHORT = ["break leaf if x % 64 == 0", "continue", "next", "step", "finish", "stepi", "delete", "next"]


def test_killed_after_each_thing_it_does(attach_and_die, busy):
    kill_step_by_step(attach_and_die, busy, SHORT, 12)
    end(busy)


@pytest.mark.soak
def test_killed_after_each_thing_it_does_often(attach_and_die, busy):
    kill_step_by_step(attach_and_die, busy, SHORT, 200)
    end(busy)


@pytest.mark.parametrize("lines", [["thread 2", "stepi"], ["thread 3", "next"], ["break leaf", "continue", "step"]])
def test_killed_before_it_lets_go(attach_and_die, busy, lines):
    """A thread that was stepped last would be stepped on, in a program that does not expect SIGTRAP any more."""
    for _ in range(3):
        attach_and_die(busy.pid, lines, "detach")
        wait_until(lambda: not is_there(busy.pid) or not_traced(busy.pid))
    end(busy)


@pytest.mark.parametrize("number", range(5, 10))
def test_killed_as_its_handler_learns(start, attach, attach_and_die, number):
    """The next session knows all that this one's handler knows."""
    with start("debugged_traps.c", "caught") as program:
        assert program.stdout.readline() == "ready\n"
        lines = ["break work", "break debugged_traps.c:41", "continue", "delete 1", "continue"]
        attach_and_die(program.pid, lines, f"word{number}")
        with attach(program.pid, ["stepi", "detach", "quit"]) as debugger:
            assert debugger.wait(timeout=PATIENCE) == 0
            assert "Should mtdb be killed" not in debugger.told()
        program.send_signal(signal.SIGUSR1)
        out, _ = program.communicate(timeout=PATIENCE)
        assert (out, program.returncode) == TRAPS["caught"]


SURVIVOR = ["break work", "continue", "next", "finish", "stepi", "delete", "next"]


@pytest.mark.soak
@pytest.mark.parametrize("words", [(), ("busy",), ("blocked",)])
def test_killed_with_all_kinds_of_threads(start, compile, attach_and_die, words):
    """They fork, load libraries, and block signals."""
    library = compile("calls_part.c", "-O1", "-shared", "-fPIC", output="calls_part.so")
    with start("calls_survive.c", library, *words) as survivor:
        assert survivor.stdout.readline() == "ready\n"
        kill_step_by_step(attach_and_die, survivor, SURVIVOR, 60)
        out, _ = survivor.communicate("\n", timeout=PATIENCE)
        assert (out, survivor.returncode) == ("0 wrong\n", 5)


TRAPS = {
    "caught": ("1 traps\n2 traps\n", 0),
    "ignored": ("0 traps\n", -signal.SIGTRAP),
    "default": ("", -signal.SIGTRAP),
}


def catches_traps(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> signal.SIGTRAP - 1 & 1)


@pytest.mark.parametrize("how", TRAPS)
@pytest.mark.parametrize("lets_go", [False, True], ids=["killed", "detached"])
def test_traps_of_its_own(start, attach, how, lets_go):
    """They mean to the program what they meant before."""
    with start("debugged_traps.c", how) as program:
        assert program.stdout.readline() == "ready\n"
        lines = ["tbreak work", "continue", "detach", "quit"] if lets_go else ["break work if n == 0", "continue"]
        with attach(program.pid, lines) as debugger:
            if lets_go:
                assert debugger.wait(timeout=PATIENCE) == 0
                assert catches_traps(program.pid) == (how == "caught")
            else:
                wait_until(lambda: changed(program.pid))
        wait_until(lambda: changed(program.pid) == [])
        program.send_signal(signal.SIGUSR1)
        out, _ = program.communicate(timeout=PATIENCE)
        assert (out, program.returncode) == TRAPS[how]


PASSED = "handle SIGTRAP nostop noprint pass"


def test_int3s_of_its_own(start, attach):
    """Also those that threads have come to when they are let go."""
    with start("debugged_int3s.c") as program:
        assert program.stdout.readline() == "ready\n"
        for _ in range(6):
            with attach(program.pid, [PASSED, "stepi", "stepi", "detach", "quit"]) as debugger:
                assert debugger.wait(timeout=PATIENCE) == 0
        program.send_signal(signal.SIGUSR1)
        out, _ = program.communicate(timeout=PATIENCE)
        assert (out, program.returncode) == ("2 of 2 got their traps\n", 0)


@pytest.mark.parametrize("steps", [1, 3])
def test_let_go_within_our_handler(start, attach, steps):
    """It passes on a SIGTRAP of the program's, and is there as long as a thread is in it."""
    with start("debugged_traps.c", "caught") as program:
        assert program.stdout.readline() == "ready\n"
        lines = ["handle SIGTRAP pass", "handle SIGUSR1 nostop noprint pass", "break work if n == 0", "continue",
                 *["stepi"] * steps, "detach", "quit"]
        with attach(program.pid, lines) as debugger:
            wait_until(lambda: changed(program.pid))
            program.send_signal(signal.SIGUSR1)
            assert debugger.wait(timeout=PATIENCE) == 0
        out, _ = program.communicate(timeout=PATIENCE)
        assert (out, program.returncode) == TRAPS["caught"]


QUIET = "handle SIGUSR2 nostop noprint pass"
STEPPED = [QUIET, "set can-use-hw-watchpoints 0", "watch failures", "continue"]


def test_killed_as_it_steps_over_exec(start, attach_and_die):
    """The new program does not expect SIGTRAP."""
    with start("debugged_traps.c", "execs") as program:
        assert program.stdout.readline() == "ready\n"
        attach_and_die(program.pid, [*STEPPED, "continue"], "exec", signal.SIGUSR2)
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGUSR1)
        out, _ = program.communicate(timeout=PATIENCE)
        assert (out, program.returncode) == TRAPS["caught"]


def test_steps_over_exec_that_fails(start, attach):
    with start("debugged_traps.c", "execs") as program:
        assert program.stdout.readline() == "ready\n"
        with attach(program.pid, [*STEPPED, "detach", "quit"]) as debugger:
            wait_until(lambda: "Continuing" in debugger.told())
            program.send_signal(signal.SIGUSR2)
            assert debugger.wait(timeout=PATIENCE) == 0
            assert "Old value = 0\nNew value = 1\n" in debugger.told()
        assert program.stdout.readline() == "ready\n"


@pytest.mark.parametrize("mode", ["parent", "child"])
@pytest.mark.parametrize("how", ["forks", "vforks"])
def test_forks(start, attach, how, mode):
    """Nothing is left in whom the debugger does not follow, and the other one outlives it."""
    with start("debugged_traps.c", how) as program:
        assert program.stdout.readline() == "ready\n"
        with attach(program.pid, [QUIET, f"set follow-fork-mode {mode}", "break work if n == 0", "continue"]) as debugger:
            wait_until(lambda: changed(program.pid))
            program.send_signal(signal.SIGUSR2)
            child = next(int(line) for line in program.stdout if line.strip().isdigit())
            followed, other = (program.pid, child) if mode == "parent" else (child, program.pid)
            wait_until(lambda: changed(followed))
            assert catches_traps(followed)
            wait_until(lambda: changed(other) == [] and not catches_traps(other))
            debugger.kill()
        wait_until(lambda: changed(followed) == [])
        assert is_there(program.pid) and is_there(child)
        os.kill(child, signal.SIGKILL)


def test_becomes_another_program(start, compile, attach):
    library = compile("calls_part.c", "-O1", "-shared", "-fPIC", output="calls_part.so")
    with start("calls_survive.c", library) as survivor:
        assert survivor.stdout.readline() == "ready\n"
        with attach(survivor.pid, ["break work if n == -1", "continue"]) as debugger:
            wait_until(lambda: changed(survivor.pid))
            survivor.stdin.write("again\n")
            survivor.stdin.flush()
            assert survivor.stdout.readline() == "ready\n"
            wait_until(lambda: changed(survivor.pid) and catches_traps(survivor.pid))
            debugger.kill()
        wait_until(lambda: changed(survivor.pid) == [])
        out, _ = survivor.communicate("\n", timeout=PATIENCE)
        assert out == "0 wrong\n" and survivor.returncode in (5, 6)  # 6: it ended before all of its threads worked


def test_sandbox(start, attach):
    """System calls in its name might end it: the user is told what that means."""
    with start("debugged_traps.c", "sandbox") as program:
        assert program.stdout.readline() == "ready\n"
        with attach(program.pid, ["tbreak work", "continue", "detach", "quit"]) as debugger:
            assert debugger.wait(timeout=PATIENCE) == 0
            assert "warning: The program is in a sandbox (seccomp).\nShould mtdb be killed while" in debugger.told()
        assert changed(program.pid) == [] and not catches_traps(program.pid)


def test_nobody_stays_behind(attach, busy):
    """Neither the guardian of who is killed, nor of who lets go."""
    def guardians():
        return [pid for pid, name, _ in all_processes()
                if name == b"mt-guardian" and f"/proc/{busy.pid}/mem" in memories(pid)]

    def memories(pid):
        with contextlib.suppress(OSError):
            return [os.readlink(f"/proc/{pid}/fd/1")]
        return []

    with attach(busy.pid, SCRIPTS["false"]) as debugger:
        wait_until(guardians)
        debugger.kill()
    wait_until(lambda: not guardians())
    with attach(busy.pid, ["tbreak leaf", "continue", "detach", "quit"]) as debugger:
        assert debugger.wait(timeout=PATIENCE) == 0
        assert not guardians()
    end(busy)
