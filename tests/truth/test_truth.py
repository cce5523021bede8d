# SPDX-License-Identifier: GPL-3.0-or-later
"""What single-stepping saw is the truth: the branches that perf and our own decoder find in our
recording must be the same, one by one, thread by thread."""
import re
import subprocess

import pytest

GOOD = 7
STATIC = ["recursion", "pointers", "sort", "jumps", "nested", "faults", "traps", "threads",
          "children", "oddities"]


def seen_of(log):
    """{tid: [(kind, from, to)]} of a branch log's text."""
    threads = {}
    for line in log.splitlines():
        tid, kind, start, end = line.split()
        threads.setdefault(int(tid), []).append((kind, int(start, 16), int(end, 16)))
    return threads


def kind_of(flags):
    if "end" in flags:
        return "stop" if "async" in flags else "syscall"
    return next((kind for kind in ("call", "return") if kind in flags), "jump")


def decoded_by_perf(perf, recording):
    """The same from perf script; a decoding error is a failure."""
    done = subprocess.run([perf, "script", "-i", str(recording), "--itrace=be", "-F",
                           "tid,ip,addr,flags"], text=True, capture_output=True, check=True)
    assert "instruction trace error" not in done.stdout + done.stderr
    threads = {}
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+(.*?)\s+([0-9a-f]+) =>\s+([0-9a-f]+)\s*$", line)
        if not match:
            continue
        tid, flags = int(match[1]), match[2].split()
        start, end = int(match[3], 16), int(match[4], 16)
        kind = "start" if "strt" in flags else kind_of(flags)
        threads.setdefault(tid, []).append((kind, start, end))
    return threads


def first_difference(ours, theirs):
    for index, (one, other) in enumerate(zip(ours, theirs)):
        if one != other:
            return f"branch {index}: seen {one[0]} {one[1]:#x} {one[2]:#x}, decoded {other}"
    return f"{len(ours)} seen, {len(theirs)} decoded" if len(ours) != len(theirs) else None


@pytest.fixture
def decoded_by_us(compile, build, request):
    """decoded_by_us(recording) -> the same from our own decoder."""
    program = compile("dump_branches.c", "-D_GNU_SOURCE", "-DHASH_NONFATAL_OOM=1",
                      f"-I{request.config.rootpath.parent / 'core'}", build / "libmtrace-core.a",
                      "-lipt", "-ldw", "-lelf", "-lZydis", "-liberty", "-lz", "-llzma", "-lzstd",
                      "-lpopt", "-lpthread")

    def run(recording):
        done = subprocess.run([program, recording], text=True, capture_output=True, check=True)
        return seen_of(done.stdout)

    return run


@pytest.fixture
def record(run_mtdb, need, tmp_path, decoded_by_us):
    """record(program, *args, options=[…]) -> (status, seen, [decoded by us, by perf])."""

    def run(*words, options=()):
        log, recording = tmp_path / "branches", tmp_path / "perf.data"
        done = run_mtdb("run", "--engine=step", "-o", tmp_path / "out.fxt", "--record", recording,
                        "--history=0", "--branch-log", log, *options, "--", *words)
        perf = need("perf", "linux-perf")
        return done.returncode, seen_of(log.read_text()), [decoded_by_us(recording),
                                                           decoded_by_perf(perf, recording)]

    return run


def ends_alike(branches):
    """Whether int3 is a system call or an interrupt is a matter of taste."""
    return [("end", *where) if kind in ("syscall", "stop") else (kind, *where)
            for kind, *where in branches]


def check_equal(seen, decoded_by):
    for decoded in decoded_by:
        assert seen.keys() == decoded.keys()
        for tid, branches in seen.items():
            assert first_difference(branches, decoded[tid]) is None, f"thread {tid}"


@pytest.mark.parametrize("mode", STATIC)
def test_branches_are_what_was_stepped(record, compile, mode):
    status, seen, decoded = record(compile("truth.c", "-O1", "-static", "-w"), mode)
    assert status == GOOD
    assert sum(map(len, seen.values())) > 500
    assert len(seen) == (5 if mode == "threads" else 1)
    if mode == "traps":
        seen = {tid: ends_alike(branches) for tid, branches in seen.items()}
        decoded = [{tid: ends_alike(branches) for tid, branches in by.items()} for by in decoded]
    check_equal(seen, decoded)


@pytest.mark.parametrize("mode,status", [("crash", 128 + 11), ("aborts", 128 + 6)])
def test_up_to_the_fatal_signal(record, compile, mode, status):
    passed, seen, decoded = record(compile("truth.c", "-O1", "-static", "-w"), mode)
    assert passed == status
    assert [branches[-1][0] for branches in seen.values()] == ["stop" if mode == "crash"
                                                               else "syscall"]
    check_equal(seen, decoded)


def test_syscalls_that_signals_interrupt(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-static", "-w"), "interrupted")
    assert status == GOOD
    check_equal(seen, decoded)


def test_children_that_are_followed(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-static", "-w"), "children",
                                   options=["--follow-forks"])
    assert status == GOOD
    assert len(seen) == 2
    check_equal(seen, decoded)


def test_exec_is_followed(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-static", "-w"), "executes")
    assert status == GOOD
    check_equal(seen, decoded)


def test_shared_libraries_loaded_late(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-w"), "loaded")
    assert status == GOOD
    check_equal(seen, decoded)


def test_exceptions(record, compile):
    status, seen, decoded = record(compile("throws.cpp", "-O1", "-static-libstdc++",
                                          "-static-libgcc"))
    assert status == GOOD
    check_equal(seen, decoded)


def test_a_ring_that_wrapped_keeps_the_end(record, compile):
    status, seen, decoded_by = record(compile("truth.c", "-O1", "-static", "-w"), "sort",
                                   options=["--size", "16k"])
    assert status == GOOD
    for decoded in decoded_by:
        for tid, branches in seen.items():
            kept = decoded[tid][1:]  # the first is where decoding begins, in the middle
            assert 500 < len(kept) < len(branches)
            assert first_difference(branches[-len(kept):], kept) is None
