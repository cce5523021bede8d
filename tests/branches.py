# SPDX-License-Identifier: GPL-3.0-or-later
"""The branches of a program, thread by thread: as single-stepping saw them, as perf decodes them,
and as we do."""
import re
import subprocess

from core_library import core_library

DUMP = ["dump_branches.c", "-D_GNU_SOURCE", "-DHASH_NONFATAL_OOM=1"]


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


def decoded_by_perf(perf, recording, *options):
    """The same from perf script; a decoding error is a failure."""
    done = subprocess.run([perf, "script", *options, "-i", str(recording), "--itrace=be", "-F",
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


def our_decoder(compile_fixture, build, root):
    """A function from a recording to the same from our own decoder."""
    program = compile_fixture(*DUMP, f"-I{root / 'core'}", *core_library(build))

    def run(recording):
        done = subprocess.run([program, recording], text=True, capture_output=True, check=True)
        return seen_of(done.stdout)

    return run
