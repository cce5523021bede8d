/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/text_line.h"

#include "base/utf8.h"
#include "elf/objfile.h"
#include "output/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FUNCTION_COLUMNS 58
#define NAME_COLUMNS     48 /* that a name may have however deep it stands */
#define PLACE_COLUMNS    40
#define NAME_BYTES       4096

#define DIM    "\033[2m"
#define BOLD   "\033[1m"
#define RED    "\033[1;31m"
#define YELLOW "\033[33m"
#define CYAN   "\033[36m"
#define RESET  "\033[0m"

void mt_text_style_deinit(struct mt_text_style *style)
{
	mt_str_deinit(&style->scratch);
	mt_str_deinit(&style->cell);
}

/* From somebody else's file. */
static void put_clean(struct mt_str *out, const char *text)
{
	mt_utf8_append_shown(out, text, NAME_BYTES);
}

/* Bytes of the first COLUMNS characters. */
static size_t bytes_of_columns(const char *text, size_t length, size_t columns)
{
	size_t bytes = 0;

	for (size_t seen = 0; bytes < length; bytes++) {
		bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;

		if (begins && seen++ == columns)
			break;
	}
	return bytes;
}

/* A function's name; of one that is too long the ends, which say most. */
static void put_name(struct mt_str *out, struct mt_str *scratch, const char *name, size_t room)
{
	mt_str_clear(scratch);
	put_clean(scratch, name);

	size_t columns = mt_utf8_columns(scratch->text, scratch->length);
	if (columns <= room) {
		mt_str_append_bytes(out, scratch->text, scratch->length);
		return;
	}
	size_t half = (room - 1) / 2;
	size_t head = bytes_of_columns(scratch->text, scratch->length, half);
	size_t tail = bytes_of_columns(scratch->text, scratch->length, columns - half);
	mt_str_append_bytes(out, scratch->text, head);
	mt_str_append(out, "…");
	mt_str_append_bytes(out, scratch->text + tail, scratch->length - tail);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_spaces(struct mt_str *out, size_t count)
{
	static const char blanks[] =
	    "                                                                ";
	const size_t most = sizeof(blanks) - 1;

	for (; count > most; count -= most)
		mt_str_append_bytes(out, blanks, most);
	mt_str_append_bytes(out, blanks, count);
}

/* The style's cell, right-aligned for a negative width, and clear the cell. */
static void put_cell(struct mt_str *out, struct mt_text_style *style, int width, const char *colour)
{
	struct mt_str *cell = &style->cell;
	size_t columns = mt_utf8_columns(cell->text, cell->length);
	size_t wanted = (size_t)abs(width);
	size_t padding = columns < wanted ? wanted - columns : 0;
	bool is_coloured = style->colour && colour && cell->length;

	if (cell->failed)
		out->failed = true;
	if (width < 0)
		put_spaces(out, padding);
	mt_str_append(out, is_coloured ? colour : "");
	mt_str_append_bytes(out, cell->text, cell->length);
	mt_str_append(out, is_coloured ? RESET : "");
	if (width > 0)
		put_spaces(out, padding);
	mt_str_clear(cell);
}

/* Ends a line: no blanks at its end. */
static void put_newline(struct mt_str *out)
{
	while (out->length && out->text[out->length - 1] == ' ')
		out->length--;
	mt_str_append(out, "\n");
}

/* All times of a segment in one unit, so that they can be compared at a glance. */
static const struct unit {
	uint64_t least_ns; /* of a segment that is shown in it */
	uint64_t ns;
	int decimals;
	uint64_t last_ns; /* what the last decimal counts */
	const char *name;
} time_units[] = {
    {10000000000, 1000000000, 6, 1000, "s "},
    {10000000, 1000000, 3, 1000, "ms"},
    {0, 1000, 3, 1, "µs"},
};

void mt_text_duration(struct mt_str *out, uint64_t ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s "}, {1e6, "ms"}, {1e3, "µs"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = (double)ns / units[i].ns;

		if (value < 0.9995)
			continue;
		int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
		mt_str_appendf(out, "%.*f %s", decimals, value, units[i].name);
		return;
	}
	mt_str_appendf(out, "%llu ns", (unsigned long long)ns);
}

