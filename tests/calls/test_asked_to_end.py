# SPDX-License-Identifier: GPL-3.0-or-later
"""A request to end that comes while a snapshot is written: nothing of it is lost."""
import json
import os
import subprocess

import pytest

THREADS = 6


@pytest.mark.parametrize("calls", [20000, pytest.param(200000, marks=pytest.mark.long)])
def test_while_a_snapshot_is_written(compile, mtdb, run_mtdb, tmp_path, calls):
    program, out = compile("calls_asked.c", "-O1", "-pthread"), tmp_path / "out.perf"
    ready, told = os.pipe()
    with subprocess.Popen([program, str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "-t", "hit", "--max=0", "-s", "16M", "-o",
                               "/dev/null", "-r", out, f"--ready-fd={told}", str(process.pid)],
                              pass_fds=[told], stderr=subprocess.PIPE, text=True) as tracer:
            os.close(told)
            assert os.read(ready, 1)
            os.close(ready)
            process.stdin.write("\n")
            process.stdin.flush()
            _, messages = tracer.communicate(timeout=120)
        assert tracer.returncode == 0 and "gaps" not in messages, messages
        assert process.stdout.readline() == "alone\n"
        assert process.wait(60) == 0
    rows = json.loads(run_mtdb("stats", "--json", out, "count").stdout)["functions"]
    assert [row["calls"] for row in rows] == [THREADS * calls]
