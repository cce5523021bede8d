# SPDX-License-Identifier: GPL-3.0-or-later
"""From `run` to the crash, the exit, the kill: what is recorded, and where it is told."""
import re

import pytest

import fxt
from conftest import line_of
from histories import opened

LEVELS = ["-O0", "-O2"]
QUIET = "handle SIGUSR1 nostop noprint pass"
KINDS = [["-pie", "-fPIE"], ["-no-pie"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", LEVELS)
def test_crash(gdb, compile, level, kind):
    program = compile("deep.c", level, *kind)
    session = gdb(program, "mtrace start", "run fault", "echo bt\\n", "bt", "echo history\\n",
                  "mtrace history", "echo end\\n", "mtrace info")
    line = line_of("deep.c", "the fault")
    assert re.search(r"received signal SIGSEGV.*\n(0x\S+ in )?c \(.*deep\.c:" + str(line),
                     session.output)
    assert ('[mtrace: the calls up to SIGSEGV are in trace-1.fxt; "mtrace history" shows the last]'
            in session.lines)
    frames = [re.match(r"#\d+ .*?(\w+) \(", frame)[1] for frame in session.between("bt", "history")]
    assert frames[:4] == ["c", "b", "a", "main"]
    history = session.between("history", "end")
    assert opened(history)[-4:] == ["main", "a", "b", "c"]
    assert re.search(rf"\*\*\* SIGSEGV, address 0x0 in c .*deep\.c:{line}$", history[-1])
    trace = fxt.read(gdb.directory / "trace-1.fxt")
    assert [instant.name for instant in trace.instants()].count("SIGSEGV") == 1
    assert "Snapshots: 1" in session.lines


def test_the_crash_is_the_end(gdb, compile):
    """Right behind the last call, however late GDB tells of it, or people look."""
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "run fault", "shell sleep 0.3",
                  "mtrace history")
    call, crash = (re.match(r" *~?(-?[0-9.]+) (.)s +", line) for line in session.lines[-2:])
    assert session.lines[-1][crash.end():].startswith("*** SIGSEGV")
    assert float(call[1]) <= float(crash[1]) <= 0 and call[2] == crash[2]


def test_the_crash_soon_after_a_sleep(gdb, compile):
    """Then little is known of the last calls' times, and they still come before the crash."""
    program = compile("nap_and_crash.c", "-O1")
    session = gdb(program, "mtrace start", "run", "mtrace history 6")
    assert all(" step " in line for line in session.lines[-6:-1])
    assert "*** SIGSEGV" in session.lines[-1]


def test_continued_to_its_end(gdb, compile):
    session = gdb(compile("deep.c", "-O1"), "mtrace start", "run fault", "continue",
                  "mtrace history", "run fault", "kill", "mtrace history")
    assert sorted(path.name for path in gdb.directory.glob("*.fxt")) == ["trace-1.fxt", "trace-2.fxt"]
    ends = [line for line in session.lines if "*** exit by" in line]
    assert "exit by SIGSEGV" in ends[0] and "exit by SIGKILL" in ends[1]


def test_abort(gdb, compile):
    session = gdb(compile("deep.c", "-O1"), "mtrace start", "run abort", "mtrace history")
    assert "[mtrace: the calls up to SIGABRT are in trace-1.fxt" in session.output
    names = opened(session.lines)
    assert names[names.index("main"):][:5] == ["main", "a", "b", "c", "abort"]


def test_no_snapshot_when_it_is_off(gdb, compile):
    session = gdb(compile("deep.c", "-O1"), "set mtrace on-crash off", "mtrace start", "run fault",
                  "mtrace info", "kill")
    assert "mtrace:" not in session.all
    assert "Snapshots: 0" in session.lines
    assert not list(gdb.directory.glob("*.fxt"))


def test_exit(gdb, compile):
    """Its file is written where that is asked for; the history is there all the same."""
    program = compile("calls_threads.c", "-O1", "-pthread")
    session = gdb(program, QUIET, "mtrace start", "run", "echo history\\n", "mtrace history 5",
                  "mtrace save x.perf")
    assert any("exit with status" in line for line in session.between("history"))
    assert "mtrace: the calls" not in session.output
    assert [path.name for path in gdb.directory.glob("[tx]*")] == ["x.perf"]
    session = gdb(program, QUIET, "set mtrace on-exit on", "mtrace start", "run")
    assert "[mtrace: the calls up to the end are in trace-1.fxt]" in session.lines
    assert (gdb.directory / "trace-1.fxt").exists()


def test_a_crash_at_which_gdb_does_not_stop(gdb, compile):
    session = gdb(compile("deep.c", "-O1"), "handle SIGSEGV nostop", "mtrace start", "run fault")
    assert ('[mtrace: the calls up to SIGSEGV are in trace-1.fxt; "mtrace history" shows the last]'
            in session.lines)
    assert (gdb.directory / "trace-1.fxt").exists()


def test_kill(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break c", "run fault", "kill",
                  "echo history\\n", "mtrace history", "mtrace info")
    history = session.between("history")
    assert opened(history)[-4:] == ["main", "a", "b", "c"]
    assert "Recording begins when the program runs." in session.lines


def test_run_again(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "run fault", "run fault",
                  "mtrace history", "mtrace info")
    assert "trace-2.fxt" in session.output
    assert opened(session.lines)[-4:] == ["main", "a", "b", "c"]
    assert "Snapshots: 2" in session.lines


@pytest.mark.usefixtures("gdb_writes_registers")
def test_start_at_a_stop(gdb, compile):
    """The agent comes by an inferior call, and what was open already needs no entry."""
    session = gdb(compile("deep.c", "-O0"), "break main", "run fault", "mtrace start", "continue",
                  "mtrace history")
    assert "Recording the calls of process" in session.output
    assert opened(session.lines)[-3:] == ["a", "b", "c"]


def test_stop(gdb, compile):
    """The program runs on as if it had never been recorded."""
    program = compile("calls_threads.c", "-O1", "-pthread")
    plain = gdb(program, QUIET, "run")
    session = gdb(program, QUIET, "mtrace start", "break main", "run", "mtrace stop", "continue",
                  "mtrace info")
    assert "Recording stopped." in session.lines
    assert "exited normally" in session.output
    assert 'Nothing is being recorded ("mtrace start" begins).' in session.lines
    assert plain.status == session.status == 0


def test_save(gdb, compile, run_mtdb):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "run fault", "mtrace save a.perf",
                  "kill", "mtrace save b.perf")
    assert "Recording saved to a.perf." in session.lines
    for name in ("a.perf", "b.perf"):
        text = run_mtdb("history", gdb.directory / name).stdout
        assert opened(text.splitlines())[-4:] == ["main", "a", "b", "c"]


def test_snapshot_by_hand(gdb, compile):
    session = gdb(compile("deep.c", "-O0"), "mtrace start", "break c", "run fault",
                  "mtrace snapshot x.txt", "mtrace snapshot", "kill")
    assert "Snapshot 1 is in x.txt." in session.lines
    assert "Snapshot 2 is in trace-2.fxt." in session.lines
    assert opened((gdb.directory / "x.txt").read_text().splitlines())[-2:] == ["b", "c"]


def test_the_plugin_shares_the_cache_with_mtdb(gdb, compile, run_mtdb, tmp_path, monkeypatch):
    """Neither takes the other's files for another version's."""
    program = compile("deep.c", "-O0")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = []
    for _ in range(2):
        run_mtdb("run", "-e", "calls", "-o", tmp_path / "x.fxt", program)
        kept.append({path: path.stat().st_ino for path in tmp_path.glob("cache/mtrace/plan-*")})
        gdb(program, "mtrace start", "run")
    assert kept[0] and kept[0] == kept[1]
