/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of things.  Signals have the numbers of Linux on x86-64, whatever machine reads the
 * recording: signal(7). */
#include "trace/event.h"
#include "trace/slice.h"
#include "trace/symbolizer.h"

/* One list for both: a gap's cause, and the name of the slice that shows it. */
#define GAP_CAUSES(X)                                                                              \
	X(MT_GAP_OVERFLOW, "the processor's trace buffer overflowed")                              \
	X(MT_GAP_AUX_LOST, "the trace ring was full")                                              \
	X(MT_GAP_NO_CODE, "no code known at this address")                                         \
	X(MT_GAP_BAD_TRACE, "the trace is inconsistent here")                                      \
	X(MT_GAP_EVENTS_LOST, "the kernel dropped events")                                         \
	X(MT_GAP_COLLISION, "another tracer used the hardware")                                    \
	X(MT_GAP_PARTIAL, "the trace is only partial")                                             \
	X(MT_GAP_UNWRITTEN, "the recorder was asked to end")

#define CAUSE_TEXT(cause, text) [cause] = text,
#define CAUSE_NAME(cause, text) [cause] = "[lost: " text "]",

const char *mt_gap_cause_text(enum mt_gap_cause cause)
{
	static const char *const texts[MT_GAP_CAUSES] = {GAP_CAUSES(CAUSE_TEXT)};

	return (unsigned)cause < MT_GAP_CAUSES ? texts[cause] : "data was lost";
}

static const char *gap_name(enum mt_gap_cause cause)
{
	static const char *const names[MT_GAP_CAUSES] = {GAP_CAUSES(CAUSE_NAME)};

	return (unsigned)cause < MT_GAP_CAUSES ? names[cause] : "[lost]";
}

const char *mt_slice_name(const struct mt_slice *slice)
{
	switch (slice->kind) {
	case MT_SLICE_SYSCALL:
		return "[syscall]";
	case MT_SLICE_UNTRACED:
		return "[untraced]";
	case MT_SLICE_GAP:
		return gap_name(slice->cause);
	case MT_SLICE_SIDE:
		return slice->side->name;
	default:
		return slice->function ? slice->function->name : "[unknown]";
	}
}

const char *mt_signal_name(uint32_t number)
{
	static const char *const names[] = {
	    "signal 0",    "SIGHUP",      "SIGINT",      "SIGQUIT",     "SIGILL",
	    "SIGTRAP",     "SIGABRT",     "SIGBUS",      "SIGFPE",      "SIGKILL",
	    "SIGUSR1",     "SIGSEGV",     "SIGUSR2",     "SIGPIPE",     "SIGALRM",
	    "SIGTERM",     "SIGSTKFLT",   "SIGCHLD",     "SIGCONT",     "SIGSTOP",
	    "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGXCPU",
	    "SIGXFSZ",     "SIGVTALRM",   "SIGPROF",     "SIGWINCH",    "SIGIO",
	    "SIGPWR",      "SIGSYS",      "signal 32",   "signal 33",   "SIGRTMIN",
	    "SIGRTMIN+1",  "SIGRTMIN+2",  "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",
	    "SIGRTMIN+6",  "SIGRTMIN+7",  "SIGRTMIN+8",  "SIGRTMIN+9",  "SIGRTMIN+10",
	    "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15",
	    "SIGRTMAX-14", "SIGRTMAX-13", "SIGRTMAX-12", "SIGRTMAX-11", "SIGRTMAX-10",
	    "SIGRTMAX-9",  "SIGRTMAX-8",  "SIGRTMAX-7",  "SIGRTMAX-6",  "SIGRTMAX-5",
	    "SIGRTMAX-4",  "SIGRTMAX-3",  "SIGRTMAX-2",  "SIGRTMAX-1",  "SIGRTMAX",
	};

	return number < sizeof(names) / sizeof(names[0]) ? names[number] : "unknown signal";
}

static const struct mt_function *nothing_at(void *context, uint64_t address)
{
	static const struct mt_function unknown = {
	    .kind = MT_FUNCTION_UNKNOWN,
	    .name = "[unknown]",
	    .module = "",
	    .end = UINT64_MAX,
	};

	(void)context;
	(void)address;
	return &unknown;
}

const struct mt_symbolizer mt_symbolizer_without_names = {.function_at = nothing_at};
