/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slices of a recording, as an iterator of Python's.  Little is kept of each; its object is
 * made when it is asked for. */
#ifndef MT_GDB_PLUGIN_SLICES_H
#define MT_GDB_PLUGIN_SLICES_H

#include "gdb-plugin/gdb/py.h"

#include "live/live.h"
#include "perf/recording.h"

/* mtrace.Slice */
struct mt_error *mt_slices_define(PyObject *module);
/* Which ones are wanted.  Of the others nothing is kept. */
struct mt_slices_filter {
	const char *function; /* as mt_function_matches() takes it; lent; NULL: all */
	pid_t thread;         /* 0: of all threads */
	uint64_t begin_ns;    /* they end then or later */
	uint64_t end_ns;      /* and begin before that; 0: whenever */
	uint64_t last;        /* so many of each thread; 0: all */
};
/* An iterator, by thread, and in the order of their begins.  NULL with an exception. */
PyObject *mt_slices_create(struct mt_recording *recording, const struct mt_slices_filter *filter);
/* A list of the last ones of what was recorded so far, of which no file is made.  NULL with an
 * exception: the errors of mt_live_history(). */
PyObject *mt_slices_history(const struct mt_live_history *what);

#endif
