# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of events: estimates lie between what is known, and what is known is close."""
import json
import signal
import subprocess
import time

import pytest

SECOND_US = 1_000_000


def spans(path):
    """First and last time of early(), and of late(), in microseconds."""
    events = json.loads(path.read_text())["traceEvents"]
    times = {name: [event["ts"] for event in events
                    if event["ph"] == "B" and event["name"] == name] for name in ("early", "late")}
    assert all(len(each) == 3 for each in times.values()), times
    return times


@pytest.fixture(name="check")
def check_spans(tmp_path):
    """The program's own times, in nanoseconds, part its calls as the recording's do."""
    def check(told):
        asleep, awake, done = (int(word) / 1000 for word in told.split())
        times = spans(tmp_path / "x.json")
        assert times["early"][2] < awake, (times, told)
        assert times["late"][0] > asleep, (times, told)
        return times["late"][2] - done

    return check


@pytest.mark.parametrize("modules", [["--modules", "calls_pause"], []], ids=["alone", "all"])
@pytest.mark.parametrize("end, status", [("exit", 0), ("segv", 139)])
def test_a_sleep_parts_the_events(compile, run_mtdb, tmp_path, check, modules, end, status):
    program = compile("calls_pause.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-o", tmp_path / "x.json", *modules, "--history",
                    "0", program, end)
    assert done.returncode == status, done.stderr
    check(done.stdout.splitlines()[0])


@pytest.mark.parametrize("modules", [["--modules", "calls_pause"], []], ids=["alone", "all"])
def test_a_long_sleep_at_the_end(compile, mtdb, tmp_path, check, modules):
    """Ctrl-C, which ends the program, long after the last event."""
    program = compile("calls_pause.c", "-O1")
    with subprocess.Popen([mtdb, "run", "--engine", "calls", "-o", tmp_path / "x.json", *modules,
                           program, "sleep"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as tracer:
        told = tracer.stdout.readline()
        time.sleep(1.5)
        tracer.send_signal(signal.SIGINT)
        tracer.wait(timeout=120)
    assert check(told) < SECOND_US
