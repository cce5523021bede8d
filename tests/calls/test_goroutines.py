# SPDX-License-Identifier: GPL-3.0-or-later
"""Goroutines have tracks of their own, on which their calls are whole."""
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import subprocess

import pytest

import fxt
import pftrace
from output import chrome
from tests import conftest

WAYS = {"static": [], "pie": ["-buildmode=pie"], "stripped": ["-ldflags=-s -w"],
        "cgo": ["-buildmode=pie", "-ldflags=-linkmode=external"],
        "cgo-stripped": ["-buildmode=pie", "-ldflags=-linkmode=external -s -w"]}
CALL = re.compile(r"^ .*  (?:\+\d+ )?(main\.\w+)(?: \((.*?)\))?(?: |$)", re.M)


def build(go, way):
    return go(f"goroutines-{way}", *WAYS[way], source="calls_goroutines.go")


def record(run_mtdb, program, path, count, processors="4", words=("-o",)):
    """The counts of each goroutine, as it says itself: {19: {"main.outer": 10}}."""
    done = run_mtdb("run", "-e", "calls", *words, path, "--size", "128m",
                    "--", program, str(count), env={**os.environ, "GOMAXPROCS": processors})
    assert done.returncode == 0, done.stderr
    counts = {}
    for number, words in re.findall(r"^goroutine (\d+) (.*)", done.stdout, re.M):
        words = words.split()
        counts[int(number)] = dict(zip(words[::2], map(int, words[1::2])))
    assert len(counts) == count
    return counts


def tracks(text):
    """{"Goroutine \\"goroutine 7 (main.f)\\"": its lines}, one for each time that it comes."""
    parts = re.split(r"^((?:Goroutine|Thread|Track) .*?) of process .*$", text, flags=re.M)
    assert len(set(parts[1::2])) == len(parts[1::2])
    return dict(zip(parts[1::2], parts[2::2]))


def of_goroutine(found, number):
    [name] = [name for name in found if re.match(rf'Goroutine "goroutine {number}\b', name)]
    return name, found[name]


@pytest.mark.parametrize("way, processors", [("static", "1"), ("static", "4"), ("pie", "4"),
                                             ("stripped", "4"), ("cgo", "4"), ("cgo-stripped", "2")])
def test_calls_of_each(go, run_mtdb, tmp_path, way, processors):
    """Each has as many calls as it counts itself, and none is cut where it waits or moves."""
    counts = record(run_mtdb, build(go, way), tmp_path / "out.txt", 6, processors)
    found = tracks((tmp_path / "out.txt").read_text())
    for number, expected in counts.items():
        name, text = of_goroutine(found, number)
        assert "(main.worker)" in name
        calls = CALL.findall(text)
        assert not [call for call in calls if "inferred" in call[1] or "unwound" in call[1]]
        shown = collections.Counter(call[0] for call in calls)
        assert {function: shown[function] for function in expected} == expected
        assert re.search(r" time\.Sleep .*\n(?:.*\n)*?.* runtime\.mcall .*\n.* waiting: sleep\n", text)
        assert len(re.findall(" waiting: sleep$", text, re.M)) == expected["main.sleep"]
    for name, text in found.items():
        assert not name.startswith("Thread") or not CALL.search(text), name
    ran = [text for name, text in found.items() if name.startswith('Track "goroutines of ')]
    assert all(f"goroutine {number} (main.worker)" in "".join(ran) for number in counts)
    # A function literal has no other name.
    assert any("(main.main.func" in name for name in found)


