/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random walks over made-up machine code, told to the encoder, with the control-flow events that a
 * decoder must find, one by one.  The code lies in a file, mapped at two places far apart. */
#ifndef MT_TESTS_UNIT_PT_EVENT_WALK_H
#define MT_TESTS_UNIT_PT_EVENT_WALK_H

#include "pt_decode.h"

#include "pt/encoder.h"

#define WALK_NODES      256
#define WALK_HALF       (WALK_NODES / 2)
#define WALK_NODE_BYTES 32
#define WALK_STACK      4096

static const uint64_t walk_bases[2] = {0x400000, 0x7ffff7d00000};

enum walk_end {
	WALK_BRANCH,     /* je rel8 into the same node's padding */
	WALK_BRANCH_FAR, /* je rel32 */
	WALK_JUMP,       /* direct */
	WALK_JUMP_INDIRECT,
	WALK_CALL,
	WALK_CALL_NEXT, /* to the next instruction */
	WALK_CALL_INDIRECT,
	WALK_RETURN,
	WALK_SYSCALL,
	WALK_ENDS
};

struct walk_options {
	uint64_t seed;
	size_t blocks;
	unsigned int weights[WALK_ENDS];
	unsigned int stop_per_mille; /* interrupts */
	unsigned int wrong_return_percent;
	struct mt_pt_encoder_config encoder;
};

struct walk_node {
	unsigned int nops;
	enum walk_end kind;
	unsigned int length; /* of the instruction that ends it */
	uint64_t target;     /* of a direct one */
};

struct walk {
	const struct walk_options *options;
	struct walk_node nodes[WALK_NODES];
	uint8_t code[WALK_NODES * WALK_NODE_BYTES];
	char path[32];
	struct mt_pt_encoder *encoder;
	MT_ARRAY(struct mt_event) wanted;
	uint64_t seed;
	uint64_t tsc;
	uint64_t instructions;
	uint64_t stack[WALK_STACK];
	size_t depth;
};

static inline uint64_t walk_random(struct walk *walk, uint64_t below)
{
	walk->seed ^= walk->seed << 13;
	walk->seed ^= walk->seed >> 7;
	walk->seed ^= walk->seed << 17;
	return (walk->seed * UINT64_C(0x2545f4914f6cdd1d) >> 11) % below;
}

static inline uint64_t walk_address(size_t node)
{
	return walk_bases[node / WALK_HALF] + (node % WALK_HALF) * WALK_NODE_BYTES;
}

static inline size_t walk_node_at(uint64_t ip)
{
	size_t half = ip >= walk_bases[1];

	return half * WALK_HALF + (size_t)(ip - walk_bases[half]) / WALK_NODE_BYTES;
}

static inline enum walk_end walk_pick(struct walk *walk)
{
	unsigned int total = 0, at = 0;

	for (int i = 0; i < WALK_ENDS; i++)
		total += walk->options->weights[i];
	uint64_t pick = walk_random(walk, total);
	while (pick >= walk->options->weights[at])
		pick -= walk->options->weights[at++];
	return (enum walk_end)at;
}

