/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_code.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX_INSNS  4096 /* 15 bytes each: `end` has 16 bits */
#define TABLE_MIN_BLOCKS 4096
#define TABLE_MAX_BLOCKS (4u << 20)

static void let_go(struct mt_pt_code_table *table)
{
	mt_arena_deinit(&table->arena);
	free(table->slots);
}

void mt_pt_code_deinit(struct mt_pt_code *code)
{
	for (size_t i = 0; i < MT_PT_CODE_TABLES; i++)
		let_go(&code->tables[i]);
}

static struct mt_pt_code_block **free_slot(struct mt_pt_code_table *table, uint64_t ip)
{
	size_t at = mt_pt_code_slot(table, ip);

	while (table->slots[at])
		at = (at + 1) & (table->capacity - 1);
	return &table->slots[at];
}

/* Makes it twice as large.  Returns 0, or -1 without memory. */
static int grow(struct mt_pt_code_table *table)
{
	struct mt_pt_code_table old = *table;
	size_t capacity = old.capacity ? 2 * old.capacity : TABLE_MIN_BLOCKS;
	struct mt_pt_code_block **slots = calloc(capacity, sizeof(struct mt_pt_code_block *));

	if (!slots)
		return -1;
	table->slots = slots;
	table->capacity = capacity;
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i])
			*free_slot(table, old.slots[i]->ip) = old.slots[i];
	free(old.slots);
	return 0;
}

/* Nothing that was lent counts any more. */
static void begin_epoch(struct mt_pt_code *code)
{
	code->at = NULL;
	code->epoch++;
}

/* Of one that is large enough. */
static void empty(struct mt_pt_code *code, struct mt_pt_code_table *table)
{
	begin_epoch(code);
	mt_arena_deinit(&table->arena);
	memset(table->slots, 0, table->capacity * sizeof(struct mt_pt_code_block *));
	table->count = 0;
}

struct mt_error *mt_pt_code_set_image(struct mt_pt_code *code, const struct mt_pt_image *image,
				      bool is_32)
{
	uint64_t id = image ? mt_pt_image_id(image) : 0;
	struct mt_pt_code_table fresh = {.image = image, .image_id = id, .is_32 = is_32};

	if (code->table && code->table->image == image && code->table->image_id == id &&
	    code->table->is_32 == is_32)
		return NULL;
	for (size_t i = 0; i < MT_PT_CODE_TABLES; i++) {
		struct mt_pt_code_table *table = &code->tables[i];

		if (table->slots && table->image == image && table->image_id == id &&
		    table->is_32 == is_32) {
			begin_epoch(code);
			code->table = table;
			return NULL;
		}
	}
	if (grow(&fresh))
		return mt_error_no_memory();
	begin_epoch(code);
	code->table = &code->tables[code->oldest++ % MT_PT_CODE_TABLES];
	let_go(code->table);
	*code->table = fresh;
	return NULL;
}

/* Branches into and out of the kernel, and far ones, by opcode (SDM vol. 2). */
static uint8_t far_kind(const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;

	while (at < end && (*at == 0x66 || *at == 0x67 || *at == 0xf2 || *at == 0xf3 ||
			    *at == 0x2e || *at == 0x3e || (*at & 0xf0) == 0x40))
		at++; /* prefixes */

	uint8_t opcode = at < end ? at[0] : 0;
	uint8_t second = at + 1 < end ? at[1] : 0;
	uint8_t third = at + 2 < end ? at[2] : 0;
	if (opcode == 0x0f && second == 0x01 && (third == 0xca || third == 0xec))
		return MT_EVENT_IRET; /* erets, eretu, uiret */
	if (opcode == 0x0f)
		return second == 0x05 || second == 0x34   ? MT_EVENT_SYSCALL
		       : second == 0x07 || second == 0x35 ? MT_EVENT_SYSRET
							  : MT_EVENT_JUMP;
	if (opcode == 0xcf)
		return MT_EVENT_IRET;
	if (opcode == 0xcd && second == 0x80)
		return MT_EVENT_SYSCALL;
	if (opcode == 0xcc || opcode == 0xcd || opcode == 0xce || opcode == 0xf1)
		return MT_EVENT_INTERRUPT;
	if (opcode == 0x9a || (opcode == 0xff && (second & 0x38) == 0x18))
		return MT_EVENT_CALL;
	if (opcode == 0xca || opcode == 0xcb)
		return MT_EVENT_RETURN;
	return MT_EVENT_JUMP;
}

