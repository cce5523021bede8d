# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace trigger: a snapshot at each hit, while the program runs on."""
import re

import pytest

import fxt

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


@pytest.fixture(name="program")
def make_program(compile, tmp_path):
    source = tmp_path / "square.c"
    source.write_text(PROGRAM)
    return compile(source, "-O0")


def test_hits(gdb, program):
    session = gdb(program, "mtrace start", "mtrace trigger square", "run", "mtrace info")
    assert "285" in session.lines
    assert "Trigger 1: square: 10 hits" in session.lines
    hits = re.findall(r"trigger 1, square, hit (\d+) in thread \d+: trace-(\d+)\.fxt",
                      session.output)
    assert hits == [(str(i), str(i)) for i in range(1, 11)]
    last = fxt.read(gdb.directory / "trace-10.fxt")
    assert [one.name for one in last.instants()].count("trigger") == 10


def test_condition_and_values(gdb, program):
    session = gdb(program, "mtrace start", 'mtrace trigger -print x -print "x * 2" square if x > 7',
                  "run", "mtrace info")
    assert "Trigger 1: square if x > 7: 2 hits" in session.lines
    assert [line for line in session.lines if line.startswith("  x")] == [
        "  x = 8", "  x * 2 = 16", "  x = 9", "  x * 2 = 18"]
    assert "exited normally" in session.output


def test_max(gdb, program):
    session = gdb(program, "mtrace start", "set mtrace on-crash off",
                  "mtrace trigger -max 2 square", "run", "mtrace info")
    assert "Snapshots: 2" in session.lines


def test_stop(gdb, program):
    session = gdb(program, "mtrace start", "mtrace trigger -stop square if x == 3", "run",
                  "print x", "mtrace delete 1", "continue")
    assert re.search(r"Breakpoint 1, square \(x=3\)", session.output)
    assert "$1 = 3" in session.lines
    assert "285" in session.lines and "exited normally" in session.output


def test_bad_location_and_condition(gdb, program):
    session = gdb(program, "mtrace trigger square if nosuch == 1", "mtrace info",
                  "info breakpoints")
    assert 'No symbol "nosuch" in current context.' in session.errors
    assert "Trigger" not in session.output
    assert "No breakpoints" in session.all


@pytest.mark.parametrize("text", ["*nosuch", "*", "*(1", '"', "'", "square if", "no such place(",
                                  "-max 1", "square if )", "(((", "file.c:99999999999"])
def test_odd_words_end_nothing(gdb, program, text):
    session = gdb(program, f"mtrace trigger {text}", "echo alive\\n")
    assert session.lines[-1] == "alive"


def test_function_for_conditions(gdb, program):
    session = gdb(program, "mtrace start", "break square if $_mtrace_snapshot() == 3", "run",
                  "print x")
    assert "$1 = 2" in session.lines
    assert (gdb.directory / "trace-3.fxt").exists()


def test_the_program_asks_itself(gdb, compile, tmp_path):
    """What it hands over is shown, on the screen and in the timeline."""
    source = tmp_path / "asks.c"
    source.write_text("""
__attribute__((noinline)) void magic_trace_stop_indicator(int a, const char *b)
{ __asm__ volatile("" : : "r"(a), "r"(b)); }
int main(void) { magic_trace_stop_indicator(7, "seven"); return 0; }
""")
    session = gdb(compile(source, "-O0"), "mtrace start", "mtrace trigger .", "run")
    assert "  a = 7" in session.lines
    assert [line for line in session.lines if line.startswith("  b = ") and '"seven"' in line]
    assert "a = 7, b = " in str([one.args for one in
                                 fxt.read(gdb.directory / "trace-1.fxt").instants()])


def test_what_is_pending_has_its_own_number(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace trigger -pending -max 1 nosuch if 1 == 1",
                  "mtrace trigger b", "info breakpoints")
    assert "Breakpoint 1 (nosuch) pending." in session.lines
    assert re.search(r"^1 +breakpoint +keep y +<PENDING> +nosuch", session.output, re.M)
    assert re.search(r"^Breakpoint 2 at 0x\w+: file .*deep.c, line \d+", session.output, re.M)
    assert "_mtrace_fire" not in session.output.split("Num ")[0]


def test_a_trigger_for_one_thread(gdb, compile):
    """What `break` takes."""
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break a", "run fault",
                  "mtrace trigger b thread 1", "mtrace trigger -max 1 c thread 1 if 1 == 1",
                  "info breakpoints", "continue")
    assert session.output.count("stop only in thread 1") == 2
    assert len(re.findall(r"^\[mtrace: trigger", session.output, re.M)) == 2


