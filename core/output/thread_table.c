/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/thread_table.h"

#include <stdlib.h>

void *mt_thread_table_get(struct mt_thread_table *table, pid_t pid, pid_t tid, size_t size)
{
	struct mt_thread_key key = {.pid = pid, .tid = tid};
	struct mt_thread_entry *entry = NULL;

	/* The hash reads the key byte by byte, which the analyzer takes for garbage.
	 * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	HASH_FIND(hh, table->first, &key, sizeof(key), entry);
	if (entry)
		return entry;
	entry = calloc(1, size);
	if (!entry)
		return NULL;
	entry->key = key;
	HASH_ADD(hh, table->first, key, sizeof(key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NULL;
	}
	return entry;
}

void mt_thread_table_deinit(struct mt_thread_table *table)
{
	struct mt_thread_entry *entry, *next;

	HASH_ITER (hh, table->first, entry, next) {
		HASH_DEL(table->first, entry);
		free(entry);
	}
}
