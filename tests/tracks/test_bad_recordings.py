# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings with tracks that are garbled or cut off: whatever it is, it is decoded or refused."""
import collections
import os
import random
import re
import struct

import pytest

import fxt

pytestmark = pytest.mark.sanitize


@pytest.fixture(name="good", scope="module")
def good_recording(run_mtdb, compile, debug_registers_hit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    watch = ["--watch", "counter"] if debug_registers_hit else []
    program = compile("watched.c", "-O1", "-pthread", "-D_GNU_SOURCE", "-static", output="static")
    done = run_mtdb("run", "--engine", "calls", "--events", "sched,faults", "--counter",
                    "page-faults", *watch, "-o", folder / "good.fxt", "-r",
                    folder / "good.perf", "--", program, "1")
    if done.returncode == 125:
        pytest.skip(done.stderr)
    return folder / "good.perf"


def check(run_mtdb, folder, data):
    recording, output = folder / "bad.perf", folder / "bad.fxt"
    output.unlink(missing_ok=True)
    recording.write_bytes(data)
    done = run_mtdb("decode", "-o", output, recording, errors="replace")
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 0:
        fxt.read(output)
    else:
        assert not output.exists()


def test_garbled(run_mtdb, good, tmp_path):
    """Behind the header, where the notes are."""
    data = good.read_bytes()
    chance = random.Random(1)
    for _ in range(25):
        bad = bytearray(data)
        for _ in range(20):
            bad[chance.randrange(4096, len(bad))] = chance.choice([0, 1, 0x7F, 0xFF])
        check(run_mtdb, tmp_path, bytes(bad))


def test_cut_off(run_mtdb, good, tmp_path):
    data = good.read_bytes()
    for part in range(1, 10):
        check(run_mtdb, tmp_path, data[:os.path.getsize(good) * part // 10])


def test_numbers_of_no_thread(run_mtdb, good, tmp_path):
    """As a number below 256 becomes where one byte of it is lost."""
    data = good.read_bytes()
    # A process's number, and that of its first thread.
    pairs = collections.Counter(
        pair for pair in re.findall(rb"(?s)(?=(.{4})\1)", data[4096:])
        if 1 < struct.unpack("<I", pair)[0] < 1 << 22)
    pid = struct.unpack("<I", pairs.most_common(1)[0][0])[0]
    for tid in (0, 1 << 22, (1 << 32) - 1):
        bad = data[4096:].replace(struct.pack("<II", pid, pid), struct.pack("<II", pid, tid))
        assert bad != data[4096:]
        check(run_mtdb, tmp_path, data[:4096] + bad)


def test_strings_without_an_end(run_mtdb, compile, tmp_path):
    """Where a trigger was hit is told in strings, one behind another."""
    run_mtdb("run", "--engine", "step", "--trigger", "b", "-o", tmp_path / "good.fxt", "-r",
             tmp_path / "good.perf", "--", compile("deep.c", "-O1", "-static"), "abort")
    data = (tmp_path / "good.perf").read_bytes()
    start = data.index(b"b\0\0\0rax=")
    end = start + struct.unpack("<I", data[start - 4:start])[0]
    check(run_mtdb, tmp_path, data[:start] + data[start:end].replace(b"\0", b"x") + data[end:])
