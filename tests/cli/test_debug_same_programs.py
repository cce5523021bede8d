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
    script = (
        "break outer\nrun\nbt\nnext\nnext\nbt\nnext\nstep\nbt\n" + "step\n" * 12 + "bt\nup\ninfo locals\n"
        "break twice\n" + "c\nbt\n" + "stepi\nbt\n" * 12
    )
    compare(compile("debug_inlines.c", "-O2"), script)


def test_stubs(compare, compile):
    """Into a function of a library that is looked up at its first call, and chosen for this machine."""
    script = "break expr_optimized.c:45\nrun\nstep\nbt\nfinish\n"
    compare(compile("expr_optimized.c", "-O2", "-fno-builtin", "-Wl,-z,lazy"), script)


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


THREADS = [
    ("", "print $_thread\nprint $_inferior\nbreak leaf\nprint $bpnum\nrun\nthread find w\nthread find LWP\n"
         "thread name main one\nthread find xyz\nthread find\nthread\nthread apply all -q print $_thread\n"
         "thread apply all -ascending -q print $_gthread\nthread apply all -c print n\nthread apply all -s print n\n"
         "thread apply all -q -c print nope\ntaas print n\ntaas\nthread apply all\nthread apply 1\nthread apply\n"
         "thread apply 1-3 -q print shared\nthread apply all -z print 1\ncontinue\ninfo program\nup\nnext\n"
         "thread apply 1 thread name\ncontinue\nthread 9\ncontinue\nfinish\ncontinue\nnext\nnext\nnext\ncontinue\n"
         "thread find x\nthread name x\ntaas print 1\nkill\n"),
    ("", "break leaf if $_thread == 2\ntbreak main\nrun\nbreak leaf if $_thread == 3\ncontinue\nbt 1\ncontinue\nkill\n"
         "kill\nrun\ninfo breakpoints\ndelete\nrun\nrun\nkill\n"),
]


def test_threads(need, mtdb, compile):
    same(need("gdb"), mtdb, [*words_of(THREADS), compile("debug_named.c", "-O0", "-pthread")])
