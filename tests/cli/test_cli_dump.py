# SPDX-License-Identifier: GPL-3.0-or-later
"""mtdb dump against a recording of real hardware, and against what perf sees in it."""
import re
import subprocess

import pytest

LINE = re.compile(r"^(0x[0-9a-f]+) (  )?(\S.*)$")


@pytest.fixture(name="recording", scope="module")
def recording_fixture(recordings):
    return next((recordings / "quipper").glob("perf.data*"))


def dumped(run_mtdb, *words):
    done = run_mtdb("dump", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [LINE.match(line).groups() for line in done.stdout.splitlines()]


def test_packets_of_real_hardware(run_mtdb, recording):
    packets = [text for _, _, text in dumped(run_mtdb, "--packets", recording)]
    assert packets.count("PSB") == 10
    bits = [re.fullmatch(r"TNT ([TN]+) \((\d+)\)", text) for text in packets if text[:3] == "TNT"]
    assert sum(len(match[1]) for match in bits) == sum(int(match[2]) for match in bits) == 377248
    assert not [text for text in packets if "not a packet" in text or "truncated packet" in text]


def test_offsets_are_those_of_the_file(run_mtdb, recording):
    contents = recording.read_bytes()
    for offset, _, text in dumped(run_mtdb, "--packets", recording):
        if text == "PSB":
            assert contents[int(offset, 16):].startswith(b"\x02\x82" * 8)


def test_records_as_perf_sees_them(run_mtdb, recording, need):
    need("perf", "linux-perf")
    raw = subprocess.run(["perf", "script", "-D", "-i", recording], capture_output=True, text=True,
                         check=False).stdout
    perf = re.findall(r"(0x[0-9a-f]+) \[0x[0-9a-f]+\]: PERF_RECORD_(\w+)", raw)
    ours = [(offset, text) for offset, inner, text in dumped(run_mtdb, "--records", recording)
            if not inner]
    ours = {int(offset, 16): text.split()[0] for offset, text in ours}
    assert len(perf) > 50
    assert {int(offset, 16): name for offset, name in perf}.items() <= ours.items()


def test_all_is_records_and_packets(run_mtdb, recording):
    everything = dumped(run_mtdb, recording)
    assert everything == dumped(run_mtdb, "-p", "-r", recording)
    apart = dumped(run_mtdb, "-p", recording) + dumped(run_mtdb, "-r", recording)
    assert sorted(apart) == sorted(everything)
    offsets = [int(offset, 16) for offset, _, _ in everything]
    assert offsets == sorted(offsets)


def test_from_standard_input(run_mtdb, recording):
    with open(recording, "rb") as file:
        done = run_mtdb("dump", "-r", "-", stdin=file)
    assert done.stdout == run_mtdb("dump", "-r", recording).stdout


@pytest.mark.sanitize
def test_a_recording_that_is_cut_off(run_mtdb, recording, tmp_path):
    contents = recording.read_bytes()
    path = tmp_path / "cut.perf"
    for size in [*range(0, 1200, 97), len(contents) // 2, len(contents) - 1]:
        path.write_bytes(contents[:size])
        done = run_mtdb("dump", path)
        assert done.returncode in (0, 1)
        assert done.returncode == 0 or str(path) in done.stderr
