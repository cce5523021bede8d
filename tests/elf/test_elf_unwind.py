# SPDX-License-Identifier: GPL-3.0-or-later
"""The unwinder's frames are those that GDB shows of the same threads at the same moment."""
import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from core_library import core_library
from tests.elf.conftest import ROOT

THREADS = 4
# Each thread: its frames, innermost first, but for those that GDB made up, of inlined functions and
# of tail calls; named where it is the program's own source.
GDB = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    while frame:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            function = frame.function()
            known = function and function.symtab.filename.endswith("unwind_busy.c")
            print("FRAME", thread.ptid[1], hex(frame.pc()), frame.name() if known else "?",
                  int(frame.type() == gdb.SIGTRAMP_FRAME))
        frame = frame.older()
"""


@pytest.fixture(name="unwind", scope="session")
def unwind_of_process(build, compile):
    """unwind(pid) -> {tid: [(pc, name, signal)]}, cfas"""
    sanitizer = re.search(r"san-(\w+)", str(build))
    flags = [f"-fsanitize={sanitizer[1]}"] if sanitizer else []
    program = compile("unwind_dump.c", *flags, "-D_GNU_SOURCE", f"-I{ROOT}/core",
                      *core_library(build))

    def run(pid):
        done = subprocess.run([program, str(pid)], text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        threads = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            tid, pc, name, _, kind = line.split("\t")
            threads[int(tid)].append((int(pc, 16), name, kind == "signal"))
        return threads

    return run


@pytest.fixture(name="ask_gdb")
def frames_of_gdb(need, tmp_path):
    script = tmp_path / "frames.py"
    script.write_text(GDB)
    gdb = need("gdb")

    def run(pid):
        done = subprocess.run([gdb, "-nx", "-batch", "-p", str(pid), "-ex",
                               "set backtrace past-main on", "-ex", f"source {script}"],
                              text=True, capture_output=True, check=True)
        threads = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            if line.startswith("FRAME"):
                _, tid, pc, name, kind = line.split(maxsplit=4)
                threads[int(tid)].append((int(pc, 16), name, kind == "1"))
        return threads

    return run


def stopped(pid):
    """All threads stand still."""
    os.kill(pid, signal.SIGSTOP)
    for _ in range(1000):
        states = [(task / "stat").read_text().rpartition(")")[2].split()[0]
                  for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
        if set(states) == {"T"}:
            return
        time.sleep(0.002)
    raise AssertionError("it does not stop")


def compare(ours, theirs):
    assert ours.keys() == theirs.keys()
    for tid, frames in theirs.items():
        # Behind a thread's first function GDB shows one at 0.
        while not frames[-1][0]:
            frames.pop()
        assert [(hex(pc), kind) for pc, _, kind in ours[tid]] == \
            [(hex(pc), kind) for pc, _, kind in frames], (ours[tid], frames)
        for own, other in zip(ours[tid], frames):
            assert other[1] in ("?", own[1].partition(".")[0]), (own, other)


BUILDS = {
    "O0": ("-O0",),
    "O2": ("-O2", "-fomit-frame-pointer"),
    "O2-no-pie": ("-O2", "-no-pie"),
    "O2-static": ("-O2", "-static"),
    "debug_frame": ("-O2", "-fno-asynchronous-unwind-tables", "-fno-exceptions"),
    "clang": ("-O1", {"compiler": "clang"}),
}


@pytest.mark.parametrize("build_name", BUILDS)
def test_random_stops(build_name, compile, unwind, ask_gdb):
    words = BUILDS[build_name]
    options = words[-1] if isinstance(words[-1], dict) else {}
    program = compile("unwind_busy.c", *(word for word in words if isinstance(word, str)),
                      "-pthread", **options, output=f"unwind_busy-{build_name}")
    chance = random.Random(build_name)
    with subprocess.Popen([program, str(THREADS)], text=True, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            met = set()
            for _ in range(6):
                time.sleep(chance.uniform(0.002, 0.03))
                stopped(process.pid)
                ours = unwind(process.pid)
                compare(ours, ask_gdb(process.pid))
                met.update(frame[2] for frames in ours.values() for frame in frames)
                os.kill(process.pid, signal.SIGCONT)
            assert met == {False, True}, "no thread was met in a signal handler"
        finally:
            process.kill()