/* An instruction may begin in one mapping and end in the next. */
static size_t read_insn(const struct mt_pt_code *code, uint64_t ip, uint8_t *bytes)
{
	size_t size = 0, count = 1;

	while (code->table->image && count && size < MT_INSN_MAX_BYTES) {
		count = mt_pt_image_read(code->table->image, ip + size, bytes + size,
					 MT_INSN_MAX_BYTES - size);
		size += count;
	}
	return size;
}

static int decode_insn(const struct mt_pt_code *code, const uint8_t *bytes, size_t size,
		       uint64_t ip, struct mt_insn *out)
{
	return code->table->is_32 ? mt_insn_decode_32(bytes, size, ip, out)
				  : mt_insn_decode(bytes, size, ip, out);
}

static struct mt_pt_code_block decode_block(const struct mt_pt_code *code, uint64_t ip)
{
	struct mt_pt_code_block block = {.ip = ip, .after = ip};
	struct mt_insn insn = {.class = MT_INSN_OTHER};
	uint8_t bytes[MT_INSN_MAX_BYTES];

	while (insn.class == MT_INSN_OTHER && block.instructions < BLOCK_MAX_INSNS) {
		size_t size = read_insn(code, block.after, bytes);

		if (decode_insn(code, bytes, size, block.after, &insn)) {
			/* The instructions before it run; then the next block begins there. */
			if (!block.instructions)
				insn.class = size ? MT_PT_CODE_BAD : MT_PT_CODE_NONE;
			break;
		}
		block.instructions++;
		block.end = (uint16_t)(block.after - ip);
		block.after += insn.length;
	}
	block.class = insn.class;
	block.target = insn.target;
	block.kind = MT_EVENT_JUMP;
	if (insn.class == MT_INSN_CALL || insn.class == MT_INSN_CALL_INDIRECT)
		block.kind = MT_EVENT_CALL;
	else if (insn.class == MT_INSN_RETURN)
		block.kind = MT_EVENT_RETURN;
	else if (insn.class == MT_INSN_SYSCALL || insn.class == MT_INSN_FAR)
		block.kind = far_kind(bytes, insn.length);
	return block;
}

static void find_place(const struct mt_pt_code *code, struct mt_pt_code_block *block)
{
	const struct mt_pt_source *source = code->source;
	uint64_t start, end;

	if (!source || !source->place_at ||
	    !source->place_at(source->context, code->places, block->ip, &start, &end))
		return;
	block->place = start;
	block->place_size = end - start < UINT32_MAX ? (uint32_t)(end - start) : UINT32_MAX;
	block->is_silent = block->class == MT_INSN_BRANCH &&
			   mt_pt_code_end(block) - start < block->place_size &&
			   block->target - start < block->place_size;
}

struct mt_pt_code_block *mt_pt_code_learn(struct mt_pt_code *code, uint64_t ip)
{
	struct mt_pt_code_table *table = code->table;
	struct mt_pt_code_block *block = NULL;

	if (2 * table->count >= TABLE_MAX_BLOCKS)
		empty(code, table);
	if (2 * table->count < table->capacity || !grow(table))
		block = mt_arena_alloc(&table->arena, sizeof(*block));
	if (block) {
		*free_slot(table, ip) = block;
		table->count++;
	} else {
		block = &code->spare;
	}
	*block = decode_block(code, ip);
	find_place(code, block);
	return block;
}

void mt_pt_code_link(struct mt_pt_code *code, struct mt_pt_code_block *from, int way, uint64_t ip)
{
	uint64_t epoch = code->epoch;
	struct mt_pt_code_block *next = mt_pt_code_at(code, ip);

	code->at = NULL;
	if (next == &code->spare)
		return;
	code->at = next;
	if (epoch != code->epoch || from == &code->spare)
		return;
	from->next[way] = next;
	from->stays[way] = from->is_silent && next->place == from->place;
}

int mt_pt_code_count(struct mt_pt_code *code, uint64_t begin, uint64_t end)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn;
	int count = 0;

	for (; begin < end; begin += insn.length, count++)
		if (decode_insn(code, bytes, read_insn(code, begin, bytes), begin, &insn))
			return -1;
	return begin == end ? count : -1;
}

bool mt_pt_code_enters_vm(const struct mt_pt_code *code, uint64_t ip)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];

	/* vmlaunch, vmresume */
	return read_insn(code, ip, bytes) >= 3 && bytes[0] == 0x0f && bytes[1] == 0x01 &&
	       (bytes[2] == 0xc2 || bytes[2] == 0xc3);
}
