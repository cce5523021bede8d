# SPDX-License-Identifier: GPL-3.0-or-later
"""mtrace.Trigger, in scripts of GDB's Python."""
import re

import pytest

# Who evaluates it: the program, in its trampolines; GDB, at a stop of each call.
CONDITIONS = {"program": "x == 3", "gdb": "x == 3 && $_gthread == 1"}

PROGRAM = """
#include <stdio.h>
static volatile int sum;
__attribute__((noinline)) static int work(int x)
{
	sum += x;
	return 2 * x;
}
int main(void)
{
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < 10; i++)
			sum += work(i);
	printf("sum %d\\n", sum);
	fflush(stdout);
	return 0;
}
"""
SUM = "sum 405"


@pytest.fixture(name="script")
def script_fixture(gdb, compile):
    """script(text, *commands) -> Session, in which the script runs before PROGRAM does, with a
    callback's words in .told."""
    def run(text, *commands, records=True, checked=True):
        source = gdb.directory / "works.c"
        source.write_text(PROGRAM)
        path = gdb.directory / "script.py"
        path.write_text("def show(*what):\n    print('told', *what)\n" + text)
        session = gdb(compile(source, "-O0"), *(["mtrace start"] if records else []),
                      f"source {path}", "run", *commands, checked=checked)
        session.told = [line[5:] for line in session.lines if line.startswith("told ")]
        return session

    return run


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_a_callback_sees_where_the_thread_stands(script, condition):
    """And the program runs on."""
    session = script(f"""
def look(trigger, snapshot):
    frame = gdb.selected_frame()
    show(trigger is set_here, trigger.hits, snapshot.number, frame.name(), frame.read_var('x'),
         [one.function for one in snapshot][-1])
set_here = mtrace.Trigger('work', {condition!r}, look)
""", "python show(mtrace.triggers() == [set_here], set_here.condition)")
    assert session.told == [f"True {n} {n} work 3 work" for n in (1, 2, 3)] + [f"True {condition}"]
    assert SUM in session.output


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_one_that_is_true_stops_the_program(script, condition):
    session = script(f"""
mtrace.Trigger('work if {condition}', callback=lambda trigger, snapshot: snapshot.number == 2)
""", "print x", "bt", "continue")
    assert "$1 = 3" in session.lines
    assert re.search(r"^#0 .*work \(x=3\).*\n#1 .* main \(\)", session.output, re.M)
    assert len(list(session.lines)) and "hit 3" in session.output and SUM in session.output


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("stops", [False, True])
def test_one_that_deletes_its_trigger(script, condition, stops):
    """It is gone at once, its breakpoint with the next stop, and GDB has not noticed."""
    session = script(f"""
def once(trigger, snapshot):
    other.delete()
    trigger.delete()
    show(trigger.is_valid(), mtrace.triggers(), trigger.number)
    return {stops}
other = mtrace.Trigger('work', {condition!r})
mtrace.Trigger('work', {condition!r}, once)
""", *(["info breakpoints", "next", "continue"] if stops else []), "info breakpoints",
                     "mtrace info")
    assert session.told == ["False [] 2"]
    assert "No breakpoints or watchpoints." in session.all
    assert SUM in session.output and "Trigger 1:" not in session.lines[-1]


def test_a_listener_that_deletes_the_trigger(script):
    session = script("""
def once(snapshot):
    trigger.delete()
    show(snapshot.number)
mtrace.events.snapshot.connect(once)
trigger = mtrace.Trigger('work')
""", "info breakpoints")
    assert session.told == ["1"] and SUM in session.output


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_what_it_raises_is_reported_and_stops(script, condition):
    """As what gdb.Breakpoint.stop() raises."""
    session = script(f"""
def bad(trigger, snapshot):
    raise ValueError('bad')
mtrace.Trigger('work', {condition!r}, bad)
""", "print x", "mtrace delete 1", "continue", checked=False)
    assert "Python Exception <class 'ValueError'>: bad" in session.errors
    assert "$1 = 3" in session.lines and SUM in session.output


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("command", ["continue", "next", "finish", "mtrace stop", "mtrace start",
                                     "mtrace trigger main"])
def test_commands_that_it_cannot_run(script, condition, command):
    """They are refused.  GDB gives the prompt back when a command fails in there, as it does in
    gdb.Breakpoint.stop(), so the program runs on in the background."""
    session = script(f"""
def run(trigger, snapshot):
    try:
        gdb.execute({command!r})
    except gdb.error as error:
        show('refused', error)
mtrace.Trigger('work', {condition!r}, run)
""", "info threads", "kill")
    assert session.told and all(line.startswith("refused") for line in session.told)


def test_commands_that_it_can_run(script):
    session = script("""
def run(trigger, snapshot):
    show(gdb.execute('bt 1', to_string=True).splitlines()[0])
    show(gdb.execute('mtrace history 2', to_string=True).splitlines()[-1].split()[-2:])
    show(mtrace.snapshot('x.txt').number)
mtrace.Trigger('-max 1 work', callback=run)
""")
    assert session.told[0].startswith("#0  work (x=0) at ")
    assert session.told[2] == "2" and SUM in session.output


def test_results(script):
    session = script("""
def look(trigger, snapshot):
    show(gdb.convenience_variable('_ret'), gdb.selected_frame().name())
mtrace.Trigger('work return', '$_ret == 8', look)
""")
    assert session.told == ["8 work"] * 3 and SUM in session.output


def test_without_a_recording_it_is_called_with_none(script):
    session = script("""
mtrace.Trigger('-every 10 work', callback=lambda trigger, snapshot: show(snapshot, trigger.hits))
""", records=False)
    assert session.told == ["None 1", "None 2", "None 3"] and SUM in session.output


def test_a_trigger_of_the_command(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace trigger a if how == 'f'",
                  "python one, = mtrace.triggers()",
                  "python print(one.number, one.location, one.condition, one.hits, one.callback)",
                  "python print(mtrace.triggers() == [one], one.is_valid())", "delete 1",
                  "python print(one.is_valid(), one.number)", "python one.delete()",
                  "python print(mtrace.triggers())", "python print(one.hits)", checked=False)
    assert session.lines[-4:] == ["1 a how == 'f' 0 None", "True True", "False 1", "[]"]
    assert session.errors.endswith("Trigger 1 is invalid.\n") or "Trigger 1 is invalid." in session.errors


@pytest.mark.parametrize("call, error", [
    ("mtrace.Trigger()", "TypeError"),
    ("mtrace.Trigger(1)", "TypeError"),
    ("mtrace.Trigger('main', callback=1)", "TypeError"),
    ("mtrace.Trigger('-max 0 main')", "mtrace.Error"),
    ("mtrace.Trigger('main', '1 +')", "gdb.error"),
    ("mtrace.Trigger('main').__init__('main')", "TypeError"),
])
def test_wrong_words(gdb, compile, call, error):
    session = gdb(compile("deep.c", "-O0"),
                  f"python\ntry:\n    {call}\nexcept {error} as error:\n    print('told', error)",
                  "python print(len(mtrace.triggers()))")
    assert session.lines[-2].startswith("told "), session.all
    assert session.lines[-1] == ("1" if "__init__" in call else "0")
