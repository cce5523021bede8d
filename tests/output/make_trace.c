/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends the slices of a script to a trace writer:
 *
 *	make_trace PATH FORMAT LAST COLOUR COMMAND < SCRIPT
 *
 * FORMAT and COMMAND may be "-": not given.  A line of the script is a word and its fields, with
 * tabs between them, in the order of scan_line() below.  Numbers are as strtoull() takes them,
 *texts are percent-encoded, and "-" is no text.  It keeps every text once for the whole run, as the
 * sink's contract asks. */
#include "output/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define FIELDS_MAX 16

struct text {
	UT_hash_handle hh;
	char text[];
};

struct function {
	UT_hash_handle hh;
	struct mt_function function;
	char key[];
};

struct side {
	struct side *next;
	struct mt_side_event event;
};

static struct side *sides;
static struct text *texts;
static struct function *functions;

static char *field_at(char **fields, int index)
{
	static char none[] = "-";

	return fields[index] ? fields[index] : none;
}

static uint64_t number(char **fields, int index)
{
	return strtoull(field_at(fields, index), NULL, 0);
}

static void decode(char *out, const char *in)
{
	while (*in) {
		unsigned byte = 0;

		if (*in == '%' && sscanf(in + 1, "%2x", &byte) == 1)
			in += 3;
		else
			byte = (unsigned char)*in++;
		*out++ = (char)byte;
	}
	*out = '\0';
}

static const char *text(char **fields, int index)
{
	const char *field = field_at(fields, index);
	struct text *found = NULL;

	if (strcmp(field, "-") == 0)
		return NULL;
	struct text *fresh = calloc(1, sizeof(*fresh) + strlen(field) + 1);
	decode(fresh->text, field);
	HASH_FIND(hh, texts, fresh->text, strlen(fresh->text), found);
	if (found) {
		free(fresh);
		return found->text;
	}
	HASH_ADD_KEYPTR(hh, texts, fresh->text, strlen(fresh->text), fresh);
	return fresh->text;
}

/* NAME MODULE FILE LINE */
static const struct mt_function *function(char **fields, int index)
{
	const char *name = text(fields, index);
	const char *file = text(fields, index + 2);
	struct function *found = NULL;
	char *key = NULL;

	if (!name)
		return NULL;
	int length =
	    asprintf(&key, "%s\n%s\n%s\n%s", field_at(fields, index), field_at(fields, index + 1),
		     field_at(fields, index + 2), field_at(fields, index + 3));
	HASH_FIND(hh, functions, key, (size_t)length, found);
	if (!found) {
		const char *module = text(fields, index + 1);

		found = calloc(1, sizeof(*found) + (size_t)length + 1);
		memcpy(found->key, key, (size_t)length);
		found->function = (struct mt_function){
		    .name = name,
		    .module = module ? module : "",
		    .source = {.file = file, .line = (uint32_t)number(fields, index + 3)},
		};
		HASH_ADD_KEYPTR(hh, functions, found->key, (size_t)length, found);
	}
	free(key);
	return &found->function;
}

static struct mt_thread_segment segment;

static struct mt_error *send_thread(struct mt_slice_sink sink, char **f)
{
	struct mt_thread thread = {
	    .pid = (pid_t)number(f, 0),
	    .tid = (pid_t)number(f, 1),
	    .name = text(f, 2),
	    .process = text(f, 3),
	};

	return sink.ops->thread(sink.self, &thread);
}

static struct mt_error *send_begin(struct mt_slice_sink sink, char **f)
{
	struct mt_slice slice = {
	    .time_ns = number(f, 0),
	    .kind = (uint8_t)number(f, 1),
	    .flags = (uint8_t)number(f, 2),
	    .address = number(f, 3),
	    .call_site = number(f, 4),
	    .call_source = {.file = text(f, 5), .line = (uint32_t)number(f, 6)},
	    .cause = (enum mt_gap_cause)number(f, 7),
	    .bytes_lost = number(f, 8),
	    .function = function(f, 9),
	    .depth = (uint32_t)number(f, 13),
	};

	return sink.ops->begin(sink.self, &slice);
}

/* NAME CATEGORY ARGUMENTS RESULT REASON; lives as long as the texts. */
static const struct mt_side_event *side_event(char **fields, int index)
{
	struct side *side = calloc(1, sizeof(*side));

	side->event = (struct mt_side_event){
	    .name = text(fields, index),
	    .category = text(fields, index + 1),
	    .arguments = text(fields, index + 2),
	    .result = text(fields, index + 3),
	    .reason = text(fields, index + 4),
	};
	side->next = sides;
	sides = side;
	return &side->event;
}

static struct mt_error *send_side_begin(struct mt_slice_sink sink, char **f)
{
	const struct mt_slice slice = {
	    .time_ns = number(f, 0),
	    .kind = MT_SLICE_SIDE,
	    .depth = (uint32_t)number(f, 1),
	    .side = side_event(f, 2),
	};

	return sink.ops->begin(sink.self, &slice);
}

