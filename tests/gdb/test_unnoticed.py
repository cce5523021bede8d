# SPDX-License-Identifier: GPL-3.0-or-later
"""What GDB's own users and scripts see is as without us: recorded, and with the plugin idle."""
import re


def without_numbers(text):
    """Of processes, and addresses."""
    return re.sub(r"0x[0-9a-f]+|(?<=process )\d+", "N", text)


def test_that_a_watched_local_is_not_recorded_is_said_once(gdb, compile):
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break work", "run", "next",
                  "watch local", "continue", "continue", "delete", "continue",
                  "mtrace snapshot")
    assert session.errors.count("calls are not recorded while a local variable is watched") == 1
    text = (gdb.directory / "trace-1.fxt").read_bytes()
    assert b"work" in text


def test_idle_it_defines_nothing(gdb, compile):
    """Until recording is asked for."""
    program = compile("debugged_watch.c", "-O0")
    asked = ["help user-defined", "show user", "break leaf", "run", "maintenance info breakpoints",
             "info breakpoints", "python print(gdb.breakpoints.__module__, len(gdb.breakpoints()))",
             "finish", "help user-defined"]
    assert without_numbers(gdb(program, *asked).all) == without_numbers(
        gdb(program, *asked, loaded=False).all)


def test_scripts_do_not_meet_our_breakpoints(gdb, compile):
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break leaf", "break put",
                  "run", "python print([one.number for one in gdb.breakpoints()])",
                  "python print(type(gdb.breakpoints()))", "delete 1", "continue",
                  "python print([one.number for one in gdb.breakpoints()])")
    assert "[1, 2]" in session.lines and "[2]" in session.lines
    assert "<class 'tuple'>" in session.lines


def test_what_our_hooks_are_is_said(gdb, compile):
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "break leaf", "run",
                  "help user-defined")
    hooks = [line for line in session.lines if line.startswith("hook-")]
    assert len(hooks) == 8 and all(" -- Part of mtrace: " in line for line in hooks)