void mt_text_time(struct mt_str *out, uint64_t time_ns, uint64_t zero_ns, uint64_t length_ns)
{
	const char *sign = time_ns < zero_ns ? "-" : time_ns > zero_ns ? "+" : "";
	uint64_t distance_ns = time_ns < zero_ns ? zero_ns - time_ns : time_ns - zero_ns;
	const struct unit *unit = time_units;

	while (length_ns < unit->least_ns)
		unit++;
	mt_str_appendf(out, "%s%llu.%0*llu %s", sign, (unsigned long long)(distance_ns / unit->ns),
		       unit->decimals, (unsigned long long)(distance_ns % unit->ns / unit->last_ns),
		       unit->name);
}

static void put_time_cell(struct mt_str *out, struct mt_text_style *style, uint64_t time_ns,
			  bool is_estimate)
{
	mt_str_append(&style->cell, is_estimate ? "~" : "");
	mt_text_time(&style->cell, time_ns, style->zero_ns, style->length_ns);
	put_cell(out, style, -MT_TEXT_TIME_COLUMNS, DIM);
}

static void put_duration_cell(struct mt_str *out, struct mt_text_style *style,
			      const struct mt_text_entry *entry)
{
	const struct mt_slice *slice = &entry->slice;
	struct mt_str *cell = &style->cell;
	bool is_open = entry->has_ended && (entry->end_flags & MT_SLICE_END_OPEN);
	bool is_estimate = (slice->flags & MT_SLICE_TIME_ESTIMATED) ||
			   (entry->end_flags & MT_SLICE_END_TIME_ESTIMATED);

	if (!entry->has_ended) {
		mt_str_append(cell, "…");
	} else if (is_open) {
		mt_str_append(cell, "open");
	} else {
		mt_str_append(cell, slice->flags & MT_SLICE_INFERRED ? ">" : "");
		mt_str_append(cell, is_estimate ? "~" : "");
		mt_text_duration(cell, entry->end_ns - slice->time_ns);
	}
	put_cell(out, style, -MT_TEXT_DURATION_COLUMNS, is_open ? BOLD : NULL);
	put_spaces(out, 2);
}

static void put_indent(struct mt_str *out, uint32_t depth)
{
	if (depth <= MT_TEXT_INDENT_LEVELS)
		put_spaces(out, (size_t)depth * MT_TEXT_INDENT_COLUMNS);
	else
		mt_str_appendf(out, "%*s+%u ", MT_TEXT_INDENT_LEVELS * MT_TEXT_INDENT_COLUMNS, "",
			       depth - MT_TEXT_INDENT_LEVELS);
}

static void put_notes(struct mt_str *out, const struct mt_text_entry *entry)
{
	const struct mt_slice *slice = &entry->slice;
	const struct {
		bool is_set;
		const char *text;
	} notes[] = {
	    {slice->kind == MT_SLICE_INLINED, "inlined"},
	    {slice->flags & MT_SLICE_TAIL_CALL, "tail call"},
	    {slice->flags & MT_SLICE_HANDLER, "signal handler"},
	    {slice->flags & MT_SLICE_INFERRED && !(slice->flags & MT_SLICE_PYTHON), "inferred"},
	    {slice->flags & MT_SLICE_PYTHON, "Python"},
	    {entry->end_flags & MT_SLICE_END_UNWOUND, "unwound"},
	    {entry->end_flags & MT_SLICE_END_LOST, "end lost"},
	};
	const char *separator = " (";

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (!notes[i].is_set)
			continue;
		mt_str_appendf(out, "%s%s", separator, notes[i].text);
		separator = ", ";
	}
	if (entry->samples) {
		mt_str_appendf(out, "%s%u sample%s", separator, entry->samples,
			       entry->samples == 1 ? "" : "s");
		separator = ", ";
	}
	if (separator[0] == ',')
		mt_str_append(out, ")");
}

/* As strace writes it. */
static void put_side_event(struct mt_str *out, const struct mt_side_event *event)
{
	if (event->arguments)
		mt_utf8_appendf_lines(out, "(%s)", event->arguments);
	if (event->result)
		mt_utf8_appendf_lines(out, " = %s", event->result);
	if (event->reason)
		mt_utf8_appendf_lines(out, ": %s", event->reason);
}

