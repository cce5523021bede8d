# SPDX-License-Identifier: GPL-3.0-or-later
"""Locations that are expressions; jump and return: the same in GDB and in mtdb's prompt."""
import pytest

from tests.cli.same import same, words_of

LOCATIONS = [
    ("", "break *main+4\nbreak *(&main + 1)\nbreak *nothing_here\nbreak\ntbreak\nrun\nbreak *$pc+4\nbreak *$pc\n"
         "info breakpoints\ninfo line *$pc+8\n"),
    ("", "break square\nrun\nup\nbreak\nc\ndown\nadvance *nothing\nadvance\nuntil nowhere\nadvance nowhere\n"),
    ("", "break half\nrun\nbreak *nothing\nbreak *$rip\nc\nuntil *$pc+1\ntbreak +2\nc\n"),
    ("", "break nested thread 1 if n == 3\nrun\nuntil +1\nbreak *square if n == 77\ninfo breakpoints\n"),
    ("", "break *0\nrun\n"),
]
JUMPS = [
    ("", "jump main\nbreak half\nrun\nbreak name_of\njump half\nbt\njump *$pc\njump\njump nowhere\n"),
    ("", "break nested\nrun\ntbreak +2\njump +2\np result\n"),
    ("", "break half\nrun\nup\ntbreak nothing\njump +8\nbt\njump square\nbt\n"),
]
RETURNS = [
    ("", "return\nbreak square\nrun\nreturn 7\nbt\nnext\nreturn\n"),
    ("", "break half\nrun\nreturn 0.25\nnext\nfinish\n"),
    ("", "break scaled\nrun\nreturn 8\nnext\nbreak letter\nc\nreturn 'x'\nnext\n"),
    ("", "break name_of\nrun\nreturn names[2]\nnext\nbreak sum_of\nc\nreturn nowhere\nreturn a + b * 100\nnext\n"),
    ("", "break swapped\nrun\nset var from.first = 9\nreturn from\nnext\nnext\nbreak moved\nc\nreturn from\nnext\nnext\n"),
    ("", "break nothing\nrun\nreturn 5\nbt\nnext\nbreak square if n == 3\nc\nup\nreturn (char)3\nbt\np $rax\nnext\n"),
]


@pytest.fixture(scope="module")
def program(compile):
    return compile("debug_calls.c", "-O0")


@pytest.mark.usefixtures("gdb_writes_registers")
def test_same(need, mtdb, program):
    lines = same(need("gdb"), mtdb, [*words_of([*LOCATIONS, *JUMPS, *RETURNS]), program])
    assert any("is not in `half'.  Jump anyway?" in line for line in lines)
