# SPDX-License-Identifier: GPL-3.0-or-later
"""The same scripts, given to GDB and to mtdb's prompt, on what optimizers make of a program."""
import pytest

from tests.cli.same import same, words_of

FUNCTIONS = ["leaf", "deeper", "deep", "sum_of", "last_of_three", "second_of_three", "first_of_three",
             "loop", "pairs", "give_up", "check", "is_even", "is_odd", "main"]
BREAKS = "".join(f"break {name}\n" for name in FUNCTIONS)
LINES = range(14, 129)
PLACES = [
    ("", BREAKS + "info breakpoints\n" + "".join(f"info line {name}\n" for name in FUNCTIONS)),
    ("", "".join(f"break {line}\n" for line in LINES) + "info breakpoints\n"),
]
LOOK = "bt\ninfo args\ninfo locals\n" + "up\ninfo args\ninfo locals\n" * 3
STOPS = [
    ("", BREAKS + "run\n" + "bt\nc\n" * 26),
    # Past tail calls, with what was optimized out, and out of a call that does not return.
    *(("", f"break {name}\nrun\n{LOOK}") for name in
      ["leaf", "deeper", "sum_of", "last_of_three", "is_odd", "is_even"]),
    ("a b", "break give_up\nrun\n" + LOOK),
]
STEPS = [
    ("", "break main\nrun\n" + "step\n" * 60),
    ("", "break main\nrun\n" + "next\n" * 12),
    ("", "break loop\nrun\n" + "next\n" * 20 + "nexti\n" * 20 + "until\n" * 6),
    ("", "break first_of_three\nrun\n" + "stepi\nbt\n" * 20),
    # Into and out of calls, inlined ones too.
    ("", "break sum_of\nrun\nfinish\nc\nup\nfinish\nfinish\n"),
    ("", "break leaf\nrun\nup\nup\nfinish\nc\nfinish\nadvance last_of_three\nadvance deeper\n"),
    # A line is waited for in the same frame, or out of it; out of main, too.
    ("", "break first_of_three\nrun\nuntil 19\nuntil 19\nuntil 19\n"),
]
# -O1 and -Os make nothing that the others do not make, too.
SOME = [("gcc", "-O2"), ("clang", "-O2")]
MORE = [("gcc", "-O1"), ("gcc", "-Os"), ("gcc", "-O2 -gdwarf-4"), ("clang", "-O1")]
BUILDS = [pytest.param(build, marks=marks) for builds, marks in [(SOME, []), (MORE, [pytest.mark.soak])]
          for build in builds]


@pytest.fixture(scope="module", params=BUILDS, ids=" ".join)
def compare(request, need, mtdb, compile):
    compiler, flags = request.param
    gdb, program = need("gdb"), compile("debug_optimized.c", *flags.split(), compiler=compiler)
    return lambda scripts: same(gdb, mtdb, [*words_of(scripts), program])


def test_places(compare):
    """Where breakpoints go: past what is a prologue, into each inlined call, to each block."""
    assert any(line.startswith("4.2 ") and " in sum_of at " in line for line in compare(PLACES))


def test_stops(compare):
    """Backtraces, arguments and locals at each function."""
    lines = compare(STOPS)
    assert "#3  loop (count=count@entry=4) at debug_optimized.c:73" in lines


def test_steps(compare):
    compare(STEPS)
