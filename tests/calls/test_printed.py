# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that triggers print at their hits: beside the hit in the timeline, and in the log."""
import subprocess

import pytest

import fxt
from conftest import linked_for
from tests.calls.hits import values_in


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(*triggers, engine="calls", level="-O1"):
        program = compile("calls_printed.c", level, *linked_for(engine))
        return run_mtdb("run", "--engine", engine, "--modules", "calls_printed",
                        "--record", tmp_path / "x.perf", "-o", tmp_path / "x.json",
                        *[word for trigger in triggers for word in ("-t", trigger)], program)

    return record


@pytest.mark.parametrize("engine", ["calls", "step"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_at_entries(record, tmp_path, engine, level):
    """The parameters are those of the call; what cannot be had does not stand in others' way."""
    done = record("-print x -print 'item->len + 1' -print item->next->len -print $rsi visit",
                  engine=engine, level=level)
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
    values = ["x = 1, item->len + 1 = 1, item->next->len = 7, $rsi = 1",
              "x = 2, item->len + 1 = 8, "
              "item->next->len: Cannot access memory at address 0x10, $rsi = 2"]
    assert values_in(tmp_path / "x.json") == [(1, text) for text in values]
    for text in values:
        assert f": {text}\n" in done.stderr
    assert "mtdb: trigger 1, visit, in thread " in done.stderr


def test_with_conditions(record, tmp_path):
    """Each of several at one place has its own; the program evaluates the conditions."""
    done = record("-print x visit if x == 2", "visit", "-print item->len visit")
    assert done.returncode == 0 and "evaluated by mtdb" not in done.stderr
    assert sorted(values_in(tmp_path / "x.json")) == [
        (1, "x = 2"), (2, ""), (2, ""), (3, "item->len = 0"), (3, "item->len = 7")]


def test_within_a_function(record, tmp_path):
    done = record("-print x calls_printed.c:15", level="-O0")
    assert done.returncode == 0 and "evaluated by mtdb" not in done.stderr, done.stderr
    assert values_in(tmp_path / "x.json") == [(1, "x = 1"), (1, "x = 2")]


@pytest.mark.parametrize("trigger", ["visit return", "visit > 1ns", "visit return if $_ret > 0"])
def test_at_returns(record, tmp_path, trigger):
    done = record("-print $_ret -print $_ret*10 -print $_duration>0 " + trigger)
    assert done.returncode == 0, done.stderr
    values = [text[text.index("$_ret"):] for _, text in values_in(tmp_path / "x.json")]
    assert values == [f"$_ret = {n}, $_ret*10 = {n}0, $_duration>0 = 1" for n in (1, 9)]


def test_formats(record, run_mtdb, tmp_path):
    """All say the same, and nothing of it reaches a terminal as it is."""
    done = record("-print item->text visit if x == 2")
    text = r'"\033[31mred\n"'
    assert done.returncode == 0 and text in done.stderr and "\033" not in done.stderr
    assert values_in(tmp_path / "x.json")[0][1].endswith(text)
    shown = run_mtdb("decode", "-f", "text", "-o", "-", tmp_path / "x.perf").stdout
    assert text in shown and "\033" not in shown
    run_mtdb("decode", "-o", tmp_path / "x.fxt", tmp_path / "x.perf")
    values = [one.args["values"] for one in fxt.read(tmp_path / "x.fxt").instants()
              if "values" in one.args]
    assert len(values) == 1 and values[0].endswith(text)


def test_large_values(record, tmp_path):
    """They are cut, and those behind them are there."""
    done = record("-print item->weights -print item->weights -print x visit if x == 2")
    (_, text), = values_in(tmp_path / "x.json")
    assert done.returncode == 0 and len(text) < 2100
    assert text.startswith("item->weights = {0.125, 1.125, ") and text.count("...") >= 2


@pytest.mark.parametrize("trigger, message", [
    ("-print nosuch visit", 'invalid -print nosuch of the trigger "-print nosuch visit": '
                            'No symbol "nosuch" in current context.'),
    ("-print x+ visit", "A syntax error in expression"),
    ("-print main() visit", "Functions of the program are not called."),
    ("-print x=3 visit", "Nothing is assigned"),
    ("-print x++ visit", "Nothing is assigned"),
    ("-print $_gthread visit", "$_gthread is known to a debugger alone."),
    ("-print $_ret visit", "$_ret and $_duration are known when a function returns"),
    ("-print x visit return", '"x" is not there any more when the function returns.'),
    ("-print", "-print requires a value"),
])
def test_what_means_nothing(record, trigger, message):
    """Is said before the program begins."""
    done = record(trigger)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr, done.stderr


def test_attach(compile, mtdb, tmp_path):
    program = compile("calls_conditions.c", "-O2", "-pthread")
    with subprocess.Popen([program, "wait", "0", "1000"], text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        command = [mtdb, "attach", "--engine", "calls", "--size", "16k", "--max", "1", "--for",
                   "60s", "-t", "-print x -print *node visit if x == 8", "-o",
                   tmp_path / "x.json", str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
        process.kill()
    assert done.returncode == 0 and "x = 8, *node = {len = 160, " in done.stderr, done.stderr
    assert values_in(tmp_path / "x.json")[0][1].startswith("x = 8, *node = {len = 160, ")
