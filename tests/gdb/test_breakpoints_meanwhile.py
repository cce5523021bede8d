# SPDX-License-Identifier: GPL-3.0-or-later
"""Breakpoints that GDB puts into a program that is going on: from a breakpoint's stop(), or when an indirect function is
resolved.  They are hit where they would be without us, also amid the bytes of a patch."""
import re

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdio.h>

volatile long sink;

__attribute__((noinline)) long leaf(long one, long two)
{
	long sum = one + two;
	sink += sum;
	return sum;
}

__attribute__((noinline)) long visit(long n)
{
	long result = leaf(n, 2 * n);
	return result + 1;
}

static void *work(void *context)
{
	long *sum = context;

	for (long i = 0; i < 2000; i++)
		*sum += visit(i);
	return context;
}

int main(void)
{
	pthread_t threads[4];
	long sums[5] = {0}, all = 0;

	sums[4] = visit(1) + visit(2) + visit(3);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &sums[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++)
		all += sums[i];
	printf("sum %ld\\n", all);
	return 0;
}
"""
RESULT = "sum 23996021"
INDIRECT = """
#include <stdio.h>

static volatile int sink;

__attribute__((noinline)) static int final(int number)
{
	int more = number + 1;
	sink = more;
	return more;
}

static void *resolve(void)
{
	return (void *)final;
}

int indirect(int number) __attribute__((ifunc("resolve")));

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += indirect(i);
	printf("sum %d\\n", sum);
	return 0;
}
"""
# At the WHEN-th call of WHERE a breakpoint is set at another instruction of FUNCTION, the STEP-th behind its first.
SETS = """
import gdb

class Sets(gdb.Breakpoint):
    count = 0

    def stop(self):
        Sets.count += 1
        if Sets.count == {when}:
            gdb.Breakpoint(f"*{{address}}")
        return False

gdb.Breakpoint("main", temporary=True)
gdb.execute("run")
start = int(gdb.parse_and_eval("(long)&{function}"))
address = gdb.selected_frame().architecture().disassemble(start, count={step} + 1)[-1]["addr"]
Sets("{where}")
"""
LOOK = ("info registers rip rdi rsi rax", "bt 2", "x/6i $pc")


def compile_text(compile, path, text, *flags):
    source = path / "program.c"
    source.write_text(text)
    return compile(source, "-g", *flags)


def told(session):
    """What is shown of the stops, with the program's output."""
    return [re.sub(r"process \d+|LWP \d+|Thread 0x\w+", "", line) for line in session.lines
            if not line.startswith(("[New Thread", "mtrace:", "The program's calls", "Wrote "))]


def check_same(gdb, program, commands, *wanted):
    """A GDB that records shows what a plain one does, with all that is WANTED."""
    plain = gdb(program, *commands, loaded=False)
    ours = gdb(program, "mtrace start", *commands)
    assert all(text in plain.output for text in wanted), plain.output
    assert told(ours) == told(plain)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("where", ["visit", "leaf"])
def test_within_a_patch(gdb, compile, tmp_path, level, where, step):
    program = compile_text(compile, tmp_path, PROGRAM, level, "-pthread")
    script = tmp_path / "sets.py"
    script.write_text(SETS.format(when=1, where=where, function="leaf", step=step))
    commands = (f"source {script}", "continue", *LOOK, "continue", *LOOK, "delete", "continue")
    check_same(gdb, program, commands, "Breakpoint 3, ", RESULT)


def test_text_in_a_script(gdb, compile, tmp_path):
    """What a stop() reads of the text is the file's."""
    program = compile_text(compile, tmp_path, PROGRAM, "-O0", "-pthread")
    script = tmp_path / "reads.py"
    script.write_text("""
import gdb

class Reads(gdb.Breakpoint):
    def stop(self):
        print(gdb.execute("disassemble /r leaf", to_string=True))
        print(gdb.execute("disassemble /r main", to_string=True))
        self.enabled = False
        return False

Reads("visit")
""")
    commands = (f"source {script}", "run")
    check_same(gdb, program, commands, "leaf", RESULT)


def test_is_said_once(gdb, compile, tmp_path):
    program = compile_text(compile, tmp_path, PROGRAM, "-O0", "-pthread")
    script = tmp_path / "sets.py"
    script.write_text(SETS.format(when=1, where="visit", function="leaf", step=1))
    session = gdb(program, "mtrace start", f"source {script}", "continue", "delete", "continue")
    assert session.all.count("calls of leaf are not recorded up to the next stop") == 1
    assert RESULT in session.output


@pytest.mark.parametrize("trigger", ["leaf if one > 100000", "program.c:11 if sum > 100000"])
def test_beside_a_trigger(gdb, compile, tmp_path, trigger):
    program = compile_text(compile, tmp_path, PROGRAM, "-O0", "-pthread")
    script = tmp_path / "sets.py"
    script.write_text(SETS.format(when=1, where="visit", function="leaf", step=4))
    commands = (f"source {script}", "continue", *LOOK, "delete 2", "continue", *LOOK, "delete", "continue")
    plain = gdb(program, *commands, loaded=False)
    ours = gdb(program, "mtrace start", f"mtrace trigger {trigger}", *commands)
    seen = re.findall(r"=> 0x\w+ <leaf\+\d+>", plain.output)
    assert len(seen) == 2
    assert re.findall(r"=> 0x\w+ <leaf\+\d+>", ours.output) == seen
    assert RESULT in ours.output


def test_among_threads(gdb, compile, tmp_path):
    """While others run through the patch: no thread is harmed, each later call is met."""
    program = compile_text(compile, tmp_path, PROGRAM, "-O0", "-pthread")
    script = tmp_path / "sets.py"
    script.write_text(SETS.format(when=50, where="visit", function="leaf", step=1))
    session = gdb(program, "mtrace start", f"source {script}", "continue", "ignore 3 200",
                  "continue", "delete", "continue")
    assert session.output.count("Breakpoint 3, ") == 2
    assert RESULT in session.output


@pytest.mark.parametrize("flags", [("-O0",), ("-O0", "-no-pie"), ("-O2",)])
def test_indirect_function(gdb, compile, tmp_path, flags):
    program = compile_text(compile, tmp_path, INDIRECT, *flags)
    commands = ("break indirect", "run", *LOOK, "continue", *LOOK, "info breakpoints", "delete", "continue")
    check_same(gdb, program, commands, "sum 6", "final")
