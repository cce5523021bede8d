# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb's prompt in a terminal: whose Ctrl-C is, what ends from outside, and what is left behind."""
import os
import signal
import subprocess
import termios
import time

import pexpect
import pytest
from terminal import end_child, keep_output

from tests.calls.code import changed
from tests.processes import ticks_of

PROMPT = "(mtdb) "
PATIENCE = 60


@pytest.fixture
def endless(compile):
    return compile("debug_waits.c", "-O0")


@pytest.fixture
def terminal(mtdb, tmp_path):
    """terminal(program): mtdb at its prompt, as a person sees it."""
    opened = []

    def run(*words):
        environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "HOME": str(tmp_path)}
        child = pexpect.spawn(
            str(mtdb), [str(word) for word in words], preexec_fn=keep_output, encoding="utf-8",
            timeout=PATIENCE, env=environment, cwd=tmp_path
        )
        opened.append(child)
        child.expect_exact(PROMPT)
        return child

    yield run
    for child in opened:
        end_child(child)


def say(child, line):
    """What a command printed."""
    child.sendline(line)
    child.expect_exact(PROMPT)
    return child.before


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return int(children.read().split()[0])


def wait_until_gone(pid):
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.01)


def run_and_interrupt(child):
    child.sendline("run")
    child.expect_exact("ready")
    child.sendintr()
    child.expect_exact("received signal SIGINT, Interrupt.")
    child.expect_exact(PROMPT)


def test_interrupt(terminal, endless):
    child = terminal(endless)
    for _ in range(2):
        run_and_interrupt(child)
        assert "#0 " in say(child, "bt")
        child.sendline("kill")
        child.expect_exact("(y or n) ")
        assert "killed" in say(child, "y")
    child.sendline("quit")
    child.expect(pexpect.EOF)


