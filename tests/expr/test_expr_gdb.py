# SPDX-License-Identifier: GPL-3.0-or-later
"""Expressions, types, locals and memory are worded as GDB words them, at the same place."""
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent

PROGRAMS = [
    ("c.txt", "expr.c", "gcc", "-O0 -gdwarf-5"),
    ("cpp.txt", "expr.cpp", "g++", "-O0 -gdwarf-5"),
    ("optimized.txt", "expr_optimized.c", "gcc", "-O2 -gdwarf-5"),
    ("bases.txt", "expr_bases.cpp", "g++", "-O0 -gdwarf-5"),
    ("constants.txt", "expr_bases.cpp", "g++", "-O2 -gdwarf-5"),
    ("c.txt", "expr.c", "clang", "-O0 -gdwarf-4"),
    ("cpp.txt", "expr.cpp", "clang++", "-O0 -gdwarf-5"),
]
MORE = [
    ("c.txt", "expr.c", "gcc", "-O0 -gdwarf-4"),
    ("c.txt", "expr.c", "clang", "-O0 -gdwarf-5"),
    ("cpp.txt", "expr.cpp", "g++", "-O0 -gdwarf-4"),
    ("cpp.txt", "expr.cpp", "clang++", "-O0 -gdwarf-4"),
    ("optimized.txt", "expr_optimized.c", "gcc", "-O2 -gdwarf-4"),
    ("optimized.txt", "expr_optimized.c", "gcc", "-Og -gdwarf-5"),
    ("optimized.txt", "expr_optimized.c", "gcc", "-O3 -gdwarf-5 -fno-omit-frame-pointer"),
    ("optimized.txt", "expr_optimized.c", "clang", "-O0 -gdwarf-5"),
    ("rust.txt", "expr.rs", None, ""),
]


def name(program):
    return " ".join(map(str, program[1:]))


# What GDB before 14 shows of all that needs a call, where the processor has AMX.
NO_CALL = "Couldn't write extended state status"


@pytest.mark.parametrize("words, source, compiler, flags", [
    *(pytest.param(*program, id=name(program)) for program in PROGRAMS),
    *(pytest.param(*program, id=name(program), marks=pytest.mark.soak) for program in MORE),
])
def test_same_as_gdb(compile, dump, gdb, words, source, compiler, flags):
    program = compile(source, *flags.split(), compiler=compiler)
    commands = [line for line in (HERE / words).read_text().splitlines() if line]
    core, theirs = gdb(program, source, commands)
    ours = dump(core, commands)
    assert [command for command, _ in ours] == commands
    assert [command for command, _ in theirs] == commands
    different = [(command, shown, other) for (command, shown), (_, other) in zip(ours, theirs)
                 if shown != other and NO_CALL not in other]
    assert not different, "\n".join(f"{command}\n  mtrace: {shown}\n  gdb:    {other}"
                                    for command, shown, other in different)
