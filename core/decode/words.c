/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program says by the functions of include/mtrace.h: recorded calls, whose arguments have
 * names of their own (trace/words.h).  Marks become instants where the calls were; spans and
 * numbers get tracks beside them, as they need not end in the function in which they began.  The
 * calls themselves are not shown. */
#include "trace/words.h"
#include "decode/private.h"
#include "trace/sink_ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 4096u /* of a literal */
#define KNOWN      256u

/* A literal that was looked up. */
struct known {
	const struct mt_epoch *epoch;
	uint64_t address, length;
	const char *text;
};

struct mt_words_filter {
	struct mt_slice_sink to;
	struct mt_decode_run *run;
	struct mt_thread thread;
	MT_ARRAY(bool) is_hidden; /* slices that are open, the outermost first */
	uint32_t hidden;          /* of them */
	struct known known[KNOWN];
};
MT_SLICE_FILTER(struct mt_words_filter, to);

/* ---- Texts ---- */

/* In the file that has the address; NULL: none. */
static const char *find_literal(struct mt_words_filter *filter, const struct mt_space *space,
				uint64_t address, uint64_t length)
{
	for (size_t i = 0; i < mt_space_mapping_count(space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(space, i);
		size_t size = 0;
		const uint8_t *bytes =
		    mapping->objfile
			? mt_objfile_bytes(mapping->objfile, address - mapping->bias, &size)
			: NULL;

		if (length < size)
			size = length;
		if (bytes)
			return mt_arena_text(&filter->run->arena, (const char *)bytes,
					     size < TEXT_BYTES ? size : TEXT_BYTES);
	}
	return NULL;
}

static const char *literal_at(struct mt_words_filter *filter, uint64_t time_ns, uint64_t address,
			      uint64_t length)
{
	struct mt_arena *arena = &filter->run->arena;
	struct mt_process_thread *thread =
	    mt_processes_thread(filter->run->processes, filter->thread.tid);
	const struct mt_epoch *epoch =
	    thread ? mt_decode_epoch_at(filter->run, thread, time_ns) : NULL;
	struct known *known = &filter->known[(address * 0x9e3779b97f4a7c15u) >> 56];

	if (!epoch)
		return NULL;
	if (known->text && known->epoch == epoch && known->address == address &&
	    known->length == length)
		return known->text;
	const char *text = find_literal(filter, epoch->space, address, length);
	if (!text)
		text = mt_arena_format(arena, "0x%" PRIx64, address);
	*known = (struct known){epoch, address, length, text};
	return text;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Whatever stands in a recording: nothing behind its NUL is read. */
static char unescaped(const char **at)
{
	const char c = *(*at)++;

	if (c != '\\' || !**at)
		return c;
	const char next = *(*at)++;
	if (next == 'n')
		return '\n';
	if (next == 't')
		return '\t';
	if (!is_octal(next) || !is_octal((*at)[0]) || !is_octal((*at)[1]))
		return next;
	char digits[4] = {next, (*at)[0], (*at)[1], 0};
	*at += 2;
	return (char)strtoul(digits, NULL, 8);
}

/* As mt_recorded_string_append() quotes them: "...", with dots behind if that is not all. */
static const char *text_in_quotes(struct mt_words_filter *filter, const char *quoted)
{
	char text[MT_RECORDED_STRING_BYTES + sizeof("...")];
	size_t length = 0;

	while (*quoted && *quoted != '"' && length < MT_RECORDED_STRING_BYTES)
		text[length++] = unescaped(&quoted);
	if (*quoted == '"')
		quoted++;
	for (; *quoted == '.' && length + 1 < sizeof(text); quoted++)
		text[length++] = '.';
	text[length] = 0;
	return mt_arena_text(&filter->run->arena, text, length);
}

/* What stands behind NAME= in the other values of a call, after the first one, VALUE; NULL: none.
 */
static const char *other_value(const char *value, const char *name)
{
	const size_t length = strlen(name);
	const char *at = value;

	if (*at == '"')
		for (at++; *at && *at != '"';)
			unescaped(&at);
	while ((at = strstr(at, ", ")) != NULL) {
		at += 2;
		if (strncmp(at, name, length) == 0 && at[length] == '=')
			return at + length + 1;
	}
	return NULL;
}

/* NULL: no memory. */
static const char *text_of(struct mt_words_filter *filter, uint64_t time_ns, const char *value)
{
	const char *length = other_value(value, MT_WORDS_LENGTH_NAME);

	if (*value == '"')
		return text_in_quotes(filter, value + 1);
	return literal_at(filter, time_ns, strtoull(value, NULL, 0),
			  length ? strtoull(length, NULL, 10) : UINT64_MAX);
}

/* ---- What is said ---- */

static struct mt_error *say(struct mt_words_filter *filter, enum mt_recording_note note,
			    const struct mt_slice *slice, const char *text, const uint64_t *bits)
{
	struct mt_said said = {.note = note};

	if (!text)
		return mt_error_no_memory();
	said.record.time_ns = slice->time_ns;
	said.record.kind = MT_SIDEBAND_SAMPLE;
	said.record.pid = filter->thread.pid;
	said.record.tid = filter->thread.tid;
	said.record.sample.raw = (const uint8_t *)text;
	said.record.sample.raw_size = (uint32_t)strlen(text) + 1;
	said.record.sample.address = bits != NULL;
	said.record.sample.weight = bits ? *bits : 0;
	return mt_array_push(&filter->run->said, said) ? mt_error_no_memory() : NULL;
}

static struct mt_error *mark(struct mt_words_filter *filter, const struct mt_slice *slice,
			     const char *text)
{
	struct mt_side_event *what = mt_arena_zalloc(&filter->run->arena, sizeof(*what));

	if (!what || !text)
		return mt_error_no_memory();
	what->category = "mark";
	what->name = *text ? text : "(no words)";
	struct mt_instant instant = {
	    .time_ns = slice->time_ns,
	    .kind = MT_INSTANT_MARK,
	    .estimated = slice->flags & MT_SLICE_TIME_ESTIMATED,
	    .address = slice->call_site,
	    .side = what,
	};
	const struct mt_process_thread *who =
	    mt_processes_thread(filter->run->processes, filter->thread.tid);

	if (who)
		mt_decode_name_instant(filter->run, who, &instant);
	return filter->to.ops->instant(filter->to.self, &instant);
}

/* VALUE follows NAME= in TEXT; NULL: TEXT begins with another name. */
static const char *value_of(const char *text, const char *name)
{
	const size_t length = strlen(name);

	return strncmp(text, name, length) == 0 && text[length] == '=' ? text + length + 1 : NULL;
}

static struct mt_error *number(struct mt_words_filter *filter, const struct mt_slice *slice,
			       const char *value)
{
	const char *rest = other_value(value, MT_WORDS_BITS_NAME);

	if (!rest)
		return NULL;
	const uint64_t bits = (uint64_t)strtoll(rest, NULL, 10);
	return say(filter, MT_NOTE_COUNTER, slice, text_of(filter, slice->time_ns, value), &bits);
}

/* *IS_WORDS: the call says something, and is none to be shown. */
static struct mt_error *hear(struct mt_words_filter *filter, const struct mt_slice *slice,
			     bool *is_words)
{
	const char *text = slice->kind == MT_SLICE_CALL ? slice->arguments : NULL, *value;

	*is_words = text && strncmp(text, MT_WORDS_PREFIX, sizeof(MT_WORDS_PREFIX) - 1) == 0;
	if (!*is_words)
		return NULL;
	if ((value = value_of(text, MT_WORDS_MARK_NAME)))
		return mark(filter, slice, text_of(filter, slice->time_ns, value));
	if ((value = value_of(text, MT_WORDS_BEGIN_NAME)))
		return say(filter, MT_NOTE_SPAN, slice, text_of(filter, slice->time_ns, value),
			   NULL);
	if (value_of(text, MT_WORDS_END_NAME))
		return say(filter, MT_NOTE_SPAN_END, slice, "", NULL);
	if ((value = value_of(text, MT_WORDS_NUMBER_NAME)))
		return number(filter, slice, value);
	*is_words = false;
	return NULL;
}

/* ---- The sink ---- */

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_words_filter *filter = self;
	bool is_words;

	mt_try(hear(filter, slice, &is_words));
	if (mt_array_push(&filter->is_hidden, is_words))
		return mt_error_no_memory();
	if (is_words) {
		filter->hidden++;
		return NULL;
	}
	struct mt_slice shown = *slice;
	shown.depth -= filter->hidden < shown.depth ? filter->hidden : shown.depth;
	return mt_slice_pass_begin(self, &shown);
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_words_filter *filter = self;
	struct mt_slice_end shown = *what;

	if (filter->is_hidden.count && filter->is_hidden.items[--filter->is_hidden.count]) {
		filter->hidden--;
		return NULL;
	}
	shown.depth -= filter->hidden < shown.depth ? filter->hidden : shown.depth;
	return mt_slice_pass_end(self, &shown);
}

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct mt_words_filter *filter = self;

	filter->thread = *which;
	/* What a coroutine says is said by its thread. */
	if (filter->run->fibers_thread)
		filter->thread.tid = filter->run->fibers_thread;
	return mt_slice_pass_thread(self, which);
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_words_filter *filter = self;

	filter->is_hidden.count = 0;
	filter->hidden = 0;
	return mt_slice_pass_segment_begin(self, segment);
}

struct mt_slice_sink mt_words_filter_sink(struct mt_words_filter *filter)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = mt_slice_pass_instant,
	    .segment_end = mt_slice_pass_segment_end,
	};

	return (struct mt_slice_sink){&ops, filter};
}

static bool is_anything_said(const struct mt_decode_run *run)
{
	mt_array_each (value, &run->values.items)
		if (value->name &&
		    strncmp(value->name, MT_WORDS_PREFIX, sizeof(MT_WORDS_PREFIX) - 1) == 0)
			return true;
	return false;
}

struct mt_error *mt_words_filter_create(struct mt_decode_run *run, struct mt_words_filter **out)
{
	*out = NULL;
	if (!is_anything_said(run))
		return NULL;
	struct mt_words_filter *filter = calloc(1, sizeof(*filter));
	*out = filter;
	if (!filter)
		return mt_error_no_memory();
	filter->to = run->calls_sink;
	filter->run = run;
	return NULL;
}

void mt_words_filter_destroy(struct mt_words_filter *filter)
{
	if (!filter)
		return;
	mt_array_deinit(&filter->is_hidden);
	free(filter);
}
