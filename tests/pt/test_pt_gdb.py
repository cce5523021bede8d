# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine pt inside of GDB, over the stand-in: GDB stops the program, snapshots are copies."""
import os
import re
import subprocess

import pytest

import fxt


@pytest.fixture
def in_gdb(play, compile, build, need, tmp_path):
    """in_gdb(program, argument, command, …) -> (what GDB printed, the timeline one.fxt's thread)."""
    gdb, standin = need("gdb"), compile("pt_standin.c", "-shared", "-fPIC", "-O1",
                                        output="standin.so")
    if not (build / "mtrace.py").exists():
        pytest.skip("no plugin here: GDB's Python has no headers")

    def run(program, argument, *commands):
        play(program, argument)  # leaves what is to be played
        words = ["set confirm off", f"source {build / 'mtrace.py'}", "break main",
                 f"run {argument}", "mtrace start -engine pt", *commands]
        done = subprocess.run(
            ["env", f"LD_PRELOAD={standin}", gdb, "-nx", "-batch",
             *(word for command in words for word in ("-ex", command)), program],
            env={**os.environ, "PT_STANDIN_SYSFS": str(tmp_path / "root"),
                 "PT_STANDIN_PLAY": str(tmp_path / "play")},
            text=True, capture_output=True, check=False, cwd=tmp_path, timeout=300,
            stdin=subprocess.DEVNULL)
        assert (tmp_path / "one.fxt").exists(), done.stdout + done.stderr
        (thread,) = fxt.read(tmp_path / "one.fxt").threads.values()
        return done.stdout + done.stderr, thread

    return run


def test_gdb_records_with_it(in_gdb, compile):
    shown, thread = in_gdb(compile("truth.c", "-O1", "-static", "-w"), "recursion",
                           "break fib if n == 3", "continue", "mtrace snapshot one.fxt",
                           "mtrace info", "delete", "continue")
    assert "with the engine pt." in shown, shown
    assert re.search(r"LWP \d+ +truth +\d+% of 4", shown)
    assert "exited with code 07" in shown
    assert len([one for one in thread.find("fib") if "inferred" not in one.args]) == 177


@pytest.mark.soak
def test_libraries_that_come_later_have_names(in_gdb, compile):
    _, thread = in_gdb(compile("truth.c", "-O1", "-w"), "loaded", "break exit", "continue",
                       "mtrace snapshot one.fxt", "delete", "continue")
    assert thread.find("cos")
