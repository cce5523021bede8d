# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated conditions, which the program evaluates itself, hold as often as GDB finds them to."""
import collections
import json
import random

import pytest

import as_gdb

WHOLE = """x u c h stacked flag $edi $rdi $sil global_number own s->base.wide s->base.flags s->low
    s->middle s->high s->inner.tiny s->inner.table[1] s->next->base.wide s->next->next->base.flags
    *s->name s->name[1] s->is_set s->colour s->number s->bytes[2] numbers[2] *numbers numbers[x&7]
    sizeof(*s) RED BLUE 'a' (&s->next->base.flags)[1] *(short*)&s->base.wide
    &s->share[1]-s->share
    7 -1 0x80000000 3000000000 1 2 3""".split() + ["((struct base *)s)->flags"]
REAL = "real narrow s->weight s->share[0] s->share[x&1] -real s->next->weight".split()
SUMMED = """real narrow s->weight s->share[0] s->share[x&1] s->next->weight x u h c s->base.wide s->high
    stacked 2.5 0.1 0.1f 3 1e-45 16777217 1e300 1.5f 'a'""".split()
# They may not fit into a float, or a double.
ROUNDED = ["x", "u", "stacked", "s->base.wide", "s->high", "(unsigned long)s->base.wide", "$rdi"]
EXTENDED = ["passed", "s->exact", "s->next->exact", "(long double)real", "(long double)s->base.wide"]
POINTERS = ["s == s->next", "s", "!s", "s->name != 0", "s < s->next", "s->next && s->next->is_set",
            "s->name == $rsi", "&s->inner", "numbers == &numbers[0]"]
# Of one run: each has its place in a page that the program shares.
MOST = 120
MOST_ROUNDED = 30  # of these
CALLS = 12  # of the fixture

def whole(rng, depth):
    kind = rng.random()
    if not depth or kind < .25:
        return rng.choice(WHOLE)
    if kind < .45:
        cast = rng.choice(["(int)", "(unsigned char)", "(long)", "(short)", "(unsigned)", "-",
                           "~", "!"])
        return f"{cast}({whole(rng, depth - 1)})"
    operator = rng.choice("+ - * / % & | ^ << >> < == && ||".split())
    if operator in ("<<", ">>"):  # GDB warns of counts that C does not know
        return f"({whole(rng, depth - 1)}) {operator} ({whole(rng, depth - 1)} & 15)"
    return f"({whole(rng, depth - 1)}) {operator} ({whole(rng, depth - 1)})"


def summed(rng, depth):
    """What is computed of floating-point numbers, and of whole ones with them."""
    kind = rng.random()
    if not depth or kind < .2:
        return rng.choice(SUMMED)
    if kind < .4:
        cast = rng.choice(["(float)", "(double)", "-", "(int)", "(long)", "(unsigned char)", "+"])
        return f"{cast}({summed(rng, depth - 1)})"
    if kind < .45:
        return f"(x > 3 ? s->weight : {rng.choice(['real', 's->weight'])} * 2)"
    return f"({summed(rng, depth - 1)}) {rng.choice('+-*/')} ({summed(rng, depth - 1)})"


def condition(rng):
    relation = rng.choice("< > <= >= == !=".split())
    kind = rng.random()
    if kind < .08:
        return rng.choice(POINTERS)
    if kind < .18:
        return f"{summed(rng, 3)} {relation} {summed(rng, 2)}"
    if kind < .3:
        other = rng.choice(REAL + ["2.5", "0.1", "-1", "0", "1e-45", "16777217", "h", "c"])
        return f"{rng.choice(REAL)} {relation} {other}"
    if kind < .34:
        return f"{rng.choice(['', '!'])}({rng.choice(REAL)})"
    if kind < .4:
        other = rng.choice(EXTENDED + REAL[:4] + ROUNDED + ["0.1l", "0.1", "-1", "2.5", "0", "real * 2"])
        return rng.choice([f"{rng.choice(EXTENDED)} {relation} {other}", f"{other} {relation} {rng.choice(EXTENDED)}",
                           f"{rng.choice(['', '!'])}({rng.choice(EXTENDED[:3])})"])
    if kind < .45:
        return (f"(({whole(rng, 1)}) ? (int)({whole(rng, 1)}) : (int)({whole(rng, 1)})) {relation} "
                f"{whole(rng, 1)}")
    return f"({whole(rng, 2)}) {relation} ({whole(rng, 2)})"


def rounded(rng):
    relation = rng.choice("< > <= >= == !=".split())
    return f"{rng.choice(ROUNDED)} {relation} {rng.choice(REAL)}"


def compare(run_mtdb, program, seed, tmp_path):
    rng = random.Random(seed)
    conditions = [condition(rng) for _ in range(MOST - MOST_ROUNDED)]
    conditions = list(dict.fromkeys(conditions + [rounded(rng) for _ in range(MOST_ROUNDED)]))
    said, counts = as_gdb.compare(run_mtdb, program, "visit", conditions, tmp_path)
    return said.count("evaluated by mtdb"), sum(0 < count < CALLS for count in counts)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_as_gdb_has_them(run_mtdb, compile, tmp_path, level):
    by_stops, some = compare(run_mtdb, compile("condition_values.c", level), 1, tmp_path)
    assert by_stops < 20 and some > 20


@pytest.mark.soak
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_as_gdb_has_them(run_mtdb, compile, tmp_path, compiler, level, seed):
    compare(run_mtdb, compile("condition_values.c", level, compiler=compiler), seed, tmp_path)


CLASSES = {
    "Whole::work if this->own == 30": 1,  # and not at the thunk that leads there
    "Whole::work if own > 270 && count < 95": 4,
    "Whole::work if ((Second *)this)->second == 8": 1,
    "Whole::work if ((First *)this)->first == 8 && !((Second *)0)": 1,
    "shop::look if whole.own == 9 && number == 3": 1,
    "shop::look if shade == Shade::DARK": 50,
    "shop::look if mine > 90 && shop::total == 7": 9,
    "shop::look if calls == 5": 1,
}


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_classes(run_mtdb, compile, tmp_path, compiler, level):
    triggers = [word for text in CLASSES for word in ("-t", text)]
    program = compile("condition_classes.cpp", level, compiler=compiler)
    done = run_mtdb("run", "--engine=calls", "--size=16k", "--modules=condition_classes", "-o",
                    tmp_path / "x.json", *triggers, program)
    assert done.returncode == 0 and "evaluated by mtdb" not in done.stderr, done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    hits = collections.Counter(event["args"]["number"] for event in events
                               if event["ph"] == "i" and event["name"] == "trigger")
    assert {text: hits[number] for number, text in enumerate(CLASSES, 1)} == CLASSES
