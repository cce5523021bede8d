# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads are borrowed whose stacks are small parts of other memory: what others have there is theirs."""
import subprocess

import pytest

from tests.calls.test_engine_killed import end


@pytest.fixture(name="waiter")
def start_waiter(compile):
    program = compile("calls_small_stack.c", "-O1", "-pthread")
    with subprocess.Popen([program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_attach_and_leave(waiter, run_mtdb, tmp_path):
    for _ in range(8):
        done = run_mtdb("attach", "--engine=calls", "--size=16k", "--for=1ms", "-o", tmp_path / "out.fxt", "-p",
                        waiter.pid)
        assert done.returncode == 0, done.stderr
    end(waiter)
