# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of the calls that a crash leaves open: they are read from the stack of the thread that
dies, without having been asked for."""
import json
import re

import pytest

import fxt
from conftest import linked_for


@pytest.fixture(name="engine")
def choose_engine(request):
    return getattr(request, "param", "calls")


BY_STEPS = pytest.mark.parametrize("engine", ["calls", "step"], indirect=True)
LONG_BY_STEPS = pytest.mark.parametrize(
    "engine", ["calls", pytest.param("step", marks=pytest.mark.long)], indirect=True)


@pytest.fixture(name="crash")
def make_crash(compile, run_mtdb, tmp_path, engine):
    def crash(source, level, *words, options=()):
        program = compile(source, level, "-pthread", *linked_for(engine))
        return run_mtdb("run", "--engine", engine, *options, "--record", tmp_path / "x.perf",
                        "-o", tmp_path / "x.txt", program, *words)

    return crash


def open_in(text):
    """What is open at the end of the thread that dies: name and arguments."""
    text = text.partition("\nThread ")[2]
    dead = next(one for one in text.split("\nThread ") if "***" in one)
    calls = re.findall(r" open +(?:\+\d+ )?(\w[^\s(]*(?:\(.*?\))?)(?: \(|  |\n)", dead)
    return [re.sub(r"0x[0-9a-f]{4,}", "0x", call) for call in calls]


@BY_STEPS
def test_demo(crash, run_mtdb, tmp_path):
    """README's example; all formats say the same, and so does the recording."""
    done = crash("crash.c", "-O0")
    assert done.returncode == 139
    calls = ["sum_up(basket=0x <baskets.0+72>)", 'price_of(name="butter", count=2)']
    assert open_in((tmp_path / "x.txt").read_text())[-2:] == calls
    assert calls[1] in done.stderr, done.stderr
    for name in "y.json", "y.fxt", "y.txt":
        assert run_mtdb("decode", "-o", tmp_path / name, tmp_path / "x.perf").returncode == 0
    assert (tmp_path / "y.txt").read_text() == (tmp_path / "x.txt").read_text()
    assert calls[1] in run_mtdb("history", tmp_path / "x.perf").stdout
    arguments = 'name="butter", count=2'
    slices = [piece for thread in fxt.read(tmp_path / "y.fxt").threads.values()
              for piece in thread.slices() if piece.name == "price_of"]
    given = [piece.args.get("arguments") for piece in slices]
    assert given == [None] * 6 + [arguments] and slices[-1].end is None
    events = json.loads((tmp_path / "y.json").read_text())["traceEvents"]
    assert [event["args"].get("arguments") for event in events
            if event["ph"] == "B" and event["name"] == "price_of"] == given


@BY_STEPS
def test_not_wanted(crash, tmp_path):
    done = crash("crash.c", "-O0", options=["--no-open-args"])
    assert done.returncode == 139
    assert open_in((tmp_path / "x.txt").read_text())[-2:] == ["sum_up", "price_of"]


def test_beside_recorded_ones(crash, tmp_path):
    """What was recorded when it was called goes first."""
    crash("crash.c", "-O0", options=["--args=price_of(count)"])
    calls = ["sum_up(basket=0x <baskets.0+72>)", "price_of(count=2)"]
    assert open_in((tmp_path / "x.txt").read_text())[-2:] == calls


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("how", ["fault", "abort"])
def test_deep(crash, tmp_path, level, how):
    """Of 64 frames; recursive calls have each its own.  Others' threads have none."""
    crash("calls_open.cpp", level, how, "100")
    text = (tmp_path / "x.txt").read_text()
    assert "\033" not in text
    calls = open_in(text)
    walks = [call for call in calls if call.startswith("walk")]
    known = [re.search(r'how="(\w+)", .*depth=(\d+)\)', call).groups()
             for call in walks if "how=" in call]
    assert 50 <= len(known) <= 64, text[-5000:]
    first = int(known[-1][1])
    assert known[::-1] == [(how, str(first + i)) for i in range(len(known))] and first <= 1
    assert level == "-O2" or f'die(how="{how}", bad=0x10, weight=' in text
    assert "rest(seconds" not in text


@LONG_BY_STEPS
def test_shallow(crash, tmp_path):
    crash("calls_open.cpp", "-O0", "fault", "2")
    calls = open_in((tmp_path / "x.txt").read_text())
    weights = [re.search(r"weight=([\d.]+)", call).group(1) for call in calls if "weight=" in call]
    assert weights == ["8", "4", "2", "2"] and calls[-1].endswith("bad=0x10, weight=2)")
    assert all("numbers=std::vector of length 3, capacity 3 = {...}" in call
               for call in calls if call.startswith("walk"))


@LONG_BY_STEPS
def test_handler(crash, tmp_path):
    """Through the frame of a signal, and from another stack."""
    crash("calls_open.cpp", "-O0", "handler", "2")
    calls = open_in((tmp_path / "x.txt").read_text())
    assert calls[-1] == "on_signal(signal=10)"
    assert 'die(how="handler", bad=0x10, weight=2)' in calls
