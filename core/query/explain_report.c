/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/explain.h"

#include "base/utf8.h"
#include "elf/objfile.h"
#include "output/json_string.h"
#include "output/text_line.h"
#include "query/line.h"

#include <string.h>

#define CELL_COLUMNS  9
#define COUNT_COLUMNS 8
#define MOST_PLACES   5
#define LEAST_PART    20u /* of what a call has more, one part in so many is told */
#define FEW_CALLS     3u
#define NAME_BYTES    4096

static uint64_t excess_of(const struct mt_explain_place *place)
{
	return place->self_ns > place->median_self_ns ? place->self_ns - place->median_self_ns : 0;
}

static void put_duration(struct mt_str *out, uint64_t ns)
{
	mt_auto(mt_str) struct mt_str cell = {0};

	mt_text_duration(&cell, ns);
	mt_query_cell(out, cell.text ? cell.text : "", CELL_COLUMNS);
	out->failed |= cell.failed;
}

static void put_count(struct mt_str *out, uint64_t count)
{
	mt_str_appendf(out, "%*llu", COUNT_COLUMNS, (unsigned long long)count);
}

static void put_head(const struct mt_explain_result *result, struct mt_str *out)
{
	mt_query_cell(out, "more", CELL_COLUMNS);
	mt_query_cell(out, "here", CELL_COLUMNS);
	mt_query_cell(out, "median", CELL_COLUMNS);
	mt_query_cell(out, "calls", COUNT_COLUMNS);
	mt_query_cell(out, "median", COUNT_COLUMNS);
	if (result->has_off)
		mt_query_cell(out, "waited", CELL_COLUMNS);
	if (result->has_faults)
		mt_query_cell(out, "faults", COUNT_COLUMNS);
	mt_str_append(out, "  in the code of\n");
}

static void put_place(const struct mt_explain_result *result, const struct mt_explain_place *place,
		      struct mt_str *out)
{
	put_duration(out, excess_of(place));
	put_duration(out, place->self_ns);
	put_duration(out, place->median_self_ns);
	put_count(out, place->calls);
	put_count(out, place->median_calls);
	if (result->has_off)
		put_duration(out, place->off_ns);
	if (result->has_faults)
		put_count(out, place->faults);
	mt_str_append(out, "  ");
	mt_utf8_append_shown(out, place->path, NAME_BYTES);
	mt_str_append(out, "\n");
}

static void put_places(const struct mt_explain_result *result, const struct mt_explain_call *call,
		       struct mt_str *out)
{
	uint64_t all_ns = 0, told_ns = 0;
	size_t count = 0;

	mt_array_each (place, &call->places)
		all_ns += excess_of(place);
	put_head(result, out);
	mt_array_each (place, &call->places) {
		const uint64_t excess_ns = excess_of(place);

		if (!excess_ns || count >= MOST_PLACES || excess_ns < all_ns / LEAST_PART)
			break;
		put_place(result, place, out);
		told_ns += excess_ns;
		count++;
	}
	if (all_ns > told_ns) {
		put_duration(out, all_ns - told_ns);
		mt_str_append(out, " more elsewhere\n");
	}
}

static void put_waits(const struct mt_explain_call *call, struct mt_str *out)
{
	for (size_t i = 0; i < call->wait_count; i++) {
		const struct mt_wait_sum *wait = &call->waits[i];

		mt_str_append(out, i ? "; " : "Meanwhile: ");
		mt_utf8_append_shown(out, wait->what->name, NAME_BYTES);
		if (wait->what->reason)
			mt_utf8_appendf_lines(out, ": %s", wait->what->reason);
		mt_str_appendf(out, ", %llu time%s", (unsigned long long)wait->count,
			       wait->count == 1 ? "" : "s");
		if (!wait->ns)
			continue;
		mt_str_append(out, " for ");
		mt_text_duration(out, wait->ns);
	}
	mt_str_append(out, call->wait_count ? "\n" : "");
}

static void put_where(const struct mt_lock_place *place, struct mt_str *out)
{
	const char *slash = place->file ? strrchr(place->file, '/') : NULL;

	mt_utf8_append_shown(out, place->function, NAME_BYTES);
	if (place->file)
		mt_utf8_appendf_lines(out, " (%s:%u)", slash ? slash + 1 : place->file,
				      place->line);
}

static void put_holder(const struct mt_lock_wait *wait, struct mt_str *out)
{
	mt_utf8_append_shown(out, wait->holder ? wait->holder : "thread", NAME_BYTES);
	mt_str_appendf(out, " (%d)", wait->holder_tid);
}

