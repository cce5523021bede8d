/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random walks over made-up machine code, told to an encoder: the truth that decoders of its
 * packets must find again. */
#ifndef PT_WALK_H
#define PT_WALK_H

#include "unit.h"

#include "pt/encoder.h"

#include <stdlib.h>

#define NODES      256
#define NODE_BYTES 32
#define QUARTER    (NODES / 4)
#define SIM_STACK  4096

/* A base for each quarter of the nodes: their IPs differ in the low 16 bits (the first one crosses
 * such an edge), in bit 32, in many bits, and in the sign. */
static const uint64_t bases[] = {0x55545554fc00, 0x55555554fc00, 0x7ffff7d00000,
				 0xffffffff81000000};
#define USER_QUARTERS 3

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
	bool user_only; /* perf wants the kernel's code from elsewhere */
	bool snapshots; /* now and then one is taken, and all goes on */
	bool swings;    /* deep down and up again, by turns */
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
	size_t nodes = walk->options->user_only ? USER_QUARTERS * QUARTER : NODES;
	size_t node = next_random(&walk->seed) % nodes;

	for (int tries = 0; walk->options->swings && tries < 8 && !leads_on(walk, node); tries++)
		node = next_random(&walk->seed) % nodes;
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

static void take_snapshot(struct walk *walk)
{
	uint8_t *bytes;
	size_t size;
	uint64_t lost;

	assert_no_error(mt_pt_encoder_snapshot(walk->encoder, &bytes, &size, &lost));
	free(bytes);
}

static size_t run_ending(struct walk *walk, size_t index)
{
	const struct node *node = &walk->program.nodes[index];
	size_t to = random_node(walk);

	if (walk->options->snapshots && next_random(&walk->seed) % 100 == 0)
		take_snapshot(walk);
	ran(walk, node->end);
	switch (node->ending) {
	case END_BRANCH:
		return run_branch(walk, index);
	case END_JUMP:
		mt_pt_encode_from(walk->encoder, walk->tsc, node->end,
				  address_of(walk, node->target));
		mt_pt_encode_jump(walk->encoder, walk->tsc, address_of(walk, node->target));
		return node->target;
	case END_CALL:
		mt_pt_encode_from(walk->encoder, walk->tsc, node->end,
				  address_of(walk, node->target));
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

static inline void walk_run(struct walk *walk, const struct walk_options *options)
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

static inline void walk_end(struct walk *walk)
{
	mt_pt_encoder_destroy(walk->encoder);
	free(walk->steps);
	free(walk->told);
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

#endif