static const char *slice_colour(const struct mt_text_entry *entry)
{
	switch (entry->slice.kind) {
	case MT_SLICE_GAP:
		return YELLOW;
	case MT_SLICE_SYSCALL:
	case MT_SLICE_UNTRACED:
	case MT_SLICE_SIDE:
		return CYAN;
	case MT_SLICE_INLINED:
		return DIM;
	default:
		return entry->has_ended && (entry->end_flags & MT_SLICE_END_OPEN) ? BOLD : NULL;
	}
}

/* With values: arguments stand in the place of the parameters' types. */
static void put_call(struct mt_str *cell, struct mt_text_style *style,
		     const struct mt_text_entry *entry, size_t room)
{
	const char *whole = mt_slice_name(&entry->slice);
	const char *arguments = entry->kind != MT_TEXT_RETURN ? entry->slice.arguments : NULL;
	size_t length = mt_name_without_parameters(whole);
	mt_auto(mt_str) struct mt_str name = {0};

	mt_str_append_bytes(&name, whole, length);
	put_name(cell, &style->scratch, arguments && name.text ? name.text : whole, room);
	if (arguments || !whole[length]) {
		mt_str_append(cell, "(");
		put_clean(cell, arguments ? arguments : "");
		mt_str_append(cell, ")");
	}
	if (entry->result) {
		mt_str_append(cell, " = ");
		put_clean(cell, entry->result);
	}
}

static void put_function_cell(struct mt_str *out, struct mt_text_style *style,
			      const struct mt_text_entry *entry)
{
	struct mt_str *cell = &style->cell;
	size_t indent = (size_t)entry->depth * MT_TEXT_INDENT_COLUMNS;
	/* So that what follows the name stands where it should. */
	size_t room =
	    indent + NAME_COLUMNS < FUNCTION_COLUMNS ? FUNCTION_COLUMNS - indent : NAME_COLUMNS;

	put_indent(cell, entry->depth);
	mt_str_append(cell, entry->kind == MT_TEXT_RETURN ? "└ " : "");
	if (entry->slice.arguments || entry->result)
		put_call(cell, style, entry, room);
	else
		put_name(cell, &style->scratch, mt_slice_name(&entry->slice), room);
	put_notes(cell, entry);
	if (entry->slice.kind == MT_SLICE_SIDE && entry->kind != MT_TEXT_RETURN)
		put_side_event(cell, entry->slice.side);
	if (entry->slice.kind == MT_SLICE_GAP && entry->slice.bytes_lost)
		mt_str_appendf(cell, " (%llu bytes)", (unsigned long long)entry->slice.bytes_lost);
	put_cell(out, style, FUNCTION_COLUMNS, slice_colour(entry));
	put_spaces(out, 2);
}

static void put_call_cell(struct mt_str *out, struct mt_text_style *style,
			  const struct mt_text_entry *entry)
{
	const struct mt_source *source = &entry->slice.call_source;
	struct mt_str *cell = &style->cell;

	if (entry->slice.kind == MT_SLICE_SIDE)
		return;
	if (source->file) {
		put_name(cell, &style->scratch, base_name(source->file), PLACE_COLUMNS);
		if (source->line)
			mt_str_appendf(cell, ":%u", source->line);
	} else if (entry->caller_module) {
		put_name(cell, &style->scratch, base_name(entry->caller_module), PLACE_COLUMNS);
	}
	put_cell(out, style, 0, DIM);
}

static void put_trigger(struct mt_str *out, const struct mt_instant *instant)
{
	const struct mt_hit *hit = instant->hit;

	/* What the program asked for itself has a name, and no number that its user knows. */
	if (!instant->side)
		mt_str_appendf(out, "trigger %llu", (unsigned long long)instant->value);
	if (hit && !instant->side)
		mt_str_append(out, ": ");
	if (hit || instant->side)
		put_clean(out, mt_instant_name(instant));
	if (!hit)
		return;
	if (*hit->condition) {
		mt_str_append(out, " if ");
		put_clean(out, hit->condition);
	}
	if (*hit->values) {
		mt_str_append(out, " (");
		put_clean(out, hit->values);
		mt_str_append(out, ")");
	}
	mt_str_appendf(out, ", thread %d", hit->tid);
}

