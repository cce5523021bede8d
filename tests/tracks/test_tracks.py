# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel tells beside the calls: system calls, page faults, where threads ran, counters;
each compared with what the program knows of itself, and with the calls around it."""
import json
import os
import re
import subprocess

import pytest

import fxt

TIMES = 10
PAGE = 4096
ALL = ["--events", "sched,faults,syscalls", "--timestamps", "full",
       "--modules", "tracks"]


@pytest.fixture(name="program", scope="module")
def program_fixture(compile):
    return compile("tracks.c", "-O1", "-pthread")


def threads_of(run):
    """What each thread printed: its number, and where its pages lie."""
    assert run.status == 0, run.stderr
    found = {int(tid): int(address, 16) for tid, address in re.findall(r"(\d+) (0x\w+)", run.stdout)}
    assert found, run.stdout
    return found


def within(run, tid, name, begin, end):
    """The call of a function that holds this span."""
    return [one for one in run.calls(tid).find(name)
            if one.begin <= begin and (one.end is None or end <= one.end)]


@pytest.fixture(name="all_tracks", scope="module")
def all_tracks_fixture(record, program, with_tracefs):
    return record(ALL, program, 2, before=with_tracefs)


def test_system_calls_lie_in_their_functions(all_tracks):
    for tid in threads_of(all_tracks):
        track = all_tracks.track("system calls", tid)
        writes = [one for one in track.find("write") if one.args["result"] == "5"]
        fails = [one for one in track.find("openat") if one.args["result"] == "-ENOENT"
                 and within(all_tracks, tid, "fail_to_open", one.begin, one.end)]
        inside = [one for one in writes
                  if within(all_tracks, tid, "write_out", one.begin, one.end)]
        assert len(inside) == TIMES, writes
        assert len(fails) == TIMES, track.slices()
        assert all(one.args["arguments"].split(", ")[2] == "0x5" for one in inside)


def test_page_faults_lie_in_their_functions(all_tracks):
    for tid, pages in threads_of(all_tracks).items():
        track = all_tracks.track("page faults", tid)
        faults = {int(one.args["address"]): one for one in track.instants}
        for i in range(TIMES):
            fault = faults[pages + i * PAGE]
            assert fault.name == "page fault"
            assert fault.args["function"] == "touch"
            assert fault.args["file"].endswith("tracks.c")
            assert within(all_tracks, tid, "touch", fault.time, fault.time)


def test_where_threads_ran_and_why_not(all_tracks):
    for tid in threads_of(all_tracks):
        track = all_tracks.track("scheduling", tid)
        naps = [one for one in track.find("sleeping")
                if within(all_tracks, tid, "nap", one.begin, one.end)]
        assert len(naps) >= TIMES
        assert sum(one.duration for one in naps) >= TIMES * 5_000_000
        assert all("(S)" in one.args["reason"] for one in naps)
        assert re.fullmatch(r"CPU \d+", next(iter(track.slices())).name)
        # One follows the other without a gap.
        pieces = track.slices()
        assert all(one.end == other.begin for one, other in zip(pieces, pieces[1:]))


@pytest.mark.parametrize("engine, flags", [("calls", []), ("step", ["-static"])])
def test_marks(record, compile, engine, flags):
    """The program's own words, at the calls that say them."""
    program = compile("tracks_marks.c", "-O1", *flags)
    run = record(["--engine", engine, "--events", "marks"], program)
    assert run.status == 0, run.stderr
    tid = int(run.stdout)
    marks = run.track("marks", tid).instants
    assert [one.name for one in marks] == ["begin", "a line of\twords", "é", "x" * 255, "end"]
    for mark, outer in zip(marks, ["main", "middle", "middle", "middle", "main"]):
        assert mark.category == "mark"
        assert mark.args["function"] == "mtrace_mark"
        assert within(run, tid, outer, mark.time, mark.time)
    assert not run.trace.instants() or all(one.name != "trigger" for one in run.trace.instants())


@pytest.mark.parametrize("engine, flags", [("calls", []), ("step", ["-static"])])
def test_probes_are_marks(record, compile, engine, flags):
    """Those of <sys/sdt.h>, with their arguments; what a semaphore guards is passed by."""
    program = compile("tracks_probes.c", "-O1", *flags)
    run = record(["--engine", engine, "--events", "marks"], program)
    assert run.status == 0, run.stderr
    marks = run.track("marks", int(run.stdout)).instants
    assert [one.name for one in marks] == [
        "app:begin", "app:middle(-3, 1099511627776, 200, ?)", "app:element(-8, 7)", "app:end"]
    assert [one.args["function"] for one in marks] == ["main", "middle", "middle", "main"]


