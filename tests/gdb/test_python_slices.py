# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls that scripts of GDB's Python are given: by snapshots, and by mtrace.history()."""
import re

import pytest


@pytest.fixture(name="script")
def script_fixture(gdb, compile):
    """script(text, *commands) -> Session, in which the script runs at a breakpoint at the end of a
    program of two threads, which stands in main()."""
    def run(text, *commands):
        path = gdb.directory / "script.py"
        path.write_text("def show(*what):\n    print('told', *what)\n" + text)
        program = compile("requests.c", "-O0", "-pthread")
        session = gdb(program, "set args 2", "mtrace start",
                      "mtrace values handle", "break printf", "run", "up", *commands,
                      f"source {path}")
        session.told = [line[5:] for line in session.lines if line.startswith("told ")]
        return session

    return run


def test_a_call_tells_where_it_was_called_and_with_what(script):
    session = script("""
one = [one for one in mtrace.snapshot('x.txt') if one.function == 'handle'][-1]
show(one.file.split('/')[-1], one.line, one.call_file.split('/')[-1], one.call_line)
show(one.arguments, one.result, one.thread_name, one.duration_ns == one.end_ns - one.begin_ns)
main = mtrace.history(function='main')[-1]
show(main.end_ns, main.duration_ns, main.call_file is None or main.call_line > 0)
""")
    assert session.told == ["requests.c 9 requests.c 25", "i=19 None requests True",
                            "None None True"]


def test_results(gdb, compile):
    session = gdb(compile("calls_values.c", "-O1"), "mtrace start", "mtrace values -return price_of", "run 1",
                  "python print('told', [one.result for one in mtrace.history(0, 'price_of')][:2])")
    assert re.search(r"^told \['\d+', '\d+'\]$", session.output, re.M), session.all


ALIKE = """
snapshot = mtrace.snapshot('x.txt')
everything = list(snapshot)
threads = sorted({one.thread for one in everything})
first = [one for one in everything if one.function == 'request'][20]
def same(found, wanted):
    wanted = [one for one in everything if wanted(one)]
    show(list(found) == wanted, len(wanted) > 0)
same(snapshot.slices(), lambda one: True)
same(snapshot.slices('request'), lambda one: one.function == 'request')
same(snapshot.slices(function='re*st'), lambda one: one.function == 'request')
same(snapshot.slices(thread=threads[1]), lambda one: one.thread == threads[1])
same(snapshot.slices(begin_ns=first.begin_ns),
     lambda one: one.end_ns is None or one.end_ns >= first.begin_ns)
same(snapshot.slices(end_ns=first.end_ns), lambda one: one.begin_ns < first.end_ns)
same(snapshot.slices('handle', first.thread, first.begin_ns, first.end_ns),
     lambda one: one.function == 'handle' and one.thread == first.thread and
     one.end_ns >= first.begin_ns and one.begin_ns < first.end_ns)
show(len(threads), list(snapshot.slices('nosuch')), list(snapshot.slices(thread=1)))
"""


def test_filters_give_what_a_walk_over_everything_gives(script):
    assert script(ALIKE).told == ["True True"] * 7 + ["2 [] []"]


def test_a_history_makes_no_file(script, gdb):
    """Its calls are the last ones that the snapshot of the same moment has."""
    session = script("""
snapshot = mtrace.snapshot('x.txt')
own = [one for one in snapshot if one.thread == gdb.selected_thread().ptid[1]]
show(mtrace.history(5) == own[-5:], len(mtrace.history(0)) == len(own))
show(len(mtrace.history()), len(mtrace.history(n=3, function='handle')))
show(mtrace.history(2, 'hand*') == [one for one in own if one.function == 'handle'][-2:])
show(mtrace.history(function='nosuch'))
""", "set mtrace history-size 7")
    assert session.told == ["True True", "7 3", "True", "[]"]
    assert not list(gdb.directory.glob("*.fxt"))


def test_a_history_of_another_thread(script):
    """That ended, and is known by the system's number."""
    session = script("""
others = {one.thread for one in mtrace.snapshot('x.txt')} - {gdb.selected_thread().ptid[1]}
other = others.pop()
last = mtrace.history(20, 'handle', other)
show([one.arguments for one in last] == [f'i={i}' for i in range(20)])
show({one.thread for one in last} == {other})
try:
    mtrace.history(thread=1)
except mtrace.Error as error:
    show(error)
""")
    assert session.told[:2] == ["True", "True"]
    assert session.told[2].startswith("no calls of thread 1 were recorded")


def test_a_history_folds_what_the_end_of_the_program_calls(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "run nothing more",
                  "python print([one.function for one in mtrace.history(2)][-1])",
                  "python print([one.function for one in mtrace.history(2, unfold=True)][-1])")
    assert session.lines[-2] == "exit" != session.lines[-1], session.all


@pytest.mark.parametrize("call, error", [
    ("mtrace.history(-1)", "OverflowError"),
    ("mtrace.history('x')", "TypeError"),
    ("mtrace.history(function=1)", "TypeError"),
    ("mtrace.history(1)", "mtrace.Error"),  # nothing was recorded
])
def test_wrong_words(gdb, call, error):
    session = gdb(None, f"python\ntry:\n    {call}\nexcept {error} as error:\n    print('told', error)")
    assert session.output.startswith("told "), session.all
