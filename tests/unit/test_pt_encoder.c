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
#define CODE_BASE  UINT64_C(0x555555554000)
/* Half of the code lies far away: IPs that share only 16 or 32 bits, or none. */
#define FAR_BASE  UINT64_C(0x7ffff7d00000)
#define HIGH_BASE UINT64_C(0xffffffff81000000)
#define SIM_STACK 4096

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
};

struct walk_options {
	uint64_t seed;
	size_t instructions;
	unsigned int weights[ENDINGS];
	unsigned int wrong_return_percent;
	unsigned int stop_per_mille; /* a signal in the middle of a node */
	unsigned int gap_per_mille;  /* a long time passes */
	uint64_t gap_ticks;
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
	struct step *steps;
	size_t count;
	struct mt_pt_encoder *encoder;
};

static uint64_t base_of_node(size_t index)
{
	return index < NODES / 2 ? CODE_BASE : index < NODES / 4 * 3 ? FAR_BASE : HIGH_BASE;
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
	size_t quarter = NODES / 4, end = (index / quarter + 1) * quarter;

	if (index < NODES / 2)
		end = NODES / 2;
	return index + 1 + next_random(&walk->seed) % (end - index - 1);
}

static void make_node(struct walk *walk, size_t index)
{
	struct node *node = &walk->program.nodes[index];
	uint8_t *code = walk->program.code[index];
	bool last = index + 1 == NODES / 2 || (index + 1) % (NODES / 4) == 0;

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
	walk->steps[walk->count++] = (struct step){ip, walk->tsc};
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

static size_t random_node(struct walk *walk)
{
	return next_random(&walk->seed) % NODES;
}

/* A return goes behind the call: into the padding of the calling node. */
static size_t run_return(struct walk *walk)
{
	bool wrong = next_random(&walk->seed) % 100 < walk->options->wrong_return_percent;

	if (wrong && walk->depth > 2)
		walk->depth -= next_random(&walk->seed) % 3; /* as longjmp unwinds */
	if (!walk->depth || (wrong && next_random(&walk->seed) % 2)) {
		size_t node = random_node(walk);
		mt_pt_encode_return(walk->encoder, walk->tsc, address_of(walk, node));
		return node;
	}
	size_t caller = walk->stack[--walk->depth];
	mt_pt_encode_return(walk->encoder, walk->tsc, walk->program.nodes[caller].after);
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
	mt_pt_encode_branch(walk->encoder, walk->tsc, taken, taken ? target : node->after);
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
		mt_pt_encode_jump_indirect(walk->encoder, walk->tsc, address_of(walk, to));
		return to;
	case END_CALL_INDIRECT:
		mt_pt_encode_call_indirect(walk->encoder, walk->tsc, node->after,
					   address_of(walk, to));
		push(walk, index);
		return to;
	case END_RETURN:
		return run_return(walk);
	default:
		mt_pt_encode_syscall(walk->encoder, walk->tsc);
		walk->tsc += next_random(&walk->seed) % 5000;
		/* Back behind it, or in a signal's handler. */
		if (next_random(&walk->seed) % 4 == 0) {
			mt_pt_encode_start(walk->encoder, walk->tsc, address_of(walk, to));
			return to;
		}
		mt_pt_encode_start(walk->encoder, walk->tsc, node->after);
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
			mt_pt_encode_stop(walk->encoder, walk->tsc, node->address + i);
			walk->tsc += next_random(&walk->seed) % 3000;
			mt_pt_encode_start(walk->encoder, walk->tsc,
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
	assert_non_null(walk->steps);
	assert_null(mt_pt_encoder_create(&options->config, &walk->encoder));
	for (size_t i = 0; i < NODES; i++)
		make_node(walk, i);
	mt_pt_encode_start(walk->encoder, walk->tsc, address_of(walk, node));
	while (walk->count < options->instructions)
		node = run_node(walk, node);
	mt_pt_encode_stop(walk->encoder, walk->tsc, address_of(walk, node));
}

static void walk_end(struct walk *walk)
{
	mt_pt_encoder_destroy(walk->encoder);
	free(walk->steps);
}

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	const struct program *program = context;
	size_t copied = 0;

	(void)asid;
	for (; copied < size; copied++, ip++) {
		uint64_t base = ip >= HIGH_BASE ? HIGH_BASE : ip >= FAR_BASE ? FAR_BASE : CODE_BASE;
		if (ip - base >= sizeof(program->code))
			break;
		buffer[copied] = ((const uint8_t *)program->code)[ip - base];
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

/* A packet's time goes to the instructions up to the packet before it and after: so compare with
 * the span of `window` instructions either side. */
static void compare_times(const struct walk *walk, const struct step *decoded, size_t count,
			  size_t window, uint64_t slack)
{
	const struct step *truth = walk->steps + walk->count - count;

	for (size_t i = 0; i < count; i++) {
		uint64_t low = truth[i > window ? i - window : 0].tsc;
		uint64_t high = i + window < count ? truth[i + window].tsc : walk->tsc;
		if (decoded[i].tsc + slack < low || decoded[i].tsc > high + slack)
			fail_msg("seed %lu: instruction %zu of %zu: time %lu, not in %lu … %lu",
				 (unsigned long)walk->options->seed, i, count,
				 (unsigned long)decoded[i].tsc, (unsigned long)low,
				 (unsigned long)high);
		if (i && decoded[i].tsc < decoded[i - 1].tsc)
			fail_msg("seed %lu: instruction %zu: time runs backwards",
				 (unsigned long)walk->options->seed, i);
	}
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
		compare_times(&walk, decoded, result.instructions, 400, 20);
	if (!options->config.ring_bytes)
		assert_int_equal(result.instructions, walk.count);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_walks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
