/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/diff.h"

#include "base/utf8.h"
#include "output/text_line.h"
#include "query/line.h"
#include "query/parting.h"

#include <string.h>

#define CONTEXT      6u /* calls before, and behind */
#define NAME_BYTES   4096
#define INDENT       2
#define DEEPEST      30u
#define CELL_COLUMNS 11
#define NO_THREAD    SIZE_MAX
/* Runs that part so often have nothing to do with each other. */
#define MOST_PARTINGS 1000u

/* ---- Calls ---- */

static void put_item(const struct mt_diff *diff, char mark, struct mt_call_item item,
		     struct mt_str *out)
{
	const uint32_t depth = mt_call_depth(item);

	mt_str_appendf(out, "%c %*s", mark, (int)(depth > DEEPEST ? DEEPEST : depth) * INDENT, "");
	mt_utf8_append_shown(out, mt_call_name(diff->names, item.name), NAME_BYTES);
	mt_str_append(out, "\n");
}

/* The callers of the call at INDEX, and the last calls before it. */
static struct mt_error *put_before(const struct mt_diff *diff, struct mt_call_reader *reader,
				   uint64_t index, uint32_t depth, struct mt_str *out)
{
	MT_ARRAY(struct mt_call_item) above = {0};
	const uint64_t first = index > CONTEXT ? index - CONTEXT : 0;
	struct mt_call_item item;
	struct mt_error *error = NULL;

	for (uint64_t at = first; at < index && !error; at++) {
		error = mt_call_reader_get(reader, at, &item);
		if (!error && mt_call_depth(item) < depth)
			depth = mt_call_depth(item);
	}
	for (uint64_t at = first; at-- > 0 && depth && !error;) {
		error = mt_call_reader_get(reader, at, &item);
		if (error || mt_call_depth(item) >= depth)
			continue;
		depth = mt_call_depth(item);
		if (mt_array_push(&above, item))
			error = mt_error_no_memory();
	}
	for (size_t i = above.count; i-- > 0;)
		put_item(diff, ' ', above.items[i], out);
	for (uint64_t at = first; at < index && !error; at++) {
		error = mt_call_reader_get(reader, at, &item);
		if (!error)
			put_item(diff, ' ', item, out);
	}
	mt_array_deinit(&above);
	return error;
}

static struct mt_error *put_behind(const struct mt_diff *diff, struct mt_call_reader *reader,
				   uint64_t index, char mark, struct mt_str *out)
{
	const uint64_t count = reader->thread->count;
	struct mt_call_item item;

	for (uint64_t at = index; at < count && at < index + CONTEXT; at++) {
		mt_try(mt_call_reader_get(reader, at, &item));
		put_item(diff, mark, item, out);
	}
	if (index >= count)
		mt_str_appendf(out, "%c (no more calls)\n", mark);
	return NULL;
}

static void put_thread(const struct mt_diff *diff, const struct mt_call_log_thread *thread,
		       struct mt_str *out)
{
	mt_str_append(out, "thread ");
	mt_utf8_append_shown(out, mt_call_name(diff->names, thread->name), NAME_BYTES);
	mt_str_appendf(out, " (%d)", thread->tid);
}

static struct mt_error *put_parting(const struct mt_diff *diff, struct mt_call_reader readers[2],
				    const struct mt_parting *parting, struct mt_str *out)
{
	const unsigned longer = parting->at[0] < readers[0].thread->count ? 0 : 1;
	struct mt_call_item item = {0};

	mt_str_appendf(out, " at call %llu", (unsigned long long)parting->at[0] + 1);
	if (parting->at[0] != parting->at[1])
		mt_str_appendf(out, " (%llu in the second)",
			       (unsigned long long)parting->at[1] + 1);
	mt_str_append(out, "\n");
	if (parting->lost)
		mt_str_append(out, "Not all calls before it were recorded: it may be none "
				   "(--size=SIZE makes rings larger)\n");
	mt_try(mt_call_reader_get(&readers[longer], parting->at[longer], &item));
	mt_try(put_before(diff, &readers[longer], parting->at[longer], mt_call_depth(item), out));
	mt_try(put_behind(diff, &readers[0], parting->at[0], '-', out));
	return put_behind(diff, &readers[1], parting->at[1], '+', out);
}

