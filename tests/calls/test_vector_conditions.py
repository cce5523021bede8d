# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions about vector registers, which the program evaluates itself, hold as often as GDB finds
them to."""
import random
import re

import pytest

import as_gdb

FLOATS = {"v4_float": 4, "v2_double": 2}
WHOLE = {"v16_int8": 16, "v8_int16": 8, "v4_int32": 4, "v2_int64": 2}
MOST = 100  # of a run: each has its place in a page that the program shares
MOST_WITHIN = 12  # each has a run of its own: of several at one line mtdb evaluates all
CALLS = 12  # of the fixture


def part(rng, views):
    view, count = rng.choice(list(views.items()))
    return f"$xmm{rng.choice([0, 1, 13, rng.randrange(16)])}.{view}[{rng.randrange(count)}]"


def summed(rng):
    cast = rng.choice(["", "", "-", "(int)", "(float)", "(double)"])
    other = rng.choice([part(rng, FLOATS), part(rng, WHOLE), "2.5", "0.1f", "3"])
    return f"{cast}({part(rng, FLOATS)}) {rng.choice('+-*/')} {other}"


def condition(rng):
    relation = rng.choice("< > <= >= == !=".split())
    kind = rng.random()
    if kind < .1:
        return rng.choice(["", "!"]) + part(rng, {**FLOATS, **WHOLE})
    if kind < .4:
        other = rng.choice([part(rng, FLOATS), part(rng, WHOLE), "1", "0.1", "2.5f", "-1"])
        return f"{part(rng, FLOATS)} {relation} {other}"
    if kind < .6:
        return f"{summed(rng)} {relation} {rng.choice([part(rng, FLOATS), '1', '-0.5'])}"
    if kind < .9:
        other = rng.choice([part(rng, WHOLE), "0", "-1", "127", "255", "3"])
        operator = rng.choice("+ - * & | ^".split())
        return f"({part(rng, WHOLE)} {operator} {part(rng, WHOLE)}) {relation} {other}"
    return f"{part(rng, FLOATS)} {relation} 1 && {part(rng, WHOLE)} != 0"


def compare(run_mtdb, program, conditions, tmp_path, place, break_at):
    said, counts = as_gdb.compare(run_mtdb, program, place, conditions, tmp_path, break_at)
    assert "evaluated by mtdb" not in said, said
    return sum(0 < count < CALLS for count in counts)


def generate(seed, count):
    rng = random.Random(seed)
    return list(dict.fromkeys(condition(rng) for _ in range(count)))


PLACES = pytest.mark.parametrize("place, break_at", [("visit", "*visit"),
                                                     ("visit return", "*visit_end")])


@PLACES
def test_as_gdb_has_them(run_mtdb, compile, tmp_path, place, break_at):
    program = compile("condition_vectors.c", "-O1")
    assert compare(run_mtdb, program, generate(1, MOST), tmp_path, place, break_at) > 30


def test_within_a_function(run_mtdb, compile, tmp_path):
    program = compile("condition_vectors.c", "-O1")
    some = [compare(run_mtdb, program, [text], tmp_path, "*visit_within", "*visit_within")
            for text in generate(2, MOST_WITHIN)]
    assert sum(some) > 5


@pytest.mark.soak
@PLACES
@pytest.mark.parametrize("seed", range(3, 13))
def test_many_as_gdb_has_them(run_mtdb, compile, tmp_path, place, break_at, seed):
    program = compile("condition_vectors.c", "-O1")
    compare(run_mtdb, program, generate(seed, MOST), tmp_path, place, break_at)


def test_recorded_and_printed(run_mtdb, compile, tmp_path):
    """With the values of the first call."""
    words = ["$xmm12.v2_double[1]", "$xmm12.v2_double[0]", "$xmm4.v4_float[2]", "$xmm14.v4_int32[3]"]
    done = run_mtdb("run", "--engine=calls", "--modules=condition_vectors", "-o", tmp_path / "x.txt",
                    f"--args=visit({', '.join(words)})", "-t",
                    f"{' '.join('-print ' + word for word in words)} -max 1 visit",
                    compile("condition_vectors.c", "-O1"))
    shown = re.search(r"trigger 1, visit, in thread .*?: (.*)", done.stderr)[1]
    assert shown.count(" = ") == 4, done.stderr
    text = (tmp_path / "x.txt").read_text()
    recorded = re.search(r"visit\((.*?)\)", text)[1]
    assert recorded.replace("=", " = ") == shown, text
