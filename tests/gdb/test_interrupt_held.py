# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C that comes to GDB while code of ours runs at one of its events, as it does at each stop of a
breakpoint whose commands continue: GDB gets it, and none of our questions goes without an answer."""
import pytest

SOURCE = """
#include <stdio.h>
__attribute__((noipa)) int visit(int n) { return n * 3; }
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 40; i++)
		sum += visit(i);
	printf("sum %d\\n", sum);
	return 0;
}
"""
# At the Nth question from now on.  The plugin asks GDB for these at its events.
INTERRUPT = """
import os
import signal
import gdb

asked = 0


def interrupting(function):
    def ask(*words):
        global asked
        asked += 1
        if asked == {number}:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*words)
    return ask


for name in ("selected_inferior", "selected_thread", "parameter"):
    setattr(gdb, name, interrupting(getattr(gdb, name)))
"""


COMMANDS = """
break visit
commands
silent
continue
end
source {script}
continue
"""


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89])
def test_at_a_question(gdb, compile, tmp_path, number):
    for name, text in (("visits.c", SOURCE), ("interrupt.py", INTERRUPT.format(number=number)),
                       ("commands", COMMANDS.format(script=tmp_path / "interrupt.py"))):
        (tmp_path / name).write_text(text)
    session = gdb(compile(tmp_path / "visits.c", "-O1"), "mtrace start", "break main", "run",
                  f"source {tmp_path / 'commands'}", "python print('asked', asked)", "delete", "continue")
    assert "Quit" in session.all or "received signal SIGINT" in session.output, session.all
    assert "KeyboardInterrupt" not in session.all
    assert "sum 2340" in session.lines and "exited normally" in session.output, session.all


NESTED = """
import signal
import mtrace


def taken(snapshot):
    global seen
    seen += 1


seen = 0
mtrace.events.snapshot.connect(taken)
mtrace.Trigger("visit", "n == 7", lambda trigger, snapshot: mtrace.snapshot("nested.txt") and None)
"""


def test_functions_of_the_users_within_one_another(gdb, compile, tmp_path):
    """GDB hears Ctrl-C as before when they are through."""
    (tmp_path / "visits.c").write_text(SOURCE)
    (tmp_path / "nested.py").write_text(NESTED)
    session = gdb(compile(tmp_path / "visits.c", "-O1"), "mtrace start", f"source {tmp_path / 'nested.py'}",
                  "break main", "run", "continue",
                  "python print('seen', seen, 'blocked', signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))")
    assert "sum 2340" in session.lines, session.all
    assert [line for line in session.lines if line.startswith("seen")] == ["seen 2 blocked False"], session.all