def test_counters(record, program):
    run = record(["--counter", "page-faults", "--counter", "task-clock", "--modules", "tracks"],
                 program)
    (tid,) = threads_of(run)
    faults = run.trace.counters[f"page-faults of tracks ({tid})"]
    clock = run.trace.counters[f"task-clock of tracks ({tid})"]
    for values in (faults, clock):
        assert [time for time, _ in values] == sorted(time for time, _ in values)
        assert [value for _, value in values] == sorted(value for _, value in values)
    assert len(clock) > 1
    assert faults[-1][1] >= TIMES - 1
    # The counter's own sense of time is that of the axis.
    assert clock[-1][1] - clock[0][1] <= (clock[-1][0] - clock[0][0]) * 1.01 + 100_000


def test_counters_as_json(mtdb, program, tmp_path):
    output = tmp_path / "x.json"
    subprocess.run([mtdb, "run", "--counter", "faults", "--modules", "tracks", "-o", output, "--",
                    program], check=True, capture_output=True, timeout=300)
    events = [one for one in json.loads(output.read_text())["traceEvents"] if one["ph"] == "C"]
    assert events
    for event in events:
        assert event["name"] == f"page-faults of tracks ({event['pid']})"
        assert list(event["args"]) == ["value"]


def test_counters_of_a_pmu(record, program):
    """The time stamp counter, as one of the PMU msr: it grows as fast as the axis."""
    for name in "msr/tsc/", "msr/event=0/":
        run = record(["--counter", name, "--modules", "tracks"], program)
        if run.status == 125 and "no PMU" in run.stderr:
            pytest.skip(run.stderr)
        (tid,) = threads_of(run)
        values = run.trace.counters[f"{name} of tracks ({tid})"]
        assert [value for _, value in values] == sorted(value for _, value in values)
        assert values[-1][1] > values[0][1] > 0


def test_perf_script_lists_them(need, mtdb, program, with_tracefs, tmp_path):
    perf = need("perf", "linux-perf")
    recording = tmp_path / "x.perf"
    subprocess.run([*with_tracefs, mtdb, "run", *ALL, "--counter", "page-faults", "-r", recording,
                    "-o", tmp_path / "x.fxt", "--", program], check=True, capture_output=True,
                   timeout=300)
    listed = subprocess.run([perf, "script", "-i", recording, "-F", "event,addr,weight"],
                            check=True, text=True, capture_output=True, timeout=300).stdout
    for name in "syscall sysret fault off-cpu on-cpu counter".split():
        assert f"mtrace:{name}:" in listed


def test_text_reads_as_strace_does(record, mtdb, program, with_tracefs, tmp_path):
    output = tmp_path / "x.txt"
    subprocess.run([*with_tracefs, mtdb, "run", *ALL, "-o", output, "--", program], check=True,
                   capture_output=True, timeout=300)
    text = output.read_text()
    assert re.search(r'^Track "system calls of tracks \(\d+\)" of process', text, re.M)
    assert re.search(r"openat\(0xffffff9c, 0x\w+, 0(, \w+){3}\) = -ENOENT", text)
    assert re.search(r"sleeping: waiting for an event or a signal", text)
    assert re.search(r'^Track "page faults of tracks .*\n.*\n-- history of .* --$', text, re.M)
    assert re.search(r"\*\*\* page fault, address 0x\w+ in touch +.*/tracks\.c:\d+", text)


def test_another_engine(record, compile, with_tracefs):
    small = compile("tracks_small.c", "-O1", "-static")
    run = record(["--engine", "step", "--events", "syscalls,faults"], small, before=with_tracefs)
    assert run.status == 0, run.stderr
    (tid,) = [int(run.stdout)]
    writes = run.track("system calls", tid).find("write")
    assert [one.args["arguments"].split(", ")[0] for one in writes] == ["0x1", "0x63"]
    assert writes[1].args["result"] == "-EBADF"
    assert within(run, tid, "write_badly", writes[1].begin, writes[1].end)


def test_where_calls_cannot_be_recorded(record, compile, with_tracefs):
    small = compile("tracks_small.c", "-O1", "-static")
    run = record(["--engine", "calls", "--events", "syscalls"], small, before=with_tracefs)
    assert run.status == 0, run.stderr
    assert run.track("system calls", int(run.stdout)).find("write")


