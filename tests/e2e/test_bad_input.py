# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of our own that are cut off, garbled, or without their programs: a message, the right
status, no half-written file, no crash."""
import os
import random
import struct
import subprocess

import pytest

import fxt

pytestmark = pytest.mark.sanitize

STATIC = ["-O1", "-static"]


@pytest.fixture(name="recording")
def make_recording(run_mtdb, compile, tmp_path):
    """Of a crash, with two triggers before it; its program is a copy beside it."""
    program = tmp_path / "program"
    program.write_bytes(compile("deep.c", *STATIC).read_bytes())
    program.chmod(0o755)
    done = run_mtdb("run", "--engine=step", "-o", tmp_path / "good.fxt", "--record", tmp_path / "good.perf",
                    "-t", "a", "-t", "b", "--", program, "fault")
    assert done.returncode == 139
    (tmp_path / "good.fxt").unlink()
    return tmp_path / "good.perf"


def record_bounds(data):
    """Where each record of the data section begins; Intel PT behind AUXTRACE is no record."""
    start, size = struct.unpack_from("<QQ", data, 40)
    at, bounds = start, []
    while at + 8 <= start + size:
        bounds.append(at)
        kind, _, length = struct.unpack_from("<IHH", data, at)
        at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == 71 else 0)
    return bounds


def check_decode(run_mtdb, data, folder):
    """Whatever it is, it is decoded or refused."""
    recording, output = folder / "bad.perf", folder / "bad.fxt"
    recording.write_bytes(data)
    done = run_mtdb("decode", "-o", output, recording, timeout=60, errors="replace")
    assert done.returncode in (0, 1), done.stderr
    assert "bad.perf" in done.stderr or "bad.fxt" in done.stderr
    if done.returncode:
        assert not output.exists()
        assert "mtdb: " in done.stderr
    else:
        fxt.read(output)
        output.unlink()
    assert sorted(os.listdir(folder)) == ["bad.perf", "good.perf", "program"]


def test_cut_off_at_every_record(run_mtdb, recording, tmp_path):
    data = recording.read_bytes()
    bounds = record_bounds(data)
    assert len(bounds) > 15
    for at in bounds:
        check_decode(run_mtdb, data[:at], tmp_path)
    for at in bounds[:: len(bounds) // 6]:
        check_decode(run_mtdb, data[:at + 5], tmp_path)


def test_garbled_records(run_mtdb, recording, tmp_path):
    """Each record's header in turn says something else."""
    data = recording.read_bytes()
    chance = random.Random(1)
    for at in record_bounds(data):
        garbled = bytearray(data)
        garbled[at + chance.choice([0, 0, 4, 6, 7])] ^= 1 << chance.randrange(8)
        check_decode(run_mtdb, bytes(garbled), tmp_path)


def test_garbled_at_random(run_mtdb, recording, tmp_path):
    data = recording.read_bytes()
    chance = random.Random(2)
    for count in [1, 3, 30, 300, 3000] * 10:
        garbled = bytearray(data)
        for _ in range(count):
            garbled[chance.randrange(len(data))] = chance.randrange(256)
        check_decode(run_mtdb, bytes(garbled), tmp_path)


def test_without_its_program(run_mtdb, recording, tmp_path):
    """Nothing of the code is known: a timeline of gaps, and a word of what lacks."""
    (tmp_path / "program").unlink()
    done = run_mtdb("decode", "-o", tmp_path / "out.fxt", recording)
    assert done.returncode == 0
    assert f"{tmp_path}/program" in done.stderr
    trace = fxt.read(tmp_path / "out.fxt")
    assert not any(piece.name == "main" for piece in trace.slices())
    assert "SIGSEGV" in [one.name for one in trace.instants()]


def test_with_another_program(run_mtdb, recording, tmp_path, compile):
    """The build id differs: its code is not what ran, and must not be taken for it."""
    (tmp_path / "program").write_bytes(compile("deep.c", "-O2", "-static").read_bytes())
    done = run_mtdb("decode", "-o", tmp_path / "out.fxt", recording)
    assert done.returncode == 0
    assert f"{tmp_path}/program" in done.stderr and "build ID" in done.stderr
    trace = fxt.read(tmp_path / "out.fxt")
    assert not any(piece.name == "main" for piece in trace.slices())


def test_a_full_disk(run_mtdb, recording, tmp_path, need):
    if os.geteuid():
        pytest.skip("mounting a small disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run([need("mount"), "-t", "tmpfs", "-o", "size=8k", "none", disk],
                           check=False, capture_output=True)
    if mount.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        program = tmp_path / "program"
        decoded = run_mtdb("decode", "-o", disk / "out.fxt", recording)
        ran = run_mtdb("run", "--engine=step", "-o", disk / "out.fxt", "--", program, "fault")
        kept = run_mtdb("run", "--engine=step", "-o", tmp_path / "out.fxt", "--record", disk / "out.perf", "-t", "a",
                        "--", program, "fault")
        left = os.listdir(disk)
    finally:
        subprocess.run(["umount", disk], check=True)
    assert (decoded.returncode, ran.returncode, kept.returncode) == (1, 125, 125)
    for done in (decoded, ran, kept):
        assert "No space left" in done.stderr
    assert left == []
