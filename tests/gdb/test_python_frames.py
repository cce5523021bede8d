# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in Python at both debuggers' prompts: those that a crash leaves open, and those that C calls."""
import os
import subprocess

import pytest
from pythons import PYTHON, counts_in, open_in, prepare, slices_in, truth_of

from conftest import FIXTURES


def test_crash(compile, either, tmp_path):
    place = tmp_path / "python"
    place.mkdir()
    script = prepare(compile, place)
    lines = either(PYTHON, f"{script} simple", "mtrace start", "run", "mtrace history 400")
    assert open_in("\n".join(lines)) == truth_of(script, "simple")


def test_stop(compile, either, tmp_path):
    """At a breakpoint in a module, the same are open."""
    place = tmp_path / "python"
    place.mkdir()
    script = prepare(compile, place)
    lines = either(PYTHON, f"{script} simple", "mtrace start", "set breakpoint pending on", "break load", "run", "mtrace history 400",
                   "finish")
    assert open_in("\n".join(lines)) == truth_of(script, "simple")


@pytest.mark.parametrize("words", ["by_c", "threads"])
def test_counts(either, tmp_path, words):
    """As many slices as the functions count themselves; seen before the interpreter lets go of them."""
    if not os.path.exists(PYTHON):
        pytest.skip(f"{PYTHON} is missing (package python3.11)")
    script = FIXTURES / "python_calls.py"
    counts = counts_in(subprocess.run([PYTHON, script, words], text=True, capture_output=True, check=True).stdout)
    said = either(PYTHON, f"{script} {words}", "mtrace start -size 256M", "break Py_FinalizeEx", "run",
                  "mtrace snapshot x.txt", "delete", "continue")
    slices = slices_in((tmp_path / "x.txt").read_text())
    assert len(counts) == 8
    assert {key: slices[key] for key in counts} == counts, "\n".join(said)
