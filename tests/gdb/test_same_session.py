# SPDX-License-Identifier: GPL-3.0-or-later
"""A session prints the same with the program recorded and without: whoever debugs it cannot tell
that its text is patched, but for numbers of processes and addresses that the system gives out."""
import os
import re
import subprocess

import pytest

LEVELS = ["-O0", "-O2", pytest.param("-O1", marks=pytest.mark.soak)]

SETUP = ["set confirm off", "set pagination off", "set width 0", "set print thread-events off",
         "set debuginfod enabled off", "set print frame-arguments all"]

STEPPING = [
    "break sum_up", "run", "info args", "step", "next", "next", "step", "step", "info locals",
    "finish", "next", "next", "next", "stepi", "stepi", "nexti", "nexti", "x/3i $pc", "bt",
    "until", "until", "advance compare", "bt", "up", "finish", "delete", "continue",
]

STOPPING = [
    "tbreak main", "run", "tbreak fib if n == 0", "continue", "bt", "finish", "finish", "finish",
    "break scale", "continue", "continue", "info breakpoints", "ignore 3 2", "continue", "bt 3",
    "disable 3", "hbreak sorted", "continue", "p $_hit_bpnum", "bt", "delete", "watch total",
    "continue", "continue", "p total", "delete", "handle SIGUSR1 stop print pass", "continue",
    "bt 1", "p signals", "advance handler", "bt 2", "continue",
]

LOOKING = [
    "break price_of", "run", "p *item", "p steps[0](6)", "p scale(7)", "p fib(9)",
    "call scale(2)", "disassemble fib", "disassemble price_of", "x/8xb price_of", "x/5i scale",
    "info symbol scale", "info line scale", "p $rip == (long)&price_of", "info registers rip",
    "continue 3", "p item->name", "set var total = 5", "p total", "return 4", "next", "delete",
    "tbreak scale if x == 1", "continue", "thread apply all bt 12", "info threads", "thread 2",
    "bt 4", "frame 1", "thread 1", "continue",
]

CRASHING = [
    "handle SIGUSR1 nostop noprint pass", "run crash", "bt", "info locals", "frame 1",
    "info locals", "p items[3]", "x/2i $pc", "info signal SIGSEGV", "up", "down", "kill",
]

AGAIN = [
    "break sorted", "run", "bt", "run", "bt", "delete", "continue", "run", "info program",
]

CATCHING = [
    "catch throw", "run", "bt -3", "up 2", "info locals", "continue", "bt -2", "catch catch",
    "continue", "bt -2", "delete", "tbreak largest<double>", "continue", "info args", "finish",
    "tbreak main::{lambda(int)#1}::operator()", "run", "bt", "next", "next", "info locals",
    "finish", "rbreak ^areas", "continue", "next", "next", "next", "next", "step", "step", "bt",
    "finish", "tbreak Square::area", "continue", "bt", "p *this", "p this->size_", "ptype this",
    "delete", "continue",
]


BEGIN = "show version"


def echoed(words):
    """Each command, and before it a line that names it."""
    return [line for word in words for line in ("echo ((" + word + "))\\n", word)]


def normal(text):
    text = re.sub(r"(LWP|process|Thread|pid) (0x[0-9a-f]+|\d+)", r"\1 N", text)
    text = re.sub(r"0x0*7ff[0-9a-f]{9}\b", "0x7ff…", text)
    text = re.sub(r"\b1407[0-9]{11}\b", "1407…", text)
    lines = [line.rstrip() for line in text.splitlines() if not line.startswith("[mtrace")]
    return lines[lines.index(f"(({BEGIN}))"):]


@pytest.fixture(name="session")
def session_fixture(need, build, tmp_path):
    """session(program, words, traced) -> the lines that GDB printed."""
    gdb = need("gdb")
    plugin = build / "mtrace.py"
    if not plugin.exists():
        pytest.skip(f"{plugin} was not built: GDB's Python headers are missing")

    def run(program, words, traced):
        start = [f"source {plugin}", f"set mtrace output {tmp_path}/trace-%n.fxt",
                 "mtrace start"] if traced else []
        script = tmp_path / f"script-{int(traced)}.gdb"
        lines = SETUP + start + echoed([BEGIN, *words])
        # A command that fails ends a script: each goes by Python, which goes on.
        script.write_text("python\nimport gdb\ndef say(line):\n"
                          "    try: gdb.execute(line)\n"
                          "    except gdb.error as error: gdb.write(f'error: {error}\\n')\nend\n"
                          + "".join(f"python say({line!r})\n" for line in lines))
        done = subprocess.run([gdb, "-nx", "-q", "-batch", "-x", script, program], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120, check=False,
                              env={**os.environ, "LC_ALL": "C"})
        assert done.returncode == 0, done.stdout
        return normal(done.stdout)

    return run


def difference(plain, traced):
    for number, (one, other) in enumerate(zip(plain, traced)):
        if one != other:
            around = "\n".join(plain[max(0, number - 12):number])
            return f"{around}\n-- plain:  {one}\n-- traced: {other}"
    return f"{len(plain)} lines, and {len(traced)} when traced"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("words", [STEPPING, STOPPING, LOOKING, CRASHING, AGAIN],
                         ids=["stepping", "stopping", "looking", "crashing", "again"])
def test_c(compile, session, words, level):
    program = compile("gdb_session.c", level, "-pthread")
    plain, traced = session(program, words, False), session(program, words, True)
    assert plain == traced, difference(plain, traced)
    assert len(plain) > len(words)


@pytest.mark.parametrize("level", LEVELS)
def test_cxx(compile, session, level):
    program = compile("gdb_session.cpp", level)
    plain, traced = session(program, CATCHING, False), session(program, CATCHING, True)
    assert plain == traced, difference(plain, traced)
    assert any("sum " in line for line in plain)


def test_without_pie(compile, session):
    program = compile("gdb_session.c", "-O0", "-pthread", "-no-pie", "-fno-pie")
    for words in (STEPPING, STOPPING):
        plain, traced = session(program, words, False), session(program, words, True)
        assert plain == traced, difference(plain, traced)
