# SPDX-License-Identifier: GPL-3.0-or-later
"""What an editor speaks with GDB: the machine interface, over a pipe."""
import re

import pytest

import fxt
from gdb_mi import printed

STEPPING = [
    "-break-insert sum_up", "-exec-run", "-stack-list-arguments 1", "-exec-step", "-exec-next",
    "-exec-next", "-exec-step", "-exec-step", "-stack-list-locals 1", "-exec-finish",
    "-exec-next", "-exec-next", "-exec-next", "-exec-step-instruction", "-exec-step-instruction",
    "-exec-next-instruction", "-exec-next-instruction",
    '-data-disassemble -s $pc -e "$pc+8" -- 2',
    "-exec-until", "-exec-until", "-stack-list-frames", "-data-disassemble -a fib -- 2",
    "-exec-step 5", "-exec-next 3", "-stack-list-frames", "-break-delete", "-exec-continue",
]


def normal(lines):
    """Without the system's numbers, and without what tells of libraries and lines of ours."""
    lines = [re.sub(r'core="\d+"', "core", line) for line in lines
             if not line.startswith(("=library", "=thread", '~"[mtrace', "=breakpoint-modified"))]
    lines = [re.sub(r"0x0*7ff[0-9a-f]{9}\b", "0x7ff…", line) for line in lines]
    return [re.sub(r"(LWP|process) \d+", r"\1 N", line) for line in lines]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_stepping_is_the_same(machine, compile, level):
    program = compile("gdb_session.c", level, "-pthread")
    plain, traced = machine(program, False), machine(program)
    for command in STEPPING:
        assert normal(plain.say(command)) == normal(traced.say(command)), command
    assert "^done" in traced.console("mtrace history")[-1]


def test_behind_a_command_that_failed(machine, compile):
    """No prompt tells of it, and other breakpoints are in the text by then."""
    program = compile("debug_jumps.c", "-O0")
    plain, traced = machine(program, False), machine(program)
    for command in ("-break-insert main", "-break-insert *middle", "-break-insert *last", "-exec-run", "-exec-until *1",
                    "-data-read-memory-bytes middle 16", "-data-disassemble -a last -- 2",
                    "-data-evaluate-expression through(2)", "-break-delete 2", "-data-read-memory-bytes middle 16",
                    "-exec-next", "-exec-next", "-data-read-memory-bytes middle 16", "-exec-continue", "-stack-list-frames"):
        said = [gdb.send(command) if "until" in command else gdb.say(command) for gdb in (plain, traced)]
        # GDB is told what lies beneath its breakpoints, and tells so.
        told = [line for line in said[1] if not line.startswith("=memory-changed")]
        assert normal(said[0]) == normal(told), command
    assert "^done" in traced.console("mtrace history")[-1]


def test_crash(machine, compile, tmp_path):
    gdb = machine(compile("deep.c", "-O1"))
    gdb.say("-exec-arguments fault")
    told = gdb.say("-exec-run")
    assert any(line.startswith('*stopped,reason="signal-received",signal-name="SIGSEGV"')
               for line in told)
    history = printed(gdb.console("mtrace history"))
    assert re.search(r" open +c\b.*\n.*\*\*\* SIGSEGV", history)
    assert [one.name for one in fxt.read(tmp_path / "trace-1.fxt").instants()][0] == "SIGSEGV"
    assert gdb.console("mtrace delete 7")[-1] == '^error,msg="No trigger number 7."'
    assert gdb.console("mtrace nothing")[-1].startswith("^error,msg=\"Undefined mtrace command")
    gdb.say("-exec-continue")
    assert gdb.say("-gdb-exit") == ["^exit"]
    assert gdb.end() == 0


def test_while_the_program_runs(machine, compile, tmp_path):
    """In asynchronous mode commands come while it does; what would patch its text then is refused."""
    gdb = machine(compile("debugged_threads.c", "-O1", "-pthread"))
    gdb.say("-gdb-set mi-async on")
    gdb.say("-break-insert -t leap")
    gdb.wait(gdb.send("-exec-run"))
    assert any(line.startswith("^running") for line in gdb.send("-exec-continue"))
    assert gdb.send('-interpreter-exec console "mtrace snapshot a.txt"')[-1] == "^done"
    text = (tmp_path / "a.txt").read_text()
    threads = [part.strip().splitlines() for part in re.split(r"^(?=Thread \d+ )", text, flags=re.M)[1:]]
    called = [lines for lines in threads if len(lines) > 2]  # the last one may have just begun
    assert called and all(lines[2].endswith("up to snapshot 1 --") for lines in called), text
    refused = gdb.send('-interpreter-exec console "mtrace stop"')[-1]
    assert refused.startswith("^error") and "stop it first" in refused
    gdb.wait(gdb.send("-exec-interrupt"))
    assert "jmp" not in printed(gdb.console("x/2i tree"))
    assert gdb.console("mtrace stop")[-1] == "^done"
    assert gdb.console("kill")[-1] == "^done"
