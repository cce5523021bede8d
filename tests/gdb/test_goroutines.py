# SPDX-License-Identifier: GPL-3.0-or-later
"""Goroutines at both debuggers' prompts: tracks of their own in files, the one that the selected
thread runs in histories, and why a program of Go's died."""
import collections
import re

import pytest

from conftest import line_of
from tests.calls.test_go_deaths import DEATHS, names
from tests.calls.test_goroutines import CALL, WAYS, of_goroutine, tracks


@pytest.mark.parametrize("way", ["static", "stripped", "cgo"])
def test_calls_of_each(either, go, tmp_path, way):
    """As many as it counts itself."""
    program = go(f"goroutines-{way}", *WAYS[way], source="calls_goroutines.go")
    lines = either(program, "4", "mtrace start -size 128M", "run", "mtrace snapshot x.txt")
    found = tracks((tmp_path / "x.txt").read_text())
    said = re.findall(r"^goroutine (\d+) (.*)", "\n".join(lines), re.M)
    assert len(said) == 4, "\n".join(lines)
    for number, words in said:
        words = words.split()
        expected = dict(zip(words[::2], map(int, words[1::2])))
        _, text = of_goroutine(found, number)
        calls = CALL.findall(text)
        assert not [call for call in calls if "inferred" in call[1] or "unwound" in call[1]]
        shown = collections.Counter(call[0] for call in calls)
        assert {function: shown[function] for function in expected} == expected
    assert not [name for name, text in found.items() if name.startswith("Thread") and CALL.search(text)]


@pytest.mark.parametrize("how", ["errorf", "index", "unlock", "wait"])
def test_what_it_died_of(either, go, tmp_path, how):
    program = go("dies-static", source="calls_dies.go")
    lines = either(program, how, "mtrace start", "run", "mtrace history", "info inferiors")
    text = "\n".join(lines)
    [number] = re.findall(r"^goroutine (\d+)$", text, re.M)
    told = re.findall(r"^\[mtrace: (.*), in thread \d+: trace-1\.fxt\]$", text, re.M)
    assert told == [DEATHS[how]], text
    blamed = "1" if how == "wait" else number
    assert re.findall(r'^Goroutine "goroutine (\d+)', text, re.M) == [blamed], text
    assert not re.search(r'^Thread \d+ ".*" of process', text, re.M)
    history = text[text.index('Goroutine "'):]
    if how == "wait":
        assert " waiting: chan receive" in history
    else:
        called = [name for name in names(history) if name.startswith("main.")]
        assert called[-1] == ("main.look" if how == "index" else "main.die"), history
        assert f"*** {DEATHS[how]}" in history


def test_a_crash(either, go):
    """The history is of the goroutine that crashed, and begins where that did."""
    program = go("dies-static", source="calls_dies.go")
    text = "\n".join(either(program, "nil", "mtrace start", "run", "mtrace history"))
    [number] = re.findall(r"^goroutine (\d+)$", text, re.M)
    assert re.findall(r'^Goroutine "goroutine (\d+) \(main\.worker\)"', text, re.M) == [number], text
    assert "SIGSEGV, address 0x0 in main.follow" in text
    assert not re.search(r" main\.[^ ]+.* \(inferred", text)


def test_the_selected_threads(either, go):
    """What a goroutine did in other threads is its history, too; -thread shows the thread's."""
    program = go("goroutines-static", source="calls_goroutines.go")
    line = line_of("calls_goroutines.go", "c.slept++")
    text = "\n".join(either(
        program, "4", "mtrace start -size 128M", f"tbreak calls_goroutines.go:{line}", "run", "mtrace history 1000",
        "echo --\\n", "mtrace history -thread 1 1000", "echo --\\n", "mtrace context"))
    goroutine, thread, context = text.split("\n--\n")
    assert len(re.findall(r'^Goroutine "goroutine \d+ \(main\.worker\)"', goroutine, re.M)) == 1, text
    assert not re.search(r'^Thread \d+ ".*" of process', goroutine, re.M)
    assert names(goroutine)[-1] == "main.sleep"
    assert not re.search('^Goroutine ', thread, re.M) and len(re.findall(r'^Thread \d+ ".*" of process', thread, re.M)) == 1
    assert "main.sleep" in context
