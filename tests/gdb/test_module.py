# SPDX-License-Identifier: GPL-3.0-or-later
"""The plugin as a part of GDB: it loads, helps, has settings, and refuses in GDB's manner."""
import re
import subprocess

import pytest

COMMANDS = ["start", "stop", "snapshot", "trigger", "delete", "history", "save", "info", "decode",
            "doctor"]


def test_exports_one_symbol(build, plugin, need):
    nm = need("nm", "binutils")
    shared = build / "mtrace.abi3.so"
    text = subprocess.run([nm, "-D", "--defined-only", shared], text=True, capture_output=True,
                          check=True).stdout
    assert [line.split()[-1] for line in text.splitlines()] == ["PyInit_mtrace"]
    needed = subprocess.run([need("readelf", "binutils"), "-d", shared], text=True,
                            capture_output=True, check=True).stdout
    assert "libpython" not in needed


def test_loads_once_and_twice(gdb, plugin):
    session = gdb(None, f"source {plugin}", "echo loaded\\n")
    assert session.lines == ["loaded"] and session.errors == "" and session.status == 0


def test_loads_from_another_script(gdb, plugin, tmp_path):
    script = tmp_path / "init.py"
    script.write_text(f"import gdb\ngdb.execute('source {plugin}')\n")
    session = gdb(None, f"source {script}", "mtrace info", loaded=False)
    assert session.lines[-1] == "Snapshots: 0" and session.errors == ""


def test_help_lists_the_commands(gdb):
    session = gdb(None, "help mtrace")
    for name in COMMANDS:
        assert re.search(rf"^mtrace {name} -- .*\.$", session.output, re.M), name


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(gdb, name):
    session = gdb(None, f"help mtrace {name}")
    assert f"Usage: mtrace {name}" in session.output


def test_unknown_command(gdb):
    session = gdb(None, "mtrace foo")
    assert session.errors == 'Undefined mtrace command: "foo".  Try "help mtrace".\n'
    assert session.status == 1


def test_settings(gdb):
    session = gdb(None, "show mtrace", "set mtrace engine calls", "set mtrace buffer-size 64k",
                  "set mtrace output x-%n.fxt", "set mtrace on-crash off",
                  "set mtrace on-exit on",
                  "set mtrace timestamps full", "set mtrace events sched,faults",
                  "set mtrace python-calls on",
                  "set mtrace history-size 7", "echo now\\n",
                  "show mtrace")
    before, now = session.lines[:9], session.between("now")
    assert 'buffer-size:  Per-thread ring size is 4M.' in before
    assert now == ['engine:  mtrace records with the engine "calls".',
                   "buffer-size:  Per-thread ring size is 64k.",
                   'timestamps:  Time stamps are "full".',
                   'events:  Recorded in addition to calls: "sched,faults".',
                   "python-calls:  Calls that Python makes of functions in Python are recorded: on.",
                   'output:  Timelines are written to "x-%n.fxt".',
                   "on-crash:  A snapshot at a crash is off.",
                   "on-exit:  A snapshot at the program's end is on.",
                   'history-size:  "mtrace history" shows 7 calls.']


def test_bad_events_are_not_taken(gdb):
    session = gdb(None, "set mtrace events faults", "set mtrace events nonsense",
                  "set mtrace events marks", "show mtrace events")
    assert 'unknown event "nonsense"' in session.errors
    assert "marks are recorded by mtdb alone" in session.errors
    assert session.output == 'Recorded in addition to calls: "faults".\n'


def test_a_bad_size_is_not_taken(gdb):
    session = gdb(None, "set mtrace buffer-size 8M", "set mtrace buffer-size 3x",
                  "show mtrace buffer-size")
    assert '"3x" is not a size' in session.errors
    assert session.output == "Per-thread ring size is 8M.\n"


@pytest.mark.parametrize("command, message", [
    ("mtrace history", "nothing was recorded yet"),
    ("mtrace snapshot", "nothing was recorded yet"),
    ("mtrace save x.perf", "nothing was recorded yet"),
    ("mtrace stop", "nothing is being recorded"),
    ("mtrace delete 3", "No trigger number 3."),
    ("mtrace delete x", "trigger"),
    ("mtrace trigger", "requires a location"),
    ("mtrace trigger -max 0 main", "number of snapshots"),
    ("mtrace trigger -print", "-print requires a value"),
    ("mtrace start -size", "-size requires a value"),
    ("mtrace start -size 3x", "is not a size"),
    ("mtrace start -nothing 1", "unknown option: -nothing"),
    ("mtrace start -threads some", "must be all or current"),
    ("mtrace start now", "takes options only"),
    ("mtrace start -engine step", "does not work in this debugger"),
    ("mtrace start -engine nosuch", "unknown engine \"nosuch\""),
    ("mtrace decode /no/such", "/no/such"),
    ("mtrace info x", "takes no arguments"),
])
def test_refusals(gdb, command, message):
    session = gdb(None, command, "echo alive\\n")
    assert message in session.errors, session.errors
    assert len(session.errors.splitlines()) == 1
    assert session.lines[-1] == "alive"


def test_info_before_anything(gdb):
    session = gdb(None, "mtrace info")
    assert session.lines == ['Nothing is being recorded ("mtrace start" begins).', "Snapshots: 0"]
