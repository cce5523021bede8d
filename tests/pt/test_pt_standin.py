# SPDX-License-Identifier: GPL-3.0-or-later
"""From start to timeline through every line but the hardware's: what the stand-in's processor plays
is what single-stepping saw, and must be what comes out."""
import os
import re
import subprocess
import time

import pytest

import fxt
from branches import first_difference

GOOD = 7


def check(played, decoders):
    assert played.done.returncode == GOOD, played.done.stderr
    for decoder in decoders:
        decoded = decoder(played.recording)
        assert len(decoded) == len(played.seen)
        for seen, found in zip(played.seen, decoded):
            assert first_difference(seen, found) is None


@pytest.mark.parametrize("counts", [0, 1])
def test_branches_come_through(play, compile, decoders, counts):
    check(play(compile("truth.c", "-O1", "-static", "-w"), "recursion", COUNTS=counts), decoders)


def test_every_thread_has_its_own(play, compile, decoders):
    played = play(compile("truth.c", "-O1", "-static", "-w"), "threads")
    assert len(played.seen) == 5
    check(played, decoders)


def notes_of(recording, need):
    """(event, number) of the notes of triggers and snapshots, with how often."""
    done = subprocess.run([need("perf", "linux-perf"), "script", "-F", "event,weight", "-i",
                           recording], text=True, capture_output=True, check=True)
    return sorted(re.findall(r"mtrace:(trigger|snapshot):\s+(\d+)", done.stdout))


@pytest.mark.usefixtures("debug_registers")
@pytest.mark.parametrize("mode,trigger,flags,hits", [
    ("pointers", "twice", ["-static"], 8),
    ("loaded", "cos", [], 1),  # in a library that is loaded late: its implementation
    ("threads", "work", ["-static"], 4),
])
def test_windows_end_where_triggers_are(play, compile, decoders, need, mode, trigger, flags, hits):
    options = ["--pending", f"--trigger={trigger}"]
    played = play(compile("truth.c", "-O1", "-w", *flags), mode, options=options,
                  step_options=options)
    notes = notes_of(played.recording, need)
    assert notes.count(("trigger", "1")) == hits
    if mode != "threads":  # whose others stop elsewhere
        check(played, decoders[:1])
        assert notes == notes_of(played.stepped, need)


@pytest.mark.usefixtures("debug_registers")
def test_hits_pause_the_trace(play, compile, decoders, need, tmp_path):
    """Each hit's stop is followed by one in which the trace is resumed, and by nothing else."""
    options, told = ["--trigger=twice"], tmp_path / "pausing"
    played = play(compile("truth.c", "-O1", "-w", "-static"), "pointers", options=options,
                  step_options=options, PAUSES=1, PARANOID=1, PAUSING=told)
    check(played, decoders[:1])
    notes = notes_of(played.recording, need)
    assert notes == notes_of(played.stepped, need)
    hits = notes.count(("trigger", "1"))
    pauses, *then = told.read_text().partition("resume")
    assert pauses.split() == ["pause", "pause"]  # the trigger's place, and the loader's
    assert "".join(then).split() == hits * ["resume", "resumed"]


@pytest.mark.usefixtures("debug_registers")
def test_the_loader_is_not_watched_when_all_are_found(play, compile, decoders, need):
    """Two debug registers are ours: the second trigger's comes from there."""
    options = ["--pending", "--trigger=loaded", "--trigger=cos"]
    played = play(compile("truth.c", "-O1", "-w"), "loaded", options=options,
                  step_options=options)
    notes = notes_of(played.recording, need)
    assert (notes.count(("trigger", "1")), notes.count(("trigger", "2"))) == (1, 1)
    check(played, decoders[:1])


def test_more_than_there_are_registers(run_pt, compile):
    program = compile("truth.c", "-O1", "-static", "-w")
    done = run_pt("run", "--engine=pt", "-o", "x.fxt", "--trigger=fib", "--trigger=twice",
                  "--watch=counter", "--", program, "recursion")
    assert done.returncode == 125
    assert "--trigger fib, --trigger twice, --watch counter: two of the processor's four are left to debuggers; remove all " \
        "but 2 of these, or use --engine calls" in done.stderr


@pytest.mark.usefixtures("debug_registers")
def test_more_places_than_there_are_registers(play, compile, tmp_path, need):
    """Of one name: what there is room for is stopped at."""
    source = tmp_path / "three.cpp"
    source.write_text("".join(f"namespace n{i} {{ [[gnu::noinline]] int f(int x) "
                              f"{{ asm volatile(\"\"); return x + {i}; }} }}\n" for i in range(3))
                      + "int main() { return n0::f(1) + n1::f(2) + n2::f(1); }\n")
    played = play(compile(source, "-O1", "-static"), options=["--trigger=f"])
    assert played.done.returncode == GOOD, played.done.stderr
    assert len(re.findall("ignoring f at 0x.*two of the .*are left to debuggers",
                          played.done.stderr)) == 1
    assert notes_of(played.recording, need).count(("trigger", "1")) == 2


