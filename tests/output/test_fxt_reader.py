# SPDX-License-Identifier: GPL-3.0-or-later
"""The strict reader of .fxt must be strict: a file that breaks one rule is refused."""
import struct

import pytest

import fxt

MAGIC = [fxt.MAGIC]
PROVIDER = [0 | 3 << 4 | 1 << 16 | 1 << 20 | 9 << 52, *struct.unpack("<2Q", b"synthetic" + b"\0" * 7)]
SECTION = [0 | 1 << 4 | 2 << 16 | 1 << 20]
RATE = [1 | 2 << 4, 10**9]
HEAD = MAGIC + PROVIDER + SECTION + RATE
THREAD = [3 | 3 << 4 | 1 << 16, 10, 11]


def text_words(text):
    """A text, padded."""
    padded = text + b"\0" * (-len(text) % 8)
    return list(struct.unpack(f"<{len(padded) // 8}Q", padded))


def string(index, text, length=None):
    """A String record."""
    words = text_words(text)
    return [2 | 1 + len(words) << 4 | index << 16 | (len(text) if length is None else length) << 32,
            *words]


def event(kind, time, name=0, *args, thread=1, count=None, size=None, category=0):
    """An Event record; ARGS are its words after the time."""
    size = 2 + len(args) if size is None else size
    count = sum(1 for _ in args) if count is None else count
    return [4 | size << 4 | kind << 16 | count << 20 | thread << 24 | category << 32 | name << 48,
            time, *args]


BODY = HEAD + THREAD + string(1, b"main") + string(2, b"line") + string(9, b"process")
BEGIN, END, INSTANT = 2, 3, 0
LINE = 2 | 1 << 4 | 2 << 16 | 42 << 32


def parse(words):
    """What the reader makes of them."""
    return fxt.parse(struct.pack(f"<{len(words)}Q", *words))


def test_good_file():
    trace = parse(BODY + event(BEGIN, 5, 1, LINE) + event(INSTANT, 6, 1) + event(END, 7))
    [piece] = trace.threads[10, 11].slices()
    assert (piece.name, piece.begin, piece.end, piece.args) == ("main", 5, 7, {"line": 42})
    assert piece.duration == 2 and piece.path() == ["main"]
    assert [one.name for one in piece.instants] == ["main"]


def test_unfinished_slices_have_no_end():
    trace = parse(BODY + event(BEGIN, 5, 1) + event(BEGIN, 5, 1) + event(END, 5))
    outer, inner = trace.slices()
    assert (outer.end, inner.end, inner.parent) == (None, 5, outer)
    assert trace.threads[10, 11].open_at_end() == [outer]


def test_places_in_tables_are_used_again():
    words = BODY + event(BEGIN, 5, 1) + string(1, b"other") + event(BEGIN, 6, 1)
    words += [3 | 3 << 4 | 1 << 16, 10, 12] + event(BEGIN, 1, 1)
    trace = parse(words)
    assert [piece.path() for piece in trace.slices()] == [["main"], ["main", "other"], ["other"]]
    assert set(trace.threads) == {(10, 11), (10, 12)}


def nested(count):
    """So many open slices."""
    return sum((event(BEGIN, 5, 1) for _ in range(count)), [])


def test_levels_are_counted():
    assert len(parse(BODY + nested(512)).slices()) == 512
    assert len(parse(BODY + nested(511) + event(INSTANT, 5, 1)).instants()) == 1


KOID_ARG = [8 | 2 << 4 | 9 << 16, 10]
NAME = 0x8003
NAMED = text_words(b"abc")


def kernel_object(kind, *args, koid=11, count=1, name=NAME, name_words=None):
    """A Kernel object record."""
    name_words = NAMED if name_words is None else name_words
    return [7 | 2 + len(name_words) + len(args) << 4 | kind << 16 | name << 24 | count << 40, koid,
            *name_words, *args]


def test_names_of_processes_and_threads():
    trace = parse(BODY + kernel_object(2, *KOID_ARG) + kernel_object(1, koid=10, count=0))
    assert trace.threads[10, 11].name == "abc" and trace.processes[10].name == "abc"


