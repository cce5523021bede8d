# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers at lines, whose conditions the program evaluates itself, in GDB and at mtdb's prompt."""
import random
import re
import subprocess

import pytest

from conftest import line_of, need_tool

HOLDS = {
    "squares": "square > 900 && i % 2 == 0",
    "kinds": "item->kind == 2 && item->next->kind == 3 && $_streq(item->name, \"second\") "
             "&& $_regex(item->name, \"s[^s]+d$\") && $_strlen(item->name) == 6",
    "weights": "item->weight > 7 && i > 290",
    "deep": "depth > 10 && depth % 2",
}


def at_line(name):
    return f"calls_lines.c:{line_of('calls_lines.c', f'/* {name} */')}"


@pytest.fixture(name="program", params=["-O0", "-O1"])
def program_fixture(compile, request):
    return compile("calls_lines.c", request.param, "-pthread")


def test_hits_are_the_programs_own(compile, either):
    program = compile("calls_lines.c", "-O0", "-pthread")
    for index, (name, condition) in enumerate(HOLDS.items()):
        lines = either(program, "count", "mtrace start",
                       f"mtrace trigger {at_line(name)} if {condition}", "run", "mtrace info")
        counts = next(line for line in lines if re.fullmatch(r"(\d+ ){3}\d+", line)).split()
        said = "\n".join(lines)
        assert f"Trigger 1: {at_line(name)} if {condition}: {counts[index]} hits" in lines, said
        assert "evaluated by" not in said


def test_in_threads(compile, either, tmp_path):
    source = tmp_path / "threads.c"
    source.write_text("""
#include <pthread.h>
#include <stdio.h>
static long own, sum;
static void *run(void *argument)
{
	for (long i = 0; i < 20000; i++) {
		long x = i * 7 % 10007;
		__sync_fetch_and_add(&sum, x); /* here */
		if (x == 77 || x == 9999)
			__sync_fetch_and_add(&own, 1);
	}
	return argument;
}
int main(void)
{
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], 0, run, 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], 0);
	printf("own count: %ld of %ld\\n", own, sum);
}
""")
    program = compile(source, "-O1", "-pthread")
    alone = subprocess.run([program], text=True, capture_output=True, check=True).stdout.strip()
    lines = either(program, "", "mtrace start",
                   "mtrace trigger threads.c:9 if x == 77 || x == 9999", "run", "mtrace info")
    own = re.match(r"own count: (\d+)", alone)[1]
    assert alone in lines, "\n".join(lines)
    assert f"Trigger 1: threads.c:9 if x == 77 || x == 9999: {own} hits" in lines, lines


def test_limits(compile, either):
    lines = either(compile("calls_lines.c", "-O1", "-pthread"), "count", "mtrace start",
                   f"mtrace trigger -ignore 3 -every 50 -max 4 {at_line('squares')}", "run",
                   "mtrace info")
    assert any(line.startswith("Trigger 1: ") and ": 4 hits" in line for line in lines), lines
    assert not any("evaluated by" in line for line in lines)


def test_where_no_entry_is(compile, either, tmp_path):
    """A function that is inlined, and a local variable behind a prologue."""
    source = tmp_path / "inlined.c"
    source.write_text("""
#include <stdio.h>
static volatile int total;
static inline __attribute__((always_inline)) void inner(int n)
{
	total += n;
	total ^= n;
}
__attribute__((noinline)) int outer(int x)
{
	static int calls;
	int here = ++calls;
	if (here > 3)
		here += x;
	inner(x * 2);
	return here;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 40; i++)
		sum += outer(i);
	printf("%d %d\\n", sum, total);
}
""")
    program = compile(source, "-O1")
    alone = subprocess.run([program], text=True, capture_output=True, check=True).stdout.strip()
    lines = either(program, "", "mtrace start", "mtrace trigger inner if n > 60",
                   "mtrace trigger outer if calls % 10 == 3", "run", "mtrace info")
    assert alone in lines
    assert "Trigger 1: inner if n > 60: 9 hits" in lines, lines
    assert "Trigger 2: outer if calls % 10 == 3: 4 hits" in lines, lines


