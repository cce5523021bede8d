# SPDX-License-Identifier: GPL-3.0-or-later
"""Where debug registers can be set and are never hit, as under some hypervisors: what needs one says so, and nothing
waits for it in vain.

Such a hypervisor is played anywhere; where this machine's is one, it is taken, too."""
import re
import subprocess

import pytest

from tests.cli.same import same, words_of

WORDS = "debug registers can be set here, but are never hit"
PROMPT = "the command watch at mtdb's prompt, which single-steps if need be"


@pytest.fixture(scope="module", name="program")
def program_fixture(compile):
    return compile("debug_watch.c", "-O0", "-g", "-pthread")


@pytest.fixture(name="never_hit", params=["played", "real"])
def never_hit_fixture(request, compile, debug_registers_hit, monkeypatch):
    """No debug register is hit by what begins from now on."""
    if request.param == "played":
        monkeypatch.setenv("LD_PRELOAD", str(compile("never_hit.c", "-shared", "-fPIC", "-O1", output="never_hit.so")))
    elif debug_registers_hit:
        pytest.skip("debug registers stop programs here: no hypervisor is in their way")


def at_prompt(run_mtdb, commands, *what):
    return run_mtdb("-batch", *(word for command in commands for word in ("-ex", command)), *what,
                    stdin=subprocess.DEVNULL)


def watch_line(run_mtdb):
    """(yes or no, what follows)."""
    return re.search(r"^watch +(\w+) +(.*)$", run_mtdb("doctor").stdout, re.M).groups()


def test_doctor_says_what_is_so(run_mtdb, perf_events, debug_registers_hit):
    works, text = watch_line(run_mtdb)
    assert (works, WORDS in text) == (("yes", False) if debug_registers_hit else ("no", True)), text


def test_the_prompt_knows_what_is_so(mtdb, program, compile, debug_registers_hit):
    """Where no perf event may be had, too: ptrace(2) can set registers still."""
    for before in ([], [compile("no_perf_events.c")]):
        done = subprocess.run([*before, mtdb, "-batch", "-ex", "watch at", "-ex", "watch flags", program], text=True,
                              capture_output=True, check=True, timeout=60)
        kind = "Hardware watchpoint" if debug_registers_hit else "Watchpoint"
        assert done.stdout.splitlines() == [f"{kind} 1: at", f"{kind} 2: flags"]
        assert done.stderr.count(WORDS) == (0 if debug_registers_hit else 1)


@pytest.mark.usefixtures("never_hit")
def test_doctor(run_mtdb, perf_events):
    works, text = watch_line(run_mtdb)
    assert works == "no" and text.startswith(WORDS) and "--engine calls and step" in text


@pytest.mark.usefixtures("never_hit", "perf_events")
@pytest.mark.parametrize("options, holders, cures", [
    (["--watch=at"], "--watch at", [PROMPT]),
    (["--engine=step", "--watch=at", "--watch=flags:4"], "--watch at, --watch flags:4", [PROMPT]),
    (["--engine=sample", "-t", "moves"], "--trigger moves", ["use --engine calls or step"]),
    (["--engine=sample", "-t", "moves", "--watch=at"], "--trigger moves, --watch at",
     ["use --engine calls or step", PROMPT]),
    (["--engine=sample", "--events=marks"], "--events marks", ["use --engine calls or step"]),
])
def test_refused_before_the_program_runs(run_mtdb, program, tmp_path, options, holders, cures):
    done = run_mtdb("run", "-o", tmp_path / "x.fxt", *options, "--", program)
    assert done.returncode == 125 and done.stdout == ""
    assert f"cannot stop at {holders}: {WORDS}" in done.stderr
    assert [cure for cure in (PROMPT, "use --engine calls or step") if cure in done.stderr] == sorted(cures)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("never_hit", "perf_events")
