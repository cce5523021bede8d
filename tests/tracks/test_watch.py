# SPDX-License-Identifier: GPL-3.0-or-later
"""Watchpoints: the hits of all threads, with the values and registers of the moment."""
import os
import re
import signal
import subprocess
import time

import pytest

import fxt
from conftest import linked_for

pytestmark = pytest.mark.usefixtures("debug_registers")
TRIGGERS = 1 << 22  # the number of the track of hits


def build(compile, engine="calls"):
    return compile("watched.c", "-O1", "-pthread", "-D_GNU_SOURCE", *linked_for(engine))


@pytest.fixture(name="program", scope="module")
def program_fixture(compile):
    return build(compile)


def hits_of(run):
    """In the order of time."""
    assert run.status == 0, run.stderr
    return next(one for one in run.trace.threads.values() if one.tid == TRIGGERS).instants


def threads_of(run):
    """By the numbers that the program gave them."""
    return {int(number): int(tid) for tid, number in re.findall(r"(\d+) (\d+)\n", run.stdout)}


def registers(hit):
    return {name: int(value, 0)
            for name, value in re.findall(r"(\w+)=(\w+)", hit.args["registers"])}


@pytest.mark.parametrize("engine", ["calls", "step"])
def test_all_threads(record, compile, engine):
    program = build(compile, engine)
    run = record(["--engine", engine, "--timestamps", "full", "--watch", "counter",
                  "--watch", "look:x"], program, 3)
    threads = threads_of(run)
    assert len(threads) == 4
    hits = hits_of(run)
    writes = [one for one in hits if one.name == "counter"]
    looks = [one for one in hits if one.name == "look:x"]
    assert {one.args["thread"] for one in writes} == set(threads.values())
    assert sorted(one.args["thread"] for one in looks) == sorted(threads.values())
    was = 41
    for hit in writes:
        number = next(key for key, tid in threads.items() if tid == hit.args["thread"])
        assert hit.args["values"] == f"value = {100 + number}, was {was}"
        assert hit.args["function"] == "count_up"
        assert registers(hit)["rdi"] == 100 + number
        was = 100 + number
    for hit in looks:
        assert hit.args["function"] == "look"
        assert "values" not in hit.args
        thread = run.calls(hit.args["thread"])
        assert any(one.begin <= hit.time for one in thread.find("work"))
        assert len([one for one in thread.instants if one.name == "trigger"]) == 2


def test_registers_at_triggers(record, compile):
    run = record(["--engine", "step", "--trigger", "count_up"], build(compile, "step"))
    assert [registers(one)["rdi"] for one in hits_of(run)] == [100]


def test_bytes_of_a_variable(record, program):
    run = record(["--watch", "bytes+3:1", "--watch", "half:2:w"], program)
    hits = hits_of(run)
    assert [one.name for one in hits] == ["bytes+3:1", "half:2:w"]
    assert hits[0].args["values"] == "value = 4, was 0"
    assert hits[1].args["values"] == "value = 4660, was 0"


def test_reads(record, program):
    """A write and a read of each thread; the processor cannot tell one from the other."""
    run = record(["--watch", "counter:8:r"], program, 1)
    assert "watching writes too" in run.stderr
    assert [one.args["function"] for one in hits_of(run)] == ["count_up", "look"] * 2


def test_an_address(record, compile):
    """Of a program that always lies at the same place."""
    fixed = compile("watched.c", "-O1", "-pthread", "-no-pie", "-D_GNU_SOURCE", output="fixed")
    symbols = subprocess.run(["nm", fixed], check=True, text=True, capture_output=True).stdout
    address = int(re.search(r"^(\w+) \w counter$", symbols, re.M)[1], 16)
    run = record(["--watch", f"{address:#x}:8"], fixed)
    assert [one.args["values"] for one in hits_of(run)] == ["value = 100, was 41"]


