/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding ahead changes nothing: recordings of Intel PT on one processor and on several, in
 * windows so small that there are many of them.
 *
 * The program that they are of is this test itself: walks through some of its functions, which
 * never ran that way, with its names, lines and inlined calls. */
#include "perf_fixture.h"

#include "decode/decode.h"
#include "decode/private.h"
#include "output/trace_writer.h"
#include "process/proc.h"
#include "pt/encoder.h"
#include "x86/insn.h"

#include <pthread.h>
#include <stdatomic.h>

#define PID       100
#define THREADS   3
#define PIECES    3
#define BLOCKS    20000 /* of a piece */
#define TSC_START 2000000000000ull
#define TICKS     16 /* of a block, at the most */

/* ---- the program ---- */

#define WALKED                                                                                     \
	__attribute__((noinline, noclone)) __attribute__((no_sanitize("address")))                 \
	__attribute__((no_sanitize("thread"))) __attribute__((no_sanitize("undefined")))

static inline __attribute__((always_inline)) unsigned mixed(unsigned n)
{
	return n & 1 ? n * 3 + 1 : n >> 1;
}

WALKED static unsigned leaf(unsigned n)
{
	return mixed(n) ^ 5;
}

WALKED static unsigned other_leaf(unsigned n)
{
	return n % 7 ? mixed(mixed(n)) : 9;
}

WALKED static unsigned middle(unsigned n, unsigned (*next)(unsigned))
{
	return n & 2 ? next(n) + leaf(mixed(n)) : other_leaf(n) + 1;
}

WALKED static unsigned outermost(volatile unsigned *n)
{
	while (*n)
		*n += middle(*n, *n & 4 ? leaf : other_leaf) ^ leaf(*n);
	return *n;
}

/* ---- a walk ---- */

static const struct mt_recording_pt pt = {
    .present = true,
    .tsc = true,
    .mtc = true,
    .cyc = true,
    .return_compression = true,
    .mtc_period = 3,
    .max_nonturbo_ratio = 20,
    .tsc_ctc_numerator = 80,
    .tsc_ctc_denominator = 1,
};
static const struct mt_time_conversion conversion = {.shift = 10, .mult = 512};

struct walk {
	struct mt_pt_encoder *encoder;
	uint64_t at, tsc, random;
	uint64_t stack[16];
	size_t depth;
};

static uint64_t address_of(const void *function)
{
	return (uint64_t)(uintptr_t)function;
}

