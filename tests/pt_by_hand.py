# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel PT packets and recordings of them, put together by hand.  Times are TSC ticks and ns alike.
Source: Intel SDM vol. 3C, 33.4; linux/tools/perf/util/intel-pt.h."""
import struct
import subprocess

import perfdata as pd

FIELDS = pd.IDENTIFIER | pd.IP | pd.TID | pd.TIME | pd.CPU
SWITCH, SWITCH_CPU_WIDE = 14, 15
SWITCH_OUT, COMM_EXEC = 1 << 13, 1 << 13
PMU = 8
HEADER_FEATURE, CPUID = 80, 9

TNT_TT = b"\x0e"
PGD = b"\x01"


def ip(opcode, address):
    return bytes([6 << 5 | opcode]) + struct.pack("<Q", address)


def fup(address):
    return ip(0x1d, address)


def pge(address):
    return ip(0x11, address)


def psb(tsc):
    """And nothing of where control is: it is not traced."""
    return b"\x02\x82" * 8 + b"\x19" + struct.pack("<Q", tsc)[:7] + b"\x02\x23"


def mode(bits):
    return b"\x99" + bytes([{64: 1, 32: 2}[bits]])


class Program:
    """tests/fixtures/two_calls.S: from _start leaf is called twice, which runs up to `last`."""

    def __init__(self, path, bits=64):
        self.path, self.bits = path, bits
        names = subprocess.run(["nm", path], text=True, capture_output=True, check=True).stdout
        self.at = {words[2]: int(words[0], 16) for words in map(str.split, names.splitlines())}
        segments = subprocess.run(["readelf", "-lW", path], text=True, capture_output=True,
                                  check=True).stdout
        code = next(line.split() for line in segments.splitlines()
                    if "LOAD" in line and " E " in line)
        self.offset, self.start, self.size = (int(code[i], 16) for i in (1, 2, 4))

    def mapped(self, pid, time, cpu=0, start=None):
        return pd.record(pd.MMAP2, pd.u32(pid, pid),
                         pd.u64(start or self.start, 0x1000, self.offset),
                         pd.u32(8, 1), pd.u64(5, 0), pd.u32(5, 2), pd.text(str(self.path)),
                         sample_id(pid, pid, time, cpu))

    def run(self):
        """The packets of the way from _start to the last instruction."""
        return (mode(self.bits) + pge(self.at["_start"]) + TNT_TT + fup(self.at["last"]) + PGD)


def sample_id(pid, tid, time, cpu=0):
    return pd.u32(pid, tid) + pd.u64(time) + pd.u32(cpu, 0) + pd.u64(2)


def comm(tid, name, time=1):
    return pd.record(pd.COMM, pd.u32(tid, tid), pd.text(name), sample_id(tid, tid, time))


def switch(tid, time, cpu=0, out=False):
    return pd.record(SWITCH, sample_id(tid, tid, time, cpu), misc=SWITCH_OUT if out else 0)


def auxtrace(data, tid=-1, cpu=0, offset=0, idx=0):
    data += bytes(-len(data) % 8)
    return pd.record(pd.AUXTRACE, pd.u64(len(data), offset, 1), pd.u32(idx, tid, cpu, 0)) + data


def info(filters=""):
    text = pd.text(filters) if filters else b""
    return pd.record(pd.AUXTRACE_INFO, pd.u32(1, 0),
                     pd.u64(PMU, 10, 1024, 0, 1, 1 << 10, 1 << 11, 2, 0, 1, 1 << 9, 0xf << 14, 1, 1,
                            1 << 1, 20, len(filters)), text, pd.u64(0))


def cpuid(string):
    """Of the processor: "GenuineIntel,6,78,3"."""
    name = pd.text(string)
    return pd.record(HEADER_FEATURE, pd.u64(CPUID), pd.u32(len(name)), name)


def recording(records, filters=""):
    traced = pd.attr(FIELDS, kind=PMU, config=1 << 13 | 1 << 10 | 1)
    return pd.perfdata([(traced, [1]), (pd.attr(FIELDS), [2])], [info(filters), *records])
