# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls that were open before recording began, or that the ring has lost, are the timeline's roots;
and at a crash the open calls are the frames that GDB shows."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import come_along

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"
BUILDS = {"O0": ["-O0"], "O2": ["-O2", "-fomit-frame-pointer"]}
# Without those that GDB makes up, of inlined functions and of tail calls.
GDB = """
import gdb
frame = gdb.newest_frame()
while frame:
    if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
        print("FRAME", frame.name())
    frame = frame.older()
"""

Slice = collections.namedtuple("Slice", "name inferred call")


@pytest.fixture(name="roots", params=BUILDS)
def build_roots(request, compile):
    return compile("roots.c", *BUILDS[request.param], "-pthread", output=f"roots-{request.param}")


@pytest.fixture(name="attach")
def attach_to_roots(roots, run_mtdb, tmp_path):
    """attach("sleep", option…) -> events, once the program has come to where it stays."""

    def run(how, *options):
        out = tmp_path / "out.json"
        with subprocess.Popen([roots, how], text=True, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout.readline() == "ready\n"
                come_along(process.pid)
                done = run_mtdb("attach", "--engine", "calls", "--for", "300ms", "-o", out,
                                *options, "-p", process.pid)
                assert done.returncode == 0, done.stderr
            finally:
                process.kill()
        return json.loads(out.read_text())["traceEvents"]

    return run


def stacks(events, keep=lambda event: True):
    """{tid: [the open slices, outermost first]} as they are right after each event that is to be
    kept, the last one counting."""
    now, kept = collections.defaultdict(list), {}
    for event in events:
        stack = now[event["tid"]] if "tid" in event else []
        if event["ph"] == "B":
            args = event.get("args", {})
            stack.append(Slice(event["name"].partition(".")[0], args.get("inferred", False),
                               args.get("call", "")))
        elif event["ph"] == "E":
            stack.pop()
        if event["ph"] in "BEi" and keep(event):
            kept[event["tid"]] = list(stack)
    return kept


def from_main(stack):
    names = [slice.name for slice in stack]
    return names[names.index("main"):]


def lines_of(stack, path="roots.c"):
    """Where the program's own calls stand, by the function called."""
    return {slice.name: int(slice.call.rpartition(":")[2]) for slice in stack
            if path in slice.call and slice.call.rpartition(":")[2].isdigit()}


def line_with(roots_source, text):
    [number] = [number for number, line in enumerate(roots_source.splitlines(), 1) if text in line]
    return number


@pytest.fixture(name="source", scope="session")
def source_text():
    return (FIXTURES / "roots.c").read_text()


def first_stack(events, tid=None):
    """The slices that are open when the first one ends, or is called."""
    seen = []
    for event in events:
        if tid and event.get("tid") != tid:
            continue
        if event["ph"] == "B" and event["args"].get("inferred"):
            seen.append(event)
        elif event["ph"] in "BE":
            break
    [found] = stacks(seen).values()
    return found


def test_attach_to_a_thread_in_a_system_call(attach, source):
    stack = first_stack(attach("sleep"))
    names = [slice.name for slice in stack]
    assert from_main(stack)[:4] == ["main", "outer", "middle", "inner"] and names[-1] == "pause"
    assert names[0] == "_start" and all(slice.inferred for slice in stack)
    lines = lines_of(stack)
    assert lines["outer"] == line_with(source, "outer(1)")
    assert lines["middle"] == line_with(source, "return middle(n + 1)")
    assert lines["inner"] == line_with(source, "return inner(n + 1)")


def test_attach_to_a_thread_that_calls(attach):
    """The ring has wrapped many times since."""
    events = attach("spin", "--size", "16k")
    stack = first_stack(events)
    assert from_main(stack)[:4] == ["main", "outer", "middle", "inner"]
    assert sum(event["ph"] == "B" and event["name"] == "leaf" for event in events) > 100
    [deepest] = stacks(events, lambda event: event.get("name") == "leaf").values()
    assert [name for name in from_main(deepest) if name != "spin"] == \
        ["main", "outer", "middle", "inner", "leaf"]


def test_attach_to_a_coroutine(attach):
    """What resumed it, its stack does not tell."""
    names = [slice.name for slice in first_stack(attach("coroutine", "--size", "16k"))]
    assert names[0] == "coroutine" and "main" not in names


@pytest.mark.parametrize("size", ["16k", "4M"])
def test_a_forked_child_has_the_calls_of_its_maker(roots, run_mtdb, tmp_path, source, size):
    """Which are open in it, too, though none was recorded there, whether its ring has all of it or not."""
    out = tmp_path / "out.json"
    done = run_mtdb("run", "--engine", "calls", "--follow-forks", "--size", size, "-o", out, "--", roots, "fork")
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    leaves = collections.Counter(event["tid"] for event in events if event["ph"] == "B" and event["name"] == "leaf")
    assert sorted(leaves.values()) == [1, 20]
    child = leaves.most_common(1)[0][0]
    at_leaf = stacks(events, lambda event: event.get("name") == "leaf")
    for tid in leaves:
        names = [name for name in from_main(at_leaf[tid]) if name != "spin"]
        assert names == ["main", "outer", "middle", "inner", "fork_here", "leaf"]
    assert at_leaf[child][0].name == "_start" and at_leaf[child][0].inferred
    assert lines_of(at_leaf[child])["outer"] == line_with(source, "outer(1)")


def test_all_threads_have_roots(attach):
    events = attach("threads")
    tids = {event["tid"] for event in events if event["ph"] == "B"}
    names = {tuple(slice.name for slice in first_stack(events, tid)) for tid in tids}
    assert len(names) == 2
    [other] = [stack for stack in names if "main" not in stack]
    assert other == ("clone3", "start_thread", "work", "below", "below", "below", "below", "pause")
    begins = [min(event["ts"] for event in events if event["ph"] == "B" and event["tid"] == tid)
              for tid in tids]
    end = max(event["ts"] for event in events if event["ph"] == "i")
    # Since the attach, and not only at the snapshot.
    assert max(begins) - min(begins) < 20000 and end - max(begins) > 20000


@pytest.fixture(name="names_of_gdb")
def ask_gdb(need, tmp_path):
    """names_of_gdb(words) -> functions that are open at the crash, innermost first."""
    script = tmp_path / "frames.py"
    script.write_text(GDB)

    def run(words):
        done = subprocess.run([need("gdb"), "-nx", "-batch", "-ex", "run", "-ex",
                               f"source {script}", "--args", *words], text=True,
                              capture_output=True, check=True)
        names = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FRAME")]
        return [name.partition(".")[0] for name in names if name != "None"]

    return run


@pytest.mark.parametrize("how", ["crash", "jump"])
@pytest.mark.parametrize("size", ["16k", "64M"])
def test_a_crash_shows_the_frames_of_gdb(roots, run_mtdb, names_of_gdb, tmp_path, how, size):
    out = tmp_path / "crash.json"
    done = run_mtdb("run", "--engine", "calls", "--size", size, "-o", out, "--", roots, how)
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    [stack] = stacks(events, lambda event: event["name"].startswith("SIGSEGV")
                     if event["ph"] == "i" else False).values()
    assert from_main(stack)[::-1] == names_of_gdb([roots, how])


def test_in_a_signal_handler(roots, mtdb, tmp_path):
    """The ring has wrapped long ago when the snapshot is taken: before a signal that kills."""
    out = tmp_path / "handler.json"
    with subprocess.Popen([mtdb, "run", "--engine", "calls", "--size", "16k", "-o", out, "--",
                           roots, "handler"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        os.kill(int(children.split()[0]), signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 128 + signal.SIGTERM
    names = [slice.name for slice in first_stack(json.loads(out.read_text())["traceEvents"])]
    at = names.index("main")
    assert names[at:at + 4] == ["main", "outer", "middle", "inner"]
    assert "on_signal" in names[at + 4:]


def test_at_a_trigger_nothing_is_told_twice(roots, run_mtdb, tmp_path):
    out = tmp_path / "trigger.json"
    done = run_mtdb("run", "--engine", "calls", "--trigger", "inner", "-o", out, "--", roots,
                    "crash")
    assert done.returncode == 128 + signal.SIGSEGV, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    begins = [event for event in events if event["ph"] == "B"
              and event["name"].startswith("inner")]
    assert len(begins) == 1 and not begins[0]["args"].get("inferred")
    assert not begins[0]["args"].get("tail_call")
    [stack] = stacks(events, lambda event: event is begins[0]).values()
    assert from_main(stack) == ["main", "outer", "middle", "inner"]
    assert not any(slice.inferred for slice in stack[-4:])


@pytest.mark.parametrize("build", BUILDS)
def test_wherever_threads_stand(compile, run_mtdb, tmp_path, build):
    """In trampolines, callbacks from libraries, signal handlers on two kinds of stack: each
    thread's roots begin with its first function."""
    program = compile("unwind_busy.c", *BUILDS[build], "-pthread", output=f"unwind_busy-{build}")
    out = tmp_path / "busy.json"
    with subprocess.Popen([program, "4"], text=True, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            for _ in range(5):
                done = run_mtdb("attach", "--engine", "calls", "--for", "300ms", "--size", "16k",
                                "-o", out, "-p", process.pid)
                assert done.returncode == 0, done.stderr
                events = json.loads(out.read_text())["traceEvents"]
                tids = {event["tid"] for event in events if event["ph"] == "B"}
                assert len(tids) == 4
                for tid in tids:
                    names = [slice.name for slice in first_stack(events, tid)]
                    begin = ["main", "work"] if tid == process.pid else \
                        ["clone3", "start_thread", "work"]
                    at = names.index(begin[0])
                    assert names[at:at + len(begin)] == begin
        finally:
            process.kill()
