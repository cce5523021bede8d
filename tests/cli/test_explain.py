# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb explain: finds what was planted in one of sixty calls."""
import json
import re
import subprocess

import pytest

CALLS = 60
SLEPT_NS = 20_000_000
PAGES = 2047  # one was touched before


@pytest.fixture(name="record", scope="module")
def record_fixture(compile, mtdb, tmp_path_factory):
    """record("sleep", *options, before=[…]): the recording; each is made once."""
    made = {}

    def record(cause, *options, before=()):
        if (cause, options) not in made:
            path = tmp_path_factory.mktemp("explain") / "x.perf"
            program = compile("explain.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
            done = subprocess.run([*before, mtdb, "run", "-e", "calls", "--args=handle", *options, "-r", path,
                                   "-o", path.with_suffix(".fxt"), "--", program, cause],
                                  capture_output=True, text=True, check=False, timeout=120)
            assert done.returncode == 0, done.stderr
            made[cause, options] = path
        return made[cause, options]
    return record


EVENTS = "--events=sched,faults,syscalls"


def explain(run_mtdb, path, *words):
    done = run_mtdb("explain", "--json", *words, path, "handle")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def slow_one(found):
    """The planted one: another may have lost the CPU for longer."""
    return next(call for call in found["slowest"] if call.get("arguments") == "is_slow=1")


def excess(place):
    return max(0, place["self_ns"] - place["median_self_ns"])


def place_of(call, where):
    """The first place, but for those that were called as often as ever: there the CPU was lost."""
    place = next(place for place in call["places"]
                 if place["calls"] != place["median_calls"] or re.fullmatch(where, place["path"]))
    assert re.fullmatch(where, place["path"]) and excess(place) > 0, call["places"][:3]
    return place


WHERE = {"sleep": r"handle > maybe_doze > doze( > \S*nanosleep)*", "faults": "handle > touch",
         "lock": r"handle > update > .*lock.*", "callee": "handle > parse > leaf"}


@pytest.mark.parametrize("cause", WHERE)
def test_what_was_planted(run_mtdb, record, cause):
    found = explain(run_mtdb, record(cause, "--timestamps=full"), "-n", str(CALLS))
    assert (found["calls"], found["partial"], found["waits_recorded"]) == (CALLS, 0, False)
    call = slow_one(found)
    planted = place_of(call, WHERE[cause])
    assert sum(place["self_ns"] for place in call["places"]) == call["duration_ns"], "each moment is in one place"
    if cause in ("sleep", "lock"):
        assert call["duration_ns"] > SLEPT_NS * 0.5 < excess(planted)
    if cause == "callee":
        assert (planted["calls"], planted["median_calls"]) == (20000, 3)
    excesses = [excess(place) for place in call["places"]]
    assert excesses == sorted(excesses, reverse=True)
    durations = [call["duration_ns"] for call in found["slowest"]]
    assert durations == sorted(durations, reverse=True) and durations[CALLS // 2] <= found["median_ns"] * 1.05


@pytest.mark.parametrize("cause", ["sleep", "faults", "lock"])
def test_what_it_waited_for(run_mtdb, record, perf_events, with_tracefs, cause):
    found = explain(run_mtdb, record(cause, "--timestamps=full", EVENTS, before=with_tracefs), "-n", str(CALLS))
    assert found["waits_recorded"]
    call = slow_one(found)
    place, names = place_of(call, WHERE[cause]), {wait["name"]: wait for wait in call["meanwhile"]}
    if cause == "faults":
        assert PAGES - 40 <= place["faults"] <= PAGES + 40
        assert max(wait["count"] for wait in call["meanwhile"]) >= PAGES - 40
    else:
        assert place["waited_ns"] > 0.5 * SLEPT_NS
        assert {"sleep": "clock_nanosleep", "lock": "futex"}[cause] in names, names
        assert any("reason" in wait and wait["ns"] > 0.5 * SLEPT_NS for wait in call["meanwhile"])


def test_the_words(run_mtdb, record):
    done = run_mtdb("explain", "-n", str(CALLS), record("callee", "--timestamps=full"), "handle")
    assert done.returncode == 0
    assert re.search(r"^handle: 60 calls were seen whole, of which the median took [\d.]+ [mµn]s", done.stdout)
    assert re.search(r"^ +[\d.]+ m?s +[\d.]+ m?s +[\d.]+ [µn]s +20000 +3  handle > parse > leaf$", done.stdout, re.M)
    assert "Whether they waited is not known: --events=" in done.stdout and "estimates" not in done.stdout


def test_what_cannot_be_told(run_mtdb, record):
    """Estimated times, calls that are not there, or only in part."""
    path = record("callee")
    found = explain(run_mtdb, path)
    assert found["estimated"] > 0 and any(call["estimated"] for call in found["slowest"])
    assert "it cannot be told which callee took longer" in run_mtdb("explain", path, "handle").stdout
    done = run_mtdb("explain", path, "nosuch")
    assert (done.returncode, done.stdout) == (1, "") and 'no call of "nosuch"' in done.stderr
    done = run_mtdb("explain", path, "__libc_start_main")
    assert done.returncode == 1 and "seen whole" in done.stderr
    assert "So few calls" in run_mtdb("explain", path, "main").stdout
    assert run_mtdb("explain", path).returncode == run_mtdb("explain", "-n", "0", path, "f").returncode == 2


@pytest.mark.sanitize
def test_what_is_no_whole_recording(run_mtdb, record, tmp_path):
    whole = record("sleep", "--timestamps=full").read_bytes()
    cut = tmp_path / "cut.perf"
    for size in (0, 7, 100, len(whole) // 3, len(whole) * 2 // 3, len(whole) - 1):
        cut.write_bytes(whole[:size])
        done = run_mtdb("explain", cut, "handle")
        assert done.returncode in (0, 1) and done.stderr.startswith("mtdb: "), size
        assert bool(done.stdout) == (done.returncode == 0)
    cut.write_bytes(b"\x7fELF" * 1000)
    done = run_mtdb("explain", cut, "handle")
    assert (done.returncode, done.stdout) == (1, "") and "is not a recording" in done.stderr