static inline void walk_make_node(struct walk *walk, size_t index)
{
	static const uint8_t opcodes[WALK_ENDS][2] = {{0x74},       {0x0f, 0x84}, {0xe9},
						      {0xff, 0xe0}, {0xe8},       {0xe8},
						      {0xff, 0xd0}, {0xc3},       {0x0f, 0x05}};
	static const uint8_t lengths[WALK_ENDS] = {2, 6, 5, 2, 5, 5, 2, 1, 2};
	struct walk_node *node = &walk->nodes[index];
	uint8_t *code = walk->code + index * WALK_NODE_BYTES;
	size_t in_half = index % WALK_HALF;
	bool last = in_half == WALK_HALF - 1;

	node->nops = (unsigned int)walk_random(walk, 6);
	node->kind = last ? WALK_JUMP_INDIRECT : walk_pick(walk);
	node->length = lengths[node->kind];
	uint64_t end = walk_address(index) + node->nops;
	uint64_t after = end + node->length;
	/* Direct jumps and calls only go forward, so that no endless loop is without a packet. */
	size_t ahead = last ? 0 : 1 + walk_random(walk, WALK_HALF - 1 - in_half);
	node->target = walk_address(index + ahead);
	if (node->kind == WALK_BRANCH)
		node->target = after + walk_random(walk, 14);
	if (node->kind == WALK_CALL_NEXT)
		node->target = after;
	int32_t relative = (int32_t)(node->target - after);

	memset(code, 0x90, WALK_NODE_BYTES);
	memcpy(code + node->nops, opcodes[node->kind], 2);
	if (node->kind == WALK_BRANCH)
		code[node->nops + 1] = (uint8_t)relative;
	else if (node->length >= 5)
		memcpy(code + node->nops + node->length - 4, &relative, 4);
	if (node->kind == WALK_RETURN)
		code[node->nops + 1] = 0x90;
}

static inline void walk_want(struct walk *walk, uint8_t kind, uint64_t from, uint64_t to,
			     uint32_t detail)
{
	struct mt_event event = {
	    .time_ns = walk->tsc, .kind = kind, .from = from, .to = to, .detail = detail};

	assert_int_equal(mt_array_push(&walk->wanted, event), 0);
}

static inline uint64_t walk_now(struct walk *walk)
{
	walk->tsc += walk_random(walk, 40);
	return walk->tsc;
}

static inline void walk_start(struct walk *walk, uint64_t ip)
{
	mt_pt_encode_start(walk->encoder, walk_now(walk), ip);
	walk_want(walk, MT_EVENT_TRACE_START, 0, ip, 0);
}

static inline void walk_stop(struct walk *walk, uint64_t ip)
{
	mt_pt_encode_stop(walk->encoder, walk_now(walk), ip);
	walk_want(walk, MT_EVENT_TRACE_END, ip, 0, MT_TRACE_END_ASYNC);
}

static inline uint64_t walk_anywhere(struct walk *walk)
{
	return walk_address(walk_random(walk, WALK_NODES));
}

static inline uint64_t walk_pop(struct walk *walk)
{
	bool wrong = walk_random(walk, 100) < walk->options->wrong_return_percent;

	if (wrong && walk->depth > 2)
		walk->depth -= walk_random(walk, 3);
	return walk->depth && !wrong ? walk->stack[--walk->depth] : walk_anywhere(walk);
}

static inline void walk_push(struct walk *walk, uint64_t ip)
{
	if (walk->depth == WALK_STACK)
		walk->depth = 0;
	walk->stack[walk->depth++] = ip;
}

/* Run the instruction at FROM that ends a node.  Returns where control goes. */
static inline uint64_t walk_run_end(struct walk *walk, const struct walk_node *node, uint64_t from)
{
	uint64_t after = from + node->length, to = node->target;
	uint64_t now = walk_now(walk);
	bool taken;

	switch (node->kind) {
	case WALK_BRANCH:
	case WALK_BRANCH_FAR:
		taken = walk_random(walk, 2);
		to = taken ? node->target : after;
		mt_pt_encode_branch(walk->encoder, now, taken, to);
		if (taken)
			walk_want(walk, MT_EVENT_JUMP, from, to, 0);
		return to;
	case WALK_JUMP:
		mt_pt_encode_from(walk->encoder, now, from, to);
		mt_pt_encode_jump(walk->encoder, now, to);
		walk_want(walk, MT_EVENT_JUMP, from, to, 0);
		return to;
	case WALK_JUMP_INDIRECT:
		to = walk_anywhere(walk);
		mt_pt_encode_jump_indirect(walk->encoder, now, to);
		walk_want(walk, MT_EVENT_JUMP, from, to, 0);
		return to;
	case WALK_CALL:
	case WALK_CALL_NEXT:
		mt_pt_encode_from(walk->encoder, now, from, to);
		mt_pt_encode_call(walk->encoder, now, after, to);
		if (node->kind == WALK_CALL)
			walk_push(walk, after);
		walk_want(walk, MT_EVENT_CALL, from, to, 0);
		return to;
	case WALK_CALL_INDIRECT:
		to = walk_anywhere(walk);
		mt_pt_encode_call_indirect(walk->encoder, now, after, to);
		walk_push(walk, after);
		walk_want(walk, MT_EVENT_CALL, from, to, 0);
		return to;
	case WALK_RETURN:
		to = walk_pop(walk);
		mt_pt_encode_return(walk->encoder, now, to);
		walk_want(walk, MT_EVENT_RETURN, from, to, 0);
		return to;
	default:
		mt_pt_encode_syscall(walk->encoder, now);
		walk_want(walk, MT_EVENT_TRACE_END, from, 0, MT_TRACE_END_SYSCALL);
		/* Back, or to a signal's handler. */
		to = walk_random(walk, 4) ? after : walk_anywhere(walk);
		walk_start(walk, to);
		return to;
	}
}

