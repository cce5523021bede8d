# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of stacks that `perf record` takes here, as slices, against what `perf script` says of the
same file, sample by sample."""
import pathlib
import re
import subprocess

import pytest

from samples import events_of, stacks_at

SAMPLE = re.compile(r"^\s*(\d+)\s+(\d+)\.(\d{9}):(.*)$")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*?) \((.*)\)$")


@pytest.fixture(scope="module", name="program")
def program_fixture(compile):  # pylint: disable=redefined-builtin
    # Chains of return addresses want frame pointers.
    return compile("sampled.c", "-O2", "-g", "-fno-omit-frame-pointer", "-pthread")


@pytest.fixture(name="record")
def record_fixture(need, program, tmp_path):
    """record(options) -> path of a recording; skips what this kernel does not do."""
    perf = need("perf", "linux-perf")

    def run(*options, command=(program,)):
        path = tmp_path / "perf.data"
        done = subprocess.run([perf, "record", "-N", "-F", "1000", "-o", path, *options, "--",
                               *command], text=True, capture_output=True, check=False,
                              timeout=60)
        if done.returncode:
            pytest.skip(f"perf record {' '.join(options)}: {done.stderr.strip().splitlines()[0]}")
        return path

    return run


def is_kernel(address):
    return address >> 63


def frame_of(name, module, program):
    """Functions of the program by their names, others by their files: a file may have several names
    for one function."""
    return name if module == str(program) else pathlib.PurePath(module).name


def parse_frame(text, program):
    """(address, frame) of a line of perf script; None: it has none."""
    found = FRAME.match(text)
    if not found or int(found[1], 16) in (0, 2 ** 64 - 1):  # a frame pointer that was none; where perf gives up
        return None
    return int(found[1], 16), frame_of(found[2], "" if found[3] == "[unknown]" else found[3],
                                       program)


def perf_stacks(need, path, program):
    """{(thread, time): (the program's frames from the outermost on, how many of the kernel)}"""
    done = subprocess.run([need("perf"), "script", "-i", path, "--ns", "--no-inline", "-F",
                           "tid,time,ip,sym,dso"], text=True, capture_output=True, check=True,
                          timeout=120)
    stacks, sample = {}, []
    for line in done.stdout.splitlines():
        head = SAMPLE.match(line)
        if head:
            sample = stacks[(int(head[1]), int(head[2] + head[3]))] = []
        frame = parse_frame(head[4] if head else line, program)
        if frame:
            sample.insert(0, frame)
    return {key: (tuple(frame for address, frame in sample if not is_kernel(address)),
                  sum(1 for address, _ in sample if is_kernel(address)))
            for key, sample in stacks.items()}


def our_stacks(events, samples, program):
    """As perf_stacks(): without what is inlined."""
    stacks = {}
    for key, slices in stacks_at(events, samples).items():
        frames = [(one["name"], one["args"].get("module", "")) for one in slices
                  if not one["args"].get("inlined")]
        kernel = sum(1 for name, module in frames
                     if name == "[kernel]" or module.startswith("[kernel"))
        user = frames[:len(frames) - kernel]
        stacks[key] = (tuple(frame_of(*frame, program) for frame in user), kernel)
    return stacks


ROOTS = {"_start", "libc.so.6", "ld-linux-x86-64.so.2", "dash"}


def is_left_out(stack, ours):
    """perf's unwinder passes over frames at times, behind an exec above all, or has none: a return address into libc,
    right at the stack pointer of a function that has pushed nothing, was seen to be one of those."""
    left = iter(ours)
    return ours[-1:] == (stack[-1:] or ours[-1:]) and ours[0] in ROOTS and all(frame in left for frame in stack)


def is_seen(wanted, found):
    """perf's unwinder gives up early at times, behind an exec above all: then its stack has to be
    the inner part of one that reaches a root.  Without the right to read the kernel's symbols its
    frames are one."""
    stack, kernel = wanted
    ours, our_kernel = found
    if bool(kernel) != bool(our_kernel):
        return False
    return ours == stack or (stack and ours[-len(stack):] == stack and ours[0] in ROOTS)


def check_same(need, run_mtdb, program, path):
    """Our stacks are perf's.  Returns them."""
    wanted = perf_stacks(need, path, program)
    events, said = events_of(run_mtdb, path, path.parent)
    found = our_stacks(events, wanted, program)
    assert len(wanted) > 10
    assert f"{len(wanted)} samples of cpu-clock, every ~" in said
    others = {key: (stack, found[key]) for key, stack in wanted.items() if not is_seen(stack, found[key])}
    assert len(others) <= max(2, len(wanted) // 20), others
    assert all(is_left_out(stack[0], ours[0]) and bool(stack[1]) == bool(ours[1])
               for stack, ours in others.values()), others
    assert {"main", "recursive", "middle", "leaf"} & {
        frame for frames, _ in found.values() for frame in frames}
    return found


@pytest.mark.parametrize("options", [["-g"], ["--call-graph", "dwarf,16384"],
                                     ["--call-graph", "dwarf,16384", "-z"], []],
                         ids=["chains", "stacks", "packed stacks", "addresses alone"])
def test_every_sample_is_seen_as_perf_sees_it(options, record, need, run_mtdb, program):
    check_same(need, run_mtdb, program, record("-e", "cpu-clock", *options))


def test_programs_that_a_shell_starts(record, need, run_mtdb, program):
    path = record("-e", "cpu-clock", "--call-graph", "dwarf,16384", "--switch-events",
                  command=("/bin/sh", "-c", f"{program}; exec {program}"))
    found = check_same(need, run_mtdb, program, path)
    assert len({thread for thread, _ in found}) >= 4  # two each
