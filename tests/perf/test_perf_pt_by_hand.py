# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of hardware in forms that this machine cannot make: what they hold is decoded."""
import subprocess

import pt_by_hand as pt
import pytest


@pytest.fixture(name="program")
def program_fixture(compile):  # pylint: disable=redefined-builtin
    return pt.Program(compile("two_calls.S", "-nostdlib", "-static"))


@pytest.fixture(name="decode")
def decode_fixture(run_mtdb, tmp_path):
    """decode(records) -> the lines of the text timeline."""

    def run(records, path=tmp_path / "perf.data", filters=""):
        if records:
            path.write_bytes(pt.recording(records, filters))
        done = run_mtdb("decode", "-f", "text", "-o", "-", path)
        assert done.returncode == 0, done.stderr
        again = run_mtdb("decode", "-f", "text", "-o", "-", "--decoder=libipt", path)
        assert again.stdout == done.stdout
        return done.stdout.splitlines()

    return run


def functions(lines):
    """The functions that each thread ran: {"one": ["_start", "leaf"]}."""
    found = {}
    for line in lines:
        words = line.replace("~", "").split()
        if words[:1] == ["Thread"]:
            ran = found.setdefault(words[2].strip('"'), [])
        elif words and words[0][0].isdigit():
            ran.append(words[4 if words[3] in ("ns", "µs", "ms") else 3])
    return found


ALL = ["_start", "leaf", "leaf"]


def test_what_ran_while_the_cpu_seemed_idle_is_the_next_threads(program, decode):
    """Without MTC and CYC a time is that of the last TSC, which came before the switch."""
    trace = pt.psb(6) + program.run() + pt.psb(20) + program.run()
    lines = decode([pt.comm(100, "one"), program.mapped(100, 2),
                    pt.comm(200, "two"), program.mapped(200, 3),
                    pt.switch(100, 5), pt.switch(100, 10, out=True), pt.switch(0, 11),
                    pt.switch(200, 2000), pt.switch(200, 3000, out=True),
                    pt.auxtrace(trace)])
    assert functions(lines) == {"one": ALL, "two": ALL}


def test_what_ran_before_the_first_switch_is_nobodys(program, decode):
    lines = decode([pt.comm(100, "one"), program.mapped(100, 2), pt.switch(100, 50),
                    pt.auxtrace(pt.psb(20) + program.run() + pt.psb(60) + program.run())])
    assert functions(lines) == {"one": ALL}


def test_a_32_bit_program(need, compile, decode):  # pylint: disable=redefined-builtin
    need("gcc")
    try:
        program = pt.Program(compile("two_calls.S", "-m32", "-nostdlib", "-static", "-g"), bits=32)
    except subprocess.CalledProcessError:
        pytest.skip("gcc here makes no 32-bit programs (cure: apt-get install gcc-multilib)")
    lines = decode([pt.comm(100, "one"), program.mapped(100, 2),
                    pt.auxtrace(pt.psb(6) + program.run(), tid=100, cpu=-1)])
    assert functions(lines) == {"one": ALL}
    assert any("two_calls.S:7" in line for line in lines)


def test_a_directory_of_kcore(program, decode, tmp_path):
    """perf record --kcore"""
    directory = tmp_path / "with-kcore"
    (directory / "kcore_dir").mkdir(parents=True)
    (directory / "kcore_dir" / "kallsyms").write_text("ffffffff81000000 T startup_64\n")
    (directory / "data").write_bytes(pt.recording([
        pt.comm(100, "one"), program.mapped(100, 2),
        pt.auxtrace(pt.psb(6) + program.run(), tid=100, cpu=-1)]))
    assert functions(decode(None, directory)) == {"one": ALL}


def test_a_directory_of_threads(program, decode, run_mtdb, tmp_path):
    """perf record --threads: records alone in a file for each of perf's threads."""
    directory = tmp_path / "threads"
    directory.mkdir()
    (directory / "data").write_bytes(pt.recording([pt.comm(100, "one"), pt.comm(200, "two")]))
    for i, tid in enumerate((100, 200)):
        (directory / f"data.{i}").write_bytes(
            program.mapped(tid, 2) +
            pt.auxtrace(pt.psb(6) + program.run(), tid=tid, cpu=-1, idx=i))
    assert functions(decode(None, directory)) == {"one": ALL, "two": ALL}
    dumped = run_mtdb("dump", directory).stdout
    assert dumped.count("MMAP2") == 2 and dumped.count("TIP.PGE") == 2


SKYLAKE, BROADWELL = "GenuineIntel,6,78,3", "GenuineIntel,6,79,1"


@pytest.fixture(name="filtered")
def filtered_fixture(program, decode):
    """filtered(processor, filters, told, others) -> the lines of _start alone, which was filtered for.
    TOLD: the calls that left it say where they went.  OTHERS: so often the file is mapped before."""
    at = program.at
    twice = (at["_start"], at["_start"] + 5)

    def run(processor, filters, told=False, others=0):
        trace = pt.psb(6) + pt.mode(64)
        for begin in twice:
            trace += pt.pge(begin) + (pt.ip(0x01, at["leaf"]) if told else pt.PGD)
        trace += pt.pge(at["last"]) + pt.fup(at["last"]) + pt.PGD
        mapped = [program.mapped(100, 2, start=0x1000 * (1 + i)) for i in range(others)]
        return decode([pt.cpuid(processor), pt.comm(100, "one"), *mapped, program.mapped(100, 2),
                       pt.auxtrace(trace, tid=100, cpu=-1)], filters=filters)

    return run


def test_calls_out_of_an_address_filter(program, filtered):
    """SKL014: they do not always say where they went, and what is called was not traced."""
    start, size = program.offset + program.at["_start"] - program.start, 11
    mine = f"filter {start:#x}/{size:#x}@{program.path}"
    whole = filtered(SKYLAKE, mine, told=True)
    assert functions(whole) == {"one": ["_start", "[untraced]", "[untraced]"]}
    for filters in (mine, f"filter 0x7/0x100@/usr/lib/other.so,{mine}",
                    f"stop {start + size:#x}/0x10@{program.path}",
                    f"filter {program.offset:#x}/0x1000@{program.path},"
                    f"tracestop {start + size:#x}/1@{program.path}",
                    f"filter {program.at['_start']:#x}/{size:#x}"):
        assert filtered(SKYLAKE, filters) == whole, filters
    assert filtered(SKYLAKE, mine, others=50) == whole


@pytest.mark.parametrize("processor,filters", [
    (SKYLAKE, ""), (SKYLAKE, "filter 0/0x100000@{path}"), (SKYLAKE, "filter 0/0x100000@{path}2"),
    (SKYLAKE, "filter 0x1000000/1@{path}"), (SKYLAKE, "start 0@{path}"),
    (BROADWELL, "filter {start:#x}/11@{path}"),
])
def test_calls_that_do_not_leave_an_address_filter(program, filtered, processor, filters):
    start = program.offset + program.at["_start"] - program.start
    lines = filtered(processor, filters.format(path=program.path, start=start))
    assert functions(lines)["one"][:2] == ["_start", "leaf"]