def test_attached(mtdb, compile, tmp_path):
    """Threads that were there before have them too."""
    program = compile("watched_attach.c", "-O1", "-pthread")
    output = tmp_path / "x.fxt"
    read_end, write_end = os.pipe()
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with subprocess.Popen([mtdb, "attach", "--watch", "turn", "--max=0", "-o", output,
                               f"--ready-fd={write_end}", str(process.pid)],
                              stderr=subprocess.PIPE, text=True, pass_fds=[write_end]) as tracer:
            os.close(write_end)
            with os.fdopen(read_end) as ready:
                told = ready.readline()
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"
            tracer.send_signal(signal.SIGINT)
            _, stderr = tracer.communicate(timeout=120)
        process.stdin.close()
        assert process.wait(timeout=120) == 0
    assert told == "recording\n", stderr
    trace = fxt.read(output)
    hits = next(one for one in trace.threads.values() if one.tid == TRIGGERS).instants
    assert [one.args["values"] for one in hits] == [f"value = {i + 1}, was {i}" for i in range(4)]
    assert len({one.args["thread"] for one in hits}) == 4


def test_let_go_of_while_all_threads_hit(run_mtdb, compile, tmp_path):
    """A trap that was on its way when we left is none of the program's, and would kill it."""
    program = compile("watched_storm.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for _ in range(6):
            done = run_mtdb("attach", "--watch", "counter", "-o", tmp_path / "x.fxt",
                            process.pid)
            assert done.returncode == 0, done.stderr
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=120) == 0


@pytest.mark.parametrize("options, values", [
    ([], ["value = 1, was 0", "value = 2, was 0"]),
    (["--follow-forks"], ["value = 1, was 0", "value = 77, was 1", "value = 2, was 0"]),
], ids=["alone", "followed"])
def test_fork_and_exec(record, compile, options, values):
    """The new program has them where its variable lies; a child where it is recorded."""
    program = compile("watched_exec.c", "-O1", "-pthread")
    run = record(["--watch", "counter", "--events", "sched", *options], program)
    assert run.stdout == "end\n"
    assert [one.args["values"] for one in hits_of(run)] == values
    assert sum((one.name or "").startswith("scheduling") for one in run.trace.threads.values()) \
        == 2 + ("--follow-forks" in options)


@pytest.mark.parametrize("options, words", [
    (["--watch", "counter", "--watch", "half", "--watch", "bytes"],
     "two of the processor's four are left to debuggers"),
    (["--watch", "counter:3"], "cannot watch \"counter:3\""),
    (["--watch", ":w"], "cannot watch"),
    (["--watch", "0x1001:4"], "0x1001 is not; watch less (:1)"),
    (["--watch", "counter+4:8"], "watch less (:4)"),
    (["--watch", "own"], "it is thread-local"),
])
def test_refused(record, program, options, words):
    run = record(options, program)
    assert run.status == 125
    assert words in run.stderr


def test_found_nowhere(record, program):
    run = record(["--watch", "no_such_variable"], program)
    assert run.status == 0
    assert "no_such_variable was not watched: no such variable" in run.stderr


@pytest.mark.parametrize("number", [signal.SIGTRAP, signal.SIGWINCH])
def test_a_program_that_blocks_and_handles_the_signal(record, compile, number):
    """Its handler and its mask stay as they are."""
    program = compile("watched_trap.c", "-O1")
    run = record(["--watch", "counter"], program, int(number))
    assert run.stdout == "handled 2\n"
    assert [one.args["values"].split(",")[0] for one in hits_of(run)] == [
        "value = 1", "value = 2", "value = 3"]


def test_killed_while_all_threads_hit(mtdb, compile, tmp_path):
    """Whatever a thread stands for then, the program goes on."""
    program = compile("watched_storm.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for i in range(12):
            read_end, write_end = os.pipe()
            with subprocess.Popen([mtdb, "attach", "--watch", "counter", "-o", tmp_path / "x.fxt",
                                   f"--ready-fd={write_end}", str(process.pid)],
                                  stderr=subprocess.DEVNULL, pass_fds=[write_end]) as tracer:
                os.close(write_end)
                with os.fdopen(read_end) as ready:
                    assert ready.readline() == "recording\n"
                time.sleep(i * 0.002)
                tracer.kill()
            assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=120) == 0