@pytest.mark.parametrize("memory_kb,word", [(12 << 10, "is reduced to"), (4500, "is not recorded")])
def test_threads_that_find_no_memory(play, compile, memory_kb, word):
    """The first ones are worth going on for: they have what they ran."""
    played = play(compile("pt_together.c", "-static"), MEMORY_KB=memory_kb)
    assert played.done.returncode == GOOD, played.done.stderr
    assert word in played.done.stderr
    assert "use smaller rings" in played.done.stderr


def test_full_execution_streams_it_all(play, compile, decoders):
    check(play(compile("truth.c", "-O1", "-static", "-w"), "threads",
               options=["--full-execution"]), decoders)


@pytest.mark.soak
def test_full_execution_says_what_was_lost(play, compile, decoders):
    played = play(compile("truth.c", "-O1", "-w"), "sort",
                  options=["--full-execution", "--size=16k"])
    assert sum(file.stat().st_size for file in played.output.parent.glob("play/0.0")) >= 65536
    assert played.done.returncode == GOOD
    assert re.search(r"faster than it could be written: 1 times, for \d+\.\d+ ms",
                     played.done.stderr)
    (seen,), (decoded,) = played.seen, decoders[0](played.recording)
    kept = [branch for branch in decoded if branch[0] != "gap"]
    assert 500 < len(kept) < len(seen)
    assert first_difference(seen[:len(kept) - 1], kept[:-1]) is None


def test_rings_of_cpus(play, compile, decoders):
    played = play(compile("truth.c", "-O1", "-static", "-w"), "recursion", options=["--per-cpu"])
    check(played, decoders[1:])
    (thread,) = played.trace.threads.values()
    assert len(thread.find("fib")) == 177


def test_filters_are_ranges_of_the_file(run_pt, compile, tmp_path):
    program = compile("truth.c", "-O1", "-static", "-w")
    told = tmp_path / "filters"
    done = run_pt("run", "--engine=pt", "-o", "x.fxt", "--filter=fib",
                  "--filter", f"stop twice/pointers @ {program}", "--", program, "recursion",
                  FILTERS=told)
    symbols = {line.split()[3]: line.split() for line in subprocess.run(
        ["nm", "-S", program], text=True, capture_output=True, check=True).stdout.splitlines()
        if len(line.split()) == 4}
    base = int(re.search(r"LOAD +(0x\w+) (0x\w+)", subprocess.run(
        ["readelf", "-lW", program], text=True, capture_output=True, check=True).stdout)[2], 16)
    start, size = (int(number, 16) for number in symbols["fib"][:2])
    assert f"filter {start - base:#x}/{size:#x}@{program}" in told.read_text(), done.stderr
    first, last = (int(symbols[name][0], 16) for name in ("twice", "pointers"))
    length = last + int(symbols["pointers"][1], 16) - first
    assert f"stop {first - base:#x}/{length:#x}@{program}" in told.read_text()


def test_the_recording_tells_its_filters(play, compile, decoders, filters_of, tmp_path):
    program = compile("truth.c", "-O1", "-static", "-w")
    link, told = tmp_path / "link", tmp_path / "filters"
    link.symlink_to(program)
    played = play(program, "recursion", options=[f"--filter=filter 0 / 0x1000000 @ {link}"],
                  FILTERS=told)
    # as its mappings are called
    assert told.read_text().splitlines()[0] == f"filter 0x0/0x1000000@{program}"
    assert filters_of(played.recording) == told.read_text().splitlines()[0]
    check(played, decoders)


@pytest.mark.parametrize("filters,reason", [
    (["fib", "twice", "main"], "this processor has 2 address filters"),
    (["no_such"], "is not in"),
    (["start main"], "cannot begin tracing at an address"),
    (["filter a /"], "invalid filter"),
    (["main @ /no/such/file"], "No such file"),
])
def test_filters_that_cannot_be(run_pt, compile, tmp_path, filters, reason):
    program = compile("truth.c", "-O1", "-static", "-w")
    words = [word for text in filters for word in ("--filter", text)]
    done = run_pt("run", "--engine=pt", "-o", "x.fxt", *words, "--", program, "recursion")
    assert done.returncode == 125
    assert reason in done.stderr
    assert not (tmp_path / "x.fxt").exists()


def test_the_kernel_is_told_of(play, compile, put_sysfs, tmp_path, need):
    """Its code and its modules are mappings of the recording, as perf takes them."""
    put_sysfs()
    proc = tmp_path / "root" / "proc"
    proc.mkdir(parents=True)
    (proc / "kallsyms").write_text("ffffffff81000000 T _stext\nffffffff81234000 T _etext\n")
    (proc / "modules").write_text("ext4 4096 2 - Live 0xffffffffc0400000\n")
    played = play(compile("truth.c", "-O1", "-static", "-w"), "recursion", options=["--kernel"],
                  PARANOID=1)
    assert played.done.returncode == GOOD
    told = subprocess.run([need("perf", "linux-perf"), "script", "--show-mmap-events", "-i",
                           played.recording], text=True, capture_output=True, check=True).stdout
    assert "[0xffffffff81000000(0x234000) @ 0xffffffff81000000" in told
    assert "[0xffffffffc0400000(0x1000) @ 0xffffffffc0400000" in told


