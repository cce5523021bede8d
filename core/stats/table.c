/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Open addressing, half full at the most. */
#include "stats/table.h"

#include "base/hash.h"

#include <string.h>

#define FIRST_SIZE 256

static uint64_t hash_of(uint64_t group, const struct mt_function *function, const char *name)
{
	uint64_t sum = function ? function->id + 1u : mt_hash(0, name, strlen(name));

	sum = (sum ^ group * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
	return sum ^ sum >> 32;
}

static bool is_same(const struct mt_stats_entry *entry, uint64_t group,
		    const struct mt_function *function, const char *name)
{
	return entry->group == group && entry->function == function &&
	       (function || strcmp(entry->name, name) == 0);
}

static bool grow(struct mt_stats_table *table)
{
	const size_t size = table->size ? table->size * 2 : FIRST_SIZE;
	struct mt_stats_entry **slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < table->size; i++) {
		struct mt_stats_entry *entry = table->slots[i];
		size_t at = entry ? hash_of(entry->group, entry->function, entry->name) : 0;

		while (entry && slots[at & (size - 1)])
			at++;
		if (entry)
			slots[at & (size - 1)] = entry;
	}
	free(table->slots);
	table->slots = slots;
	table->size = size;
	return true;
}

struct mt_stats_entry *mt_stats_table_get(struct mt_stats_table *table, uint64_t group,
					  const struct mt_function *function, const char *name,
					  bool *is_new)
{
	*is_new = false;
	if (table->count * 2 >= table->size && !grow(table))
		return NULL;
	size_t at = hash_of(group, function, name);
	while (table->slots[at & (table->size - 1)]) {
		if (is_same(table->slots[at & (table->size - 1)], group, function, name))
			return table->slots[at & (table->size - 1)];
		at++;
	}
	struct mt_stats_entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->group = group;
	entry->function = function;
	entry->name = function ? function->name : name;
	table->slots[at & (table->size - 1)] = entry;
	table->count++;
	*is_new = true;
	return entry;
}

void mt_stats_table_deinit(struct mt_stats_table *table)
{
	for (size_t i = 0; i < table->size; i++) {
		if (table->slots[i])
			mt_histogram_deinit(&table->slots[i]->durations);
		free(table->slots[i]);
	}
	free(table->slots);
	*table = (struct mt_stats_table){0};
}