@pytest.mark.parametrize("options", [["--watch=counter"], ["--engine=sample", "-t", "count"]])
def test_a_process_is_not_attached_to_for_that(run_mtdb, compile, tmp_path, options):
    program = compile("watched_storm.c", "-O1", "-g", "-pthread", "-D_GNU_SOURCE")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        done = run_mtdb("attach", "-o", tmp_path / "x.fxt", *options, process.pid)
        assert done.returncode == 1 and WORDS in done.stderr
        process.stdin.close()
        assert process.wait(timeout=120) == 0


@pytest.mark.usefixtures("never_hit", "perf_events")
def test_what_needs_none_is_as_ever(run_mtdb, program, tmp_path):
    for options in (["--engine=calls", "-t", "moves"], ["--engine=sample"]):
        done = run_mtdb("run", "-o", tmp_path / "x.txt", *options, "--", program)
        assert done.returncode == 0 and WORDS not in done.stderr, done.stderr
    done = at_prompt(run_mtdb, ["tbreak moves", "run", "finish"], program)
    assert "main (argc=1" in done.stdout and WORDS not in done.stderr


@pytest.mark.usefixtures("never_hit")
def test_what_the_prompt_says(run_mtdb, program):
    done = at_prompt(run_mtdb, [
        "hbreak moves", "rwatch at", "break moves", "run", "hbreak *$pc", "awatch -l list[1]", "watch at", "watch flags",
        "info breakpoints", "set can-use-hw-watchpoints 0", "rwatch at"], program)
    said = [line for line in done.stderr.splitlines() if WORDS in line]
    assert [re.sub(f"{WORDS}, as under some hypervisors", "WHY", line) for line in said] == [
        'No hardware breakpoint support in the target: WHY.  Use "break".',
        'Can\'t set read/access watchpoint: WHY.  "watch" stops when the value changes.',
        'No hardware breakpoint support in the target: WHY.  Use "break".',
        'Can\'t set read/access watchpoint: WHY.  "watch" stops when the value changes.',
        "warning: WHY: while something is watched, the program is single-stepped, which is slow"]
    assert "Can't set read/access watchpoint when hardware watchpoints are disabled." in done.stderr
    assert "\nWatchpoint 2: at\nWatchpoint 3: flags\n" in done.stdout
    assert [line.split()[1] for line in done.stdout.splitlines() if " keep y " in line] == [
        "breakpoint", "watchpoint", "watchpoint"]


@pytest.mark.usefixtures("never_hit")
def test_who_steps_anyway_is_not_told(run_mtdb, program):
    done = at_prompt(run_mtdb, ["set can-use-hw-watchpoints 0", "watch at", "break moves"], program)
    assert done.stdout.startswith("Watchpoint 1: at\n") and WORDS not in done.stderr


@pytest.mark.usefixtures("never_hit")
def test_an_attached_process_is_stepped(run_mtdb, compile):
    program = compile("watched_storm.c", "-O1", "-g", "-pthread", "-D_GNU_SOURCE")
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        done = at_prompt(run_mtdb, ["watch counter", "continue", "continue", "detach"], "-p", process.pid)
        found = re.findall(r"hit Watchpoint 1: counter\n\nOld value = (\d+)\nNew value = (\d+)\n", done.stdout)
        assert len(found) == 2 and all(int(new) == int(old) + 1 for old, new in found), done.stdout + done.stderr
        process.stdin.close()
        assert process.wait(timeout=120) == 0


MOVES = "break moves\nrun\n"
STEPPED = [
    ("", MOVES + "watch list[at]\n" + "c\n" * 4),
    ("", MOVES + "watch -l head->value\nwatch flags if flags & 4\ninfo watchpoints\nc\nc\n"),
    ("", "break depth_of if n == 0\nrun\nwatch depth\nwatch n\n" + "c\n" * 5 + "info watchpoints\n"),
]


@pytest.mark.usefixtures("never_hit")
def test_watch_single_steps(need, mtdb, program):
    """As GDB does that is told to."""
    lines = same(need("gdb"), mtdb, [*words_of(STEPPED), program], ignored=["warning: debug registers"],
                 gdb_words=["-iex", "set can-use-hw-watchpoints 0"])
    assert sum(line.startswith("New value = ") for line in lines) == 6
