/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the blocks of the code, each decoded once and kept by its address.  A block runs
 * to the first instruction that control may leave by. */
#ifndef MT_PT_DECODE_CODE_H
#define MT_PT_DECODE_CODE_H

#include "pt/image.h"
#include "x86/insn.h"

/* Beside enum mt_insn_class: there is no code, or none that can be decoded. */
#define MT_PT_CODE_NONE 0xff
#define MT_PT_CODE_BAD  0xfe

struct mt_pt_code_block {
	uint64_t ip;
	uint64_t end;    /* address of the last instruction */
	uint64_t after;  /* of the one behind it */
	uint64_t target; /* of a direct branch */
	uint32_t generation;
	uint16_t instructions;
	uint8_t class; /* enum mt_insn_class of the last one; OTHER: the block was cut */
	uint8_t kind;  /* enum mt_event_kind of the last one's event */
};

struct mt_pt_code {
	const struct mt_pt_image *image;
	struct mt_pt_code_block *blocks; /* direct-mapped by address */
	uint32_t generation;             /* of the image */
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_pt_code_init(struct mt_pt_code *code);
void mt_pt_code_deinit(struct mt_pt_code *code);
void mt_pt_code_set_image(struct mt_pt_code *code, const struct mt_pt_image *image);

#define MT_PT_CODE_BLOCKS 32768 /* a power of two */

const struct mt_pt_code_block *mt_pt_code_learn(struct mt_pt_code *code, uint64_t ip,
						struct mt_pt_code_block *block);

/* Lent until the next call. */
static inline const struct mt_pt_code_block *mt_pt_code_at(struct mt_pt_code *code, uint64_t ip)
{
	struct mt_pt_code_block *block = &code->blocks[(ip ^ ip >> 15) & (MT_PT_CODE_BLOCKS - 1)];

	if (__builtin_expect(block->ip == ip && block->generation == code->generation, 1))
		return block;
	return mt_pt_code_learn(code, ip, block);
}

/* The number of instructions from BEGIN up to END, which must be one's address; -1 if it is not.
 * Straight on, over branches too. */
int mt_pt_code_count(struct mt_pt_code *code, uint64_t begin, uint64_t end);

#endif
