/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals that come to mtdb while a launched program runs.
 *
 * What the terminal sends (Ctrl-C, Ctrl-\, a hangup) reaches the whole foreground group, the
 * program too: mtdb only takes note.  What somebody sends to mtdb alone is meant for the program
 * that it stands for, and passed on.  Either way mtdb outlives it and writes the history. */
#include "ptrace/lwp.h"
#include "terminal/terminal.h"

#include <unistd.h>

static const int forwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define FORWARDED_COUNT (sizeof(forwarded) / sizeof(forwarded[0]))

static struct sigaction before[FORWARDED_COUNT];
#define NOBODY (-1)
static volatile sig_atomic_t receiver;
static volatile sig_atomic_t requested;

static void forward(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != SI_KERNEL && receiver > 0)
		kill((pid_t)receiver, number);
	if (number == SIGINT || receiver == NOBODY)
		requested = 1;
}

static void begin(pid_t pid)
{
	struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO};

	if (receiver)
		return;
	receiver = pid;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < FORWARDED_COUNT; i++) {
		sigaction(forwarded[i], NULL, &before[i]);
		/* Under nohup SIGHUP stays ignored, as it is for the program. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(forwarded[i], &action, NULL);
	}
}

void mt_ptrace_forward_begin(pid_t pid)
{
	begin(pid);
}

void mt_ptrace_forward_none(void)
{
	begin(NOBODY);
	/* Asked for before there was a process to let go. */
	if (terminal_take_interrupt())
		requested = 1;
}

void mt_ptrace_forward_end(pid_t pid)
{
	if (!receiver || (pid && pid != receiver))
		return;
	receiver = 0;
	requested = 0;
	for (size_t i = 0; i < FORWARDED_COUNT; i++)
		sigaction(forwarded[i], &before[i], NULL);
}

bool mt_ptrace_forward_requested(void)
{
	return requested;
}

bool mt_ptrace_forward_take_request(void)
{
	bool was = requested;

	if (was)
		requested = 0;
	return was;
}
