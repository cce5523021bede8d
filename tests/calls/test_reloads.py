# SPDX-License-Identifier: GPL-3.0-or-later
"""A library that is unloaded and loaded again, also where another was meanwhile: its calls have its
names, and its triggers are hit each time."""
import collections
import re
import signal
import subprocess

import pytest

import fxt

# How often each is loaded, and so its function called.
LIBRARIES = {"one": {"alpha": 10}, "three": {"alpha": 4, "beta": 3, "delta": 3}}
PADDING = {"alpha": 16, "beta": 40, "delta": 96}
TRIGGERS = [["-t", "part"], ["-t", "part if n >= 0"], ["-t", "part > 1ns"], ["-t", "part return"]]


def build_all(compile, which):
    """The program, its libraries, and how often their functions are called."""
    counts = LIBRARIES[which]
    libraries = [compile("calls_reload_part.c", "-g", "-O1", "-shared", "-fPIC", f"-DNAME={name}",
                         f"-DPAD={PADDING[name]}", output=f"lib{name}.so") for name in counts]
    return compile("calls_reload.c", "-O1"), libraries, counts


@pytest.fixture(name="words", params=LIBRARIES)
def build(request, compile):
    return build_all(compile, request.param)


def check(path, counts, hits=None):
    trace = fxt.read(path)
    slices = collections.Counter(one.name for thread in trace.threads.values() for one in thread.slices())
    assert {name: slices[name] for name in PADDING if slices[name]} == counts and slices["part"] == 10
    instants = collections.Counter(one.name for one in trace.instants())
    assert not [name for name in instants if name.startswith("[lost")]
    assert hits is None or instants["trigger"] == hits


def check_said(out, said):
    sum_of, again = re.search(r"^(\d+), (\d+) times in the same place$", out, re.M).groups()
    assert sum_of == "100" and int(again) > 3, "else nothing is shown"
    assert "warning" not in said, said


@pytest.fixture(name="run")
def run_to_its_end(run_mtdb, tmp_path):
    def run(engine, *words):
        done = run_mtdb("run", "-e", engine, "--pending", "-o", tmp_path / "x.fxt", *words)
        assert done.returncode == 0, done.stderr
        return done
    return run


@pytest.mark.parametrize("engine", ["calls", "step"])
def test_names(words, run, tmp_path, engine):
    program, libraries, counts = words
    done = run(engine, "--", program, *libraries)
    check_said(done.stdout, done.stderr)
    check(tmp_path / "x.fxt", counts)


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda words: words[1])
def test_triggers(words, run, tmp_path, trigger):
    program, libraries, counts = words
    done = run("calls", *trigger, "--", program, *libraries)
    check_said(done.stdout, done.stderr)
    check(tmp_path / "x.fxt", counts, 10)


@pytest.mark.long
def test_triggers_of_an_engine_that_steps(words, run, tmp_path):
    program, libraries, counts = words
    done = run("step", "-t", "part", "--", program, *libraries)
    check_said(done.stdout, done.stderr)
    check(tmp_path / "x.fxt", counts, 10)


def test_values(words, run, tmp_path):
    program, libraries, _ = words
    done = run("calls", "--args=part", "--", program, *libraries)
    check_said(done.stdout, done.stderr)
    trace = fxt.read(tmp_path / "x.fxt")
    assert [one.args["arguments"] for thread in trace.threads.values() for one in thread.slices()
            if one.name == "part"] == [f"n={n}" for n in range(10)]


@pytest.mark.parametrize("between", [[], ["+"]], ids=["there", "elsewhere"])
@pytest.mark.parametrize("engine, condition", [("calls", "calls == 40"), ("calls", "more_calls == 41"),
                                               ("calls", "calls > 20 && more_calls < 50"),
                                               pytest.param("step", "calls == 40", marks=pytest.mark.long)])
def test_variables(compile, run, tmp_path, engine, between, condition):
    """Conditions are about those of the library that is there now."""
    program, libraries, counts = build_all(compile, "three")
    done = run(engine, "-t", f"part if {condition}", "--", program, *between, *libraries)
    assert "warning" not in done.stderr, done.stderr
    check(tmp_path / "x.fxt", counts, counts["beta"])


@pytest.mark.usefixtures("debug_registers")
@pytest.mark.parametrize("between", [[], ["+"]], ids=["there", "elsewhere"])
def test_watched_variables(compile, run, tmp_path, between):
    """What is watched is that of the library that is there now, and its value, and nothing else."""
    program, libraries, _ = build_all(compile, "three")
    run("calls", "--watch=calls", "--watch=more_calls", "--", program,
        *between, *libraries)
    hits = [one for one in fxt.read(tmp_path / "x.fxt").instants() if "values" in one.args]
    pads = [*PADDING.values()] * 4
    assert [(one.name, one.args["values"]) for one in hits] == [
        pair for pad in pads[:10] for pair in
        [("calls", f"value = {pad + 1}, was {pad}"), ("more_calls", f"value = {pad + 2}, was {pad + 1}")]]


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda words: words[1])
def test_attached(words, mtdb, tmp_path, trigger):
    program, libraries, counts = words
    with subprocess.Popen([program, "-", *libraries], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "--pending", *trigger, "--max=0", "-o",
                               tmp_path / "x.fxt", str(process.pid)], text=True, stderr=subprocess.PIPE) as tracer:
            said = next(line for line in tracer.stderr if "recording process" in line)
            out = process.communicate("\n")[0]
            said += tracer.communicate()[1]
            assert process.returncode == 0 and tracer.returncode in (0, 128 + signal.SIGINT), said
    check_said(out, said)
    check(tmp_path / "x.fxt", counts, 10)