static uint64_t chance(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

static void begin(struct walk *walk)
{
	walk->at = address_of(outermost);
	walk->depth = 0;
	mt_pt_encode_start(walk->encoder, walk->tsc, walk->at);
}

static void come_back(struct walk *walk, uint64_t at)
{
	mt_pt_encode_stop(walk->encoder, walk->tsc, at);
	walk->tsc += 5000;
	mt_pt_encode_start(walk->encoder, walk->tsc, at);
}

static void go_on(struct walk *walk, const struct mt_insn *insn, uint64_t after)
{
	struct mt_pt_encoder *encoder = walk->encoder;
	bool taken;

	walk->tsc += 1 + chance(&walk->random, TICKS);
	switch (insn->class) {
	case MT_INSN_BRANCH:
		taken = chance(&walk->random, 2);
		walk->at = taken ? insn->target : after;
		mt_pt_encode_branch(encoder, walk->tsc, taken, walk->at);
		break;
	case MT_INSN_JUMP:
		walk->at = insn->target;
		mt_pt_encode_jump(encoder, walk->tsc, walk->at);
		break;
	case MT_INSN_CALL:
	case MT_INSN_CALL_INDIRECT:
		assert_true(walk->depth < sizeof(walk->stack) / sizeof(*walk->stack));
		walk->stack[walk->depth++] = after;
		walk->at = insn->target ? insn->target
					: address_of(chance(&walk->random, 2) ? leaf : other_leaf);
		if (insn->target)
			mt_pt_encode_call(encoder, walk->tsc, after, walk->at);
		else
			mt_pt_encode_call_indirect(encoder, walk->tsc, after, walk->at);
		break;
	case MT_INSN_RETURN:
		if (!walk->depth) {
			mt_pt_encode_stop(encoder, walk->tsc, after - insn->length);
			begin(walk);
			break;
		}
		walk->at = walk->stack[--walk->depth];
		mt_pt_encode_return(encoder, walk->tsc, walk->at);
		break;
	default:
		fail_msg("an instruction that the walk does not know");
	}
}

static void walk_block(struct walk *walk)
{
	struct mt_insn insn;
	uint64_t end = walk->at;

	for (;; end += insn.length) {
		assert_int_equal(
		    mt_insn_decode((const void *)(uintptr_t)end, MT_INSN_MAX_BYTES, end, &insn), 0);
		if (insn.class != MT_INSN_OTHER)
			break;
	}
	go_on(walk, &insn, end + insn.length);
	if (!chance(&walk->random, 3000))
		come_back(walk, walk->at);
}

/* ---- a recording of some ---- */

struct made {
	char *path;
	bool by_cpus;     /* AUX areas are CPUs', and threads change places */
	unsigned garbled; /* bytes of each piece */
	bool loses_a_file;
	uint64_t random;
	struct mt_recording_writer *writer;
};

static uint64_t ns_at(uint64_t tsc)
{
	return mt_tsc_to_ns(&conversion, tsc);
}

static void put(struct made *made, struct mt_sideband record)
{
	record.pid = PID;
	record.tid = record.tid ? record.tid : PID;
	assert_no_error(mt_recording_writer_put(made->writer, &record));
}

struct maps {
	struct made *made;
	uint64_t time_ns;
};

static struct mt_error *put_map(void *context, const struct mt_map *map)
{
	struct maps *maps = context;

	if (map->executable && map->path[0] == '/')
		put(maps->made, (struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
						     .time_ns = maps->time_ns,
						     .cpu = -1,
						     .mmap = {.start = map->start,
							      .length = map->end - map->start,
							      .offset = map->offset,
							      .path = map->path,
							      .executable = true}});
	return NULL;
}

/* Another program that is the same one: other functions, of other numbers. */
static void put_program(struct made *made, uint64_t tsc)
{
	struct maps maps = {made, ns_at(tsc)};

	put(made, (struct mt_sideband){.kind = MT_SIDEBAND_COMM,
				       .time_ns = maps.time_ns,
				       .cpu = -1,
				       .comm = {.name = "toy", .exec = true}});
	assert_no_error(mt_proc_each_map(getpid(), put_map, &maps));
	if (made->loses_a_file && tsc != TSC_START)
		put(made, (struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
					       .time_ns = maps.time_ns,
					       .cpu = -1,
					       .mmap = {.start = 0x10000000,
							.length = 0x1000,
							.path = "/nowhere/gone.so",
							.executable = true}});
}

static void put_piece(struct made *made, struct walk *walk, int index, uint64_t *offset)
{
	struct mt_auxtrace piece = {.offset = *offset,
				    .reference = walk->tsc,
				    .idx = (uint32_t)index,
				    .tid = made->by_cpus ? -1 : PID + index,
				    .cpu = made->by_cpus ? index : -1};
	uint64_t bytes_lost;
	uint8_t *bytes;
	size_t size;

	assert_no_error(mt_pt_encoder_snapshot(walk->encoder, &bytes, &size, &bytes_lost));
	mt_pt_encoder_clear(walk->encoder);
	for (unsigned i = 0; i < made->garbled; i++)
		bytes[chance(&made->random, size)] ^= (uint8_t)(1 + chance(&made->random, 255));
	piece.size = size;
	put(made, (struct mt_sideband){.kind = MT_SIDEBAND_AUX,
				       .time_ns = ns_at(walk->tsc),
				       .tid = made->by_cpus ? -1 : PID + index,
				       .cpu = made->by_cpus ? index : -1,
				       .aux = {.offset = *offset, .size = (size + 7) & ~7ull}});
	assert_no_error(mt_recording_writer_put_aux(made->writer, &piece, bytes));
	*offset += (size + 7) & ~7ull;
	free(bytes);
}

static void put_walk(struct made *made, int index)
{
	const struct mt_pt_encoder_config config = {
	    .timing = {.tsc_ctc_numerator = pt.tsc_ctc_numerator,
		       .tsc_ctc_denominator = pt.tsc_ctc_denominator,
		       .mtc_period = pt.mtc_period,
		       .max_nonturbo_ratio = pt.max_nonturbo_ratio,
		       .tsc = true,
		       .mtc = true,
		       .cyc = true},
	};
	struct walk walk = {.tsc = TSC_START + 100,
			    .random = made->random * 2 + 1 + (uint64_t)index};
	uint64_t offset = 0;

	assert_no_error(mt_pt_encoder_create(&config, &walk.encoder));
	begin(&walk);
	for (int piece = 1; piece <= PIECES; piece++) {
		for (int i = 0; i < BLOCKS; i++)
			walk_block(&walk);
		if (piece == PIECES)
			mt_pt_encode_stop(walk.encoder, walk.tsc, walk.at);
		put_piece(made, &walk, index, &offset);
	}
	mt_pt_encoder_destroy(walk.encoder);
}

static void put_switches(struct made *made, uint64_t end_tsc)
{
	for (uint64_t tsc = TSC_START, i = 0; tsc < end_tsc; tsc += 1 + end_tsc % 30011, i++)
		put(made, (struct mt_sideband){.kind = MT_SIDEBAND_SWITCH,
					       .time_ns = ns_at(tsc),
					       .tid = PID + (int)(i % THREADS),
					       .cpu = (int)(i % 2),
					       .context_switch = {false, false, 0, 0}});
}

static void make(struct made *made)
{
	const struct mt_recording_writer_options options = {.pt = &pt, .conversion = conversion};
	const uint64_t middle_tsc = TSC_START + (uint64_t)BLOCKS * PIECES * TICKS / 4;

	made->path = make_path();
	assert_no_error(mt_recording_writer_create(made->path, &options, &made->writer));
	put_program(made, TSC_START);
	for (int i = 0; i < THREADS; i++)
		put(made, (struct mt_sideband){.kind = MT_SIDEBAND_COMM,
					       .time_ns = ns_at(TSC_START),
					       .tid = PID + i,
					       .cpu = -1,
					       .comm = {.name = "toy"}});
	put_program(made, middle_tsc);
	if (made->by_cpus)
		put_switches(made, 2 * middle_tsc - TSC_START);
	for (int i = 0; i < THREADS - made->by_cpus; i++)
		put_walk(made, i);
	assert_no_error(mt_recording_writer_finish(made->writer));
	mt_recording_writer_destroy(made->writer);
}

/* ---- what ld's --wrap is for ---- */

static unsigned processors;
static unsigned pools, pools_ended; /* that were made; that are gone, with their threads */
static unsigned workers;            /* of them all */
static size_t window_bytes, batch_events;
static pthread_t owner;
static int unmappable; /* the so many-th piece cannot be; 0: all can */

unsigned __wrap_mt_pool_processors(void);
unsigned __wrap_mt_pool_processors(void)
{
	return processors;
}

struct mt_error *__real_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned threads, size_t queue_limit, struct mt_pool **out)
{
	pools++;
	workers += threads;
	return __real_mt_pool_create(threads, queue_limit, out);
}

