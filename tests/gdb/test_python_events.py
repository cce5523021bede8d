# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace.events, in scripts of GDB's Python."""
import pytest

NOTE = """
def note(snapshot):
    print('told', type(snapshot) is mtrace.Snapshot, snapshot.number, snapshot.path,
          [one.function for one in snapshot.slices('a')])
mtrace.events.snapshot.connect(note)
"""


@pytest.fixture(name="script")
def script_fixture(gdb, compile):
    """script(text, *commands) -> Session of deep.c, whose lines "told …" are in .told."""
    def run(text, *commands, checked=True):
        path = gdb.directory / "script.py"
        path.write_text(text)
        session = gdb(compile("deep.c", "-O0"), f"source {path}", "mtrace start", *commands,
                      checked=checked)
        session.told = [line[5:] for line in session.lines if line.startswith("told ")]
        return session

    return run


def test_snapshots_of_triggers_crashes_and_commands(script):
    session = script(NOTE, "mtrace trigger c", "run fault", "mtrace snapshot x.txt",
                     "python mtrace.snapshot('y.txt')",
                     "print $_mtrace_snapshot()")
    assert session.told == [f"True {number} {name} ['a']" for number, name in enumerate(
        ["trace-1.fxt", "trace-2.fxt", "x.txt", "y.txt", "trace-5.fxt"], 1)]


def test_they_are_told_until_they_disconnect(script):
    session = script(NOTE + """
def once(snapshot):
    print('told', 'once')
    mtrace.events.snapshot.disconnect(once)
mtrace.events.snapshot.connect(once)
mtrace.events.snapshot.disconnect(print)  # was never connected
""", "run fault", "mtrace snapshot x.txt", "python mtrace.events.snapshot.disconnect(note)",
                     "mtrace snapshot y.txt")
    assert session.told == ["True 1 trace-1.fxt ['a']", "once", "True 2 x.txt ['a']"]


def test_a_snapshot_is_kept_by_whoever_wants_it(script):
    session = script("""
kept = []
mtrace.events.snapshot.connect(kept.append)
""", "run fault", "python taken = mtrace.snapshot('x.txt')", "kill", "run abort", "kill",
                     "python print('told', list(kept[1]) == list(taken), len(kept))",
                     "python del taken", "python print('told', len(list(kept[1])) > 3)",
                     "python del kept")
    assert session.told == ["True 3", "True"]


@pytest.mark.parametrize("setting, said", [("message", ["Python Exception <class 'ValueError'>: bad"]),
                                           ("none", []), ("full", ["ValueError: bad"])])
def test_what_they_raise_is_reported_as_gdb_does(script, setting, said):
    """And the others are told nevertheless, and the snapshot is there."""
    session = script("""
def bad(snapshot):
    raise ValueError('bad')
mtrace.events.snapshot.connect(bad)
""" + NOTE, f"set python print-stack {setting}", "run fault", "mtrace snapshot x.txt", checked=False)
    assert len(session.told) == 2
    lines = [line.strip() for line in session.errors.splitlines() if "ValueError" in line and "raise" not in line]
    assert lines == said * 2
    assert ("Traceback" in session.errors) == (setting == "full")
    assert session.status == 0


def test_one_that_takes_snapshots_is_not_told_of_them(script):
    session = script("""
def again(snapshot):
    print('told', snapshot.number, mtrace.snapshot('x%d.txt' % snapshot.number).number)
mtrace.events.snapshot.connect(again)
""", "run fault", "mtrace snapshot y.txt")
    assert session.told == ["1 2", "3 4"]


@pytest.mark.parametrize("call, error", [
    ("mtrace.events.snapshot.connect(1)", "RuntimeError"),
    ("mtrace.EventRegistry()", "TypeError"),
    ("mtrace.Snapshot()", "TypeError"),
])
def test_wrong_words(gdb, call, error):
    session = gdb(None, f"python\ntry:\n    {call}\nexcept {error} as error:\n    print('told', error)")
    assert session.output.startswith("told "), session.all
