# SPDX-License-Identifier: GPL-3.0-or-later
"""Coroutines of C and C++ have tracks of their own, on which a call is one slice, however often
control left its stack meanwhile."""
import collections
import json
import pathlib
import re
import subprocess

import pytest

from tests import conftest

CALL = re.compile(r"^ .*?  (?:\+\d+ )?(\w[\w:]*)(?:\([^)]*\))?(?: \(([^)]*)\))?(?:  | *$)", re.M)
WAYS = ["contexts", "neighbours", "alike", "own", "unseen", "jumped", "thread", "again", "handled"]


def record(run_mtdb, path, *command, stamps="sampled", words=()):
    done = run_mtdb("run", "-e", "calls", "-o", path, f"--timestamps={stamps}", "--size", "64m", *words, "--", *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tracks(text):
    """{"Coroutine \\"coroutine 1 (work)\\"": its lines}"""
    parts = re.split(r"^((?:Coroutine|Thread|Track) .*?) of process .*$", text, flags=re.M)
    assert len(set(parts[1::2])) == len(parts[1::2])
    return dict(zip(parts[1::2], parts[2::2]))


def calls_of(text):
    """How often each function was called; no call began or ended where it was only left."""
    calls = CALL.findall(text)
    assert not [call for call in calls if re.search("inferred|unwound", call[1])], text
    return collections.Counter(name for name, _ in calls)


def own_counts(stdout):
    """What each coroutine says of itself, and what the scheduler does."""
    lines = stdout.strip().split("\n")
    pairs = [re.findall(r"(\w+) (\d+)", line.partition(": ")[2] or line) for line in lines]
    return [{name: int(number) for name, number in line} for line in pairs]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stamps", ["sampled", "full"])
def test_a_call_is_one_slice(compile, run_mtdb, tmp_path, way, stamps):
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    # Rings have the lower halves of stack pointers.  Where chance puts the coroutines' stacks so that theirs are those of
    # the thread's own stack, nothing tells them apart: of the second thread's, which has 8 MiB in 4 GiB, once in some
    # hundred runs; of the first one's, which grows as it is used, once in some thousands.
    for _ in range(3):
        stdout = record(run_mtdb, tmp_path / "out.txt", program, way, "9", "6", stamps=stamps)
        *coroutines, scheduler = own_counts(stdout)
        found = tracks((tmp_path / "out.txt").read_text())
        shown = {name: text for name, text in found.items() if name.startswith("Coroutine")}
        if len(shown) == 9:
            break
    assert len(shown) == len(coroutines) == 9
    start = "own_coroutine" if way in ("own", "unseen", "jumped", "thread") else "coroutine"
    switch = {"own": "switch_stacks", "thread": "switch_stacks", "jumped": "switch_by_jump"}.get(way, "swapcontext")
    for (name, text), expected in zip(shown.items(), coroutines):
        assert re.fullmatch(rf'Coroutine "coroutine \d+ \({start}\)"', name)
        if way == "handled":  # what siglongjmp() leaves is unwound
            text = re.sub(r"^.* (?:throw|siglongjmp|\w*longjmp\w*|catch) .*\n", "", text, flags=re.M)
        calls = calls_of(text)
        assert {name: calls[name] for name in expected} == expected
        # Each waits in the function that switches, in the middle of in_middle().
        waits = "" if way == "unseen" else rf".* {switch} .*\n"
        assert len(re.findall(rf" in_middle .*\n.* leaf .*\n.* yield .*\n{waits}.* leaf ", text)) \
            == expected["in_middle"]
        assert not calls["turn"]
    threads = "".join(text for name, text in found.items() if name.startswith("Thread"))
    calls = calls_of(threads)
    assert calls["turn"] == scheduler["turn"]
    assert not calls["in_middle"] and not calls["leaf"] and not calls[start]
    assert sum(text.count(" handle ") for text in shown.values()) == scheduler["handle"]


@pytest.mark.parametrize("stamps", ["sampled", "full"])
def test_large_frames_are_no_coroutines(compile, run_mtdb, tmp_path, stamps):
    """Nor is longjmp() a switch."""
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    stdout = record(run_mtdb, tmp_path / "out.txt", program, "large", "1", "1", stamps=stamps)
    text = (tmp_path / "out.txt").read_text()
    assert list(tracks(text)) == [name for name in tracks(text) if name.startswith("Thread")]
    calls = collections.Counter(name for name, _ in CALL.findall(text))
    [expected, scheduler] = own_counts(stdout)
    assert (calls["large"], calls["leaf"], calls["catch"]) \
        == (expected["in_middle"], expected["leaf"], scheduler["catch"])


@pytest.mark.parametrize("stamps", ["sampled", "full"])
def test_calls_across_stacks(compile, run_mtdb, tmp_path, stamps):
    """What is called on another stack lies on its caller, however often the thread's own is changed
    for another one in between: those are no coroutines."""
    program = compile("calls_across.c", "-O1", "-g")
    stdout = record(run_mtdb, tmp_path / "out.txt", program, "50", stamps=stamps)
    expected = {name: int(number) for name, number in re.findall(r"^([a-z_]+) (\d+)$", stdout, re.M)}
    text = (tmp_path / "out.txt").read_text()
    calls = CALL.findall(text)
    shown = collections.Counter(name for name, _ in calls)
    expected.pop("sum", None)
    assert {name: shown[name] for name in expected} == expected and len(expected) == 6
    assert "Coroutine" not in text and "inferred" not in text
    left = {name for name, notes in calls if "unwound" in notes}
    assert left <= {"thrown", "longjmp", "__libc_siglongjmp", "siglongjmp", "__longjmp"}
    [depth] = {len(line) for line in re.findall(r"  ( *)again ", text)}
    assert depth == {len(line) for line in re.findall(r"  ( *)back ", text)}.pop() + 4


def test_frames_across_stacks(compile, mtdb):
    """What a ring has lost comes from the unwinder, whatever stacks it is on; and a frame that the tables
    mark as a signal's trampoline is one only if the kernel made it."""
    program = compile("calls_across.c", "-O1", "-g")
    commands = ["mtrace start -size 16k", "break again", "ignore 1 3000", "run", "bt", "mtrace history 4", "kill"]
    done = subprocess.run([mtdb, "-batch", *(word for command in commands for word in ("-ex", command)),
                           "--args", program, "1000000"],
                          capture_output=True, text=True, timeout=600, check=False)
    chain = ["main", "from_own", "call_on", "in_heap", "call_on", "back", "call_on", "again"]
    frames = re.findall(r"^#\d+ +(?:0x\w+ in )?(\w+|<[\w ]*>)", done.stdout, re.M)
    assert frames[:len(chain)] == chain[::-1], done.stdout
    shown = re.findall(r"^ .*? open +(\w+)", done.stdout, re.M)
    assert shown[shown.index("main"):] == chain, done.stdout


def test_counted_once(compile, run_mtdb, tmp_path):
    """Statistics count calls, and a single thread still has all that it did on its own track."""
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    recording = tmp_path / "kept.perf"
    stdout = record(run_mtdb, tmp_path / "out.json", program, "contexts", "5", "7", words=["-r", recording])
    *coroutines, scheduler = own_counts(stdout)
    rows = json.loads(run_mtdb("stats", "--json", "-n", "0", recording).stdout)
    calls = {row["name"]: row["calls"] for row in rows["functions"]}
    assert calls["in_middle"] == sum(one["in_middle"] for one in coroutines)
    assert calls["turn"] == scheduler["turn"]
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    names = [event["args"]["name"] for event in events if event.get("name") == "thread_name"]
    assert [name for name in names if name.startswith("coroutine")] \
        == [f"coroutine {i} (coroutine)" for i in range(1, 6)]
    tid = re.search(r"^Thread (\d+) ", run_mtdb("history", "-n", "1", recording).stdout, re.M)[1]
    alone = run_mtdb("history", "-n", "100000", "-t", tid, recording).stdout
    assert "Coroutine" not in alone and " in_middle " in alone


def test_one_alone(compile, run_mtdb, tmp_path):
    """By its number, with what the track of that name has among all."""
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    recording = tmp_path / "kept.perf"
    stdout = record(run_mtdb, tmp_path / "out.txt", program, "thread", "4", "5", words=["-r", recording])
    *coroutines, _ = own_counts(stdout)
    every = tracks(run_mtdb("history", "-n", "100000", recording).stdout)
    for number, expected in enumerate(coroutines, 1):
        alone = tracks(run_mtdb("history", "-n", "100000", "-c", str(number), recording).stdout)
        [name] = alone
        assert name.startswith(f'Coroutine "coroutine {number} ')
        assert CALL.findall(alone[name]) == CALL.findall(every[name])
        rows = json.loads(run_mtdb("stats", "--json", "-n", "0", "-c", str(number), recording).stdout)
        calls = {row["name"]: row["calls"] for row in rows["functions"]}
        assert {name: calls[name] for name in expected} == expected
    done = run_mtdb("history", "--coroutine=5", recording)
    assert done.returncode == 1 and "no calls of coroutine 5: it has 4" in done.stderr
    done = run_mtdb("history", "-c", "1", "-t", "7", recording)
    assert "use only one of --thread, --goroutine and --coroutine" in done.stderr


@pytest.mark.parametrize("way", ["contexts", "own", "neighbours"])
def test_behind_a_loss(compile, run_mtdb, tmp_path, way):
    """A ring that holds the end alone: stacks are known by the switches, and the thread's by where
    it lies."""
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    done = run_mtdb("run", "-e", "calls", "-o", tmp_path / "out.txt", "--size", "256k",
                    "--", program, way, "3", "3000")
    assert done.returncode == 0, done.stderr
    found = tracks((tmp_path / "out.txt").read_text())
    shown = {name: collections.Counter(name for name, _ in CALL.findall(text)) for name, text in found.items()}
    assert sum(name.startswith("Coroutine") for name in shown) == 3
    for name, calls in shown.items():
        if name.startswith("Coroutine"):
            assert calls["in_middle"] > 100 and not calls["turn"]
        else:
            assert not calls["in_middle"] and calls["turn"] > 300 and calls["main"] == 1
    cut = [text for text in re.findall(r"^.* in_middle .*$", "".join(found.values()), re.M) if "unwound" in text]
    assert not cut


def test_behind_exec(compile, run_mtdb, tmp_path):
    """The new program's stack lies elsewhere, and is the thread's own."""
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    stdout = record(run_mtdb, tmp_path / "out.txt", "env", program, "contexts", "2", "3")
    *coroutines, scheduler = own_counts(stdout)
    threads, *shown = (tmp_path / "out.txt").read_text().split("\nCoroutine ")
    assert [calls_of(text)["in_middle"] for text in shown] == [one["in_middle"] for one in coroutines]
    assert threads.count(" turn ") == scheduler["turn"]


def test_in_a_debuggers_timeline(compile, mtdb, tmp_path):
    program = compile("calls_coroutines.c", "-O1", "-g", "-pthread")
    line = conftest.line_of("calls_coroutines.c", 'printf("turn')
    commands = ["mtrace start", f"break calls_coroutines.c:{line}", "run", f"mtrace snapshot {tmp_path}/out.txt",
                "continue"]
    done = subprocess.run([mtdb, "-batch", *(word for command in commands for word in ("-ex", command)),
                           "--args", program, "contexts", "3", "4"],
                          capture_output=True, text=True, timeout=600, check=False)
    *coroutines, _ = own_counts(re.search(r"(?:coroutine \d.*\n)+turn .*", done.stdout)[0])
    shown = [text for name, text in tracks((tmp_path / "out.txt").read_text()).items() if name.startswith("Coroutine")]
    assert [calls_of(text)["in_middle"] for text in shown] == [one["in_middle"] for one in coroutines]
    assert len(shown) == 3


def test_of_boost(compile, run_mtdb, tmp_path):
    if not pathlib.Path("/usr/include/boost/context/fiber.hpp").exists():
        pytest.skip("no boost.context here (package libboost-context-dev)")
    program = compile("calls_boost.cpp", "-O1", "-g", "-lboost_context")
    stdout = record(run_mtdb, tmp_path / "out.txt", program)
    *coroutines, scheduler = own_counts(stdout)
    found = tracks((tmp_path / "out.txt").read_text())
    shown = [calls_of(text) for name, text in found.items() if name.startswith("Coroutine")]
    assert [{name: calls[name] for name in coroutines[0]} for calls in shown] == coroutines
    [thread] = [calls_of(text) for name, text in found.items() if name.startswith("Thread")]
    assert thread["turn"] == scheduler["turn"] and not thread["in_middle"]


def test_of_cxx20(compile, run_mtdb, tmp_path):
    """These have no stacks: each resumption is a call."""
    program = compile("calls_resumed.cpp", "-std=c++20", "-O1", "-g")
    stdout = record(run_mtdb, tmp_path / "out.txt", program)
    [expected] = own_counts(stdout)
    text = (tmp_path / "out.txt").read_text()
    assert "Coroutine" not in text
    assert len(re.findall(r"  leaf\(int\) ", text)) == expected["leaf"]
    assert len(re.findall(r"  counter\(int\) ", text)) == expected["counter"]
    # Each is entered once before it is resumed, up to its first suspension.
    resumed = re.findall(r"  counter\(.*\.actor\] ", text)
    assert len(resumed) == expected["resumed"] + expected["counter"]
