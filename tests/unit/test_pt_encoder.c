/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random walks over made-up machine code: what the encoder tells of a walk, libipt must decode to
 * the same instructions, one by one, at about the same times. */
#include "pt/encoder.h"
#include "pt/packet.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES      256
#define NODE_BYTES 32
#define QUARTER    (NODES / 4)
#define SIM_STACK  4096

/* A base for each quarter of the nodes: their IPs differ in the low 16 bits (the first one crosses
 * such an edge), in bit 32, in many bits, and in the sign. */
static const uint64_t bases[] = {0x55545554fc00, 0x55555554fc00, 0x7ffff7d00000,
				 0xffffffff81000000};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

enum ending {
	END_BRANCH,
	END_JUMP,
	END_JUMP_INDIRECT,
	END_CALL,
	END_CALL_NEXT,
	END_CALL_INDIRECT,
	END_RETURN,
	END_SYSCALL,
	ENDINGS
};

/* A few nops and one instruction that ends it. */
struct node {
	uint64_t address;
	unsigned int nops;
	enum ending ending;
	uint64_t end;   /* address of the ending instruction */
	uint64_t after; /* the instruction behind it: the next node's address, or padding's */
	size_t target;  /* of direct ones: a node */
};

struct program {
	uint8_t code[NODES][NODE_BYTES];
	struct node nodes[NODES];
};

struct step {
	uint64_t ip;
	uint64_t tsc;
	size_t told; /* how many times had been told before */
};

struct walk_options {
	uint64_t seed;
	size_t instructions;
	unsigned int weights[ENDINGS];
	unsigned int wrong_return_percent;
	unsigned int stop_per_mille; /* a signal in the middle of a node */
	unsigned int gap_per_mille;  /* a long time passes */
	uint64_t gap_ticks;
	bool swings; /* deep down and up again, by turns */
	struct mt_pt_encoder_config config;
};

struct walk {
	const struct walk_options *options;
	struct program program;
	uint64_t seed;
	uint64_t tsc;
	size_t stack[SIM_STACK]; /* nodes to return to */
	size_t depth;
	size_t deepest;
	bool unwinding;
	struct step *steps;
	size_t count;
	uint64_t *told; /* times of all that makes packets: a TNT bit, TIP, TIP.PGE, TIP.PGD */
	size_t told_count;
	struct mt_pt_encoder *encoder;
};

static uint64_t base_of_node(size_t index)
{
	return bases[index / QUARTER];
}

static enum ending random_ending(struct walk *walk)
{
	unsigned int total = 0, at = 0;

	for (int i = 0; i < ENDINGS; i++)
		total += walk->options->weights[i];
	unsigned int pick = (unsigned int)(next_random(&walk->seed) % total);
	while (pick >= walk->options->weights[at])
		pick -= walk->options->weights[at++];
	return (enum ending)at;
}

static void put_relative(uint8_t *at, uint64_t after, uint64_t target)
{
	int32_t relative = (int32_t)(target - after);

	memcpy(at, &relative, sizeof(relative));
}

/* Direct jumps and calls only go forward, so that no endless loop is without a packet. */
static size_t direct_target(struct walk *walk, size_t index)
{
	size_t end = (index / QUARTER + 1) * QUARTER;

	return index + 1 + next_random(&walk->seed) % (end - index - 1);
}

