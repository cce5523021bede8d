# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers where calls end, by what they return and how long they took, and limits of triggers: in
GDB and at mtdb's prompt."""
import re

import pytest

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct pair { int first, second; };

static volatile int sink;
static int is_slow;
static long failed;

__attribute__((noinline)) int work(int n) { if (n == 77 && is_slow) sleep(3); return sink += n; }
__attribute__((noinline)) int visit(int n) { work(n); return n % 10 == 3 ? -n : n; }
__attribute__((noinline)) double half(int n) { return n / 2.0; }
__attribute__((noinline)) struct pair both(int n) { return (struct pair){n, -n}; }
__attribute__((noinline)) const char *name(int n) { return n ? "some" : "none"; }
__attribute__((noinline)) void nothing(int n) { sink = n; }
__attribute__((noipa)) int early(int n) { return n <= 0 ? 0 : 1 + early(n - 1); }

static void *run(void *argument)
{
	for (int i = 0; i < 500; i++)
		if (visit(i) < 0)
			__sync_fetch_and_add(&failed, 1);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[8];
	double sum = 0;

	is_slow = argc == 3;
	for (int i = 0; argc == 2 && i < 8; i++)
		pthread_create(&threads[i], 0, run, 0);
	for (int i = 0; argc == 2 && i < 8; i++)
		pthread_join(threads[i], 0);
	if (argc != 2)
		run(argv);
	for (int i = 0; i < 10; i++) {
		sum += half(i) + both(i).second + *name(i);
		nothing(i);
		sink = early(i % 5);
	}
	printf("failed: %ld, sum %g\\n", failed, sum);
	return 0;
}
"""


@pytest.fixture(name="debug")
def debug_fixture(either, compile, tmp_path):
    source = tmp_path / "returns.c"
    source.write_text(SOURCE)
    return lambda level, *words: either(compile(source, level, "-pthread"), *words)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hits_are_the_programs_own(debug, level):
    """Of 4000 calls in 8 threads; two triggers at the same returns."""
    lines = debug(level, "threads", "mtrace start -size 64k",
                  "mtrace trigger -return visit if $_ret == -493",
                  "mtrace trigger visit return if $_ret == 7", "run", "mtrace info")
    assert any("failed: 400, sum 1122.5" in line for line in lines)  # GDB writes there, too
    assert "Trigger 1: visit return if $_ret == -493: 8 hits" in lines
    assert "Trigger 2: visit return if $_ret == 7: 8 hits" in lines


def test_one_of_many_is_slow(debug):
    """What the debugger does at other triggers' hits is not the program's time, nor is what a user
    does at a stop."""
    lines = debug("-O1", "one slow", "mtrace start", "mtrace trigger -print n -slower 2s visit",
                  "mtrace trigger work if n < 100 && n % 20 == 0",
                  "mtrace trigger visit return if $_ret == 55 && $_duration > 2000000000",
                  "break work if n == 200", "run", "shell sleep 2.5", "continue", "mtrace info")
    assert "failed: 50, sum 1122.5" in lines
    assert "Trigger 1: visit > 2s: 1 hit" in lines
    assert "  n = 77" in lines
    assert "Trigger 2: work if n < 100 && n % 20 == 0: 5 hits" in lines
    assert "Trigger 3: visit return if $_ret == 55 && $_duration > 2000000000: 0 hits" in lines


@pytest.mark.parametrize("function, value", [
    ("half", "$_ret = 1.5"), ("name", '"some"'), ("both", None), ("nothing", "$_ret = void")])
def test_what_is_returned(debug, function, value):
    lines = debug("-O1", "", "mtrace start",
                  f"mtrace trigger -print $_ret -print '$_duration > 0' -ignore 3 -max 1 -return "
                  f"{function}", "run", "mtrace info")
    assert "failed: 50, sum 1122.5" in lines
    assert any(value in line for line in lines) if value else True
    assert "  $_duration > 0 = 1" in lines
    assert f"Trigger 1: {function} return, after 3 hits: 1 hit (done)" in lines


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_stop_at_a_return(debug, level):
    """The thread stands at the instruction that returns, and goes on as if nobody had looked."""
    lines = debug(level, "", "mtrace start", "mtrace trigger -stop -return visit if $_ret == -13",
                  "run", "backtrace", "print $_ret", "print $pc == *(long *)$sp", "stepi",
                  "info symbol $pc", "continue", "mtrace history 2 visit")
    text = "\n".join(lines)
    assert re.search(r"#0 .* visit \(n=.*\n#1 .* run \(", text), text
    assert "$1 = -13" in lines
    assert any(line.startswith("run + ") or line.startswith("run(void*) + ") for line in lines)
    assert "failed: 50, sum 1122.5" in lines
    assert len([line for line in lines if re.search(r"[nµm]s +visit +returns.c:\d+", line)]) == 2


def test_limits(debug):
    lines = debug("-O1", "", "mtrace start", "mtrace trigger -every 100 visit",
                  "mtrace trigger -ignore 10 -every 100 -max 2 work", "mtrace trigger -rate 1/h "
                  "visit return", "run", "mtrace info")
    assert "failed: 50, sum 1122.5" in lines
    assert "Trigger 1: visit, one of 100: 5 hits" in lines
    assert "Trigger 2: work, after 10 hits, one of 100: 2 hits (done)" in lines
    assert "Trigger 3: visit return, 3600 s apart at least: 1 hit" in lines


def test_limits_that_the_debugger_keeps(debug):
    lines = debug("-O1", "", "mtrace start", "mtrace trigger -every 100 visit if n / 2.0 >= 0",
                  "mtrace trigger -ignore 20 -max 3 -stop returns.c:12 if n >= 0", "run",
                  "continue", "continue", "continue", "mtrace info")
    assert "failed: 50, sum 1122.5" in lines
    assert "Trigger 1: visit if n / 2.0 >= 0, one of 100: 5 hits" in lines


def test_what_cannot_be_seen(debug):
    lines = debug("-O1", "", "mtrace start", "mtrace trigger -return nothing if $_ret", "tbreak half",
                  "run", "mtrace info", "continue")
    assert "Trigger 1 sees no calls: The function returns nothing." in lines
    assert "  sees no calls: The function returns nothing" in lines
    assert "failed: 50, sum 1122.5" in lines


def test_strings(debug):
    """By GDB's convenience functions, which the program evaluates."""
    lines = debug("-O1", "", "mtrace start",
                  'mtrace trigger -print $_ret name return if $_streq($_ret, "none")',
                  'mtrace trigger name return if $_memeq($_ret, "so", 2)',
                  'mtrace trigger name return if $_streq($_ret, "\\"$some") || *$_ret == \'$\'',
                  "break nothing if n == 9", "run", "mtrace info", "continue")
    assert "failed: 50, sum 1122.5" in lines
    assert 'Trigger 1: name return if $_streq($_ret, "none"): 1 hit' in lines
    assert 'Trigger 2: name return if $_memeq($_ret, "so", 2): 9 hits' in lines
    assert any(line.startswith("Trigger 3: ") and line.endswith(": 0 hits") for line in lines)
    assert any(line.startswith("  $_ret = 0x") and line.endswith('"none"') for line in lines)
    assert not any("sees no calls" in line for line in lines)


def test_a_return_that_is_a_jumps_goal(debug):
    """It has no patch of its own, so it is none that was left out."""
    lines = debug("-O1", "", "mtrace start", "mtrace trigger early return if $_ret == 0", "run", "mtrace info")
    assert "Trigger 1: early return if $_ret == 0: 10 hits" in lines
    assert not [line for line in lines if "sees no calls" in line]


def test_long_doubles_are_printed(either, compile, tmp_path):
    """The program does not read the register that they are in."""
    source = tmp_path / "exact.c"
    source.write_text("""
__attribute__((noinline)) long double half(int n) { return n / 2.0l; }
int main(void) { long double sum = 0; for (int i = 1; i < 4; i++) sum += half(i); return sum != 3; }
""")
    lines = either(compile(source, "-O1"), "", "mtrace start", "mtrace trigger -return -print $_ret half",
                   "mtrace trigger -return half if $_ret > 1", "run", "mtrace info")
    assert [line for line in lines if line.startswith("  $_ret = ")] == [f"  $_ret = {n}" for n in ("0.5", "1", "1.5")]
    assert any(line.endswith("  sees no calls: a long double lies in a register of x87") for line in lines), lines
    assert any("exited normally" in line for line in lines), lines
