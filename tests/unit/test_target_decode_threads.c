/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events of several threads are rebuilt side by side, and shown one thread after the other:
 * recordings of calls, and of what comes between them, on one processor and on several. */
#include "perf_fixture.h"

#include "base/pool.h"
#include "decode/decode.h"
#include "output/trace_writer.h"

#define PID      100
#define THREADS  7
#define EVENTS   20000 /* of a thread */
#define DEEPEST  40
#define STACK    0x7ffc00010000ull
#define ADDRESS  0x400000ull
#define FUNCTION 0x40ull
#define COUNT    16u /* of functions */

/* ---- recordings ---- */

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void put(struct mt_recording_writer *writer, int tid, struct mt_sideband record)
{
	record.pid = PID;
	record.tid = tid;
	record.cpu = -1;
	assert_no_error(mt_recording_writer_put(writer, &record));
}

static void put_program(struct mt_recording_writer *writer, int tid, uint64_t time_ns, bool exec)
{
	put(writer, tid,
	    (struct mt_sideband){.kind = MT_SIDEBAND_COMM,
				 .time_ns = time_ns,
				 .comm = {.name = "toy", .exec = exec}});
	put(writer, tid,
	    (struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
				 .time_ns = time_ns,
				 .mmap = {.start = ADDRESS,
					  .length = 0x1000,
					  .path = "/nowhere/toy",
					  .executable = true}});
}

/* What may go between calls: some of it ends a segment. */
static void put_note(struct mt_recording_writer *writer, int tid, uint64_t time_ns, uint64_t *state)
{
	static const enum mt_recording_note notes[] = {MT_NOTE_SIGNAL,    MT_NOTE_TRIGGER,
						       MT_NOTE_SNAPSHOT,  MT_NOTE_THROTTLE,
						       MT_NOTE_UNWRITTEN, MT_NOTE_OWN_STACK};
	const uint64_t kind = next_random(state) % 8;

	if (kind == 7 && next_random(state) % 2)
		put_program(writer, tid, time_ns, true);
	else if (kind < 6)
		put(writer, tid,
		    (struct mt_sideband){.kind = MT_SIDEBAND_SAMPLE,
					 .time_ns = time_ns,
					 .sample = {.event = notes[kind],
						    .ip = ADDRESS,
						    .address = STACK,
						    .weight = 1 + next_random(state) % 9}});
}

/* One out of so many is odd: it says nothing that is possible, or comes from elsewhere. */
static void put_thread(struct mt_recording_writer *writer, int tid, uint64_t random, unsigned odd,
		       unsigned noted)
{
	static struct mt_event events[EVENTS];
	uint64_t state = random + (uint64_t)tid, functions[DEEPEST] = {0}, time_ns = 1000;
	size_t depth = 0, put_until = 0;

	for (size_t i = 0; i < EVENTS; i++) {
		const bool enters = !depth || (depth < DEEPEST && next_random(&state) % 2);

		time_ns += next_random(&state) % 20;
		events[i] = (struct mt_event){
		    .time_ns = time_ns,
		    .kind = enters ? MT_EVENT_ENTRY : MT_EVENT_LEAVE,
		    .flags = next_random(&state) % 3 ? 0 : MT_EVENT_TIME_IS_ESTIMATE};
		if (enters)
			functions[depth++] = ADDRESS + FUNCTION * (next_random(&state) % COUNT);
		events[i].to = functions[depth - 1] + (enters ? 0 : 7);
		events[i].from = STACK - 64 * depth;
		depth -= !enters;
		if (odd && next_random(&state) % odd == 0) {
			events[i].kind = next_random(&state) % 2 ? MT_EVENT_FRAME : MT_EVENT_AGAIN;
			events[i].from += next_random(&state) % 256;
		}
		if (!noted || next_random(&state) % noted)
			continue;
		assert_no_error(mt_recording_writer_put_calls(writer, PID, tid, events + put_until,
							      i + 1 - put_until));
		put_until = i + 1;
		put_note(writer, tid, time_ns, &state);
	}
	assert_no_error(mt_recording_writer_put_calls(writer, PID, tid, events + put_until,
						      EVENTS - put_until));
	put(writer, tid,
	    (struct mt_sideband){.kind = MT_SIDEBAND_SAMPLE,
				 .time_ns = time_ns,
				 .sample = {.event = MT_NOTE_EXIT, .weight = 0}});
}