static void make_node(struct walk *walk, size_t index)
{
	struct node *node = &walk->program.nodes[index];
	uint8_t *code = walk->program.code[index];
	bool last = (index + 1) % QUARTER == 0;

	node->address = base_of_node(index) + index * NODE_BYTES;
	node->nops = (unsigned int)(next_random(&walk->seed) % 6);
	node->ending = last ? END_JUMP_INDIRECT : random_ending(walk);
	node->end = node->address + node->nops;
	memset(code, 0x90, NODE_BYTES);
	code += node->nops;
	if (!last)
		node->target = direct_target(walk, index);
	uint64_t target = base_of_node(node->target) + node->target * NODE_BYTES;
	switch (node->ending) {
	case END_BRANCH: /* je */
		node->after = node->end + 6;
		/* Sometimes a branch to the next instruction. */
		if (next_random(&walk->seed) % 8 == 0)
			target = node->address + NODE_BYTES;
		memcpy(code, (uint8_t[]){0x0f, 0x84}, 2);
		put_relative(code + 2, node->after, target);
		break;
	case END_JUMP:
	case END_CALL:
		node->after = node->end + 5;
		code[0] = node->ending == END_JUMP ? 0xe9 : 0xe8;
		put_relative(code + 1, node->after, target);
		break;
	case END_CALL_NEXT:
		node->after = node->end + 5;
		memcpy(code, (uint8_t[]){0xe8, 0, 0, 0, 0}, 5);
		break;
	case END_JUMP_INDIRECT:
		node->after = node->end + 2;
		memcpy(code, (uint8_t[]){0xff, 0xe0}, 2);
		break;
	case END_CALL_INDIRECT:
		node->after = node->end + 2;
		memcpy(code, (uint8_t[]){0xff, 0xd0}, 2);
		break;
	case END_SYSCALL:
		node->after = node->end + 2;
		memcpy(code, (uint8_t[]){0x0f, 0x05}, 2);
		break;
	default:
		node->after = node->end + 1;
		code[0] = 0xc3;
	}
}

static void ran(struct walk *walk, uint64_t ip)
{
	walk->tsc += next_random(&walk->seed) % 20;
	if (next_random(&walk->seed) % 1000 < walk->options->gap_per_mille)
		walk->tsc += next_random(&walk->seed) % walk->options->gap_ticks;
	walk->steps[walk->count++] = (struct step){ip, walk->tsc, walk->told_count};
}

/* The time of what the encoder is told next. */
static uint64_t now(struct walk *walk)
{
	walk->told[walk->told_count++] = walk->tsc;
	return walk->tsc;
}

/* The nops behind the ending, up to the next node. */
static void run_padding(struct walk *walk, size_t index)
{
	const struct node *node = &walk->program.nodes[index];

	for (uint64_t ip = node->after; ip < node->address + NODE_BYTES; ip++)
		ran(walk, ip);
}

static void push(struct walk *walk, size_t node)
{
	if (walk->depth == SIM_STACK)
		walk->depth = 0;
	walk->stack[walk->depth++] = node;
	if (walk->depth > walk->deepest)
		walk->deepest = walk->depth;
}

static uint64_t address_of(struct walk *walk, size_t node)
{
	return walk->program.nodes[node].address;
}

static bool leads_on(struct walk *walk, size_t index)
{
	enum ending ending = walk->program.nodes[index].ending;

	if (walk->depth > 200 || !walk->depth)
		walk->unwinding = walk->depth;
	return walk->unwinding ? ending == END_RETURN
			       : ending == END_CALL || ending == END_CALL_INDIRECT;
}

static size_t random_node(struct walk *walk)
{
	size_t node = next_random(&walk->seed) % NODES;

	for (int tries = 0; walk->options->swings && tries < 8 && !leads_on(walk, node); tries++)
		node = next_random(&walk->seed) % NODES;
	return node;
}

/* A return goes behind the call: into the padding of the calling node. */
static size_t run_return(struct walk *walk)
{
	bool wrong = next_random(&walk->seed) % 100 < walk->options->wrong_return_percent;

	if (wrong && walk->depth > 2)
		walk->depth -= next_random(&walk->seed) % 3; /* as longjmp unwinds */
	if (!walk->depth || (wrong && next_random(&walk->seed) % 2)) {
		size_t node = random_node(walk);
		mt_pt_encode_return(walk->encoder, now(walk), address_of(walk, node));
		return node;
	}
	size_t caller = walk->stack[--walk->depth];
	mt_pt_encode_return(walk->encoder, now(walk), walk->program.nodes[caller].after);
	run_padding(walk, caller);
	return caller + 1;
}

