# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in Python that a crash leaves open, among the calls of the interpreter."""
import os
import re

import pytest
from pythons import INCLUDE, LIBRARY, PYTHON, open_in, prepare, traceback_in, truth_of

WAYS = ["simple", "recursive", "generators", "comparing", "lambdas", "raising", "deleting",
        "coroutines", "threads", "classes", "interpreters", "names"]
INNERMOST = ("innermost", "/fake.py", 300)
MIDDLE = ("middle", "/fake.py", 12)
OUTERMOST = ("outermost", "/fake.py", 14)
FAKES = {"sound": [INNERMOST, MIDDLE, OUTERMOST],
         "rings": [INNERMOST, MIDDLE, OUTERMOST, INNERMOST],
         "huge": [], "endless": [], "garbage": [], "newer": []}


@pytest.fixture(name="script", scope="module")
def make_script(compile, tmp_path_factory):
    return prepare(compile, tmp_path_factory.mktemp("python"))


@pytest.mark.parametrize("how", WAYS)
def test_as_faulthandler(script, run_mtdb, tmp_path, how):
    """All that it prints, and in its order: of the thread that dies alone."""
    truth = truth_of(script, how)
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.txt", PYTHON, script, how)
    assert done.returncode == 139, done.stderr
    found = open_in((tmp_path / "x.txt").read_text())
    if truth[-1] is None:
        assert len(truth) == 101 and found[-1][0] == "<module>"
        truth[-1:] = [truth[-2]] * 602 + [found[-1]]
    if how == "interpreters":  # faulthandler knows of the first alone
        assert [name for name, _, _ in found[:2]] == ["ends", "<module>"]
        found = found[2:]
    assert found == truth and len(truth) > 1


@pytest.mark.parametrize("size", ["16k", "64k", "16M"])
@pytest.mark.parametrize("us", range(3000, 40000, 7001))
def test_anywhere(script, run_mtdb, tmp_path, us, size):
    """A signal comes between any two instructions, as to frames that are being made.  In its
    handler, on a stack of its own, faulthandler prints what we are to find a moment later; a small
    ring may begin in there."""
    done = run_mtdb("run", "--engine", "calls", "--size", size, "-o", tmp_path / "x.txt", PYTHON,
                    "-X", "faulthandler", script, "anywhere", str(us))
    assert done.returncode == 139, done.stderr
    assert open_in((tmp_path / "x.txt").read_text()) == traceback_in(done.stderr)


@pytest.mark.parametrize("flags", [["-no-pie", "-fno-pic"], ["-fPIC", "-pie"], ["-fPIE", "-pie"]])
def test_embedded(run_mtdb, compile, tmp_path, flags):
    """In a program that is not Python's, and may have the library's variables itself."""
    if not os.path.exists(LIBRARY):
        pytest.skip(f"{LIBRARY} is missing (package libpython3.11-dev)")
    program = compile("python_embeds.c", "-O1", *flags, INCLUDE, LIBRARY, "-pthread")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.txt", program)
    assert done.returncode == 139, done.stderr
    truth = traceback_in(done.stderr)
    assert [name for name, _, _ in truth] == ["deepest", "open", "<module>"]
    assert open_in((tmp_path / "x.txt").read_text()) == truth


def test_embedded_stopped(run_mtdb, compile, tmp_path):
    """With a trigger, for which the program's code is looked at before the library comes."""
    if not os.path.exists(LIBRARY):
        pytest.skip(f"{LIBRARY} is missing (package libpython3.11-dev)")
    program = compile("python_embeds.c", "-O1", INCLUDE, LIBRARY, "-pthread")
    done = run_mtdb("run", "--engine", "calls", "--trigger", "die", "-o", tmp_path / "x.txt", program)
    assert done.returncode == 139, done.stderr
    (text,) = re.findall(r"in Python: (.*)", (tmp_path / "x.txt").read_text())
    told = re.findall(r"([^ ]+) \((.*?):(\d+)\)", text)
    assert [(name.rpartition(".")[2], file, int(line)) for name, file, line in told] == traceback_in(done.stderr)


