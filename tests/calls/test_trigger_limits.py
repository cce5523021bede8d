# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of a trigger's hits count: -ignore, -every, -max, -rate.  Each hit has a number of its own,
whatever threads they come from and wherever they are evaluated."""
import json

import pytest

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long calls;
static volatile int sink;

__attribute__((noinline)) static int visit(int n) { sink = n; return n % 2 ? n : -n; }
__attribute__((noinline)) static int visit(long n) { sink = (int)n; return (int)n; }

static void *run(void *)
{
	for (long i = 0; i < calls / 2; i++)
		sink += visit((int)i) + visit(i);
	return NULL;
}

int main(int, char **argv)
{
	pthread_t threads[16];
	const int count = atoi(argv[1]);

	calls = atol(argv[2]);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	puts("done");
}
"""


@pytest.fixture(name="hits_of")
def make_hits_of(compile, run_mtdb, tmp_path):
    source = tmp_path / "limits.cpp"
    source.write_text(SOURCE)

    def hits_of(trigger, threads, calls, *options):
        done = run_mtdb("run", "--engine", "calls", "--size", "64k", "--modules", "limits*",
                        *options, "-t", trigger, "-o", tmp_path / "x.json",
                        compile(source, "-O1", "-pthread"), threads, calls)
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
        return len([event for event in events
                    if event["ph"] == "i" and event["name"] == "trigger"]), done.stderr

    return hits_of


@pytest.mark.parametrize("trigger, hits", [
    ("-every 8000 visit", 10),
    ("-ignore 79990 visit", 10),
    ("-max 3 visit", 3),
    ("-ignore 10 -every 7000 -max 5 visit if n >= 0", 5),
    ("-every 4000 visit return if $_ret <= 0", 5),
    ("-ignore 79998 -return visit", 2),
    ("-max 1 -slower 1ns visit", 1),
    ("-rate 1/h visit", 1),
    ("-rate 1/h -slower 1ns visit", 1),
])
def test_in_threads(hits_of, trigger, hits):
    """80,000 calls in 8 threads, of two functions by one name."""
    seen, log = hits_of(trigger, "8", "10000")
    assert seen == hits, log
    assert "evaluated by mtdb" not in log


@pytest.mark.parametrize("trigger, hits", [
    ("-every 100 visit if n / 2.0l >= 0", 2),
    ("-ignore 190 -max 5 visit if n / 2.0l >= 0", 5),
    ("-rate 1/h visit if n / 2.0l >= 0", 1),
    ("-every 50 visit return if $_ret / 2.0l > -1000", 4),
])
def test_evaluated_by_mtdb(hits_of, trigger, hits):
    seen, log = hits_of(trigger, "1", "200")
    assert "evaluated by mtdb" in log
    assert seen == hits


def test_another_engine(compile, run_mtdb, tmp_path):
    source = tmp_path / "limits.cpp"
    source.write_text(SOURCE)
    done = run_mtdb("run", "--engine", "step", "-t", "-ignore 3 -every 4 -max 2 run",
                    "-o", tmp_path / "x.json", compile(source, "-O1", "-pthread", "-static"), "16", "2")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert len([event for event in events
                if event["ph"] == "i" and event["name"] == "trigger"]) == 2


def test_two_at_one_place(compile, run_mtdb, tmp_path):
    """The one that is done leaves the others where they are, in whatever order they were given."""
    source = tmp_path / "limits.cpp"
    source.write_text(SOURCE)
    triggers = ["-max 2 visit if n == 5 || n == 6 || n == 7", "-every 100 visit",
                "-max 1 visit return if $_ret == 9", "visit return if $_ret == 11", "-max 1 visit"]
    for order in triggers, triggers[::-1]:
        options = [word for trigger in order for word in ("-t", trigger)]
        done = run_mtdb("run", "--engine", "calls", "--size", "64k", "--modules", "limits*",
                        *options, "-o", tmp_path / "x.json",
                        compile(source, "-O1", "-pthread"), "1", "400")
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
        hits = [event["args"] for event in events
                if event["ph"] == "i" and event["name"] == "trigger"]
        numbers = [hit["number"] for hit in hits]
        counts = [numbers.count(order.index(trigger) + 1) for trigger in triggers]
        assert counts == [2, 4, 1, 2, 1], done.stderr


@pytest.mark.parametrize("trigger, message", [
    ("-max 0 visit", "expected a whole number from 1"),
    ("-every visit", "number of hits"),
    ("-rate 3/d visit", 'invalid rate "3/d": must be COUNT/s'),
    ("-rate", "-rate requires a value"),
    ("-stop visit", '-stop is for a debugger\'s "mtrace trigger"'),
    ("-frob visit", "there is no option -frob"),
    ("-slower soon visit", "soon"),
    ("visit -max 3", "the options of a trigger precede the location"),
    ("-max 3", "must be FUNCTION, FILE:LINE"),
])
def test_what_means_nothing(run_mtdb, tmp_path, trigger, message):
    done = run_mtdb("run", "--engine", "calls", "-t", trigger, "-o", tmp_path / "x.json",
                    "/bin/true")
    assert done.returncode == 2 and f'invalid trigger "{trigger}": ' in done.stderr
    assert message in done.stderr
