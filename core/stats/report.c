/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats/report.h"

#include "base/utf8.h"
#include "output/text_line.h"

#include <string.h>

#define CELL_COLUMNS  9
#define CALLS_COLUMNS 11
#define NAME_BYTES    4096
#define LEAST_BAR     10
#define MOST_BAR      80

/* ---- Cells ---- */

static void put_cell(struct mt_str *out, const char *text, size_t columns)
{
	const size_t used = mt_utf8_columns(text, strlen(text));

	mt_str_appendf(out, "%*s%s", (int)(used < columns ? columns - used : 0), "", text);
}

static void put_duration(struct mt_str *out, uint64_t ns)
{
	mt_auto(mt_str) struct mt_str cell = {0};

	mt_text_duration(&cell, ns);
	put_cell(out, cell.text ? cell.text : "", CELL_COLUMNS);
}

static void put_name(struct mt_str *out, const char *name)
{
	mt_utf8_append_shown(out, name, NAME_BYTES);
}

/* "price_of (shop.c:12)", "memcpy (libc.so.6)" */
static void put_function(struct mt_str *out, const struct mt_stats_row *row)
{
	const char *place = row->source.file ? row->source.file : row->module;
	const char *slash = strrchr(place, '/');

	put_name(out, row->name);
	if (!*place)
		return;
	mt_str_append(out, " (");
	put_name(out, slash ? slash + 1 : place);
	if (row->source.file && row->source.line)
		mt_str_appendf(out, ":%u", row->source.line);
	mt_str_append(out, ")");
}

/* ---- Tables ---- */

struct table {
	const char *heading; /* of the names */
	bool has_self, has_waited;
	bool is_sampled; /* then there are samples instead of calls */
};

static void put_head(struct mt_str *out, const struct table *table)
{
	put_cell(out, "total", CELL_COLUMNS);
	if (table->has_self)
		put_cell(out, "self", CELL_COLUMNS);
	if (table->has_waited)
		put_cell(out, "waited", CELL_COLUMNS);
	put_cell(out, table->is_sampled ? "samples" : "calls", CALLS_COLUMNS);
	for (enum mt_stats_sort what = MT_STATS_SORT_MIN;
	     what <= MT_STATS_SORT_MAX && !table->is_sampled; what++)
		put_cell(out, mt_stats_sort_names[what], CELL_COLUMNS);
	mt_str_appendf(out, "  %s\n", table->heading);
}

static void put_row(struct mt_str *out, const struct table *table, const struct mt_stats_row *row)
{
	if (row->total_ns || row->durations.count || table->is_sampled)
		put_duration(out, row->total_ns);
	else
		put_cell(out, "-", CELL_COLUMNS); /* a fault */
	if (table->has_self)
		put_duration(out, row->self_ns);
	if (table->has_waited)
		put_duration(out, row->waited_ns);
	mt_str_appendf(out, "%*llu", CALLS_COLUMNS, (unsigned long long)row->calls);
	for (enum mt_stats_sort what = MT_STATS_SORT_MIN;
	     what <= MT_STATS_SORT_MAX && !table->is_sampled; what++)
		if (row->durations.count)
			put_duration(out, mt_stats_value(row, what));
		else
			put_cell(out, "-", CELL_COLUMNS);
	mt_str_append(out, "  ");
	if (row->group) {
		put_name(out, row->group);
		mt_str_append(out, ": ");
	}
	put_function(out, row);
	mt_str_append(out, "\n");
}

static void put_table(const struct mt_stats_report *report, const struct table *table,
		      mt_stats_rows *rows, struct mt_str *out)
{
	const size_t count =
	    report->most && report->most < rows->count ? report->most : rows->count;

	mt_stats_sort(rows, report->sort);
	put_head(out, table);
	for (size_t i = 0; i < count; i++)
		put_row(out, table, &rows->items[i]);
	if (count < rows->count)
		mt_str_appendf(out, "(%zu more)\n", rows->count - count);
}

/* ---- Of one function ---- */

static void put_bar(struct mt_str *out, uint64_t count, uint64_t most, size_t columns)
{
	/* What occurred is seen, however seldom. */
	size_t length = (size_t)((double)count / (double)most * (double)columns);

	length += count && !length;
	mt_str_append(out, " |");
	for (size_t i = 0; i < length; i++)
		mt_str_append(out, "@");
	mt_str_appendf(out, "%*s|\n", (int)(columns - length), "");
}

