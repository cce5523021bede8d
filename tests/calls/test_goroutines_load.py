# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of Go's under load, with one snapshot after the other: its clients get their answers, and
each request is on its goroutine's track, whole, or cut where data was lost.

MTRACE_SOAK_SECONDS chooses how long `make soak` goes on."""
import collections
import contextlib
import os
import re
import signal
import subprocess

import pytest

from tests.calls.test_goroutines import WAYS
from tests.conftest import wait_until

CALL = re.compile(r"(?:\+(\d+) )?(main\.(?:shop\.ServeHTTP|begin|end|add|price))(?:\(number=(\d+)\))?(?: \((.*?)\))?\s")
SERVE, BEGIN, END = "main.shop.ServeHTTP", "main.begin", "main.end"


def items_of(number):
    return number % 5 + 1


class Request:
    """One slice of ServeHTTP: what is in it."""

    def __init__(self, depth, begins, ends):
        self.depth, self.begins, self.ends = depth, begins, ends
        self.calls = []     # (BEGIN or END, the number of the order)
        self.adders = []    # the goroutines that it waited for


class Track:
    """What is shown of a goroutine, segment by segment."""

    def __init__(self, name):
        self.name = name
        self.requests, self.added, self.alone = [], None, []
        self.segment()

    def segment(self):
        self.request, self.is_later, self.is_last = None, False, False

    def call(self, line):
        if not (found := CALL.search(line)):
            return
        depth = len(line[:found.start()]) // 2 + int(found[1] or 0)
        begins = "inferred" not in (found[4] or "")
        ends = not re.search("lost|unwound", found[4] or "") and not re.search(" open | … ", line)
        is_whole = begins and ends
        name = found[2]
        if self.request and depth <= self.request.depth:
            self.request = None
        if name == SERVE:
            assert not self.is_last and (begins or not self.is_later), (self.name, line)
            self.is_last, self.is_later = not ends, True
            self.request = Request(depth, begins, ends)
            self.requests.append(self.request)
        elif name in (BEGIN, END):
            assert found[3] and is_whole, line
            if self.request and depth == self.request.depth + 1:
                self.request.calls.append((name, int(found[3])))
            else:  # of a request that neither began nor ended in this segment
                assert depth == self.outermost, (self.name, line)
                self.alone.append((name, int(found[3])))
        elif name == "main.add" and is_whole:
            self.added = 0
        elif name == "main.price" and self.added is not None:
            self.added += 1


def tracks_of(lines):
    """{7: Track}, and the lines of what threads kept."""
    found, kept, track = {}, [], None
    for line in lines:
        if not line.startswith(" "):
            if head := re.match(r'(?:Goroutine "goroutine (\d+)|(?:Thread|Track) )', line):
                number = int(head[1] or 0)
                track = found.setdefault(number, Track(line)) if number else None
            if track:
                track.segment()
        elif track and "  duration  function  " in line:
            track.outermost = len(line[:line.index("function")]) // 2
        elif "main." in line and "***" not in line and "woken by" not in line:
            if track:
                track.call(line)
            else:
                kept.append(line)
        elif track and track.request and (waker := re.search(r"woken by goroutine (\d+) \(main\.add\)", line)):
            track.request.adders.append(int(waker[1]))
    return found, kept


def check(tracks, kept):
    """How many requests are whole."""
    begun, ended, whole = collections.Counter(), collections.Counter(), 0
    for track in tracks.values():
        begun.update(number for name, number in track.alone if name == BEGIN)
        ended.update(number for name, number in track.alone if name == END)
        for request in track.requests:
            names = [name for name, _ in request.calls]
            numbers = {number for _, number in request.calls}
            said = track.name, request.calls
            assert names in ([BEGIN, END], [BEGIN], [END], []) and len(numbers) <= 1, said
            assert BEGIN in names or END not in names or not request.begins, said
            assert END in names or BEGIN not in names or not request.ends, said
            assert names or not (request.begins and request.ends), said
            begun.update(number for name, number in request.calls if name == BEGIN)
            ended.update(number for name, number in request.calls if name == END)
            whole += request.begins and request.ends
            for adder in request.adders:
                added = tracks[adder].added if adder in tracks else None
                assert added in (None, *map(items_of, numbers)), (said, adder)
    for line in kept:
        if found := re.search(r" main\.(begin|end)\(number=(\d+)\)", line):
            (begun if found[1] == "begin" else ended)[int(found[2])] += 1
    assert set(begun.values()) | set(ended.values()) <= {1}
    return whole, set(begun) | set(ended)


@contextlib.contextmanager
def recorded(mtdb, program, path, size):
    """Its server, by mtdb run."""
    words = ["--args", BEGIN, "--args", END, "--size", size, "-o", path.with_suffix(".fxt"), "-r", path]
    serve = [mtdb, "run", "-e", "calls", *words, "--", program, "serve", path.with_suffix(".socket")]
    with open(path.with_suffix(".said"), "w", encoding="utf-8") as said, \
            subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            yield server
        finally:
            server.kill()


def load(mtdb, program, path, size, seconds, orders):
    """Snapshots a second apart, until its clients are done: how many, and how many orders."""
    taken = 0
    with recorded(mtdb, program, path, size) as server:
        with subprocess.Popen([program, "ask", path.with_suffix(".socket"), "4", str(seconds), str(orders)],
                              stdout=subprocess.PIPE, text=True) as clients:
            while clients.poll() is None:
                server.send_signal(signal.SIGUSR1)
                taken += 1
                wait_until(lambda: f"snapshot {taken} was taken" in path.with_suffix(".said").read_text("utf-8"))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    clients.wait(1)
            asked, failed = map(int, clients.stdout.read().split())
        answered, _ = server.communicate(timeout=600)
        assert server.returncode == 0
    assert (failed, asked) == (0, int(answered)) and asked
    return taken, asked


def history(mtdb, path):
    with subprocess.Popen([mtdb, "history", "-n", "1000000000", path], stdout=subprocess.PIPE, text=True) as lines:
        return tracks_of(lines.stdout)


@pytest.mark.parametrize("way", ["static", "cgo"])
def test_all_is_there(go, mtdb, tmp_path, way):
    """Rings that hold all: each request that was answered."""
    program = go(f"json-{way}", *WAYS[way], source="calls_json.go")
    _, asked = load(mtdb, program, tmp_path / "out.perf", "64m", 600, 200)
    whole, numbers = check(*history(mtdb, tmp_path / "out.perf"))
    assert (whole, numbers) == (asked, set(range(1, asked + 1))) and asked == 200


@pytest.mark.parametrize("seconds", [
    2, pytest.param(int(os.environ.get("MTRACE_SOAK_SECONDS", "60")), marks=pytest.mark.soak)])
def test_a_snapshot_each_second(go, mtdb, tmp_path, seconds):
    program = go("json-static", source="calls_json.go")
    taken, asked = load(mtdb, program, tmp_path / "out.perf", "1M", seconds, 1 << 40)
    whole, numbers = check(*history(mtdb, tmp_path / "out.perf"))
    assert whole >= taken and max(numbers) <= asked
    print(f"{asked} orders, {taken} snapshots, {whole} requests of them whole, {len(numbers)} in part or whole")