static struct mt_error *put_partings(const struct mt_diff *diff, struct mt_call_reader readers[2],
				     struct mt_str *out, bool *differs)
{
	struct mt_parting parting = {0};
	size_t count = 0;

	put_thread(diff, readers[0].thread, out);
	for (;; count++) {
		mt_try(mt_parting_find(readers, &parting));
		if (mt_parting_is_end(readers, &parting) || count == MOST_PARTINGS)
			break;
		*differs = true;
		if (!diff->partings || count < diff->partings) {
			mt_str_append(out, count ? "They part again" : ": the runs part");
			mt_try(put_parting(diff, readers, &parting, out));
		}
		mt_try(mt_parting_pass(readers, &parting));
	}
	if (!count)
		mt_str_appendf(out, ": the same %llu calls%s\n", (unsigned long long)parting.at[0],
			       parting.lost ? ", as far as they were recorded" : "");
	else if (diff->partings && count > diff->partings)
		mt_str_appendf(out, "They part %s%zu time%s more\n",
			       count == MOST_PARTINGS ? "at least " : "", count - diff->partings,
			       count - diff->partings == 1 ? "" : "s");
	return NULL;
}

/* The thread of the other log of the same name, and as far from the first of them. */
static size_t counterpart(const struct mt_call_log *log, const struct mt_call_log *other,
			  size_t index)
{
	const uint32_t name = mt_call_log_thread(log, index)->name;
	size_t before = 0;

	for (size_t i = 0; i < index; i++)
		before += mt_call_log_thread(log, i)->name == name;
	for (size_t i = 0; i < mt_call_log_threads(other); i++)
		if (mt_call_log_thread(other, i)->name == name && !before--)
			return i;
	return NO_THREAD;
}

static struct mt_error *compare_thread(const struct mt_diff *diff, size_t index, struct mt_str *out,
				       bool *differs)
{
	const size_t other = counterpart(diff->logs[0], diff->logs[1], index);
	struct mt_call_reader readers[2] = {
	    {.log = diff->logs[0], .thread = mt_call_log_thread(diff->logs[0], index)},
	    {.log = diff->logs[1]}};

	if (other == NO_THREAD) {
		*differs = true;
		put_thread(diff, readers[0].thread, out);
		mt_str_append(out, ": only in the first\n");
		return NULL;
	}
	readers[1].thread = mt_call_log_thread(diff->logs[1], other);
	struct mt_error *error = put_partings(diff, readers, out, differs);
	mt_call_reader_deinit(&readers[0]);
	mt_call_reader_deinit(&readers[1]);
	return error;
}

static struct mt_error *compare_threads(const struct mt_diff *diff, struct mt_str *out,
					bool *differs)
{
	bool has_one = false;

	for (size_t i = 0; i < mt_call_log_threads(diff->logs[0]); i++) {
		if (diff->tid && mt_call_log_thread(diff->logs[0], i)->tid != diff->tid)
			continue;
		has_one = true;
		mt_try(compare_thread(diff, i, out, differs));
	}
	if (!has_one)
		return mt_error_new(MT_ERROR_NOT_FOUND, "the first recording has no thread %d",
				    diff->tid);
	for (size_t i = 0; i < mt_call_log_threads(diff->logs[1]) && !diff->tid; i++) {
		if (counterpart(diff->logs[1], diff->logs[0], i) != NO_THREAD)
			continue;
		*differs = true;
		put_thread(diff, mt_call_log_thread(diff->logs[1], i), out);
		mt_str_append(out, ": only in the second\n");
	}
	return NULL;
}

/* ---- Counts and times ---- */

struct change {
	const char *name;
	const struct mt_stats_row *rows[2]; /* NULL: not called there */
};

static uint64_t count_of(const struct change *change, unsigned run)
{
	return change->rows[run] ? change->rows[run]->calls : 0;
}

