# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that a program makes is left alone, and what it calls stands in what called it."""
import os
import pathlib
import re
import subprocess

import pytest

from tests.calls import counted


@pytest.mark.parametrize("words", [[], ["share"], ["double"]])
def test_code_made_by_the_program(compile, run_mtdb, tmp_path, words):
    out = tmp_path / "calls.json"
    done = run_mtdb("run", "-e", "calls", *([] if words else ["--modules", "calls_jit"]), "-o", out,
                    compile("calls_jit.c", "-O1"), *words)
    assert (done.stdout, done.returncode) == ("100 0\n", 7), done.stderr
    assert "warning" not in done.stderr, done.stderr
    (calls,) = counted.sequences(out).values()
    depths = [(call.name, call.depth) for call in calls if call.name in ("inner", "outer")]
    base = depths[0][1]
    assert depths == [("outer", base), ("inner", base + 1), ("inner", base + 1)] * 50
    begins_or_ends = re.findall(r'{"ph":"(?:B".*"name":"(inner|outer|.JIT: calls_jit.)"|E")',
                                out.read_text())
    made = "[JIT: calls_jit]"
    ends = ["inner", "", "inner", "", "", ""]  # both of them within it, and it within outer
    first = begins_or_ends.index("outer")
    assert begins_or_ends[first:first + 8 * 50] == ["outer", made, *ends] * 50


def test_its_names_come_from_the_perf_map(compile, run_mtdb, tmp_path):
    """Of frames that the unwinder found, in the timeline and in what `history` prints of a
    recording; the map may belong to nobody else."""
    record = tmp_path / "out.data"
    with subprocess.Popen([compile("calls_jit.c", "-O1"), "tell"], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        path = pathlib.Path(f"/tmp/perf-{process.pid}.map")
        try:
            assert process.stdout.readline() == "ready\n"
            done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt",
                            "-r", record, "-p", process.pid)
            assert done.returncode == 0, done.stderr
            for text in (tmp_path / "out.txt").read_text(), run_mtdb("history", record).stdout:
                names = re.findall(r"  (main|outer|inner|made while it runs) \(", text)
                assert names == ["main", "outer", "made while it runs", "inner"], text
            os.truncate(path, 0)
            os.mkfifo(tmp_path / "fifo")
            os.rename(tmp_path / "fifo", path)  # nobody waits for who would write
            assert "made while it runs" not in run_mtdb("history", record).stdout
        finally:
            path.unlink()
        process.communicate("\n", timeout=60)
        assert process.returncode == 7


def test_its_names_and_lines_come_from_jitdump(compile, run_mtdb, tmp_path):
    """Of the file that the process has mapped, by which perf knows it, too."""
    record = tmp_path / "out.data"
    with subprocess.Popen([compile("calls_jit.c", "-O1"), "dump"], text=True, cwd=tmp_path,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        done = run_mtdb("attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "out.txt",
                        "-r", record, "-p", process.pid)
        assert done.returncode == 0, done.stderr
        process.communicate("\n", timeout=60)
        assert process.returncode == 7
    for text in (tmp_path / "out.txt").read_text(), run_mtdb("history", record).stdout:
        lines = re.findall(r"  (main|outer|inner|dumped while it runs) \(inferred\)(.*)", text)
        assert [name for name, _ in lines] == ["main", "outer", "dumped while it runs", "inner"], text
        assert lines[3][1].split()[-1] == "made.js:42", text
    (tmp_path / f"jit-{process.pid}.dump").write_bytes(b"garbled")
    text = run_mtdb("history", record).stdout
    assert "dumped" not in text and "outer" in text
