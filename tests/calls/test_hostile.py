# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that do to their recorder what they can: mtdb and GDB come to an end of their own, in
bounded memory, whatever becomes of the program."""
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys

import pytest

from sanitizers import is_of_ours, reports_by_place

# Letters of calls_hostile.c.
WAYS = {"rings": "r", "counters": "c", "behind": "b", "files": "tr", "mappings": "mr", "gs": "g",
        "forks": "fr", "threads": "Trc", "all": "a", "own-mappings": "M", "mix": "rrccbtmgfT"}
MOST_KIB = 2 << 20
OPTIONS = [[], ["--follow-forks"], ["--throttle"], ["--timestamps", "full"],
           ["--trigger", "work", "--max", "3"]]
# Decoding full rings is most of a round, and many rounds are worth more than much to decode.
SIZES = ["16k"] * 4 + ["64k"] * 3 + ["4M"]

# GDB 13 without the plugin ends so as well, in some runs of calls_hostile T.
KILLED_AT_BIRTH = "internal-error: wait returned unexpected status"


@pytest.fixture(name="program")
def compile_program(compile):
    return compile("calls_hostile.c", "-O1", "-pthread", "-w")


@pytest.fixture(name="quick_program")
def compile_quick_program(compile):
    """Without libraries, which are most of a start's work."""
    return compile("calls_hostile.c", "-O1", "-pthread", "-w", "-static")


def run_bounded(words, **more):
    """What became of it: its status, and what it said.  What it takes is bounded."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with subprocess.Popen(words, text=True, errors="replace", stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, preexec_fn=limit, **more) as process:
        try:
            _, said = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, said


def check_said(status, said):
    assert status >= 0, (status, said)  # assertions end it by SIGABRT; the program's own may, too
    for word in ("Sanitizer", "runtime error", "internal error"):
        assert word not in said, said


def hostile_run(mtdb, program, out, way, seed):
    chance = random.Random(f"{way} {seed}")
    options = chance.choice(OPTIONS) + ["--size", chance.choice(SIZES)]
    output = out / chance.choice(["x.json", "x.fxt", "x.txt"])
    status, said = run_bounded([mtdb, "run", "-e", "calls", "--modules", "calls_hostile", *options,
                                "-o", output, "--", program, WAYS[way], str(seed),
                                str(chance.choice([2, 5, 30]))])
    check_said(status, f"{way} {seed} {options}: {said}")


def hostile_attach(mtdb, program, out, way, seed):
    chance = random.Random(f"attach {way} {seed}")
    with subprocess.Popen([program, WAYS[way], str(seed), "5000"], stdout=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            process.stdout.readline()
            status, said = run_bounded([
                mtdb, "attach", "-e", "calls", "--modules", "calls_hostile",
                f"--for={chance.choice([1, 5, 30])}ms", "--size", chance.choice(SIZES),
                "-o", out / "x.json", "-p", str(process.pid)])
        finally:
            process.kill()
    check_said(status, f"{way} {seed}: {said}")


def hostile_gdb(gdb, build, program, out, way, seed):
    commands = ["set confirm off", "set height 0", f"source {build / 'mtrace.py'}", "mtrace start",
                f"run {WAYS[way]} {seed} 50", "mtrace history", "mtrace info", "kill"]
    words = [word for command in commands for word in ("-ex", command)]
    status, said = run_bounded([gdb, "-nx", "-batch", *words, program], cwd=out,
                               stdin=subprocess.DEVNULL)
    reports = reports_by_place(said)
    # With a GDB that is run under ASan; its own are known.
    assert not any(is_of_ours(place) for place in reports), said
    if KILLED_AT_BIRTH in said:
        return
    if not reports:
        check_said(status, f"{way} {seed}: {said}")
    assert "Python Exception" not in said and "Traceback" not in said, said


@pytest.mark.parametrize("way", ["counters", "threads"])
def test_run(mtdb, program, tmp_path, way):
    hostile_run(mtdb, program, tmp_path, way, 1)


def test_threads_born_at_the_end(mtdb, program, tmp_path):
    """One whose maker was killed before it could tell of it is nobody's, and stands in its end."""
    for seed in range(6):
        status, said = run_bounded([mtdb, "run", "-e", "calls", "--modules", "calls_hostile", "-o",
                                    tmp_path / "x.json", "--", program, "T", str(seed), "5"])
        check_said(status, said)


