# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers whose conditions the program evaluates itself, in GDB."""
import re

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdio.h>

static long own;

__attribute__((noinline)) int work(int x, int y)
{
	if (x > 19990 && y % 4 == 0)
		__sync_fetch_and_add(&own, 1);
	return x ^ y;
}

static void *run(void *argument)
{
	int sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += work(i, (int)(long)argument);
	return (void *)(long)sum;
}

int main(void)
{
	pthread_t threads[16];

	for (long i = 0; i < 16; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], 0);
	printf("own count: %ld\\n", own);
	return 0;
}
"""

CONDITION = "x > 19990 && y % 4 == 0"


@pytest.fixture(name="threads", params=["-O0", "-O2"])
def threads_fixture(compile, tmp_path, request):
    source = tmp_path / "threads.c"
    source.write_text(PROGRAM)
    return compile(source, request.param, "-pthread")


def test_hits_are_the_programs_own(gdb, threads):
    """320,000 calls in 16 threads; none but the hits stops."""
    session = gdb(threads, "mtrace start", f"mtrace trigger work if {CONDITION}", "run",
                  "mtrace info", "info breakpoints")
    own = int(re.search(r"own count: (\d+)", session.output).group(1))
    assert own == 36
    assert f"Trigger 1: work if {CONDITION}: {own} hits" in session.lines
    assert "evaluated by GDB" not in session.all
    assert re.search(r"^1 +breakpoint +keep y ", session.output, re.M)


def test_the_call_is_in_the_history(gdb, compile, tmp_path):
    source = tmp_path / "visits.c"
    source.write_text("""
__attribute__((noinline)) int leaf(int x) { return x + 1; }
__attribute__((noinline)) int visit(int x) { return leaf(x) * 2; }
int main(void) { int sum = 0; for (int i = 0; i < 40; i++) sum += visit(i); return sum == 0; }
""")
    session = gdb(compile(source, "-O0"), "mtrace start", "mtrace trigger -max 2 visit if x > 20",
                  "run", "echo history\\n", "mtrace history 6 leaf")
    rows = [line.split()[-2] if "visits.c" in line else line.split()[-1]
            for line in session.between("history") if " leaf " in line or " visit " in line]
    assert rows == ["visit", "leaf"] * 6


@pytest.mark.parametrize("other", ["mtrace trigger -stop visit if x == 30", "break visit if x == 30"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_beside_another_breakpoint(gdb, compile, tmp_path, level, other):
    """The thread goes on from there, and comes to the second one."""
    source = tmp_path / "beside.c"
    source.write_text("""
static int n;
__attribute__((noipa)) int visit(int x) { n += x; return n; }
int main(void) { for (int i = 0; i < 40; i++) visit(i); return n != 780; }
""")
    session = gdb(compile(source, level), "mtrace start", "mtrace trigger -stop visit if x == 20",
                  other, "run", "print x", "continue", "print x", "continue",
                  "mtrace snapshot all.txt")
    assert [line for line in session.lines if re.match(r"\$\d", line)] == ["$1 = 20", "$2 = 30"]
    assert "exited normally" in session.output
    assert (tmp_path / "all.txt").read_text().count(" visit ") >= 40


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_each_stop_is_one_call(gdb, compile, tmp_path, level):
    source = tmp_path / "square.c"
    source.write_text("""
#include <stdio.h>
__attribute__((noinline)) int square(int x) { return x * x; }
int main(void) { int sum = 0; for (int i = 0; i < 30; i++) sum += square(i % 10);
	printf("%d\\n", sum); return 0; }
""")
    session = gdb(compile(source, level), "mtrace start", "mtrace trigger -stop square if x == 3",
                  "run", "print x", "continue", "print x", "next", "print x", "continue",
                  "mtrace info")
    assert re.findall(r"^\$\d = (\d)$", session.output, re.M)[:2] == ["3", "3"]
    assert len(re.findall(r"Breakpoint 1, square \(x=(?:x@entry=)?3\)", session.output)) == 3
    assert "Trigger 1: square if x == 3: 3 hits" in session.lines
    assert "855" in session.lines


@pytest.mark.parametrize("condition, why", [
    ("$limit == 3", "$limit is known to the debugger alone"),
    ("x * 1.5l == 4.5", "it computes with floating-point numbers of 16 bytes"),
])
def test_what_gdb_has_to_evaluate(gdb, compile, tmp_path, condition, why):
    source = tmp_path / "square.c"
    source.write_text("""
__attribute__((noinline)) int square(int x) { int sum = x; { sum = x * x; } return sum; }
int main(void) { for (int i = 0; i < 10; i++) square(i); return 0; }
""")
    session = gdb(compile(source, "-O0"), "mtrace start", "set var $limit = 3",
                  f"mtrace trigger -max 1 square if {condition}", "break main", "run",
                  "mtrace info")
    assert f"Trigger 1 is evaluated by GDB, about 200 us a call: {why}." in session.all
    assert f"  evaluated by GDB, about 200 us a call: {why}" in session.lines


def test_what_cannot_be_read_is_counted(gdb, compile, tmp_path):
    source = tmp_path / "read.c"
    source.write_text("""
__attribute__((noinline)) int take(const int *p, int n) { return p && n ? n : 0; }
__attribute__((noinline)) void done(void) { __asm__ volatile(""); }
int main(void) { int one = 1, sum = 0; for (int i = 0; i < 5; i++) sum += take(i & 1 ? 0 : &one, i);
	done(); return sum == 0; }