static uint64_t self_of(const struct change *change, unsigned run)
{
	return change->rows[run] ? change->rows[run]->self_ns : 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int by_name(const void *a, const void *b)
{
	const struct change *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int by_count(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	const uint64_t one = distance(count_of(left, 0), count_of(left, 1));
	const uint64_t other = distance(count_of(right, 0), count_of(right, 1));

	return one != other ? (one < other ? 1 : -1) : strcmp(left->name, right->name);
}

static int by_self(const void *a, const void *b)
{
	const struct change *left = a, *right = b;
	const uint64_t one = distance(self_of(left, 0), self_of(left, 1));
	const uint64_t other = distance(self_of(right, 0), self_of(right, 1));

	return one != other ? (one < other ? 1 : -1) : strcmp(left->name, right->name);
}

typedef MT_ARRAY(struct change) changes;

static struct mt_error *join(const struct mt_diff *diff, changes *out)
{
	for (unsigned run = 0; run < 2; run++)
		mt_array_each (row, &diff->stats[run]->functions) {
			struct change change = {.name = row->name};

			change.rows[run] = row;
			if (mt_array_push(out, change))
				return mt_error_no_memory();
		}
	if (!out->count)
		return NULL;
	qsort(out->items, out->count, sizeof(*out->items), by_name);
	size_t kept = 1;
	for (size_t i = 1; i < out->count; i++) {
		struct change *last = &out->items[kept - 1];
		const struct change *next = &out->items[i];
		const unsigned run = next->rows[0] ? 0 : 1;

		if (strcmp(last->name, next->name) == 0 && !last->rows[run])
			last->rows[run] = next->rows[run];
		else
			out->items[kept++] = *next;
	}
	out->count = kept;
	return NULL;
}

static void put_duration(struct mt_str *out, uint64_t ns)
{
	mt_auto(mt_str) struct mt_str cell = {0};

	mt_text_duration(&cell, ns);
	mt_query_cell(out, cell.text ? cell.text : "", CELL_COLUMNS);
	out->failed |= cell.failed;
}

static void put_counts(const struct mt_diff *diff, const changes *all, struct mt_str *out,
		       bool *differs)
{
	size_t rows = 0, left_out = 0;

	qsort(all->items, all->count, sizeof(*all->items), by_count);
	mt_array_each (change, all) {
		if (count_of(change, 0) == count_of(change, 1))
			break;
		*differs = true;
		if (diff->most && rows >= diff->most) {
			left_out++;
			continue;
		}
		if (!rows++)
			mt_str_appendf(out, "\n%*s%*s  calls in the first and the second\n",
				       CELL_COLUMNS, "first", CELL_COLUMNS, "second");
		mt_str_appendf(out, "%*llu%*llu  ", CELL_COLUMNS,
			       (unsigned long long)count_of(change, 0), CELL_COLUMNS,
			       (unsigned long long)count_of(change, 1));
		mt_utf8_append_shown(out, change->name, NAME_BYTES);
		mt_str_append(out, "\n");
	}
	if (left_out)
		mt_str_appendf(out, "(%zu more)\n", left_out);
	if (!rows)
		mt_str_append(out, "\nEach function was called as often in both.\n");
}

static void put_times(const struct mt_diff *diff, const changes *all, struct mt_str *out)
{
	size_t rows = 0;

	qsort(all->items, all->count, sizeof(*all->items), by_self);
	mt_str_appendf(out, "\n%*s%*s  self time, where it changed most\n", CELL_COLUMNS, "first",
		       CELL_COLUMNS, "second");
	mt_array_each (change, all) {
		if (self_of(change, 0) == self_of(change, 1) ||
		    (diff->most && rows++ >= diff->most))
			break;
		put_duration(out, self_of(change, 0));
		put_duration(out, self_of(change, 1));
		mt_str_append(out, "  ");
		mt_utf8_append_shown(out, change->name, NAME_BYTES);
		mt_str_append(out, "\n");
	}
}

struct mt_error *mt_diff_print(const struct mt_diff *diff, struct mt_str *out, bool *differs)
{
	changes all = {0};

	*differs = false;
	for (unsigned run = 0; run < 2; run++)
		if (!diff->stats[run]->functions.count)
			return mt_error_new(MT_ERROR_NOT_FOUND,
					    "the %s recording contains no calls",
					    run ? "second" : "first");
	struct mt_error *error = compare_threads(diff, out, differs);
	if (!error && !diff->tid)
		error = join(diff, &all);
	if (!error && all.count) {
		put_counts(diff, &all, out, differs);
		put_times(diff, &all, out);
	}
	mt_array_deinit(&all);
	if (!error && out->failed)
		error = mt_error_no_memory();
	return error;
}
