/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record that a format keeps of each thread, by process and thread id, in the order in which
 *the threads were first seen.  A format's own record begins with the entry:
 *
 *	struct my_thread {
 *		struct mt_thread_entry entry;
 *		…
 *	};
 *	struct my_thread *thread = mt_thread_table_get(&table, pid, tid, sizeof(*thread));
 *
 * Zeroed storage is an empty table. */
#ifndef MT_OUTPUT_THREAD_TABLE_H
#define MT_OUTPUT_THREAD_TABLE_H

#include <stddef.h>
#include <sys/types.h>
#include <uthash.h>

struct mt_thread_key {
	pid_t pid;
	pid_t tid;
};

struct mt_thread_entry {
	struct mt_thread_key key;
	UT_hash_handle hh;
};

struct mt_thread_table {
	struct mt_thread_entry *first;
};

/* The record of a thread: made, zeroed behind its entry, when it is new.  NULL without memory. */
void *mt_thread_table_get(struct mt_thread_table *table, pid_t pid, pid_t tid, size_t size);
void mt_thread_table_deinit(struct mt_thread_table *table);

#define mt_thread_table_next(entry) ((struct mt_thread_entry *)(entry)->hh.next)

#endif
