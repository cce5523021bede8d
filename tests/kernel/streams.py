# SPDX-License-Identifier: GPL-3.0-or-later
"""Intel PT traces to be played: what single-stepping recorded of a program, thread by thread, with
times of a processor in the place of a debugger's.  Packets are told apart by perf, not by our
code."""
import re
import struct
import subprocess

import branches

GOOD = 7  # the exit status of programs/*.c when all went well
TICKS = 16  # for each packet of the flow: about what a processor takes
CYC = bytes([TICKS << 3 | 3])
FLOW = ("TNT", "TIP", "TIP.PGE", "TIP.PGD", "FUP")
TIMING = ("CYC", "MTC", "TMA", "TSC")


def dumped(perf, recording):
    """perf's words on a recording."""
    return subprocess.run([perf, "script", "-i", recording, "-D"], text=True, check=True,
                          capture_output=True).stdout


def packets_of(dump):
    """{tid: [(name, bytes)]}"""
    threads, packets = {}, None
    for line in dump.splitlines():
        piece = re.search(r"PERF_RECORD_AUXTRACE size: .* tid: (\d+)", line)
        packet = re.match(r"\.  [0-9a-f]{8}: ((?: [0-9a-f]{2})+) +([A-Z][A-Za-z.]+)", line)
        if piece:
            packets = threads.setdefault(int(piece[1]), [])
        elif packet and packets is not None:
            packets.append((packet[2], bytes.fromhex(packet[1])))
    return threads


def retimed(packets):
    """The trace with TSC at PSBs alone and TICKS between the packets of the flow: its bytes, where
    the payloads of the TSC packets are, and how many ticks it takes."""
    trace, tsc_at, ticks = b"", [], 0
    for name, data in packets:
        if name in FLOW:
            trace += CYC
            ticks += TICKS
        if name not in TIMING:
            trace += data
        if name == "PSB":
            tsc_at.append(len(trace) + 1)
            trace += b"\x19" + struct.pack("<Q", ticks + 1)[:7]
    return trace, tsc_at, ticks


def write_stream(path, packets):
    """As tests/kernel/module/device.c takes it."""
    trace, tsc_at, ticks = retimed(packets)
    path.write_bytes(struct.pack(f"<QQQ{len(tsc_at)}I", ticks, len(tsc_at), len(trace), *tsc_at) +
                     trace)


def by_thread(branches):
    """Of {tid: branches} the branches, in the order of the numbers: those differ between runs."""
    return [of_one for _, of_one in sorted(branches.items())]


def record(mtdb, perf, program, life, work):
    """Streams beside the program, for it to play.  Returns what was seen, and the ratio of TSC to
    the bus clock that the streams speak of."""
    recording, log = work / "step.data", work / "branches"
    recording.unlink(missing_ok=True)
    done = subprocess.run([mtdb, "run", "--engine=step", "--history=0", "-o", work / "step.txt",
                           "--follow-forks", "--record", recording, "--branch-log", log, "--",
                           program, life], check=False, stderr=subprocess.PIPE, text=True)
    if done.returncode != GOOD or not recording.exists():
        raise SystemExit(f"check-kernel: {program.name} could not be recorded:\n{done.stderr}")
    dump = dumped(perf, recording)
    for number, (_, packets) in enumerate(sorted(packets_of(dump).items())):
        write_stream(program.with_name(f"{program.name}.pt.{number}"), packets)
    ratio = int(re.search(r"Max non-turbo ratio +(\d+)", dump)[1])
    return by_thread(branches.seen_of(log.read_text())), ratio