def test_nobody_can_be_borrowed(mtdb, compile, tmp_path):
    """Whoever is attached to such a program lets it go all the same."""
    program = compile("calls_unborrowed.c", "-O1", "-pthread", "-w", "-static")
    with subprocess.Popen([program], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            process.stdout.readline()
            done = subprocess.run([mtdb, "attach", "-e", "calls", "--for=100ms", "-o", tmp_path / "x.json", "-p",
                                   str(process.pid)], text=True, capture_output=True, check=False, timeout=120)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert done.returncode == 1 and "changes memory that is not its own" in done.stderr, done.stderr


@pytest.mark.parametrize("way", ["blank", "directories", "text"])
def test_made_up_remains(mtdb, compile, tmp_path, way):
    """What looks as if a killed tracer had left it is searched within bounds, and not filled."""
    program = compile("calls_left_fakes.c", "-O1")
    with subprocess.Popen([program, way], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            status, said = run_bounded([mtdb, "attach", "-e", "calls", "--for=50ms", "--size", "64k", "--modules",
                                        "calls_left_fakes", "-o", tmp_path / "x.json", "-p", str(process.pid)])
            memory = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        finally:
            process.kill()
    assert status == 0, said
    assert int(re.search(r"RssShmem:\s+(\d+)", memory)[1]) < 64 << 10, memory


def test_a_mapping_larger_than_its_file(mtdb, compile, tmp_path):
    """It is not recorded, and everything else is."""
    library = compile("calls_unloads_part.c", "-O1", "-shared", "-fPIC", output="calls_unloads_part.so")
    with subprocess.Popen([compile("calls_oversized.c", "-O1"), library], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            status, said = run_bounded([mtdb, "attach", "-e", "calls", "--modules", "calls_*", "--for=50ms", "--size",
                                        "64k", "-o", tmp_path / "x.json", "-p", str(process.pid)])
        finally:
            process.kill()
    assert status == 0 and "more than 2 GiB" in said, said
    assert '"work"' in (tmp_path / "x.json").read_text()


def test_a_fifo_under_a_librarys_name(mtdb, compile, root, tmp_path):
    """Only root reads a file that has no name any more."""
    library = compile("calls_part.c", "-O1", "-shared", "-fPIC", output="calls_part.so")
    mine = shutil.copy(library, tmp_path / "part.so")
    with subprocess.Popen([compile("calls_fifo.c", "-O1"), mine], stdout=subprocess.PIPE) as process:
        try:
            process.stdout.readline()
            status, said = run_bounded([mtdb, "attach", "-e", "calls", "--modules", "calls_fifo", "--trigger", "part",
                                        "--for=50ms", "--size", "64k", "-o", tmp_path / "x.json", "-p", str(process.pid)])
        finally:
            process.kill()
    assert status == 0, said


def seeds():
    """MTRACE_ROUNDS of them, from MTRACE_SEED on."""
    first = int(os.environ.get("MTRACE_SEED", random.randrange(1 << 32)))
    print("MTRACE_SEED is", first, file=sys.stderr)
    return range(first, first + int(os.environ.get("MTRACE_ROUNDS", "100")))


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
def test_often(mtdb, program, quick_program, tmp_path, way):
    """Two rounds a seed, each tenth of a program with libraries."""
    for seed in seeds():
        chosen = quick_program if seed % 10 else program
        hostile_run(mtdb, chosen, tmp_path, way, seed)
        hostile_attach(mtdb, chosen, tmp_path, way, seed)
    # Of all that ran here: a ring's garbage makes nobody allocate by it.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MOST_KIB


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
def test_gdb_often(build, need, quick_program, tmp_path, way):
    gdb = need("gdb")
    for seed in seeds():
        if seed % 10 == 0:
            hostile_gdb(gdb, build, quick_program, tmp_path, way, seed)
