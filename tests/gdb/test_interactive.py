# SPDX-License-Identifier: GPL-3.0-or-later
"""At a terminal: Ctrl-C, the text interface, quitting with a live process."""
import re

import pytest

from gdb_terminal import PROMPT, say

pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")


def test_ctrl_c_and_quit(terminal, compile):
    program = compile("debugged_threads.c", "-O1", "-pthread")
    child = terminal(program)
    child.expect(PROMPT)
    say(child, "mtrace start")
    say(child, "tbreak branch")
    say(child, "run")
    for _ in range(5):
        child.sendline("continue")
        child.expect("Continuing")
        child.expect(r"\n")
        pexpect.run("sleep 0.3")
        child.sendintr()
        child.expect("received signal SIGINT")
        child.expect(PROMPT)
        text = say(child, "thread apply all bt -1")
        assert text.count("clone") + text.count("main") >= 5
    text = say(child, "mtrace history 20")
    assert re.search(r"\b(tree|leaf|branch|leap|leaping)\b", text)
    assert "Snapshots: 0" in say(child, "mtrace info")  # Ctrl-C is no crash
    child.sendline("quit")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_threads_that_go_on_one_by_one(terminal, compile):
    """Others run already, which nobody can look at, and whose code must stay as it is."""
    child = terminal(compile("debugged_threads.c", "-O1", "-pthread"))
    child.expect(PROMPT)
    say(child, "mtrace start")
    say(child, "tbreak check")
    say(child, "handle SIGUSR1 nostop noprint")
    child.sendline("run")
    child.expect("New Thread.*" * 4)
    for _ in range(6):
        pexpect.run("sleep 0.05")
        child.sendintr()
        child.expect("received signal SIGINT")
        child.expect(PROMPT)
        said = say(child, "set scheduler-locking on")
        for thread in (2, 3, 4):
            said += say(child, f"thread {thread}") + say(child, "continue &")
        said += say(child, "thread 1") + say(child, "info threads") + say(child, "stepi 3")
        said += say(child, "set scheduler-locking off")
        assert "mtrace:" not in said
        assert said.count("(running)") == 3
        child.sendline("continue")
        child.expect("Continuing")
    pexpect.run("sleep 0.05")
    child.sendintr()
    child.expect("received signal SIGINT")
    child.expect(PROMPT)
    say(child, "signal SIGUSR1")
    assert "exited normally" in say(child, "continue")
    assert re.search(r"\b(tree|leaf|branch|leap|leaping)\b", say(child, "mtrace history 20"))


def test_text_interface(terminal, compile):
    child = terminal(compile("deep.c", "-O0"))
    child.expect(PROMPT)
    child.sendline("tui enable")
    child.expect(PROMPT)
    child.sendline("mtrace start")
    child.expect("will be recorded")
    child.sendline("run fault")
    child.expect("mtrace: the calls up to SIGSEGV are in trace-1.fxt")
    child.sendline("mtrace history 3")
    child.expect(r"SIGSEGV, address 0x0")
    child.sendline("quit")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_q_at_the_pager(terminal, compile):
    """It ends the command, not GDB, and shows no Python."""
    child = terminal(compile("deep.c", "-O0"))
    child.expect(PROMPT)
    say(child, "mtrace start")
    child.sendline("run overflow")
    child.expect("mtrace: the calls up to SIGSEGV")
    child.expect(PROMPT)
    child.sendline("set pagination on")
    child.expect(PROMPT)
    child.sendline("mtrace history 400")
    child.expect("--Type <RET> for more")
    child.sendline("q")
    child.expect(PROMPT)
    assert "Traceback" not in child.before and "Python" not in child.before
    assert "Snapshots: 1" in say(child, "mtrace info")


def test_q_at_the_pager_of_a_script(terminal, compile, tmp_path):
    """It ends the script, and the program is where it was."""
    (tmp_path / "script").write_text("run fault\nmtrace history 20\necho not reached\\n\n")
    child = terminal(compile("deep.c", "-O0"))
    child.expect(PROMPT)
    say(child, "mtrace start")
    for setting in ("style enabled off", "pagination on", "height 4"):
        child.sendline(f"set {setting}")
        child.expect(PROMPT)
    child.sendline("source script")
    while child.expect(["--Type <RET> for more", PROMPT]) == 0:
        child.sendline("q")
    assert "Traceback" not in child.before and "not reached" not in child.before
    child.sendline("set pagination off")
    child.expect(PROMPT)
    assert re.search(r"#0 +c .*\n#1 .* b .*\n#2 .* a .*\n#3 .* main ", say(child, "bt"))
    assert "jmp" not in say(child, "x/2i c")
    assert re.search(r" open +c\b.*\n.*SIGSEGV", say(child, "mtrace history 3"))


def screen_of(terminal, program, *commands):
    """What the terminal shows at the end of a session in the text interface."""
    pyte = pytest.importorskip("pyte", reason="no pyte here (package python3-pyte)")
    screen = pyte.Screen(160, 40)
    stream = pyte.Stream(screen)
    child = terminal(program)
    for command in ("tui enable", *commands, "echo =the=end=\\n"):
        child.expect(PROMPT)
        stream.feed(child.before + child.after)
        child.sendline(command)
    child.expect("(?<!echo )=the=end=.*" + PROMPT)
    stream.feed(child.before + child.after)
    return [line.rstrip() for line in screen.display]


def test_the_screen_of_the_text_interface(terminal, compile):
    """The source window is what it is without us, and our lines are whole, one below the other."""
    program = compile("deep.c", "-O0")
    plain = screen_of(terminal, program, "break b if 0", "run fault")  # a trigger has its mark
    traced = screen_of(terminal, program, "mtrace start", "mtrace trigger b", "run fault",
                       "print $_mtrace_snapshots")
    window = [line for line in plain if line.startswith(("│", "|", "x"))]
    assert len([line for line in window if "nowhere" in line]) >= 1
    below = [line for line in traced if not line.startswith(("│", "|", "x"))]
    assert [line for line in traced if line not in below] == window
    ours = [line for line in below if line.startswith("[mtrace: ")]
    assert re.fullmatch(r"\[mtrace: trigger 1, b, hit 1 in thread \d+: trace-1.fxt\]", ours[0])
    assert ours[1] == ('[mtrace: the calls up to SIGSEGV are in trace-2.fxt; "mtrace history" shows '
                       "the last]")
    assert "$1 = 2" in below
