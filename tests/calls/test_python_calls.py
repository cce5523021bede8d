# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in Python that C calls are slices on the calls of the interpreter's loop: as many as
they count themselves."""
import os
import subprocess

import pytest
from pythons import INCLUDE, LIBRARY, PYTHON, counts_in, slices_in

from conftest import FIXTURES

SCRIPT = FIXTURES / "python_calls.py"


@pytest.fixture(name="record")
def record_script(run_mtdb, tmp_path):
    """record(words, options) -> slices, what the script counted."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")

    def record(words, *options):
        done = run_mtdb("run", "--engine", "calls", "--size", "256M", *options, "-o",
                        tmp_path / "x.txt", PYTHON, SCRIPT, *words)
        assert done.returncode == (3 if words[1:] else 0), done.stderr
        alone = subprocess.run([PYTHON, SCRIPT, *words], text=True, capture_output=True,
                               check=False, timeout=60)
        assert (alone.stdout, alone.returncode) == (done.stdout, done.returncode)
        return slices_in((tmp_path / "x.txt").read_text()), counts_in(done.stdout)
    return record


@pytest.mark.parametrize("words", [["by_c"], ["by_c", "exit"], ["threads"]])
def test_counts(record, words):
    slices, counts = record(words)
    assert len(counts) == 8
    assert {key: slices[key] for key in counts} == counts


def test_stamps_on_every_call(record):
    slices, counts = record(["by_c"], "--timestamps", "full")
    assert {key: slices[key] for key in counts} == counts


def test_code_that_is_gone(record):
    """What took its place has its address, and perhaps all of its objects': no name is taken from
    that."""
    slices, counts = record(["anew"])
    made = {key: count for key, count in slices.items() if key[1].startswith("/made/")
            and key[0] != "<module>"}
    assert set(made) <= set(counts)
    assert all(count <= counts[key] for key, count in made.items())


def test_names_of_who_embeds_it(compile, run_mtdb, tmp_path):
    """They are read before its end, too, after which they are gone."""
    if not os.path.exists(LIBRARY):
        pytest.skip(f"{LIBRARY} is missing (package libpython3.11-dev)")
    program = compile("python_ends.c", "-O1", INCLUDE, LIBRARY)
    done = run_mtdb("run", "--engine", "calls", "--functions=_PyEval_EvalFrameDefault", "-o",
                    tmp_path / "x.txt", program,
                    "def key(n): return -n\nprint(sorted(range(9), key=key)[0])")
    assert (done.returncode, done.stdout) == (0, "8\n"), done.stderr
    assert slices_in((tmp_path / "x.txt").read_text())["key", "<string>", "1"] == 9


def test_who_embeds_it_traces_a_child_of_its_own(need, run_mtdb, tmp_path):
    """As GDB does, by vfork(): nobody else traces that."""
    gdb, true = need("gdb"), need("true")
    words = [gdb, "-nx", "-q", "-batch", "-ex", "set startup-with-shell off", "-ex", "run", true]
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.json", "--", *words)
    assert "exited normally" in done.stdout and "Operation not permitted" not in done.stderr, done.stderr