void __real_mt_pool_destroy(struct mt_pool *pool);
void __wrap_mt_pool_destroy(struct mt_pool *pool);
void __wrap_mt_pool_destroy(struct mt_pool *pool)
{
	pools_ended += pool != NULL;
	__real_mt_pool_destroy(pool);
}

struct mt_error *__real_mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
					     struct mt_pt_decoder **out);
struct mt_error *__wrap_mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
					     struct mt_pt_decoder **out);
struct mt_error *__wrap_mt_pt_decoder_create(const struct mt_pt_decoder_config *config,
					     struct mt_pt_decoder **out)
{
	struct mt_pt_decoder_config small = *config;

	assert_true(pthread_equal(owner, pthread_self()));
	small.window_bytes = window_bytes;
	small.batch_events = batch_events;
	return __real_mt_pt_decoder_create(&small, out);
}

struct mt_error *__real_mt_recording_map_aux(const struct mt_recording *recording, size_t index,
					     uint64_t offset, uint64_t size, uint8_t **bytes);
struct mt_error *__wrap_mt_recording_map_aux(const struct mt_recording *recording, size_t index,
					     uint64_t offset, uint64_t size, uint8_t **bytes);
struct mt_error *__wrap_mt_recording_map_aux(const struct mt_recording *recording, size_t index,
					     uint64_t offset, uint64_t size, uint8_t **bytes)
{
	if ((size_t)unmappable == index + 1)
		return mt_error_new(MT_ERROR_SYSTEM, "piece %zu cannot be mapped", index);
	return __real_mt_recording_map_aux(recording, index, offset, size, bytes);
}

/* ---- decoding ---- */

struct outcome {
	struct mt_str said;  /* progress and lines, in their order */
	struct mt_str error; /* what came of it */
	struct mt_decode_stats stats;
	uint8_t *bytes; /* of the timeline */
	size_t size;
	unsigned steps; /* of progress */
	unsigned stop_at;
};

static void hear_line(void *context, enum mt_log_level level, const char *text)
{
	struct outcome *outcome = context;

	assert_true(pthread_equal(owner, pthread_self()));
	mt_str_appendf(&outcome->said, "%d:%s\n", (int)level, text);
}

static void hear_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	struct outcome *outcome = context;

	assert_true(pthread_equal(owner, pthread_self()));
	mt_str_appendf(&outcome->said, "%s %llu of %llu\n", what, (unsigned long long)done,
		       (unsigned long long)total);
	outcome->steps++;
}

static bool is_enough(void *context)
{
	const struct outcome *outcome = context;

	return outcome->steps == outcome->stop_at;
}

