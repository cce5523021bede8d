# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that a program makes is left alone, and what it calls stands in what called it."""
from tests.calls import counted


def test_code_made_by_the_program(compile, run_mtdb, tmp_path):
    out = tmp_path / "calls.json"
    done = run_mtdb("run", "-e", "calls", "--modules", "calls_jit", "-o", out,
                    compile("calls_jit.c", "-O1"))
    assert (done.stdout, done.returncode) == ("100 0\n", 7), done.stderr
    (calls,) = counted.sequences(out).values()
    depths = [(call.name, call.depth) for call in calls if call.name in ("inner", "outer")]
    base = depths[0][1]
    assert depths == [("outer", base), ("inner", base + 1), ("inner", base + 1)] * 50