static void put_histogram(const struct mt_stats_report *report,
			  const struct mt_histogram *durations, struct mt_str *out)
{
	uint64_t counts[MT_HISTOGRAM_POWERS], most = 0;
	unsigned first = MT_HISTOGRAM_POWERS, last = 0;
	const size_t taken = 2 * CELL_COLUMNS + CALLS_COLUMNS + 6; /* "to", blanks, bars */
	size_t columns = report->columns > taken + LEAST_BAR ? report->columns - taken : LEAST_BAR;

	mt_histogram_powers(durations, counts);
	for (unsigned i = 0; i < MT_HISTOGRAM_POWERS; i++) {
		if (!counts[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = most > counts[i] ? most : counts[i];
	}
	columns = columns > MOST_BAR ? MOST_BAR : columns;
	for (unsigned i = first; i <= last && i < MT_HISTOGRAM_POWERS; i++) {
		put_duration(out, i ? 1ull << i : 0);
		mt_str_append(out, " to");
		put_duration(out, i < 63 ? 1ull << (i + 1) : UINT64_MAX);
		mt_str_appendf(out, "%*llu", CALLS_COLUMNS, (unsigned long long)counts[i]);
		put_bar(out, counts[i], most, columns);
	}
}

static void put_slowest(const struct mt_stats_result *result, struct mt_str *out)
{
	for (size_t i = 0; i < result->slowest.count; i++) {
		const struct mt_stats_call *call = &result->slowest.items[i];
		mt_auto(mt_str) struct mt_str cell = {0};

		mt_str_append(&cell, call->is_estimated ? "~" : "");
		mt_text_duration(&cell, call->duration_ns);
		put_cell(out, cell.text ? cell.text : "", CELL_COLUMNS);
		mt_str_clear(&cell);
		mt_text_time(&cell, call->begin_ns, result->end_ns,
			     result->end_ns - result->begin_ns);
		put_cell(out, cell.text ? cell.text : "", 2 * CELL_COLUMNS);
		mt_str_append(out, "  ");
		put_name(out, call->thread ? call->thread : "thread");
		mt_str_appendf(out, " (%d)  ", call->tid);
		put_name(out, call->function);
		if (call->arguments) {
			mt_str_append(out, "(");
			put_name(out, call->arguments);
			mt_str_append(out, ")");
		}
		mt_str_append(out, "\n");
	}
}

static void put_function_alone(const struct mt_stats_report *report, struct mt_stats_result *result,
			       struct mt_str *out)
{
	const bool is_sampled = result->sampling.samples;
	const struct table callers = {.heading = "caller", .is_sampled = is_sampled};
	const struct table callees = {
	    .heading = "callee", .has_self = true, .is_sampled = is_sampled};
	struct mt_histogram durations = {0};
	int failed = 0;

	mt_array_each (row, &result->functions)
		failed |= mt_histogram_merge(&durations, &row->durations);
	if (durations.count) {
		mt_str_append(out, "\nDurations of its calls:\n");
		put_histogram(report, &durations, out);
	}
	mt_histogram_deinit(&durations);
	out->failed |= failed != 0;
	mt_str_append(out, "\nCalled by:\n");
	put_table(report, &callers, &result->callers, out);
	if (result->callees.count) {
		mt_str_append(out, "\nCalls:\n");
		put_table(report, &callees, &result->callees, out);
	}
	if (result->slowest.count) {
		mt_str_append(out, "\nThe slowest, with times before the end:\n");
		put_slowest(result, out);
	}
}

/* ---- All ---- */

static void put_remark_on_samples(const struct mt_stats_result *result, struct mt_str *out)
{
	mt_str_appendf(out, " of %llu thread%s, ", (unsigned long long)result->threads,
		       result->threads == 1 ? "" : "s");
	mt_text_sampling(out, &result->sampling);
	mt_str_append(out,
		      ".\nThe times are estimates, of each sample as much as they lie apart: total "
		      "of those that a function was in, self of those that it ran in.  How often "
		      "it was called is not known.\n");
}

static void put_remarks(const struct mt_stats_result *result, struct mt_str *out)
{
	const unsigned long long partial = result->partial, estimated = result->estimated;

	mt_str_append(out, "\n");
	mt_text_duration(out, result->end_ns - result->begin_ns);
	if (result->sampling.samples) {
		put_remark_on_samples(result, out);
		return;
	}
	mt_str_appendf(out,
		       " of %llu thread%s, %llu calls.  total is with what a function calls, "
		       "self without; p50 is the median.\n",
		       (unsigned long long)result->threads, result->threads == 1 ? "" : "s",
		       (unsigned long long)result->calls);
	if (partial)
		mt_str_appendf(out,
			       "%llu calls were seen in part, since they began before, or had not "
			       "ended: of them total and self have what was seen.\n",
			       partial);
	if (estimated)
		mt_str_appendf(out, "The times of %.0f %% of the calls are estimates (%s).\n",
			       100.0 * (double)estimated / (double)(result->calls + partial),
			       result->has_estimated_begins ? "--timestamps=full records all"
							    : "their ends were not seen");
	if (result->gaps)
		mt_str_appendf(out, "Calls are missing: data was lost in %llu places.\n",
			       (unsigned long long)result->gaps);
}

void mt_stats_print(const struct mt_stats_report *report, struct mt_stats_result *result,
		    struct mt_str *out)
{
	const struct table functions = {
	    .heading = report->options->by == MT_STATS_BY_THREAD    ? "thread: function"
		       : report->options->by == MT_STATS_BY_PROCESS ? "process: function"
		       : report->options->by == MT_STATS_BY_CALLER  ? "caller: function"
								    : "function",
	    .has_self = true,
	    .has_waited = result->has_waited,
	    .is_sampled = result->sampling.samples,
	};
	const struct table waits = {.heading = "waiting"};

	put_table(report, &functions, &result->functions, out);
	if (report->options->function)
		put_function_alone(report, result, out);
	else if (result->waits.count) {
		mt_str_append(out, "\n"
				   "Off the CPU, and in the kernel:\n");
		put_table(report, &waits, &result->waits, out);
	}
	put_remarks(result, out);
}
