# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a program waiting for us, seen by mtdb's own system calls: how often a thread is
stopped, how soon mtdb looks for one that waits, and what it does before that goes on."""
import re
import shutil
import statistics
import subprocess

import pytest

LOADS = """
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""
HITS = """
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) void work(int n) { sum += n; }
__attribute__((noipa)) void hit(void) { sum++; }
int main(int argc, char **argv)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	if (argc > 1)
		sigprocmask(SIG_BLOCK, &set, NULL);
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 50000; i++)
		work(i);
	if (argc == 1)
		hit();
	else if (getchar() != EOF)
		hit();
	return 0;
}
"""
SLEEPS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *rest(void *unused)
{
	for (;;)
		pause();
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	for (int i = argc < 2 ? 0 : atoi(argv[1]); i > 0; i--)
		if (pthread_create(&thread, NULL, rest, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	rest(NULL);
}
"""
# Some threads, alive for several looks of the tracer.
THREADS_THAT_WAIT = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *rest(void *unused)
{
	usleep(300000);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	for (int i = atoi(argv[argc - 1]); i > 0; i--)
		if (pthread_create(&thread, NULL, rest, NULL))
			return 1;
	rest(NULL);
	return 0;
}
"""
LIBRARIES = 30


@pytest.fixture(name="calls_of")
def traced(need, mtdb, tmp_path):
    """The lines of strace, of these calls of mtdb's own."""
    def run(names, *words):
        with subprocess.Popen([need("strace"), "-o", tmp_path / "calls", "-e", "signal=none", "-e", f"trace={names}",
                               mtdb, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            _, messages = process.communicate(timeout=120)
            assert process.returncode == 0, messages
        return (tmp_path / "calls").read_text().splitlines()

    return run


def write(tmp_path, text):
    (tmp_path / "program.c").write_text(text)
    return tmp_path / "program.c"


def attach_to(words, calls_of, tmp_path):
    """The ptrace(2) calls of an attach for a moment, to what says that it is ready."""
    with subprocess.Popen(words, text=True, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            return calls_of("ptrace", "attach", "-e", "calls", "--for=10ms", "-o", tmp_path / "out.json",
                            str(child.pid))
        finally:
            child.kill()


def test_libraries_take_no_stops_of_their_own(compile, calls_of, tmp_path):
    """Memory for the trampolines of all of them is mapped by one list of calls."""
    (tmp_path / "part.c").write_text("int part(int n) { return n + 1; }\nint other(int n) { return part(n) * 2; }\n")
    library = compile(tmp_path / "part.c", "-O1", "-shared", "-fPIC")
    copies = [shutil.copy(library, tmp_path / f"part{i}.so") for i in range(LIBRARIES)]
    program = compile(write(tmp_path, LOADS), "-O1")

    def stops(*libraries):
        lines = attach_to([program, *libraries], calls_of, tmp_path)
        return sum("PTRACE_SYSCALL," in line for line in lines)

    # Two lines for each call that is made by itself: as it is left, one for each room, and one for
    # each text that was moved aside.
    assert stops(*copies) - stops() < 5 * LIBRARIES


def test_many_threads_are_not_stopped_more_often_than_few(compile, calls_of, tmp_path):
    """As it is left: the memory of their rings grows with them, and so does what one stop takes."""
    program = compile(write(tmp_path, SLEEPS), "-O1", "-pthread")

    def stops_of_one(threads):
        lines = attach_to([program, str(threads - 1)], calls_of, tmp_path)
        return sum("PTRACE_INTERRUPT" in line for line in lines) / threads

    few, many = stops_of_one(16), stops_of_one(160)
    assert many < few * 1.2, (few, many)


def test_who_blocks_the_signal_is_looked_for_more_often(compile, calls_of, tmp_path):
    """A thread that has SIGURG blocked waits in a stub until mtdb looks."""
    program = compile(write(tmp_path, HITS), "-O1")

    with subprocess.Popen([program, "waits"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            lines = calls_of("rt_sigtimedwait", "attach", "-e", "calls", "-t", "hit", "--for=500ms", "-o",
                             tmp_path / "out.json", str(child.pid))
        finally:
            child.kill()
    found = [re.search(r"tv_sec=0, tv_nsec=(\d+)", line) for line in lines]
    assert statistics.median(int(one[1]) for one in found if one) <= 1000000


def test_a_hit_thread_goes_on_before_its_snapshot_is_written(compile, calls_of, tmp_path):
    program = compile(write(tmp_path, HITS), "-O1")
    words = ["run", "-e", "calls", "-s", "1M", "-t", "hit", "-o", tmp_path / "out.json", program]
    calls_of("ptrace", *words)  # what it keeps of the program's files is written before the next one
    lines = calls_of("ptrace,write", *words)
    sizes, last = [], None
    for line in lines:
        size = re.match(r"write\(\d+, .* = (\d+)$", line)
        if not size:
            if sum(sizes) > 100000:
                break
            sizes, last = [], line
        else:
            sizes.append(int(size[1]))
    assert sum(sizes) > 100000 and last.startswith("ptrace(PTRACE_CONT"), last


@pytest.mark.parametrize("threads", [0, 2])
def test_rings_are_made_ready_for_threads_to_come(threads, compile, calls_of, tmp_path):
    """One that is alone has its own."""
    program = compile(write(tmp_path, THREADS_THAT_WAIT), "-O1", "-pthread")
    made = [line.split(" = ")[-1] for line in calls_of("madvise", "run", "-e", "calls", "-s", "64k", "-o",
                                                       tmp_path / "out.json", program, str(threads))
            if "WRITE" in line or "0x17" in line]
    assert set(made) == ({"0"} if threads else set())