@pytest.mark.parametrize("words", ["c if x >", "c if (x > 3", "c if nothing > 3"])
def test_what_is_wrong_is_told_as_gdb_does(gdb, compile, words):
    """Of the user's own words, not of what we make of them."""
    program = compile("deep.c", "-O0")
    alone = gdb(program, f"break {words}").errors
    session = gdb(program, f"mtrace trigger {words}", "info breakpoints")
    assert session.errors == alone != "" and "No breakpoints" in session.output


def test_what_is_garbage_is_told_as_gdb_does(gdb, compile):
    """Without a condition, too."""
    session = gdb(compile("deep.c", "-O0"), "mtrace trigger a, b", "info breakpoints")
    assert session.errors == "Garbage ', b' at end of command\n" and "No breakpoints" in session.output


@pytest.mark.parametrize("words, what", [
    ("nosuch", 'Function "nosuch" not defined.'), ("nosuch if 1 == 1", 'Function "nosuch" not defined.'),
    ("nosuch return > 5ms", 'Function "nosuch" not defined.'),
    ("nosuch.c:3", "No source file named nosuch.c."), ("deep.c:9999", 'No line 9999 in file "deep.c".')])
def test_a_place_that_is_nowhere(either, compile, words, what):
    lines = either(compile("deep.c", "-O0"), "", "mtrace start", f"mtrace trigger {words}",
                   "mtrace info", "info breakpoints")
    assert what + "  (-pending waits for a library that has it)" in lines
    assert not [line for line in lines if line.startswith("Trigger")]
    assert "No breakpoints or watchpoints." in lines


@pytest.mark.parametrize("first, option", [("echo", "-pending"), ("set breakpoint pending on", "")])
def test_a_place_that_a_library_brings(either, compile, tmp_path, first, option):
    source = tmp_path / "opens.c"
    source.write_text("""
#include <dlfcn.h>
int main(int argc, char **argv)
{
	int (*work)(int) = (int (*)(int))dlsym(dlopen(argv[argc - 1], RTLD_NOW), "brought");
	for (int i = 0; i < 20; i++) work(i);
	return 0;
}
""")
    brought = tmp_path / "brought.c"
    brought.write_text("__attribute__((noinline)) int brought(int x) { return x * x; }\n")
    library = compile(brought, "-O1", "-shared", "-fPIC", output="brought.so")
    lines = either(compile(source, "-O1"), library, first, "mtrace start",
                   f"mtrace trigger {option} brought if x % 5 == 3", "run", "mtrace info")
    assert "Trigger 1: brought if x % 5 == 3: 4 hits" in lines, lines


def test_a_function_that_is_chosen_when_the_program_starts(gdb, compile, tmp_path):
    """GDB has such a breakpoint, but no object for it in Python."""
    source = tmp_path / "chooses.c"
    source.write_text("""
static int chosen_one(int x) { return x + 7; }
static int (*choose(void))(int) { return chosen_one; }
int chosen(int) __attribute__((ifunc("choose")));
int main(void) { int sum = 0; for (int i = 0; i < 5; i++) sum += chosen(i); return sum == 0; }
""")
    session = gdb(compile(source, "-O0"), "mtrace start", "mtrace trigger chosen",
                  "mtrace trigger chosen_one", "info breakpoints", "run", "mtrace info")
    assert session.errors.startswith('GDB does not know yet which function "chosen" stands for')
    assert re.findall(r"_mtrace_fire\((\d)\)", session.output) == ["1"]
    assert "Trigger 1: chosen_one: 5 hits" in session.lines


def test_its_last_hit_at_a_breakpoint_with_commands(gdb, compile, tmp_path):
    """The stop is printed before the commands run."""
    (tmp_path / "commands").write_text("break leaf\ncommands\nbt 1\ncontinue\nend\n")
    program = compile("debugged_watch.c", "-O0")
    plain = gdb(program, "source commands", "run", loaded=False)
    recorded = gdb(program, "mtrace start", "source commands", "mtrace trigger -max 1 leaf", "run")
    stops = re.compile(r"^(?:Breakpoint 1, leaf|#0  leaf) .*", re.M)
    assert "[mtrace: trigger 1, leaf, hit 1" in recorded.output
    assert stops.findall(recorded.output) == stops.findall(plain.output) != []
