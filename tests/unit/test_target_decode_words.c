/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a recording says that its program said by mtrace.h, into marks: the recording is made up,
 * and whatever may stand in one is no harm.  The program is this test itself. */
#include "unit.h"

#include "decode/decode.h"
#include "perf/recording_writer.h"
#include "trace/sink_ops.h"
#include "trace/words.h"

#include <stdio.h>
#include <string.h>

#define TID   101
#define STACK 0x7ffc00010000ull

static const char literal[] = "a literal of more than thirty-two bytes, in the file";

__attribute__((noinline)) static void said(void)
{
	__asm__ volatile("" : : : "memory");
}

struct heard {
	char text[512];
	int slices;
};

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct heard *heard = self;
	size_t length = strlen(heard->text);

	if (what->kind == MT_INSTANT_MARK)
		snprintf(heard->text + length, sizeof(heard->text) - length, "%s|",
			 what->side->name);
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct heard *heard = self;

	heard->slices += slice->kind == MT_SLICE_CALL;
	return NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	(void)self;
	(void)what;
	return NULL;
}

static const struct mt_slice_sink_ops ops = {
    .thread = mt_slice_ignore_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = begin,
    .end = end,
    .instant = instant,
    .segment_end = mt_slice_ignore_segment,
};

static void put_program(struct mt_recording_writer *writer)
{
	char line[512], path[256];
	unsigned long long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps)) {
		char protection[8];

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &from, &to, protection,
			   &offset, path) < 5 ||
		    protection[2] != 'x' || path[0] != '/')
			continue;
		const struct mt_sideband record = {.kind = MT_SIDEBAND_MMAP,
						   .time_ns = 10,
						   .pid = TID,
						   .tid = TID,
						   .cpu = -1,
						   .mmap = {.start = from,
							    .length = to - from,
							    .offset = offset,
							    .path = path,
							    .executable = true}};
		assert_no_error(mt_recording_writer_put(writer, &record));
	}
	fclose(maps);
}

/* What the value of NUMBER means: RAW as the note has it. */
static void put_meaning(struct mt_recording_writer *writer, uint64_t number, const char *raw,
			size_t size)
{
	const struct mt_sideband record = {.kind = MT_SIDEBAND_SAMPLE,
					   .time_ns = 10,
					   .pid = TID,
					   .tid = TID,
					   .cpu = -1,
					   .sample = {.event = MT_NOTE_VALUE_IS,
						      .ip = (uint64_t)(uintptr_t)said,
						      .weight = number,
						      .raw = (const uint8_t *)raw,
						      .raw_size = (uint32_t)size}};

	assert_no_error(mt_recording_writer_put(writer, &record));
}

/* A call with COUNT values, whose numbers begin with NUMBER. */
static void put_call(struct mt_recording_writer *writer, uint64_t time_ns, uint32_t number,
		     const uint64_t *values, size_t count)
{
	struct mt_event events[10] = {0};

	for (size_t i = 0; i < count; i++)
		events[i] = (struct mt_event){.time_ns = time_ns,
					      .kind = MT_EVENT_VALUE,
					      .to = values[i],
					      .from = STACK,
					      .detail = number + (uint32_t)i};
	events[count] = (struct mt_event){.time_ns = time_ns,
					  .kind = MT_EVENT_ENTRY,
					  .to = (uint64_t)(uintptr_t)said,
					  .from = STACK};
	events[count + 1] = (struct mt_event){.time_ns = time_ns + 1,
					      .kind = MT_EVENT_LEAVE,
					      .to = (uint64_t)(uintptr_t)said + 1,
					      .from = STACK};
	assert_no_error(mt_recording_writer_put_calls(writer, TID, TID, events, count + 2));
}

/* Of calls that RAW describes, with these values; with LENGTH, the second is that of the first. */
static void check_of(const char *raw, size_t size, bool length, const uint64_t *values,
		     size_t count, const char *wanted, int slices)
{
	const struct mt_recording_writer_options options = {.calls = true};
	struct mt_recording_writer *writer = NULL;
	struct mt_recording *recording = NULL;
	struct heard heard = {0};

	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	put_program(writer);
	put_meaning(writer, 3, raw, size);
	if (length)
		put_meaning(writer, 4, "length\0d8", sizeof("length\0d8"));
	put_call(writer, 20, 3, values, count);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(mt_decode(recording, NULL, (struct mt_slice_sink){&ops, &heard}, NULL));
	assert_string_equal(heard.text, wanted);
	assert_int_equal(heard.slices, slices);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
}

#define CHECK(raw, wanted, slices, ...)                                                            \
	check_of(raw, sizeof(raw), false, (const uint64_t[]){__VA_ARGS__},                         \
		 sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), wanted, slices)
#define CHECK_LENGTH(raw, wanted, ...)                                                             \
	check_of(raw, sizeof(raw), true, (const uint64_t[]){__VA_ARGS__}, 2, wanted, 0)

static void texts_are_marks(void **state)
{
	uint64_t word = 0;

	(void)state;
	CHECK("mtrace:mark\0x8", "a literal of more than thirty-two bytes, in the file|", 0,
	      (uint64_t)(uintptr_t)literal);
	CHECK("mtrace:mark\0x8", "0x10|", 0, 16);
	memcpy(&word, "a\"\\\n\t\001b", sizeof(word));
	CHECK("mtrace:mark\0s8", "a\"\\\n\t\001b|", 0, 4096, word);
	CHECK("mtrace:mark\0s8", "(no words)|", 0, 4096, 0);
}

/* Which is not looked for in a text itself. */
static void texts_have_a_length(void **state)
{
	const uint64_t at = (uint64_t)(uintptr_t)literal;

	(void)state;
	CHECK_LENGTH("mtrace:mark\0x8", "a literal|", at, 9);
	CHECK_LENGTH("mtrace:mark\0x8", "(no words)|", at, 0);
	CHECK_LENGTH("mtrace:mark\0x8", "a literal of more than thirty-two bytes, in the file|", at,
		     UINT64_MAX);
	CHECK_LENGTH("mtrace:mark\0e4\0\", length=2\"\0"
		     "7",
		     ", length=2|", 7, 1);
}

static void other_calls_are_calls(void **state)
{
	(void)state;
	CHECK("count\0d4", "", 1, 5);
	CHECK("mtrace:nonsense\0d4", "", 1, 5);
}

/* Enumerators and names are whatever somebody wrote into the file. */
static void garbled_texts_do_no_harm(void **state)
{
	(void)state;
	CHECK("mtrace:mark\0e4\0\"\\\0"
	      "0",
	      "\\|", 0, 0);
	CHECK("mtrace:mark\0e4\0\"a\\7\0"
	      "0",
	      "a7|", 0, 0);
	CHECK("mtrace:mark\0e4\0\"a\\77\0"
	      "0",
	      "a77|", 0, 0);
	CHECK("mtrace:mark\0e4\0\0"
	      "0",
	      "0x0|", 0, 0);
	CHECK("mtrace:number\0e4\0\"\0"
	      "0",
	      "", 0, 0);
	CHECK("mtrace:mark\0e4\0\"a name that is longer than a recorded text can be at all\0"
	      "0",
	      "a name that is longer than a rec|", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_are_marks),
	    cmocka_unit_test(texts_have_a_length),
	    cmocka_unit_test(other_calls_are_calls),
	    cmocka_unit_test(garbled_texts_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
