/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a killed tracer of ours left in a process. */
#ifndef MT_ENGINE_CALLS_LEFT_H
#define MT_ENGINE_CALLS_LEFT_H

#include "engine/calls/state/types.h"

#include <limits.h>

enum mt_calls_left_kind {
	MT_CALLS_LEFT_CODE, /* trampolines, an agent, code for injected calls */
	MT_CALLS_LEFT_COPY, /* of a text, that was to take its place */
	MT_CALLS_LEFT_RINGS,
	MT_CALLS_LEFT_ALIVE, /* a directory */
};

struct mt_calls_left_range {
	uint64_t start, end; /* [start, end) */
	enum mt_calls_left_kind kind;
};

/* A text that leads there, and is not of the space's places. */
struct mt_calls_left_text {
	uint64_t start, end;
	char *path;
};

struct mt_calls_left {
	MT_ARRAY(struct mt_calls_left_range) ranges;
	MT_ARRAY(struct mt_calls_left_text) texts;
	MT_ARRAY(int) descriptors; /* the program's, that were not closed any more */
	bool is_whole;             /* else there may be more, that is not known of */
};

/* *out NULL: nothing was left.  The process may be running.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_left_find(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_left **out);
void mt_calls_left_destroy(struct mt_calls_left *left); /* NULL is fine */
/* Whether FD looks like one of ours: a memfd, or a file that was opened as we do. */
bool mt_calls_left_is_descriptor(pid_t pid, int fd, char path[PATH_MAX]);
/* LEFT NULL: it does not. */
bool mt_calls_left_holds(const struct mt_calls_left *left, enum mt_calls_left_kind kind,
			 uint64_t address);
static inline bool mt_calls_left_has_copy(const struct mt_calls_left *left, uint64_t address)
{
	return mt_calls_left_holds(left, MT_CALLS_LEFT_COPY, address);
}

#endif
