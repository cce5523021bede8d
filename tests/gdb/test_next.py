# SPDX-License-Identifier: GPL-3.0-or-later
"""One `next` after the other, of which each knows what the one before has asked of GDB: its breakpoints, the stack."""
import re

import pytest

SOURCE = """
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE int leaf(int x) { sink = x; return x * 3; }
NOINLINE int other(void)
{
	int sum = leaf(7);
	return sum + leaf(8);
}
NOINLINE int down(int n)
{
	if (n == 0) {
		int sum = leaf(1);
		sum += leaf(2);
		sum += other();
		return sum;
	}
	int sum = down(n - 1);
	sum += leaf(n);
	return sum;
}
int main(void)
{
	int sum = down(12);
	sum += down(3);
	return sum & 1;
}
"""
# Up from the innermost frame, line by line; and with breakpoints that come and go on the way.
UP = ["break 14", "run", "delete", *["next"] * 45, "bt"]
BREAKS = ["break 14", "run", "break leaf", "next", "next", "break other", "next", "next", "break *leaf+4", "next", "next",
          "delete", "next", "tbreak leaf", "next", "finish", "next", "break *leaf", "next", "next", "disable", "next",
          "enable", "next", "next", "bt"]
AGAIN = ["break 14", "run", "next", "next", "continue", "next", "next", "up", "next", "next", "bt 3", "delete",
         *["next"] * 12, "until", "next"]


def told(gdb, program, commands, records):
    lines = ["mtrace start"] if records else []
    session = gdb(program, *lines, *(word for command in commands for word in (f"echo > {command}\\n", command)),
                  loaded=records)
    return re.sub(r"process \d+", "process", session.output[session.output.index("> break"):])


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("commands", [UP, BREAKS, AGAIN], ids=["up", "breaks", "again"])
def test_goes_the_same_way(gdb, compile, level, commands):
    source = gdb.directory / "down.c"
    source.write_text(SOURCE)
    program = compile(source, level)
    alone = told(gdb, program, commands, False)
    assert "leaf" in alone or "down" in alone
    assert told(gdb, program, commands, True) == alone
