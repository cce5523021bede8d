# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions about thread-local variables of libraries, which the program evaluates itself."""
import json

import pytest

import as_gdb

LIBRARY = """
__thread long shared = 40;
static __thread int first = 3, second = 4;
long *where(void) { return &shared; }
__attribute__((noinline)) long touch(long by) { shared += by; first += (int)by; second -= (int)by; return shared + first + second; }
"""

# ARGV[1]: a library that is loaded when threads are there already, of which the second one never touches it.
PROGRAM = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
extern long touch(long by) __attribute__((weak));
static long (*touching)(long);
static pthread_barrier_t barrier;
static volatile long sink;

__attribute__((noinline)) void visit(long thread, long round) { sink += thread + round; }
__attribute__((noinline)) void ready(void) { sink++; }

static void *run(void *thread)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (long round = 0; round < 10; round++) {
		if ((long)thread != 2)
			touching((long)thread + 1);
		visit((long)thread, round);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	pthread_barrier_init(&barrier, 0, 4);
	for (long i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, run, (void *)i);
	pthread_barrier_wait(&barrier);
	touching = argc > 1 ? (long (*)(long))dlsym(dlopen(argv[1], RTLD_NOW), "touch") : touch;
	ready();
	pthread_barrier_wait(&barrier);
	for (long i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return 0;
}
"""

# With touch(1) ten times in the first thread, and touch(2) in the second one.
CONDITIONS = {"shared == 45": 1, "shared == 40": 10, "first == 23": 1, "second < 0": 14,
              "thread == 0 && first + second == 7": 10, "&shared != 0 && *&shared > 55": 3}


@pytest.fixture(name="pair")
def pair_fixture(compile, tmp_path):
    def build(level, *flags, linked=True, compiler="gcc"):
        for name, text in (("tls_library.c", LIBRARY), ("tls_program.c", PROGRAM)):
            (tmp_path / name).write_text(text)
        library = compile(tmp_path / "tls_library.c", level, "-shared", "-fPIC", *flags,
                          output="tls_library.so", compiler=compiler)
        return compile(tmp_path / "tls_program.c", level, "-pthread", *(["-Wl,--no-as-needed", library] if linked else []),
                       compiler=compiler), library
    return build


def hits_of(run_mtdb, tmp_path, conditions, *command):
    words = [word for text in conditions for word in ("-t", f"visit if {text}")]
    done = run_mtdb("run", "--engine=calls", "-o", tmp_path / "x.json", *words, "--", *command)
    assert done.returncode == 0, done.stderr
    events = [event for event in json.loads((tmp_path / "x.json").read_text())["traceEvents"]
              if event["ph"] == "i" and event["name"] == "trigger"]
    return {text: sum(event["args"]["number"] == number for event in events)
            for number, text in enumerate(conditions, 1)}, done.stderr


@pytest.mark.parametrize("compiler, level, flags", [
    ("gcc", "-O0", ()), ("gcc", "-O2", ()), ("clang", "-O2", ()), ("gcc", "-O2", ("-ftls-model=initial-exec",)),
    ("musl-gcc", "-O1", ())], ids=str)
def test_loaded_at_the_start(run_mtdb, need, pair, tmp_path, compiler, level, flags):
    need(compiler, "musl-tools")
    program, _ = pair(level, *flags, compiler=compiler)
    hits, said = hits_of(run_mtdb, tmp_path, CONDITIONS, program)
    assert hits == CONDITIONS and "evaluated" not in said, said


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_as_gdb_has_them(run_mtdb, pair, tmp_path, level):
    program, _ = pair(level)
    said, _ = as_gdb.compare(run_mtdb, program, "visit", list(CONDITIONS), tmp_path)
    assert "evaluated by mtdb" not in said


def test_threads_that_have_none_yet(either, pair):
    """A library that came later: nothing is allocated for a thread before it asks for it."""
    program, library = pair("-O1", linked=False)
    lines = either(program, library, "mtrace start", "break ready", "run", "delete", "mtrace trigger visit if shared > 0",
                   "mtrace trigger visit return if shared == 45", "continue", "mtrace info")
    assert any(line.startswith("Trigger 1: visit if shared > 0: ") for line in lines)
    assert "  could not be evaluated 10 times: the thread has no copy yet of thread-local variables of a library" in lines, lines
    assert not [line for line in lines if "evaluated by" in line]
