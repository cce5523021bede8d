# SPDX-License-Identifier: GPL-3.0-or-later
"""Handlers that return to where a patch would stand by then."""
import re

import pytest


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_signals_while_the_text_is_pristine(gdb, compile, level):
    """Stepping, in the program's own text, is interrupted anywhere; the patches come back while the
    handler still runs."""
    program = compile("debugged_alarms.c", level)
    steps = ["break handler"]
    for i in range(60):
        steps += ["disable 2", "tbreak branch", "continue", f"stepi {i % 23 + 1}",
                  "shell sleep 0.003", "enable 2", "stepi", "bt 3"]
    steps += ["delete", "continue"]
    session = gdb(program, "handle SIGALRM nostop noprint pass", "mtrace start", "tbreak branch",
                  "run", *steps, timeout=300)
    assert "right" in session.lines, session.all[-2000:]
    assert "exited normally" in session.output
    assert session.output.count("Breakpoint 2, handler") > 30


def test_a_copy_that_a_signal_interrupted(gdb, compile):
    """The handler is not stopped for its signal, but by a breakpoint: the backtrace from there leads
    through what the signal interrupted, which is the program's own text; steps come back to it, and
    each call is recorded once."""
    program = compile("interrupted_copy.c", "-O1")
    asked = ["handle SIGALRM nostop noprint pass", "break look", "run", "bt", "frame 3", "x/2i $pc",
             "finish", "finish", "stepi", "stepi", "info symbol $pc", "stepi", "bt", "delete", "continue"]
    plain = gdb(program, *asked, loaded=False)
    session = gdb(program, "mtrace start -size 16M", *asked, "mtrace history 100000 fill")
    told, history = (re.sub(r"process \d+", "process N", text)
                     for text in session.output.partition("exited normally]\n")[::2])
    without = re.sub(r"process \d+", "process N", plain.output.partition("exited normally]\n")[0])
    calls = re.compile(r"^(\d+) calls$", re.M)
    assert calls.sub("", told).partition("\n")[2] == calls.sub("", without)
    assert "#3  0x" in told and " in fill () from" not in told and "in fill ()" in told
    assert len(re.findall(r" fill\b", history)) == int(calls.search(told)[1])


TELLING = """
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;

__attribute__((noipa)) int leaf(int n) { return n + 1; }

static void on_fault(int signal, siginfo_t *info, void *context)
{
	printf("fault %d at %ld\\n", info->si_code, (long)((char *)info->si_addr - page));
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void on_queued(int signal, siginfo_t *info, void *context)
{
	printf("queued %d, value %d\\n", info->si_code, info->si_value.sival_int);
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	setvbuf(stdout, 0, _IONBF, 0);
	sigaction(SIGSEGV, &action, 0);
	action.sa_sigaction = on_queued;
	sigaction(SIGUSR1, &action, 0);
	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page[7] = leaf(1);
	sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = leaf(41)});
	return 0;
}
"""


@pytest.mark.parametrize("first, then", [([], "mtrace start"), (["mtrace start"], "mtrace stop"),
                                         (["mtrace start"], "mtrace values leaf n")])
def test_a_handler_is_told_what_it_would_be(either, compile, tmp_path, first, then):
    """Although the thread made system calls for us while it stood at the signal."""
    source = tmp_path / "telling.c"
    source.write_text(TELLING)
    lines = either(compile(source, "-O1"), "", *first, "run", then, "continue", "mtrace values leaf n", "continue")
    assert "fault 2 at 7" in lines and "queued -1, value 42" in lines, lines


PENDING = """
#include <signal.h>
#include <stdio.h>
#include <pthread.h>
#include <unistd.h>

__attribute__((noipa)) int leaf(int n) { return n + 1; }

int main(void)
{
	static const int numbers[] = {SIGURG, SIGWINCH};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < 2; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 2; i++)
		pthread_sigqueue(pthread_self(), numbers[i], (union sigval){.sival_int = 42 + i});
	leaf(1);
	for (int i = 0; i < 2; i++) {
		int got = sigtimedwait(&set, &info, &(struct timespec){0});

		printf("got %d, value %d\\n", got, got < 0 ? 0 : info.si_value.sival_int);
	}
	return 0;
}
"""


def test_signals_that_wait_for_the_thread_are_its_own(either, compile, tmp_path):
    """The one that a thread is stopped with for us is another one."""
    source = tmp_path / "pending.c"
    source.write_text(PENDING)
    lines = either(compile(source, "-O1", "-pthread", "-D_GNU_SOURCE"), "", "break leaf", "run",
                   "mtrace start", "mtrace values leaf n", "mtrace stop", "continue")
    assert "got 28, value 43" in lines and "got 23, value 42" in lines, lines