@pytest.mark.parametrize("way", ["static", "stripped"])
def test_what_they_wait_for(go, run_mtdb, tmp_path, way):
    program = go(f"waits-{way}", *WAYS[way], source="calls_waits.go")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--", program)
    said = re.findall(r"^goroutine (\d+): (.*)", done.stdout, re.M)
    assert len(said) == 9, done.stderr
    found = tracks((tmp_path / "out.txt").read_text())
    for number, reason in said:
        _, text = of_goroutine(found, number)
        # Of a stripped program's inlined functions nobody knows.
        known = (reason, "semacquire") if reason.endswith("RLock") and way == "stripped" else (reason,)
        assert set(re.findall(r" waiting: (.*)$", text, re.M)) & {*known}, text
        # Main lets them go on; Go's poller does so with those that wait for a file.
        if reason != "IO wait":
            assert re.search(r"waiting: .*\n.* runnable: woken by goroutine 1 \(runtime\.main\)$", text, re.M)
        # A stripped program has lines in the runtime's table.
        line = conftest.line_of("calls_waits.go", "go func(i int) {")
        assert re.search(rf"\*\*\* created by goroutine 1 \(runtime\.main\) in main\.main "
                         rf".*calls_waits\.go:{line}$", text, re.M), text
    _, text = of_goroutine(found, 1)
    assert {number for number, _ in said} <= {*re.findall(r"\*\*\* starts goroutine (\d+) ", text)}
    woken = re.findall(r"\*\*\* wakes goroutine (\d+) \(main\.", text)
    assert sorted({number for number, reason in said if reason != "IO wait"} - {*woken}) == []
    # What never goes on has no end.
    assert re.search(r" open  .* waiting: select \(no cases\)$", "".join(found.values()), re.M)


def read_trace(path):
    if path.suffix == ".json":
        return chrome.parse(path.read_bytes())[0]
    return {".fxt": fxt, ".pftrace": pftrace}[path.suffix].read(path)


@pytest.mark.parametrize("suffix", [".fxt", ".pftrace", ".json"])
def test_in_timelines(go, run_mtdb, tmp_path, suffix):
    """Tracks, what goroutines wait for, and who wakes them, by arrows."""
    path = tmp_path / f"out{suffix}"
    done = run_mtdb("run", "-e", "calls", "-o", path, "--",
                    go("waits-static", source="calls_waits.go"))
    said = re.findall(r"^goroutine (\d+): (.*)", done.stdout, re.M)
    trace = read_trace(path)
    tracks_of = {int(found[1]): thread for thread in trace.threads.values()
                 if (found := re.match(r"goroutine (\d+) \(", thread.name or ""))}
    # Each arrow has two ends, and starts where the waker calls.
    heads = {}
    for ends in trace.flows.values():
        assert set(ends) == {"from", "to"}
        assert ends["to"].begin >= ends["from"].begin
        assert ends["to"].name == "runnable" or ends["to"].depth == 0
        heads[id(ends["to"])] = ends["from"]
    ours = {id(piece) for piece in tracks_of[1].slices()}
    for number, reason in said:
        thread = tracks_of[int(number)]
        assert id(heads[id(thread.slices()[0])]) in ours
        [waited] = thread.find(f"waiting: {reason}")
        after = thread.slices()[thread.slices().index(waited) + 1]
        if reason == "IO wait":
            continue
        assert after.name == "runnable" and after.begin == waited.end
        assert after.args["reason"] == "woken by goroutine 1 (runtime.main)"
        assert id(heads[id(after)]) in ours
        assert any(f"wakes goroutine {number} " in one.name and one.time == after.begin
                   for one in tracks_of[1].instants)


def test_one_goroutine(go, run_mtdb, tmp_path):
    program = build(go, "static")
    recording = tmp_path / "kept.perf"
    counts = record(run_mtdb, program, recording, 3, words=["-o", tmp_path / "out.txt", "--record"])
    number, expected = counts.popitem()
    done = run_mtdb("history", "-n", "1000000", f"--goroutine={number}", recording)
    assert done.returncode == 0, done.stderr
    assert len(tracks(done.stdout)) == 1
    _, text = of_goroutine(tracks(done.stdout), number)
    assert collections.Counter(call[0] for call in CALL.findall(text))["main.grow"] == expected["main.grow"]

    rows = json.loads(run_mtdb("stats", "--json", "-n", "0", "-g", str(number), recording).stdout)
    calls = {row["name"]: row["calls"] for row in rows["functions"]}
    assert {name: calls[name] for name in expected} == expected

    # To run a goroutine is not to wait.
    assert "waiting" not in run_mtdb("stats", recording).stdout

    # All that threads did is there as well, one stack upon the other.
    done = run_mtdb("history", "-n", "1", recording)
    thread = re.search(r"^Thread (\d+) ", done.stdout, re.M)[1]
    done = run_mtdb("history", "-n", "1000000", "-t", thread, recording)
    assert all(name.startswith("Thread") for name in tracks(done.stdout))

    done = run_mtdb("history", "-g", "99999", recording)
    assert done.returncode == 1
    assert "contains no calls of goroutine 99999" in done.stderr
    done = run_mtdb("history", "-g", "1", "-t", "1", recording)
    assert done.returncode == 2
    assert "use only one of --thread, --goroutine and --coroutine" in done.stderr


