# SPDX-License-Identifier: GPL-3.0-or-later
"""The history of a crash in code that the program has made names it, as GDB's backtrace does."""
import re

WORDS = ["mtrace start -engine calls", "run", "echo TRUTH\\n", "bt 1", "echo OURS\\n", "mtrace history"]


def death_in(lines):
    return re.search(r"\*\*\* SIGSEGV, address 0x8 in (\w+) +\S*/(\S+)$", "\n".join(lines), re.MULTILINE).groups()


def test_a_crash_in_made_code(gdb, compile):
    program = compile("jit_registers.c", "-O1")
    made = compile("jit_made.c", "-O1", "-c", output="jit_made.o")
    session = gdb(program, f"set args fall {made}", *WORDS)
    session.check_clean()
    (frame,) = (line for line in session.between("TRUTH", "OURS") if line.startswith("#0"))
    truth = re.search(r" in (\w+) \(.* at \S+/(\S+)$|^#0 +(\w+) \(.* at \S+/(\S+)$", frame)
    function, place = (word for word in truth.groups() if word)
    assert function == "made_inner"
    assert death_in(session.between("OURS")) == (function, place), session.all
