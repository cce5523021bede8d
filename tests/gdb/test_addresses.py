# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers at addresses: only where an instruction begins."""
import re

import pytest

PROGRAM = """
int data = 5;
__attribute__((noinline)) int f(int x) { return x + 1; }
int main(void) { int sum = 0; for (int i = 0; i < 5; i++) sum += f(i); return sum == 0; }
"""


@pytest.fixture(name="program")
def program_fixture(compile, tmp_path):
    source = tmp_path / "addresses.c"
    source.write_text(PROGRAM)
    return compile(source, "-O0", "-fcf-protection=none")


@pytest.mark.parametrize("started", [False, True], ids=["before", "while it stands"])
def test_where_an_instruction_begins(either, program, started):
    before = ["break main", "run"] if started else []
    lines = either(program, "", "mtrace start", *before, "mtrace trigger *f+2", "mtrace trigger *0x1",
                   *(["mtrace trigger *&data"] if started else []), "mtrace trigger *f+1", "mtrace trigger *f+4", "continue" if started else "run", "mtrace info")
    told = "\n".join(lines)
    assert re.search(r"^\*f\+2: 0x\w+ is in the middle of the instruction at 0x\w+$", told, re.M), told
    assert sum(" at 0x" in line and line.startswith("Breakpoint ") for line in lines) <= 3, told
    assert "*0x1: no code is at 0x1" in lines
    assert not started or any(line.startswith("*&data: no code is at 0x") for line in lines), told
    assert "Cannot insert breakpoint" not in told and "Trigger 1: *f+1: 5 hits" in lines, told
    assert "Trigger 2: *f+4: 5 hits" in lines