static void put_what(struct mt_str *out, const struct mt_instant *instant)
{
	int status = (int)instant->value; /* of an EXIT */

	if (instant->kind == MT_INSTANT_TRIGGER) {
		put_trigger(out, instant);
		return;
	}
	put_clean(out, mt_instant_name(instant));
	if (instant->kind == MT_INSTANT_FAULT ||
	    (instant->kind == MT_INSTANT_SIGNAL && mt_signal_has_address(instant->detail)))
		mt_str_appendf(out, ", address 0x%llx", (unsigned long long)instant->value);
	else if (instant->kind == MT_INSTANT_EXIT && WIFEXITED(status))
		mt_str_appendf(out, " with status %d", WEXITSTATUS(status));
	else if (instant->kind == MT_INSTANT_EXIT && WIFSIGNALED(status))
		mt_str_appendf(out, " by %s", mt_signal_name((uint32_t)WTERMSIG(status)));
	else if (instant->kind == MT_INSTANT_GAP && instant->value)
		mt_str_appendf(out, " (%llu bytes)", (unsigned long long)instant->value);
}

static void put_instant(struct mt_str *out, struct mt_text_style *style,
			const struct mt_text_entry *entry)
{
	const struct mt_instant *instant = &entry->instant;
	struct mt_str *cell = &style->cell;

	put_time_cell(out, style, instant->time_ns, instant->estimated);
	put_spaces(out, MT_TEXT_DURATION_COLUMNS + 2);
	put_indent(cell, entry->depth);
	mt_str_append(cell, "*** ");
	put_what(cell, instant);
	if (instant->function) {
		mt_str_append(cell, instant->kind == MT_INSTANT_THROTTLE
					? ", not recorded from here on: "
					: " in ");
		put_name(cell, &style->scratch, instant->function->name, NAME_COLUMNS);
	}
	put_cell(out, style, FUNCTION_COLUMNS, instant->kind == MT_INSTANT_SIGNAL ? RED : YELLOW);
	put_spaces(out, 2);
	/* With its directories: here the reader goes on in an editor. */
	if (instant->source.file) {
		put_clean(cell, instant->source.file);
		if (instant->source.line)
			mt_str_appendf(cell, ":%u", instant->source.line);
	} else if (instant->address) {
		mt_str_appendf(cell, "%#llx", (unsigned long long)instant->address);
	}
	put_cell(out, style, 0, BOLD);
}

static void put_segment(struct mt_str *out, struct mt_text_style *style,
			const struct mt_thread_segment *segment)
{
	struct mt_str *cell = &style->cell;

	style->zero_ns = segment->end_ns;
	style->length_ns = segment->end_ns - segment->begin_ns;
	mt_str_append(cell, "-- history of ");
	mt_text_duration(cell, style->length_ns);
	while (cell->length && cell->text[cell->length - 1] == ' ')
		cell->length--;
	if (segment->snapshot)
		mt_str_appendf(cell, ", up to snapshot %u", segment->snapshot);
	mt_str_append(cell, " --");
	put_cell(out, style, 0, BOLD);
}

/* A line of another kind, under the functions. */
static void put_remark(struct mt_str *out, struct mt_text_style *style)
{
	put_spaces(out, MT_TEXT_FUNCTION_COLUMN);
	put_cell(out, style, 0, DIM);
	put_newline(out);
}

static void put_folded(struct mt_str *out, struct mt_text_style *style,
		       const struct mt_text_entry *entry)
{
	const struct mt_instant *instant = &entry->instant;
	const char *name = instant->function->name;
	struct mt_str *cell = &style->cell;
	mt_auto(mt_str) struct mt_str bare = {0};

	mt_str_append_bytes(&bare, name, mt_name_without_parameters(name));
	put_indent(cell, entry->depth);
	mt_str_appendf(cell, "(%llu calls %s ", (unsigned long long)instant->value,
		       instant->detail ? "after" : "in");
	put_name(cell, &style->scratch, bare.text ? bare.text : name, NAME_COLUMNS);
	mt_str_appendf(cell, " are not shown: %s)", instant->side->reason);
	put_remark(out, style);
}