def test_an_old_window_is_overwritten(record, compile, with_tracefs):
    """More system calls than the ring holds: the last ones are there."""
    many = compile("tracks_many.c", "-O1")
    run = record(["--events", "syscalls", "--modules", "tracks*"], many, 20000,
                 before=with_tracefs)
    assert run.status == 0, run.stderr
    track = run.track("system calls", int(run.stdout))
    seen = [int(one.args["arguments"].split(", ")[1], 16) for one in track.find("close")
            if one.args["arguments"].startswith("0xffffffff")]
    assert 500 < len(seen) < 20000
    assert seen == list(range(20000 - len(seen), 20000))


def test_what_was_overwritten_between_snapshots_is_a_gap(record, compile, with_tracefs):
    """Two bursts, each with its snapshot; of the second more than the ring holds."""
    bursts = compile("tracks_bursts.c", "-O1")
    run = record(["--events", "syscalls", "--modules", "tracks*", "--trigger", "pause_here"], bursts, before=with_tracefs)
    assert run.status == 0, run.stderr
    track = run.track("system calls", int(run.stdout))
    (gap,) = track.instants
    assert gap.category == "lost"
    assert gap.args["cause"] == "the kernel dropped events"
    numbers = [int(one.args["arguments"].split(", ")[1], 16) for one in track.find("close")
               if one.args["arguments"].startswith("0xffffffff")]
    assert numbers[:10] == list(range(10))
    assert numbers[10:] == list(range(20000 - len(numbers) + 10, 20000))
    before = [one for one in track.find("close") if one.end is not None and one.end <= gap.time]
    assert len(before) >= 10


def test_attached(mtdb, program, with_tracefs, tmp_path):
    """From the moment of attaching on, in threads that were there before."""
    output = tmp_path / "x.fxt"
    read_end, write_end = os.pipe()
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        with subprocess.Popen([*with_tracefs, mtdb, "attach", "--engine", "step", *ALL[:2], "-o",
                               output, f"--ready-fd={write_end}", str(sleeper.pid)],
                              stderr=subprocess.PIPE, text=True, pass_fds=[write_end]) as tracer:
            os.close(write_end)
            with os.fdopen(read_end) as ready:
                ready.readline()
            sleeper.terminate()
            _, stderr = tracer.communicate(timeout=120)
    assert tracer.returncode == 0, stderr
    names = [one.name for one in fxt.read(output).threads.values() if one.name]
    assert f"scheduling of sleep ({sleeper.pid})" in names, stderr


@pytest.mark.parametrize("options, words", [
    (["--events", "nonsense"], "unknown event \"nonsense\""),
    (["--events", "sched,"], "unknown event \"\""),
    (["--counter", "nonsense"], "no such counter: \"nonsense\""),
    (["--counter", "nonsense/x/"], "this machine has no PMU \"nonsense\""),
    (["--counter", "software/nonsense/"], "its PMU has nothing called \"nonsense\""),
    (["--counter", "software/x"], "a / must stand at the end"),
])
def test_words_that_mean_nothing(record, options, words):
    run = record(options, "true")
    assert run.status == 125
    assert words in run.stderr
    assert run.trace is None


def test_doctor_tells_what_can_be_had(mtdb, with_tracefs):
    told = subprocess.run([*with_tracefs, mtdb, "doctor"], text=True, capture_output=True,
                          check=False, timeout=120).stdout
    verdicts = dict(re.findall(r"^(\w+) +(yes|no) ", told, re.M))
    assert [verdicts[name] for name in ("sched", "faults", "syscalls")] == ["yes"] * 3
    assert "the reasons why threads wait" not in told


def test_no_tracefs(record, program, root, need):
    """System calls cannot be had then, and the message says what would help; of context switches
    only the reasons are missing."""
    hidden = [need("unshare", "util-linux"), "-m", "sh", "-c",
              "mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug "
              "|| exit 77; exec \"$@\"", "-"]
    run = record(["--events", "syscalls"], program, before=hidden)
    if run.status == 77 or run.stderr.startswith("unshare: "):
        pytest.skip("nothing can be mounted here")
    assert run.status == 125
    assert "mount -t tracefs" in run.stderr

    run = record(["--events", "sched", "--modules", "tracks"], program, before=hidden)
    (tid,) = threads_of(run)
    assert "the reasons why threads wait are not recorded" in run.stderr
    off = run.track("scheduling", tid).find("off the CPU")
    assert len(off) >= TIMES
    assert not any("reason" in one.args for one in off)