static size_t run_branch(struct walk *walk, size_t index)
{
	const struct node *node = &walk->program.nodes[index];
	int32_t relative;
	bool taken = next_random(&walk->seed) % 2;

	memcpy(&relative, walk->program.code[index] + node->nops + 2, sizeof(relative));
	uint64_t target = node->after + (uint64_t)(int64_t)relative;
	mt_pt_encode_branch(walk->encoder, now(walk), taken, taken ? target : node->after);
	if (!taken)
		run_padding(walk, index);
	return taken && target == address_of(walk, node->target) ? node->target : index + 1;
}

static size_t run_ending(struct walk *walk, size_t index)
{
	const struct node *node = &walk->program.nodes[index];
	size_t to = random_node(walk);

	ran(walk, node->end);
	switch (node->ending) {
	case END_BRANCH:
		return run_branch(walk, index);
	case END_JUMP:
		mt_pt_encode_jump(walk->encoder, walk->tsc, address_of(walk, node->target));
		return node->target;
	case END_CALL:
		mt_pt_encode_call(walk->encoder, walk->tsc, node->after,
				  address_of(walk, node->target));
		push(walk, index);
		return node->target;
	case END_CALL_NEXT:
		mt_pt_encode_call(walk->encoder, walk->tsc, node->after, node->after);
		run_padding(walk, index);
		return index + 1;
	case END_JUMP_INDIRECT:
		mt_pt_encode_jump_indirect(walk->encoder, now(walk), address_of(walk, to));
		return to;
	case END_CALL_INDIRECT:
		mt_pt_encode_call_indirect(walk->encoder, now(walk), node->after,
					   address_of(walk, to));
		push(walk, index);
		return to;
	case END_RETURN:
		return run_return(walk);
	default:
		mt_pt_encode_syscall(walk->encoder, now(walk));
		walk->tsc += next_random(&walk->seed) % 5000;
		/* Back behind it, or in a signal's handler. */
		if (next_random(&walk->seed) % 4 == 0) {
			mt_pt_encode_start(walk->encoder, now(walk), address_of(walk, to));
			return to;
		}
		mt_pt_encode_start(walk->encoder, now(walk), node->after);
		run_padding(walk, index);
		return index + 1;
	}
}

static size_t run_node(struct walk *walk, size_t index)
{
	const struct node *node = &walk->program.nodes[index];

	for (unsigned int i = 0; i < node->nops; i++) {
		if (next_random(&walk->seed) % 1000 < walk->options->stop_per_mille) {
			size_t handler = random_node(walk);
			bool resumes = next_random(&walk->seed) % 2;
			mt_pt_encode_stop(walk->encoder, now(walk), node->address + i);
			walk->tsc += next_random(&walk->seed) % 3000;
			mt_pt_encode_start(walk->encoder, now(walk),
					   resumes ? node->address + i : address_of(walk, handler));
			if (!resumes)
				return handler;
		}
		ran(walk, node->address + i);
	}
	return run_ending(walk, index);
}

static void walk_run(struct walk *walk, const struct walk_options *options)
{
	size_t node = 0;

	memset(walk, 0, sizeof(*walk));
	walk->options = options;
	walk->seed = options->seed * 2 + 1;
	walk->tsc = 1000000 + next_random(&walk->seed) % UINT32_MAX;
	walk->steps = malloc((options->instructions + 2 * NODE_BYTES) * sizeof(*walk->steps));
	walk->told = malloc(2 * options->instructions * sizeof(*walk->told));
	assert_true(walk->steps && walk->told);
	assert_null(mt_pt_encoder_create(&options->config, &walk->encoder));
	for (size_t i = 0; i < NODES; i++)
		make_node(walk, i);
	mt_pt_encode_start(walk->encoder, now(walk), address_of(walk, node));
	while (walk->count < options->instructions)
		node = run_node(walk, node);
	mt_pt_encode_stop(walk->encoder, now(walk), address_of(walk, node));
}

