# SPDX-License-Identifier: GPL-3.0-or-later
"""The same session prints the same, recorded or not: nobody notices that the program is patched."""
import re

import pytest

from conftest import FIXTURES

LAMBDA = next(number for number, line in
              enumerate((FIXTURES / "debugged.cpp").read_text().splitlines(), 1)
              if "auto doubled" in line)

SESSIONS = {
    "step": ["break main", "run"] + ["step"] * 40 + ["info locals", "bt"],
    "next": ["break main", "run"] + ["next"] * 8 + ["info locals"] + ["next"] * 10,
    "stepi": ["break middle", "run", "stepi", "x/i $pc"] + ["stepi", "nexti"] * 20 + ["bt"],
    "finish": ["break leaf", "run", "bt", "finish", "finish", "delete", "finish", "info locals"],
    "finish-inlined": ["start", "step", "finish", "bt", "next", "info source"],
    "up-down": ["break leaf", "run", "up", "info locals", "up", "down", "frame 0", "info frame"],
    "until": ["break middle", "run", "until", "until", "delete", "until leaf", "advance recurse",
              "until", "until", "finish"],
    "tbreak": ["tbreak recurse", "run", "bt", "tbreak leaf", "continue", "bt", "continue"],
    "conditions": ["break leaf if x == 7", "run", "bt", "print x", "print items", "continue",
                   "info breakpoints"],
    "ignore": ["break leaf", "ignore 1 9", "run", "bt", "info breakpoints"],
    "commands": ["break recurse", "run", "continue 3", "bt", "print depth"],
    "each-instruction": ["break *leaf", "break *leaf+1", "break *leaf+4", "run"]
                        + ["x/i $pc", "continue"] * 6 + ["bt"],
    "watch": ["break middle", "run", "watch counter", "continue", "bt", "continue", "bt",
              "delete", "continue"],
    "software-watch": ["set can-use-hw-watchpoints 0", "break recurse", "run", "watch counter",
                       "continue", "bt", "delete", "finish"],
    "catch-throw": ["catch throw", "catch catch", "run", "bt", "continue", "bt", "delete",
                    "continue"],
    "calls": ["break recurse", "run", "print leaf(5)", "print middle(2)", "call work(3)",
              "print counter", "break leaf", "print recurse(2)", "bt", "continue", "finish"],
    "unwinding-call": ["break recurse", "run", "set unwind-on-terminating-exception on",
                       "print thrower(5)", "bt", "continue"],
    "signals": ["handle SIGUSR1 stop print pass", "run", "bt", "break handler", "continue", "bt",
                "step", "finish", "continue"],
    "return": ["break leaf", "run", "return 11", "bt", "next", "info locals"],
    "jump": ["break middle", "run", "next", "tbreak +1", "jump +1", "info locals"],
    "text": ["break middle", "run", "x/8i leaf", "disassemble middle", "x/16ub leaf",
             "disassemble /r recurse", "info line leaf", "info symbol leaf+2"],
    "threads": ["break work", "run", "info threads", "bt", "continue", "continue", "delete",
                "continue"],
    "templates": ["break largest<int>", "run", "bt", "info locals", "finish", "step", "step"],
    "lambda": [f"break debugged.cpp:{LAMBDA}", "run", "bt", "next", "step", "finish"],
    "set": ["break leaf", "run", "set var x = 50", "finish", "print $", "continue"],
    "crash": ["handle SIGUSR1 nostop noprint", "run 10 crash", "bt", "info locals", "x/i $pc",
              "info registers rip", "continue"],
    "run-again": ["break recurse", "run", "run", "bt", "delete", "continue"],
    "starti": ["starti", "break middle", "continue", "bt", "delete", "continue"],
    "libraries": ["break middle", "run", "info sharedlibrary", "info signals SIGUSR1",
                  "info symbol 0"],
}

# The same for other programs: in C, with threads that wait, and in C++ with virtual functions.
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
    "call scale(2)", "disassemble fib", "disassemble price_of", "x/8ub price_of", "x/5i scale",
    "info symbol scale", "info line scale", "p $rip == (long)&price_of", "info registers rip",
    "continue 3", "p item->name", "set var total = 5", "p total", "return 4", "next", "delete",
    "tbreak scale if x == 1", "continue", "thread apply all bt 12", "info threads", "thread 2",
    "bt 4", "frame 1", "thread 1", "continue",
]

