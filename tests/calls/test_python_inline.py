# SPDX-License-Identifier: GPL-3.0-or-later
"""--python-calls: functions in Python that Python calls, each of them, as sys.setprofile() tells."""
import json
import os
import subprocess

import pytest
from pythons import PYTHON

from conftest import FIXTURES

SCRIPT = str(FIXTURES / "python_inline.py")
WORDS = [PYTHON, "-S", SCRIPT]
ENGINE = ["--engine", "calls", "--python-calls"]


@pytest.fixture(name="record")
def record_script(run_mtdb, tmp_path):
    """record(words, options) -> what it said, what we said; alone it says the same, if that is
    asked."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")

    def record(words, *options, same=True):
        done = run_mtdb("run", *ENGINE, "--functions=_PyEval_EvalFrameDefault", "-o",
                        tmp_path / "x.json", *options, "--", *WORDS, *words)
        assert done.returncode == 0, done.stderr
        if same:
            alone = subprocess.run([*WORDS, *words], text=True, capture_output=True,
                                   check=True, timeout=60)
            assert alone.stdout == done.stdout
        return done.stdout, done.stderr
    return record


def calls_in(path):
    """["DEPTH FUNCTION LINE"] of the script's functions from work() on, as the script says them."""
    told, stack = [], []
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "E":
            stack.pop()
        elif event["ph"] == "B":
            args = event["args"]
            stack.append(args.get("module") == SCRIPT and
                         event["name"] not in ("note", "<module>", "tree"))
            if stack[-1] and (told or event["name"] == "work"):
                told.append(f"{sum(stack) - 1} {event['name']} {args['line']}")
    return told


@pytest.mark.parametrize("word, stamps", [("tree", "sampled"), ("work", "full")])
def test_each_call_is_where_it_belongs(record, tmp_path, word, stamps):
    """Also of instructions that are made for what they call."""
    record([word], "--timestamps", stamps)
    truth = subprocess.run([*WORDS, "tree"], text=True, capture_output=True, check=True,
                           timeout=60).stdout.splitlines()
    assert len(truth) > 700
    told = calls_in(tmp_path / "x.json")
    assert [pair for pair in zip(told, truth) if len(set(pair)) > 1][:3] == []
    assert len(told) == len(truth)


@pytest.mark.parametrize("follow", [False, True])
def test_all_interpreters(record, follow):
    """A child that is let go has none of ours."""
    said, _ = record(["interpreters"], *["--follow-forks"] * follow, same=False)
    born = "loop" if follow else "0"
    assert said.splitlines() == ["own loop", f"child {born}", "own loop", f"other {born}",
                                 "other loop", "other loop"]


def test_an_evaluator_of_its_own_stays(record):
    fibs = "[0, 1, 1, 2, 3, 5, 8, 13, 21]"
    said, _ = record(["keeps"], same=False)
    assert said.splitlines() == [f"{fibs} True", f"{fibs} loop"]


@pytest.mark.parametrize("stack", [0, 1 << 16])
def test_recursion_that_would_not_fit(record, stack):
    """It goes as deep as alone, and its errors come at the same depth."""
    _, told = record(["deep", str(stack), "60000"])
    assert told.count("recurses so deep in Python") == 1


def test_the_usual_limit_fits(record):
    _, told = record(["deep", "0", "2000"])
    assert "recurses" not in told


def test_attach(mtdb, tmp_path):
    """Python runs, and nothing in C calls it: it is recorded at once, and as before afterwards."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    with subprocess.Popen([*WORDS, "waits"], text=True,
                          stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout.readline() == "none\n"
            subprocess.run([mtdb, "attach", *ENGINE, "--for=300ms", "-o", tmp_path / "x.txt",
                            str(program.pid)], check=True, capture_output=True, timeout=60)
            assert program.stdout.readline() == "loop\n"
            assert program.stdout.readline() == "none\n"
            assert program.wait() == 0
        finally:
            program.kill()
    assert f" fib({SCRIPT}:" in (tmp_path / "x.txt").read_text()


def test_what_it_did_before_its_end(run_mtdb, tmp_path):
    """The interpreter's end alone is more than the ring holds."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    script = tmp_path / "script.py"
    script.write_text("def last():\n    return 1\ndef calls():\n    return last()\ncalls()\n")
    done = run_mtdb("run", *ENGINE, "-s", "64k", "-o", tmp_path / "x.txt", "--", PYTHON, "-S", script)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x.txt").read_text().count(f" last({script}:") == 1


def test_where_there_is_no_python(run_mtdb, need, tmp_path):
    done = run_mtdb("run", *ENGINE, "-o", tmp_path / "x.txt", need("true"))
    assert done.returncode == 0
    assert done.stderr.count("no interpreter of CPython 3.11 came") == 1


@pytest.mark.parametrize("options, why", [
    (["--engine", "step"], "does not record calls in Python"),
    (["--engine", "calls", "--no-open-args"], "exclude each other")])
def test_what_it_needs(run_mtdb, need, tmp_path, options, why):
    done = run_mtdb("run", *options, "--python-calls", "-o", tmp_path / "x.txt", need("true"))
    assert done.returncode != 0 and why in done.stderr
