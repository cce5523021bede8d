# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine pt inside of GDB, over the stand-in: GDB stops the program, snapshots are copies."""
import os
import re
import subprocess

import pytest

import fxt


def test_gdb_records_with_it(play, compile, build, need, tmp_path):
    if not (build / "mtrace.py").exists():
        pytest.skip("no plugin here: GDB's Python has no headers")
    program = compile("truth.c", "-O1", "-static", "-w")
    gdb, standin = need("gdb"), compile("pt_standin.c", "-shared", "-fPIC", "-O1",
                                        output="standin.so")
    play(program, "recursion")  # leaves what is to be played
    words = ["set confirm off", f"source {build / 'mtrace.py'}", "break main", "run recursion",
             "mtrace start -engine pt", "break fib if n == 3", "continue", "mtrace snapshot one.fxt",
             "mtrace info", "delete", "continue"]
    done = subprocess.run(
        ["env", f"LD_PRELOAD={standin}", gdb, "-nx", "-batch",
         *(word for command in words for word in ("-ex", command)), program],
        env={**os.environ, "PT_STANDIN_SYSFS": str(tmp_path / "root"),
             "PT_STANDIN_PLAY": str(tmp_path / "play")},
        text=True, capture_output=True, check=False, cwd=tmp_path, timeout=120)
    shown = done.stdout + done.stderr
    assert "with the engine pt." in shown, shown
    assert re.search(r"LWP \d+ +truth +\d+% of 4", shown)
    assert "exited with code 07" in shown
    (thread,) = fxt.read(tmp_path / "one.fxt").threads.values()
    assert len([one for one in thread.find("fib") if "inferred" not in one.args]) == 177
