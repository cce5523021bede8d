# SPDX-License-Identifier: GPL-3.0-or-later
"""The same scripts, given to GDB and to mtdb's prompt, on programs that do not simply call and
return: inlined calls, longjmp, exceptions, forks."""
import pytest

from tests.cli.same import same, words_of


@pytest.fixture(scope="module")
def compare(need, mtdb):
    gdb = need("gdb")
    return lambda program, script, arguments="": same(gdb, mtdb, [*words_of([(arguments, script)]), program])


def test_inlined_calls(compare, compile):
    script = "break outer\nrun\nbt\nnext\nnext\nbt\nnext\nstep\nbt\n" + "step\n" * 12 + "bt\nup\ninfo locals\n"
    compare(compile("debug_inlines.c", "-O2"), script)


def test_forks_and_exec(compare, compile):
    compare(compile("debug_forks.c", "-O0"), "break work\nrun\nbt\nc\nc\nc\nc\n")


def test_leaps(compare, compile):
    compare(compile("debug_leaps.c", "-O0"), "break main\nrun\n" + "next\n" * 8)


def test_exceptions(compare, compile):
    compare(compile("debug_throws.cpp", "-O0"), "break main\nrun\nnext\nnext\nnext\nstep\n" + "next\n" * 5)


def test_library_that_comes_later(compare, compile):
    """Breakpoints wait for it; what is asked of its code is answered from its debug information."""
    library = compile("debug_library.c", "-O0", "-shared", "-fPIC", output="library.so")
    script = (
        "set breakpoint pending on\nset print pretty on\nset print elements 4\nset width 0\nset height 0\n"
        "break in_library\nbreak debug_library.c:6\ninfo breakpoints\nrun\nbt\np pair\np numbers\nc\nup\ninfo locals\n"
        "finish\nc\ninfo breakpoints\nc\nc\n"
    )
    compare(compile("debug_loads.c", "-O0", "-ldl"), script, str(library))