static void walk_end(struct walk *walk)
{
	mt_pt_encoder_destroy(walk->encoder);
	free(walk->steps);
	free(walk->told);
}

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	const struct program *program = context;
	size_t copied = 0;

	(void)asid;
	for (; copied < size; copied++, ip++) {
		size_t quarter = 3;
		while (quarter && ip < bases[quarter])
			quarter--;
		uint64_t offset = ip - bases[quarter];
		if (offset >= sizeof(program->code))
			break;
		buffer[copied] = ((const uint8_t *)program->code)[offset];
	}
	return copied ? (int)copied : -pte_nomap;
}

static void set_config(struct pt_config *config, const struct mt_pt_timing *timing, uint8_t *bytes,
		       size_t size)
{
	pt_config_init(config);
	config->begin = bytes;
	config->end = bytes + size;
	config->cpuid_0x15_eax = timing->tsc_ctc_denominator;
	config->cpuid_0x15_ebx = timing->tsc_ctc_numerator;
	config->mtc_freq = timing->mtc_period;
	config->nom_freq = timing->max_nonturbo_ratio;
}

/* All that libipt sees; times of the moment it gave the instruction out. */
static size_t decode(struct walk *walk, uint8_t *bytes, size_t size, struct step *out,
		     size_t capacity)
{
	struct pt_config config;
	size_t count = 0;

	set_config(&config, &walk->options->config.timing, bytes, size);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	pt_image_set_callback(pt_insn_get_image(decoder), read_code, &walk->program);
	int status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		while (status & pts_event_pending) {
			struct pt_event event;
			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status < 0)
				fail_msg("event: %s", pt_errstr(pt_errcode(status)));
		}
		if (status & pts_eos)
			break;
		struct pt_insn insn;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status < 0 && status != -pte_eos) {
			uint64_t offset = 0;
			pt_insn_get_offset(decoder, &offset);
			fail_msg("insn %zu at %#lx, offset %#lx of %#zx: %s", count,
				 (unsigned long)insn.ip, (unsigned long)offset, size,
				 pt_errstr(pt_errcode(status)));
		}
		if (status < 0)
			break;
		if (count == capacity)
			fail_msg("libipt decodes more than %zu instructions", capacity);
		out[count].ip = insn.ip;
		pt_insn_time(decoder, &out[count].tsc, NULL, NULL);
		count++;
	}
	pt_insn_free_decoder(decoder);
	return count;
}

static void compare_steps(const struct walk *walk, const struct step *decoded, size_t count)
{
	const struct step *truth = walk->steps + walk->count - count;

	assert_true(count <= walk->count);
	for (size_t i = 0; i < count; i++) {
		if (decoded[i].ip != truth[i].ip)
			fail_msg("seed %lu: instruction %zu of %zu: %#lx decoded, %#lx ran",
				 (unsigned long)walk->options->seed, i, count,
				 (unsigned long)decoded[i].ip, (unsigned long)truth[i].ip);
	}
}

/* libipt reads on to the next packet that it needs, and gives a packet's time to all that it stands
 * for: so compare with the span of `window` times told before and after. */
static void compare_times(const struct walk *walk, const struct step *decoded, size_t count,
			  size_t window)
{
	const struct step *truth = walk->steps + walk->count - count;

	for (size_t i = 0; i < count; i++) {
		size_t told = truth[i].told;
		uint64_t low = walk->told[told > window ? told - window : 0];
		uint64_t high =
		    told + window < walk->told_count ? walk->told[told + window] : walk->tsc;
		if (decoded[i].tsc < low || decoded[i].tsc > high)
			fail_msg("seed %lu: instruction %zu of %zu: time %lu, not in %lu … %lu",
				 (unsigned long)walk->options->seed, i, count,
				 (unsigned long)decoded[i].tsc, (unsigned long)low,
				 (unsigned long)high);
		if (i && decoded[i].tsc < decoded[i - 1].tsc)
			fail_msg("seed %lu: instruction %zu: time runs backwards",
				 (unsigned long)walk->options->seed, i);
	}
}

static uint64_t ctc_of_tsc(const struct mt_pt_timing *timing, uint64_t tsc)
{
	return timing->mtc ? tsc * timing->tsc_ctc_denominator / timing->tsc_ctc_numerator : 0;
}

