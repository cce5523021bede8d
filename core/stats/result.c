/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats/result.h"

#include <string.h>

static const char *keep(struct mt_arena *texts, const char *text)
{
	return text ? mt_arena_text(texts, text, SIZE_MAX) : NULL;
}

const char *mt_stats_thread_label(struct mt_arena *texts, const struct mt_thread *thread)
{
	return thread->name ? mt_arena_format(texts, "%s (%d)", thread->name, thread->tid)
			    : mt_arena_format(texts, "thread %d", thread->tid);
}

static const char *process_label(struct mt_arena *texts, const struct mt_thread *thread)
{
	return thread->process ? mt_arena_format(texts, "%s (%d)", thread->process, thread->pid)
			       : mt_arena_format(texts, "process %d", thread->pid);
}

static const char *group_label(const struct mt_stats_entry *entry, enum mt_stats_by by,
			       struct mt_arena *texts)
{
	switch (by) {
	case MT_STATS_BY_THREAD:
		return mt_stats_thread_label(texts, entry->thread);
	case MT_STATS_BY_PROCESS:
		return process_label(texts, entry->thread);
	case MT_STATS_BY_CALLER:
		return entry->caller ? keep(texts, entry->caller->name) : "-";
	default:
		return NULL;
	}
}

static bool make_row(struct mt_stats_entry *entry, enum mt_stats_by by, struct mt_arena *texts,
		     struct mt_stats_row *out)
{
	const struct mt_function *function = entry->function;

	*out = (struct mt_stats_row){
	    .group = group_label(entry, by, texts),
	    .name = keep(texts, entry->name),
	    .category = entry->category,
	    .module = keep(texts, function ? function->module : ""),
	    .source = function ? function->source : (struct mt_source){0},
	    .calls = entry->calls,
	    .partial = entry->partial,
	    .total_ns = entry->total_ns,
	    .self_ns = entry->self_ns,
	    .waited_ns = entry->waited_ns,
	};
	out->source.file = keep(texts, out->source.file);
	return out->name && out->module && (out->group || by == MT_STATS_BY_FUNCTION) &&
	       (out->source.file || !function || !function->source.file);
}

static int compare_texts(const char *left, const char *right)
{
	return left == right ? 0 : !left ? -1 : !right ? 1 : strcmp(left, right);
}

static int compare(const void *a, const void *b)
{
	const struct mt_stats_row *left = a, *right = b;
	int order = compare_texts(left->group, right->group);

	order = order ? order : strcmp(left->name, right->name);
	order = order ? order : strcmp(left->category, right->category);
	order = order ? order : strcmp(left->module, right->module);
	order = order ? order : compare_texts(left->source.file, right->source.file);
	return order ? order
		     : (left->source.line > right->source.line) -
			   (left->source.line < right->source.line);
}

static int add(struct mt_stats_row *into, struct mt_stats_row *from)
{
	into->calls += from->calls;
	into->partial += from->partial;
	into->total_ns += from->total_ns;
	into->self_ns += from->self_ns;
	into->waited_ns += from->waited_ns;
	int failed = mt_histogram_merge(&into->durations, &from->durations);
	mt_histogram_deinit(&from->durations);
	return failed;
}

/* Each library is in another address space once for each process and each exec. */
static int join(mt_stats_rows *rows)
{
	size_t count = 0;
	int failed = 0;

	if (rows->count)
		qsort(rows->items, rows->count, sizeof(*rows->items), compare);
	for (size_t i = 0; i < rows->count; i++)
		if (count && compare(&rows->items[count - 1], &rows->items[i]) == 0)
			failed |= add(&rows->items[count - 1], &rows->items[i]);
		else
			rows->items[count++] = rows->items[i];
	rows->count = count;
	return failed;
}

struct mt_error *mt_stats_make_rows(struct mt_stats_table *table, enum mt_stats_by by,
				    bool is_wanted_alone, struct mt_arena *texts,
				    mt_stats_rows *out)
{
	for (size_t i = 0; i < table->size; i++) {
		struct mt_stats_entry *entry = table->slots[i];
		struct mt_stats_row row;

		if (!entry || (is_wanted_alone && !entry->is_wanted))
			continue;
		if (!make_row(entry, by, texts, &row) || mt_array_push(out, row))
			return mt_error_no_memory();
		mt_array_last(out)->durations = entry->durations;
		entry->durations = (struct mt_histogram){0};
	}
	return join(out) ? mt_error_no_memory() : NULL;
}

void mt_stats_rows_deinit(mt_stats_rows *rows)
{
	mt_array_each (row, rows)
		mt_histogram_deinit(&row->durations);
	mt_array_deinit(rows);
}
