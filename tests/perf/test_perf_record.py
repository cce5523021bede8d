# SPDX-License-Identifier: GPL-3.0-or-later
"""What we read of recordings that `perf record` makes here, against what `perf script -D` says of
the same file, record by record."""
import collections
import pathlib
import re
import signal
import subprocess
import time

import pytest

# A program that starts another and is busy enough for some samples.
COMMAND = ["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; /bin/true; exit 0"]

VARIANTS = {
    "dummy": ["-e", "dummy:u"],
    "one event": ["-e", "cpu-clock:u"],
    "kernel too": ["-e", "cpu-clock"],
    "two events": ["-e", "cpu-clock:u", "-e", "task-clock:u"],
    "three events of unlike layouts": ["-e", "cpu-clock/call-graph=fp/", "-e", "dummy:u", "-e",
                                       "task-clock:u"],
    "switches": ["-e", "cpu-clock:u", "--switch-events"],
    "whole machine": ["-a", "-e", "cpu-clock:u", "--switch-events"],
    "call graph": ["-e", "cpu-clock", "-g"],
    "stacks and registers": ["-e", "cpu-clock:u", "--call-graph", "dwarf,512"],
    "interrupt registers": ["-e", "cpu-clock", "-I", "-b"],
    "user registers": ["-e", "cpu-clock:u", "--user-regs=ip,sp", "-W"],
    "addresses and weights": ["-e", "cpu-clock:u", "-d", "-W", "--sample-cpu"],
    "pages": ["-e", "cpu-clock:u", "-d", "--phys-data", "--data-page-size", "--code-page-size"],
    "groups": ["-e", "{cpu-clock,task-clock}:S"],
    "values": ["-e", "cpu-clock:u", "-s"],
    "periods": ["-e", "cpu-clock:u", "-P", "-T"],
    "namespaces": ["-e", "cpu-clock:u", "--namespaces", "--all-cgroups"],
    "build ids in mappings": ["-e", "cpu-clock:u", "--buildid-mmap"],
    "clock": ["-e", "cpu-clock:u", "-k", "CLOCK_MONOTONIC"],
    "no inheritance": ["-e", "cpu-clock:u", "--no-inherit"],
    "by thread": ["-e", "cpu-clock:u", "--per-thread"],
    "packed": ["-e", "cpu-clock:u", "-z", "--switch-events"],
    "data mappings": ["-e", "cpu-clock:u", "-d", "-z"],
}


@pytest.fixture(name="record")
def record_fixture(need, tmp_path):
    """record(options) -> path of a recording; skips what this kernel does not do."""
    perf = need("perf", "linux-perf")

    def run(*options, command=tuple(COMMAND)):
        path = tmp_path / "perf.data"
        done = subprocess.run([perf, "record", "-N", "-B", "-o", path, *options, "--", *command],
                              text=True, capture_output=True, check=False, timeout=60)
        if done.returncode:
            pytest.skip(f"perf record {' '.join(options)}: {done.stderr.strip().splitlines()[0]}")
        return path

    return run


HEAD = re.compile(r"^(?:(\d+) )?(?:(\d+) )?0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_(.*)$")
MMAP = re.compile(r"MMAP2? (-?\d+)/(-?\d+): \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) ?"
                  r"(?:[0-9a-f]+:[0-9a-f]+ \d+ \d+|<([0-9a-f]*)>)?\]: ([-rwxps]+) (.*)$")
SAMPLE = re.compile(r"SAMPLE\(.*?\): (-?\d+)/(-?\d+): (0x[0-9a-f]+|0) period: \d+ "
                    r"addr: (0x[0-9a-f]+|0)")


def number(text):
    return int(text, 16)


