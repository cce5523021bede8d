# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb explain: names who held the lock that a slow call waited for, or says that it cannot."""
import json
import re
import subprocess

import pytest

from tests.conftest import line_of

SLEPT_NS = 60_000_000
SOURCE = "explain_locks.c"
ARGUMENTS = ("--args=pthread_mutex_*lock", "--args=pthread_cond_wait")
EVENTS = "--events=sched,syscalls"


@pytest.fixture(name="explain", scope="module")
def explain_fixture(compile, mtdb, run_mtdb, tmp_path_factory):
    """explain("two", option…, before=[…]): (what is said of the one slow call, as JSON, and as text)"""
    program = compile(SOURCE, "-O1", "-fno-optimize-sibling-calls", "-pthread")

    def explain(cause, *options, before=(), times="--timestamps=full"):
        path = tmp_path_factory.mktemp("locks") / "x.perf"
        done = subprocess.run([*before, mtdb, "run", "-e", "calls", times, *options, "-r", path, "-o",
                               path.with_suffix(".fxt"), "--", program, cause],
                              capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        said = [run_mtdb("explain", *words, "-n", "1", path, "handle") for words in ([], ["--json"])]
        assert [one.returncode for one in said] == [0, 0], said[0].stderr
        assert said[0].stderr == said[1].stderr == "", "what a second look lacks has been said"
        (call,) = json.loads(said[1].stdout)["slowest"]
        assert call["duration_ns"] > SLEPT_NS * 0.5
        return call["waits"], said[0].stdout
    return explain


def check_held(waits, how, function="refill", text="taken here"):
    (wait,) = waits
    assert (wait["for"], wait["holder"]) == ("lock", how), wait
    assert (wait["function"], wait["line"]) == ("update", line_of(SOURCE, "waited here"))
    assert (wait["holder_thread"], wait["holder_function"]) == ("holder", function)
    assert wait["holder_line"] == line_of(SOURCE, text) and wait["holder_file"].endswith(SOURCE)
    assert wait["ns"] > SLEPT_NS * 0.5 and wait["held_ns"] > SLEPT_NS


@pytest.mark.parametrize("cause", ["lock", "later", "before"])
def test_by_the_times_alone(explain, cause):
    """Who let go of a lock before the wait, or holds one still, held another one."""
    waits, text = explain(cause)
    check_held(waits, "by time")
    assert re.search(r"^Waited [\d.]+ ms in update \(explain_locks.c:\d+\) for a lock that holder \(\d+\) held for "
                     r"[\d.]+ ms, from refill \(explain_locks.c:\d+\); by the times alone", text, re.M), text


@pytest.mark.parametrize("cause", ["lock", "two", "later"])
def test_by_the_locks_address(explain, cause):
    waits, text = explain(cause, *ARGUMENTS)
    check_held(waits, "held")
    assert re.search(r" held for [\d.]+ ms, from refill \(explain_locks.c:\d+\)\.$", text, re.M), text


def test_since_a_wait_for_a_condition(explain):
    for options, how in (((), "by time"), (ARGUMENTS, "held")):
        check_held(explain("pass", *options)[0], how, "serve", "passed here")


def test_what_cannot_be_told(explain):
    for cause, options, holder, words in (
            ("two", {}, "ambiguous", "several threads let go of locks"),
            ("lock", {"times": "--timestamps=sampled"}, "estimated", "--timestamps=full"),
            ("lock", {"options": ["--no-functions=pthread_mutex_unlock"]}, "not recorded", "no thread was recorded"),
            ("lock", {"options": ["--no-functions=pthread_mutex_unlock"], "times": "--timestamps=sampled"},
             "not recorded", "no thread was recorded")):
        waits, text = explain(cause, *options.pop("options", ()), **options)
        assert [wait["holder"] for wait in waits] == [holder]
        assert "holder_tid" not in waits[0] and waits[0]["ns"] > SLEPT_NS * 0.5
        assert re.search(f"for a lock; who held it cannot be told: .*{words}", text), text


@pytest.mark.parametrize("cause", ["lock", "two"])
def test_by_who_woke_it(explain, perf_events, with_tracefs, cause):
    """Of two that held a lock, too; and nobody else is asked for its locks."""
    waits, _ = explain(cause, EVENTS, before=with_tracefs)
    check_held(waits, "held")


def test_woken_without_a_lock(explain, perf_events, with_tracefs):
    waits, text = explain("cond", EVENTS, before=with_tracefs)
    (wait,) = waits
    assert (wait["for"], wait["holder"], wait["holder_thread"]) == ("futex", "woken", "holder"), wait
    assert wait["holder_function"] == "finish" and wait["holder_line"] == line_of(SOURCE, "woken here")
    assert re.search(r"^Waited [\d.]+ ms in futex, until holder \(\d+\) woke it in finish \(explain_locks.c:\d+\)\.$", text, re.M), text


def test_woken_where_no_lock_was_recorded(explain, perf_events, with_tracefs):
    (wait,), text = explain("lock", "--modules=*/explain_locks", EVENTS, before=with_tracefs)
    assert (wait["holder"], wait["holder_function"]) == ("woken", "refill"), text


def test_of_one_thread_alone(run_mtdb, compile, tmp_path):
    """Any thread may be the holder, though only one's calls are asked for; and of standard input, which is read twice."""
    program, path = compile(SOURCE, "-O1", "-fno-optimize-sibling-calls", "-pthread"), tmp_path / "x.perf"
    assert run_mtdb("run", "-e", "calls", *ARGUMENTS, "-r", path, "-o", "x.fxt", "--", program, "lock",
                    cwd=tmp_path).returncode == 0
    tid = json.loads(run_mtdb("explain", "--json", path, "handle").stdout)["slowest"][0]["tid"]
    with open(path, "rb") as file:
        for where in (path, "-"):
            done = run_mtdb("explain", "--json", "-n", "1", "-t", tid, where, "handle", stdin=file)
            check_held(json.loads(done.stdout)["slowest"][0]["waits"], "held")


@pytest.mark.sanitize
def test_what_is_no_whole_recording(run_mtdb, compile, tmp_path):
    program, path = compile(SOURCE, "-O1", "-fno-optimize-sibling-calls", "-pthread"), tmp_path / "x.perf"
    assert run_mtdb("run", "-e", "calls", *ARGUMENTS, "-r", path, "-o", "x.fxt", "--", program, "two",
                    cwd=tmp_path).returncode == 0
    whole, cut = path.read_bytes(), tmp_path / "cut.perf"
    for size in (len(whole) // 4, len(whole) // 2, len(whole) * 3 // 4, len(whole) - 1, len(whole)):
        cut.write_bytes(whole[:size])
        done = run_mtdb("explain", "-n", "60", cut, "handle")
        assert done.returncode in (0, 1), size
        assert bool(done.stdout) == (done.returncode == 0)
