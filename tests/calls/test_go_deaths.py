# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a program of Go's dies is told, with the last calls of the goroutine that is to blame."""
import re

import pytest

from tests.calls.test_goroutines import WAYS

INDEX = "panic: runtime error: index out of range [7] with length 3"
NIL = "panic: runtime error: invalid memory address or nil pointer dereference"
DEADLOCK = "fatal error: all goroutines are asleep - deadlock!"
DEATHS = {
    "string": "panic: no such shard",
    "long": "panic: " + "0123456789" * 102 + "0123...",
    "error": "panic: the disk is full",
    "errorf": "panic: shard 7: file does not exist",
    "sprintf": "panic: bad count 12",
    "custom": "panic: custom 5",
    "stringer": "panic: named Bob",
    "int": "panic: -42",
    "byte": "panic: 200",
    "bool": "panic: true",
    "struct": "panic: a value at 0xc",
    "again": "panic: again: first",
    "nil": NIL,
    "index": INDEX,
    "unlock": "fatal error: sync: unlock of unlocked mutex",
    "deep": "fatal error: stack overflow",
    "wait": DEADLOCK,
}
LEADS = {"nil": "main.follow", "index": "main.look", "deep": "main.deeper",
         "again": "main.again.func1"}


@pytest.fixture(name="die")
def die_fixture(go, run_mtdb, tmp_path):
    """die("static", "nil") -> (the goroutine that died, what mtdb says of it, the recording)."""

    def die(way, how, *words):
        program = go(f"dies-{way}", *WAYS[way], source="calls_dies.go")
        recording = tmp_path / f"{how}.perf"
        done = run_mtdb("run", "-e", "calls", *words, "--record", recording,
                        "-o", tmp_path / f"{how}.txt", "--", program, how)
        assert done.returncode == 2, done.stderr
        number = re.search(r"^goroutine (\d+)$", done.stdout, re.M)[1]
        return number, done.stderr[done.stderr.index("mtdb: "):], recording

    return die


def names(text):
    """Of lines with times: the functions."""
    return re.findall(r"^ +~?[-+]?[\d.]+ (?:µs|ms|s )  +(?:open|[>~]*[\d.]+ (?:ns|µs|ms|s ))  +"
                      r"(?:\+\d+ )?(\S+)", text, re.M)


def check(way, how, die):
    number, said, _ = die(way, how)
    assert re.search(rf"^mtdb: \S+ died of a {re.escape(DEATHS[how])}.*; its last calls:$", said,
                     re.M), said
    said = said[said.index("its last calls"):]
    said = said[:said.index("mtdb: ")]
    assert re.findall(r'^Goroutine "goroutine (\d+)', said, re.M) == ["1" if how == "wait" else number]
    if how == "wait":
        assert names(said)[-3:-1] == ["runtime.gopark", "runtime.mcall"]
        assert said.rstrip().endswith(" waiting: chan receive")
        return
    if how != "deep":  # that is told on the thread's own stack
        told = re.search(r"\n.*\*\*\* " + re.escape(DEATHS[how]), said)
        assert told, said
        said = said[:told.start()] + "\n"
    called = [name for name in names(said) if name.startswith("main.")]
    assert called[-1] == LEADS.get(how, "main.die"), said


@pytest.mark.parametrize("how", DEATHS)
def test_what_it_died_of(die, how):
    check("static", how, die)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "static"])
def test_however_it_was_built(die, way):
    for how in "errorf", "nil", "unlock":
        check(way, how, die)


def test_in_histories(die, run_mtdb):
    number, _, recording = die("static", "index", "--history=0")
    text = run_mtdb("history", "-n", "20", "-g", number, recording).stdout
    lines = text.splitlines()
    told = next(i for i, line in enumerate(lines) if f"*** {INDEX} in runtime.fatalpanic" in line)
    # What the runtime does then is only counted.
    assert names("\n".join(lines[told:])) == ["runtime.fatalpanic"], text
    assert "calls in runtime.fatalpanic are not shown" in lines[told + 2], text
    every = run_mtdb("history", "-u", "-n", "20", "-g", number, recording).stdout
    assert names(every)[-1] != "runtime.fatalpanic"

    # So it is on the tracks of all, and of the triggers.
    text = run_mtdb("history", "-n", "1000000", recording).stdout
    assert len(re.findall(rf"\*\*\* {re.escape(INDEX)}", text)) == 2, text


def test_what_is_recovered(go, run_mtdb, tmp_path):
    program = go("dies-static", source="calls_dies.go")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--", program, "not at all")
    assert done.returncode == 0 and "recovered no such shard" in done.stdout
    assert "died of" not in done.stderr
    assert "*** panic" not in (tmp_path / "out.txt").read_text()
