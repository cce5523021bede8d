# SPDX-License-Identifier: GPL-3.0-or-later
"""What single-stepping saw is the truth: the branches that perf and our own decoder find in our
recording must be the same, one by one, thread by thread."""
import os

import pytest

from branches import decoded_by_perf, first_difference, our_decoder, seen_of

GOOD = 7
STATIC = ["recursion", "pointers", "sort", "jumps", "nested", "faults", "traps", "threads",
          "children", "oddities"]


@pytest.fixture
def decoded_by_us(compile, build, request):
    """decoded_by_us(recording) -> the same from our own decoder."""
    return our_decoder(compile, build, request.config.rootpath.parent)


def on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def second_opinion(run_mtdb, recording):
    """libipt reads the packets, and the call stacks are told of each jump: nothing changes; nor does
    it where nothing can be decoded ahead."""
    words = ["--format=text", "-o", "-", recording]
    ahead, alone, by_libipt = [run_mtdb("decode", *more, *words, preexec_fn=begin).stdout
                               for more, begin in [([], None), ([], on_one_processor),
                                                   (["--decoder=libipt"], None)]]
    assert "Thread " in ahead
    assert ahead == alone
    assert ahead == by_libipt


@pytest.fixture
def record(run_mtdb, need, tmp_path, decoded_by_us):
    """record(program, *args, options=[…]) -> (status, seen, [decoded by us, by perf])."""

    def run(*words, options=()):
        log, recording = tmp_path / "branches", tmp_path / "perf.data"
        done = run_mtdb("run", "--engine=step", "-o", tmp_path / "out.fxt", "--record", recording,
                        "--history=0", "--branch-log", log, *options, "--", *words)
        perf = need("perf", "linux-perf")
        second_opinion(run_mtdb, recording)
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
    status, seen, decoded = record(compile("truth.c", "-O1", "-g", "-static", "-w"), mode)
    assert status == GOOD
    assert sum(map(len, seen.values())) > 500
    assert len(seen) == (5 if mode == "threads" else 1)
    if mode == "traps":
        seen = {tid: ends_alike(branches) for tid, branches in seen.items()}
        decoded = [{tid: ends_alike(branches) for tid, branches in by.items()} for by in decoded]
    check_equal(seen, decoded)


@pytest.mark.parametrize("mode,status", [("crash", 128 + 11), ("aborts", 128 + 6)])
def test_up_to_the_fatal_signal(record, compile, mode, status):
    passed, seen, decoded = record(compile("truth.c", "-O1", "-g", "-static", "-w"), mode)
    assert passed == status
    assert [branches[-1][0] for branches in seen.values()] == ["stop" if mode == "crash"
                                                               else "syscall"]
    check_equal(seen, decoded)


def test_syscalls_that_signals_interrupt(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-g", "-static", "-w"), "interrupted")
    assert status == GOOD
    check_equal(seen, decoded)


def test_children_that_are_followed(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-g", "-static", "-w"), "children",
                                   options=["--follow-forks"])
    assert status == GOOD
    assert len(seen) == 2
    check_equal(seen, decoded)


def test_exec_is_followed(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-g", "-static", "-w"), "executes")
    assert status == GOOD
    check_equal(seen, decoded)


def test_shared_libraries_loaded_late(record, compile):
    status, seen, decoded = record(compile("truth.c", "-O1", "-g", "-w"), "loaded")
    assert status == GOOD
    check_equal(seen, decoded)


def test_exceptions(record, compile):
    status, seen, decoded = record(compile("throws.cpp", "-O1", "-g", "-static-libstdc++",
                                          "-static-libgcc"))
    assert status == GOOD
    check_equal(seen, decoded)


def test_a_ring_that_wrapped_keeps_the_end(record, compile):
    status, seen, decoded_by = record(compile("truth.c", "-O1", "-g", "-static", "-w"), "sort",
                                   options=["--size", "16k"])
    assert status == GOOD
    for decoded in decoded_by:
        for tid, branches in seen.items():
            kept = decoded[tid][1:]  # the first is where decoding begins, in the middle
            assert 500 < len(kept) < len(branches)
            assert first_difference(branches[-len(kept):], kept) is None
