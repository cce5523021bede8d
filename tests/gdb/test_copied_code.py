# SPDX-License-Identifier: GPL-3.0-or-later
"""A program runs a copy of its code, jumps of the recording and all: GDB has told of a signal by
the time that it is mended, so it is said whose that is, and how to go on."""
import subprocess

import pytest

GOES_ON = "python [gdb.execute('signal 0') for _ in range(400) if gdb.selected_inferior().pid]"


@pytest.mark.parametrize("way", ["1", "6", "1 shared"])
def test_signal(gdb, compile, tmp_path, way):
    program = compile("calls_copied.c", "-O1", "-pthread")
    alone = subprocess.run([program, *way.split()], text=True, capture_output=True, check=True).stdout
    done = gdb(program, "mtrace start", f"run {way} > out.txt", GOES_ON)
    said = done.all.count("this SIGSEGV is not the program's own")
    assert done.all.count("received signal SIGSEGV") == said > 0, done.all
    assert "exited normally" in done.all and (tmp_path / "out.txt").read_text() == alone