static struct mt_error *send_fault(struct mt_slice_sink sink, char **f)
{
	const struct mt_instant instant = {
	    .time_ns = number(f, 0),
	    .kind = MT_INSTANT_FAULT,
	    .value = number(f, 1),
	    .side = side_event(f, 2),
	};

	return sink.ops->instant(sink.self, &instant);
}

static struct mt_error *send_counter(struct mt_slice_sink sink, char **f)
{
	const struct mt_counter counter = {
	    .time_ns = number(f, 0),
	    .name = text(f, 1),
	    .tid = (pid_t)number(f, 2),
	    .value = number(f, 3),
	    .is_real = number(f, 4),
	    .real = strtod(field_at(f, 5), NULL),
	};

	return sink.ops->counter ? sink.ops->counter(sink.self, &counter) : NULL;
}

static struct mt_error *send_end(struct mt_slice_sink sink, char **f)
{
	struct mt_slice_end end = {
	    .time_ns = number(f, 0),
	    .flags = (uint8_t)number(f, 1),
	    .depth = (uint32_t)number(f, 2),
	};

	return sink.ops->end(sink.self, &end);
}

static struct mt_error *send_instant(struct mt_slice_sink sink, char **f)
{
	struct mt_instant instant = {
	    .time_ns = number(f, 0),
	    .kind = (uint8_t)number(f, 1),
	    .detail = (uint32_t)number(f, 2),
	    .value = number(f, 3),
	    .address = number(f, 4),
	    .source = {.file = text(f, 5), .line = (uint32_t)number(f, 6)},
	    .function = function(f, 7),
	};

	return sink.ops->instant(sink.self, &instant);
}

static struct mt_error *send_segment_begin(struct mt_slice_sink sink, char **f)
{
	segment = (struct mt_thread_segment){
	    .begin_ns = number(f, 0),
	    .end_ns = number(f, 1),
	    .number = (uint32_t)number(f, 2),
	    .snapshot = (uint32_t)number(f, 3),
	};
	return sink.ops->segment_begin(sink.self, &segment);
}

static struct mt_error *send_line(struct mt_slice_sink sink, char *line)
{
	char *fields[FIELDS_MAX + 1] = {NULL};
	char *rest = line;

	for (int i = 0; i < FIELDS_MAX && rest; i++)
		fields[i] = strsep(&rest, "\t");
	if (strcmp(line, "thread") == 0)
		return send_thread(sink, fields + 1);
	if (strcmp(line, "segment_begin") == 0)
		return send_segment_begin(sink, fields + 1);
	if (strcmp(line, "begin") == 0)
		return send_begin(sink, fields + 1);
	if (strcmp(line, "end") == 0)
		return send_end(sink, fields + 1);
	if (strcmp(line, "instant") == 0)
		return send_instant(sink, fields + 1);
	if (strcmp(line, "side_begin") == 0)
		return send_side_begin(sink, fields + 1);
	if (strcmp(line, "fault") == 0)
		return send_fault(sink, fields + 1);
	if (strcmp(line, "counter") == 0)
		return send_counter(sink, fields + 1);
	if (strcmp(line, "segment_end") == 0)
		return sink.ops->segment_end(sink.self, &segment);
	return mt_error_new(MT_ERROR_USAGE, "a strange line: %s", line);
}

static void free_texts(void)
{
	struct text *one, *next;
	struct function *each, *after;

	while (sides) {
		struct side *side = sides;

		sides = side->next;
		free(side);
	}
	HASH_ITER (hh, texts, one, next) {
		HASH_DEL(texts, one);
		free(one);
	}
	HASH_ITER (hh, functions, each, after) {
		HASH_DEL(functions, each);
		free(each);
	}
}

static struct mt_error *run(struct mt_trace_writer *writer)
{
	struct mt_slice_sink sink = mt_trace_writer_sink(writer);
	struct mt_error *error = NULL;
	char *line = NULL;
	size_t room = 0;

	while (!error && getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		error = send_line(sink, line);
	}
	free(line);
	if (!error && sink.ops->finish)
		error = sink.ops->finish(sink.self);
	free_texts(); /* what was lent goes away before the file is finished */
	return error ? error : mt_trace_writer_finish(writer);
}

int main(int argc, char **argv)
{
	struct mt_trace_writer *writer = NULL;

	if (argc != 6)
		return 2;
	struct mt_trace_writer_options options = {
	    .last = strtoull(argv[3], NULL, 0),
	    .colour = strcmp(argv[4], "1") == 0,
	    .command = strcmp(argv[5], "-") ? argv[5] : NULL,
	};
	struct mt_error *error = mt_trace_writer_create(
	    argv[1], strcmp(argv[2], "-") ? argv[2] : NULL, &options, &writer);
	if (!error)
		error = run(writer);
	mt_trace_writer_destroy(writer);
	if (!error)
		return 0;
	fprintf(stderr, "%s\n", mt_error_message(error));
	mt_error_destroy(error);
	return 1;
}
