/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the blocks of the code, each decoded once and kept by its address.  A block runs
 * to the first instruction that control may leave by, and remembers where control went from it:
 * most steps go the way of the last one, and look nothing up. */
#ifndef MT_PT_DECODE_CODE_H
#define MT_PT_DECODE_CODE_H

#include "base/arena.h"
#include "pt/decoder.h"
#include "pt/image.h"
#include "x86/insn.h"

/* Instead of an enum mt_insn_class: there is no code, or none that can be decoded. */
#define MT_PT_CODE_NONE 0xff
#define MT_PT_CODE_BAD  0xfe

/* The ways out of a block. */
enum { MT_PT_CODE_ON, MT_PT_CODE_AWAY, MT_PT_CODE_WAYS }; /* straight on; by its last instruction */

struct mt_pt_code_block {
	uint64_t ip;
	uint64_t after;  /* address of the instruction behind the block */
	uint64_t target; /* of a direct branch at its end */
	struct mt_pt_code_block *next[MT_PT_CODE_WAYS]; /* that came last; NULL: none yet */
	uint64_t place;                                 /* that it begins in; its size is 0: none */
	uint32_t place_size;                            /* at most */
	uint16_t end;                                   /* the last instruction, from ip */
	uint16_t instructions;
	uint8_t class;  /* enum mt_insn_class of the last one; OTHER: the block was cut */
	uint8_t kind;   /* enum mt_event_kind of the last one's event */
	bool is_silent; /* it ends with a conditional branch that does not leave the place */
	bool stays[MT_PT_CODE_WAYS]; /* the next one is known, and in the place too; if is_silent */
};

/* The blocks of one image in one mode: open addressing by address, at most half full. */
struct mt_pt_code_table {
	const struct mt_pt_image *image;
	uint64_t image_id;
	bool is_32;            /* a code segment of 32 bits */
	struct mt_arena arena; /* of the blocks: they stay where they are */
	struct mt_pt_code_block **slots;
	size_t capacity; /* a power of two */
	size_t count;
};

#define MT_PT_CODE_TABLES 8

struct mt_pt_code {
	const struct mt_pt_source *source;                 /* for places; NULL: there are none */
	void *places;                                      /* those of the image that is set next */
	struct mt_pt_code_table tables[MT_PT_CODE_TABLES]; /* of the last images */
	unsigned int oldest;
	struct mt_pt_code_table *table; /* of the image now */
	struct mt_pt_code_block spare;  /* when there is no memory for another block */
	struct mt_pt_code_block *at;    /* where control is, if its `ip` says so; NULL: not known */
	uint64_t epoch; /* another once blocks were let go of, or those of another image count */
};

/* Zeroed storage is ready once an image is set. */
void mt_pt_code_deinit(struct mt_pt_code *code);
/* NULL: no code.  Errors: NO_MEMORY; then nothing was changed. */
struct mt_error *mt_pt_code_set_image(struct mt_pt_code *code, const struct mt_pt_image *image,
				      bool is_32);

struct mt_pt_code_block *mt_pt_code_learn(struct mt_pt_code *code, uint64_t ip);

static inline size_t mt_pt_code_slot(const struct mt_pt_code_table *table, uint64_t ip)
{
	return (ip ^ ip >> 16) & (table->capacity - 1);
}

/* Lent for the epoch; the spare block until the next call. */
static inline struct mt_pt_code_block *mt_pt_code_at(struct mt_pt_code *code, uint64_t ip)
{
	const struct mt_pt_code_table *table = code->table;
	size_t at = mt_pt_code_slot(table, ip);

	for (; table->slots[at]; at = (at + 1) & (table->capacity - 1))
		if (table->slots[at]->ip == ip)
			return table->slots[at];
	return mt_pt_code_learn(code, ip);
}

void mt_pt_code_link(struct mt_pt_code *code, struct mt_pt_code_block *from, int way, uint64_t ip);

/* Control goes from a block to IP. */
static inline void mt_pt_code_go(struct mt_pt_code *code, struct mt_pt_code_block *from, int way,
				 uint64_t ip)
{
	struct mt_pt_code_block *next = from->next[way];

	if (__builtin_expect(next && next->ip == ip, 1))
		code->at = next;
	else
		mt_pt_code_link(code, from, way, ip);
}

/* The block where control is. */
static inline struct mt_pt_code_block *mt_pt_code_here(struct mt_pt_code *code, uint64_t ip)
{
	struct mt_pt_code_block *at = code->at;

	return __builtin_expect(at && at->ip == ip, 1) ? at : mt_pt_code_at(code, ip);
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
