# SPDX-License-Identifier: GPL-3.0-or-later
"""$_thread in triggers that the program evaluates itself is the number that debuggers show."""
import json
import re

import pytest

PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t all;
static volatile long sink;

__attribute__((noinline)) long work(long made, long round) { sink += made; return made * 1000 + round; }
__attribute__((noinline)) void ready(void) { sink++; }

/* MADE: how many threads there were before. */
static void *run(void *made)
{
	pthread_barrier_wait(&all);
	for (long round = 0; round < 20; round++)
		sink += work((long)made, round);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[6];

	if (argc > 1)
		execl(argv[0], argv[0], (char *)0);
	pthread_barrier_init(&all, 0, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, run, (void *)(i + 1));
	ready();
	pthread_barrier_wait(&all);
	for (long i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	pthread_barrier_init(&all, 0, 4);
	for (long i = 3; i < 6; i++)
		pthread_create(&threads[i], 0, run, (void *)(i + 1));
	pthread_barrier_wait(&all);
	for (long i = 3; i < 6; i++)
		pthread_join(threads[i], 0);
	work(0, 0);
	return 0;
}
"""


@pytest.fixture(name="program", params=["-O0", "-O2"])
def program_fixture(compile, tmp_path, request):
    source = tmp_path / "numbers.c"
    source.write_text(PROGRAM)
    return compile(source, request.param, "-pthread")


HITS = {
    "work if $_thread == 1": 1,
    "work if $_thread != made + 1": 0,
    "work if $_thread == 3 && round < 10": 10,
    "work if $_thread > 4": 60,
    "work return if $_thread * 1000 - 1000 + 19 == $_ret": 6,
    "work if $_thread / 2.0 == 3.5 && round == 7": 1,
}


@pytest.mark.parametrize("condition", ["work if $_thread == 1", "work if $_thread != made + 1",
                                       "work if $_thread == 3 || $_thread > 6"])
def test_at_once_and_later(either, program, condition):
    """Threads that are there when the trigger is set, and those that come later."""
    returned = "work return if $_thread * 1000 - 1000 + 19 == $_ret"
    lines = either(program, "", "mtrace start", "break ready", "run", f"mtrace trigger {condition}",
                   f"mtrace trigger {returned}", "delete 1", "continue", "mtrace info")
    told = dict(re.findall(r"^Trigger \d+: (.*): (\d+) hits?$", "\n".join(lines), re.M))
    hits = {"work if $_thread == 1": 1, "work if $_thread != made + 1": 0}.get(condition, 40)
    assert told == {condition: str(hits), returned: "6"}, lines
    assert not [line for line in lines if "evaluated by" in line]


def test_where_it_stops(either, program):
    lines = either(program, "", "mtrace start", "mtrace trigger -stop work if $_thread == 6 && round == 15",
                   "run", "print made", "print $_thread", "thread", "delete", "continue")
    assert "$1 = 5" in lines and "$2 = 6" in lines, lines
    assert any(line.startswith("[Current thread is 6 ") for line in lines)
    assert not [line for line in lines if "evaluated by" in line]


@pytest.mark.parametrize("arguments", [[], ["again"]], ids=["", "exec"])
def test_on_the_command_line(run_mtdb, program, tmp_path, arguments):
    """As they are born, from 1 on in each program."""
    words = [word for text in HITS for word in ("-t", text)]
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "x.json", *words,
                    "-t", "-print $_thread work if made == 5 && round == 3", "--", program, *arguments)
    assert done.returncode == 0 and "evaluated by" not in done.stderr, done.stderr
    events = [event for event in json.loads((tmp_path / "x.json").read_text())["traceEvents"]
              if event["ph"] == "i" and event["name"] == "trigger"]
    hits = [sum(event["args"]["number"] == number for event in events)
            for number in range(1, len(HITS) + 1)]
    assert hits == list(HITS.values())
    assert re.findall(r"trigger 7, work, in thread \d+: (.*)", done.stderr) == ["$_thread = 6"]


def test_evaluated_by_stops(run_mtdb, program, tmp_path):
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "x.json", "-t",
                    'work if $_thread == 4 && round < 10 && $_streq("a", "a")', program)
    assert done.returncode == 0 and "evaluated by mtdb" in done.stderr, done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert len([event for event in events if event["ph"] == "i" and event["name"] == "trigger"]) == 10