BROKEN = {
    "magic": PROVIDER + SECTION,
    "nothing": [],
    "magic twice": HEAD + MAGIC,
    "no provider section": MAGIC + PROVIDER + RATE,
    "section of an unknown provider": MAGIC + SECTION + RATE,
    "other rate": MAGIC + PROVIDER + SECTION + [1 | 2 << 4, 10**6],
    "no rate": MAGIC + PROVIDER + SECTION,
    "record of size 0": BODY + [4],
    "cut off": BODY + event(BEGIN, 5, 1)[:1],
    "large record": BODY + [15 | 1 << 4],
    "log record": BODY + [9 | 1 << 4],
    "blob": BODY + [5 | 1 << 4],
    "counter": BODY + event(1, 5, 1, 0, count=0),
    "complete": BODY + event(4, 5, 1, 6, count=0),
    "undefined thread": BODY + event(BEGIN, 5, 1, thread=2),
    "undefined name": BODY + event(BEGIN, 5, 3),
    "undefined category": BODY + event(BEGIN, 5, 1, category=3),
    "no name": BODY + event(BEGIN, 5),
    "no instant's name": BODY + event(INSTANT, 5),
    "time runs backwards": BODY + event(BEGIN, 5, 1) + event(END, 4),
    "time of 64 bits": BODY + event(BEGIN, 1 << 63, 1),
    "end without beginning": BODY + event(END, 5),
    "end of another": BODY + string(3, b"g") + event(BEGIN, 5, 1) + event(END, 6, 3),
    "too deep": BODY + nested(513),
    "instant too deep": BODY + nested(512) + event(INSTANT, 5, 1),
    "size too small": BODY + event(BEGIN, 5, 1, LINE, size=2) + [0],
    "size too large": BODY + event(BEGIN, 5, 1, 0, count=0),
    "argument undefined": BODY + event(BEGIN, 5, 1, 2 | 1 << 4 | 3 << 16),
    "argument without name": BODY + event(BEGIN, 5, 1, 2 | 1 << 4),
    "argument twice": BODY + event(BEGIN, 5, 1, LINE, LINE),
    "argument's value undefined": BODY + event(BEGIN, 5, 1, 6 | 1 << 4 | 2 << 16 | 3 << 32),
    "argument's size": BODY + event(BEGIN, 5, 1, LINE + (1 << 4), 0, count=1),
    "argument's type": BODY + event(BEGIN, 5, 1, 12 | 1 << 4 | 2 << 16),
    "argument's reserved bits": BODY + event(BEGIN, 5, 1, 9 | 1 << 4 | 2 << 16 | 3 << 32),
    "argument would be negative": BODY + event(BEGIN, 5, 1, 4 | 2 << 4 | 2 << 16, 1 << 63, count=1),
    "string index 0": BODY + string(0, b"a"),
    "string too short": BODY + string(3, b"abc", 9),
    "string too long": BODY + string(3, b"abcdefgh", 0),
    "padding": BODY + string(3, b"abcd", 3),
    "no UTF-8": BODY + string(3, b"a\xff"),
    "NUL": BODY + string(3, b"a\0b"),
    "string's reserved bits": BODY + [2 | 2 << 4 | 3 << 16 | 1 << 32 | 1 << 60, 97],
    "thread index 0": BODY + [3 | 3 << 4, 10, 11],
    "thread of 64 bits": BODY + [3 | 3 << 4 | 2 << 16, 10, 1 << 32],
    "thread object without process": BODY + kernel_object(2, count=0),
    "thread object's process is no koid": BODY + kernel_object(2, 4 | 2 << 4 | 9 << 16, 10),
    "object without name": BODY + kernel_object(1, count=0, name=0, name_words=[]),
    "object of another type": BODY + kernel_object(3, count=0),
    "event before the rate": MAGIC + PROVIDER + SECTION + THREAD,
}


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_rules_are_found(rule):
    with pytest.raises(fxt.FxtError):
        parse(BROKEN[rule])


def test_half_a_word():
    with pytest.raises(fxt.FxtError):
        fxt.parse(struct.pack(f"<{len(BODY)}Q", *BODY) + b"\0\0\0\0")
