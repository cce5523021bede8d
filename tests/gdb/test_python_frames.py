# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions in Python that a crash leaves open, at both debuggers' prompts."""
from pythons import PYTHON, open_in, prepare, truth_of


def test_crash(compile, either, tmp_path):
    place = tmp_path / "python"
    place.mkdir()
    script = prepare(compile, place)
    lines = either(PYTHON, f"{script} simple", "mtrace start", "run", "mtrace history 400")
    assert open_in("\n".join(lines)) == truth_of(script, "simple")
