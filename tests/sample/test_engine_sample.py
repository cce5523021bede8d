# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine `sample`: what its timelines say of a program of which it is known where its time goes,
and what `perf record` and `perf script` say of the same."""
import collections
import json
import os
import re
import signal
import subprocess

import pytest

import fxt
from conftest import come_along, wait_until

DWARF = ["--stack=48k"]
FRAME_POINTERS = ["--stack=0"]
WAYS = pytest.mark.parametrize("way", [DWARF, FRAME_POINTERS], ids=["memory", "frame pointers"])


@pytest.fixture(scope="module", name="program")
def program_fixture(compile):  # pylint: disable=redefined-builtin
    # A leaf has its frame pointer, too.
    return compile("sample_engine.c", "-O0", "-g", "-pthread")


@pytest.fixture(scope="module", autouse=True)
def need_samples(run_mtdb):
    found = re.search(r"^sample +(\w+) +(.*)$", run_mtdb("doctor").stdout, re.M)
    if found[1] != "yes":
        pytest.skip(f"the kernel samples no stacks here: {found[2]}")


class Sampled:
    """What came of a recording."""

    def __init__(self, done, output, recording):
        self.status, self.errors = done.returncode, done.stderr
        self.recording = recording
        assert output.exists(), done.stderr
        self.trace = fxt.read(output)

    @property
    def main(self):
        return next(one for one in self.trace.threads.values() if one.pid == one.tid)

    def instants(self, name):
        return [one for one in self.trace.instants() if one.name == name]


@pytest.fixture(name="sampled")
def sampled_fixture(run_mtdb, tmp_path):
    """sampled(program, word, …, options=[…]) -> Sampled"""

    def run(*words, options=()):
        output, recording = tmp_path / "out.fxt", tmp_path / "out.perf"
        done = run_mtdb("run", "--engine=sample", "-o", output, "--record", recording, *options,
                        "--", *words)
        return Sampled(done, output, recording)

    return run


def from_main(piece):
    """The names from main() on."""
    path = piece.path()
    return path[path.index("main"):]


def samples_of(run_mtdb, recording):
    """{function: in how many samples it was}"""
    done = run_mtdb("stats", "--json", recording)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["samples"] > 0 and "calls" not in told
    assert all("calls" not in one and "p50" not in one for one in told["functions"])
    return collections.Counter({one["name"]: one["samples"] for one in told["functions"]})


def share_of(found, name, *of):
    return found[name] / sum(found[one] for one in of)


def perf_samples_of(need, recording):
    """The same by perf script: each function once a sample."""
    done = subprocess.run([need("perf", "linux-perf"), "script", "-i", recording, "--no-inline",
                           "-F", "event,ip,sym"], text=True, capture_output=True, check=True,
                          timeout=120)
    found = collections.Counter()
    for sample in done.stdout.split("\n\n"):
        event, *frames = sample.strip("\n").split("\n")
        if "-clock" in event:
            found.update({line.split()[1] for line in frames if len(line.split()) > 1})
    return found


@WAYS
def test_shares_are_those_of_the_work(way, sampled, run_mtdb, need, program, tmp_path):
    run = sampled(program, "shares", options=[*way, "--size=64M"])
    assert run.status == 5
    assert "every ~1.00 ms: what is not sampled is not seen" in run.errors
    ours = samples_of(run_mtdb, run.recording)
    assert 0.6 < share_of(ours, "heavy", "heavy", "light") < 0.9
    assert share_of(ours, "shares", "main") > 0.9
    assert all(from_main(one) == ["main", "shares", "heavy", "spin"]
               for one in run.trace.slices() if one.name == "spin" and "heavy" in one.path())

    theirs = perf_samples_of(need, run.recording)  # of our own file
    assert {name: theirs[name] for name in ("heavy", "light", "spin")} == {
        name: ours[name] for name in ("heavy", "light", "spin")}

    alone = tmp_path / "perf.data"
    done = subprocess.run([need("perf"), "record", "-q", "-N", "-e", "task-clock:u", "-F", "1000", "-g",
                           "-o", alone, program, "shares"], check=False, timeout=60)
    assert done.returncode == 5
    theirs = perf_samples_of(need, alone)
    assert abs(share_of(ours, "heavy", "heavy", "light")
               - share_of(theirs, "heavy", "heavy", "light")) < 0.2


@WAYS
def test_deep_recursion(way, sampled, program):
    depth = 100  # of 127 frames that the kernel follows
    run = sampled(program, "deep", depth, options=[*way, "--size=64M"])
    paths = [from_main(one) for one in run.main.find("spin")]
    assert ["main", *["deep"] * (depth + 1), "spin"] in paths


def test_a_stack_beyond_its_memory_is_cut(sampled, program):
    run = sampled(program, "deep", 100, options=["--stack=512", "--size=64M"])
    assert run.main.find("spin")
    assert all(0 < one.path().count("deep") < 100 for one in run.main.find("spin"))


def test_threads_have_stacks_of_their_own(sampled, program):
    run = sampled(program, "threads")
    seen = {name: {one.tid for one in run.trace.threads.values() if one.find(name)}
            for name in ("in_first", "in_second")}
    assert [len(tids) for tids in seen.values()] == [1, 1]
    assert seen["in_first"] != seen["in_second"]
    # The first one only waits.
    assert not {one.pid for one in run.trace.threads.values()} & (seen["in_first"] | seen["in_second"])


@pytest.mark.parametrize("follows", [True, False])
def test_forks(follows, sampled, program):
    run = sampled(program, "forks", options=["--follow-forks"] if follows else [])
    assert run.status == 5
    children = [one for one in run.trace.threads.values() if one is not run.main]
    assert run.main.find("in_parent") and not run.main.find("in_child")
    assert [bool(one.find("in_child")) for one in children] == [True] * follows


def test_programs_that_a_shell_starts(sampled, program):
    """By fork and exec, and by exec alone."""
    run = sampled("/bin/sh", "-c", f"{program} forks; exec {program} threads",
                  options=["--follow-forks"])
    assert run.status == 5
    assert all(any(one.find(name) for one in run.trace.threads.values())
               for name in ("in_parent", "in_child", "in_first", "in_second"))


def test_a_program_that_cannot_be_patched(run_mtdb, compile, tmp_path):
    """It uses the GS register, and says so when that is not what it was."""
    program = compile("calls_gs.c", "-DHOW=SYSTEM_CALL", "-D_GNU_SOURCE", "-pthread", "-O1",
                      output="calls_gs")
    alone = subprocess.run([program], text=True, capture_output=True, check=False)
    done = run_mtdb("run", "--engine=sample", "-o", tmp_path / "out.txt", "--frequency=50000",
                    "--stack=0", program)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode)
    assert "GS" not in done.stderr


@WAYS
def test_a_crash_shows_where_it_was(way, sampled, program):
    """However long ago the last sample was."""
    run = sampled(program, "crashes", options=way)
    assert run.status == 128 + signal.SIGSEGV
    assert from_main(run.main.find("crashes")[-1])[-2:] == ["leads_to_a_crash", "crashes"]
    assert run.main.slices()[-1].name == "crashes"
    assert run.main.find("spin")
    assert [one.args["function"] for one in run.instants("SIGSEGV")] == ["crashes"]
    assert "crashes" in run.errors  # in its last calls


@pytest.mark.usefixtures("debug_registers")
def test_triggers(sampled, run_mtdb, program):
    run = sampled(program, "triggers", options=["-t", "hit"])
    assert run.status == 5
    assert [one.args["location"] for one in run.instants("hit")] == ["hit"] * 3
    assert [one.args["function"] for one in run.main.instants] == ["hit"] * 3
    for trigger in run.main.instants:
        last = [one for one in run.main.slices() if one.begin <= trigger.time][-1]
        assert from_main(last) == ["main", "triggers", "hit"]
    # To be stopped there took no time of the program's: it is no sample, though one may be there.
    assert samples_of(run_mtdb, run.recording)["hit"] < 3
    times = [one.time for one in run.main.instants]
    spins = [one.begin for one in run.main.find("spin")]
    assert min(spins) < times[0] and any(times[0] < begin < times[1] for begin in spins)


def test_the_ring_keeps_the_newest(sampled, program):
    """Samples of 8 KiB each: 64 KiB have no more than seven, and where it stopped comes last."""
    run = sampled(program, "crashes", options=["--size=64k"])
    samples = int(re.search(r"(\d+) samples of", run.errors)[1])
    assert 1 < samples <= 8
    assert run.main.find("spin") and run.main.slices()[-1].name == "crashes"


def test_ctrl_c(mtdb, program, tmp_path):
    output = tmp_path / "out.fxt"
    with subprocess.Popen([mtdb, "run", "--engine=sample", "-o", output, program, "waits"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as tracer:
        assert tracer.stdout.readline() == "ready\n"
        wait_until(lambda: children_of(tracer.pid))
        come_along(children_of(tracer.pid)[0])
        os.killpg(tracer.pid, signal.SIGINT)
        _, errors = tracer.communicate(timeout=60)
        assert tracer.returncode == 5, errors
    main = next(iter(fxt.read(output).threads.values()))
    assert {one.name for one in main.instants} == {"SIGINT"}
    assert any(from_main(one) == ["main", "waits", "spin"] for one in main.find("spin"))


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@pytest.fixture(name="running")
def start_running(program):
    with subprocess.Popen([program, "waits"], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 5


@pytest.fixture(name="attach")
def attach_fixture(mtdb, running, tmp_path):
    """attach(options) -> a tracer that records the program, and has seen it work."""

    def start(*options):
        ours, its = os.pipe()
        tracer = subprocess.Popen([mtdb, "attach", "--engine=sample", "-o", tmp_path / "out.fxt",
                                   f"--ready-fd={its}", *options, str(running.pid)],
                                  text=True, stderr=subprocess.PIPE, pass_fds=[its])
        os.close(its)
        with os.fdopen(ours) as pipe:
            said = pipe.read()
        if said != "recording\n":
            raise AssertionError(tracer.communicate()[1])
        come_along(running.pid)
        return tracer

    return start


def test_attach(running, attach, tmp_path):
    output = tmp_path / "out.fxt"
    with attach() as tracer:
        tracer.send_signal(signal.SIGINT)
        _, errors = tracer.communicate(timeout=60)
        assert tracer.returncode == 0, errors
    main = next(iter(fxt.read(output).threads.values()))
    assert any(from_main(one) == ["main", "waits", "spin"] for one in main.find("spin"))
    end(running)


@pytest.mark.parametrize("options", [[], ["-t", "spin", "--max=0"]], ids=["alone", "with a trigger"])
def test_a_killed_tracer_leaves_the_program_as_it_was(options, running, attach, request):
    if options:
        request.getfixturevalue("debug_registers")
    with attach(*options) as tracer:
        tracer.kill()
    come_along(running.pid)
    assert running.poll() is None
    end(running)


@pytest.mark.parametrize("options, said", [
    (["--args", "spin"], "the engine sample does not follow calls, as --args"),
    (["--returns", "deep"], "the engine sample does not follow calls, as --returns"),
    (["-t", "spin > 5ms"], "the engine sample does not follow calls"),
    (["-t", "light..heavy > 5ms"], "the engine sample does not measure times"),
    (["--per-cpu"], "--per-cpu is only for the engine pt, not for sample"),
    (["--frequency=0"], "number of samples a second"),
    (["--frequency=1000000"], "number of samples a second"),
    (["--size=64k", "--stack=48k"], "a ring of 65536 bytes has no room for samples with 49152"),
    (["--stack=64k"], "a sample has room for 65024 bytes"),
    (["-t", "spin", "-t", "light", "-t", "heavy"], "not enough debug registers"),
])
def test_what_it_cannot_do_is_said_before_the_program_runs(options, said, run_mtdb, program, tmp_path):
    done = run_mtdb("run", "--engine=sample", "-o", tmp_path / "out.fxt", *options, program, "waits")
    assert done.returncode == 125 and said in done.stderr, done.stderr
    assert not done.stdout


@pytest.mark.parametrize("option", ["--frequency=99", "--stack=0"])
def test_its_options_are_for_it_alone(option, run_mtdb, program, tmp_path):
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "out.fxt", option, program, "waits")
    assert done.returncode == 125
    assert f"{option.partition('=')[0]} is only for the engine sample, not for calls" in done.stderr


@WAYS
def test_the_kernels_part(way, run_mtdb, program, tmp_path):
    output = tmp_path / "out.fxt"
    done = run_mtdb("run", "--engine=sample", "--kernel", *way, "--size=64M", "-o", output, program,
                    "kernel")
    if "what the kernel does" in done.stderr:
        pytest.skip("an ordinary user may not sample the kernel here")
    assert done.returncode == 5, done.stderr
    main = next(iter(fxt.read(output).threads.values()))
    kernel = [one for one in main.slices()
              if one.name == "[kernel]" or one.args.get("module", "").startswith("[kernel")]
    # By frame pointers the caller of read() is missing, since the C library has none.
    caller = "asks_the_kernel" if way == DWARF else "main"
    assert any(caller in one.path() for one in kernel)


def test_the_frequency_is_that(sampled, program):
    run = sampled(program, "shares", options=["--frequency=500", "--size=64M"])
    assert "every ~2.00 ms" in run.errors


def test_a_program_without_samples(run_mtdb, tmp_path):
    output = tmp_path / "out.fxt"
    done = run_mtdb("run", "--engine=sample", "--frequency=1", "-o", output, "false")
    assert done.returncode == 1
    assert "no timeline written" in done.stderr and "contains no samples" in done.stderr
    assert not output.exists()