static void put_held(const struct mt_lock_wait *wait, struct mt_str *out)
{
	put_holder(wait, out);
	mt_str_append(out, " held");
	if (wait->held_ns) {
		mt_str_append(out, " for ");
		mt_text_duration(out, wait->held_ns);
	}
	if (wait->held.function) {
		mt_str_append(out, wait->is_taken ? ", from " : ", until ");
		put_where(&wait->held, out);
	}
	if (wait->holds > 1)
		mt_str_appendf(out, ", the longest of %llu times that it was held",
			       (unsigned long long)wait->holds);
	if (wait->answer == MT_LOCK_BY_TIME)
		mt_str_append(out, "; by the times alone, as no other thread that let go of a lock "
				   "meanwhile had held one for long");
}

static const char *const unknown[] = {
    [MT_LOCK_NOT_RECORDED] = "no thread was recorded that let go of it meanwhile",
    [MT_LOCK_AMBIGUOUS] = ("several threads let go of locks that they had held, and which ones was "
			   "not recorded (--args='pthread_mutex_*lock', or --events=syscalls)"),
    [MT_LOCK_ESTIMATED] = "the times are estimates (--timestamps=full, or --events=syscalls)",
};

static void put_lock(const struct mt_lock_wait *wait, struct mt_str *out)
{
	mt_str_append(out, "Waited ");
	mt_text_duration(out, wait->end_ns - wait->begin_ns);
	if (wait->where.function) {
		mt_str_append(out, " in ");
		put_where(&wait->where, out);
	}
	mt_str_append(out, wait->is_lock ? " for a lock" : " in futex");
	if (wait->answer == MT_LOCK_WOKEN) {
		mt_str_append(out, ", until ");
		put_holder(wait, out);
		mt_str_append(out, " woke it");
		if (wait->held.function) {
			mt_str_append(out, " in ");
			put_where(&wait->held, out);
		}
	} else if (wait->answer >= MT_LOCK_BY_TIME) {
		mt_str_append(out, " that ");
		put_held(wait, out);
	} else if (wait->is_lock) {
		mt_str_appendf(out, "; who held it cannot be told: %s", unknown[wait->answer]);
	} else {
		mt_str_append(out, "; who woke it cannot be told");
	}
	mt_str_append(out, ".\n");
}

static void put_call(const struct mt_explain_result *result, const struct mt_explain_call *call,
		     struct mt_str *out)
{
	const char *estimated = call->is_estimated ? "~" : "";

	mt_str_appendf(out, "\n%s", estimated);
	mt_text_duration(out, call->duration_ns);
	if (result->median_ns)
		mt_str_appendf(out, ", %.*f times the median",
			       call->duration_ns < 10 * result->median_ns,
			       (double)call->duration_ns / (double)result->median_ns);
	mt_str_append(out, ": ");
	mt_auto(mt_str) struct mt_str name = {0};
	mt_str_append_bytes(&name, call->function,
			    call->arguments ? mt_name_without_parameters(call->function)
					    : strlen(call->function));
	mt_utf8_append_shown(out, name.text ? name.text : "", NAME_BYTES);
	if (call->arguments)
		mt_utf8_appendf_lines(out, "(%s)", call->arguments);
	mt_str_append(out, " at ");
	mt_text_time(out, call->begin_ns, call->zero_ns, call->span_ns);
	mt_str_append(out, " in ");
	mt_utf8_append_shown(out, call->thread ? call->thread : "thread", NAME_BYTES);
	mt_str_appendf(out, " (%d)\n", call->tid);
	put_places(result, call, out);
	put_waits(call, out);
	for (size_t i = 0; i < call->locks.count; i++)
		put_lock(&call->locks.longest[i], out);
	if (call->gaps)
		mt_str_append(out, "Data was lost within it: what it did then cannot be told.\n");
	if (call->is_estimated && !call->has_estimated_begins)
		mt_str_append(out, "Some of its times are estimates: where calls within it ended "
				   "was not seen.\n");
	else if (call->is_estimated)
		mt_str_append(out, "Times in it are estimates: between two that are known it "
				   "cannot be told which callee took longer (--timestamps=full "
				   "records all).\n");
}

void mt_explain_print(const char *function, const struct mt_explain_result *result,
		      struct mt_str *out)
{
	mt_utf8_append_shown(out, function, NAME_BYTES);
	mt_str_appendf(out, ": %llu call%s seen whole, of which the median took ",
		       (unsigned long long)result->calls, result->calls == 1 ? " was" : "s were");
	mt_text_duration(out, result->median_ns);
	mt_str_append(out, ".  The slowest, against the median of each place:\n");
	if (result->calls < FEW_CALLS)
		mt_str_append(out, "So few calls have no median that says much.\n");
	mt_array_each (call, &result->slowest)
		put_call(result, call, out);
	if (!result->has_off)
		mt_str_append(out, "\nWhether they waited is not known: "
				   "--events=sched,faults,syscalls records that.\n");
}

/* ---- For programs ---- */

static void put_text(struct mt_str *out, struct mt_str *scratch, const char *name, const char *text)
{
	mt_str_appendf(out, ", \"%s\": ", name);
	mt_json_append_string(out, scratch, text);
}