void mt_text_entry(struct mt_str *out, struct mt_text_style *style,
		   const struct mt_text_entry *entry)
{
	const struct mt_slice *slice = &entry->slice;

	switch (entry->kind) {
	case MT_TEXT_SEGMENT:
		put_segment(out, style, &entry->segment);
		break;
	case MT_TEXT_INSTANT:
		if (entry->instant.kind == MT_INSTANT_FOLDED) {
			put_folded(out, style, entry);
			return;
		}
		put_instant(out, style, entry);
		break;
	case MT_TEXT_UNENDED:
		mt_str_appendf(&style->cell, "(%llu of the calls marked … did not return)",
			       (unsigned long long)entry->count);
		put_remark(out, style);
		return;
	case MT_TEXT_RETURN:
		put_time_cell(out, style, entry->end_ns,
			      entry->end_flags & MT_SLICE_END_TIME_ESTIMATED);
		put_duration_cell(out, style, entry);
		put_function_cell(out, style, entry);
		break;
	default:
		put_time_cell(out, style, slice->time_ns, slice->flags & MT_SLICE_TIME_ESTIMATED);
		put_duration_cell(out, style, entry);
		put_function_cell(out, style, entry);
		put_call_cell(out, style, entry);
	}
	put_newline(out);
}

void mt_text_elided(struct mt_str *out, struct mt_text_style *style, size_t count)
{
	mt_str_appendf(&style->cell, "(%zu calls in between are not shown)", count);
	put_remark(out, style);
}

void mt_text_command(struct mt_str *out, struct mt_text_style *style, const char *command)
{
	mt_str_append(&style->cell, "Command: ");
	put_clean(&style->cell, command);
	put_cell(out, style, 0, NULL);
	mt_str_append(out, "\n");
}

void mt_text_sampling(struct mt_str *out, const struct mt_sampling *sampling)
{
	mt_str_appendf(out, "%llu sample%s of ", (unsigned long long)sampling->samples,
		       sampling->samples == 1 ? "" : "s");
	put_clean(out, sampling->event);
	mt_str_append(out, ", every ~");
	mt_text_duration(out, sampling->period_ns);
	mt_str_append(out, ": what is not sampled is not seen");
}

void mt_text_thread(struct mt_str *out, struct mt_text_style *style, const struct mt_thread *thread)
{
	struct mt_str *cell = &style->cell;

	if (mt_tid_is_track(thread->tid))
		mt_str_append(cell, "Track");
	else if (mt_tid_is_goroutine(thread->tid))
		mt_str_append(cell, "Goroutine");
	else if (mt_tid_is_fiber(thread->tid))
		mt_str_append(cell, "Coroutine");
	else
		mt_str_appendf(cell, "Thread %d", thread->tid);
	if (thread->name) {
		mt_str_append(cell, " \"");
		put_clean(cell, thread->name);
		mt_str_append(cell, "\"");
	}
	mt_str_appendf(cell, " of process %d", thread->pid);
	if (thread->process) {
		mt_str_append(cell, " \"");
		put_clean(cell, thread->process);
		mt_str_append(cell, "\"");
	}
	put_cell(out, style, 0, BOLD);
	mt_str_append(out, "\n");
	if (thread->sampling) {
		mt_text_sampling(cell, thread->sampling);
		put_cell(out, style, 0, YELLOW);
		mt_str_append(out, "\n");
	}
	mt_text_head(out, style);
}

void mt_text_head(struct mt_str *out, struct mt_text_style *style)
{
	mt_str_append(&style->cell, "time");
	put_cell(out, style, -MT_TEXT_TIME_COLUMNS, DIM);
	mt_str_append(&style->cell, "duration");
	put_cell(out, style, -MT_TEXT_DURATION_COLUMNS, DIM);
	put_spaces(out, 2);
	mt_str_append(&style->cell, "function");
	put_cell(out, style, FUNCTION_COLUMNS + 2, DIM);
	mt_str_append(&style->cell, "called at");
	put_cell(out, style, 0, DIM);
	mt_str_append(out, "\n");
}
