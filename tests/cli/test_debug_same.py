# SPDX-License-Identifier: GPL-3.0-or-later
"""The same script, given to GDB and to mtdb's prompt, gives the same stops, lines and backtraces."""
import difflib
import re
import subprocess

import pytest

# What differs from run to run, or is told by GDB alone.
NOISE = re.compile(r"^(\[Thread debugging using|Using host libthread_db|warning: Error disabling)")
NORMAL = [
    (re.compile(r"0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"process \d+"), "process N"),
    (re.compile(r"LWP \d+"), "LWP N"),
    (re.compile(r"/\S*/(?=[\w.-]+:\d)"), ""),
    # Values at a function's entry, which GDB has from frames of tail calls.
    (re.compile(r"(__pthread_kill_implementation) \(.*\)"), r"\1 ()"),
]


def normalized(text):
    lines = []
    for line in text.splitlines():
        if NOISE.match(line):
            continue
        for pattern, replacement in NORMAL:
            line = pattern.sub(replacement, line)
        lines.append(line)
    return lines


@pytest.fixture(scope="module")
def same(need, mtdb, tmp_path_factory):
    """same(program, script, *arguments): both debuggers' normalized output, after comparing it."""
    gdb = need("gdb")

    def run(program, script, *arguments):
        path = tmp_path_factory.mktemp("script") / "script"
        path.write_text(script)
        words = ["-batch", "-x", path, "--args", program, *arguments]
        outputs = []
        for debugger in ([gdb, "-nx"], [mtdb]):
            done = subprocess.run(
                [*debugger, *words], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL
            )
            outputs.append((normalized(done.stdout), normalized(done.stderr)))
        for theirs, ours in zip(*outputs):
            differences = "\n".join(difflib.unified_diff(theirs, ours, "gdb", "mtdb", lineterm=""))
            assert not differences, differences
        return outputs[1][0]

    return run


@pytest.fixture(scope="module")
def steps(compile):
    return compile("debug_steps.c", "-O0")


def test_step(same, steps):
    lines = same(steps, "break add\nrun\nbacktrace\n" + "step\n" * 10 + "bt\nnext\nnext\nnext\nnext\n", "word")
    assert "Breakpoint 1, add (a=0, b=1) at debug_steps.c:27" in lines


def test_next(same, steps):
    same(steps, "break main\nrun\n" + "next\n" * 19)


def test_step_through_many_functions(same, steps):
    same(steps, "break main\nrun\n" + "step\n" * 50)


def test_finish_and_up(same, steps):
    same(steps, "break square\nrun\nfinish\nbt\nc\nup\nfinish\nup\nup\n", "a")


def test_finish_recursion(same, steps):
    same(steps, "break factorial\nrun\nc\nc\nbt\nfinish\ndelete\nfinish\nfinish\n")


def test_until_and_advance(same, steps):
    same(steps, "break main\nrun\nadvance add\nuntil 29\n" + "until\n" * 12)


def test_stepi(same, steps):
    same(steps, "break square\nrun\n" + "stepi\n" * 6 + "nexti\n" * 10 + "bt\n")


def test_breakpoints(same, steps):
    same(
        steps,
        "break add\ntbreak factorial\nbreak debug_steps.c:23\ninfo breakpoints\nignore 3 2\nrun\n"
        "info breakpoints\ndisable 1\nc\nc\nc\ndelete 3\ninfo breakpoints\nc\nc\n",
    )


def test_handler(same, steps):
    same(steps, "tbreak on_signal\nbreak 59\nrun word\nc\nnext\nc\nc\n")


def test_crash(same, steps):
    same(steps, "tbreak on_signal\nrun a b\nc\nc\nc\nc\n")
    same(steps, "run a b\nc\nkill\nc\n")


def test_values(same, steps):
    lines = same(
        steps,
        "break add if a > 1\nbreak square if v == 5 && $rdi\ninfo breakpoints\nrun\ninfo args\ninfo locals\np a\n"
        "p a + b\nbt\nc\nc\nc\ninfo breakpoints\n",
    )
    assert "$2 = 3" in lines  # a + b
    same(
        steps,
        "break square\nrun\nup\nup\ninfo locals\np p\nset var p.x = 100\np/x p\nx/4xw &p\nptype p\nwhatis &p\n"
        'printf "%d %s\\n", p.x, argv[0]\np argv[0]\ninfo symbol main\nframe 0\ndelete\nfinish\nfinish\np $\nc\n'
        "p $_exitcode\n",
    )


def test_conditions(same, steps):
    same(
        steps,
        "break add\ncondition 1 a == 2\nbreak factorial if n == 2\nrun\nbt\ncondition 1\n"
        "c\nfinish\ncondition 2 n < 0\ncondition 9 1\nc\n",
    )
    same(steps, "break square if nothing > 1\n")
    same(steps, "break square if *(int *) 0 == 1\nrun\nbt\n")


def test_watch(same, steps):
    lines = same(steps, "break main\nrun\nwatch total\ninfo breakpoints\nc\nc\nbt\nwatch p.y if p.y > 3\nc\nc\ndelete\nc\n")
    assert "Hardware watchpoint 2: total" in lines
    lines = same(steps, "break square\nrun\nwatch r\nc\nc\ninfo breakpoints\ndelete\nc\n")
    assert "which its expression is valid." in lines
    same(steps, "break main\nrun\nrwatch argc\nawatch total\nc\nc\nc\nc\ninfo breakpoints\n")
    same(steps, "watch nothing\n")


def test_hardware_break(same, steps):
    same(steps, "break main\nrun\nhbreak add\ninfo breakpoints\nc\nbt\nnext\nc\ndelete 2\nc\n")


@pytest.mark.parametrize("line", ["break nowhere", "break 100000", "frame 7", "bogus", "finish", "up", "info bogus"])
def test_errors(same, steps, line):
    same(steps, f"{line}\nbreak main\nrun\n{line}\n")
    same(steps, f"break main\nrun\n{line}\n")


def test_list(same, steps):
    same(steps, "list\nlist\nlist -\nlist 20\nlist square\nlist 25,27\nlist 30,\nlist ,20\nlist\nlist\n")
    same(steps, "list debug_steps.c:40\nlist -\nlist -\nlist\nlist 12,square\nlist square,\n")
    same(steps, "break add\nrun\nlist\nlist\nlist -\nup\nlist\nlist 1,2\nc\nlist\n")


@pytest.mark.parametrize("line", ["list nowhere", "list 100000", "list 60,100000", "list nowhere.c:3", "list ,", "list 1,nowhere"])
def test_list_errors(same, steps, line):
    same(steps, f"{line}\n")
    same(steps, f"break main\nrun\n{line}\n")


def test_list_both_ends(same, steps):
    same(steps, "list 1\nlist -\n")
    same(steps, "list 60,\nlist\nlist\nlist\n")


def test_disassemble(same, steps):
    same(steps, "disassemble square\nbreak factorial\nrun\ndisassemble\ndisassemble add\n")
    same(steps, "break square\nrun\ndisassemble $pc,+12\ndisassemble /r\ndisassemble /r square,+8\n")
    same(steps, "break square\nrun\ndisassemble /s\n")


@pytest.mark.parametrize("line", ["disassemble", "disassemble nowhere", "disassemble /z main", "disassemble 1"])
def test_disassemble_errors(same, steps, line):
    same(steps, f"{line}\n")


def test_examine_instructions(same, steps):
    same(steps, "x/3i main\nx/2i\nbreak square\nrun\nx/4i $pc\nx\nx/2i square\nup\nx/2i $pc\nx/s 0\n")
    same(steps, "disassemble main\n")


def test_info(same, steps):
    same(steps, "info line square\ninfo line 20\ninfo line 1\n")
    same(steps, "break square\nrun\ninfo registers rip\ninfo registers rdi $rsi cs\ninfo line\nup\n"
                "info registers rip\ninfo line\n")


@pytest.mark.parametrize("line", ["info line nowhere", "info line nowhere.c:1", "info line 100000", "info registers",
                                  "info registers xyz", "x/2i nowhere", "info frame"])
def test_info_errors(same, steps, line):
    same(steps, f"{line}\n")
    same(steps, f"break main\nrun\n{line if line not in ('info frame', 'info registers') else 'info line 0'}\n")