/* TSC and the CYCs behind it are the time, to the tick, of each packet; MTC and TMA agree. */
static void check_clock(const struct walk *walk, const uint8_t *bytes, size_t size)
{
	const struct mt_pt_timing *timing = &walk->options->config.timing;
	struct mt_pt_packet packet;
	uint64_t clock = 0;
	size_t told = 0;

	for (size_t at = 0; at < size; at += packet.size) {
		mt_pt_packet_decode(bytes + at, size - at, &packet);
		uint64_t ctc = ctc_of_tsc(timing, clock);
		switch (packet.kind) {
		case MT_PT_TSC:
			assert_true(clock <= packet.payload);
			clock = packet.payload;
			continue;
		case MT_PT_CYC:
			clock += packet.payload;
			continue;
		case MT_PT_MTC:
			assert_int_equal(packet.payload, ctc >> timing->mtc_period & 0xff);
			assert_int_equal(ctc % (1u << timing->mtc_period), 0);
			continue;
		case MT_PT_TMA:
			assert_int_equal(packet.payload & 0xffff, ctc & 0xffff);
			assert_int_equal(
			    packet.payload >> 24,
			    clock % (timing->tsc_ctc_numerator / timing->tsc_ctc_denominator));
			continue;
		case MT_PT_TNT:
			told += packet.count;
			break;
		case MT_PT_TIP:
		case MT_PT_TIP_PGE:
		case MT_PT_TIP_PGD:
			told++;
			break;
		default:
			continue;
		}
		assert_int_equal(clock, walk->told[told - 1]);
	}
	assert_int_equal(told, walk->told_count);
}

/* Every byte belongs to a packet, and the packets begin with a PSB. */
static void check_packets(const uint8_t *bytes, size_t size)
{
	struct mt_pt_packet packet;

	assert_int_equal(mt_pt_find_psb(bytes, size, 0), 0);
	for (size_t at = 0; at < size; at += packet.size) {
		if (mt_pt_packet_decode(bytes + at, size - at, &packet) <= 0)
			fail_msg("offset %#zx of %#zx: no packet", at, size);
	}
}

struct result {
	size_t instructions;
	size_t bytes;
	uint64_t bytes_lost;
	size_t deepest;
};

static struct result run_walk(const struct walk_options *options)
{
	static struct walk walk;
	struct result result = {0};
	uint8_t *bytes = NULL;

	walk_run(&walk, options);
	assert_null(
	    mt_pt_encoder_snapshot(walk.encoder, &bytes, &result.bytes, &result.bytes_lost));
	check_packets(bytes, result.bytes);
	size_t capacity = walk.count + 1000;
	struct step *decoded = malloc(capacity * sizeof(*decoded));
	assert_non_null(decoded);
	result.instructions = decode(&walk, bytes, result.bytes, decoded, capacity);
	result.deepest = walk.deepest;
	compare_steps(&walk, decoded, result.instructions);
	if (options->config.timing.cyc)
		compare_times(&walk, decoded, result.instructions,
			      options->config.long_tnt ? 60 : 20);
	if (!options->config.ring_bytes)
		assert_int_equal(result.instructions, walk.count);
	if (!options->config.ring_bytes && options->config.timing.cyc && !options->config.long_tnt)
		check_clock(&walk, bytes, result.bytes);
	free(decoded);
	free(bytes);
	walk_end(&walk);
	return result;
}

static const struct walk_options plain = {
    .seed = 1,
    .instructions = 50000,
    .weights = {8, 2, 1, 3, 1, 1, 4, 1},
    .wrong_return_percent = 5,
    .stop_per_mille = 5,
    .gap_per_mille = 1,
    .gap_ticks = 1000000,
    .config = {.timing = {.tsc_ctc_numerator = 308,
			  .tsc_ctc_denominator = 2,
			  .mtc_period = 3,
			  .max_nonturbo_ratio = 37,
			  .tsc = true,
			  .mtc = true,
			  .cyc = true}},
};

