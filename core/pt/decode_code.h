/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the blocks of the code, each decoded once and kept by its address.  A block runs
 * to the first instruction that control may leave by. */
#ifndef MT_PT_DECODE_CODE_H
#define MT_PT_DECODE_CODE_H

#include "pt/image.h"
#include "x86/insn.h"

/* Instead of an enum mt_insn_class: there is no code, or none that can be decoded. */
#define MT_PT_CODE_NONE 0xff
#define MT_PT_CODE_BAD  0xfe

struct mt_pt_code_block {
	uint64_t ip;
	uint64_t after;  /* address of the instruction behind the block */
	uint64_t target; /* of a direct branch at its end */
	uint16_t end;    /* the last instruction, from ip */
	uint16_t instructions;
	uint8_t class; /* enum mt_insn_class of the last one; OTHER: the block was cut */
	uint8_t kind;  /* enum mt_event_kind of the last one's event */
	bool used;
};

/* The blocks of one image in one mode: open addressing by address, at most half full. */
struct mt_pt_code_table {
	const struct mt_pt_image *image;
	uint64_t image_id;
	bool is_32; /* a code segment of 32 bits */
	struct mt_pt_code_block *blocks;
	size_t capacity; /* a power of two */
	size_t count;
};

#define MT_PT_CODE_TABLES 8

struct mt_pt_code {
	struct mt_pt_code_table tables[MT_PT_CODE_TABLES]; /* of the last images */
	unsigned int oldest;
	struct mt_pt_code_table *table; /* of the image now */
	struct mt_pt_code_block spare;  /* when there is no memory for another block */
};

/* Zeroed storage is ready once an image is set. */
void mt_pt_code_deinit(struct mt_pt_code *code);
/* NULL: no code.  Errors: NO_MEMORY; then nothing was changed. */
struct mt_error *mt_pt_code_set_image(struct mt_pt_code *code, const struct mt_pt_image *image,
				      bool is_32);

const struct mt_pt_code_block *mt_pt_code_learn(struct mt_pt_code *code, uint64_t ip);

static inline size_t mt_pt_code_slot(const struct mt_pt_code_table *table, uint64_t ip)
{
	return (ip ^ ip >> 16) & (table->capacity - 1);
}

/* Lent until the next call. */
static inline const struct mt_pt_code_block *mt_pt_code_at(struct mt_pt_code *code, uint64_t ip)
{
	const struct mt_pt_code_table *table = code->table;
	size_t at = mt_pt_code_slot(table, ip);

	for (; table->blocks[at].used; at = (at + 1) & (table->capacity - 1))
		if (table->blocks[at].ip == ip)
			return &table->blocks[at];
	return mt_pt_code_learn(code, ip);
}

static inline uint64_t mt_pt_code_end(const struct mt_pt_code_block *block)
{
	return block->ip + block->end;
}

/* The number of instructions from BEGIN up to END, which must be one's address; -1 if it is not.
 * Straight on, over branches too. */
int mt_pt_code_count(struct mt_pt_code *code, uint64_t begin, uint64_t end);

/* Whether the instruction at IP enters a virtual machine. */
bool mt_pt_code_enters_vm(const struct mt_pt_code *code, uint64_t ip);

#endif
