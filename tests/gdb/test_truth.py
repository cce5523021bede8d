# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB's own backtrace is the truth for what is open when a program crashes."""
import re

import pytest

# Functions of the program, by GDB's frames and by the slices that are open.
SCRIPT = """
import re
def frames():
    frame, names = gdb.newest_frame(), []
    while frame:
        if frame.type() in (gdb.NORMAL_FRAME, gdb.INLINE_FRAME):
            names.append(frame.name() or "??")
        frame = frame.older()
    return names[::-1]
def opened():
    thread = gdb.selected_thread().ptid[1]
    last = []
    for one in mtrace.snapshot("x.txt"):
        if one.thread == thread:
            del last[one.depth:]
            last.append(one)
    return [one.function for one in last if one.end_ns is None]
def bare(name):
    if name.startswith(("[unknown]", "func@")):
        return "??"
    name = re.sub(r"[\\w:]*\\{lambda[^}]*\\}::", "", name)
    while "<" in name and re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    name = re.split(r"[.@(]", name.replace("operator()", "operator"))[0].split(" ")[-1]
    return re.sub(r"^(__GI_)?_*", "", name)
print("truth", [bare(name) for name in frames()])
print("told", [bare(name) for name in opened()])
"""


def compare(gdb, program, argument, *commands):
    script = gdb.directory / "compare.py"
    script.write_text(SCRIPT)
    session = gdb(program, "mtrace start", *commands, f"run {argument}", f"source {script}",
                  "kill")
    found = dict(re.findall(r"^(truth|told) \[(.*)\]$", session.output, re.M))
    truth = [name.strip("'") for name in found["truth"].split(", ")]
    told = [name.strip("'") for name in found["told"].split(", ")]
    return truth, told


def of_main(names):
    """Behind the C library's start of a program or a thread."""
    return names[names.index("main" if "main" in names else "thread"):]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["fault", "null", "assert", "sort", "thread", "handler", "wild",
                                 "divide", "deep", "overflow"])
def test_c(gdb, compile, way, level):
    truth, told = compare(gdb, compile("crash_chains.c", level, "-pthread"), way,
                          "set backtrace limit unlimited")
    told, truth = of_main(told), of_main(truth)
    assert len(told) == len(truth) and told == truth


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("place", ["stop_here", "*stop_here", "warm_up if n == 10"])
def test_at_a_breakpoint(gdb, compile, place, level):
    """The function in which a breakpoint stands is not patched."""
    truth, told = compare(gdb, compile("crash_chains.c", level, "-pthread"), "stop",
                          f"break {place}")
    assert of_main(told) == of_main(truth)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("way", ["throw", "lambda", "sort", "plain"])
def test_cpp(gdb, compile, way, level):
    """Inlined functions are in GDB's frames; what reports is a function of its own."""
    truth, told = map(of_main, compare(gdb, compile("crash_chains.cpp", level), way))
    inlined = {"inner", "outer"} if level == "-O2" else set()
    real = [name for name in truth if name not in inlined]
    told = [name for name in told if name not in inlined]
    # GDB has no name for the cold part of a function in a stripped library.
    assert [name if name != "??" else ours for name, ours in zip(real, told, strict=True)] == told
