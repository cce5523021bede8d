# SPDX-License-Identifier: GPL-3.0-or-later
"""GDB and mtdb's prompt beside one another, on programs of all sorts."""
import pytest

from tests.cli.same import same, words_of

C = [
    ("", "break main\nrun\nnext\nnext\nnext\nnext\nstep\nstep\nstep\nbt\ninfo locals\nfinish\nfinish\n"),
    ("", "break price_of\ntbreak sorted\nrun\nbt\np *item\np item->name\np *item->next\nfinish\nc 3\nup\ninfo locals\n"
         "delete\nc\n"),
    ("", "break fib if n == 2\nrun\nbt\nignore 4 2\nc\nbt\nup 2\np n\ndown\np n\n"),
    ("", "break compare\nrun\nbt\nfinish\n"),
    ("", "break handler\nrun\nbt\nc\nbt\nfinish\n"),
    ("", "handle SIGUSR1 nostop noprint\nbreak handler\nrun\nbt\nnext\nhandle SIGUSR1 stop print\n"),
    ("", "run\nsignal 0\n"),
    ("", "handle SIGUSR1 nopass\nrun\nc\nhandle SIGUSR1 pass\n"),
    ("crash", "run\nc\nbt\np item\np items\nup\np items\nx/2i $pc\nc\nrun\nc\ninfo registers rip\nkill\n"),
    ("", "tbreak sum_up\nrun\nuntil\nuntil\nadvance price_of\nuntil\nuntil\nuntil\n"),
    ("", "break main\nrun\nstepi\nnexti\nstepi\nx/i $pc\nnexti\nnexti\nnexti\nnexti\nbt\n"),
    ("", "info line sum_up\ninfo symbol fib\np fib\np &total\np sizeof(struct item)\nptype struct item\nwhatis total\n"
         "p total\nlist fib\n"),
]
CPP = [
    ("", "break leaf\nrun\nbt\nfinish\nc\nup\ninfo locals\ninfo args\nnext\nstep\nstep\n"),
    ("", "break recurse if depth == 1\nrun\nbt\nfinish\nfinish\nup\n"),
    ("", "break largest<int>\nrun\nnext\nnext\nnext\np best\nfinish\n"),
    ("", "break thrower if x > 2\nrun\nbt\nnext\nnext\nnext\nnext\n"),
    ("", "break thrower\nrun\nc\nup\nfinish\nbt\n"),
    ("", "break catcher\nrun\nc\nnext\nnext\nnext\nnext\nnext\n"),
    ("", "break handler\nrun\nc\nbt\nfinish\n"),
    ("", "tbreak main\nrun\n" + "next\n" * 12),
    ("", "break work thread 1\ntbreak work\nrun\nc\nbt 1\ndelete\nhandle SIGUSR1 nostop\nc\n"),
    ("1 1", "handle SIGUSR1 nostop noprint\nrun\nbt\nc\n"),
]


@pytest.fixture(name="compare", scope="module")
def make_compare(need, mtdb):
    gdb = need("gdb")
    return lambda scripts, program: same(gdb, mtdb, [*words_of(scripts), program])


@pytest.mark.parametrize("flags", [pytest.param(("-O0",), marks=pytest.mark.sanitize), ("-O0", "-no-pie")], ids=" ".join)
def test_c(compare, compile, flags):
    compare(C, compile("gdb_session.c", "-pthread", *flags))


@pytest.mark.parametrize("flags", [("-O0",)], ids=" ".join)
def test_cpp(compare, compile, flags):
    compare(CPP, compile("debugged.cpp", "-pthread", *flags))


def test_sizes(compare, compile, tmp_path):
    """Of 128 bytes and more: one byte has the size, and its highest bit is set."""
    source = tmp_path / "sizes.c"
    source.write_text("struct whole { char part[176]; } one, two[3]; struct { struct whole w[300]; } large;\n"
                      "int main(void) { return one.part[0]; }\n")
    words = "p sizeof(one)\np sizeof(two)\np sizeof(large)\np &two[1]\np sizeof(struct whole)\nptype/o large\nptype/o two\n"
    compare([("", words)], compile(source))
    compare([("", words)], compile(source, "-gdwarf-2"))


TYPES = """struct pointers { const char *const p; char *const *q; int *const (*r)[3]; int (*const f)(char *const, const int *const *); };
struct pointers *volatile all;
const char *const *const words;
int take(const char *const *a, char *const b, struct pointers *const *c) { return a && b && c; }
int main(void) { return take(0, 0, &all) + !words; }
"""


def test_qualified_pointers(compare, compile, tmp_path):
    source = tmp_path / "pointers.c"
    source.write_text(TYPES)
    compare([("", "ptype struct pointers\nwhatis all\nwhatis words\nwhatis take\ninfo functions take\n"
                  "whatis (char *const *) 0\nwhatis &all->q\n")], compile(source))