""")
    session = gdb(compile(source, "-O0"), "mtrace start",
                  "mtrace trigger -max 1 take if *p == 7 || 4 / n == 9", "break done", "run",
                  "mtrace info", "continue", "mtrace info")
    for line in ("  could not be evaluated 2 times: Cannot access memory at address 0x0",
                 "  could not be evaluated 1 time: Division by zero"):
        assert session.lines.count(line) == 2  # at the breakpoint, and when all is over


def test_deleted_disabled_and_stopped(gdb, compile, tmp_path):
    source = tmp_path / "rounds.c"
    source.write_text("""
__attribute__((noinline)) int square(int x) { return x * x; }
__attribute__((noinline)) int pause_here(int round) { return round; }
int main(void) { for (int i = 0; i < 4; i++) { pause_here(i); square(7); square(i); } return 0; }
""")
    program = compile(source, "-O0")
    session = gdb(program, "mtrace start", "break pause_here", "run",
                  "mtrace trigger square if x == 7", "continue", "disable 2", "continue",
                  "enable 2", "mtrace stop", "continue", "mtrace delete 1", "mtrace start",
                  "continue")
    assert session.output.count("[mtrace: trigger 1,") == 1
    assert "exited normally" in session.output


def test_crossings_that_are_ignored(either, compile, tmp_path):
    """Nobody stops at them, and the trigger has its snapshots."""
    source = tmp_path / "square.c"
    source.write_text("""
__attribute__((noinline)) int square(int x) { return x * x; }
int main(void) { int sum = 0; for (int i = 0; i < 30; i++) sum += square(i); return sum == 0; }
""")
    lines = either(compile(source, "-O0"), "", "mtrace start",
                   "mtrace trigger -stop square if x % 5 == 0", "run", "print x", "continue 3",
                   "print x", "continue", "print x", "mtrace info")
    assert [line for line in lines if line.startswith("$")] == ["$1 = 0", "$2 = 15", "$3 = 20"]
    assert "Trigger 1: square if x % 5 == 0: 5 hits" in lines, lines


def test_one_in_the_place_of_one_that_is_deleted(either, compile, tmp_path):
    """Also while the program stands where it was."""
    source = tmp_path / "square.c"
    source.write_text("""
__attribute__((noinline)) int square(int x) { return x * x; }
int main(void) { int sum = 0; for (int i = 0; i < 30; i++) sum += square(i); return sum == 0; }
""")
    lines = either(compile(source, "-O0"), "", "mtrace start", "tbreak main", "run", "mtrace trigger square if x == 3",
                   "mtrace delete 1", "mtrace trigger square if x == 5", "mtrace info", "continue", "mtrace info")
    assert not [line for line in lines if "evaluated by" in line], lines
    assert "Trigger 2: square if x == 5: 1 hit" in lines and "Trigger 1: square if x == 3: 0 hits" not in lines


@pytest.mark.parametrize("options", [("-print 1", "-print 2"), ("-print 1", ""), ("", "-print 1")])
def test_triggers_that_print_at_the_same_function(gdb, compile, options):
    """Where a thread is stepped to, to be looked at, the other one's code may not be passed once more."""
    session = gdb(compile("debug_follow.c", "-O0"), "mtrace start",
                  *[f"mtrace trigger {option} work" for option in options], "run f")
    assert "exited normally" in session.output, session.all
    assert all(f"[mtrace: trigger {number}, work, hit 1 " in session.output for number in (1, 2))


@pytest.mark.parametrize("ours", [
    ["mtrace trigger visit"],
    ["mtrace trigger visit if $_streq(text, \"b\")"],
    ["mtrace trigger -return leaf if $_ret > 0"],
    ["mtrace values visit", "mtrace trigger visit.c:6 if *text == 'b'"],
])
def test_no_system_call_of_ours_is_caught(gdb, compile, tmp_path, ours):
    """Gates ask the kernel whether memory is there, and send signals."""
    source = tmp_path / "visit.c"
    source.write_text("""
#include <unistd.h>
__attribute__((noinline)) int leaf(int x) { return x + (int)getppid(); }
__attribute__((noinline)) int visit(const char *text)
{
	return text[0] + leaf(2);
}
int main(void)
{
	char text[] = "a";
	int sum = 0;
	for (; *text < 'd'; ++*text)
		sum += visit(text);
	return sum == 0;
}
""")
    program = compile(source, "-O0")

    def caught(*commands):
        session = gdb(program, *commands, "break main", "run", "catch syscall", *["continue"] * 7,
                      "mtrace info", "kill", checked=False)
        return re.findall(r"^Catchpoint \d+ \((\w+ .* syscall \w+)\)", session.output, re.M), session

    theirs = caught()[0]
    seen, session = caught("mtrace start", *ours)
    assert len(theirs) == 7 and all("getppid" in call for call in theirs[:6])
    assert seen == theirs
    if "trigger" in ours[-1]:
        assert re.search(r"^Trigger 1: .*: [1-9]\d* hits?$", session.output, re.M), session.all


@pytest.mark.parametrize("options", ["", "-return ", "-slower 1h "])
def test_the_last_breakpoint_is_the_triggers(gdb, compile, options):
    """What `commands` and $bpnum mean, also where the first trigger brings a catchpoint with it."""
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break main", "run",
                  f"mtrace trigger {options}leaf", "print $bpnum", "kill")
    set_at = [int(number) for number in re.findall(r"^Breakpoint (\d+) at ", session.output, re.M)]
    assert f"$1 = {set_at[-1]}" in session.lines