def test_not_wanted(script, run_mtdb, tmp_path):
    done = run_mtdb("run", "--engine", "calls", "--no-open-args", "-o", tmp_path / "x.txt", PYTHON,
                    script, "simple")
    assert done.returncode == 139 and "_PyEval_EvalFrameDefault" in done.stderr
    assert "(Python)" not in done.stderr + (tmp_path / "x.txt").read_text()


@pytest.fixture(name="fake")
def run_fake(run_mtdb, compile, tmp_path):
    """fake(how, …) -> its timeline, and what mtdb said."""
    def fake(*words):
        program = compile("python_fake.c", "-O1", "-g", "-fno-stack-protector")
        done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.txt", program, *words)
        assert done.returncode == 139, done.stderr
        return (tmp_path / "x.txt").read_text(), done.stderr
    return fake


@pytest.mark.sanitize
@pytest.mark.parametrize("how", FAKES)
def test_unsound(fake, how):
    """What a program has by the names of the interpreter's need not be one."""
    text, said = fake(how)
    found = open_in(text)
    assert found[:len(FAKES[how])] == FAKES[how]
    assert how == "rings" or len(found) == len(FAKES[how])
    assert ("innermost(at /fake.py) (Python)" in text) == (how == "endless")
    assert said.count("functions in Python are not shown: of CPython only 3.11 is known, and this "
                      "is 3.13") == (how == "newer"), said


@pytest.mark.sanitize
def test_spoiled(fake):
    """Some bytes of it are others."""
    found = [open_in(fake("sound", str(seed))[0]) for seed in range(20)]
    assert 0 < found.count(FAKES["sound"]) < 20


STOPPED = """
import os, signal, sys, traceback

class Store:
    def load(self, depth):
        def inner():
            if sys.argv[1] == "trigger":
                os.getppid(); traceback.print_stack()
            else:
                os.kill(os.getpid(), signal.SIGINT)
        return self.load(depth - 1) if depth else max([inner], key=lambda function: function())

Store().load(int(sys.argv[2]))
"""


def printed_in(text):
    """The functions of a traceback, the innermost first."""
    frames = []
    for file, line, name, more in re.findall(
            r'File "(.*)", line (\d+), in (.*)|Previous line repeated (\d+) more', text):
        frames += [f"{name} ({file}:{line})"] if file else frames[-1:] * int(more)
    return frames[::-1]


@pytest.mark.parametrize("depth", [0, 5, 300])
@pytest.mark.parametrize("how", ["trigger", "SIGINT"])
def test_stopped(run_mtdb, tmp_path, how, depth):
    """At a snapshot of a trigger's or of Ctrl-C's, behind which these functions go on: those of the
    traceback that Python itself prints there, of which the innermost 64 are told."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    script = tmp_path / "stopped.py"
    script.write_text(STOPPED)
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.txt", "-r", tmp_path / "x.perf", "--trigger",
                    "getppid", PYTHON, script, how, str(depth))
    assert done.returncode == (0 if how == "trigger" else 130), done.stderr
    (text,) = re.findall(rf"\*\*\* (?:{how}|trigger \d).*\n.*\*\*\* in Python: (.*)", (tmp_path / "x.txt").read_text())
    truth = printed_in(done.stderr)
    told = []
    for name, place, times in re.findall(r"([^ ]+) (\([^)]*:\d+\))(?: \((\d+) times\))?", text):
        told += [f"{name.rpartition('.')[2]} {place}"] * int(times or 1)
    assert text.endswith(", ...") == (depth > 64)
    if depth > 64:
        assert len(told) == 64
        truth = truth[:len(told)]
    assert told == truth and len(told) >= 4
    assert "in Python: " in run_mtdb("history", "-n", "1000000", tmp_path / "x.perf").stdout