static void test_random_walks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.config.psb_period_bytes = 256 << seed % 6;
		options.config.long_tnt = seed % 3 == 0;
		options.config.no_return_compression = seed % 5 == 0;
		run_walk(&options);
	}
}

/* Far deeper than what return compression remembers, and all the way back. */
static void test_deep_recursion(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.swings = true;
		options.weights[END_JUMP_INDIRECT] = 4;
		options.weights[END_CALL_INDIRECT] = 4;
		options.wrong_return_percent = seed % 2 ? 0 : 2;
		options.config.psb_period_bytes = 1 << 20;
		assert_true(run_walk(&options).deepest > 150);
	}
}

static void test_timing_variants(void **state)
{
	/* What there is of TSC, MTC, CYC; the crystal's ratio; the period; whether time leaps. */
	static const struct mt_pt_timing timings[] = {
	    {0},
	    {.tsc = true},
	    {.tsc = true, .cyc = true, .max_nonturbo_ratio = 20},
	    {.tsc = true,
	     .mtc = true,
	     .tsc_ctc_numerator = 84,
	     .tsc_ctc_denominator = 1,
	     .mtc_period = 0},
	    {.tsc = true,
	     .mtc = true,
	     .cyc = true,
	     .tsc_ctc_numerator = 200,
	     .tsc_ctc_denominator = 2,
	     .mtc_period = 0,
	     .max_nonturbo_ratio = 25},
	    {.tsc = true,
	     .mtc = true,
	     .cyc = true,
	     .tsc_ctc_numerator = 250,
	     .tsc_ctc_denominator = 2,
	     .mtc_period = 9,
	     .max_nonturbo_ratio = 30},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(timings) / sizeof(timings[0]); i++) {
		struct walk_options options = plain;
		options.seed = 100 + i;
		options.config.timing = timings[i];
		options.gap_per_mille = i % 2 ? 200 : 5;
		options.gap_ticks = i % 2 ? 60000 : UINT64_C(10000000000);
		run_walk(&options);
	}
}

/* A ring's snapshot is the end of what a ring without limit holds, byte by byte. */
static void test_ring_is_a_suffix(void **state)
{
	static struct walk endless, ringed;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct walk_options options = plain, in_ring = plain;
		uint8_t *all, *kept;
		size_t all_bytes, kept_bytes;
		uint64_t none_lost, lost;

		options.seed = in_ring.seed = seed;
		options.instructions = in_ring.instructions = 10000 * seed;
		options.config.psb_period_bytes = in_ring.config.psb_period_bytes = 512 * seed;
		in_ring.config.ring_bytes = 8192 + 1111 * seed;
		walk_run(&endless, &options);
		walk_run(&ringed, &in_ring);
		assert_null(mt_pt_encoder_snapshot(endless.encoder, &all, &all_bytes, &none_lost));
		assert_null(mt_pt_encoder_snapshot(ringed.encoder, &kept, &kept_bytes, &lost));
		assert_int_equal(none_lost, 0);
		assert_int_equal(kept_bytes + lost, all_bytes);
		assert_memory_equal(kept, all + lost, kept_bytes);
		/* As much as there is room for, but for a PSB period and the edge. */
		if (lost)
			assert_true(kept_bytes + options.config.psb_period_bytes + 1024 >
				    in_ring.config.ring_bytes);
		free(all);
		free(kept);
		walk_end(&endless);
		walk_end(&ringed);
		struct result result = run_walk(&in_ring);
		assert_true(result.instructions > 0);
	}
}

/* "PSB TSC …", as text, with the addresses as they stand. */
static void packets_as_text(struct mt_pt_encoder *encoder, char *text, size_t size)
{
	uint8_t *bytes;
	size_t count, length = 0;
	uint64_t lost;
	struct mt_pt_packet packet;

	assert_null(mt_pt_encoder_snapshot(encoder, &bytes, &count, &lost));
	text[0] = '\0';
	for (size_t at = 0; at < count; at += packet.size) {
		char one[96];
		assert_true(mt_pt_packet_decode(bytes + at, count - at, &packet) > 0);
		mt_pt_packet_format(&packet, one, sizeof(one));
		length += (size_t)snprintf(text + length, size - length, "%s; ", one);
		assert_true(length < size);
	}
	free(bytes);
}

