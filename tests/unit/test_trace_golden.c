/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs tests/golden/callstack: events in, slices out, compared as text. */
#include "check_sink.h"
#include "text_trace.h"
#include "trace/rebuild.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <glob.h>
#include <unistd.h>

struct line {
	enum { SLICE, INSTANT, SEGMENT } kind;
	size_t depth;
	struct mt_slice slice;
	struct mt_slice_end end;
	struct mt_instant instant;
	struct mt_thread_segment segment;
};

struct printer {
	struct text_trace *trace;
	MT_ARRAY(struct line) lines;
	MT_ARRAY(size_t) open;
};

static struct mt_error *add(struct printer *printer, struct line line)
{
	line.depth = printer->open.count;
	if (line.kind == SLICE && mt_array_push(&printer->open, printer->lines.count))
		return mt_error_no_memory();
	return mt_array_push(&printer->lines, line) ? mt_error_no_memory() : NULL;
}

static struct mt_error *on_thread(void *self, const struct mt_thread *thread)
{
	(void)self;
	(void)thread;
	return NULL;
}

static struct mt_error *on_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	return add(self, (struct line){.kind = SEGMENT, .segment = *segment});
}

static struct mt_error *on_begin(void *self, const struct mt_slice *slice)
{
	return add(self, (struct line){.kind = SLICE, .slice = *slice});
}

static struct mt_error *on_end(void *self, const struct mt_slice_end *end)
{
	struct printer *printer = self;

	printer->lines.items[printer->open.items[--printer->open.count]].end = *end;
	return NULL;
}

static struct mt_error *on_instant(void *self, const struct mt_instant *instant)
{
	return add(self, (struct line){.kind = INSTANT, .instant = *instant});
}

static struct mt_error *on_segment_end(void *self, const struct mt_thread_segment *segment)
{
	(void)self;
	(void)segment;
	return NULL;
}

static const struct mt_slice_sink_ops printer_ops = {
    .thread = on_thread,
    .segment_begin = on_segment_begin,
    .begin = on_begin,
    .end = on_end,
    .instant = on_instant,
    .segment_end = on_segment_end,
};

static void print_place(struct printer *printer, struct mt_str *out, uint64_t address)
{
	const struct mt_function *function = text_function_at(printer->trace, address);

	mt_str_appendf(out, "%s+%" PRIx64, function->name, address - function->start);
}

static void print_flags(struct mt_str *out, unsigned int flags, const char *const *words)
{
	for (; *words; words++, flags >>= 1)
		if (flags & 1)
			mt_str_appendf(out, " %s", *words);
}

static void print_slice(struct printer *printer, struct mt_str *out, const struct line *line)
{
	static const char *const begins[] = {"inferred", "est", "tail", "handler", NULL};
	static const char *const ends[] = {"open", "unwound", "est-end", "lost", NULL};
	const struct mt_slice *slice = &line->slice;

	mt_str_append(out, mt_slice_name(slice));
	if (slice->arguments)
		mt_str_appendf(out, "(%s)", slice->arguments);
	mt_str_appendf(out, " %" PRIu64 "..%" PRIu64, slice->time_ns, line->end.time_ns);
	if (slice->call_site) {
		mt_str_append(out, " @");
		print_place(printer, out, slice->call_site);
	} else if (slice->call_source.line && slice->kind == MT_SLICE_CALL) {
		mt_str_appendf(out, " line %x", slice->call_source.line);
	}
	if (slice->kind == MT_SLICE_INLINED)
		mt_str_append(out, " inlined");
	if (slice->bytes_lost)
		mt_str_appendf(out, " %" PRIu64 " bytes", slice->bytes_lost);
	print_flags(out, slice->flags, begins);
	print_flags(out, line->end.flags, ends);
}

