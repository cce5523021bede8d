# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a program of Go's dies is told as its runtime says it, with the last calls of the goroutine
that is to blame."""
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
    "struct": "panic: (main.point) 0x",
    "pointer": "panic: (*main.point) 0x",
    "slice": "panic: ([]int) 0x",
    "map": "panic: (map[string][]main.point) 0x",
    "function": "panic: (func(int) error) 0x",
    "generic": "panic: (main.pair[main.point,string]) 0x",
    "code": "panic: main.code(-3)",
    "label": 'panic: main.label("blue green")',
    "ratio": "panic: main.ratio(-1.250000e-001)",
    "float": "panic: +6.022141e+023",
    "small": "panic: +1.500000e-300",
    "infinite": "panic: -Inf",
    "nan": "panic: NaN",
    "turn": "panic: main.turn(+1.000000e+000-2.000000e+000i)",
    "complex": "panic: (+0.000000e+000+1.000000e+000i)",
    "flag": "panic: main.flag(true)",
    "again": "panic: first [recovered] panic: again: first",
    "thrice": "panic: (main.point) 0x",
    "chain": 'panic: main.label("first") panic: second',
    "leaving": "panic: on the way out",
    "write": "panic: assignment to entry in nil map",
    "convert": "panic: interface conversion: interface {} is string, not int",
    "method": "panic: interface conversion: main.point is not main.shape: missing method area",
    "closed": "panic: close of nil channel",
    "divide": "panic: runtime error: integer divide by zero",
    "nil": NIL,
    "index": INDEX,
    "unlock": "fatal error: sync: unlock of unlocked mutex",
    "deep": "fatal error: stack overflow",
    "wait": DEADLOCK,
    "goexit": "fatal error: no goroutines (main called runtime.Goexit) - deadlock!",
}
LEADS = {"nil": "main.follow", "index": "main.look", "deep": "main.deeper",
         "again": "main.again.func1", "thrice": "main.again.func1", "chain": "main.die.func",
         "leaving": "main.die.func", "goexit": "main.main"}


@pytest.fixture(name="die")
def die_fixture(go, run_mtdb, tmp_path):
    """die("static", "nil") -> (the goroutine that died, what the program's runtime says, what mtdb
    says of it, the recording)."""

    def die(way, how, *words):
        program = go(f"dies-{way}", *WAYS[way], source="calls_dies.go")
        recording = tmp_path / f"{how}.perf"
        done = run_mtdb("run", "-e", "calls", *words, "--record", recording,
                        "-o", tmp_path / f"{how}.txt", "--", program, how)
        assert done.returncode == 2, done.stderr
        number = re.search(r"^goroutine (\d+)$", done.stdout, re.M)[1]
        own = re.search(r"(?:^|\n)((?:panic|fatal error): .*?)(?:\n\[signal|\n\n|\nmtdb: )",
                        done.stderr, re.S)[1]
        said = done.stderr[done.stderr.index("mtdb: "):]
        return number, " ".join(own.split()), said, recording

    return die


def names(text):
    """Of lines with times: the functions."""
    return re.findall(r"^ +~?[-+]?[\d.]+ (?:µs|ms|s )  +(?:open|[>~]*[\d.]+ (?:ns|µs|ms|s ))  +"
                      r"(?:\+\d+ )?(\S+)", text, re.M)


def check(way, how, die):
    number, own, said, _ = die(way, how)
    told = re.search(r"^mtdb: \S+ died of a (.*); its last calls:$", said, re.M)[1]
    assert told.startswith(DEATHS[how])
    assert own.startswith(told[:-3]) if how == "long" else told == own
    said = said[said.index("its last calls"):]
    said = said[:said.index("mtdb: ")]
    is_first = how in ("wait", "goexit")
    assert re.findall(r'^Goroutine "goroutine (\d+)', said, re.M) == ["1" if is_first else number]
    if how == "wait":
        assert names(said)[-3:-1] == ["runtime.gopark", "runtime.mcall"]
        assert said.rstrip().endswith(" waiting: chan receive")
        return
    if how not in ("deep", "goexit"):  # that is told on the thread's own stack
        told = re.search(r"\n.*\*\*\* " + re.escape(DEATHS[how]), said)
        assert told, said
        said = said[:told.start()] + "\n"
    called = [name for name in names(said) if name.startswith("main.")]
    assert called[-1].startswith(LEADS.get(how, "main.die")), said


@pytest.mark.parametrize("how", DEATHS)
def test_what_it_died_of(die, how):
    check("static", how, die)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "static"])
def test_however_it_was_built(die, way):
    for how in "errorf", "nil", "unlock", "code", "generic", "thrice":
        check(way, how, die)


def test_in_histories(die, run_mtdb):
    number, _, _, recording = die("static", "index", "--history=0")
    text = run_mtdb("history", "-n", "20", "-g", number, recording).stdout
    # The runtime may be asked to preempt it meanwhile.
    lines = [line for line in text.splitlines() if "*** SIGURG" not in line]
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
