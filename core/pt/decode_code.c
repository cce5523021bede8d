/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_code.h"

#include <stdlib.h>

#define BLOCK_MAX_INSNS 4096

struct mt_error *mt_pt_code_init(struct mt_pt_code *code)
{
	code->blocks = calloc(MT_PT_CODE_BLOCKS, sizeof(*code->blocks));
	code->generation = 1;
	return code->blocks ? NULL : mt_error_no_memory();
}

void mt_pt_code_deinit(struct mt_pt_code *code)
{
	free(code->blocks);
	code->blocks = NULL;
}

void mt_pt_code_set_image(struct mt_pt_code *code, const struct mt_pt_image *image)
{
	if (image != code->image)
		code->generation++;
	code->image = image;
}

static const uint8_t *skip_prefixes(const uint8_t *at, const uint8_t *end)
{
	while (at < end && (*at == 0x66 || *at == 0x67 || *at == 0xf2 || *at == 0xf3 ||
			    *at == 0x2e || *at == 0x3e || (*at & 0xf0) == 0x40))
		at++;
	return at;
}

/* Branches into and out of the kernel, and far ones, by opcode (SDM vol. 2). */
static uint8_t far_kind(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	const uint8_t *at = skip_prefixes(bytes, end);
	uint8_t opcode = at < end ? at[0] : 0;
	uint8_t second = at + 1 < end ? at[1] : 0;

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

static uint8_t insn_kind(const struct mt_insn *insn, const uint8_t *bytes)
{
	switch (insn->class) {
	case MT_INSN_CALL:
	case MT_INSN_CALL_INDIRECT:
		return MT_EVENT_CALL;
	case MT_INSN_RETURN:
		return MT_EVENT_RETURN;
	case MT_INSN_SYSCALL:
	case MT_INSN_FAR:
		return far_kind(bytes, insn->length);
	default:
		return MT_EVENT_JUMP;
	}
}

/* An instruction may begin in one mapping and end in the next. */
static size_t read_insn(const struct mt_pt_code *code, uint64_t ip, uint8_t *bytes)
{
	size_t size = 0, count = 1;

	while (code->image && count && size < MT_INSN_MAX_BYTES) {
		count = mt_pt_image_read(code->image, ip + size, bytes + size,
					 MT_INSN_MAX_BYTES - size);
		size += count;
	}
	return size;
}

const struct mt_pt_code_block *mt_pt_code_learn(struct mt_pt_code *code, uint64_t ip,
						struct mt_pt_code_block *block)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn = {.class = MT_INSN_OTHER};

	*block = (struct mt_pt_code_block){
	    .ip = ip, .end = ip, .after = ip, .generation = code->generation};
	while (insn.class == MT_INSN_OTHER && block->instructions < BLOCK_MAX_INSNS) {
		size_t size = read_insn(code, block->after, bytes);

		if (mt_insn_decode(bytes, size, block->after, &insn)) {
			/* What comes before it runs; then the next block begins there. */
			if (!block->instructions)
				insn.class = size ? MT_PT_CODE_BAD : MT_PT_CODE_NONE;
			break;
		}
		block->instructions++;
		block->end = block->after;
		block->after += insn.length;
	}
	block->class = insn.class;
	block->target = insn.target;
	block->kind = insn_kind(&insn, bytes);
	return block;
}

int mt_pt_code_count(struct mt_pt_code *code, uint64_t begin, uint64_t end)
{
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn;
	int count = 0;

	for (; begin < end; begin += insn.length, count++)
		if (mt_insn_decode(bytes, read_insn(code, begin, bytes), begin, &insn))
			return -1;
	return begin == end ? count : -1;
}
