# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace window at mtdb's prompt: the live history on the whole terminal, and back to the prompt."""
import os
import signal
import subprocess
import termios

import pexpect
import pytest
from terminal import Screen, end_child, keep_output

from conftest import wait_until
from tests.calls.code import changed

PROMPT, SHOWN, CTRL_C, CLEAR = "(mtdb) ", "q: leave", "\x03", "\x0c"


@pytest.fixture(name="open_prompt")
def start_prompt(mtdb, tmp_path):
    children = []

    def run(*words, kind="linux"):
        child = pexpect.spawn(str(mtdb), [str(word) for word in words], cwd=tmp_path, timeout=60, encoding="utf-8",
                              dimensions=(30, 120), preexec_fn=keep_output,
                              env={"PATH": os.environ["PATH"], "TERM": kind, "HOME": str(tmp_path)})
        children.append(child)
        screen = Screen(child, 30, 120)
        screen.wait(PROMPT)
        return screen
    yield run
    for child in children:
        end_child(child)


@pytest.fixture(name="at_crash")
def run_to_crash(open_prompt, compile):
    def run(*words, **options):
        screen = open_prompt(*words, compile("crash.c", "-O0"), **options)
        screen.say("mtrace start", "will be recorded")
        screen.say("run", "SIGSEGV are in")
        screen.wait(lambda: ends_with_prompt(screen))
        return screen
    return run


def ends_with_prompt(screen):
    lines = [line.rstrip() for line in screen.screen.display if line.strip()]
    return bool(lines) and lines[-1] == PROMPT.strip()


def test_window(at_crash):
    screen = at_crash()
    modes = termios.tcgetattr(screen.child.child_fd)
    screen.say("mtrace window", lambda: "*** SIGSEGV" in screen.selected)
    assert termios.tcgetattr(screen.child.child_fd) != modes
    screen.press("u\r", lambda: " price_of" in screen.selected)
    screen.wait("sum_cents += price_of(")
    screen.resize(40, 100)
    screen.wait(lambda: screen.text.count("\n") == 39 and " price_of" in screen.selected)
    screen.press("q", lambda: ends_with_prompt(screen))
    assert termios.tcgetattr(screen.child.child_fd) == modes
    screen.say("print 6*7", "$1 = 42")
    screen.say("mtrace window", SHOWN)
    assert " price_of" in screen.selected
    screen.press("d" + CTRL_C, "Quit")
    assert termios.tcgetattr(screen.child.child_fd) == modes
    screen.press(CLEAR, lambda: not screen.selected)
    screen.say("mtrace window up", lambda: screen.selected and ends_with_prompt(screen))
    screen.child.send("set confirm off\rquit\r")
    screen.child.expect(pexpect.EOF)
    screen.child.close()
    assert screen.child.exitstatus == 0


def test_handlers_are_the_prompts_again(at_crash):
    """Those of SIGTSTP and SIGWINCH, after each time."""
    screen = at_crash()
    status = f"/proc/{screen.child.pid}/status"

    def caught():
        with open(status, encoding="ascii") as lines:
            return [line for line in lines if line.startswith("SigCgt")]
    before = caught()
    for _ in range(2):
        screen.say("mtrace window", SHOWN)
        assert caught() != before
        screen.press("q", lambda: ends_with_prompt(screen))
        assert caught() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_in_the_window(at_crash, number):
    screen = at_crash()
    modes = termios.tcgetattr(screen.child.child_fd)
    screen.say("mtrace window", SHOWN)
    with open(f"/proc/{screen.child.pid}/task/{screen.child.pid}/children", encoding="ascii") as children:
        program = int(children.read().split()[0])
    screen.child.kill(number)
    screen.child.expect(pexpect.EOF)
    screen.child.wait()
    assert screen.child.exitstatus == 128 + number
    wait_until(lambda: not os.path.exists(f"/proc/{program}"))


def test_attached_process_outlives_the_window(open_prompt, compile):
    with subprocess.Popen([compile("debug_waits.c", "-O0")], stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        screen = open_prompt("-p", program.pid)
        screen.say("break go_round", "Breakpoint 1 at")
        screen.say("mtrace start", lambda: ends_with_prompt(screen))
        screen.say("continue", "Breakpoint 1, ")
        screen.say("continue", lambda: screen.text.count("Breakpoint 1, ") == 2)
        screen.say("mtrace window", SHOWN)
        screen.child.kill(signal.SIGTERM)
        screen.child.expect(pexpect.EOF)
        with open(f"/proc/{program.pid}/status", encoding="ascii") as status:
            assert "TracerPid:\t0" in status.read()
        assert changed(program.pid) == [] and program.poll() is None
        program.kill()


def test_no_screen_for_scripts_and_simple_terminals(at_crash, run_mtdb, compile, tmp_path):
    screen = at_crash(kind="dumb")
    screen.say("mtrace window", lambda: screen.selected and ends_with_prompt(screen))
    (tmp_path / "script").write_text("mtrace window\n")
    screen = at_crash()
    screen.say("source script", lambda: screen.selected and ends_with_prompt(screen))
    assert "q: leave" not in screen.raw
    done = run_mtdb(compile("crash.c", "-O0"), input="mtrace start\nrun\nmtrace window\n", cwd=tmp_path)
    assert "*** SIGSEGV" in done.stdout and "\x1b" not in done.stdout


def test_nothing_recorded(open_prompt, compile):
    screen = open_prompt(compile("crash.c", "-O0"))
    screen.say("mtrace window", "nothing was recorded yet")
    screen.wait(lambda: ends_with_prompt(screen))
