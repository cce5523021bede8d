# SPDX-License-Identifier: GPL-3.0-or-later
"""Where code of ours lies in the program: not in the way of its heap, and where jumps reach."""
import subprocess
import time

import pytest


@pytest.mark.parametrize("flags", [[], ["-no-pie", "-fno-pie"]], ids=["pie", "no-pie"])
def test_the_heap_can_grow(compile, need, run_mtdb, tmp_path, flags):
    """Without address randomisation the heap begins right behind the program."""
    program = compile("calls_heap.c", "-O1", *flags)
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.fxt", "--", need("setarch"), "-R",
                    program)
    assert done.returncode == 0 and done.stdout == "1024\n", done.stderr


@pytest.mark.parametrize("above", ["1M", "64k"])
def test_rooms_that_do_not_reach_each_other(compile, mtdb, tmp_path, above):
    """A trigger's condition goes on in a trampoline, 2 GiB above the gap that is nearest to the function."""
    program = compile("calls_apart.c", "-O1", "-g", "-no-pie", "-fno-pie")
    triggers = [word for number in range(10, 100) for word in ("-t", f"step_{number} if value == -1")]
    size = {"1M": 1 << 20, "64k": 1 << 16}[above]
    with subprocess.Popen([program, tmp_path / "end", "16384", str(size)], text=True, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == "ready\n"
        done = subprocess.run([mtdb, "attach", "-e", "calls", *triggers, "--for=300ms", "-o", tmp_path / "x.txt",
                               str(child.pid)], text=True, capture_output=True, timeout=120, check=False)
        time.sleep(0.1)
        (tmp_path / "end").touch()
        assert child.stdout.read() == "done\n" and child.wait(60) == 0
    assert done.returncode == 0, done.stderr
    assert " step_42 " in (tmp_path / "x.txt").read_text()
