# SPDX-License-Identifier: GPL-3.0-or-later
"""The same scripts, given to GDB and to mtdb's prompt, on one program."""
import pytest

from tests.cli.same import same, words_of

RUNS = [
    ("word", "break add\nrun\nbacktrace\n" + "step\n" * 10 + "bt\nnext\nnext\nnext\nnext\n"),
    ("", "break main\nrun\n" + "next\n" * 19),
    ("", "break main\nrun\n" + "step\n" * 50),
    ("a", "break square\nrun\nfinish\nbt\nc\nup\nfinish\nup\nup\n"),
    ("", "break factorial\nrun\nc\nc\nbt\nfinish\ndelete\nfinish\nfinish\n"),
    ("", "break main\nrun\nadvance add\nuntil 29\n" + "until\n" * 12),
    ("", "break square\nrun\n" + "stepi\n" * 6 + "nexti\n" * 10 + "bt\n"),
    # Handlers and a crash.
    ("", "tbreak on_signal\nbreak 59\nrun word\nc\nnext\nc\nc\n"),
    ("a b", "tbreak on_signal\nrun\nc\nc\nc\nc\n"),
    ("a b", "run\nc\nkill\nc\n"),
    # Through the C library, to the program's end.
    ("", "break main\nrun\nbreak write\nc\nbt\nfinish\nbt\nc\n"),
]
BREAKPOINTS = [
    ("", "rbreak ^squ\nrbreak debug_steps.c:^a\nrbreak nothing\nrbreak (\ninfo breakpoints\nrun\nc\nrbreak ^_exi\nc\n"
         "c\n"),
    ("", "break add\ntbreak factorial\nbreak debug_steps.c:23\ninfo breakpoints\nignore 3 2\nrun\n"
         "info breakpoints\ndisable 1\nc\nc\nc\ndelete 3\ninfo breakpoints\nc\nc\n"),
    ("", "break add\ncondition 4 a == 2\nbreak factorial if n == 2\nrun\nbt\ncondition 4\n"
         "c\nfinish\ncondition 5 n < 0\ncondition 9 1\nc\n"),
    ("", "break square if nothing > 1\n"),
    ("", "break square if *(int *) 0 == 1\nrun\nbt\n"),
    ("", "watch nothing\n"),
]
HARDWARE = [
    ("", "break main\nrun\nwatch total\ninfo breakpoints\nc\nc\nbt\nwatch p.y if p.y > 3\nc\nc\ndelete\nc\n"),
    ("", "break square\nrun\nwatch r\nc\nc\ninfo breakpoints\ndelete\nc\n"),
    ("", "break main\nrun\nrwatch argc\nawatch total\nc\nc\nc\nc\ninfo breakpoints\n"),
    ("", "break main\nrun\nhbreak add\ninfo breakpoints\nc\nbt\nnext\nc\ndelete\nc\n"),
]
VALUES = [
    ("", "break add if a > 1\nbreak square if v == 5 && $rdi\ninfo breakpoints\nrun\ninfo args\ninfo locals\np a\n"
         "p a + b\nbt\nc\nc\nc\ninfo breakpoints\n"),
    ("", "break square\nrun\nup\nup\ninfo locals\np p\nset var p.x = 100\np/x p\nx/4xw &p\nptype p\nwhatis &p\n"
         'printf "%d %s\\n", p.x, argv[0]\np argv[0]\ninfo symbol main\nframe 0\ndelete\nfinish\nfinish\np $\nc\n'
         "p $_exitcode\n"),
    ("", "display total\ndisplay/i $pc\ninfo display\nbreak square\nrun\ndisplay v\ndisplay/x total\ndisplay nothing\n"
         "display *(int *) 8\ndisplay/2xw &total\nnext\nup\ndisplay\ninfo display\nundisplay 2\ndisable display 5 4\n"
         "info display\nfinish\nenable display\ndelete display 5 6\ndelete display 77\nfinish\nundisplay\nc\ndisplay/i\n"),
]
VALUES.append(
    ("word x", 'break main if argc == 3 && $_streq(argv[1], "word")\nrun\np $_streq(argv[1], "word")\n'
               'p $_streq("x", argv[2])\np !$_streq(argv[1], argv[2])\np $_strlen(argv[1]) + $_strlen("four")\n'
               'p $_memeq(argv[1], argv[1], 4)\np $_memeq(argv[1], argv[2], argc - 2)\n'
               'p $_memeq(argv[1], argv[2], 0)\nptype $_streq(argv[1], "a")\nwhatis $_strlen(argv[1])\n'
               'break square if $_strlen("abc") == 3 && $_streq("", "")\nc\np $_streq("a", "ab")\n'))
VALUES.append(
    ("word ober", 'break main if argc == 3 && $_regex(argv[1], "w.*d")\nrun\np $_regex(argv[1], "w")\n'
                  'p $_regex(argv[1], "ord")\np !$_regex(argv[1], argv[2])\np $_regex(argv[1], argv[1])\n'
                  'p $_regex(argv[1], "(?:[a-w]+|r)d$") + 2\np $_regex(argv[2], ".{4}$")\n'
                  'p $_regex(argv[2], "[o-p]b\\\\u0065r\\\\Z")\np $_regex("a\\n", "a$")\np $_regex("", "^$")\n'
                  'p $_regex("{", "{") && $_regex("aa", "a{2}")\np $_regex(argv[1], "(?i)WO.D")\n'
                  'whatis $_regex(argv[1], "x")\n'
                  'break square if $_regex("12", "\\\\d+")\nc\np $_regex("ab", "b")\n'))
