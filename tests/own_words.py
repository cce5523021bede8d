# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/fixtures/mtrace_h.c, which says what it does by include/mtrace.h: what is on its timeline,
whoever recorded it."""
import collections
import pathlib
import zlib

ROOT = pathlib.Path(__file__).parents[1]
HEADER = ROOT / "include" / "mtrace.h"
SOURCE = ROOT / "tests" / "fixtures" / "mtrace_h.c"
# A new header makes new programs.
TEXT = HEADER.read_bytes() + SOURCE.read_bytes()
FLAGS = [f"-I{HEADER.parent}", f"-DTEXT_OF_HEADER={zlib.crc32(TEXT)}", "-pthread"]
ROUNDS = 5
LITERAL = "a literal of the program that is longer than thirty-two bytes"


def build_program(compile, *flags, compiler=None, source=SOURCE):
    """The program and its library, both with the header's functions."""
    library = compile(source, *FLAGS, *flags, "-DLIBRARY", "-fPIC", "-shared",
                      output="libmtrace_h.so", compiler=compiler)
    return compile(source, *FLAGS, *flags, library, f"-Wl,-rpath,{library.parent}",
                   compiler=compiler)


def marks_of(trace):
    """How often each is there."""
    return collections.Counter(one.name for thread in trace.threads.values() for one in thread.instants
                               if one.category == "mark" and one.name not in ("trigger", "snapshot", "exit", "exec")
                               and "location" not in one.args and "reason" not in one.args)


def expected(most=None):
    """What the program says; MOST: how many bytes of a text that is no literal."""
    marks = {LITERAL: ROUNDS, "of the other thread": ROUNDS,
             "a literal of the library that is longer than thirty-two bytes": ROUNDS}
    return marks | {f"library {i} \"\\\n"[:most]: 1 for i in range(ROUNDS)}


def check_spans(trace):
    """Requests, with what was done for them inside, though they end elsewhere than they began."""
    (track,) = [one for one in trace.threads.values() if one.name and one.name.startswith("spans of ")]
    assert [one.name for one in track.roots] == ["request"] * ROUNDS
    for request in track.roots:
        (handle,) = request.children
        (library,) = handle.children
        assert (handle.name, library.name, library.children) == ("handle", "in the library", [])
        assert request.begin <= handle.begin <= library.begin
        assert library.end <= handle.end <= request.end


def check_numbers(counters):
    ((name, values),) = counters.items()
    assert name.startswith("level of ")
    assert [value for _, value in values] == [i * 1.5 - 2 for i in range(ROUNDS)]
