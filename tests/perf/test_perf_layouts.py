# SPDX-License-Identifier: GPL-3.0-or-later
"""Layouts that perf record does not make on this machine: recordings put together by hand."""
import subprocess

import perfdata as pd
import pytest

ALL_IDS = pd.IDENTIFIER | pd.TID | pd.TIME | pd.ID | pd.STREAM_ID | pd.CPU


@pytest.fixture(name="read")
def read_fixture(dump, tmp_path):
    """read(attrs, records) -> the lines of dump_recording.c, first the one of counters."""

    def run(attrs, records, *words):
        path = tmp_path / "perf.data"
        path.write_bytes(pd.perfdata(attrs, records))
        return dump(path, *words)

    return run


def sample_id(fields, pid=7, tid=8, time=9, number=1, cpu=2):
    """struct sample_id"""
    data = b""
    if fields & pd.TID:
        data += pd.u32(pid, tid)
    if fields & pd.TIME:
        data += pd.u64(time)
    if fields & pd.ID:
        data += pd.u64(number)
    if fields & pd.STREAM_ID:
        data += pd.u64(77)
    if fields & pd.CPU:
        data += pd.u32(cpu, 0)
    if fields & pd.IDENTIFIER:
        data += pd.u64(number)
    return data


def comm(fields, name="prog", **values):
    return pd.record(pd.COMM, pd.u32(7, 8), pd.text(name), sample_id(fields, **values))


@pytest.mark.parametrize("fields", [0, pd.TID, pd.TIME, pd.TID | pd.TIME, pd.CPU | pd.TIME,
                                    pd.ID | pd.TIME, pd.STREAM_ID | pd.TIME, ALL_IDS,
                                    ALL_IDS & ~pd.IDENTIFIER, ALL_IDS & ~pd.TIME])
def test_sample_ids(fields, read):
    lines = read([(pd.attr(fields), [1])], [comm(fields)])
    assert lines[0].startswith("info pipe 0 truncated 0 bad 0")
    time = 9 if fields & pd.TIME else 0
    cpu = 2 if fields & pd.CPU else -1
    assert lines[-1] == f"{time} {cpu} COMM: prog:7/8"


def test_no_sample_ids(read):
    lines = read([(pd.attr(ALL_IDS, flags=0), [1])], [comm(0)])
    assert lines[-1] == "0 -1 COMM: prog:7/8"


def check_perf_agrees(need, path):
    """That perf finds the same behind the parts between, so that they are put together right."""
    done = subprocess.run([need("perf", "linux-perf"), "script", "-D", "-i", path], text=True,
                          capture_output=True, check=False)
    assert "7/8: 0x401000 period: 1000 addr: 0xadd\n" in done.stdout
    assert "\n ... weight: 4242" in done.stdout.replace("\n...", "\n ...").replace(",", "\n")


def read_values(read_format):
    """struct read_format, of a group of two"""
    count = bin(read_format & 0b10100).count("1") + 1
    times = bin(read_format & 0b11).count("1")
    if read_format & 0b1000:
        return pd.u64(2, *[5] * times, *[6] * 2 * count)
    return pd.u64(6, *[5] * times, *[6] * (count - 1))


