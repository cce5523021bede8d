# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers at generic functions of Rust, named as GDB names them, with the types they are for."""
import pytest

from tests.calls.hits import hits_in


@pytest.mark.parametrize("level", ["0", "1"])
@pytest.mark.parametrize("trigger, hits", [
    ("calls_generics::largest<i32>", 300),
    ("calls_generics::largest<f64>", 100),
    ("largest<i32> if one == 70", 1),
    ("calls_generics::largest", 400),
])
def test_hits(run_mtdb, compile, tmp_path, level, trigger, hits):
    program = compile("calls_generics.rs", "-C", f"opt-level={level}")
    done = run_mtdb("run", "--engine", "calls", "--size", "64k", "-t", trigger,
                    "-o", tmp_path / "x.json", program)
    assert (done.returncode, done.stdout) == (0, "300 100\n"), done.stderr
    assert len(hits_in(tmp_path / "x.json")) == hits, done.stderr


def test_another_type(run_mtdb, compile, tmp_path):
    done = run_mtdb("run", "--engine", "calls", "-t", "largest<u8>", "-o", tmp_path / "x.json",
                    compile("calls_generics.rs", "-C", "opt-level=0"))
    assert done.returncode == 2 and 'Function "largest<u8>" not defined.' in done.stderr
