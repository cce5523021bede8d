/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same for programs: everything is in it, durations in ns. */
#include "base/utf8.h"
#include "output/json_string.h"
#include "stats/report.h"

struct json {
	struct mt_str *out;
	struct mt_str scratch;
	bool is_sampled;
};

static void put_text(struct json *json, const char *name, const char *text)
{
	mt_str_appendf(json->out, ", \"%s\": ", name);
	mt_json_append_string(json->out, &json->scratch, text);
}

static void put_number(struct json *json, const char *name, uint64_t number)
{
	mt_str_appendf(json->out, ", \"%s\": %llu", name, (unsigned long long)number);
}

static const char *unit_of(enum mt_stats_sort what)
{
	return what == MT_STATS_SORT_CALLS ? "" : "_ns";
}

/* Of samples, durations of calls are not known. */
static bool has_column(enum mt_stats_sort what, bool is_sampled)
{
	return !is_sampled || what < MT_STATS_SORT_MIN;
}

static const char *name_of(enum mt_stats_sort what, bool is_sampled)
{
	return is_sampled && what == MT_STATS_SORT_CALLS ? "samples" : mt_stats_sort_names[what];
}

static void put_values(struct json *json, const struct mt_stats_row *row)
{
	for (enum mt_stats_sort what = 0; what < MT_STATS_SORT_NAME; what++)
		if (has_column(what, json->is_sampled))
			mt_str_appendf(json->out, ", \"%s%s\": %llu",
				       name_of(what, json->is_sampled), unit_of(what),
				       (unsigned long long)mt_stats_value(row, what));
	if (!json->is_sampled)
		put_number(json, "partial", row->partial);
}

static void put_row(struct json *json, const char *group, const struct mt_stats_row *row)
{
	mt_str_append(json->out, "  {\"name\": ");
	mt_json_append_string(json->out, &json->scratch, row->name);
	if (row->group)
		put_text(json, group, row->group);
	put_text(json, "category", row->category);
	if (*row->module)
		put_text(json, "module", row->module);
	if (row->source.file)
		put_text(json, "file", row->source.file);
	if (row->source.file && row->source.line)
		put_number(json, "line", row->source.line);
	put_values(json, row);
	mt_str_append(json->out, "}");
}

static void put_rows(struct json *json, const struct mt_stats_report *report, const char *name,
		     mt_stats_rows *rows)
{
	const size_t count =
	    report->most && report->most < rows->count ? report->most : rows->count;

	mt_stats_sort(rows, report->sort);
	mt_str_appendf(json->out, ",\n\"%s\": [", name);
	for (size_t i = 0; i < count; i++) {
		mt_str_append(json->out, i ? ",\n" : "\n");
		put_row(json, mt_stats_by_names[report->options->by], &rows->items[i]);
	}
	mt_str_append(json->out, "]");
}

static void put_histogram(struct json *json, const struct mt_stats_result *result)
{
	uint64_t counts[MT_HISTOGRAM_POWERS], all[MT_HISTOGRAM_POWERS] = {0};
	bool has_one = false;

	mt_array_each (row, &result->functions) {
		mt_histogram_powers(&row->durations, counts);
		for (unsigned i = 0; i < MT_HISTOGRAM_POWERS; i++)
			all[i] += counts[i];
	}
	mt_str_append(json->out, ",\n\"histogram\": [");
	for (unsigned i = 0; i < MT_HISTOGRAM_POWERS; i++) {
		if (!all[i])
			continue;
		mt_str_appendf(json->out, "%s\n  {\"from_ns\": %llu, \"calls\": %llu}",
			       has_one ? "," : "", i ? 1ull << i : 0ull,
			       (unsigned long long)all[i]);
		has_one = true;
	}
	mt_str_append(json->out, "]");
}