static struct mt_pt_encoder *plain_encoder(void)
{
	struct mt_pt_encoder *encoder = NULL;

	assert_null(mt_pt_encoder_create(&plain.config, &encoder));
	return encoder;
}

/* The packets of a small story, as the SDM has them. */
static void test_packets_of_a_story(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[4096];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_branch(e, 154010, true, 0x401100);
	mt_pt_encode_call(e, 154020, 0x401105, 0x402000);
	mt_pt_encode_branch(e, 154030, false, 0x402004);
	mt_pt_encode_return(e, 154040, 0x401105); /* compressed */
	mt_pt_encode_call(e, 154050, 0x40110a, 0x40110a);
	mt_pt_encode_call_indirect(e, 154060, 0x40110c, 0x7ffff7d00000);
	mt_pt_encode_return(e, 154060, 0x40110c); /* compressed */
	mt_pt_encode_return(e, 154070, 0x40110c); /* there is no call for it */
	mt_pt_encode_syscall(e, 154080);
	mt_pt_encode_start(e, 154100, 0x40110e);
	mt_pt_encode_jump(e, 155000, 0x401200);
	mt_pt_encode_stop(e, 155300, 0x401203); /* two MTCs are due, at 1008 and 1008 + 8 */
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "PSB; TSC 0x25990; TMA CTC 0x3e8 FC 0x0; CBR 0x25; PSBEND; "
				  "MODE.Exec IF:0 64; TIP.PGE 0x401000; "
				  "CYC 0x28; TNT TNT (3); CYC 0x14; TIP 0x7ffff7d00000; "
				  "TNT T (1); CYC 0xa; TIP 0x40110c; CYC 0xa; TIP.PGD no ip; "
				  "CYC 0x14; TIP.PGE 0x110e; "
				  "CYC 0x46c; MTC 0x7e; CYC 0x44; FUP 0x1203; TIP.PGD no ip; ");
	mt_pt_encoder_destroy(e);
}

static size_t occurrences(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		count++;
	}
	return count;
}

/* Of 100 calls the last 64 are remembered. */
static void test_return_compression_depth(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[8192];

	(void)state;
	mt_pt_encode_start(e, 1000, 0x1000);
	for (uint64_t i = 0; i < 100; i++)
		mt_pt_encode_call(e, 1000, 0x2000 + i, 0x1000);
	for (uint64_t i = 0; i < 100; i++)
		mt_pt_encode_return(e, 1000, 0x2000 + 99 - i);
	packets_as_text(e, text, sizeof(text));
	assert_int_equal(occurrences(text, "TNT TTTTTT (6)"), 10);
	assert_int_equal(occurrences(text, "TNT TTTT (4)"), 1);
	assert_int_equal(occurrences(text, "TIP 0x"), 36);
	mt_pt_encoder_destroy(e);
}

/* A call to the next instruction is not remembered, an indirect one is. */
static void test_call_to_next(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[1024];

	(void)state;
	mt_pt_encode_start(e, 1000, 0x1000);
	mt_pt_encode_call(e, 1000, 0x1005, 0x1005);
	mt_pt_encode_return(e, 1000, 0x1005);
	mt_pt_encode_call_indirect(e, 1000, 0x1007, 0x1007);
	mt_pt_encode_return(e, 1000, 0x1007);
	packets_as_text(e, text, sizeof(text));
	assert_non_null(strstr(text, "TIP 0x1005; TIP 0x1007; TNT T (1); "));
	mt_pt_encoder_destroy(e);
}

