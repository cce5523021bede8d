# SPDX-License-Identifier: GPL-3.0-or-later
"""`mtdb run --engine pt` on a machine without Intel PT: a stand-in for the kernel is preloaded, whose
processor plays the packets that the engine `step` made of the same program."""
import os
import struct
import subprocess

import pytest

import fxt
from branches import decoded_by_perf, our_decoder, seen_of

AUXTRACE_INFO, AUXTRACE = 70, 71
SHIFT, MULT, ZERO = 1, 2, 3
MTC_FREQ_BITS, TSC_CTC_N, TSC_CTC_D, MAX_NONTURBO, FILTER_STR_LEN = 11, 12, 13, 15, 16
MTC_PERIOD = 12  # of the engine step


def records(path):
    """(type, body, what follows it) of each record of a perf.data file."""
    data = path.read_bytes()
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        body, at = data[at + 8:at + length], at + length
        extra = struct.unpack_from("<Q", body)[0] if kind == AUXTRACE else 0
        yield kind, body, data[at:at + extra], at
        at += extra


def auxtrace_info(path):
    """The numbers of Intel PT's AUXTRACE_INFO."""
    body = next(body for kind, body, _, _ in records(path) if kind == AUXTRACE_INFO)
    return struct.unpack_from(f"<{(len(body) - 8) // 8}Q", body, 8)


def pieces(path):
    """[(tid, place in the file, bytes)] of the AUX data."""
    return [(struct.unpack_from("<I", body, 28)[0], at, extra)
            for kind, body, extra, at in records(path) if kind == AUXTRACE]


def without_psb(packets, data):
    """A piece as the processor makes it of a window that goes on: it begins without a PSB."""
    psbend = next(at for at, kind in packets if kind == "PSBEND")
    assert packets[0] == (0, "PSB")
    data = data[16:psbend] + data[psbend + 2:]
    return [(at - 16 if at < psbend else at - 18, kind) for at, kind in packets
            if at not in (0, psbend)], data


@pytest.fixture
def filters_of():
    """filters_of(recording): the text behind the numbers of AUXTRACE_INFO."""

    def read(path):
        body = next(body for kind, body, _, _ in records(path) if kind == AUXTRACE_INFO)
        numbers = 8 + 8 * (FILTER_STR_LEN + 1)
        (length,) = struct.unpack_from("<Q", body, numbers - 8)
        return body[numbers:numbers + length].decode()

    return read


@pytest.fixture
def put_play(run_mtdb):
    """put_play(recording, folder, later_psb): what the stand-in plays, and the sysfs of its
    processor."""

    def put(recording, folder, later_psb):
        packets = [(int(line.split()[0], 16), line.split()[1]) for line in run_mtdb(
            "dump", "--packets", recording).stdout.splitlines() if line.startswith("0x")]
        threads = {tid: [] for tid in sorted({tid for tid, _, _ in pieces(recording)})}
        for tid, begin, data in pieces(recording):
            thread = threads[tid]
            inside = [(at - begin, name) for at, name in packets
                      if begin <= at < begin + len(data)]
            if thread and not later_psb:
                inside, data = without_psb(inside, data)
            name = folder / "play" / f"{list(threads).index(tid)}.{len(thread)}"
            name.parent.mkdir(parents=True, exist_ok=True)
            name.write_bytes(data)
            places = [at for at, kind in inside if kind == "TSC"]
            name.with_name(f"{name.name}.tsc").write_bytes(
                struct.pack(f"<{len(places)}I", *places))
            thread.append(data)
        info = auxtrace_info(recording)
        write_sysfs(folder / "root", mtc_periods=f"{1 << MTC_PERIOD:x}",
                  tsc_art_ratio=f"{info[TSC_CTC_N]}:{info[TSC_CTC_D]}",
                  max_nonturbo_ratio=info[MAX_NONTURBO])
        return threads

    return put