static void put_json_places(const struct mt_explain_call *call, struct mt_str *out,
			    struct mt_str *scratch)
{
	mt_str_append(out, ", \"places\": [");
	mt_array_each (place, &call->places) {
		mt_str_appendf(
		    out,
		    "%s\n    {\"self_ns\": %llu, \"median_self_ns\": %llu, \"calls\": "
		    "%llu, \"median_calls\": %llu, \"waited_ns\": %llu, \"faults\": "
		    "%llu",
		    place == call->places.items ? "" : ",", (unsigned long long)place->self_ns,
		    (unsigned long long)place->median_self_ns, (unsigned long long)place->calls,
		    (unsigned long long)place->median_calls, (unsigned long long)place->off_ns,
		    (unsigned long long)place->faults);
		put_text(out, scratch, "path", place->path);
		mt_str_append(out, "}");
	}
	mt_str_append(out, "], \"meanwhile\": [");
	for (size_t i = 0; i < call->wait_count; i++) {
		mt_str_appendf(out, "%s{\"ns\": %llu, \"count\": %llu", i ? ", " : "",
			       (unsigned long long)call->waits[i].ns,
			       (unsigned long long)call->waits[i].count);
		put_text(out, scratch, "name", call->waits[i].what->name);
		if (call->waits[i].what->reason)
			put_text(out, scratch, "reason", call->waits[i].what->reason);
		mt_str_append(out, "}");
	}
	mt_str_append(out, "]");
}

static void put_json_place(const char *prefix, const struct mt_lock_place *place,
			   struct mt_str *out, struct mt_str *scratch)
{
	if (place->function) {
		mt_str_appendf(out, ", \"%sfunction\": ", prefix);
		mt_json_append_string(out, scratch, place->function);
	}
	if (place->file) {
		mt_str_appendf(out, ", \"%sline\": %u, \"%sfile\": ", prefix, place->line, prefix);
		mt_json_append_string(out, scratch, place->file);
	}
}

static void put_json_locks(const struct mt_call_locks *locks, struct mt_str *out,
			   struct mt_str *scratch)
{
	static const char *const answers[] = {
	    [MT_LOCK_NOT_RECORDED] = "not recorded",
	    [MT_LOCK_AMBIGUOUS] = "ambiguous",
	    [MT_LOCK_ESTIMATED] = "estimated",
	    [MT_LOCK_BY_TIME] = "by time",
	    [MT_LOCK_HELD] = "held",
	    [MT_LOCK_WOKEN] = "woken",
	};

	mt_str_append(out, ", \"waits\": [");
	for (size_t i = 0; i < locks->count; i++) {
		const struct mt_lock_wait *wait = &locks->longest[i];

		mt_str_appendf(out, "%s\n    {\"ns\": %llu, \"for\": \"%s\", \"holder\": \"%s\"",
			       i ? "," : "", (unsigned long long)(wait->end_ns - wait->begin_ns),
			       wait->is_lock ? "lock" : "futex", answers[wait->answer]);
		put_json_place("", &wait->where, out, scratch);
		if (wait->answer >= MT_LOCK_BY_TIME) {
			mt_str_appendf(out, ", \"holder_tid\": %d", wait->holder_tid);
			if (wait->holder)
				put_text(out, scratch, "holder_thread", wait->holder);
			put_json_place("holder_", &wait->held, out, scratch);
		}
		if (wait->held_ns)
			mt_str_appendf(out, ", \"held_ns\": %llu",
				       (unsigned long long)wait->held_ns);
		mt_str_append(out, "}");
	}
	mt_str_append(out, "]");
}

void mt_explain_print_json(const struct mt_explain_result *result, struct mt_str *out)
{
	struct mt_str scratch = {0};

	mt_str_appendf(out,
		       "{\"calls\": %llu, \"partial\": %llu, \"estimated\": %llu, \"median_ns\": "
		       "%llu, \"waits_recorded\": %s, \"slowest\": [",
		       (unsigned long long)result->calls, (unsigned long long)result->partial,
		       (unsigned long long)result->estimated, (unsigned long long)result->median_ns,
		       result->has_off ? "true" : "false");
	mt_array_each (call, &result->slowest) {
		mt_str_appendf(
		    out,
		    "%s\n  {\"duration_ns\": %llu, \"before_end_ns\": %llu, \"tid\": "
		    "%d, \"estimated\": %s, \"gaps\": %llu",
		    call == result->slowest.items ? "" : ",", (unsigned long long)call->duration_ns,
		    (unsigned long long)(call->zero_ns - call->begin_ns), call->tid,
		    call->is_estimated ? "true" : "false", (unsigned long long)call->gaps);
		put_text(out, &scratch, "function", call->function);
		if (call->arguments)
			put_text(out, &scratch, "arguments", call->arguments);
		put_json_places(call, out, &scratch);
		put_json_locks(&call->locks, out, &scratch);
		mt_str_append(out, "}");
	}
	mt_str_append(out, "]}\n");
	out->failed |= scratch.failed;
	mt_str_deinit(&scratch);
}