def test_a_kernel_that_hides_is_borne(play, compile, put_sysfs, tmp_path):
    put_sysfs()
    (tmp_path / "root" / "proc").mkdir(parents=True)
    (tmp_path / "root" / "proc" / "kallsyms").write_text("0000000000000000 T _stext\n")
    played = play(compile("truth.c", "-O1", "-static", "-w"), "recursion", options=["--kernel"],
                  PARANOID=1)
    assert played.done.returncode == GOOD
    assert "showing kernel code as [kernel]: the kernel hides its addresses" in played.done.stderr
    assert "kptr_restrict=0" in played.done.stderr


@pytest.mark.usefixtures("debug_registers")
@pytest.mark.parametrize("counts", [0, 1])
def test_windows_go_on_without_a_psb(play, compile, decoders, counts):
    """The processor makes none when tracing goes on behind a snapshot."""
    options = ["--trigger=twice"]
    played = play(compile("truth.c", "-O1", "-static", "-w"), "pointers", options=options,
                  step_options=options, later_psb=False, COUNTS=counts)
    check(played, decoders)
    calls = [one for one in played.trace.slices() if one.name == "twice"]
    assert len([one for one in calls if "inferred" not in one.args]) == 8


def test_the_frequency_is_a_counter(play, compile):
    played = play(compile("truth.c", "-O1", "-static", "-w"), "recursion",
                  options=["--power-events"])
    assert played.done.returncode == GOOD, played.done.stderr
    assert [name for name in played.trace.counters if name.startswith("frequency (MHz)")]


@pytest.fixture
def waiting(compile, tmp_path):
    """A program with two threads that nap and call; its number."""
    source = tmp_path / "naps.c"
    source.write_text("#include <pthread.h>\n#include <unistd.h>\n"
                      "void __attribute__((noinline)) nap(void) { usleep(1000); }\n"
                      "static void *work(void *x) { for (;;) nap(); return x; }\n"
                      "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0);\n"
                      "write(1, \".\", 1); work(0); }\n")
    with subprocess.Popen([compile(source, "-static")], stdout=subprocess.PIPE) as program:
        program.stdout.read(1)
        yield program.pid
        program.kill()


@pytest.mark.parametrize("options", [[], ["--per-cpu"], ["--full-execution"]])
def test_a_running_process(run_mtdb, run_pt, put_play, waiting, tmp_path, options):
    """What single-stepping sees of it first, the processor plays then."""
    stepped = tmp_path / "stepped.data"
    done = run_mtdb("attach", "--engine=step", "--for=300ms", "--record", stepped, "-o",
                    tmp_path / "stepped.fxt", waiting)
    assert done.returncode == 0, done.stderr
    put_play(stepped, tmp_path, True)
    done = run_pt("attach", "--engine=pt", "--for=300ms", "-o", "pt.fxt", *options, waiting)
    assert done.returncode == 0, done.stderr
    assert "runs on untraced" not in done.stderr
    trace = fxt.read(tmp_path / "pt.fxt")
    assert [one for one in trace.slices() if one.name == "nap"]


def test_beside_what_the_kernel_tells(play, compile, decoders):
    """On a kernel whose clock is not the TSC."""
    played = play(compile("truth.c", "-O1", "-static", "-w"), "recursion",
                  options=["--events=faults"], USER_TIME=0)
    check(played, decoders)
    assert [one for one in played.trace.instants() if "page fault" in one.name]


def end_of_storm(run_pt, program):
    """The exit status of a program whose tracers were killed."""
    with subprocess.Popen([program], stdout=subprocess.PIPE, stdin=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        for i in range(6):
            read_end, write_end = os.pipe()
            with run_pt.start("attach", "--engine=pt", "--trigger=count", "--max=0", "-o", "x.fxt",
                              f"--ready-fd={write_end}", process.pid, stderr=subprocess.DEVNULL,
                              pass_fds=[write_end]) as tracer:
                os.close(write_end)
                with os.fdopen(read_end) as ready:
                    assert ready.readline() == "recording\n"
                time.sleep(i * 0.003)
                tracer.kill()
            if process.poll() is not None:
                return process.returncode
        process.stdin.close()
        return process.wait(timeout=120)


@pytest.mark.usefixtures("debug_registers")
def test_killed_while_all_threads_hit(run_pt, compile):
    """A trigger's debug registers go with the tracer, whatever a thread stands for.

    In a virtual machine that is short of processors debug register 6 is lost at times: the kernel
    takes such a hit for a trap of the program's own.  That ended it in one of 150 runs; so it may
    end once."""
    program = compile("watched_storm.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    assert any(end_of_storm(run_pt, program) == 0 for _ in range(2))