CATCHING = [
    "catch throw", "run", "bt -3", "up 2", "info locals", "continue", "bt -2", "catch catch",
    "continue", "bt -2", "delete", "tbreak largest<double>", "continue", "info args", "finish",
    "tbreak main::{lambda(int)#1}::operator()", "run", "bt", "next", "next", "info locals",
    "finish", "rbreak ^areas", "continue", "next", "next", "next", "next", "step", "step", "bt",
    "finish", "tbreak Square::area", "continue", "bt", "p *this", "p this->size_", "ptype this",
    "delete", "continue",
]

# At each of a function's first instructions, while the text would be patched if the program ran.
PLACES = ["break main", "run",
          "python code = gdb.selected_frame().architecture().disassemble",
          "python points = [gdb.Breakpoint('*%d' % one['addr']) for name in ('leaf', 'put', 'work')"
          " for one in code(int(gdb.parse_and_eval(name).address), count=6)]"]

AFTER = ["continue", "continue", "finish", "until", "continue", "continue", "finish",
         "continue", "delete", "continue"]

# Also while it runs, by what a breakpoint's stop() does.
NOW_AND_THEN = [
    "break leaf", "run", "next", "set breakpoint always-inserted on", "break put", "x/8ub leaf", "x/8ub put", "next",
    "continue", "x/8ub leaf", "set breakpoint always-inserted off", "next", "x/8ub leaf", "continue", "x/8ub put",
    "python class Toggle(gdb.Breakpoint): stop = lambda self: gdb.execute('set breakpoint always-inserted '"
    " + ('off' if gdb.parameter('breakpoint always-inserted') else 'on')) or self.hit_count % 2",
    "python toggle = Toggle('work')", *["continue", "x/8ub work", "next", "x/8ub leaf"] * 4, "delete", "x/8ub work",
    "x/8ub put", "continue",
]

# Down and up, so that frames are where others were.
FRAMES = ["break fib if n < 3", "run", *["next", "next", "bt", "next 2", "continue", "finish", "next", "bt 3"] * 6,
          "break scale", "disable 1", *["continue", "next", "next 3", "bt", "up", "next"] * 3, "delete", "next 9", "bt"]

WATCHING = ["break work", "run", "next", "watch local"] + 8 * ["continue"]

OTHERS = {
    "watched-local": ("debugged_watch.c", [], WATCHING),
    "watched-local-by-steps": ("debugged_watch.c", [],
                               ["set can-use-hw-watchpoints 0", *WATCHING]),
    "watched-local-and-next": ("debugged_watch.c", [], WATCHING[:4] + 12 * ["next"]),
    "no-addresses": ("debugged_watch.c", [], ["set print address off", *PLACES, *AFTER]),
    "always-inserted": ("debugged_watch.c", [],
                        ["set breakpoint always-inserted on", *PLACES, *AFTER]),
    "always-inserted-now-and-then": ("debugged_watch.c", [], NOW_AND_THEN),
    "frames": ("gdb_session.c", ["-pthread"], FRAMES),
    "into-a-child": ("debugged_watch.c", [],
                     ["set args quiet", "set follow-fork-mode child", "break main", "run", "next", "next", "next 2",
                      "step", "finish", "continue"]),
    "into-a-vforked-child": ("debug_follow.c", [],
                             ["set args v /bin/true", "start", "set follow-fork-mode child", "tbreak work", "continue",
                              "x/16ub work", "stepi", "next", "x/16ub main", "continue"]),
    "into-what-is-jumped-to": ("debug_jumps.c", [],
                               ["break middle", "break through", "run", "next 4", "bt", "next 2", "continue", "nexti 9", "x/i $pc",
                                "next 5", "bt", "disable", "until 12", "next 20", "bt"]),
    "into-a-handler": ("debug_signals.c", ["-pthread"],
                       ["run", "next 3", "bt 2", "run", "nexti 4", "x/i $pc", "run", "until", "until", "until"]),
    "commands": ("debugged_watch.c", [],
                 ["python open('script', 'w').write('break leaf\\ncommands\\nprint x\\nend\\n"
                  "tbreak put\\ncommands\\nprint value\\ncontinue\\nend\\n')",
                  "source script", "run", "continue", "continue", "continue"]),
    "looking": ("gdb_session.c", ["-pthread"], LOOKING),
    "stepping-no-pie": ("gdb_session.c", ["-pthread", "-no-pie", "-fno-pie"], STEPPING),
    "stopping-no-pie": ("gdb_session.c", ["-pthread", "-no-pie", "-fno-pie"], STOPPING),
    "catching": ("gdb_session.cpp", [], CATCHING),
}