def write_sysfs(root, tsc_art_ratio="216:2", max_nonturbo_ratio=24, **other_caps):
    """What the kernel tells of a Skylake, with other clocks and capabilities."""
    bits = {"pt": 0, "cyc": 1, "pwr_evt": 4, "fup_on_ptw": 5, "mtc": 9, "tsc": 10, "noretcomp": 11,
            "ptw": 12, "branch": 13, "mtc_period": "14-17", "cyc_thresh": "19-22",
            "psb_period": "24-27"}
    caps = {"psb_cyc": 1, "mtc": 1, "ip_filtering": 1, "num_address_ranges": 2, "ptwrite": 1,
            "power_event_trace": 1, "mtc_periods": "249", "cycle_thresholds": "3f",
            "psb_periods": "3f", **other_caps}
    device = root / "sys/bus/event_source/devices/intel_pt"
    files = {"type": 8, "max_nonturbo_ratio": max_nonturbo_ratio, "tsc_art_ratio": tsc_art_ratio,
             "nr_addr_filters": 2}
    files.update({f"format/{name}": f"config:{bit}" for name, bit in bits.items()})
    files.update({f"caps/{name}": value for name, value in caps.items()})
    for name, text in files.items():
        (device / name).parent.mkdir(parents=True, exist_ok=True)
        (device / name).write_text(f"{text}\n")


@pytest.fixture
def put_sysfs(tmp_path):
    """put_sysfs(ptwrite=0, …): the stand-in's processor, and what it cannot do."""

    def put(**caps):
        write_sysfs(tmp_path / "root", **caps)

    return put


@pytest.fixture
def run_pt(mtdb, compile, tmp_path):
    """run_pt("run", …, COUNTS=1) -> CompletedProcess of mtdb over the stand-in, which is told by
    the variables PT_STANDIN_…; without address randomization."""
    standin = compile("pt_standin.c", "-shared", "-fPIC", "-O1", output="standin.so")

    def prepare(*words, **settings):
        if not (tmp_path / "root").exists():
            write_sysfs(tmp_path / "root")
        settings = {"SYSFS": tmp_path / "root", "PLAY": tmp_path / "play", **settings}
        environment = {f"PT_STANDIN_{name}": str(value) for name, value in settings.items()}
        return {"args": ["setarch", "-R", "env", f"LD_PRELOAD={standin}", str(mtdb),
                         *map(str, words)],
                "env": {**os.environ, **environment}, "text": True, "cwd": tmp_path}

    def run(*words, timeout=120, **settings):
        return subprocess.run(**prepare(*words, **settings), capture_output=True, timeout=timeout,
                              check=False)

    run.start = lambda *words, **more: subprocess.Popen(**prepare(*words), **more)
    return run


def by_birth(threads):
    """What {tid: …} holds, the first thread's first."""
    return [threads[tid] for tid in sorted(threads)]


class Played:
    """What single-stepping saw, and what came of the same through the engine pt."""

    def __init__(self, seen, stepped, done, recording, output):
        self.seen = by_birth(seen)
        self.stepped = stepped
        self.done = done
        self.recording = recording
        self.output = output

    @property
    def trace(self):
        return fxt.read(self.output)


@pytest.fixture(scope="session")
def step(mtdb, tmp_path_factory):
    """step(program, argument, …, options=[…]) -> (recording, log of branches) of the engine step.

    Addresses are the same each time, so the same words are stepped once."""
    made = {}

    def run(*words, options=()):
        key = tuple(map(str, [*options, "--", *words]))
        if key not in made:
            folder = tmp_path_factory.mktemp("stepped")
            stepped, log = folder / "stepped.data", folder / "branches"
            done = subprocess.run(
                ["setarch", "-R", mtdb, "run", "--engine=step", "--history=0", "--record", stepped,
                 "-o", folder / "stepped.fxt", "--branch-log", log, *key],
                text=True, capture_output=True, check=False, cwd=folder)
            assert stepped.exists(), done.stderr
            made[key] = stepped, log
        return made[key]

    return run


@pytest.fixture
def play(run_pt, put_play, step, tmp_path):
    """play(program, argument, …, options=[…], step_options=[…], COUNTS=1 …) -> Played."""

    def run(*words, options=(), step_options=(), later_psb=True, **settings):
        stepped, log = step(*words, options=step_options)
        put_play(stepped, tmp_path, later_psb)
        recording, output = tmp_path / "pt.data", tmp_path / "pt.fxt"
        done = run_pt("run", "--engine=pt", "--history=0", "--record", recording, "-o", output,
                      *options, "--", *words, **settings)
        assert recording.exists(), done.stderr
        return Played(seen_of(log.read_text()), stepped, done, recording, output)

    return run


@pytest.fixture
def decoders(need, compile, build, request):
    """[our own, perf's]: from a recording to the branches of each thread, in its order."""
    perf = need("perf", "linux-perf")
    ours = our_decoder(compile, build, request.config.rootpath.parent)
    return [lambda path: by_birth(ours(path)),
            lambda path: by_birth(decoded_by_perf(perf, path))]
