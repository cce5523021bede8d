/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings of call events into slices: the events are made up, the program they are of is this
 * test itself, so that names and lines are real. */
#include "sp_text.h"

#include "decode/decode.h"
#include "perf/recording_writer.h"

#include <stdio.h>
#include <unistd.h>

#define TID   101
#define STACK 0x7ffc00010000ull

#ifdef __clang__ /* which makes no clones */
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

ALONE static int inner(int n)
{
	return n * 3;
}

ALONE static int outer(int n)
{
	return inner(n + 1) * 5;
}

static struct mt_recording_writer *start(void)
{
	const struct mt_recording_writer_options options = {.calls = true};
	struct mt_recording_writer *writer = NULL;

	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	return writer;
}

static void put(struct mt_recording_writer *writer, struct mt_sideband record)
{
	record.pid = TID;
	record.tid = record.tid ? record.tid : TID;
	record.cpu = -1;
	assert_no_error(mt_recording_writer_put(writer, &record));
}

static void put_program(struct mt_recording_writer *writer, uint64_t time_ns)
{
	char line[512], path[256];
	unsigned long long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	put(writer, (struct mt_sideband){.kind = MT_SIDEBAND_COMM,
					 .time_ns = time_ns,
					 .comm = {.name = "toy", .exec = true}});
	while (fgets(line, sizeof(line), maps)) {
		char protection[8];

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &from, &to, protection,
			   &offset, path) < 5 ||
		    protection[2] != 'x' || path[0] != '/')
			continue;
		put(writer, (struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
						 .time_ns = time_ns,
						 .mmap = {.start = from,
							  .length = to - from,
							  .offset = offset,
							  .path = path,
							  .executable = true}});
	}
	fclose(maps);
}

static void put_call(struct mt_recording_writer *writer, uint64_t time_ns, uint8_t kind,
		     int (*function)(int), uint64_t stack)
{
	const struct mt_event call = {
	    .time_ns = time_ns,
	    .kind = kind,
	    .to = (uint64_t)(uintptr_t)function + (kind != MT_EVENT_ENTRY),
	    .from = STACK - stack,
	};

	assert_no_error(mt_recording_writer_put_calls(writer, TID, TID, &call, 1));
}

static void put_note(struct mt_recording_writer *writer, uint64_t time_ns,
		     enum mt_recording_note note, uint64_t weight)
{
	put(writer, (struct mt_sideband){.kind = MT_SIDEBAND_SAMPLE,
					 .time_ns = time_ns,
					 .sample = {.event = note, .weight = weight}});
}

/* Destroys the writer. */
static void check(struct mt_recording_writer *writer, pid_t tid, const char *wanted)
{
	struct sp_text text = {0};
	struct check_sink checked = {.next = {&sp_text_ops, &text}};
	const struct mt_decode_options options = {.tid = tid};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(mt_decode(recording, &options,
				  (struct mt_slice_sink){&check_sink_ops, &checked}, &stats));
	assert_string_equal(check_sink_failure(&checked), "");
	assert_string_equal(text.text, wanted);
	check_sink_deinit(&checked);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
}

static void functions_have_their_names(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_call(writer, 20, MT_EVENT_ENTRY, outer, 0);
	put_call(writer, 21, MT_EVENT_ENTRY, inner, 64);
	put_call(writer, 22, MT_EVENT_LEAVE, inner, 64);
	put_call(writer, 23, MT_EVENT_LEAVE, outer, 0);
	check(writer, 0, "outer(inner())|");
}

static struct mt_error *check_source(void *self, const struct mt_slice *slice)
{
	int *seen = self;

	assert_string_equal(slice->function->name, "outer");
	assert_non_null(slice->function->source.file);
	assert_non_null(strstr(slice->function->source.file, "test_target_decode_calls.c"));
	assert_in_range(slice->function->source.line, 15, 30);
	++*seen;
	return NULL;
}

static struct mt_error *pass_end(void *self, const struct mt_slice_end *end)
{
	(void)self;
	(void)end;
	return NULL;
}

static void functions_have_their_lines(void **state)
{
	const struct mt_slice_sink_ops ops = {
	    .thread = sp_thread,
	    .segment_begin = sp_segment_begin,
	    .begin = check_source,
	    .end = pass_end,
	    .segment_end = sp_segment_begin,
	};
	struct mt_recording_writer *writer = start();
	struct mt_recording *recording = NULL;
	int seen = 0;

	(void)state;
	put_program(writer, 10);
	put_call(writer, 20, MT_EVENT_ENTRY, outer, 0);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(mt_decode(recording, NULL, (struct mt_slice_sink){&ops, &seen}, NULL));
	assert_int_equal(seen, 1);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
}