CODE = [
    ("", "info line square\ninfo line 20\ninfo line 1\n"),
    ("", "break square\nrun\ninfo registers rip\ninfo registers rdi $rsi cs\ninfo line\nup\n"
         "info registers rip\ninfo line\n"),
    ("", "disassemble square\nbreak factorial\nrun\ndisassemble\ndisassemble add\n"),
    ("", "break square\nrun\ndisassemble $pc,+12\ndisassemble /r\ndisassemble /r square,+8\ndisassemble /s\n"),
    ("", "x/3i main\nx/2i\nbreak square\nrun\nx/4i $pc\nx\nx/2i square\nup\nx/2i $pc\nx/s 0\n"),
    ("", "disassemble main\n"),
    ("", "info frame\nbreak square\nrun\ninfo frame\nup\ninfo frame\nup\ninfo frame\nframe 0\nstepi\ninfo frame\n"
         "break write\ndelete 1\nc\n" + "info frame\nup\n" * 10),
    ("", "info proc\nbreak square\nrun\ninfo proc\ninfo proc mappings\ninfo proc nonsense\n!echo from a shell\n"
         "shell exit 3\np $_shell_exitcode\nshell kill -9 $$\np $_shell_exitsignal\nshell nothing-like-it\n"
         "pwd\ncd /nowhere\ncd /usr\npwd\ncd\npwd\n"),
    ("", "break square\nrun\ninfo registers mxcsr eax $al st0 ax\ninfo registers xmm0 nothing\n"
         "frame function main\nframe level 0\nframe function nowhere\nframe function printf\nframe function\n"),
    ("", "disassemble\ndisassemble nowhere\ndisassemble /z main\ndisassemble 1\n"),
    ("", "p $rbx\nx/i $pc\np $xmm0\np total\nset var total = 5\np $nothing\n"),
    ("", "info line nowhere\ninfo line nowhere.c:1\ninfo line 100000\ninfo registers\ninfo registers xyz\n"
         "x/2i nowhere\ninfo frame\n"),
    ("", "break main\nrun\ninfo line nowhere\ninfo line nowhere.c:1\ninfo line 100000\ninfo registers xyz\n"
         "x/2i nowhere\ninfo line 0\n"),
]
LISTS = [
    ("", "info functions\ninfo functions squ\ninfo functions nothing\ninfo variables\nbreak main\nrun\n"
         "info functions ^mall\ninfo variables ^std\n"),
    ("", "list 20\nlist square\nlist 25,27\nlist 30,\nlist ,20\nlist\nlist\n"),
    ("", "list debug_steps.c:40\nlist -\nlist -\nlist\nlist 12,square\nlist square,\n"),
    ("", "break add\nrun\nlist\nlist\nlist -\nup\nlist\nlist 1,2\nc\nlist\n"),
    ("", "list nowhere\nlist 100000\nlist 60,100000\nlist nowhere.c:3\nlist ,\nlist 1,nowhere\n"),
    ("", "break main\nrun\nlist nowhere\nlist 100000\nlist 60,100000\nlist nowhere.c:3\nlist ,\nlist 1,nowhere\n"),
    ("", "list 1\nlist -\n"),
    ("", "list 60,\nlist\nlist\nlist\n"),
]
ERRORS = [
    ("", f"{before}break nowhere\nbreak 100000\nframe 7\nbogus\nfinish\nup\ninfo bogus\n\x01\n.\nset bogus\n"
         "tbreak\ncondition 77 x\ncondition\nignore\nignore 77 1\nignore 77\ndelete 77\ndisable 77\nthread 9\n"
         "signal SIGBOGUS\nhandle SIGBOGUS stop\nx/z main\np (\np 1 +\n")
    for before in ["", "break main\nrun\n"]
]


@pytest.fixture(scope="module")
def compare(need, mtdb, compile):
    gdb, program = need("gdb"), compile("debug_steps.c", "-O0")
    return lambda scripts: same(gdb, mtdb, [*words_of(scripts), program])


def test_runs(compare):
    assert "Breakpoint 1, add (a=0, b=1) at debug_steps.c:27" in compare(RUNS)


def test_breakpoints(compare):
    compare(BREAKPOINTS)


@pytest.mark.usefixtures("debug_registers")
def test_hardware(compare):
    lines = compare(HARDWARE)
    assert any(line.startswith("Hardware watchpoint ") and line.endswith(": total") for line in lines)
    assert "which its expression is valid." in lines


def test_values(compare):
    assert "$2 = 3" in compare(VALUES)  # a + b


def test_code(compare):
    compare(CODE)


def test_lists(compare):
    compare([("", "list\nlist\nlist -\n"), *LISTS])


def test_errors(compare):
    compare(ERRORS)


def test_script(need, mtdb, compile, tmp_path):
    """A file of commands ends at an error."""
    (tmp_path / "inner").write_text("break add\nprint nothing\nbreak square\n")
    (tmp_path / "outer").write_text(f"break main\nrun word\nsource {tmp_path / 'inner'}\nc\n")
    words = ["-x", tmp_path / "outer", "-ex", "info breakpoints", "-ex", "c", compile("debug_steps.c", "-O0")]
    lines = same(need("gdb"), mtdb, words)
    assert not any("in square at" in line for line in lines)
