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


# Between GDB's entry into Python and the first instruction there, where no event of ours is known.
EARLY = """
#include <signal.h>
#include <string.h>
extern const char *PyUnicode_AsUTF8(void *text);
int hear(void *event, void *arguments)
{
	static int left = 1;

	(void)arguments;
	if (strcmp(PyUnicode_AsUTF8(event), "exec") == 0 && left-- > 0)
		raise(SIGINT);
	return 0;
}
"""
LISTEN = """
import ctypes
import sys
hear = ctypes.PyDLL("{library}").hear
hear.argtypes = [ctypes.py_object] * 2
sys.addaudithook(hear)
"""


def test_before_a_hook_in_python_begins(gdb, compile, tmp_path):
    for name, text in (("visits.c", SOURCE), ("early.c", EARLY)):
        (tmp_path / name).write_text(text)
    library = compile(tmp_path / "early.c", "-shared", "-fPIC", "-Wl,-z,lazy", output="early.so")
    (tmp_path / "listen.py").write_text(LISTEN.format(library=library))
    session = gdb(compile(tmp_path / "visits.c", "-O1"), "mtrace start", "break visit", "run",
                  f"source {tmp_path / 'listen.py'}", "continue", "delete",
                  # GDB may take the interrupt at the next stop alone.
                  'python while gdb.selected_inferior().pid: gdb.execute("continue")')
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


INTERRUPTED = """
import os
import signal
import time
import gdb
import mtrace

asked = at = took = 0
PATIENCE = 0.2  # what takes longer hears of Ctrl-C, and gives up as a whole
execute = gdb.execute


def interrupting(function):
    def ask(*words, **keywords):
        global asked
        asked += 1
        if asked == at:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*words, **keywords)
    return ask


for name in ("selected_inferior", "selected_thread", "parameter", "execute", "breakpoints", "write"):
    setattr(gdb, name, interrupting(getattr(gdb, name)))


def interrupt(number, action):
    '''Whether it asked as much, and how often KeyboardInterrupt came.'''
    global asked, at, took
    asked, at, came, began = 0, number, 0, time.monotonic()
    for part in (action, lambda: None):
        try:
            part()
            for _ in range(1000):
                pass
        except KeyboardInterrupt:
            came += 1
    at = 0
    took = time.monotonic() - began
    return asked >= number, came


def at_each_question(name, action, after=lambda: None):
    for number in range(1, 200):
        asked, came = interrupt(number, action)
        if came != asked:
            print("bad", name, "at", number, "asked", asked, "came", came)
        after()
        if not asked:
            print("done", name, number - 1)
            return


def command(line):
    return lambda: execute(line, to_string=True)


def expect(what, good):
    if not good:
        print("bad", what)


def has_begun():
    return not command("mtrace info")().startswith("Nothing is being recorded")


def recording():
    if has_begun():
        mtrace.stop()
    else:
        expect("start", took > PATIENCE)


def stopped():
    expect("stop", not has_begun())
    mtrace.start()


def set_or_not():
    there, shown = len(mtrace.triggers()), len([one for one in gdb.breakpoints() if one.location])
    expect(f"triggers {there}, breakpoints {shown}", there == shown)
    for trigger in mtrace.triggers():
        trigger.delete()


at_each_question("start", mtrace.start, recording)
at_each_question("mtrace start", command("mtrace start"), recording)
mtrace.start()
at_each_question("stop", mtrace.stop, stopped)
command("next")()
command("next")()
at_each_question("history", lambda: mtrace.history(3))
at_each_question("mtrace history", command("mtrace history 3"))
at_each_question("mtrace info", command("mtrace info"))
at_each_question("snapshot", lambda: mtrace.snapshot("x.txt"))
at_each_question("Trigger", lambda: mtrace.Trigger("visit", "n == 1"), set_or_not)
at_each_question("mtrace trigger", command("mtrace trigger visit if n == 1"), set_or_not)
"""


def test_commands_and_functions_of_python(gdb, compile, tmp_path):
    """They ask GDB as often as they would, and then it comes, once."""
    (tmp_path / "visits.c").write_text(SOURCE)
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    session = gdb(compile(tmp_path / "visits.c", "-O1"), "break main", "run", "delete",
                  f"source {tmp_path / 'interrupted.py'}", "continue", checked=False)
    assert not [line for line in session.lines if line.startswith("bad ")], session.all
    done = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in session.lines if line.startswith("done ")}
    assert len(done) == 9 and min(done.values()) > 0, session.all
    assert "sum 2340" in session.lines and "exited normally" in session.output, session.all


ITERATED = """
import mtrace
made, new = 0, mtrace.Slice.__new__


def make(*words):
    global made
    made += 1
    if made % 3 == 0:
        raise KeyboardInterrupt
    return new(*words)


snapshot = mtrace.snapshot("x.txt")
everything = list(snapshot)
mtrace.Slice.__new__ = staticmethod(make)
found, interrupts, slices = [], 0, iter(snapshot)
while True:
    try:
        found.append(next(slices))
    except KeyboardInterrupt:
        interrupts += 1
    except StopIteration:
        break
print("same", found == everything, len(found) > 40, interrupts > 10)
"""


def test_an_iterator_goes_on_behind_it(gdb, compile, tmp_path):
    (tmp_path / "visits.c").write_text(SOURCE)
    (tmp_path / "iterated.py").write_text(ITERATED)
    session = gdb(compile(tmp_path / "visits.c", "-O1"), "mtrace start", "break printf", "run",
                  f"source {tmp_path / 'iterated.py'}")
    assert "same True True True" in session.lines, session.all
