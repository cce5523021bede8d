# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a processor with Intel PT can show: `make check-hardware` runs these.  Elsewhere they
skip and say why.  MTRACE_HARDWARE_ENGINE=step tries the tests themselves out."""
import os
import re
import subprocess
import time

import pytest

import fxt
from branches import decoded_by_perf, first_difference, our_decoder

pytestmark = pytest.mark.hardware
ENGINE = os.environ.get("MTRACE_HARDWARE_ENGINE", "pt")
PMU = "/sys/bus/event_source/devices/intel_pt"
GOOD = 7


@pytest.fixture(autouse=True)
def hardware(run_mtdb):
    if ENGINE == "pt" and not os.path.exists(PMU):
        told = re.search(r"^pt +no +(.*)$", run_mtdb("doctor").stdout, re.M)
        pytest.skip(f"no Intel PT here: {told[1] if told else 'mtdb doctor does not say why'}")


class Recorded:
    def __init__(self, done, output, recording):
        self.done, self.output, self.recording = done, output, recording

    @property
    def trace(self):
        return fxt.read(self.output)

    def named(self, name):
        """The slices of that name that were seen to begin."""
        return [one for one in self.trace.slices()
                if one.name == name and "inferred" not in one.args]

    @property
    def gaps(self):
        return [one for one in self.trace.instants() if one.name.startswith("gap")]


@pytest.fixture
def record(run_mtdb, tmp_path):
    """record(program, argument, …, options=[…]) -> Recorded."""

    def run(*words, options=(), status=GOOD):
        output, recording = tmp_path / "out.fxt", tmp_path / "out.data"
        done = run_mtdb("run", f"--engine={ENGINE}", "--history=0", "-o", output, "--record",
                        recording, *options, "--", *words, cwd=tmp_path)
        assert done.returncode == status, done.stderr
        return Recorded(done, output, recording)

    return run


@pytest.fixture
def truth(compile):
    return compile("truth.c", "-O1", "-static", "-w")


@pytest.fixture
def decoded(need, compile, build, request):
    """decoded(recording) -> {tid: branches} by us, and the same by perf."""
    perf = need("perf", "linux-perf")
    ours = our_decoder(compile, build, request.config.rootpath.parent)
    return lambda recording: (ours(recording), decoded_by_perf(perf, recording))


def only_branches(branches):
    """Without what the two tell in words of their own."""
    return [one for one in branches if one[0] in ("call", "return", "jump")]


@pytest.mark.parametrize("mode", ["recursion", "pointers", "sort", "jumps", "nested", "threads"])
def test_perf_and_we_decode_the_same(record, truth, decoded, mode):
    by_us, by_perf = decoded(record(truth, mode).recording)
    assert by_us.keys() == by_perf.keys()
    for tid, branches in by_us.items():
        assert first_difference(only_branches(branches), only_branches(by_perf[tid])) is None


def test_every_call_is_there(record, truth):
    recorded = record(truth, "recursion")
    assert len(recorded.named("fib")) == 177
    assert not recorded.gaps


def test_the_window_ends_at_the_trigger(record, truth, decoded):
    recorded = record(truth, "pointers", options=["--trigger=twice"])
    address = int(re.search(r"^(\w+) . twice$", subprocess.run(
        ["nm", truth], text=True, capture_output=True, check=True).stdout, re.M)[1], 16)
    (branches,) = decoded(recorded.recording)[0].values()
    calls = [index for index, (kind, _, to) in enumerate(branches)
             if kind in ("call", "jump") and to == address]
    assert len(calls) == 8
    for index in calls:
        assert branches[index + 1][0] in ("stop", "syscall")


def test_the_window_ends_there_though_the_stop_is_late(record, compile, run_mtdb, tmp_path):
    source = tmp_path / "late.c"
    source.write_text("""#include <signal.h>
__attribute__((noinline)) void passed(void) { __asm__ volatile(""); }
__attribute__((noinline)) void behind(void) { __asm__ volatile(""); }
int main(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, 0);
	passed();
	behind();
	sigprocmask(SIG_UNBLOCK, &all, 0);
	return 7;
}
""")
    recorded = record(compile(source, "-O1"), options=["--trigger=passed"])
    pauses = ENGINE == "pt" and re.search("^aux_pause +yes", run_mtdb("doctor").stdout, re.M)
    assert len(recorded.named("passed")) == 1
    assert len(recorded.named("behind")) == (0 if pauses else 1)
    assert bool(recorded.gaps) == bool(pauses)


def test_many_snapshots_lose_nothing(record, truth):
    recorded = record(truth, "recursion", options=["--trigger=fib"])
    assert len(recorded.named("fib")) == 177
    assert not recorded.gaps


def test_a_ring_that_wraps(record, truth, decoded):
    recorded = record(truth, "sort", options=["--size=16k"])
    by_us, by_perf = decoded(recorded.recording)
    for tid, branches in by_us.items():
        kept, theirs = only_branches(branches), only_branches(by_perf[tid])
        length = min(len(kept), len(theirs))
        assert length > 100
        assert first_difference(kept[-length:], theirs[-length:]) is None


@pytest.mark.parametrize("options", [["--full-execution"], ["--per-cpu"], ["--resolution=low"],
                                     ["--resolution=high"], ["--no-return-compression"]])
def test_options(record, truth, options):
    if ENGINE != "pt":
        pytest.skip("options of Intel PT")
    assert len(record(truth, "recursion", options=options).named("fib")) == 177


def test_filters(record, truth):
    if ENGINE != "pt" or not os.path.exists(f"{PMU}/nr_addr_filters"):
        pytest.skip("no address filters here")
    names = {one.name for one in record(truth, "recursion", options=["--filter=fib"]).trace.slices()}
    assert "fib" in names and "main" not in names


def test_the_kernel_too(record, truth):
    if ENGINE != "pt" or os.geteuid():
        pytest.skip("run this as root")
    names = {one.name for one in record(truth, "threads", options=["--kernel"]).trace.slices()}
    assert [name for name in names if "sys_" in name]


def test_times_are_those_of_the_clock(record, compile, tmp_path):
    source = tmp_path / "naps.c"
    source.write_text("#include <unistd.h>\n"
                      "void __attribute__((noinline)) nap(void) { usleep(50000); }\n"
                      "int main(void) { nap(); nap(); return 7; }\n")
    began = time.monotonic_ns()
    naps = record(compile(source, "-O1")).named("nap")
    assert len(naps) == 2
    for one in naps:
        assert 50_000_000 <= one.duration < time.monotonic_ns() - began


def test_the_pmu_is_busy(run_mtdb, need, tmp_path):
    if ENGINE != "pt":
        pytest.skip("only a PMU is busy")
    other = subprocess.Popen([need("perf", "linux-perf"), "record", "-a", "-e", "intel_pt//u", "-o",
                              tmp_path / "other", "--", "sleep", "600"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            done = run_mtdb("run", "--engine=pt", "-o", tmp_path / "x.fxt", "true")
            if done.returncode == 125 or other.poll() is not None:
                break
            time.sleep(0.1)
        if other.poll() is not None:
            pytest.skip("perf record -a is not permitted")
        assert "serves one trace at a time" in done.stderr
    finally:
        other.terminate()
        other.wait()