static void notes_stand_where_they_belong(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_note(writer, 21, MT_NOTE_TRIGGER, 1);
	put_note(writer, 25, MT_NOTE_SIGNAL, 11);
	put_note(writer, 26, MT_NOTE_EXIT, 139);
	put_call(writer, 20, MT_EVENT_ENTRY, outer, 0);
	put_call(writer, 22, MT_EVENT_ENTRY, inner, 64);
	put_call(writer, 23, MT_EVENT_LEAVE, inner, 64);
	check(writer, 0, "outer(!triggerinner()!signal!exit)o|");
}

/* What was open at a snapshot is told at its end, by the snapshot's own time. */
static void snapshots_cut_no_calls(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_call(writer, 20, MT_EVENT_ENTRY, inner, 64);
	put_call(writer, 30, MT_EVENT_FRAME, inner, 64);
	put_call(writer, 30, MT_EVENT_FRAME, outer, 0);
	put_note(writer, 30, MT_NOTE_SNAPSHOT, 1);
	put_call(writer, 31, MT_EVENT_LEAVE, inner, 64);
	put_call(writer, 32, MT_EVENT_ENTRY, inner, 64);
	put_note(writer, 40, MT_NOTE_SNAPSHOT, 2);
	check(writer, 0, "outeri(inner(!snapshot)inner()o)o#|");
}

static void lost_events_are_a_gap(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_call(writer, 20, MT_EVENT_ENTRY, outer, 0);
	put(writer,
	    (struct mt_sideband){.kind = MT_SIDEBAND_LOST, .time_ns = 21, .lost = {.lost = 64}});
	put_call(writer, 22, MT_EVENT_LEAVE, inner, 64);
	check(writer, 0, "outer@1(!gap)l[lost]()|inneri()|");
}

static void exec_replaces_the_names(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_call(writer, 20, MT_EVENT_ENTRY, outer, 0);
	put(writer, (struct mt_sideband){.kind = MT_SIDEBAND_COMM,
					 .time_ns = 30,
					 .comm = {.name = "other", .exec = true}});
	put_call(writer, 40, MT_EVENT_ENTRY, outer, 0);
	check(writer, 0, "outer(!exec)o|[unknown]()o|");
}

static void threads_are_apart(void **state)
{
	struct mt_event call = {
	    .time_ns = 20, .to = (uint64_t)(uintptr_t)outer, .from = STACK, .kind = MT_EVENT_ENTRY};
	struct mt_recording_writer *writer = start();

	(void)state;
	put_program(writer, 10);
	put_call(writer, 21, MT_EVENT_ENTRY, inner, 0);
	assert_no_error(mt_recording_writer_put_calls(writer, TID, TID + 1, &call, 1));
	put_call(writer, 22, MT_EVENT_LEAVE, inner, 0);
	check(writer, 0, "inner()|outer()o|");

	writer = start();
	put_program(writer, 10);
	put_call(writer, 21, MT_EVENT_ENTRY, inner, 0);
	assert_no_error(mt_recording_writer_put_calls(writer, TID, TID + 1, &call, 1));
	check(writer, TID + 1, "outer()o|");
}

/* Frames that a batch of the decoder cuts in two. */
static void many_frames_are_one_stack(void **state)
{
	enum { DEPTH = 10000 };
	struct mt_event *frames = calloc(DEPTH, sizeof(*frames));
	struct mt_recording_writer *writer = start();
	struct mt_recording *recording = NULL;
	struct check_sink checked = {0};

	(void)state;
	for (uint64_t i = 0; i < DEPTH; i++)
		frames[i] = (struct mt_event){
		    .time_ns = 20,
		    .to = (uint64_t)(uintptr_t)outer + (i ? 1 : 0),
		    .from = STACK + 64 * i,
		    .kind = MT_EVENT_FRAME,
		};
	put_program(writer, 10);
	assert_no_error(mt_recording_writer_put_calls(writer, TID, TID, frames, DEPTH));
	put_note(writer, 20, MT_NOTE_SNAPSHOT, 1);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(
	    mt_decode(recording, NULL, (struct mt_slice_sink){&check_sink_ops, &checked}, NULL));
	assert_string_equal(check_sink_failure(&checked), "");
	assert_int_equal(checked.deepest, DEPTH);
	assert_int_equal(checked.inferred, DEPTH);
	check_sink_deinit(&checked);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
	free(frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_have_their_names),
	    cmocka_unit_test(functions_have_their_lines),
	    cmocka_unit_test(notes_stand_where_they_belong),
	    cmocka_unit_test(snapshots_cut_no_calls),
	    cmocka_unit_test(lost_events_are_a_gap),
	    cmocka_unit_test(exec_replaces_the_names),
	    cmocka_unit_test(threads_are_apart),
	    cmocka_unit_test(many_frames_are_one_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
