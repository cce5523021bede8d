# SPDX-License-Identifier: GPL-3.0-or-later
"""A stack overflow by direct calls alone: each of the calls is there, in our decoder and in perf's."""
import re
import signal
import subprocess

import pytest


@pytest.fixture(scope="module")
def overflow(request, run_mtdb, tmp_path_factory):
    """The recording of an endless recursion."""
    recording = tmp_path_factory.mktemp("endless") / "trace.perf"
    program = request.getfixturevalue("compile")("endless.c", "-static")
    done = run_mtdb("run", "--engine=step", "--history=3", "-o", "/dev/null", "--record", recording,
                    "--", program)
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr
    return recording


def open_rounds(run_mtdb, recording):
    """Names of the open calls inside of main, outermost first."""
    done = run_mtdb("history", "-n", 1000000, recording)
    assert done.returncode == 0, done.stderr
    names = re.findall(r" open +(?:\+\d+ )?(\w+)", done.stdout)
    return names[names.index("main") + 1:]


def test_every_call_is_open(overflow, run_mtdb):
    rounds = open_rounds(run_mtdb, overflow)
    assert len(rounds) > 3000
    assert set(rounds[0::2]) == {"ping"} and set(rounds[1::2]) == {"pong"}


def test_perf_finds_as_many(overflow, run_mtdb, need):
    calls = subprocess.run(
        [need("perf", "linux-perf"), "script", "-i", overflow, "--itrace=b",
         "-F", "flags,ip,sym,addr"], text=True, capture_output=True, check=True)
    assert "error" not in calls.stderr.lower()
    found = sum(bool(re.match(r"\s*call .*=> +[0-9a-f]+ (ping|pong)\b", line))
                for line in calls.stdout.splitlines())
    assert found == len(open_rounds(run_mtdb, overflow))
