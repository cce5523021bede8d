# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is typed, fails or disappears: one clear line, no Python, and GDB and the program go on."""
import re

import pytest


PROGRAM = """
#include <stdio.h>

int square(int x)
{
	return x * x;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += square(i);
	printf("%d\\n", sum);
	return 0;
}
"""

DYING = """
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

__attribute__((noinline, noclone)) void done(void) { __asm__ volatile(""); }

static void *kill_all(void *unused)
{
	(void)unused;
	usleep(300000);
	kill(getpid(), SIGKILL);
	return 0;
}

int main(void)
{
	pthread_t thread;

	done();
	pthread_create(&thread, 0, kill_all, 0);
	for (;;)
		done();
}
"""


@pytest.fixture(name="program")
def make_program(compile, tmp_path):
    source = tmp_path / "square.c"
    source.write_text(PROGRAM)
    return compile(source, "-O0")


def errors_of(session):
    return [line for line in session.errors.splitlines() if "debuginfod" not in line]


GARBAGE = ["'", '"', "\\", "-", "--", "-99999999999999999999", "99999999999999999999", "%s%n",
           "/no/such/file", "if", "-size -size", "-thread -1", "-max", "\x01", "\u00ff", "$nosuch",
           "x" * 200]
NAMES = ["start", "stop", "snapshot", "trigger", "delete", "history", "save", "info", "decode",
         "dump", "plan", "doctor", "view"]


def test_garbage(gdb):
    """Each command with each."""
    commands = [f"mtrace {name} {words}" for name in NAMES for words in GARBAGE
                if not (name == "view" and words.startswith("%"))]
    session = gdb(None, *commands, "mtrace info", "echo alive\\n", timeout=300)
    assert session.lines[-1] == "alive"


def test_garbage_while_it_is_recorded(gdb, program):
    commands = [f"mtrace {name} {words}" for name in ("snapshot", "history", "delete", "save",
                                                      "trigger", "start")
                for words in GARBAGE]
    session = gdb(program, "mtrace start", "break square", "run", *commands, "delete",
                  "continue", timeout=300)
    assert "285" in session.lines and "exited normally" in session.output


def test_a_condition_that_fails(gdb, program):
    """In the program it does not hold, and that is counted."""
    session = gdb(program, "mtrace start", "mtrace trigger square if 6 / (x - 3) > 9", "break printf",
                  "run", "mtrace info", "delete", "continue")
    assert "  could not be evaluated 1 time: Division by zero" in session.lines
    assert "285" in session.lines and "exited normally" in session.output


def test_a_value_that_cannot_be_had(gdb, program):
    session = gdb(program, "mtrace start", "mtrace trigger -print *(int*)0 -print nosuch square if x == 2", "run")
    assert "  *(int*)0: Cannot access memory at address 0x0" in session.lines
    assert '  nosuch: No symbol "nosuch" in current context.' in session.lines
    assert "285" in session.lines and "exited normally" in session.output


def test_a_condition_that_fails_in_gdb(gdb, program):
    """As with a breakpoint of GDB's own: it says so, and stops there."""
    session = gdb(program, "set var $three = 3", "mtrace start",
                  "mtrace trigger square if 6 / (x - $three) > 9", "run", "print x", "delete",
                  "continue")
    assert "Division by zero" in session.all and "$1 = 3" in session.lines
    assert "285" in session.lines and "exited normally" in session.output


@pytest.mark.parametrize("place", ["/no/such/x-%n.fxt", "/dev/full", "/proc/x-%n.fxt", "."])
def test_a_place_that_takes_nothing(gdb, program, place):
    session = gdb(program, f"set mtrace output {place}", "mtrace start",
                  "mtrace trigger -max 2 square", "run", "mtrace snapshot", "mtrace snapshot x.txt",
                  "mtrace info")
    assert "285" in session.lines and "exited normally" in session.output
    assert "Snapshot 1 is in x.txt." in session.lines
    complaints = [line for line in errors_of(session)
                  if re.search(r"cannot (create|write) ", line)]
    assert len(complaints) == 3, session.errors  # two hits, the command
    assert [path.name for path in gdb.directory.glob("*.*") if path.suffix != ".c"] == ["x.txt"]


def test_a_recording_nowhere(gdb, program):
    session = gdb(program, "mtrace start", "run", "mtrace save /dev/full", "mtrace save /no/such/x",
                  "mtrace save .", "mtrace save x.perf")
    assert len(errors_of(session)) == 3
    assert "Recording saved to x.perf." in session.lines


