# SPDX-License-Identifier: GPL-3.0-or-later
"""Single-stepping a process that ran before: it is let go of as it was, in the middle of whatever
its threads do, again and again."""
import subprocess

import pytest

THREADS = 4
ROUNDS = 4


@pytest.fixture(name="busy")
def start_busy(compile):
    program = compile("calls_busy.c", "-O1", "-pthread")
    with subprocess.Popen([program, str(THREADS)], text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_it_goes_on(busy, run_mtdb, tmp_path):
    for number in range(ROUNDS):
        text = tmp_path / f"{number}.txt"
        done = run_mtdb("attach", "--engine", "step", "--for=250ms", "-o", text, busy.pid)
        assert done.returncode == 0, done.stderr
        assert busy.poll() is None
        assert text.read_text().count("\nThread ") + 1 >= THREADS
    out, _ = busy.communicate("\n", timeout=60)
    assert (out, busy.returncode) == (f"0 wrong, {THREADS} worked\n", 5)