/* The timeline is there also where decoding failed, as far as it came. */
static void decode(const struct made *made, unsigned on, struct outcome *outcome)
{
	const struct mt_log log = {hear_line, outcome, MT_LOG_DEBUG};
	const struct mt_progress progress = {hear_progress, is_enough, outcome};
	const struct mt_decode_options options = {
	    .progress = &progress, .log = &log, .objfile = {.log = &log}};
	struct mt_recording *recording = NULL;
	struct mt_trace_writer *writer = NULL;
	char *path = make_path();

	processors = on;
	pools = pools_ended = workers = 0;
	owner = pthread_self();
	assert_no_error(mt_recording_open(made->path, NULL, &recording));
	assert_no_error(mt_trace_writer_create(path, "fxt", NULL, &writer));
	struct mt_error *error =
	    mt_decode(recording, &options, mt_trace_writer_sink(writer), &outcome->stats);
	mt_str_appendf(&outcome->error, "%s", error ? mt_error_message(error) : "");
	mt_error_destroy(error);
	assert_no_error(mt_trace_writer_finish(writer));
	mt_trace_writer_destroy(writer);
	mt_recording_close(recording);
	outcome->bytes = read_bytes(path, &outcome->size);
	assert_non_null(outcome->bytes);
	assert_in_range(pools, on > 1, on > 1 ? 2 : 0); /* one that writes is another */
	assert_in_range(workers, on > 1 ? on : 0, on > 1 ? on + 1 : 0);
	assert_int_equal(pools_ended, pools);
	remove_path(path);
}

static void let_go(struct outcome *outcome)
{
	mt_str_deinit(&outcome->said);
	mt_str_deinit(&outcome->error);
	free(outcome->bytes);
}

static void check_outcome(const struct outcome *one, const struct outcome *other)
{
	assert_string_equal(one->said.text, other->said.text);
	assert_string_equal(one->error.text, other->error.text);
	assert_int_equal(one->size, other->size);
	assert_memory_equal(one->bytes, other->bytes, one->size);
	assert_memory_equal(&one->stats, &other->stats, sizeof(one->stats));
}

/* Returns the events of it, however many processors there are. */
static uint64_t check_same(struct made *made, unsigned stop_at, const char *wanted,
			   const char *wanted_error)
{
	static const unsigned several[] = {2, 5};
	struct outcome one = {.stop_at = stop_at};

	make(made);
	window_bytes = made->random % 2 ? 5000 : 0;
	batch_events = made->random % 3 ? 0 : 64;
	decode(made, 1, &one);
	for (size_t i = 0; i < sizeof(several) / sizeof(*several); i++) {
		struct outcome other = {.stop_at = stop_at};

		decode(made, several[i], &other);
		check_outcome(&one, &other);
		let_go(&other);
	}
	check_contains(one.said.text, wanted);
	assert_string_equal(one.error.text, wanted_error);
	const uint64_t events = one.stats.events;
	let_go(&one);
	remove_path(made->path);
	return events;
}

static void threads_one_after_the_other(void **state)
{
	struct made made = {.random = 1};

	(void)state;
	assert_in_range(check_same(&made, 0, "decoding", ""), 8 * MT_DECODE_BATCH, UINT32_MAX);
}

static void threads_on_cpus(void **state)
{
	struct made made = {.random = 2, .by_cpus = true};

	(void)state;
	assert_in_range(check_same(&made, 0, "decoding", ""), 8 * MT_DECODE_BATCH, UINT32_MAX);
}

static void what_is_garbled(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		struct made made = {.random = 10 + i, .by_cpus = i % 2, .garbled = 1u << i % 8};

		check_same(&made, 0, "decoding", "");
	}
}

/* Of the worker, in the middle. */
static void lines_come_where_they_belong(void **state)
{
	struct made made = {.random = 3, .loses_a_file = true};

	(void)state;
	check_same(&made, 0, "2:calls in /nowhere/gone.so are missing: ", "");
	made = (struct made){.random = 4, .loses_a_file = true, .by_cpus = true};
	check_same(&made, 0, "2:calls in /nowhere/gone.so are missing: ", "");
}

static void an_error_comes_behind_the_events_before_it(void **state)
{
	struct made made = {.random = 5};

	(void)state;
	unmappable = 2;
	check_same(&made, 0, "decoding", "piece 1 cannot be mapped");
	made = (struct made){.random = 6, .by_cpus = true};
	check_same(&made, 0, "decoding", "piece 1 cannot be mapped");
	unmappable = 0;
}

static void it_can_be_interrupted_meanwhile(void **state)
{
	(void)state;
	for (unsigned i = 1; i < 12; i++) {
		struct made made = {.random = 7 + i / 2, .by_cpus = i % 2};

		check_same(&made, i, "decoding", "decoding: interrupted");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_one_after_the_other),
	    cmocka_unit_test(threads_on_cpus),
	    cmocka_unit_test(what_is_garbled),
	    cmocka_unit_test(lines_come_where_they_belong),
	    cmocka_unit_test(an_error_comes_behind_the_events_before_it),
	    cmocka_unit_test(it_can_be_interrupted_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
