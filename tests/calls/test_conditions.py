# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers with conditions, which the program evaluates itself where that can be: they are hit as
often as the program counts, and nothing else of it changes."""
import signal
import subprocess

import pytest

from conftest import come_along, linked_for
from output import chrome
from tests.calls.code import changed
from tests.calls.hits import hits_in

# As in the fixture; which memory some of them cannot read counts as "does not hold".
CONDITIONS = [
    "x > 5 && x < 9",
    "node && node->len > 80 && node->name[0] != '#'",
    "byte == 200 || wide / 3 == -1",
    "node->next->kind == MANY && x % 16 == 3",
    "node->depth < -60 || node->flags == 31",
    "x > limit * 24",
    "node->weight > 2.5 && x < 50",
    "own > 40 && (x > 500 ? own : x) % 7 == 0",
    "ratio > 0.25f && !(ratio >= x)",
]
BY_STOPS = "evaluated by mtdb, which takes about 100 us a call"


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(level, condition, *words, engine="calls", options=()):
        program = compile("calls_conditions.c", level, "-pthread", *linked_for(engine))
        done = run_mtdb("run", "--engine", engine, "--size", "16k", *options,
                        "--modules", "calls_conditions", "-t", condition,
                        "-o", tmp_path / "x.json", program, *words)
        return done, len(hits_in(tmp_path / "x.json")) if done.returncode == 3 else None

    return record


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_hits(record, level, number):
    done, hits = record(level, "visit if " + CONDITIONS[number], "visit", str(number), "3000")
    assert done.returncode == 3, done.stderr
    assert BY_STOPS not in done.stderr, done.stderr
    assert done.stdout == f"{hits} hits\n"


def test_behind_endbr64(record):
    done, hits = record("-fcf-protection=full", "visit if " + CONDITIONS[1], "visit", "1", "3000")
    assert done.stdout == f"{hits} hits\n" and BY_STOPS not in done.stderr


def test_full_stamps(record):
    done, hits = record("-O1", "visit if " + CONDITIONS[1], "visit", "1", "3000",
                        options=["--timestamps", "full"])
    assert done.stdout == f"{hits} hits\n"


@pytest.mark.parametrize("options", [(), ("--args", "visit"), ("-t", "visit if x > 986 && byte % 2 == 0"),
                                     ("-t", "visit if x > 995", "--args", "visit"),
                                     ("--timestamps", "full")])
@pytest.mark.parametrize("flags", ["-O0", "-O2", "-fcf-protection=full"])
def test_the_call_that_fires(record, tmp_path, flags, options):
    """It begins when it is hit; the ring has wrapped since the last one."""
    done, hits = record(flags, "visit if x == 987", "visit", "9", "10000", options=options)
    assert done.returncode == 3 and BY_STOPS not in done.stderr, done.stderr
    trace, _ = chrome.parse((tmp_path / "x.json").read_bytes())
    within = [hit.parent for hit in trace.instants() if hit.name == "trigger" and hit.parent]
    assert len(within) == hits >= 10
    assert all(call.name.partition("(")[0] == "visit" and "inferred" not in call.args for call in within)


def test_another_engine(record):
    """It stops for each call, and evaluates the same."""
    done, hits = record("-O1", "visit if " + CONDITIONS[0], "visit", "0", "30", engine="step")
    assert done.stdout == f"{hits} hits\n" and hits == 3


def test_threads(record):
    done, hits = record("-O2", "visit if node->len > 280 && x == 987", "threads", "9", "100000")
    assert (done.returncode, done.stdout) == (3, "0 hits\n"), done.stderr
    # 100 calls of each thread have that x, and those of them that have that node repeat.
    expected = sum(i % 1000 == 987 and i % 11 != 0 and i * 7 % 16 * 20 > 280
                   for i in range(100000))
    assert hits == 16 * expected
    assert "could not be evaluated" in done.stderr


def test_signals(record):
    """Handlers that call the function, wherever they interrupt its condition."""
    done, hits = record("-O1", "visit if " + CONDITIONS[1], "alarms", "1", "3000")
    assert done.stdout == f"{hits} hits\n"


def test_backtraces(record):
    """By a handler of the program's own that interrupts the condition."""
    done, _ = record("-O1", "visit if wide * x / 7 == 123456789 || node->next->len == -3",
                     "traces", "9", "100000")
    assert BY_STOPS not in done.stderr
    assert done.stdout == "0 cut\n"


@pytest.mark.parametrize("length, times, hits", [(99, 5000, 50), (100, 200000, 0)])
def test_memory_that_is_gone(record, length, times, hits):
    done, seen = record("-O1", f"peek if node->len == {length}", "gone", "0", str(times))
    assert (done.returncode, done.stdout, seen) == (3, f"{times // 100} hits\n", hits), done.stderr
    assert BY_STOPS not in done.stderr
    assert (f"could not be evaluated {times} times: Cannot access memory at address 0x"
            in done.stderr)


def test_memory_that_another_thread_unmaps(record):
    """While it is looked at a million times; what lies there is never what is looked for."""
    done, hits = record("-O1", "peek if node->len == 99", "comes and goes", "0", "1000000")
    assert (done.returncode, done.stdout, hits) == (3, "0 hits\n", 0), done.stderr
    assert BY_STOPS not in done.stderr
    assert "Cannot access memory at address 0x" in done.stderr


