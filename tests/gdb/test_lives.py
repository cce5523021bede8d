# SPDX-License-Identifier: GPL-3.0-or-later
"""From run to run, and what becomes of a process that is not recorded any more."""
import re

import pytest

from gdb_terminal import PROMPT, say
from histories import opened

BUSY = """
#include <pthread.h>
#include <unistd.h>

__attribute__((noinline, noclone)) int leaf(int x) { return x * 3; }
__attribute__((noinline, noclone)) void begun(void) { __asm__ volatile(""); }

static void *spin(void *sum)
{
	for (;;)
		*(volatile int *)sum += leaf(1);
	return 0;
}

int main(void)
{
	pthread_t thread;
	int sum = 0;

	alarm(60);
	pthread_create(&thread, 0, spin, &sum);
	begun();
	pthread_join(thread, 0);
	return 0;
}
"""


def compile_busy(compile, tmp_path):
    source = tmp_path / "busy.c"
    source.write_text(BUSY)
    return compile(source, "-O1", "-pthread")


def test_stop_and_run_again(gdb, compile):
    """Nothing of ours stays behind that the next process would trip over."""
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break main", "run fault",
                  "mtrace stop", "run fault", "maint info breakpoints", "continue", "bt",
                  "mtrace start", "run fault", "mtrace history")
    assert "Cannot insert" not in session.all
    assert session.output.count("Breakpoint 1, main") == 3
    assert not re.search(r"^-\d+ +breakpoint ", session.output, re.M)
    assert "received signal SIGSEGV" in session.output


def interrupt(child):
    """Stop what runs in the background."""
    say(child, "interrupt")
    child.expect("received signal SIGINT")


RUNS = r'process \d+ is running: stop it first \("interrupt"\)'


def test_stop_while_it_runs(terminal, compile, tmp_path):
    """Only a program that stands still can be cleaned."""
    child = terminal(compile_busy(compile, tmp_path))
    child.expect(PROMPT)
    for command in ("mtrace start", "tbreak begun", "run", "continue &"):
        say(child, command)
    assert re.search(RUNS, say(child, "mtrace stop"))
    interrupt(child)
    assert "Recording stopped." in say(child, "mtrace stop")
    assert "ret" in say(child, "disassemble leaf") and "jmp" not in say(child, "disassemble leaf")
    say(child, "kill")


@pytest.mark.usefixtures("gdb_writes_registers")
def test_start_while_it_runs(terminal, compile, tmp_path):
    child = terminal(compile_busy(compile, tmp_path))
    child.expect(PROMPT)
    for command in ("tbreak begun", "run", "continue &"):
        say(child, command)
    assert re.search(RUNS, say(child, "mtrace start"))
    assert "Nothing is being recorded" in say(child, "mtrace info")
    interrupt(child)
    assert "Recording the calls of process" in say(child, "mtrace start")
    say(child, "kill")


def test_exec_in_a_call(gdb, compile):
    program = compile("deep.c", "-O0")
    stop = ["break c", "run fault"]
    if "extended state" in gdb(program, *stop, "print abs(1)", loaded=False).errors:
        pytest.skip("this GDB cannot call functions on a processor with AMX")
    call = f'print (int) execlp("{program}", "{program}", "fault", (char *) 0)'
    session = gdb(program, "mtrace start", *stop, call, "x/i $pc", "bt -1", "mtrace history 5", "kill")
    assert "Cannot insert" not in session.all
    assert session.output.count("Breakpoint 1, c (") == 2
    assert "main" in opened(session.lines)


def test_no_file_of_a_session_is_overwritten(gdb, compile):
    """Also where the name has no place for a number; a device is no file."""
    words = ["mtrace snapshot", "continue"]
    session = gdb(compile("debugged.cpp", "-O0"), "shell mkdir a.b", "set mtrace output ./a.b/x.txt", "mtrace start",
                  "break leaf", "run", *words, *words, *words, "set mtrace output /dev/null", "mtrace snapshot", "kill")
    taken = re.findall(r"^Snapshot \d is in (\S+)\.$", session.output, re.M)
    assert taken == ["./a.b/x.txt", "./a.b/x-2.txt", "./a.b/x-3.txt", "/dev/null"]
    assert len({file.read_text() for file in (gdb.directory / "a.b").iterdir()}) == 3