# What stands between the period and the weight: its sample_type, attributes and bytes.
PARTS = {
    "nothing": (0, {}, b""),
    "value": (pd.READ, {"read_format": 0b00100}, read_values(0b00100)),
    "value with all": (pd.READ, {"read_format": 0b10111}, read_values(0b10111)),
    "group": (pd.READ, {"read_format": 0b01100}, read_values(0b01100)),
    "group with all": (pd.READ, {"read_format": 0b11111}, read_values(0b11111)),
    "call chain": (pd.CALLCHAIN, {}, pd.u64(3, 1, 2, 3)),
    "raw": (pd.RAW, {}, pd.u32(12) + bytes(12)),
    "branches": (pd.BRANCH_STACK, {}, pd.u64(2, *range(6))),
    "branches with index": (pd.BRANCH_STACK, {"branch_type": 1 << 17}, pd.u64(2, 0, *range(6))),
    "branches with counters": (pd.BRANCH_STACK, {"branch_type": 1 << 19}, pd.u64(2, *range(8))),
    "registers": (pd.REGS_USER, {"regs_user": 0b1011}, pd.u64(2, 1, 2, 3)),
    "no registers": (pd.REGS_USER, {"regs_user": 0b1011}, pd.u64(0)),
    "stack": (pd.STACK_USER, {}, pd.u64(16, 1, 2, 16)),
    "no stack": (pd.STACK_USER, {}, pd.u64(0)),
    "much": (pd.READ | pd.CALLCHAIN | pd.RAW | pd.BRANCH_STACK | pd.REGS_USER | pd.STACK_USER,
             {"regs_user": 1, "read_format": 0b00100},
             pd.u64(1, 2) + pd.u64(1, 2) + pd.u32(4, 0) + pd.u64(0) + pd.u64(1, 5) + pd.u64(0)),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("weight", [pd.WEIGHT, pd.WEIGHT_STRUCT])
def test_samples(part, weight, read, need, tmp_path):
    between, options, data = PARTS[part]
    fields = (pd.IDENTIFIER | pd.IP | pd.TID | pd.TIME | pd.ADDR | pd.ID | pd.STREAM_ID | pd.CPU |
              pd.PERIOD | between | weight | pd.DATA_SRC | pd.TRANSACTION | pd.REGS_INTR |
              pd.PHYS_ADDR)
    start = (pd.u64(1, 0x401000) + pd.u32(7, 8) + pd.u64(9, 0xadd, 1, 77) + pd.u32(2, 0) +
             pd.u64(1000))
    weights = pd.u64(4242) if weight == pd.WEIGHT else pd.u32(4242, 0x00110022)
    end = pd.u64(0, 0, 0, 0xfff)
    body = [start, data, weights, end]
    raw = 0
    if between & pd.RAW:
        raw = 12 if part == "raw" else 4
    attrs = [(pd.attr(fields, **options), [1])]
    lines = read(attrs, [pd.record(pd.SAMPLE, *body)])
    assert lines[0].startswith("info pipe 0 truncated 0 bad 0")
    assert lines[-1] == ("9 2 SAMPLE type 1, config 0x9 7/8 ip 401000 addr add "
                         f"weight 4242 raw {raw}")
    if part != "branches with counters":  # newer than many a perf
        check_perf_agrees(need, tmp_path / "perf.data")
    # The same, cut off before its weight is whole: left out and counted.
    short = pd.record(pd.SAMPLE, start, data, weights[:4])
    lines = read(attrs, [short, comm(fields & ALL_IDS)])
    if weight == pd.WEIGHT:
        assert " bad 1 " in lines[0]
    assert lines[-1] == "9 2 COMM: prog:7/8"


@pytest.mark.parametrize("key", [pd.IDENTIFIER, pd.ID])
def test_records_go_to_the_event_with_their_id(key, read):
    first = key | pd.TID | pd.TIME
    second = key | pd.TID | pd.TIME | pd.PERIOD
    attrs = [(pd.attr(first, config=1), [10, 11]), (pd.attr(second, config=2), [20, 21])]

    def sample(number, *end):
        values = [pd.u32(7, 8), pd.u64(9)]
        values.insert(0 if key == pd.IDENTIFIER else 2, pd.u64(number))
        return pd.record(pd.SAMPLE, *values, *end)

    lines = read(attrs, [sample(21, pd.u64(1)), sample(11), sample(99), sample(0)])
    assert " bad 1 " in lines[0]  # 99 is nobody's
    assert [line.split(" 7/8")[0] for line in lines if "SAMPLE" in line] == [
        "9 -1 SAMPLE type 1, config 0x2", "9 -1 SAMPLE type 1, config 0x1",
        "9 -1 SAMPLE type 1, config 0x1"]


@pytest.mark.parametrize("size", [64, 72, 80, 96, 104, 112, 120, 128, 136, 200])
def test_attributes_of_all_sizes(size, read):
    lines = read([(pd.attr(pd.TIME | pd.TID, size=size), [1])], [comm(pd.TIME | pd.TID)])
    assert lines[-1] == "9 -1 COMM: prog:7/8"


def test_records_that_are_of_no_concern(read):
    unknown = [pd.record(kind, bytes(64)) for kind in (5, 6, 8, 16, 17, 18, 19, 20, 21, 22, 63, 68,
                                                       69, 73, 74, 75, 76, 77, 82, 84, 99, 4000)]
    lines = read([(pd.attr(pd.TID), [1])], [*unknown, comm(pd.TID)], "records")
    assert lines[0].startswith("info pipe 0 truncated 0 bad 0")
    assert "0 -1 COMM: prog:7/8" in lines
    names = [line.split()[-1] for line in lines if line.startswith("record")]
    assert names[:9] == ["THROTTLE", "UNTHROTTLE", "READ", "NAMESPACES", "KSYMBOL", "BPF_EVENT",
                         "CGROUP", "TEXT_POKE", "AUX_OUTPUT_HW_ID"]
    assert names[-3:] == ["unknown", "unknown", "COMM"]


def test_mappings(read):
    def mapping(kind, misc, *rest):
        return pd.record(kind, pd.u32(7, 8), pd.u64(0x1000, 0x2000, 0x3000), *rest, misc=misc)

    identity = pd.u32(1, 2) + pd.u64(3, 4)
    build_id = bytes([4, 0, 0, 0]) + bytes.fromhex("deadbeef") + bytes(16)
    lines = read([(pd.attr(0), [1])], [
        mapping(pd.MMAP, 2, pd.text("/code")),
        mapping(pd.MMAP, 2 | 1 << 13, pd.text("/data")),
        mapping(pd.MMAP, 1, pd.text("[kernel.kallsyms]_text")),
        mapping(pd.MMAP, 4, pd.text("[guest.kernel.kallsyms]")),
        mapping(pd.MMAP2, 2, identity, pd.u32(5, 2), pd.text("/code2")),
        mapping(pd.MMAP2, 2, identity, pd.u32(1, 2), pd.text("/data2")),
        mapping(pd.MMAP2, 2 | 1 << 14, build_id, pd.u32(5, 2), pd.text("/built")),
        mapping(pd.MMAP2, 2 | 1 << 14, b"\x15" + build_id[1:], pd.u32(5, 2), pd.text("/bad")),
        mapping(pd.MMAP2, 2, identity, pd.u32(5)),  # too short
        mapping(pd.MMAP2, 2, identity, pd.u32(5, 2), b"unended!"),
    ])
    assert " bad 2 " in lines[0]
    place = "0 -1 MMAP 7/8: [0x1000(0x2000) @ 0x3000]"
    assert lines[-7:] == [
        f"{place} x- /code ", f"{place} -- /data ", f"{place} xk [kernel.kallsyms]_text ",
        f"{place} x- /code2 ", f"{place} -- /data2 ", f"{place} x- /built deadbeef",
        f"{place} x- unended! "]


def test_traces_by_cpu(read):
    info = pd.record(pd.AUXTRACE_INFO, pd.u32(1, 0),
                     pd.u64(8, 31, 5, 6, 1, 1 << 10, 1 << 11, 3, 1, 1, 1 << 9, 0xf << 14, 3, 2,
                            1 << 1, 12, 0, 0))
    piece = pd.record(pd.AUXTRACE, pd.u64(16, 4096, 99), pd.u32(3, -1, 1, 0)) + bytes(16)
    aux = pd.record(pd.AUX, pd.u64(1, 2, 5))
    lines = read([(pd.attr(0, kind=8, config=0x300e601), [1])], [info, piece, aux])
    assert "AUXTRACE size: 0x10  offset: 0x1000  ref: 0x63  idx: 3  tid: -1  cpu: 1" in lines
    assert lines[-1] == "0 -1 AUX offset: 0x1 size: 0x2 flags: 0x5"
    assert "conversion 31 5 6" in lines
    assert ("pt 1 tsc 1 mtc 1 cyc 0 ret 1 kernel 1 per_cpu 1 snapshot 1 period 3 ratio 12 ctc 3/2 "
            "cpu 0 0/0/0") in lines


def filtered_info(text, length=None):
    """AUXTRACE_INFO with the text of address filters."""
    return pd.record(pd.AUXTRACE_INFO, pd.u32(1, 0), pd.u64(8, 31, 5, 6, *[0] * 12),
                     pd.u64(len(text) if length is None else length), pd.text(text), pd.u64(1))


def filters_of(lines):
    return [line.removeprefix("filter ") for line in lines if line.startswith("filter ")]


@pytest.mark.parametrize("text,filters", [
    ("filter 0x1139/0x20@/usr/bin/ls", ["0 0x1139/0x20 /usr/bin/ls"]),
    ("filter 0x1139/0x20@/a,stop 0x10/0x8@/b,filter 0xffffffff81000000/0x40",
     ["0 0x1139/0x20 /a", "1 0x10/0x8 /b", "0 0xffffffff81000000/0x40 (null)"]),
    # as people may write it
    (" filter  4409 / 32 @ /usr/bin/ls  tracestop 0x1 / 2\n", ["0 0x1139/0x20 /usr/bin/ls",
                                                               "1 0x1/0x2 (null)"]),
    (",".join(["filter 1/1@/a"] * 7), ["0 0x1/0x1 /a"] * 7),
])
def test_address_filters(read, text, filters):
    lines = read([(pd.attr(0), [1])], [filtered_info(text)])
    assert " bad 0 " in lines[0] and filters_of(lines) == filters
    assert "conversion 0 0 0" in lines and lines[6].startswith("pt 1 ")


@pytest.mark.parametrize("text,length", [
    ("filter", None), ("filter ", None), ("filter main", None), ("filter 1/2@", None),
    ("filter 1/2@ ", None), ("filter 1@/a", None), ("filter 1/0@/a", None), ("filter -1/2", None),
    ("filter 1/-2", None), ("filter 2/0xffffffffffffffff@/a", None),
    ("filter 1/0x1ffffffffffffffff", None), ("filters 1/2@/a", None),
    ("start 1/2@/a", None), ("filter 1/2@/a,start 3@/a", None), ("filter 1/2/3", None),
    (",".join(["filter 1/1@/a"] * 8), None), ("filter 1/2@/a", 0xffffffffffffffff),
    ("filter 1/2@/a", 1 << 40), ("filter 1/2@/a", 200), ("filter 1/2@/a,filter", None),
])
def test_address_filters_that_cannot_be_read_filter_nothing(read, text, length):
    lines = read([(pd.attr(0), [1])], [filtered_info(text, length), filtered_info("")])
    assert " bad 1 " in lines[0] and not filters_of(lines)
    lines = read([(pd.attr(0), [1])], [filtered_info("filter 1/1@/x"), filtered_info(text, length)])
    assert " bad 1 " in lines[0] and not filters_of(lines)
    assert lines[6].startswith("pt 1 ")


def test_another_trace_is_no_intel_pt(read):
    lines = read([(pd.attr(0), [1])], [pd.record(pd.AUXTRACE_INFO, pd.u32(3, 0), pd.u64(8, 1))])
    assert any(line.startswith("pt 0 ") for line in lines)


def test_time_conversion(read):
    lines = read([(pd.attr(0), [1])], [pd.record(pd.TIME_CONV, pd.u64(31, 5, 6))])
    assert "conversion 31 5 6" in lines
    for known, wanted in ((1, "31 5 6"), (0, "0 0 0")):
        conversion = pd.record(pd.TIME_CONV, pd.u64(31, 5, 6, 0, 0, known))
        assert f"conversion {wanted}" in read([(pd.attr(0), [1])], [conversion])
    lines = read([(pd.attr(0), [1])], [pd.record(pd.TIME_CONV, pd.u64(64, 5, 6))])
    assert "conversion 0 0 0" in lines
    assert " bad 1 " in lines[0]


def test_trace_errors_old_and_new(read):
    start = pd.u32(1, 2, 3, 7, 8)
    lines = read([(pd.attr(0), [1])], [
        pd.record(pd.AUXTRACE_ERROR, start, pd.u32(0), pd.u64(0x44), b"old".ljust(64, b"\0")),
        pd.record(pd.AUXTRACE_ERROR, start, pd.u32(1), pd.u64(0x44, 55), b"n" * 64),
        pd.record(pd.AUXTRACE_ERROR, start, pd.u32(2), pd.u64(0x44, 55), b"new".ljust(64, b"\0"),
                  pd.u32(1, 2)),
    ])
    assert lines[-3:] == ["0 3 ERROR 7/8 0x44 old", f"55 3 ERROR 7/8 0x44 {'n' * 64}",
                          "55 3 ERROR 7/8 0x44 new"]


def test_what_was_lost(read):
    lines = read([(pd.attr(0), [1])], [pd.record(pd.LOST, pd.u64(1, 5)),
                                       pd.record(13, pd.u64(6))])
    assert " lost 11 " in lines[0]
    assert lines[-1] == "0 -1 LOST 5"