def test_registers_and_casts(record):
    done, hits = record("-O1", "visit if $edi == 8 && *(int *)$rsi > 80 && node->name[0] != '#'",
                        "visit", "1", "3000")
    assert BY_STOPS not in done.stderr and done.returncode == 3
    assert hits == sum(i % 1000 == 8 and i * 7 % 16 * 20 > 80 and i * 7 % 16 % 3 != 0
                       for i in range(3000) if i % 11)
    assert hits > 0


@pytest.mark.parametrize("trigger, message", [
    ("visit if nosuch > 3", 'invalid condition of the trigger "visit if nosuch > 3": '
                            'No symbol "nosuch" in current context.'),
    ("visit if node->nosuch", "There is no member named nosuch."),
    ("main return if $_ret.nosuch", 'invalid condition of the trigger "main return if $_ret.nosuch": '
                                    "Attempt to extract a component of a value that is not a "
                                    "structure."),
    ("visit if x >", "A syntax error in expression, near `'."),
    ("visit if", 'invalid trigger "visit if": no condition after "if"'),
    (" if x", 'invalid trigger " if x": must be FUNCTION'),
    ("*visit+1", 'invalid location "*visit+1" for a trigger: 0x'),
])
def test_what_means_nothing(record, trigger, message):
    """Is said before the program begins."""
    done, _ = record("-O1", trigger, "visit", "0", "30")
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not done.stdout


@pytest.mark.parametrize("engine, stops", [("calls", 0), ("calls", 1), ("calls", 2), ("step", 0)])
def test_several_at_one_place(record, engine, stops):
    """Each is hit as if it were alone, also those that the program cannot evaluate."""
    conditions = ["x % 100 == 7", "x % 10 == 7 && node->len >= 0", "x == 17",
                  "x == 27 && (limit@1)[0] == 40", "x > 26 && x < 29 && (limit@1)[0] == 40"][:3 + stops]
    done, hits = record("-O1", f"visit if {conditions[0]}", "visit", "0", "60", engine=engine,
                        options=[word for condition in conditions[1:]
                                 for word in ("-t", f"visit if {condition}")])
    assert done.returncode == 3, done.stderr
    assert (BY_STOPS in done.stderr) == bool(stops and engine == "calls")
    tens = sum(i % 10 == 7 and i % 11 != 0 for i in range(60))
    assert hits == 1 + tens + 1 + (0, 1, 3)[stops]


@pytest.mark.parametrize("engine", ["calls", "step"])
def test_with_and_without_a_condition(record, engine):
    done, hits = record("-O1", "visit if x == 7", "visit", "0", "30", engine=engine,
                        options=["-t", "visit"])
    assert (done.returncode, hits) == (3, 31), done.stderr


def test_attach(compile, mtdb, tmp_path):
    program = compile("calls_conditions.c", "-O2", "-pthread")
    with subprocess.Popen([program, "wait", "0", "1000"], text=True,
                          stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        for condition, most in ("x == 987 && node->len > 0", "3"), ("x < 0", "0"), \
                               ("node->next->len < 0", "0"):
            command = [mtdb, "attach", "--engine", "calls", "--size", "16k", "--max", most, "-t",
                       f"visit if {condition}", "--for", "2s" if most == "0" else "60s", "-o",
                       tmp_path / "x.json", str(process.pid)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
            assert done.returncode == 0, done.stderr
            assert len(hits_in(tmp_path / "x.json")) == int(most)
            assert BY_STOPS not in done.stderr
            assert not changed(process.pid)
            come_along(process.pid)
        for trigger in "visit if nosuch", "nosuch":
            failed = subprocess.run([mtdb, "attach", "-t", trigger, str(process.pid)],
                                    capture_output=True, text=True, check=False, timeout=60)
            assert failed.returncode == 2 and '"nosuch"' in failed.stderr
            assert not changed(process.pid)
        process.send_signal(signal.SIGKILL)


NAMESAKES = """
namespace one { __attribute__((noipa)) int visit(int x) { return x + 1; } }
namespace two { __attribute__((noipa)) long visit(long y) { return y + 2; } }
int main()
{
	long sum = 0;
	for (int i = 0; i < 40; i++)
		sum += one::visit(i) + two::visit(i);
	return sum == 0;
}
"""


@pytest.mark.parametrize("name, hits", [("x", 10), ("y", 10), ("z", None)])
def test_of_one_namesake(compile, run_mtdb, tmp_path, name, hits):
    """It is hit where it means something, and an error if it does so nowhere."""
    source = tmp_path / "namesakes.cpp"
    source.write_text(NAMESAKES)
    done = run_mtdb("run", "--engine", "calls", "-t", f"visit if {name} >= 30",
                    "-o", tmp_path / "x.json", compile(source, "-O1"))
    assert "one place of several" in done.stderr and 'No symbol "' in done.stderr
    if hits is None:
        assert done.returncode == 2 and not (tmp_path / "x.json").exists(), done.stderr
    else:
        assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == hits, done.stderr
