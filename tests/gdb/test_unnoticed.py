# SPDX-License-Identifier: GPL-3.0-or-later
"""What GDB's own users and scripts see is as without us: recorded, and with the plugin idle."""
import re

from gdb_terminal import PROMPT, say


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


def test_our_hooks_are_not_among_the_users_commands(gdb, compile):
    own = gdb.directory / "own"
    own.write_text("define hook-next\necho NEXT\\n\nend\n")
    asked = ["break leaf", "run", f"source {own}", "next", "help user-defined", "complete hook-"]
    program = compile("debugged_watch.c", "-O0")
    plain, recorded = (gdb(program, *first, *asked, loaded=loaded)
                       for first, loaded in (([], False), (["mtrace start"], True)))
    assert plain.between("NEXT") == recorded.between("NEXT")
    assert "hook-next -- User-defined." in plain.lines


def test_hooks_are_defined_without_a_question(terminal, compile):
    """But with GDB's own, when the user has one already; and ours are there as before, also where
    that was denied."""
    child = terminal(compile("debugged_watch.c", "-O0"))
    for command in ("set confirm on", "mtrace start", "break leaf", "run"):
        child.expect(PROMPT)
        child.sendline(command)
    child.expect(PROMPT)
    for line, answer in (("define hook-stop", ">"), ("python", ">"), ("print(6 * 7)", ">"), ("", ">"),
                         ("end", ">"), ("end", PROMPT), ("show user hook-stop", PROMPT)):
        child.sendline(line)
        assert child.expect([answer, r"\(y or n\) "]) == 0, child.before
    assert "print(6 * 7)" in child.before
    assert "42\r\n" in say(child, "next")
    child.sendline("define hook-stop")
    child.expect_exact('Redefine command "hook-stop"? (y or n) ')
    child.sendline("n")
    child.expect_exact('Command "hook-stop" not redefined.')
    child.expect(PROMPT)
    assert "42\r\n" in say(child, "step")
    assert "jmp" not in say(child, "x/2i leaf")
    child.sendline("quit")


CONTINUE_ALL = """
import gdb
for _ in gdb.inferiors():
    number = next(one.num for one in gdb.inferiors() if one.pid)
    try:
        gdb.execute(f"inferior {number}")
    except gdb.error:
        pass
    gdb.execute("continue")
"""


def test_processes_that_ended_are_continued(gdb, compile):
    """GDB cannot tell where they stand, and need not: their ends are still to be reported."""
    source = gdb.directory / "short.c"
    source.write_text("int main(void) { return 0; }\n")
    program = compile(source, "-O0")
    script = gdb.directory / "script.py"
    script.write_text(CONTINUE_ALL)
    starts = [command for number in range(1, 7)
              for command in (f"add-inferior -exec {program}", f"inferior {number}", "tbreak main", "run")]
    session = gdb(program, "maintenance set target-non-stop on", "mtrace start", *starts,
                  "set schedule-multiple on", "delete", "remove-inferiors 7", f"source {script}")
    assert session.output.count("exited normally]") == 6, session.all


KEPT = """
import gdb, tracemalloc
for _ in range(3):
    tracemalloc.start()
    gdb.execute("add-inferior", to_string=True)
    gdb.execute(f"remove-inferiors {max(one.num for one in gdb.inferiors())}")
    kept = tracemalloc.take_snapshot().statistics("filename")
    tracemalloc.stop()
    print("kept", sum(one.size for one in kept if one.traceback[0].filename == __file__))
"""


def test_idle_it_keeps_no_memory_of_an_event(gdb):
    script = gdb.directory / "script.py"
    script.write_text(KEPT)
    plain, idle = (gdb(None, f"source {script}", loaded=loaded) for loaded in (False, True))
    assert len(plain.lines) == 3 and plain.lines[-1] == idle.lines[-1]


def test_stepping_in_memory_that_is_not_to_be_written(gdb, compile):
    """GDB cannot put breakpoints there, of ours neither, which stepping does without."""
    session = gdb(compile("debugged_watch.c", "-O0"), "mtrace start", "tbreak *leaf+4", "run",
                  "tbreak *leaf+4", "continue", "info registers rip",
                  "python here = int(gdb.parse_and_eval('(long) &leaf'))",
                  "python gdb.execute(f'mem {here} {here + 64} ro')",
                  "set mem inaccessible-by-default off", "set breakpoint auto-hw off", "stepi", "info registers rip")
    assert "Cannot" not in session.all
    first, then = re.findall(r"<leaf\+(\d+)>$", session.output, re.M)
    assert first == "4" and then > "4"


def test_the_selected_frame_stays_selected(gdb, compile):
    session = gdb(compile("debugged.cpp", "-O0", "-pthread"), "break leaf", "run", "up", "frame", "mtrace start", "frame",
                  "mtrace stop", "frame", "mtrace start", "frame", "mtrace history 3", "frame", "mtrace stop", "frame")
    frames = [line for line in session.lines if line.startswith("#")]
    assert len(frames) == 7 and len(set(frames)) == 1 and frames[0].startswith("#1 "), frames


def test_a_command_that_fails_leaves_nothing_behind(gdb, compile):
    """GDB tells that the program goes on, and then it does not: no breakpoint can be where the command wants one."""
    session = gdb(compile("debug_signals.c", "-O0", "-pthread"), "mtrace start", "tbreak on_signal", "run", "advance *1",
                  "x/2i on_fault", "detach", checked=False)
    assert "Cannot access memory at address 0x1" in session.all, session.all
    assert "patched code" not in session.all, session.all


def test_a_call_that_fails_ends_no_recording(gdb, compile):
    """GDB tells that it begins, and of no end: the stack cannot be written."""
    session = gdb(compile("debug_jumps.c", "-O0"), "mtrace start", "break main", "run", "set $stack = $rsp", "set $rsp = 0",
                  "call last(1)", "set $rsp = $stack", "break last", "continue", "echo =\\n", "mtrace history", checked=False)
    assert "Cannot access memory at address" in session.errors, session.all
    assert re.search(r" open +middle +debug_jumps\.c", session.all), session.all
