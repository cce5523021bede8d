# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions at lines, which the program evaluates itself: they are hit as often as the program
counts, wherever they stand nothing else of it changes, and it outlives its tracers."""
import random
import re
import signal
import subprocess

import pytest

from conftest import line_of, need_tool
from tests.calls.code import changed
from tests.calls.hits import hits_in

CONDITIONS = {
    "squares": "square > 900 && i % 2 == 0",
    "kinds": "item->kind == 2 && item->next->kind == 3 && $_streq(item->name, \"second\") "
             "&& $_regex(item->name, \"s[^s]+d$\")",
    "weights": "item->weight > 7 && i > 290",
    "deep": "depth > 10 && depth % 2",
}
BY_STOPS = "evaluated by mtdb, which takes about 100 us a call"
# It never holds, and needs registers, the stack and the flags.
NEVER = "$rsp == 1 && $rax == *(long *)$rsp"
PADDING = ("nop", "cs", "data16", "xchg")


def at_line(name):
    return f"calls_lines.c:{line_of('calls_lines.c', f'/* {name} */')}"


def places_of(program, *functions):
    """Where their instructions begin: "*work+4"."""
    listing = subprocess.run(["objdump", "-d", "-w", "--no-show-raw-insn", program], text=True,
                             capture_output=True, check=True).stdout
    places, name, start = [], None, 0
    for line in listing.splitlines():
        head = re.match(r"^([0-9a-f]+) <(.+)>:$", line)
        insn = re.match(r"^ +([0-9a-f]+):\s+(\S+)", line)
        if head:
            start, name = int(head[1], 16), head[2]
        elif insn and name in functions and not insn[2].startswith(PADDING):
            places.append(f"*{name}+{int(insn[1], 16) - start}")
    return places


@pytest.fixture(name="record")
def make_record(run_mtdb, tmp_path):
    def record(program, *triggers, engine="calls"):
        words = [word for trigger in triggers for word in ("-t", trigger)]
        done = run_mtdb("run", "--engine", engine, "--size", "16k", *words,
                        "-o", tmp_path / "x.json", program, "count")
        assert done.returncode == 0, done.stderr
        return done, len(hits_in(tmp_path / "x.json"))

    return record


def test_hits(compile, record):
    program = compile("calls_lines.c", "-O0", "-pthread")
    alone = subprocess.run([program, "count"], capture_output=True, text=True, check=True).stdout
    counts = dict(zip(CONDITIONS, map(int, alone.splitlines()[1].split()), strict=True))
    assert min(counts.values()) > 0
    for name, condition in CONDITIONS.items():
        done, hits = record(program, f"{at_line(name)} if {condition}")
        assert (done.stdout, hits) == (alone, counts[name]), (name, done.stderr)
        assert BY_STOPS not in done.stderr, done.stderr


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3", "-O2 -gdwarf-4", "-Og"])
def test_hits_as_gdb(compile, record, level):
    """Of optimized code: what a line is, and where its variables lie, is GDB's to say."""
    program = compile("calls_lines.c", *level.split(), "-pthread")
    conditions = {name: CONDITIONS[name] for name in ("squares", "deep")}
    conditions["computed"] = "left % 7 == 3 && scaled > 500 && zero == 0"
    for name, condition in conditions.items():
        trigger = f"{at_line(name)} if {condition}"
        told = subprocess.run([need_tool("gdb"), "-nx", "-batch", "-ex", f"break {trigger}",
                               "-ex", "ignore 1 10000", "-ex", "run count", "-ex", "info breakpoints",
                               program], text=True, capture_output=True, check=False,
                              timeout=60).stdout
        expected = re.search("already hit ([0-9]+) time", told)
        done, hits = record(program, trigger)
        assert hits == (int(expected[1]) if expected else 0), (name, done.stderr, told)
        assert BY_STOPS not in done.stderr, done.stderr