# GDB tells that the program goes on, and then cannot put a breakpoint where it is to be; others are in the text by then.
FAILING = ("continue", "step", "next", "stepi", "nexti", "until", "advance *1", "until *1", "jump 36", "signal 0",
           "signal SIGNONE", "call last(1)", "finish", "continue 2")
LOOKS = ["x/8ub middle", "x/8ub through", "x/3i last", "x/12ub main", "disassemble middle", "print $pc", "bt"]
for _command in FAILING:
    OTHERS[f"behind-{_command.replace(' ', '-')}-that-failed"] = (
        "debug_jumps.c", [],
        ["break main", "break *middle", "break through", "break *last", "run", "break *1", _command, *LOOKS,
         "call through(2)", "delete 3", *LOOKS, "delete 5", "delete 4", "call last(2)", _command, *LOOKS, "next", "bt",
         "delete", _command, *LOOKS, "continue"])
OTHERS["behind-too-many-hardware-breakpoints"] = (
    "debug_jumps.c", [],
    ["break main", "break *middle", "run", *(f"hbreak {place}" for place in ("last", "*last", "middle", "through", "*through")),
     "continue", *LOOKS, "call last(2)", "delete 2", "next", *LOOKS, "delete 6 7", "next", *LOOKS, "continue", "bt"])
OTHERS["behind-a-start-that-failed"] = (
    "debug_jumps.c", ["-no-pie"],
    ["break *middle", "break *1", "run", *LOOKS, "delete 2", "continue", *LOOKS, "next", "bt"])
OTHERS["behind-what-failed"] = (
    "debug_jumps.c", [],
    ["break main", "run", "advance *1", *4 * ["step"], "bt", "advance *1", "next", "bt", "break *last", "break middle",
     "advance *1", "call through(2)", "bt", "break *1", "continue", "call last(2)", "delete 4", "next", "bt", "continue"])

# Threads come and go when they do.
NOISE = re.compile(r"^(\[mtrace: .*|mtrace: calls are not recorded while a local .*|The program's calls will be recorded when it runs\."
                   r"|\[(New|Thread|Switching to Thread) .*\])$")


def normalised(text):
    """Without what may differ: addresses, process numbers."""
    lines = [line for line in text.splitlines() if not NOISE.match(line)]
    # The program writes by itself, and may be sooner or later.
    forks = [line for line in lines if line.startswith("[Detaching after fork")]
    text = "\n".join([line for line in lines if line not in forks] + forks)
    text = re.sub(r"\b0x[0-9a-f]+\b", "ADDRESS", text)
    text = re.sub(r"(LWP|process) \d+", r"\1 N", text)
    # Before its prologue a function's parameter is what the stack held.
    text = re.sub(r"\((\w+)=-?\d+\)( at \S+:(\d+)\n\3\t\{)", r"(\1=GARBAGE)\2", text)
    # Before it is constructed a vector is that, too: GDB shows no length of one that is right here.
    text = re.sub(r"^(\w+ = std::vector) of length (-\d+|\d\d+), capacity .*", r"\1 GARBAGE", text, flags=re.M)
    return re.sub(r"(\bADDRESS)? +", lambda match: (match[1] or "") + " ", text)


def told(gdb, program, commands, recorded):
    """What GDB printed; its own printers of values may fail, on both sides."""
    words = [word for command in commands for word in (f"echo \\n> {command}\\n", command)]
    first = ["set mtrace on-crash off", "mtrace start"] if recorded else []
    return normalised(gdb(program, *first, *words, loaded=recorded,
                          checked=False).all)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", SESSIONS)
def test_prints_the_same(gdb, compile, name, level):
    program = compile("debugged.cpp", level, "-pthread")
    commands = SESSIONS[name]
    assert told(gdb, program, commands, True) == told(gdb, program, commands, False)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", OTHERS)
def test_of_other_programs(gdb, compile, name, level):
    source, flags, commands = OTHERS[name]
    program = compile(source, level, *flags)
    assert told(gdb, program, commands, True) == told(gdb, program, commands, False)
