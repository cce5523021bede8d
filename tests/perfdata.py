# SPDX-License-Identifier: GPL-3.0-or-later
"""perf.data files put together by hand, for layouts that this machine's perf record does not make.
Source: perf_event_open(2); linux/tools/perf/Documentation/perf.data-file-format.txt."""
import struct

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH_STACK = (
    1 << bit for bit in range(12))
REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR, PHYS_ADDR = (
    1 << bit for bit in range(12, 20))
WEIGHT_STRUCT = 1 << 24

SAMPLE_ID_ALL = 1 << 18

MMAP, LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, AUX, ITRACE_START = 1, 2, 3, 4, 7, 9, 10, 11, 12
SWITCH = 14
AUXTRACE_INFO, AUXTRACE, AUXTRACE_ERROR, TIME_CONV = 70, 71, 72, 79


def u32(*values):
    return struct.pack(f"<{len(values)}I", *(value & 0xffffffff for value in values))


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *(value & 0xffffffffffffffff for value in values))


def text(string):
    data = string.encode() + b"\0"
    return data + bytes(-len(data) % 8)


def record(kind, *body, misc=0):
    data = b"".join(body)
    return struct.pack("<IHH", kind, misc, 8 + len(data)) + data


def attr(sample_type, kind=1, config=9, size=128, flags=SAMPLE_ID_ALL, read_format=0,
         branch_type=0, regs_user=0, regs_intr=0, period=1):
    """A struct perf_event_attr of SIZE bytes, whichever the kernel's headers of the day had."""
    data = u32(kind, size) + u64(config, period, sample_type, read_format, flags) + u32(0, 0)
    data += u64(0, 0, branch_type, regs_user) + u32(0, 0) + u64(regs_intr)
    return (data + bytes(size))[:size]


def perfdata(attrs, records):
    """ATTRS: (attribute, ids) each; RECORDS: bytes each."""
    size = max(len(data) for data, _ in attrs)
    at = 104
    ids, table = b"", b""
    for data, numbers in attrs:
        table += data.ljust(size, b"\0") + u64(at + len(ids), 8 * len(numbers))
        ids += u64(*numbers)
    data = b"".join(records)
    start = at + len(ids) + len(table)
    header = b"PERFILE2" + u64(104, size + 16, at + len(ids), len(table), start, len(data), 0, 0,
                               0, 0, 0, 0)
    return header + ids + table + data
