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


LISTED = """typedef int plain;
typedef plain again;
typedef const again *const watched;
struct node { int key; struct inner { char c; } in; };
union either { int whole; long wide; };
enum colour { RED, GREEN };
typedef struct { int x; } nameless;
typedef enum { ONE } counted;
typedef struct node *list;
typedef int (*visit)(int, char);
typedef int row[4];
static again one;
watched two;
struct node three;
union either four;
enum colour five;
nameless six;
counted seven;
list eight;
visit nine;
row ten;
unsigned char eleven;
struct only_declared *twelve;
int main(void) { struct local { int q; } l = {0}; typedef short hidden; hidden s = 1; return l.q + s - 1 + one; }
"""
LISTED_CPP = """namespace ns {
struct S { int x; typedef int T; enum E { A }; struct In { int y; } in; T t; E e; };
typedef S Alias;
enum class Ec { X };
template <class T> struct V { T t; };
using U = V<int>;
}
class K { int k; public: K() {} virtual ~K() {} };
ns::S s; ns::Alias a; ns::Ec ec; ns::V<int> vi; ns::V<K> vk; ns::U u;
int main() { return s.x; }
"""


@pytest.mark.parametrize("name, text", [("listed.c", LISTED), ("listed.cpp", LISTED_CPP)])
def test_types_are_listed(compare, compile, tmp_path, name, text):
    source = tmp_path / name
    source.write_text(text)
    lines = compare([("", "info types\ninfo types S\ninfo types ^no\ninfo types unsigned\ninfo types nothing\n"
                      "break main\nrun\ninfo types ^no\n")], compile(source, "-O0"))
    assert "All types matching regular expression \"^no\":" in lines
    assert ("4:\tstruct node;" if name == "listed.c" else "2:\tns::S;") in lines