def test_breakpoints_deleted_and_disabled(gdb, program):
    session = gdb(program, "mtrace start", "mtrace trigger square if x == 3",
                  "mtrace trigger square if x == 4", "mtrace trigger square if x == 5", "delete 1",
                  "disable 2", "run", "mtrace info", "mtrace delete 1", "mtrace delete 1",
                  "mtrace delete 2", "mtrace delete 3", "info breakpoints")
    assert re.findall(r"\[mtrace: trigger (\d)", session.output) == ["3"]
    assert "Trigger 1: square if x == 3: 0 hits (its breakpoint was deleted)" in session.lines
    assert errors_of(session)[:1] == ["No trigger number 1."]
    assert "No breakpoints or watchpoints." in session.all


def test_it_dies_while_a_snapshot_is_taken(gdb, compile, tmp_path):
    """GDB 13 itself is confused by that, but goes on."""
    source = tmp_path / "dying.c"
    source.write_text(DYING)
    session = gdb(compile(source, "-O1", "-pthread"), "mtrace start", "mtrace trigger done", "run",
                  "bt", "mtrace info", "mtrace history 3", "mtrace delete 1", "kill",
                  "mtrace start", "break main", "run", "echo alive\\n", checked=False)
    # GDB's own filters of frames say so at "bt", with or without the plugin.
    session.errors = session.errors.replace("Python Exception <class 'gdb.error'>: Couldn't get "
                                            "registers: No such process.\n", "", 1)
    session.check_clean()
    assert session.lines[-1] == "alive"
    assert "[mtrace: trigger 1, done, hit 1 in thread" in session.output


@pytest.mark.parametrize("name", ["-", "''"])
def test_a_timeline_needs_a_file(gdb, program, name):
    """GDB's own output is no place for it: it may be a terminal, or MI."""
    session = gdb(program, "mtrace start", "break square", "run", f"mtrace snapshot {name}",
                  f"mtrace save {name}", f"set mtrace output {name}", "delete", "continue")
    assert session.errors.count("not the name of a file") == 2, session.errors
    assert "FXT" not in session.all and "exited normally" in session.output


REFUSED = [
    ("mtrace start -size 1", "a ring of 1 bytes is too small: at least 16384"),
    ("set mtrace buffer-size 1", "a ring of 1 bytes is too small: at least 16384"),
    ("mtrace start -threads some", 'invalid value "some" for -threads: must be all or current'),
    ("mtrace start -engine step", 'the engine "step" does not work in this debugger (use calls, or '
                                  "mtdb run --engine step)"),
    ("mtrace start -engine no", 'unknown engine "no": must be auto, calls, pt or sample'),
    ("mtrace trigger main -stop", "the options of a trigger precede the location"),
    ("mtrace trigger main if", 'no condition after "if"'),
    ("mtrace trigger main if nosuch > 4", 'No symbol "nosuch" in current context.'),
    ("mtrace stop now", "mtrace stop takes no arguments"),
    ("mtrace history", "nothing was recorded yet"),
]


def test_what_is_refused(gdb, program):
    """At once, in one line; what was armed before stays so, and no breakpoint stays behind."""
    session = gdb(program, "mtrace start -size 1M", *[command for command, _ in REFUSED],
                  "mtrace info", "info breakpoints", "run", "mtrace history 1")
    told = errors_of(session)
    assert len(told) == len(REFUSED), session.errors
    for line, (_, expected) in zip(told, REFUSED):
        assert line.startswith(expected), line
    assert "Recording begins when the program runs." in session.lines
    assert "No breakpoints or watchpoints." in session.all
    assert "285" in session.lines


def test_history_of_the_process_before(gdb, program):
    """While another one, that is not recorded, stands there."""
    session = gdb(program, "mtrace start", "run", "mtrace stop", "break square", "run",
                  "mtrace history 3 square")
    assert re.search(r" square ", session.output.split("Breakpoint 1, ")[1])


def test_a_thread_that_was_not_recorded(gdb, compile):
    session = gdb(compile("debugged_threads.c", "-O1", "-pthread"),
                  "handle SIGUSR1 nostop noprint pass", "mtrace start -threads current",
                  "tbreak leaping if $_thread > 1", "run", "mtrace history", "kill")
    assert re.search(r"no calls of thread \d+ were recorded", session.errors), session.errors


def test_a_usage_of_mtdbs(gdb):
    session = gdb(None, "mtrace decode")
    assert 'Try "help mtrace decode"' in session.errors
