/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trigger as users write it, on the command line and at prompts:
 *
 *	[OPTION]... LOCATION [return] [if CONDITION] [> TIME]
 *	[OPTION]... LOCATION..LOCATION > TIME [if CONDITION]
 *	[OPTION]... LOCATION after TIME [if CONDITION]
 *
 * LOCATION is what the front end takes, or `.`, the function by which a program asks for a
 * snapshot.  The second form is about the time from a thread's last coming to the first place to
 * its coming to the second, the third one about that from one coming to the next.  Options:
 *-return, -slower TIME and -between TIME, which say the same as `return`, `> TIME` and `after
 *TIME`; -ignore COUNT, -every COUNT, -rate COUNT/s and -max COUNT; -print EXPRESSION; a debugger's
 *are -stop and -pending. */
#ifndef MT_SESSION_SPEC_TRIGGER_H
#define MT_SESSION_SPEC_TRIGGER_H

#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "engine/engine.h"

/* magic-trace's name for a function by which a program asks for a snapshot. */
#define MT_TRIGGER_INDICATOR "magic_trace_stop_indicator"

/* Zeroed storage can be deinited. */
struct mt_trigger_spec {
	char *location;
	char *condition;    /* NULL: none */
	uint64_t slower_ns; /* hit by calls that take longer; 0: by all that come there */
	bool at_return;     /* not when they come, but when they return */
	/* Not 0: a span, hit when more than that has passed since the thread came to `begin`; NULL:
	 * when at least that has passed since it came to `location` itself. */
	uint64_t span_ns;
	char *begin;
	struct mt_engine_limits limits;
	uint64_t most;                /* snapshots; 0: no limit */
	MT_ARRAY(char *) expressions; /* that are printed */
	bool stops;                   /* a debugger's: the program */
	bool is_pending;              /* a debugger's: it may wait for a library */
};

/* Errors: USAGE (with the text, unless FOR_DEBUGGER); NO_MEMORY. */
struct mt_error *mt_trigger_spec_parse(const char *text, bool for_debugger,
				       struct mt_trigger_spec *out);
/* $_duration occurs in it. */
bool mt_trigger_wants_duration(const struct mt_trigger_spec *spec);
/* What that means to an engine: at its beginning, or at the other place. */
enum mt_engine_span mt_trigger_span(const struct mt_trigger_spec *spec, bool is_begin);
/* Hits take more than that. */
uint64_t mt_trigger_span_ns(const struct mt_trigger_spec *spec);
/* Appends "foo return if $_ret < 0 > 5ms": LOCATION and what follows. */
void mt_trigger_spec_describe(const struct mt_trigger_spec *spec, struct mt_str *out);
void mt_trigger_spec_deinit(struct mt_trigger_spec *spec);

/* Hits of a trigger whose limits the program does not keep itself. */
struct mt_trigger_count {
	uint64_t hits;
	uint64_t next_ns; /* not before that */
};
/* One more, at NOW_NS: whether LIMITS let it count. */
bool mt_trigger_counts(const struct mt_engine_limits *limits, struct mt_trigger_count *count,
		       uint64_t now_ns);
/* Appends ", after 3 hits, one of 10, 0.5 s apart at least"; nothing where there are none. */
void mt_trigger_describe_limits(const struct mt_engine_limits *limits, struct mt_str *out);

#endif
