# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb's prompt in a terminal: whose Ctrl-C is, what ends from outside, and what is left behind."""
import os
import signal
import subprocess
import time

import pexpect
import pytest
from terminal import keep_output

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
        child.close(force=True)


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
    child.ptyproc.fileobj.close()
    child.closed = child.ptyproc.closed = True
    wait_until_gone(pid)
    os.waitpid(child.pid, 0)
    child.terminated = child.ptyproc.terminated = True


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
        rounds = round_ticks(program.pid)
        deadline = time.monotonic() + PATIENCE
        while round_ticks(program.pid) == rounds:
            assert time.monotonic() < deadline and program.poll() is None
            time.sleep(0.01)
        program.kill()


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return status.read()


def round_ticks(pid):
    """How long it ran, in ticks."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[11])


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
