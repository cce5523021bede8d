# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in Python that a crash leaves open, among the calls of the interpreter."""
import os

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


@pytest.mark.parametrize("flags", [["-no-pie", "-fno-pic"], ["-fPIC", "-pie"]])
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
