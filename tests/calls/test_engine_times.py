# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of events: estimates lie between what is known, and what is known is close."""
import json
import signal
import subprocess
import time

import pytest

NAP_US = 400_000
SLACK_US = 100_000  # others use the machine too


def spans(path):
    """First and last time of early(), and of late(), in microseconds."""
    events = json.loads(path.read_text())["traceEvents"]
    times = {name: [event["ts"] for event in events
                    if event["ph"] == "B" and event["name"] == name] for name in ("early", "late")}
    assert all(len(each) == 3 for each in times.values()), times
    return times


@pytest.fixture(name="check")
def check_spans(tmp_path):
    def check():
        times = spans(tmp_path / "x.json")
        early, late = times["early"], times["late"]
        assert early[2] - early[0] < SLACK_US, times
        assert late[2] - late[0] < SLACK_US, times
        assert NAP_US * 0.9 - SLACK_US < late[0] - early[2] < NAP_US + SLACK_US, times

    return check


@pytest.mark.parametrize("modules", [["--modules", "calls_pause"], []], ids=["alone", "all"])
@pytest.mark.parametrize("end, status", [("exit", 0), ("segv", 139)])
def test_a_sleep_parts_the_events(compile, run_mtdb, tmp_path, check, modules, end, status):
    program = compile("calls_pause.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.json", *modules, "--history",
                    "0", program, end)
    assert done.returncode == status, done.stderr
    check()


@pytest.mark.parametrize("modules", [["--modules", "calls_pause"], []], ids=["alone", "all"])
def test_a_long_sleep_at_the_end(compile, mtdb, tmp_path, check, modules):
    """Ctrl-C, which ends the program, long after the last event."""
    program = compile("calls_pause.c", "-O1")
    with subprocess.Popen([mtdb, "run", "--engine", "calls", "-o", tmp_path / "x.json", *modules,
                           program, "sleep"], stderr=subprocess.DEVNULL) as tracer:
        time.sleep(1.5)
        tracer.send_signal(signal.SIGINT)
        tracer.wait(timeout=120)
    check()
