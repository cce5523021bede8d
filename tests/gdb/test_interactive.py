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
        child.expect(r"\n", timeout=10)
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
