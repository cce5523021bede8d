/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How each signal is handled; the defaults are GDB's. */
#include "private.h"

/* Signals of normal operation. */
static const int quiet[] = {SIGALRM, SIGURG,  SIGIO,    SIGVTALRM,
			    SIGPROF, SIGCHLD, SIGWINCH, 32 /* NPTL's SIGCANCEL */,
			    33 /* its SIGSETXID */};

void mt_debug_signals_init(struct mt_debugger *debugger)
{
	for (size_t i = 0; i < MT_DEBUG_SIGNALS; i++)
		debugger->handling[i] = (struct mt_debug_handling){true, true, true};
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		debugger->handling[quiet[i]] = (struct mt_debug_handling){false, false, true};
	debugger->handling[SIGTRAP].pass = false;
	debugger->handling[SIGINT].pass = false;
}

const struct mt_debug_handling *mt_debug_handling_of(const struct mt_debugger *debugger, int signal)
{
	return &debugger->handling[signal > 0 && signal < MT_DEBUG_SIGNALS ? signal : 0];
}

struct mt_debug_handling mt_debugger_handling(const struct mt_debugger *debugger, int signal)
{
	return *mt_debug_handling_of(debugger, signal);
}

void mt_debugger_handle(struct mt_debugger *debugger, int signal, struct mt_debug_handling handling)
{
	if (signal > 0 && signal < MT_DEBUG_SIGNALS)
		debugger->handling[signal] = handling;
}