def test_interrupt_of_an_attached_process(terminal, endless):
    with subprocess.Popen([endless], stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        child = terminal("-p", program.pid)
        child.sendline("continue")
        child.expect_exact("Continuing.")
        time.sleep(0.1)
        child.sendintr()
        child.expect_exact("received signal SIGINT, Interrupt.")
        child.expect_exact(PROMPT)
        assert "detached" in say(child, "detach")
        assert program.poll() is None
        program.kill()


def test_killed_from_outside(terminal, endless):
    child = terminal(endless)
    child.sendline("run")
    child.expect_exact("ready")
    pid = child_of(child.pid)
    os.kill(pid, signal.SIGKILL)
    child.expect_exact("Program terminated with signal SIGKILL, Killed.")
    child.expect_exact(PROMPT)
    run_and_interrupt(child)
    pid = child_of(child.pid)
    os.kill(pid, signal.SIGKILL)
    text = say(child, "continue")
    assert "Program terminated with signal SIGKILL, Killed." in text
    assert "The program is not being run." in say(child, "next")


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_terminal_goes_away(terminal, endless, runs):
    child = terminal(endless)
    child.sendline("run")
    child.expect_exact("ready")
    pid = child_of(child.pid)
    if not runs:
        child.sendintr()
        child.expect_exact(PROMPT)
    hang_up(child)
    wait_until_gone(pid)


def hang_up(child):
    """The window is closed."""
    child.ptyproc.fileobj.close()
    child.closed = child.ptyproc.closed = True
    os.waitpid(child.pid, 0)
    child.terminated = child.ptyproc.terminated = True


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_terminal_goes_away_from_an_attached_process(terminal, endless, runs):
    """It goes on, with its own code, though it comes to the breakpoint all the time."""
    with subprocess.Popen([endless], stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        child = terminal("-p", program.pid)
        say(child, "break go_round")
        say(child, "continue")
        if runs:
            say(child, "ignore 1 1000000000")
            child.sendline("continue")
            while changed(program.pid) == []:
                assert child.isalive()
        hang_up(child)
        assert "TracerPid:\t0" in status_of(program.pid) and changed(program.pid) == []
        rounds = ticks_of(program.pid)[0]
        deadline = time.monotonic() + PATIENCE
        while ticks_of(program.pid)[0] == rounds:
            assert time.monotonic() < deadline and program.poll() is None
            time.sleep(0.01)
        program.kill()


def modes_of(child):
    return termios.tcgetattr(child.child_fd)


@pytest.mark.parametrize("end", ["crash", "killed", "kill", "detach", "quit"])
def test_terminal_is_as_before(terminal, compile, end):
    """Whatever a program did to it that came to its end, or was left; and nothing is left of that."""
    child = terminal(compile("debug_raw.c", "-O0"))
    say(child, "set confirm off")
    at_prompt = modes_of(child)
    child.sendline("run 11" if end == "crash" else "run")
    child.expect_exact("ready")
    pid = child_of(child.pid)
    if end == "crash":
        child.expect_exact("received signal SIGSEGV")
    else:
        os.kill(pid, signal.SIGKILL if end == "killed" else signal.SIGINT)
    child.expect_exact(PROMPT)
    assert modes_of(child) == at_prompt
    if end == "crash":
        assert "terminated with signal SIGSEGV, Segmentation fault." in say(child, "continue")
    elif end in ("kill", "detach"):
        assert f"[Inferior 1 (process {pid}) " in say(child, end)
    if end == "detach":
        os.kill(pid, signal.SIGKILL)
    elif end != "quit":
        assert not os.path.exists(f"/proc/{pid}")
    assert modes_of(child) == at_prompt
    child.sendline("quit")
    child.expect(pexpect.EOF)
    child.wait()
    # readline's own modes are gone, too.
    assert modes_of(child)[3] & (termios.ICANON | termios.ECHO) == termios.ICANON | termios.ECHO
    wait_until_gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_debugger_is_ended(terminal, endless, number):
    child = terminal(endless)
    child.sendline("run")
    child.expect_exact("ready")
    pid = child_of(child.pid)
    child.kill(number)
    wait_until_gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
def test_attached_process_outlives_the_debugger(mtdb, endless, number, runs):
    with subprocess.Popen([endless], stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        words = ["-ex", "break go_round", "-ex", "watch rounds", "-ex", "delete 2", "-ex", "continue"]
        words += ["-ex", "ignore 1 1000000000", "-ex", "watch seldom", "-ex", "continue"] if runs else []
        with subprocess.Popen(
            [mtdb, *words, "-p", str(program.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as debugger:
            for line in debugger.stdout:
                if ("Will ignore" if runs else "Breakpoint 1, ") in line:
                    break
            time.sleep(0.2)
            debugger.send_signal(number)
            assert debugger.wait(PATIENCE) != 0
        text = status_of(program.pid)
        assert "TracerPid:\t0" in text
        rounds = ticks_of(program.pid)[0]
        deadline = time.monotonic() + PATIENCE
        while ticks_of(program.pid)[0] == rounds:
            assert time.monotonic() < deadline and program.poll() is None
            time.sleep(0.01)
        program.kill()


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return status.read()


@pytest.mark.soak
def test_attach_500_times(mtdb, endless):
    with subprocess.Popen([endless], stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        lines = []
        for i in range(500):
            lines += ["-ex", f"attach {program.pid}", "-ex", "tbreak go_round"]
            lines += ["-ex", "mtrace start"] if i % 10 == 0 else []
            lines += ["-ex", "continue", "-ex", "stepi", "-ex", "detach"]
        done = subprocess.run([mtdb, "-batch", *lines], capture_output=True, text=True, timeout=900, check=False)
        assert done.stdout.count("detached]") == 500, done.stderr
        assert program.poll() is None
        program.kill()


@pytest.mark.parametrize("words", [["-x"], ["-frobnicate", "x"], ["-batch", "-p", "none"], ["-batch", "/nonexistent/x"], ["-ex"]])
def test_garbage_on_the_command_line(run_mtdb, words):
    done = run_mtdb(*words, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    assert done.stderr.strip()


def give_up(child, line, seen):
    """Ctrl-C when the output shows `seen`; what came by then."""
    child.sendline(line)
    child.expect_exact(seen)
    child.sendintr()
    child.expect_exact("Quit\r\n" + PROMPT)
    return child.before


def test_ctrl_c_ends_what_is_long(terminal, compile):
    """And never the debugger, nor the program."""
    child = terminal(compile("debug_large.c", "-O0"))
    for line in ["set pagination off", "break deep if n == 0", "run"]:
        say(child, line)
    frames = give_up(child, "backtrace", "#1000 ")
    assert "#59999" not in frames
    assert "(More stack frames follow...)" in say(child, "backtrace 2")
    give_up(child, "x/60000000xb sea", "sea\r\n")
    give_up(child, "disassemble sea,+60000000", "add ")
    assert "$1 = 0" in say(child, "print sea[12]")
    assert "8\t" in say(child, "next")
