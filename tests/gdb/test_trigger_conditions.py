# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions of triggers that mean nothing at times, or at some of the places."""
import re
import subprocess

import pytest


def test_a_condition_that_cannot_be_evaluated(gdb, mtdb, compile, tmp_path):
    """By mtdb itself: it does not hold, and is counted.  (GDB stops there, as at all breakpoints.)"""
    source = tmp_path / "follows.c"
    source.write_text("""
static int one = 1;
__attribute__((noinline)) int follow(const int *p, int n) { return p ? n : 0; }
int main(void) { int sum = 0; for (int i = 0; i < 9; i++) sum += follow(i % 3 ? &one : 0, i); return sum == 0; }
""")
    words = ["set var $limit = 4", "mtrace start", "mtrace trigger follow if *p == 1 && n > $limit",
             "run", "mtrace info"]
    done = subprocess.run([mtdb, "-batch", *(word for one in words for word in ("-ex", one)),
                           compile(source, "-O0")], cwd=tmp_path, text=True, capture_output=True,
                          check=True, timeout=120, stdin=subprocess.DEVNULL)
    assert "Trigger 1: follow if *p == 1 && n > $limit: 3 hits" in done.stdout.splitlines()
    assert "  could not be evaluated 3 times: Cannot access memory at address 0x0" in done.stdout.splitlines()
    assert "Error in testing" not in done.stderr


@pytest.mark.parametrize("condition, hits", [("k > 3", 6), ("s.v == 5", 10), ("nosuch", None)])
def test_a_condition_about_one_overload(either, compile, tmp_path, condition, hits):
    source = tmp_path / "overloads.cpp"
    source.write_text("""
struct sized { int v; };
__attribute__((noinline)) int get(int k) { return k; }
__attribute__((noinline)) int get(const sized &s) { return s.v; }
int main() { int sum = 0; sized s = {5}; for (int i = 0; i < 10; i++) sum += get(i) + get(s); return sum == 0; }
""")
    lines = either(compile(source, "-O0"), "", "mtrace start", f"mtrace trigger get if {condition}",
                   "run", "mtrace info")
    assert "Error in testing breakpoint condition:" not in lines
    told = [line for line in lines if line.startswith("Trigger 1: get if ") and "hit" in line.split(":")[-1]]
    assert told == ([f"Trigger 1: get if {condition}: {hits} hits"] if hits else []), lines


TWO = """
__attribute__((noinline)) int visit(int x, double y) { __asm__ volatile(""); return x + (int)y; }

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 50; i++)
		sum += visit(i, i);
	return sum == 3;
}
"""


@pytest.mark.parametrize("stop", ["", "-stop "])
@pytest.mark.parametrize("by_debugger", [0, 1, 2])
def test_two_at_one_function(either, compile, tmp_path, stop, by_debugger):
    """Each is hit as if it were alone, whoever evaluates them: at 2, 7, 12 ..., and at 7, 17 ..."""
    source = tmp_path / "two.c"
    source.write_text(TWO)
    more = [" && x + 0.5l > 1"] * by_debugger + [""] * 2
    lines = either(compile(source, "-O1"), "", "mtrace start", f"mtrace trigger {stop}visit if x % 10 == 7{more[0]}",
                   f"mtrace trigger {stop}visit if x % 5 == 2{more[1]}", "run",
                   *(["continue"] * 10 if stop else []), "mtrace info")
    hits = [line.rsplit(": ", 1)[1] for line in lines if line.startswith("Trigger ") and line.endswith(" hits")]
    assert hits == ["5 hits", "10 hits"], lines
    assert any("exited normally" in line for line in lines)
    assert len([line for line in lines if line.startswith("Breakpoint ") and ", visit (" in line]) == (10 if stop else 0)


@pytest.mark.parametrize("what, hits", [("$xmm0.v2_double[0] == 7", 1), ("$xmm0.v4_int32[1] >= 0x40000000", 48)])
@pytest.mark.parametrize("where", ["visit", "-return visit"])
def test_vector_registers(either, compile, tmp_path, what, hits, where):
    """At entries and returns, without a stop at each call; the function does not change the register."""
    source = tmp_path / "vectors.c"
    source.write_text(TWO.replace("return x + (int)y;", "__asm__ volatile(\"\" :: \"x\"(y)); return x;"))
    lines = either(compile(source, "-O1"), "", "mtrace start", f"mtrace trigger {where} if {what}", "run",
                   "mtrace info")
    told = [line.rsplit(": ", 1)[1] for line in lines if re.match(r"Trigger 1: .* hits?$", line)]
    assert told == [f"{hits} hit{'s' * (hits > 1)}"], lines
    assert not any("evaluated by" in line for line in lines), lines
