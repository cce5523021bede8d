# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions that the program evaluates itself, beside GDB's evaluation at each call."""
import collections
import json
import pathlib
import subprocess

from conftest import need_tool

# GDB's word for arithmetic with two bools, which are ints in C.
NO_ARITHMETIC = "Invalid operation on booleans."

GDB = """
import gdb, json
conditions = json.load(open({conditions!r}))
counts = [0] * len(conditions)
words = [None] * len(conditions)
gdb.execute("break " + {function!r})
gdb.execute("run")
while gdb.selected_inferior().pid:
    for number, condition in enumerate(conditions):
        try:
            counts[number] += bool(gdb.parse_and_eval("(" + condition + ") ? 1 : 0"))
        except gdb.error as error:
            words[number] = str(error)
    gdb.execute("continue")
json.dump([counts, words], open({result!r}, "w"))
"""


def ask_gdb(program, function, conditions, tmp_path):
    """How often each holds, and why it could not be evaluated the last time, or None."""
    (tmp_path / "conditions").write_text(json.dumps(conditions))
    (tmp_path / "ask.py").write_text(GDB.format(function=function,
                                                conditions=str(tmp_path / "conditions"),
                                                result=str(tmp_path / "result")))
    done = subprocess.run([need_tool("gdb"), "-nx", "-q", "-batch", "-iex",
                           "set debuginfod enabled off", "-x", tmp_path / "ask.py", program],
                          capture_output=True, text=True, check=False, timeout=300)
    assert (tmp_path / "result").exists(), done.stdout + done.stderr
    return json.loads((tmp_path / "result").read_text())


def compare(run_mtdb, program, function, conditions, tmp_path, break_at=None):
    """What mtdb said, and how often each condition holds.  BREAK_AT: where FUNCTION is for GDB."""
    counts, words = ask_gdb(program, break_at or function, conditions, tmp_path)
    triggers = [word for text in conditions for word in ("-t", f"{function} if {text}")]
    done = run_mtdb("run", "--engine=calls", "--size=16k", f"--modules={pathlib.Path(program).name}",
                    "-o", tmp_path / "x.json", *triggers, program)
    assert done.returncode == 0, done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    hits = collections.Counter(event["args"]["number"] for event in events
                               if event["ph"] == "i" and event["name"] == "trigger")
    wrong = [f"{text}: {hits[number]} times, and GDB {count} ({word})"
             for number, (text, count, word) in enumerate(zip(conditions, counts, words), 1)
             if hits[number] != count and word != NO_ARITHMETIC]
    assert not wrong, "\n".join(wrong)
    return done.stderr, counts