def test_another_engine(compile, record):
    program = compile("calls_lines.c", "-O1", "-pthread")
    by_stops = record(program, f"{at_line('squares')} if i == 77", engine="step")[1]
    assert by_stops == record(program, f"{at_line('squares')} if i == 77")[1] == 1


def test_limits(compile, record):
    program = compile("calls_lines.c", "-O1", "-pthread")
    done, hits = record(program, f"-ignore 3 -every 2 -max 5 {at_line('squares')} if i > 10")
    assert hits == 5 and BY_STOPS not in done.stderr


def test_division_and_bad_pointers(compile, record):
    program = compile("calls_lines.c", "-O0", "-pthread")
    done, hits = record(program, f"{at_line('kinds')} if 12 / (i - 5) == 3",
                        f"{at_line('weights')} if item->next->kind == 2")
    assert hits == 1 + 100, done.stderr
    assert "could not be evaluated 1 times: Division by zero" in done.stderr
    assert "could not be evaluated 100 times: Cannot access memory at address 0x0" in done.stderr


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_anywhere(compile, record, level):
    """At instructions chosen at random, several at once, also next to each other."""
    program = compile("calls_lines.c", level, "-pthread")
    alone = subprocess.run([program, "count"], capture_output=True, text=True, check=True).stdout
    places = places_of(program, "work", "down")
    chance, stops = random.Random(level), 0
    for _ in range(15):
        chosen = chance.sample(places, 4)
        done, hits = record(program, *(f"{place} if {NEVER}" for place in chosen))
        assert (done.stdout, hits) == (alone, 0), (chosen, done.stderr)
        stops += done.stderr.count(BY_STOPS)
    assert stops < 15 * 4 / 2


def test_neighbours(compile, record):
    """One that would displace another's instruction is evaluated by mtdb, and says so."""
    program = compile("calls_lines.c", "-O0", "-pthread")
    places = places_of(program, "work")
    near = next((one, other) for one, other in zip(places[8:], places[9:])
                if int(other.split("+")[1]) - int(one.split("+")[1]) < 4)
    for first, second in near, reversed(near):
        done, _ = record(program, f"{first} if {NEVER}", f"{second} if {NEVER}")
        assert done.stderr.count("another trigger is too near") >= 1, done.stderr


def test_two_at_one_line(compile, record):
    """Neither's condition keeps threads from the other one."""
    program = compile("calls_lines.c", "-O0", "-pthread")
    rare, never = f"{at_line('squares')} if i == 77", f"{at_line('squares')} if i == -1"
    for first, second in (rare, never), (never, rare):
        done, hits = record(program, first, second)
        assert hits == 1, done.stderr
        assert done.stderr.count("another trigger is too near") == 1, done.stderr


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_attached_and_killed(compile, mtdb, tmp_path, level):
    """Threads, and handlers, stand anywhere in what is displaced."""
    program = compile("calls_lines.c", level, "-pthread")
    chance, places = random.Random(level), places_of(program, "work", "down")
    with subprocess.Popen([program, "run"], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "runs\n"
        for end in 12 * [signal.SIGINT] + 6 * [signal.SIGINT, signal.SIGKILL]:
            words = [word for place in chance.sample(places, 2)
                     for word in ("-t", f"{place} if {NEVER}")]
            with subprocess.Popen([mtdb, "attach", "--size", "64k", "-o", tmp_path / "x.fxt",
                                   *words, str(run.pid)], stderr=subprocess.PIPE,
                                  text=True) as tracer:
                assert "press Ctrl-C to stop" in tracer.stderr.readline()
                tracer.send_signal(end)
                said = tracer.communicate(timeout=120)[1]
            assert run.poll() is None, (words, end, said)
            if end == signal.SIGINT:
                assert tracer.returncode == 0, said
                assert not [path for path in changed(run.pid) if path == str(program)], said
        run.send_signal(signal.SIGTERM)
        assert run.communicate(timeout=60)[0] == "right\n"
    assert run.returncode == 0
