# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory in which a program makes code is told of once, wherever it lies among what is known.
Source of the record's layout: perf_event_open(2), PERF_RECORD_MMAP2."""
import re
import struct

PAGE = 4096
COUNT = 200


def test_each_of_many_is_told_once(compile, run_mtdb, tmp_path):
    program = compile("made_maps.c", "-O2")
    record = tmp_path / "made.perf"
    ran = run_mtdb("run", "-e", "calls", "-t", "taken", "-r", record, "-o", tmp_path / "out.fxt",
                   "--", program, COUNT)
    assert ran.returncode == 0, ran.stderr
    base = int(ran.stdout, 16)
    records = re.findall(r"^0x([0-9a-f]+) MMAP2 ", run_mtdb("dump", "-r", record).stdout, re.M)
    data = record.read_bytes()
    told = [struct.unpack_from("<QQ", data, int(at, 16) + 16) for at in records]
    within = [one for one in told if base <= one[0] < base + (2 * COUNT + 1) * PAGE]
    assert sorted(within) == [(base + (2 * i + 1) * PAGE, PAGE) for i in range(COUNT)]
