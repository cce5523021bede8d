# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions of GDB commands by chance, each told by its number, for test_random_sessions.py.

A session is a list of commands, and is held twice: in a plain GDB, and in one that records.  What
only the recorded one can be asked has a counterpart in the plain one, so that breakpoints are at the
same places: a trigger's is one whose condition never holds.  Numbers of breakpoints are not the same
then, since the plugin makes some for itself; so commands name them by variables.
"""
import random
from typing import NamedTuple


class Program(NamedTuple):
    """A program of tests/fixtures, and what sessions say of it."""

    source: str
    flags: tuple
    arguments: str
    functions: tuple
    lines: range
    variables: tuple


PROGRAMS = {
    "threads": Program("debugged.cpp", ("-pthread",), "",
                       ("leaf", "middle", "recurse", "thrower", "catcher", "handler", "work", "main"),
                       range(14, 103), ("counter", "handled")),
    "forks": Program("debug_follow.c", (), "f", ("work", "tell", "main"), range(13, 57), ("environ",)),
    "vforks": Program("debug_follow.c", (), "v /bin/true", ("work", "tell", "main"), range(13, 57), ("environ",)),
    "signals": Program("debug_signals.c", ("-pthread",), "", ("on_signal", "on_fault", "after", "other", "fault", "main"),
                       range(10, 74), ("seen[10]", "seen[11]")),
    "dies": Program("debug_signals.c", ("-pthread",), "11", ("on_signal", "after", "other", "fault", "main"),
                    range(10, 74), ("seen[10]", "seen[5]")),
    "loads": Program("debug_loads.c", (), "{library}", ("in_library", "main", "dlopen", "puts"), range(11, 19),
                     ("pair", "numbers[3]")),
    "optimized": Program("debugged.cpp", ("-pthread", "-O2"), "",
                         ("leaf", "middle", "recurse", "thrower", "catcher", "handler", "work", "main"),
                         range(14, 103), ("counter", "handled")),
    "jumps": Program("debug_jumps.c", ("-O2",), "", ("last", "middle", "through", "main"), range(9, 42),
                     ("sum", "pointer")),
    "watched": Program("debugged_watch.c", (), "", ("leaf", "put", "work", "main"), range(8, 45), ("local", "sum")),
    "throws": Program("gdb_session.cpp", (), "", ("areas", "main", "largest<double>", "Square::area"),
                      range(20, 90), ("squares", "1")),
}

# {f} a function, {l} a line, {v} a variable, {b} an earlier breakpoint, {n} a small number.
PLACES = ["break {f}", "break {f}", "break {l}", "tbreak {f}", "tbreak {l}", "break *{f}", "break *{f}+4", "hbreak {f}",
          "break {f} if {n} > 2", "source commands-{f}"]
STOPS = ["watch {v}", "rwatch {v}", "catch fork", "catch vfork", "catch exec", "catch throw", "catch catch",
         "catch signal SIGUSR1", "catch syscall write", "catch load", "catch syscall"]
MOVES = ["continue", "continue", "continue", "continue {n}", "next", "next", "next {n}", "step", "step", "step {n}", "stepi",
         "stepi {n}", "nexti", "nexti {n}", "finish", "finish", "until", "advance {f}", "until {l}"]
LOOKS = ["bt", "bt -3", "info scope {f}", "info display", "print {v}", "print $rip == (long)&{f}", "x/4i $pc", "x/24xb {f}",
         "disassemble {f}", "info threads", "thread apply all bt 4", "up", "down", "frame 1", "info registers rip",
         "info sharedlibrary", "info symbol {f}", "info line {f}", "info inferiors", "thread 1", "thread 2",
         "compare-sections .text", "print $_siginfo.si_signo", "print $_exitcode", "info frame",
         "find /b {f}, +16, 0xcc", "info source"]
CHANGES = ["delete {b}", "delete {b}", "disable {b}", "enable {b}", "enable once {b}", "ignore {b} {n}",
           "condition {b} {n} == 2", "condition {b}", "set var {v} = {n}", "return", "jump *$pc", "call {f}", "print work(2)",
           "print leaf(3)", "call after(1)", "signal 0", "signal SIGUSR1", "queue-signal SIGUSR1",
           "handle SIGUSR1 nostop noprint pass", "handle SIGUSR1 stop print", "handle SIGSEGV nostop", "delete"]
ENDS = ["run", "run", "start", "starti", "kill", "detach", "file {program}", "run", "symbol-file {program}",
        "generate-core-file core"]
SETTINGS = ["set breakpoint always-inserted on", "set breakpoint always-inserted off", "set follow-fork-mode child",
            "set follow-fork-mode parent", "set can-use-hw-watchpoints 0", "set can-use-hw-watchpoints 1",
            "set step-mode on", "set scheduler-locking step", "set scheduler-locking off", "set print address off",
            "set unwindonsignal on", "set displaced-stepping on", "set disassemble-next-line on", "set stop-on-solib-events 1",
            "set stop-on-solib-events 0", "set startup-with-shell on", "set step-mode off"]
# In the session that records alone.
OURS = ["history 3", "history -thread 1 5", "info", "snapshot x.fxt", "stop", "start", "info functions {f}",
        "save y.perf", "history 3 {f}", "context"]
TRIGGERS = ["{f}", "{f} if {n} == 2", "{f} if {n} < 9", "-every 2 {f}", "-return {f}", "-max 1 {f}", "{l}", "-print {n} {f}"]

KINDS = [(PLACES, 18), (STOPS, 4), (MOVES, 40), (LOOKS, 16), (CHANGES, 9), (ENDS, 3), (SETTINGS, 3), (OURS, 4), (TRIGGERS, 5)]


class Command(NamedTuple):
    """What a plain GDB is told, and what one that records; an empty one is left out."""

    plain: str
    recorded: str


class Session:
    """The session of a number: a program's name, and commands."""

    def __init__(self, number, program=None):
        self.number = number
        self.chance = random.Random(number)
        self.name = program or self.chance.choice(sorted(PROGRAMS))
        self.program = PROGRAMS[self.name]
        self.breakpoints = 0
        self.commands = []
        self.fill()

    def filled(self, pattern):
        """A command out of its pattern."""
        if "-O2" in self.program.flags:  # 4 bytes behind a function's entry may be the middle of an instruction
            pattern = pattern.replace("{f}+4", "{f}")
        return pattern.format(f=self.chance.choice(self.program.functions), l=self.chance.choice(self.program.lines),
                              v=self.chance.choice(self.program.variables), n=self.chance.randrange(1, 5),
                              b=f"$b{self.chance.randrange(max(self.breakpoints, 1))}", program="{program}")

    def add(self, patterns):
        """Adds a command of a kind, and a name for the breakpoint that it makes."""
        text = self.filled(self.chance.choice(patterns))
        if patterns is OURS:
            self.commands.append(Command("", f"python ours('mtrace {text}')"))
            return
        if patterns is TRIGGERS:
            place = text.split(" if ")[0].split()[-1]
            self.commands.append(Command(f"python quiet('break {place} if 0')", f"python ours('mtrace trigger {text}')"))
        else:
            self.commands.append(Command(text, text))
        # Without its condition a trigger's breakpoint stops at the entry, as its counterpart does; not one at returns.
        if patterns in (PLACES, STOPS, TRIGGERS) and "-return" not in text:
            name = f"set $b{self.breakpoints} = $bpnum"
            self.commands.append(Command(name, name))
            self.breakpoints += 1

    def fill(self):
        """Some breakpoints, `run`, whatever comes, and on to the end."""
        kinds, weights = zip(*KINDS)
        for _ in range(self.chance.randrange(4)):
            self.add(self.chance.choice([PLACES, PLACES, TRIGGERS, SETTINGS, STOPS]))
        self.commands.append(Command(*[self.chance.choice(["run", "start", "run", "starti"])] * 2))
        for _ in range(self.chance.randrange(8, 30)):
            self.add(*self.chance.choices(kinds, weights))
        self.commands += [Command(text, text) for text in ("delete", "continue", "continue", "continue", "detach")]
