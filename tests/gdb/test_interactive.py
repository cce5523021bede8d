# SPDX-License-Identifier: GPL-3.0-or-later
"""At a terminal: Ctrl-C, the text interface, quitting with a live process."""
import re

import pytest

pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")

PROMPT = r"\(gdb\) "


@pytest.fixture(name="terminal")
def terminal_fixture(plugin, need, tmp_path):
    """terminal(program) -> GDB on a terminal of its own, with the plugin loaded."""
    path = need("gdb")
    children = []

    def spawn(program, *options):
        words = ["-nx", "-q", *options, "-ex", "set pagination off", "-ex", "set confirm off",
                 "-ex", "set debuginfod enabled off", "-ex", f"source {plugin}", str(program)]
        child = pexpect.spawn(path, words, cwd=str(tmp_path), encoding="utf-8", timeout=60,
                              dimensions=(40, 160), env={"TERM": "xterm", "PATH": "/usr/bin:/bin",
                                                         "HOME": str(tmp_path)})
        children.append(child)
        return child

    yield spawn
    for child in children:
        child.close(force=True)


def say(child, command):
    """What the command printed."""
    child.sendline(command)
    child.expect_exact(command)
    child.expect(PROMPT)
    return child.before


def test_ctrl_c_and_quit(terminal, compile):
    program = compile("debugged_threads.c", "-O1", "-pthread")
    child = terminal(program)
    child.expect(PROMPT)
    say(child, "mtrace start")
    for _ in range(5):
        child.sendline("run" if _ == 0 else "continue")
        child.expect(r"Starting program|Continuing")
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
