# SPDX-License-Identifier: GPL-3.0-or-later
"""What users without privileges get, and what they are told, under each perf_event_paranoid.

The setting is the whole machine's.  A process apart holds a lock as long as it is changed, and puts
it back when we are done, or die."""
import contextlib
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile

import pytest

PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
LOCK = "/tmp/mtrace-perf-event-paranoid.lock"
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []}

GUARD = """
exec 9>>"$1" && flock 9 || exit 1
before=$(cat "$2")
trap '' INT TERM HUP
echo "$3" >"$2" || exit 1
echo set
read -r line
echo "$before" >"$2"
"""


@contextlib.contextmanager
def paranoid(value):
    """perf_event_paranoid is VALUE meanwhile."""
    with subprocess.Popen(["sh", "-c", GUARD, "-", LOCK, PARANOID, str(value)], text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          start_new_session=True) as guard:
        if guard.stdout.readline() != "set\n":
            pytest.skip("kernel.perf_event_paranoid cannot be changed here")
        try:
            yield
        finally:
            guard.communicate("done\n")


@pytest.fixture(name="run_as_nobody", scope="module")
def run_as_nobody_fixture(root, mtdb, compile):
    """run(options, program, …) as a user without privileges, in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy2(mtdb, folder / "mtdb")
        shutil.copy2(compile("tracks.c", "-O1", "-pthread"), folder / "tracks")
        shutil.copy2(compile("watched.c", "-O1", "-pthread", "-D_GNU_SOURCE"), folder / "watched")
        os.chown(folder, NOBODY["user"], NOBODY["group"])

        def run(options, *words, **more):
            return subprocess.run(["./mtdb", "run", "-f", "text", "-o", "-", *options, "--",
                                   *words], cwd=folder, text=True, capture_output=True,
                                  check=False, timeout=300, env={**os.environ, "HOME": name},
                                  **NOBODY, **more)

        yield run


def test_own_programs_under_the_default(run_as_nobody):
    """Where threads ran, page faults, counters: no privilege is needed."""
    with paranoid(2):
        done = run_as_nobody(["--events", "sched,faults", "--counter", "page-faults",
                              "--modules", "tracks"], "./tracks")
        assert done.returncode == 0, done.stderr
        assert "the reasons why threads wait are not recorded" in done.stderr
        assert re.search(r"page fault, address 0x\w+ in touch", done.stdout)
        assert re.search(r"off the CPU", done.stdout)


@pytest.mark.usefixtures("debug_registers")
def test_watchpoints_under_the_default(run_as_nobody):
    with paranoid(2):
        done = run_as_nobody(["--watch", "counter"], "./watched")
        assert done.returncode == 0, done.stderr
        assert "trigger 1: counter (value = 100, was 41)" in done.stdout


def test_system_calls_need_tracefs(run_as_nobody):
    with paranoid(2):
        done = run_as_nobody(["--events", "syscalls"], "./tracks")
    assert done.returncode == 125
    assert "cannot record system calls" in done.stderr
    assert "mount" in done.stderr
    assert done.stdout == ""


def test_all_is_refused(run_as_nobody):
    """Debian's and others' kernels have a value that forbids everything; this one may not."""
    for options in (["--events", "sched"], ["--events", "faults"], ["--counter", "page-faults"],
                    ["--watch", "counter"]):
        with paranoid(4):
            done = run_as_nobody(options, "./watched")
        if done.returncode == 0:
            pytest.skip("this kernel takes 4 for 2")
        assert done.returncode == 125
        assert "kernel.perf_event_paranoid is 4" in done.stderr
        assert "sudo sysctl kernel.perf_event_paranoid=2" in done.stderr


def test_sampling_is_refused(run_as_nobody):
    with paranoid(2):
        done = run_as_nobody(["--engine", "sample"], "./tracks")
    assert done.returncode == 0, done.stderr
    with paranoid(4):
        done = run_as_nobody(["--engine", "sample"], "./tracks")
    if done.returncode == 0:
        pytest.skip("this kernel takes 4 for 2")
    assert done.returncode == 125 and done.stdout == ""
    assert "cannot open samples of stacks" in done.stderr
    assert "sudo sysctl kernel.perf_event_paranoid=2" in done.stderr
    assert "--engine calls" in done.stderr


def test_the_kernels_part_of_faults(run_as_nobody):
    """Under 1 a user sees faults that the kernel takes on his behalf, too."""
    with paranoid(1):
        done = run_as_nobody(["--events", "faults", "--modules", "tracks"], "./tracks")
    assert done.returncode == 0, done.stderr
    assert re.search(r"page fault, address 0x\w+ in touch", done.stdout)


def test_locked_memory(run_as_nobody):
    """More rings than this user may lock memory for: said with the limits."""
    none = (0, 0)
    done = run_as_nobody(["--events", "faults", "--modules", "tracks"], "./tracks", "14",
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, none))
    assert done.returncode in (0, 125), done.stderr
    assert done.stderr.count("kernel.perf_event_mlock_kb") == 2  # its value, and what would do
    assert "ulimit -l (0 kB)" in done.stderr


@pytest.mark.parametrize("options", [["--watch", "counter"], ["--events", "sched"],
                                     ["--counter", "page-faults"], ["--engine", "sample"]])
def test_in_a_container(record, compile, options):
    """Under a filter as containers have one: the cure is theirs, and the program does not run."""
    program = compile("watched.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    run = record(options, program, before=[compile("no_perf_events.c")])
    assert run.status == 125
    assert "a seccomp filter forbids perf_event_open" in run.stderr
    assert "--cap-add PERFMON" in run.stderr
    assert run.stdout == ""


def test_too_many_files(root, mtdb, compile, tmp_path):
    """A thread whose events find no file descriptor goes without, which is said once."""
    program = compile("tracks.c", "-O1", "-pthread")
    done = subprocess.run(["sh", "-c", 'ulimit -n 60; exec "$@"', "-", mtdb, "run", "-o",
                           tmp_path / "x.fxt", "--modules", "tracks", "--events", "sched,faults", "--", program, "14"],
                          text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recording a thread without events") == 1
    assert "ulimit -n" in done.stderr