/* From IP to the end of its node.  Returns where control goes. */
static inline uint64_t walk_run_node(struct walk *walk, uint64_t ip)
{
	size_t index = walk_node_at(ip);
	const struct walk_node *node = &walk->nodes[index];
	uint64_t begin = walk_address(index), end = begin + node->nops;
	uint64_t last = ip <= end ? end : begin + WALK_NODE_BYTES;

	for (; ip < last; ip++) {
		if (walk_random(walk, 1000) < walk->options->stop_per_mille) {
			uint64_t to = walk_random(walk, 2) ? ip : walk_anywhere(walk);

			walk_stop(walk, ip);
			walk_start(walk, to);
			if (to != ip)
				return to;
		}
		walk->instructions++;
	}
	if (ip != end)
		return ip; /* ran through the padding into the next node */
	walk->instructions++;
	return walk_run_end(walk, node, end);
}

static inline void walk_make_code(struct walk *walk)
{
	strcpy(walk->path, "/tmp/mtrace-walk-XXXXXX");
	int fd = mkstemp(walk->path);

	assert_true(fd >= 0);
	for (size_t i = 0; i < WALK_NODES; i++)
		walk_make_node(walk, i);
	assert_int_equal(write(fd, walk->code, sizeof(walk->code)), sizeof(walk->code));
	close(fd);
}

static inline struct walk *walk_create(const struct walk_options *options)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	walk->options = options;
	walk->seed = options->seed * 2 + 1;
	walk->tsc = 1000000 + walk_random(walk, UINT32_MAX);
	walk_make_code(walk);
	assert_null(mt_pt_encoder_create(&options->encoder, &walk->encoder));
	uint64_t ip = walk_anywhere(walk);
	walk_start(walk, ip);
	for (size_t i = 0; i < options->blocks; i++)
		ip = walk_run_node(walk, ip);
	walk_stop(walk, ip);
	return walk;
}

static inline void walk_destroy(struct walk *walk)
{
	unlink(walk->path);
	mt_pt_encoder_destroy(walk->encoder);
	mt_array_deinit(&walk->wanted);
	free(walk);
}

/* HALVES: bit mask of the halves that are mapped. */
static inline struct mt_pt_image *walk_image(const struct walk *walk,
					     struct mt_pt_image_cache *cache, unsigned int halves)
{
	struct mt_pt_image *image;
	uint64_t bytes = sizeof(walk->code) / 2;

	assert_null(mt_pt_image_create(cache, &image));
	for (size_t i = 0; i < 2; i++)
		if (halves & 1u << i)
			assert_null(
			    mt_pt_image_add(image, walk->path, i * bytes, bytes, walk_bases[i]));
	return image;
}

static inline bool walk_same(const struct mt_event *left, const struct mt_event *right)
{
	return left->kind == right->kind && left->from == right->from && left->to == right->to &&
	       left->detail == right->detail;
}

#endif