def test_a_thread_that_blocks_the_signal(compile, either, tmp_path):
    """It is counted, and goes on with the flags that it had: the carry of a long addition."""
    source = tmp_path / "blocked.c"
    source.write_text("""
#include <signal.h>
#include <stdio.h>
int main(void)
{
	unsigned long low = 1, high = 0;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigprocmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 200; i++)
		__asm__ volatile("add %2, %0\\n\\t"
				 ".globl carries\\ncarries: adc $1, %1\\n\\tlea (%1), %1\\n\\tnop"
				 : "+r"(low), "+r"(high) : "r"(low * 0x9e3779b97f4a7c15ul) : "cc");
	printf("%lx %lx\\n", low, high);
}
""")
    program = compile(source, "-O1")
    alone = subprocess.run([program], text=True, capture_output=True, check=True).stdout.strip()
    lines = either(program, "", "mtrace start", "mtrace trigger *&carries if $rsp % 16 >= 0", "run",
                   "mtrace info")
    assert alone in lines
    assert ("  missed 200 times: threads block SIGURG, by which they stop, or belong to a child "
            "that is not recorded") in lines, lines


PLACES = [("squares", "i > 5 && i % 3 == 1"), ("squares", HOLDS["squares"]), ("deep", HOLDS["deep"]),
          ("computed", "left % 7 == 3 && zero == 0"), ("squares", "i == 100")]
OTHERS = ["break main", f"break {at_line('kinds')}", f"break {at_line('squares')}", "tbreak work",
          "break *work+40", "break down if depth == 15"]
STEPS = ["continue", "continue", "next", "step", "stepi", "nexti", "finish", "until", "print i",
         "print square", "print depth", "bt 2", "next 3", "stepi 4", f"tbreak {at_line('weights')}",
         "info registers rip", "x/2i $pc", "continue 2", f"advance {at_line('weights')}",
         "print counts->deep", "run"]


def said_by(text):
    """But for what is about recording, numbers that our own breakpoints take, and the stack."""
    lines = []
    for line in text.splitlines():
        if re.match(r"\[mtrace|mtdb: recording|The program's calls|Trigger \d|Recording|\[Thread deb|"
                    r"Using host|$", line) or re.search("reakpoint .* at 0x", line):
            continue
        line = re.sub(r"process \d+|0x7ff[0-9a-f]+|(?<=point )\d+", "N", line)
        lines.append(line)
    return lines


@pytest.mark.parametrize("count", [2, 12, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("which", ["gdb", "mtdb"])
def test_stops_as_a_breakpoint_does(compile, plugin, mtdb, tmp_path, which, count):
    """Sessions made at random, with a trigger that stops beside a breakpoint of its condition."""
    debugger = [need_tool("gdb"), "-nx"] if which == "gdb" else [mtdb]
    load = [f"source {plugin}"] if which == "gdb" else []
    programs = [compile("calls_lines.c", level, "-pthread") for level in ("-O0", "-O1")]
    for seed in range(count):
        rng = random.Random(seed)
        name, condition = rng.choice(PLACES)
        program = rng.choice(programs)
        commands = ["set breakpoint always-inserted on"] if rng.random() < 0.3 else []
        commands += rng.sample(OTHERS, rng.randrange(2)) + ["run"]
        commands += rng.choices(STEPS, k=rng.randint(5, 15))
        said = []
        for first in ([f"break {at_line(name)} if {condition}"],
                      [*load, "mtrace start", f"mtrace trigger -stop {at_line(name)} if {condition}"]):
            words = [word for command in ["set confirm off", "set width 0", "set args count", *first,
                                          *commands] for word in ("-ex", command)]
            done = subprocess.run([*debugger, "-batch", *words, program], cwd=tmp_path, text=True,
                                  capture_output=True, check=False, timeout=120,
                                  stdin=subprocess.DEVNULL)
            said.append(said_by(done.stdout) + said_by(done.stderr))
        assert said[0] == said[1], (seed, name, condition, commands)