static void print_instant(struct printer *printer, struct mt_str *out, const struct line *line)
{
	static const char *const kinds[] = {"signal",   "gap",  "trigger", "exit",
					    "snapshot", "exec", "tx-abort"};
	const struct mt_instant *instant = &line->instant;

	mt_str_appendf(out, "! %s", kinds[instant->kind]);
	if (instant->kind == MT_INSTANT_SIGNAL)
		mt_str_appendf(out, " %s", mt_signal_name(instant->detail));
	else if (instant->kind == MT_INSTANT_GAP)
		mt_str_appendf(out, " \"%s\"",
			       mt_gap_cause_text((enum mt_gap_cause)instant->detail));
	mt_str_appendf(out, " %" PRIu64, instant->time_ns);
	if (instant->value)
		mt_str_appendf(out, " value %" PRIx64, instant->value);
	if (instant->address) {
		mt_str_append(out, " @");
		print_place(printer, out, instant->address);
	}
}

static void print_line(struct printer *printer, struct mt_str *out, const struct line *line)
{
	if (line->kind == SEGMENT) {
		mt_str_appendf(out, "segment %" PRIu64 "..%" PRIu64, line->segment.begin_ns,
			       line->segment.end_ns);
		if (line->segment.snapshot)
			mt_str_appendf(out, " snapshot %u", line->segment.snapshot);
	} else {
		for (size_t i = 0; i <= line->depth; i++)
			mt_str_append(out, "  ");
		if (line->kind == SLICE)
			print_slice(printer, out, line);
		else
			print_instant(printer, out, line);
	}
	mt_str_append(out, "\n");
}

static void no_error(struct mt_error *error)
{
	if (error)
		fail_msg("%s", mt_error_message(error));
}

static void run_steps(struct text_trace *trace, struct mt_slice_sink sink)
{
	struct mt_rebuild_options options = {.thread = {1, 1, "thread", "process"},
					     .sink = sink,
					     .inlines = true,
					     .values = &trace->values};
	struct mt_symbolizer symbolizer = text_symbolizer(trace);
	struct mt_rebuild *stack;

	no_error(mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	mt_array_each (event, &trace->events)
		no_error(mt_rebuild_push(stack, event, 1));
	no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
}

static void slices_of(struct text_trace *trace, struct mt_str *out, const char *path)
{
	struct printer printer = {.trace = trace};
	struct check_sink check = {.next = {&printer_ops, &printer}};

	run_steps(trace, (struct mt_slice_sink){&check_sink_ops, &check});
	if (*check_sink_failure(&check))
		fail_msg("%s: %s", path, check_sink_failure(&check));
	mt_array_each (line, &printer.lines)
		print_line(&printer, out, line);
	mt_array_deinit(&printer.lines);
	mt_array_deinit(&printer.open);
	check_sink_deinit(&check);
}

static void update(const char *path, const char *slices)
{
	FILE *file = fopen(path, "r+");
	char *text = NULL;
	size_t size = 0;

	while (getline(&text, &size, file) >= 0 && strcmp(text, "---\n") != 0)
		;
	fseek(file, 0, SEEK_CUR);
	fputs(slices, file);
	fflush(file);
	assert_int_equal(ftruncate(fileno(file), ftell(file)), 0);
	fclose(file);
	free(text);
}

static bool agrees(const char *path)
{
	struct text_trace *trace = calloc(1, sizeof(*trace));
	struct mt_str slices = {0};
	FILE *file = fopen(path, "r");
	bool same;

	assert_non_null(file);
	text_trace_read(trace, file);
	fclose(file);
	if (*trace->failure)
		fail_msg("%s: %s", path, trace->failure);
	slices_of(trace, &slices, path);
	same = strcmp(slices.text, trace->expected.text) == 0;
	if (!same && getenv("MT_GOLDEN_UPDATE"))
		update(path, slices.text);
	else if (!same)
		print_error("%s: these slices came out:\n%s", path, slices.text);
	mt_str_deinit(&slices);
	text_trace_deinit(trace);
	free(trace);
	return same;
}

static void golden_files(void **state)
{
	size_t differ = 0;
	glob_t paths;

	(void)state;
	assert_int_equal(glob("tests/golden/callstack/*.txt", 0, NULL, &paths), 0);
	for (size_t i = 0; i < paths.gl_pathc; i++)
		differ += !agrees(paths.gl_pathv[i]);
	globfree(&paths);
	assert_int_equal(differ, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(golden_files)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