static void test_long_gap_is_told_by_tsc(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[4096];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_branch(e, 154010, true, 0x401100);
	mt_pt_encode_branch(e, 1154010, true, 0x401100);
	packets_as_text(e, text, sizeof(text));
	assert_non_null(strstr(text, "TIP.PGE 0x401000; CYC 0xa; TNT T (1); CYC 0xf4240; "
				     "TSC 0x119bda; TMA CTC 0x1d45 FC 0x58; TNT T (1); "));
	mt_pt_encoder_destroy(e);
}

/* Told while it cannot be so: ignored. */
static void test_ignored_while_off(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	uint8_t *bytes = (uint8_t *)e;
	size_t size = 1;
	uint64_t lost = 1;

	(void)state;
	mt_pt_encode_branch(e, 1, true, 2);
	mt_pt_encode_call(e, 1, 2, 3);
	mt_pt_encode_call_indirect(e, 1, 2, 3);
	mt_pt_encode_jump(e, 1, 2);
	mt_pt_encode_return(e, 1, 2);
	mt_pt_encode_syscall(e, 1);
	mt_pt_encode_stop(e, 1, 2);
	assert_false(mt_pt_encoder_is_tracing(e));
	assert_null(mt_pt_encoder_snapshot(e, &bytes, &size, &lost));
	assert_null(bytes);
	assert_int_equal(size, 0);
	assert_int_equal(lost, 0);
	mt_pt_encode_start(e, 100, 0x1000);
	assert_true(mt_pt_encoder_is_tracing(e));
	mt_pt_encode_start(e, 100, 0x2000);
	mt_pt_encode_stop(e, 50, 0x1004);
	char text[512];
	packets_as_text(e, text, sizeof(text));
	assert_null(strstr(text, "0x2000"));
	assert_non_null(strstr(text, "TIP.PGE 0x1000; FUP 0x1004; TIP.PGD no ip; "));
	assert_false(mt_pt_encoder_failed(e));
	mt_pt_encoder_destroy(e);
}

/* Cleared in the middle: it begins anew with a PSB+ that says where the thread is. */
static void test_clear_while_tracing(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[1024];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_call(e, 154010, 0x401105, 0x402000);
	mt_pt_encode_branch(e, 154020, true, 0x402100);
	mt_pt_encoder_clear(e);
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "");
	mt_pt_encode_return(e, 154030, 0x401105);
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "PSB; TSC 0x259ae; TMA CTC 0x3e8 FC 0x1e; CBR 0x25; "
				  "MODE.Exec IF:0 64; FUP 0x402100; PSBEND; TIP 0x1105; ");
	mt_pt_encoder_destroy(e);
}

static void refuses(size_t ring_bytes, size_t psb_period_bytes)
{
	struct mt_pt_encoder_config config = {.ring_bytes = ring_bytes,
					      .psb_period_bytes = psb_period_bytes};
	struct mt_pt_encoder *encoder = NULL;
	struct mt_error *error = mt_pt_encoder_create(&config, &encoder);

	assert_int_equal(mt_error_code(error), MT_ERROR_USAGE);
	assert_null(encoder);
	mt_error_destroy(error);
}

static void test_refused_rings(void **state)
{
	struct mt_pt_encoder_config least = {.ring_bytes = 8192};
	struct mt_pt_encoder *encoder = NULL;

	(void)state;
	refuses(1, 0);
	refuses(8191, 0);
	refuses(8192, 4096);
	refuses(65536, SIZE_MAX);
	assert_null(mt_pt_encoder_create(&least, &encoder));
	mt_pt_encoder_destroy(encoder);
	mt_pt_encoder_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_packets_of_a_story),
	    cmocka_unit_test(test_return_compression_depth),
	    cmocka_unit_test(test_call_to_next),
	    cmocka_unit_test(test_long_gap_is_told_by_tsc),
	    cmocka_unit_test(test_ignored_while_off),
	    cmocka_unit_test(test_clear_while_tracing),
	    cmocka_unit_test(test_refused_rings),
	    cmocka_unit_test(test_random_walks),
	    cmocka_unit_test(test_deep_recursion),
	    cmocka_unit_test(test_timing_variants),
	    cmocka_unit_test(test_ring_is_a_suffix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