static void put_slowest(struct json *json, const struct mt_stats_result *result)
{
	mt_str_append(json->out, ",\n\"slowest\": [");
	for (size_t i = 0; i < result->slowest.count; i++) {
		const struct mt_stats_call *call = &result->slowest.items[i];

		mt_str_appendf(json->out,
			       "%s\n  {\"duration_ns\": %llu, \"before_end_ns\": %llu, "
			       "\"estimated\": %s, \"tid\": %d",
			       i ? "," : "", (unsigned long long)call->duration_ns,
			       (unsigned long long)(result->end_ns - call->begin_ns),
			       call->is_estimated ? "true" : "false", call->tid);
		if (call->thread)
			put_text(json, "thread", call->thread);
		put_text(json, "function", call->function);
		if (call->arguments)
			put_text(json, "arguments", call->arguments);
		mt_str_append(json->out, "}");
	}
	mt_str_append(json->out, "]");
}

void mt_stats_print_json(const struct mt_stats_report *report, struct mt_stats_result *result,
			 struct mt_str *out)
{
	struct json json = {.out = out, .is_sampled = result->sampling.samples};

	mt_str_appendf(out, "{\"span_ns\": %llu",
		       (unsigned long long)(result->end_ns - result->begin_ns));
	put_number(&json, "threads", result->threads);
	if (json.is_sampled) {
		put_number(&json, "samples", result->sampling.samples);
		put_number(&json, "period_ns", result->sampling.period_ns);
		put_text(&json, "event", result->sampling.event);
	} else {
		put_number(&json, "calls", result->calls);
		put_number(&json, "partial", result->partial);
		put_number(&json, "estimated", result->estimated);
	}
	put_number(&json, "gaps", result->gaps);
	put_rows(&json, report, "functions", &result->functions);
	if (report->options->function) {
		if (!json.is_sampled)
			put_histogram(&json, result);
		put_rows(&json, report, "callers", &result->callers);
		put_rows(&json, report, "callees", &result->callees);
		if (!json.is_sampled)
			put_slowest(&json, result);
	} else {
		put_rows(&json, report, "waits", &result->waits);
	}
	mt_str_append(out, "}\n");
	mt_str_deinit(&json.scratch);
}

static void put_field(struct mt_str *out, struct mt_str *scratch, const char *text)
{
	mt_str_clear(scratch);
	mt_utf8_append_shown(scratch, text, SIZE_MAX);
	mt_str_append(out, "\"");
	for (size_t i = 0; i < scratch->length; i++)
		mt_str_append_bytes(out, scratch->text[i] == '"' ? "\"\"" : scratch->text + i,
				    scratch->text[i] == '"' ? 2 : 1);
	mt_str_append(out, "\",");
}

void mt_stats_print_csv(const struct mt_stats_report *report, struct mt_stats_result *result,
			struct mt_str *out)
{
	mt_stats_rows *rows = &result->functions;
	const bool has_group = report->options->by != MT_STATS_BY_FUNCTION;
	const bool is_sampled = result->sampling.samples;
	struct mt_str scratch = {0};

	mt_stats_sort(rows, report->sort);
	mt_str_append(out, has_group ? mt_stats_by_names[report->options->by] : "");
	mt_str_append(out, has_group ? ",name,module,file,line" : "name,module,file,line");
	for (enum mt_stats_sort what = 0; what < MT_STATS_SORT_NAME; what++)
		if (has_column(what, is_sampled))
			mt_str_appendf(out, ",%s%s", name_of(what, is_sampled), unit_of(what));
	mt_str_append(out, is_sampled ? "\n" : ",partial\n");
	for (size_t i = 0; i < rows->count && (!report->most || i < report->most); i++) {
		const struct mt_stats_row *row = &rows->items[i];

		if (has_group)
			put_field(out, &scratch, row->group);
		put_field(out, &scratch, row->name);
		put_field(out, &scratch, row->module);
		put_field(out, &scratch, row->source.file ? row->source.file : "");
		mt_str_appendf(out, "%u", row->source.line);
		for (enum mt_stats_sort what = 0; what < MT_STATS_SORT_NAME; what++)
			if (has_column(what, is_sampled))
				mt_str_appendf(out, ",%llu",
					       (unsigned long long)mt_stats_value(row, what));
		if (!is_sampled)
			mt_str_appendf(out, ",%llu", (unsigned long long)row->partial);
		mt_str_append(out, "\n");
	}
	out->failed |= scratch.failed;
	mt_str_deinit(&scratch);
}
