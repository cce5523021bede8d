# SPDX-License-Identifier: GPL-3.0-or-later
"""Where code of ours lies in the program: not in the way of its heap."""
import pytest


@pytest.mark.parametrize("flags", [[], ["-no-pie", "-fno-pie"]], ids=["pie", "no-pie"])
def test_the_heap_can_grow(compile, need, run_mtdb, tmp_path, flags):
    """Without address randomisation the heap begins right behind the program."""
    program = compile("calls_heap.c", "-O1", *flags)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.fxt", "--", need("setarch"), "-R",
                    program)
    assert done.returncode == 0 and done.stdout == "1024\n", done.stderr
