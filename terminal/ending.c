/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "terminal/ending.h"

#include "base/outfile.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define REPEAT_S 1

/* Those that a program causes by what it executes. */
static const int crashes[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
/* Others; the realtime signals are added to them. */
static const int others[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1,   SIGUSR2,
			     SIGPIPE, SIGALRM, SIGTERM, SIGSTKFLT, SIGXCPU,
			     SIGXFSZ, SIGPROF, SIGIO,   SIGPWR,    SIGVTALRM};
/* Handled even if they were ignored: Ctrl-C in a background job that was given a terminal later,
 * and what a write of ours causes, which is an error of that write. */
static const int always[] = {SIGINT, SIGPIPE, SIGXFSZ};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct sigaction before[_NSIG];
static bool is_handled[_NSIG];
static volatile sig_atomic_t holds;
static volatile sig_atomic_t receiver;
static volatile sig_atomic_t requested;
static volatile sig_atomic_t first;
static volatile sig_atomic_t interrupts;
static volatile sig_atomic_t passed; /* SIGTERMs */
static volatile sig_atomic_t offers_snapshots, snapshot_requested;

static bool contains(const int *numbers, size_t count, int number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* To somebody who asks again.  Within a handler: see signal-safety(7). */
static void tell_receiver(unsigned pid)
{
	static const char before_pid[] = "mtdb: SIGTERM was passed on, and process ",
			  between[] = " goes on: \"kill -KILL ",
			  behind_pid[] = "\" ends it, and its last calls are written\n";
	char digits[16], text[160], *end = text;
	const int error = errno;
	size_t count = 0;

	for (; pid; pid /= 10)
		digits[count++] = (char)('0' + pid % 10);
	end = mempcpy(end, before_pid, sizeof(before_pid) - 1);
	for (size_t i = count; i-- > 0;)
		*end++ = digits[i];
	end = mempcpy(end, between, sizeof(between) - 1);
	for (size_t i = count; i-- > 0;)
		*end++ = digits[i];
	end = mempcpy(end, behind_pid, sizeof(behind_pid) - 1);
	if (write(STDERR_FILENO, text, (size_t)(end - text)) < 0)
		errno = error;
}

static void note(int number, const siginfo_t *info)
{
	bool is_of_terminal = info->si_code == SI_KERNEL &&
			      (number == SIGINT || number == SIGQUIT || number == SIGHUP);

	if (receiver && !is_of_terminal)
		kill((pid_t)receiver, number);
	if (receiver && number == SIGTERM && passed++)
		tell_receiver((unsigned)receiver);
	if (receiver && number != SIGINT)
		return;
	requested = 1;
	if (!first && !receiver)
		first = number;
	if (!receiver)
		alarm(REPEAT_S);
}

static void end_at_once(int number)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	mt_outfile_remove_unfinished();
	sigaction(number, &action, NULL);
	raise(number); /* delivered when the handler returns */
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	bool is_own = info->si_code <= 0 && info->si_pid == getpid();

	(void)context;
	if (contains(crashes, COUNT(crashes), number) && (info->si_code > 0 || is_own)) {
		sigaction(number, &before[number], NULL); /* it comes again */
		return;
	}
	if (is_own && (number == SIGPIPE || number == SIGXFSZ))
		return; /* of a write, which fails */
	/* Ours; readline passes it on as its own. */
	if (number == SIGALRM && (info->si_code == SI_KERNEL || is_own) && first) {
		if (requested)
			alarm(REPEAT_S);
		return;
	}
	if (number == SIGUSR1 && offers_snapshots)
		snapshot_requested = 1;
	else if (holds)
		note(number, info);
	else if (number != SIGINT || interrupts++)
		end_at_once(number);
}

static void handle(int number)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	sigaction(number, NULL, &before[number]);
	if (before[number].sa_handler != SIG_DFL && !contains(always, COUNT(always), number))
		return; /* nohup's; a sanitizer's */
	sigaction(number, &action, NULL);
	is_handled[number] = true;
}

void ending_init(void)
{
	sigset_t set;

	ending_fill(&set);
	for (int number = 1; number < _NSIG; number++)
		if (sigismember(&set, number) == 1)
			handle(number);
}

void ending_restore(void)
{
	for (int number = 1; number < _NSIG; number++)
		if (is_handled[number])
			sigaction(number, &before[number], NULL);
}

void ending_fill(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < COUNT(crashes); i++)
		sigaddset(set, crashes[i]);
	for (size_t i = 0; i < COUNT(others); i++)
		sigaddset(set, others[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		sigaddset(set, number);
}

void ending_hold(void)
{
	/* Asked for before there was a process to let go. */
	if (!holds++ && interrupts) {
		interrupts = 0;
		requested = 1;
	}
}

void ending_release(void)
{
	if (--holds)
		return;
	receiver = 0;
	requested = 0;
}

void ending_pass_to(pid_t pid)
{
	receiver = pid;
	passed = 0;
}

void ending_offer_snapshots(void)
{
	offers_snapshots = 1;
}

bool ending_snapshot_is_requested(void)
{
	return snapshot_requested;
}

bool ending_take_snapshot_request(void)
{
	bool was = snapshot_requested;

	snapshot_requested = 0;
	return was;
}

int ending_signal(void)
{
	return first;
}

bool ending_is_requested(void)
{
	return requested;
}

bool ending_take_request(void)
{
	bool was = requested;

	requested = 0;
	return was;
}

bool ending_interrupts(void)
{
	return interrupts || (requested && !receiver);
}
