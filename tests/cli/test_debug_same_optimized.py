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
BUILDS = [("gcc", "-O2"), ("gcc", "-Os"), ("gcc", "-O1"), ("clang", "-O2")]


@pytest.fixture(scope="module", params=BUILDS, ids=" ".join)
def compare(request, need, mtdb, compile):
    compiler, flags = request.param
    gdb, program = need("gdb"), compile("debug_optimized.c", flags, compiler=compiler)
    return lambda scripts: same(gdb, mtdb, [*words_of(scripts), program])


def test_places(compare):
    """Where breakpoints go: past what is a prologue, into each inlined call, to each block."""
    assert any(line.startswith("4.2 ") and " in sum_of at " in line for line in compare(PLACES))