def test_no_goroutines(run_mtdb, tmp_path):
    recording = tmp_path / "kept.perf"
    run_mtdb("run", "-e", "calls", "--record", recording, "-o", tmp_path / "out.txt", "--", "true")
    done = run_mtdb("stats", "-g", "1", recording)
    assert done.returncode == 1
    assert "does not tell goroutines apart" in done.stderr


@contextlib.contextmanager
def serving(program, address):
    with subprocess.Popen([program, address], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            yield server
        finally:
            server.kill()


def ask(address, numbers):
    """One connection, one request after the other; whether each answer is right."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        answers = connection.makefile("rb")
        for number in numbers:
            connection.sendall(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
            length = 0
            while (line := answers.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if answers.read(length) != b"%d" % (number * (number + 1) // 2):
                return False
    return True


def ask_at_once(address, clients, rounds):
    """How many connections had only right answers."""
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(lambda client: ask(address, [client + 10] * rounds), range(clients)))


@pytest.mark.parametrize("way, clients, rounds, trigger", [
    ("static", 4, 5, None), ("static", 4, 5, "-every 5 main.answer"),
    *(pytest.param(way, 8, 50, trigger, marks=pytest.mark.soak)
      for way in ("static", "pie", "cgo", "stripped") for trigger in (None, "-every 50 main.answer"))])
def test_attached_to_a_server(go, mtdb, run_mtdb, tmp_path, way, clients, rounds, trigger):
    """No request fails, and each is whole on its connection's goroutine."""
    program = go(f"http-{way}", *WAYS[way], source="calls_http.go")
    address, out = str(tmp_path / "socket"), tmp_path / "out.perf"
    ready, told = os.pipe()
    with serving(program, address) as server:
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "-r", out, "-o", tmp_path / "out.fxt",
                               "--size", "64M", *(["-t", trigger, "--max=0"] if trigger else []),
                               f"--ready-fd={told}", str(server.pid)], pass_fds=[told],
                              stderr=subprocess.PIPE, text=True) as tracer:
            os.close(told)
            assert os.read(ready, 1)
            os.close(ready)
            right = ask_at_once(address, clients, rounds)
            tracer.send_signal(signal.SIGINT)
            _, messages = tracer.communicate(timeout=600)
            assert tracer.returncode == 0, messages
        assert right == clients
        assert ask(address, [3])  # it goes on
    assert read_trace(tmp_path / "out.fxt").flows
    text = run_mtdb("history", "-n", "100000000", out).stdout
    served = {name: lines for name, lines in tracks(text).items() if " main.handle " in lines}
    assert len(served) == clients
    if trigger:  # of what runs while rings are read a part may be lost
        hits = int(trigger.split()[1])
        assert len(re.findall(r"\*\*\* trigger 1: main\.answer", text)) == clients * rounds // hits
        return
    steps = []
    for name, lines in served.items():
        assert "(net/http.(*conn).serve)" in name and "*** created by goroutine 1 (runtime.main)" in lines
        assert len(re.findall(r" main\.(?:handle|answer) ", lines)) == 2 * rounds
        steps.append(len(re.findall(r" main\.step ", lines)))
    assert sorted(steps) == [rounds * (client + 11) for client in range(clients)]