def perf_line(text):
    """A line of perf script -D in the words of dump_recording.c; None: of no concern."""
    found = MMAP.match(text)
    if found:
        pid, tid, start, length, offset, _, mode, path = found.groups()
        return ("MMAP", int(pid), int(tid), number(start), number(length), number(offset),
                "x" in mode, path)
    found = SAMPLE.match(text)
    if found:
        pid, tid, ip, addr = found.groups()
        return ("SAMPLE", int(pid), int(tid), number(ip), number(addr))
    found = re.match(r"COMM( exec)?: (.*):(\d+)/(\d+)$", text)
    if found:
        return ("COMM", bool(found[1]), found[2], int(found[3]), int(found[4]))
    found = re.match(r"(FORK|EXIT)(\(.*\))$", text)
    if found:
        return (found[1], found[2])
    found = re.match(r"SWITCH(_CPU_WIDE)? (IN|OUT)( preempt)? *"
                     r"(?:(?:next|prev) pid/tid: +(-?\d+)/(-?\d+))?", text)
    if found:
        return ("SWITCH", found[2], bool(found[3]), int(found[4] or -1), int(found[5] or -1))
    found = re.match(r"LOST: id:\d+: lost:(\d+)", text)
    if found:
        return ("LOST", int(found[1]))
    assert not re.match(r"(MMAP|SAMPLE|COMM|FORK|EXIT|SWITCH|LOST:)", text), text
    return None


def our_line(text):
    found = re.match(r"MMAP (-?\d+)/(-?\d+): \[(\w+)\((\w+)\) @ (\w+)\] ([x-])([k-]) (.*) (\w*)$",
                     text)
    if found:
        pid, tid, start, length, offset, executable, _, path, _ = found.groups()
        return ("MMAP", int(pid), int(tid), number(start), number(length), number(offset),
                executable == "x", path)
    found = re.match(r"SAMPLE .* (-?\d+)/(-?\d+) ip (\w+) addr (\w+)", text)
    if found:
        return ("SAMPLE", int(found[1]), int(found[2]), number(found[3]), number(found[4]))
    found = re.match(r"COMM( exec)?: (.*):(\d+)/(\d+)$", text)
    if found:
        return ("COMM", bool(found[1]), found[2], int(found[3]), int(found[4]))
    found = re.match(r"(FORK|EXIT)(\(.*\))$", text)
    if found:
        return (found[1], found[2])
    found = re.match(r"SWITCH (IN|OUT)( preempt)? -?\d+/-?\d+ other (-?\d+)/(-?\d+)", text)
    if found:
        return ("SWITCH", found[1], bool(found[2]), int(found[3]), int(found[4]))
    found = re.match(r"LOST (\d+)", text)
    assert found, text
    return ("LOST", int(found[1]))


def perf_sideband(need, path):
    """Counter of (cpu, time, record) by perf script -D."""
    done = subprocess.run([need("perf"), "script", "-D", "-i", path], capture_output=True,
                          check=False, timeout=120)
    counter = collections.Counter()
    for line in done.stdout.decode(errors="replace").splitlines():
        head = HEAD.match(line)
        what = perf_line(head[3]) if head else None
        if what:
            numbers = [int(text) for text in head.groups()[:2] if text]
            counter[(numbers[-1] if numbers else 0, what)] += 1
    return counter


def our_sideband(lines):
    counter = collections.Counter()
    for line in lines:
        found = re.match(r"(\d+) (-?\d+) (.*)$", line)
        if found:
            counter[(int(found[1]), our_line(found[3]))] += 1
    return counter


def check_sorted(lines):
    times = [int(line.split()[0]) for line in lines if line[0].isdigit()]
    assert times == sorted(times)


