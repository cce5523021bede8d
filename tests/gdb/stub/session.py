# SPDX-License-Identifier: GPL-3.0-or-later
"""session.py MODULE PROGRAM: all there is, and then again with each call of GDB's failing once."""
import importlib.machinery
import importlib.util
import itertools
import sys

import gdb

HOWS = (gdb.error, KeyboardInterrupt, MemoryError, RuntimeError)
LOOKS = ["mtrace info", "mtrace context", "mtrace window", "mtrace history 5",
         "mtrace history -thread 1 a", "mtrace snapshot x.txt", "mtrace snapshot /nosuch/x.fxt", "mtrace save x.perf", "mtrace decode x.perf -o x.json",
         "mtrace plan x.perf", "mtrace trigger b if how == 1", "mtrace trigger -print how -max 1 c",
         "mtrace trigger", "mtrace delete 1", "mtrace delete x", "mtrace", "mtrace nosuch",
         "mtrace stop now", "mtrace start -size x", "mtrace doctor", "show mtrace",
         "set mtrace buffer-size 64k", "set mtrace buffer-size x", "set mtrace output y-%n.txt"]

MI_LOOKS = [("-mtrace-history",), ("-mtrace-history", "5", "b"), ("-mtrace-info",), ("-mtrace-info", "x"), ("-mtrace-snapshot", "x.txt"),
            ("-mtrace-trigger", "-print", "how + 1", "b if how == 1"), ("-mtrace-delete", "2"),
            ("-mtrace-start", "-size", "x"), ("-mtrace-stop", "now")]


def load(path):
    loader = importlib.machinery.ExtensionFileLoader("mtrace", path)
    spec = importlib.util.spec_from_file_location("mtrace", path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules["mtrace"] = module
    return module


def attempt(action):
    """Failures are these, and no others."""
    try:
        return action()
    except (gdb.error, gdb.GdbError, KeyboardInterrupt, MemoryError, OverflowError, RuntimeError):
        return None


def failing(action, at, how):
    gdb.Failing.calls, gdb.Failing.at, gdb.Failing.how = 0, at, how
    attempt(action)
    gdb.Failing.at = 0
    return gdb.Failing.calls >= at


def load_at_last(path):
    """Each call fails once on the way."""
    for at in itertools.count(1):
        gdb.Failing.calls, gdb.Failing.at, gdb.Failing.how = 0, at, HOWS[at % len(HOWS)]
        module = attempt(lambda: load(path))
        gdb.Failing.at = 0
        if module:
            return module


def look(module):
    for line in LOOKS:
        attempt(lambda line=line: gdb.invoke(line) if line.startswith("mtrace")
                else gdb.execute(line))
    for name, *words in MI_LOOKS:
        attempt(lambda name=name, words=words: gdb.mi_commands[name].invoke(words))
    for command in gdb.commands.values():
        if hasattr(command, "complete"):
            for text in ("", "-", "-t", "x", "-engine "):
                attempt(lambda command=command, text=text: command.complete(text, text))
                attempt(lambda command=command, text=text: command.complete(text, None))
    snapshot = attempt(module.snapshot)
    slices = attempt(lambda: list(snapshot)) if snapshot else []
    for words in ({}, {"n": 0}, {"n": 3, "function": "b"}, {"thread": 1}, {"n": -1}):
        attempt(lambda words=words: module.history(**words))
    for words in ({"function": "b"}, {"thread": 1}, {"begin_ns": 1, "end_ns": 1 << 63}):
        attempt(lambda words=words: list(snapshot.slices(**words)) if snapshot else None)
    module.events.snapshot.connect(print)
    attempt(module.snapshot)
    module.events.snapshot.disconnect(print)
    attempt(lambda: module.Trigger("c", "how == 1", print).delete())
    attempt(lambda: [one.hits for one in module.triggers()])
    return slices


def run(module, way):
    attempt(lambda: gdb.invoke("mtrace start -size 64k"))
    attempt(lambda: gdb.launch(way))
    slices = look(module)
    if gdb.inferior.pid:
        attempt(lambda: gdb.invoke("mtrace stop"))
        attempt(lambda: gdb.invoke("mtrace start"))  # which needs an inferior call: refused
        gdb.kill()
    gdb.points[:] = [point for point in gdb.points if point.internal]
    return slices


def main():
    module = load_at_last(sys.argv[1])
    gdb.inferior.program = sys.argv[2]
    print("functions", sorted({one.function for one in run(module, "fault")} & set("abc")))
    print("functions", sorted({one.function for one in run(module, "none")} & {"main"}))
    for line in LOOKS:
        at, how = 0, itertools.cycle(HOWS)
        while at < 30:
            at += 1
            if not failing(lambda line=line: gdb.invoke(line) if line.startswith("mtrace")
                           else gdb.execute(line), at, next(how)):
                break
    for at in range(1, 400, 57):
        gdb.Failing.calls, gdb.Failing.at, gdb.Failing.how = 0, at, HOWS[at % len(HOWS)]
        run(module, "fault")
        gdb.Failing.at = 0
    gdb.events.gdb_exiting.emit()
    print("done")


main()