/* With a PATH calls are samples, one by one; without, they are packed. */
static struct mt_recording_writer *make(const char *path, uint64_t random, unsigned odd,
					unsigned noted)
{
	const struct mt_recording_writer_options options = {.calls = true};
	struct mt_recording_writer *writer = NULL;

	assert_no_error(mt_recording_writer_create(path, &options, &writer));
	put_program(writer, PID, 0, true);
	for (int tid = PID; tid < PID + THREADS; tid++) {
		if (tid != PID)
			put(writer, tid,
			    (struct mt_sideband){.kind = MT_SIDEBAND_FORK, .fork = {PID, PID}});
		put_thread(writer, tid, random, odd, noted ? noted << tid % 3 * 4 : 0);
	}
	assert_no_error(mt_recording_writer_finish(writer));
	return writer;
}

/* ---- what ld's --wrap is for ---- */

static unsigned processors, workers;

unsigned __wrap_mt_pool_processors(void);
unsigned __wrap_mt_pool_processors(void)
{
	return processors;
}

struct mt_error *__real_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out)
{
	workers = threads > workers ? threads : workers;
	return __real_mt_pool_create(threads, queue_limit, out);
}

/* ---- decoding ---- */

struct outcome {
	struct mt_str error;
	struct mt_decode_stats stats;
	uint8_t *bytes; /* of the timeline, also where decoding failed, as far as it came */
	size_t size;
};

/* After so many looks. */
static bool is_enough(void *context)
{
	unsigned *left = context;

	return *left && --*left == 0;
}

static struct outcome decode(struct mt_recording_writer *writer, unsigned on, unsigned stop_at)
{
	const struct mt_progress progress = {NULL, is_enough, &stop_at};
	const struct mt_decode_options options = {.progress = &progress};
	struct mt_trace_writer *timeline = NULL;
	struct mt_recording *recording = NULL;
	struct outcome outcome = {0};
	char *path = make_path();

	processors = on;
	workers = 0;
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(mt_trace_writer_create(path, "fxt", NULL, &timeline));
	struct mt_error *error =
	    mt_decode(recording, &options, mt_trace_writer_sink(timeline), &outcome.stats);
	mt_str_appendf(&outcome.error, "%s", error ? mt_error_message(error) : "");
	mt_error_destroy(error);
	assert_no_error(mt_trace_writer_finish(timeline));
	mt_trace_writer_destroy(timeline);
	mt_recording_close(recording);
	outcome.bytes = read_bytes(path, &outcome.size);
	assert_non_null(outcome.bytes);
	assert_in_range(workers, on > 1 ? on : 0, on > 1 ? on : 1); /* one that writes is another */
	remove_path(path);
	return outcome;
}

static void let_go(struct outcome *outcome)
{
	mt_str_deinit(&outcome->error);
	free(outcome->bytes);
}

static void check_same(unsigned odd, unsigned noted)
{
	static const unsigned several[] = {2, 3, 8};
	char *path = odd ? make_path() : NULL;
	struct mt_recording_writer *writer = make(path, odd + 31ull * noted, odd, noted);
	struct outcome one = decode(writer, 1, 0);

	assert_string_equal(one.error.text, "");
	assert_int_equal(one.stats.threads, THREADS);
	assert_int_equal(one.stats.events, THREADS * EVENTS);
	for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++) {
		struct outcome other = decode(writer, several[i], 0);

		assert_string_equal(one.error.text, other.error.text);
		assert_memory_equal(&one.stats, &other.stats, sizeof(one.stats));
		assert_int_equal(one.size, other.size);
		assert_memory_equal(one.bytes, other.bytes, one.size);
		let_go(&other);
	}
	let_go(&one);
	mt_recording_writer_destroy(writer);
	if (path)
		remove_path(path);
}

static void threads_come_out_as_from_one_processor(void **state)
{
	(void)state;
	check_same(0, 0);
	check_same(500, 0);
}

static void what_lies_between_calls_stays_there(void **state)
{
	(void)state;
	check_same(0, 5000);
	check_same(0, 300);
	check_same(50, 1000);
	check_same(3, 40);
}

static void it_can_be_interrupted_anywhere(void **state)
{
	struct mt_recording_writer *writer = make(NULL, 7, 100, 900);

	(void)state;
	for (unsigned stop_at = 1; stop_at < 20; stop_at += 3) {
		struct outcome outcome = decode(writer, 1 + stop_at % 4, stop_at);

		assert_string_equal(outcome.error.text, "decoding: interrupted");
		let_go(&outcome);
	}
	mt_recording_writer_destroy(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_come_out_as_from_one_processor),
	    cmocka_unit_test(what_lies_between_calls_stays_there),
	    cmocka_unit_test(it_can_be_interrupted_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
