# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of stacks put together by hand: what becomes one slice and what does not, what this
machine's perf record does not make (calls that the processor kept), and what is damaged."""
import json
import re
import struct
import subprocess

import pytest

import perfdata as pd
from samples import events_of, stacks_at

MS = 1000000
KERNEL, USER = -128, -512  # PERF_CONTEXT_…
CALL_STACK, HW_INDEX = 1 << 11, 1 << 17  # PERF_SAMPLE_BRANCH_…
FIELDS = pd.IP | pd.TID | pd.TIME
PROGRAM, THREAD = 700, 701
HARDWARE, SOFTWARE, TRACEPOINT = 0, 1, 2
CPU_CLOCK, PAGE_FAULTS = 0, 2


@pytest.fixture(scope="module", name="program")
def program_fixture(compile):  # pylint: disable=redefined-builtin
    return compile("sampled.c", "-O2", "-g", "-no-pie", "-fno-omit-frame-pointer", "-pthread")


@pytest.fixture(scope="module", name="at")
def at_fixture(program):
    """at(function) -> the address of its second instruction or so."""
    done = subprocess.run(["nm", program], text=True, stdout=subprocess.PIPE, check=True)
    known = {words[2]: int(words[0], 16) for words in map(str.split, done.stdout.splitlines())
             if len(words) == 3}
    return lambda function, offset=4: known[function] + offset


