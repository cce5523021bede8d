# SPDX-License-Identifier: GPL-3.0-or-later
"""include/mtrace.h: what a program says of itself is on its timeline, as often and in the words that
it said it, whoever compiled it; and nothing of it is there for those who do not record."""
import collections
import json
import os
import subprocess

import pytest

import fxt
import pftrace
from own_words import (FLAGS, HEADER, LITERAL, ROUNDS, SOURCE, build_program, check_numbers, check_spans,
                       expected, marks_of)

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.fixture(name="build")
def build_fixture(compile):
    """build(flag, …) -> program and its library, both with the header's functions."""

    def build(*flags, **options):
        return build_program(compile, *flags, **options)

    return build


@pytest.fixture(name="record")
def record_fixture(mtdb, tmp_path):
    """record(program, option, …, output="x.fxt") -> the output and what mtdb said."""

    def record(program, *options, output="x.fxt"):
        done = subprocess.run([mtdb, "run", "-o", tmp_path / output, *options, "--", program, str(ROUNDS)],
                              text=True, capture_output=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        return tmp_path / output, done

    return record


def check_snapshot(trace):
    """Where the program asked for it, by its reason, and by magic-trace's name."""
    hits = [one for thread in trace.threads.values() for one in thread.instants if "location" in one.args]
    assert [(one.name, one.args["location"], one.args.get("reason")) for one in hits] == [
        ("snapshot: magic_trace_stop_indicator",) + ("magic_trace_stop_indicator",) * 2,
        ("snapshot: all is done", "mtrace_snapshot", "all is done")]
    assert [(one.name, one.args.get("reason")) for thread in trace.threads.values() for one in thread.instants
            if one.category == "mark" and "number" in one.args and "location" not in one.args
            and one.name != "snapshot"] == [
                ("snapshot: magic_trace_stop_indicator", "magic_trace_stop_indicator"), ("snapshot: all is done", "all is done")]


@pytest.mark.parametrize("flags", [("-O2",), ("-O0", "-g"), ("-O2", "-s")], ids=" ".join)
def test_words_are_on_the_timeline(build, record, flags):
    """-s: the library's functions are known all the same; the program's by those, not being static."""
    program = build(*flags, *(["-rdynamic"] if "-s" in flags else []))
    output, done = record(program, "-e", "calls")
    trace = fxt.read(output)
    assert marks_of(trace) == expected()
    assert sum(marks_of(trace).values()) == int(done.stdout)
    check_spans(trace)
    check_numbers(trace.counters)
    check_snapshot(trace)
    names = {one.name for thread in trace.threads.values() for one in thread.slices()}
    assert not names & {"mtrace_mark", "mtrace_mark_literal", "mtrace_begin", "mtrace_begin_literal",
                        "mtrace_end", "mtrace_number_bits"}


@pytest.mark.parametrize("compiler, language", [
    ("gcc", "-std=c99"), ("clang", "-std=c11"), ("g++", "-std=c++20"), ("clang++", "-std=c++11")])
def test_each_compiler(build, record, compiler, language):
    source = SOURCE.with_suffix(".cpp") if "++" in compiler else SOURCE
    program = build(*STRICT, language, "-D_GNU_SOURCE", "-O2", compiler=compiler, source=source)
    output, _ = record(program, "-e", "calls")
    trace = fxt.read(output)
    assert marks_of(trace) == expected()
    check_spans(trace)


@pytest.mark.parametrize("language, options", [
    (compiler, [standard, level]) for compiler, standards in
    [("gcc", ["c99", "c11", "gnu17"]), ("clang", ["c99", "c11", "gnu17"]),
     ("g++", ["c++11", "c++17", "c++20"]), ("clang++", ["c++11", "c++17", "c++20"])]
    for standard in standards for level in ["-O0", "-O2"]], ids=str)
def test_the_header_compiles_without_a_warning(tmp_path, need, language, options):
    """Alone, without another header and without POSIX."""
    need(language)
    source = tmp_path / ("x.cc" if "++" in language else "x.c")
    source.write_text('#include "mtrace.h"\nint main(void)\n{\n\tMTRACE_SPAN("x");\n'
                      '\tmtrace_mark("y");\n\tmtrace_number("z", 1);\n\treturn 0;\n}\n')
    subprocess.run([language, f"-std={options[0]}", options[1], *STRICT, f"-I{HEADER.parent}", source,
                    "-o", tmp_path / "x"], check=True, timeout=100)
    subprocess.run([tmp_path / "x"], check=True, timeout=100)


def test_all_formats(build, record):
    program = build("-O2")
    as_json = json.loads(record(program, "-e", "calls", output="x.json")[0].read_text())
    events = as_json["traceEvents"] if isinstance(as_json, dict) else as_json
    assert sum(one.get("name") == LITERAL for one in events) == ROUNDS
    assert [one["args"]["value"] for one in events if one["ph"] == "C"] == [i * 1.5 - 2 for i in range(ROUNDS)]
    assert sum(one["ph"] == "B" and one["name"] == "request" for one in events) == ROUNDS
    trace = pftrace.read(record(program, "-e", "calls", output="x.pftrace")[0])
    check_numbers(trace.counters)
    text = record(program, "-e", "calls", output="x.txt")[0].read_text()
    assert text.count(f"*** {LITERAL} in main") == ROUNDS
    assert text.count("*** snapshot: all is done in mtrace_snapshot") == 1
    assert text.count("*** snapshot: all is done, thread ") == 1
    assert sum(one.get("name") == "snapshot: all is done" and one["args"]["reason"] == "all is done"
               for one in events) == 2
    assert {one.name for thread in trace.threads.values() for one in thread.instants} >= {"snapshot: all is done"}


def test_step(compile, record):
    """Single-stepping reads them where they are said, whole."""
    part = compile(SOURCE, *FLAGS, "-O1", "-DLIBRARY", "-c", output="library.o")
    program = compile(SOURCE, *FLAGS, "-O1", "-static", part)
    trace = fxt.read(record(program, "-e", "step")[0])
    assert marks_of(trace) == expected()
    check_spans(trace)
    check_numbers(trace.counters)
    check_snapshot(trace)


def test_marks_by_stops(build, record):
    """--events marks is on a track of its own, as ever."""
    trace = fxt.read(record(build("-O2"), "-e", "calls", "--events", "marks")[0])
    assert marks_of(trace) == expected()
    assert any(one.name and one.name.startswith("marks of ") for one in trace.threads.values())


def test_slow_spans(build, record):
    """Triggers of the user's own stand beside what is recorded by itself."""
    output, _ = record(build("-O2"), "-e", "calls", "-t", "mtrace_begin_literal..mtrace_end > 1ns",
                       "-t", "-max 1 mtrace_snapshot")
    trace = fxt.read(output)
    check_spans(trace)
    hits = collections.Counter(one.args["location"] for thread in trace.threads.values()
                               for one in thread.instants if "location" in one.args)
    # A trigger measures from the last beginning on: of the three spans of a round the innermost one.
    assert hits == {"mtrace_end": ROUNDS, "magic_trace_stop_indicator": 1, "mtrace_snapshot": 1}
    assert [one.args["location"] for thread in trace.threads.values() for one in thread.instants
            if one.name == "snapshot: all is done" and "location" in one.args] == ["mtrace_snapshot"]


def test_a_program_that_came_by_exec(build, mtdb, tmp_path):
    program = build("-O2")
    output = tmp_path / "x.fxt"
    done = subprocess.run([mtdb, "run", "-e", "calls", "-o", output, "--", "sh", "-c",
                           f"exec '{program}' {ROUNDS}"],
                          text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    trace = fxt.read(output)
    assert marks_of(trace) == expected()
    check_spans(trace)


def test_functions_that_are_not_recorded(build, record):
    """No word about what nobody asked for."""
    output, done = record(build("-O2"), "-e", "calls", "--modules", "libc.so.6")
    assert "mtrace" not in done.stderr.replace("mtrace_h", "").replace(str(output), ""), done.stderr
    assert not marks_of(fxt.read(output))


def test_attached(build, mtdb, tmp_path, compile):
    """A process that was there before."""
    program = compile("mtrace_h_waits.c", *FLAGS, "-O2")
    output = tmp_path / "x.fxt"
    read_end, write_end = os.pipe()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as waits:
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "-o", output, f"--ready-fd={write_end}",
                               str(waits.pid)], stderr=subprocess.PIPE, text=True,
                              pass_fds=[write_end]) as tracer:
            os.close(write_end)
            with os.fdopen(read_end) as ready:
                ready.readline()
            said, _ = waits.communicate("x")
            _, stderr = tracer.communicate(timeout=120)
    assert tracer.returncode == 0, stderr
    marks = marks_of(fxt.read(output))
    assert marks["after"] == int(said) and "before" not in marks, stderr