def check_same(need, path, lines):
    wanted, found = perf_sideband(need, path), our_sideband(lines)
    assert wanted, "perf saw nothing"
    assert found - wanted == collections.Counter()
    assert wanted - found == collections.Counter()
    check_sorted(lines)
    assert " bad 0 " in lines[0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_perf_record_is_read_as_perf_reads_it(variant, record, dump, need):
    path = record(*VARIANTS[variant])
    lines = dump(path)
    assert lines[0].startswith("info pipe 0 truncated 0 bad 0")
    check_same(need, path, lines)


@pytest.mark.parametrize("variant", ["dummy", "two events", "whole machine", "by thread",
                                     "build ids in mappings", "packed"])
def test_perf_record_through_a_pipe(variant, dump, need, tmp_path):
    perf = need("perf", "linux-perf")
    path = tmp_path / "pipe.data"
    with open(path, "wb") as out:
        done = subprocess.run([perf, "record", "-N", "-B", "-o", "-", *VARIANTS[variant], "--",
                               *COMMAND], stdout=out, stderr=subprocess.PIPE, check=False,
                              timeout=60)
    if done.returncode:
        pytest.skip(f"perf record -o - {variant}: {done.stderr.decode().splitlines()[0]}")
    lines = dump(path)
    assert lines[0].startswith("info pipe 1 truncated 0 bad 0")
    with open(path, "rb") as data:
        assert dump("-", stdin=data) == lines  # a file on standard input
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        assert dump("-", stdin=cat.stdout) == lines  # a pipe
    check_same(need, path, lines)


def test_the_header_is_read(record, dump, need):
    lines = dump(record("-e", "cpu-clock:u", "-e", "dummy:u"))
    facts = dict(line.split(" ", 1) for line in lines[1:5])
    uname = subprocess.run(["uname", "-nr"], text=True, capture_output=True, check=True).stdout
    assert [facts["hostname"], facts["os_release"]] == uname.split()
    assert "perf record -N -B -o " in facts["cmdline"]
    assert re.match(r"\w+,\d+,\d+,\d+$", facts["cpuid"])
    assert [line for line in lines if line.startswith("event")] == ["event cpu-clock:u",
                                                                    "event dummy:u"]


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], text=True, capture_output=True, check=True)
    return re.search(r"Build ID: (\w+)", notes.stdout)[1]


@pytest.mark.parametrize("options", [["--buildid-mmap"], ["--buildid-all"]])
def test_mappings_have_their_build_ids(options, need, dump, tmp_path):
    need("readelf", "binutils")
    path = tmp_path / "perf.data"
    program = pathlib.Path("/bin/ls").resolve()
    done = subprocess.run([need("perf", "linux-perf"), "record", "-N", "-o", path, "-e",
                           "cpu-clock:u", *options, "--", program, "/"], capture_output=True,
                          text=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip(f"perf record {' '.join(options)}: {done.stderr.splitlines()[0]}")
    mappings = [line for line in dump(path) if f" x- {program} " in line]
    assert mappings
    assert all(line.endswith(" " + build_id_of(program)) for line in mappings)


def test_a_perf_record_that_was_killed(need, dump, tmp_path):
    path = tmp_path / "perf.data"
    perf = need("perf", "linux-perf")
    with subprocess.Popen([perf, "record", "-N", "-B", "-m", "1", "-F", "20000", "-o", path, "-e",
                           "cpu-clock", "--", "sh", "-c", "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done"],
                          stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and (not path.exists() or path.stat().st_size < 4096):
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    lines = dump(path)
    assert lines[0].startswith("info pipe 0 truncated 1 bad 0")
    assert any("COMM" in line for line in lines)


def test_a_directory_of_perf_record(need, dump, tmp_path):
    path = tmp_path / "perf.data"
    done = subprocess.run([need("perf", "linux-perf"), "record", "-N", "-B", "--threads", "-o",
                           path, "-e", "cpu-clock:u", "--", "/bin/true"], capture_output=True,
                          text=True, check=False, timeout=60)
    if done.returncode or not path.is_dir():
        pytest.skip("this perf record has no --threads")
    lines = dump(path)
    assert lines[0].startswith("info pipe 0 truncated 0 bad 0")
    assert any("COMM" in line for line in lines)
    assert "open the directory" in dump(path / "data")[0]
    (path / "data").unlink()
    assert "a directory without a file" in dump(path)[0]