@pytest.fixture(scope="module", name="mapped")
def mapped_fixture(program):
    """The records that say what is mapped, and who runs."""
    done = subprocess.run(["readelf", "-lW", program], text=True, stdout=subprocess.PIPE,
                          check=True)
    offset, start, size = re.search(
        r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R E", done.stdout).groups()
    end = pd.u32(PROGRAM, THREAD) + pd.u64(1)
    return [pd.record(pd.COMM, pd.u32(PROGRAM, THREAD), pd.text("sampled"), end),
            pd.record(pd.MMAP, pd.u32(PROGRAM, PROGRAM),
                      pd.u64(int(start, 16), int(size, 16), int(offset, 16)),
                      pd.text(str(program)), end, misc=2)]


@pytest.fixture(name="write")
def write_fixture(mapped, tmp_path):
    """write(attribute, samples) -> path"""

    def write(attr, samples, name="perf.data"):
        path = tmp_path / name
        path.write_bytes(pd.perfdata([(attr, [1])], mapped + samples))
        return path

    return write


def chain_attr(**options):
    options = {"kind": SOFTWARE, "config": CPU_CLOCK, "period": MS, **options}
    return pd.attr(FIELDS | pd.CALLCHAIN, **options)


def sample(time, *rest, ip=1, thread=THREAD):
    return pd.record(pd.SAMPLE, pd.u64(ip), pd.u32(PROGRAM, thread), pd.u64(time), *rest)


def chain(time, *addresses, **options):
    """A sample of a chain, the outermost address last."""
    return sample(time, pd.u64(len(addresses), *addresses), **options)


def slices_of(events):
    """[(depth, name, begin, end, samples)] in ms, in the order of their begins, without what is
    inlined."""
    found, open_slices = [], []
    for event in events:
        if event["ph"] == "B":
            assert event["cat"] == "sampled"
            depth = sum(1 for one in open_slices if one)
            one = [] if event["args"].get("inlined") else [depth, event["name"], event["ts"] / 1000]
            open_slices.append(one)
            if one:
                found.append(one)
        elif event["ph"] == "E":
            one = open_slices.pop()
            if one:
                one.extend([event["ts"] / 1000, event["args"]["samples"]])
    return [tuple(one) for one in found]


@pytest.fixture(name="decoded")
def decoded_fixture(write, run_mtdb, tmp_path):
    """decoded(attribute, samples) -> slices, and what was said"""

    def decode(attr, samples):
        events, said = events_of(run_mtdb, write(attr, samples), tmp_path)
        return slices_of(events), said

    return decode


def test_a_frame_in_consecutive_samples_is_one_slice(decoded, at):
    main, other = at("main"), at("main", 9)
    slices, said = decoded(chain_attr(), [
        chain(1 * MS, USER, at("leaf"), main),
        chain(2 * MS, USER, at("leaf", 5), main),
        chain(3 * MS, USER, at("middle"), main),
        # The same function, called from somewhere else: another call.
        chain(4 * MS, USER, at("middle"), other),
        chain(5 * MS, USER, other),
    ])
    assert slices == [(0, "main", 1, 6, 5), (1, "leaf", 1, 3, 2), (1, "middle", 3, 4, 1),
                      (1, "middle", 4, 5, 1)]
    assert "5 samples of type 1, config 0x0, every ~1.00 ms: what is not sampled is not seen" \
        in said


def test_a_gap_ends_the_stack(decoded, at):
    times = [1, 2, 3, 7, 50, 51, 52]  # 7: late, but not gone
    slices, _ = decoded(chain_attr(), [chain(time * MS, USER, at("main")) for time in times])
    assert slices == [(0, "main", 1, 8, 4), (0, "main", 50, 53, 3)]


def test_leaving_the_cpu_ends_the_stack(decoded, at):
    switch_out, preempted = 1 << 13, 1 << 14  # PERF_RECORD_MISC_…

    def switch(time, thread, misc):
        return pd.record(pd.SWITCH, pd.u32(PROGRAM, thread), pd.u64(time), misc=misc)

    slices, _ = decoded(chain_attr(), [
        chain(1 * MS, USER, at("main")),
        switch(1 * MS + 1000, THREAD + 1, switch_out),  # another's
        switch(1 * MS + 500000, THREAD, switch_out | preempted),  # which changes no stack
        chain(2 * MS, USER, at("main")),
        switch(2 * MS + 500000, THREAD, switch_out),
        switch(3 * MS, THREAD, 0),
        chain(4 * MS, USER, at("main")),
        switch(4 * MS + 250000, THREAD, switch_out),
    ])
    assert slices == [(0, "main", 1, 2.5, 2), (0, "main", 4, 4.25, 1)]


def test_samples_of_a_thread_that_mostly_waits(decoded, at):
    times = [1, 101, 201, 301]
    slices, said = decoded(chain_attr(), [chain(time * MS, USER, at("main")) for time in times])
    assert slices == [(0, "main", time, time + 1, 1) for time in times]
    assert "every ~1.00 ms" in said  # as was asked for


def test_without_a_clock_the_distance_is_measured(decoded, at):
    slices, said = decoded(chain_attr(kind=HARDWARE), [
        chain(time * MS, USER, at("main")) for time in [1, 3, 5, 40]])
    assert slices == [(0, "main", 1, 7, 3), (0, "main", 40, 42, 1)]
    assert "every ~2.00 ms" in said


def test_threads_are_apart_and_idle_is_none(decoded, at):
    slices, said = decoded(chain_attr(), [
        chain(1 * MS, USER, at("main")),
        chain(1 * MS, USER, at("sort"), thread=702),
        chain(1 * MS, KERNEL, 0xffffffff81000000, thread=0),
        chain(2 * MS, USER, at("sort"), thread=702),
        chain(2 * MS, USER, at("main")),
    ])
    assert slices == [(0, "main", 1, 3, 2), (0, "sort", 1, 3, 2)]
    assert "4 samples" in said and "the timeline of 2 threads" in said


def test_the_kernel_without_symbols_is_one_frame(decoded, at):
    kernel = 0xffffffff81000000
    slices, _ = decoded(chain_attr(), [
        chain(1 * MS, KERNEL, kernel + 100, kernel + 200, USER, at("leaf"), at("main"),
              ip=kernel + 100),
        chain(2 * MS, USER, at("leaf"), at("main")),
    ])
    assert slices == [(0, "main", 1, 3, 2), (1, "leaf", 1, 3, 2), (2, "[kernel]", 1, 2, 1)]


def test_what_no_frame_pointer_leads_to_is_left_out(decoded, at):
    slices, _ = decoded(chain_attr(), [
        chain(1 * MS, USER, at("leaf"), 0, 0xffff800000000000, at("main"))])
    assert [one[1] for one in slices] == ["main", "leaf"]


def test_a_chain_without_markers(decoded, at):
    slices, _ = decoded(chain_attr(), [chain(1 * MS, at("leaf"), at("main"))])
    assert [one[1] for one in slices] == ["main", "leaf"]


def test_no_chain_at_all(decoded, at):
    slices, _ = decoded(chain_attr(), [chain(1 * MS, ip=at("leaf"))])
    assert slices == [(0, "leaf", 1, 2, 1)]
    attr = pd.attr(FIELDS, kind=SOFTWARE, config=CPU_CLOCK, period=MS)
    slices, _ = decoded(attr, [sample(1 * MS, ip=at("leaf")), sample(2 * MS, ip=at("leaf", 5))])
    assert slices == [(0, "leaf", 1, 3, 2)]


def branches(*pairs, index=False):
    """The latest call first: from, to."""
    data = pd.u64(len(pairs)) + (pd.u64(0) if index else b"")
    return data + b"".join(pd.u64(origin, target, 0) for origin, target in pairs)


@pytest.mark.parametrize("index", [False, True], ids=["branches", "branches with an index"])
def test_calls_that_the_processor_kept(decoded, at, index):
    kernel = 0xffffffff81000000
    attr = pd.attr(FIELDS | pd.CALLCHAIN | pd.BRANCH_STACK, kind=HARDWARE,
                   branch_type=1 | CALL_STACK | (HW_INDEX if index else 0))
    calls = [(at("recursive", 20), at("middle", 0)), (at("recursive", 10), at("recursive", 0)),
             (at("main", 30), at("recursive", 0))]
    slices, _ = decoded(attr, [
        sample(1 * MS, pd.u64(0), branches(*calls, index=index), ip=at("middle")),
        # In the kernel: where the program stood is in the chain.
        sample(2 * MS, pd.u64(4, KERNEL, kernel, USER, at("middle", 5)),
               branches(*calls, index=index), ip=kernel),
        # Nobody says where: in the function that was called last.
        sample(3 * MS, pd.u64(0), branches(*calls[1:], index=index), ip=kernel),
    ])
    assert slices == [(0, "main", 1, 4, 3), (1, "recursive", 1, 4, 3), (2, "recursive", 1, 4, 3),
                      (3, "middle", 1, 3, 2), (4, "[kernel]", 2, 3, 1)]


def test_calls_that_the_processor_kept_are_those_that_perf_sees(write, at, need, run_mtdb,
                                                                 tmp_path):
    attr = pd.attr(FIELDS | pd.CALLCHAIN | pd.BRANCH_STACK, kind=HARDWARE,
                   branch_type=1 | CALL_STACK)
    calls = [(at("recursive", 20), at("middle", 0)), (at("recursive", 10), at("recursive", 0)),
             (at("main", 30), at("recursive", 0))]
    path = write(attr, [sample((time + 1) * MS, pd.u64(2, USER, at(ip)), branches(*calls[time:]),
                               ip=at(ip))
                        for time, ip in enumerate(["middle", "recursive", "recursive"])])
    done = subprocess.run([need("perf", "linux-perf"), "script", "-i", path, "--no-inline", "-F",
                           "ip,sym"], text=True, capture_output=True, check=True, timeout=60)
    wanted = [[line.split()[1] for line in block.splitlines() if line.strip()][::-1]
              for block in done.stdout.split("\n\n") if block.strip()]
    events, _ = events_of(run_mtdb, path, tmp_path)
    found = stacks_at(events, [(THREAD, (time + 1) * MS) for time in range(3)])
    ours = [[one["name"] for one in found[key] if not one["args"].get("inlined")]
            for key in sorted(found)]
    assert ours == wanted
    assert wanted[0] == ["main", "recursive", "recursive", "middle"]


def test_branches_that_are_no_calls_are_not_taken_for_them(decoded, at):
    attr = pd.attr(FIELDS | pd.BRANCH_STACK, kind=HARDWARE, branch_type=1)
    slices, _ = decoded(attr, [
        sample(1 * MS, branches((at("sort"), at("main"))), ip=at("leaf"))])
    assert [one[1] for one in slices] == ["leaf"]


AX, SP, IP = 1 << 0, 1 << 7, 1 << 8  # of enum perf_event_x86_regs
ABI_NONE, ABI_32, ABI_64 = 0, 1, 2


def stack_attr(registers=SP | IP):
    return pd.attr(FIELDS | pd.CALLCHAIN | pd.REGS_USER | pd.STACK_USER, kind=SOFTWARE,
                   config=CPU_CLOCK, period=MS, regs_user=registers)


def dumped(time, ip, *words, abi=ABI_64, filled=None, registers=b""):
    """A sample whose stack holds WORDS."""
    memory = pd.u64(*words)
    known = pd.u64(abi) + (registers or pd.u64(0x7fff00000000, ip)) if abi else pd.u64(abi)
    return sample(time, pd.u64(0), known, pd.u64(len(memory)), memory,
                  *([pd.u64(len(memory) if filled is None else filled)] if memory else []), ip=ip)


def test_a_stack_is_unwound_as_far_as_it_was_recorded(decoded, at):
    entry = at("sort", 0)  # its return address is on top of the stack
    slices, _ = decoded(stack_attr(), [dumped(1 * MS, entry, at("main", 20))])
    assert [one[1] for one in slices] == ["main", "sort"]
    slices, _ = decoded(stack_attr(), [dumped(1 * MS, entry, at("main", 20), filled=4)])
    assert [one[1] for one in slices] == ["sort"]
    slices, _ = decoded(stack_attr(), [dumped(1 * MS, entry, at("main", 20), filled=1 << 60)])
    assert [one[1] for one in slices] == ["main", "sort"]


@pytest.mark.parametrize("registers, options", [
    (SP | IP, {"abi": ABI_NONE}),
    (SP | IP, {"abi": ABI_32}),
    (AX | SP, {}),  # without the program counter
], ids=["no registers", "of a 32-bit program", "too few registers"])
def test_a_stack_that_cannot_be_unwound(decoded, at, registers, options):
    slices, _ = decoded(stack_attr(registers),
                        [dumped(1 * MS, at("sort", 0), at("main", 20), **options)])
    assert [one[1] for one in slices] == ["sort"]


def test_a_new_program_ends_what_was_open(decoded, at, mapped):
    main = chain(2 * MS, USER, at("main"))
    executed = pd.record(pd.COMM, pd.u32(PROGRAM, THREAD), pd.text("sampled"),
                         pd.u32(PROGRAM, THREAD) + pd.u64(2 * MS - 1), misc=1 << 13)
    again = mapped[1][:-8] + pd.u64(2 * MS - 1)
    slices, _ = decoded(chain_attr(), [chain(1 * MS, USER, at("main")), executed, again, main])
    assert [one[1:] for one in slices] == [("main", 1, 2, 1), ("main", 2, 3, 1)]


@pytest.mark.parametrize("kind, config", [(SOFTWARE, PAGE_FAULTS), (TRACEPOINT, 7)])
def test_samples_of_what_says_nothing_of_time(write, run_mtdb, at, kind, config):
    path = write(chain_attr(kind=kind, config=config), [chain(1 * MS, USER, at("main"))])
    done = run_mtdb("decode", path)
    assert done.returncode == 1
    assert "contains no Intel PT trace, and no samples of stacks" in done.stderr


# ---- The other commands ----


@pytest.fixture(name="recording")
def recording_fixture(write, at):
    """Ten samples: recursive is in eight of them, twice in each; leaf in three, main in nine."""
    outer, inner = at("recursive", 10), at("recursive", 20)
    stacks = [[at("main")]] + [[at("leaf"), inner, outer, at("main")]] * 3 + \
        [[inner, outer, at("main")]] * 5 + [[at("sort")]]
    return write(chain_attr(), [chain((time + 1) * MS, USER, *stack)
                                for time, stack in enumerate(stacks)])


def test_stats_count_samples_and_not_calls(run_mtdb, recording):
    done = run_mtdb("stats", "--json", recording)
    found = json.loads(done.stdout)
    assert (found["samples"], found["period_ns"], "calls" in found) == (10, MS, False)
    rows = {row["name"]: (row["total_ns"] / MS, row["self_ns"] / MS, row["samples"])
            for row in found["functions"]}
    assert rows == {"main": (9, 1, 9), "recursive": (8, 5, 8), "leaf": (3, 3, 3),
                    "sort": (1, 1, 1)}
    assert not {"calls", "p50_ns", "max_ns", "partial"} & set(found["functions"][0])
    text = run_mtdb("stats", recording).stdout
    head, *lines = text.splitlines()
    assert head.split() == ["total", "self", "samples", "function"]
    assert lines[0].split()[:5] == ["9.00", "ms", "1.00", "ms", "9"]
    assert "The times are estimates" in text and "How often it was called is not known." in text
    head, *lines = run_mtdb("stats", "--csv", recording).stdout.splitlines()
    assert head == "name,module,file,line,total_ns,self_ns,samples"
    assert {line.count(",") for line in lines} == {6}


def test_stats_of_one_function(run_mtdb, recording):
    found = json.loads(run_mtdb("stats", "--json", recording, "recursive").stdout)
    assert [row["samples"] for row in found["functions"]] == [8]
    assert {row["name"]: row["samples"] for row in found["callers"]} == {"main": 8, "recursive": 8}
    assert {row["name"]: row["samples"] for row in found["callees"]} == {"leaf": 3, "recursive": 8}
    assert not {"histogram", "slowest"} & set(found)
    text = run_mtdb("stats", recording, "recursive").stdout
    assert "Called by:" in text and "Durations" not in text and "slowest" not in text


def test_text_says_what_was_sampled(run_mtdb, recording):
    done = run_mtdb("history", recording)
    lines = done.stdout.splitlines()
    assert "10 samples of type 1, config 0x0, every ~1.00 ms: what is not sampled is not seen" \
        in lines
    shown = [line for line in lines if "main" in line]
    assert len(shown) == 1 and "~9.00 ms" in shown[0] and "main (9 samples)" in shown[0]
    assert any("sort (1 sample)" in line for line in lines)


def test_a_search_finds_slices(run_mtdb, recording):
    done = run_mtdb("grep", recording, "leaf > 2ms")
    assert done.returncode == 0
    assert "~3.00 ms" in done.stdout and "main > recursive > recursive > leaf" in done.stdout
    assert "what is not sampled is not seen" in done.stderr


@pytest.mark.parametrize("words, reason", [
    (["diff", None, None], "diff compares calls one by one"),
    (["explain", None, "leaf"], "explain compares the durations of calls"),
])
def test_what_needs_calls_refuses(run_mtdb, recording, words, reason):
    done = run_mtdb(*[word or recording for word in words])
    assert done.returncode and not done.stdout
    assert f"{recording} contains samples of stacks and no calls: {reason}" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("ending", [".fxt", ".pftrace", ".json", ".speedscope.json", ".html",
                                    ".txt", ".folded"])
def test_all_formats(run_mtdb, recording, ending):
    done = run_mtdb("decode", "-o", recording.with_suffix(ending), recording)
    assert done.returncode == 0, done.stderr
    assert recording.with_suffix(ending).stat().st_size > 0


# ---- What is damaged ----


def test_a_recording_that_was_cut_off(write, run_mtdb, at):
    samples = [dumped((time + 1) * MS, at("sort", 0), at("main", 20)) for time in range(4)]
    path = write(stack_attr(), samples)
    whole = path.read_bytes()
    for left in [1, 7, 8, 9, len(samples[0]) - 1, len(samples[0]), len(samples[0]) + 1]:
        path.write_bytes(whole[:-left])
        done = run_mtdb("stats", "--json", path)
        assert done.returncode == 0
        assert json.loads(done.stdout)["samples"] == 3 - (left > len(samples[0]))


@pytest.mark.parametrize("count", [2, 1 << 32, 1 << 61, (1 << 64) - 1])
@pytest.mark.parametrize("what", ["chain", "branches", "stack"])
def test_sizes_that_are_not_true(write, run_mtdb, at, what, count):
    fields = {"chain": pd.CALLCHAIN, "branches": pd.BRANCH_STACK, "stack": pd.STACK_USER}[what]
    attr = pd.attr(FIELDS | fields, kind=HARDWARE, branch_type=1 | CALL_STACK)
    bad = sample(2 * MS, struct.pack("<Q", count), ip=at("leaf"))
    path = write(attr, [sample(1 * MS, pd.u64(0), ip=at("main")), bad,
                        sample(3 * MS, pd.u64(0), ip=at("main"))])
    done = run_mtdb("stats", "--json", path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["samples"] == 2
    assert "skipped 1 damaged record" in done.stderr
