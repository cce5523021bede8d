/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opcode maps: Intel SDM vol. 2, appendix A.  What has a form that is no instruction, or that some
 * processors take for another one, is left out. */
#include "x86/common.h"

#include "x86/insn.h"

#include <string.h>

enum {
	KNOWN = 0x01,
	MODRM = 0x02 | KNOWN,
	BYTE = 0x04 | KNOWN,   /* an immediate of a byte */
	FULL = 0x08 | KNOWN,   /* of the operand's size, four bytes at the most */
	FLOW = 0x10 | KNOWN,   /* branches: nothing may stand before it */
	PICK = 0x20 | KNOWN,   /* which instruction it is, ModRM.reg says: only some are taken */
	VECTOR = 0x40 | KNOWN, /* f2 or f3 before it makes another one of them */
};

#define ARITHMETIC(at) [(at)...(at) + 3] = MODRM, [(at) + 4] = BYTE, [(at) + 5] = FULL

static const uint8_t one_byte[256] = {
    ARITHMETIC(0x00),
    ARITHMETIC(0x08),
    ARITHMETIC(0x10),
    ARITHMETIC(0x18),
    ARITHMETIC(0x20),
    ARITHMETIC(0x28),
    ARITHMETIC(0x30),
    ARITHMETIC(0x38),
    [0x50 ... 0x5f] = KNOWN, /* push, pop */
    [0x63] = MODRM,          /* movsxd */
    [0x68] = FULL,           /* push */
    [0x69] = MODRM | FULL,   /* imul */
    [0x6a] = BYTE,
    [0x6b] = MODRM | BYTE,
    [0x70 ... 0x7f] = FLOW | BYTE, /* jcc */
    [0x80] = MODRM | BYTE,
    [0x81] = MODRM | FULL,
    [0x83] = MODRM | BYTE,
    [0x84 ... 0x8b] = MODRM, /* test, xchg, mov */
    [0x8d] = MODRM | PICK,   /* lea */
    [0x90 ... 0x99] = KNOWN, /* nop, xchg, cwde, cdq */
    [0xa8] = BYTE,
    [0xa9] = FULL,
    [0xb0 ... 0xb7] = BYTE,
    [0xb8 ... 0xbf] = FULL, /* mov: eight bytes with REX.W */
    [0xc0 ... 0xc1] = MODRM | PICK | BYTE,
    [0xc3] = FLOW,
    [0xc6] = MODRM | PICK | BYTE,
    [0xc7] = MODRM | PICK | FULL,
    [0xc9] = KNOWN, /* leave */
    [0xd0 ... 0xd3] = MODRM | PICK,
    [0xe8 ... 0xe9] = FLOW | FULL,
    [0xeb] = FLOW | BYTE,
    [0xf6 ... 0xf7] = MODRM | PICK,
    [0xfe ... 0xff] = MODRM | PICK,
};

/* Behind 0f. */
static const uint8_t two_bytes[256] = {
    [0x10 ... 0x11] = MODRM | VECTOR, /* movups … */
    [0x14 ... 0x15] = MODRM,
    [0x1f] = MODRM | PICK, /* nop */
    [0x28 ... 0x29] = MODRM,
    [0x2e ... 0x2f] = MODRM,
    [0x40 ... 0x4f] = MODRM, /* cmov */
    [0x51] = MODRM | VECTOR,
    [0x54 ... 0x57] = MODRM,
    [0x58 ... 0x5a] = MODRM | VECTOR,
    [0x5c ... 0x5f] = MODRM | VECTOR,
    [0x60 ... 0x6b] = MODRM,
    [0x6e ... 0x6f] = MODRM,
    [0x74 ... 0x76] = MODRM,
    [0x7e ... 0x7f] = MODRM,
    [0x80 ... 0x8f] = FLOW | FULL, /* jcc */
    [0x90 ... 0x9f] = MODRM,       /* setcc */
    [0xa3] = MODRM,                /* bt */
    [0xaf] = MODRM,                /* imul */
    [0xb6 ... 0xb7] = MODRM,       /* movzx */
    [0xbe ... 0xbf] = MODRM,       /* movsx */
    [0xd4] = MODRM,
    [0xdb] = MODRM,
    [0xeb] = MODRM,
    [0xef] = MODRM,
    [0xfa ... 0xfe] = MODRM,
};

struct reader {
	const uint8_t *bytes;
	size_t at;
	bool half;      /* 66 before it */
	uint8_t repeat; /* f2 or f3 */
	uint8_t rex;
	bool is_long; /* 0f before it */
};

#define REX_W 0x08
#define REX_B 0x01

/* SIB and displacement. */
static size_t bytes_behind(const uint8_t *modrm)
{
	uint8_t mod = modrm[0] >> 6, rm = modrm[0] & 7;
	size_t sib = mod != 3 && rm == 4;

	if (mod == 1)
		return sib + 1;
	if (mod == 2 || (mod == 0 && rm == 5) || (mod == 0 && sib && (modrm[1] & 7) == 5))
		return sib + 4;
	return sib;
}

/* False: not one of those that are taken.  *FLAGS: with an immediate, where ModRM.reg says so. */
static bool pick(uint8_t opcode, uint8_t modrm, bool is_long, uint8_t *flags)
{
	uint8_t reg = modrm >> 3 & 7;

	if (is_long || opcode == 0xc6 || opcode == 0xc7)
		return reg == 0;
	switch (opcode) {
	case 0x8d:
		return modrm >> 6 != 3;
	case 0xf6:
	case 0xf7:
		if (reg == 0)
			*flags |= opcode == 0xf6 ? BYTE : FULL;
		return reg != 1;
	case 0xfe:
		return reg < 2;
	case 0xff:
		return !(reg & 1) || reg == 1;
	default:
		return reg != 6;
	}
}

static size_t immediate_bytes(const struct reader *reader, uint8_t opcode, uint8_t flags)
{
	if (flags & BYTE & ~KNOWN)
		return 1;
	if (!(flags & FULL & ~KNOWN))
		return 0;
	if (reader->rex & REX_W)
		return opcode >= 0xb8 && opcode <= 0xbf && !reader->is_long ? 8 : 4;
	return reader->half ? 2 : 4;
}

static uint8_t class_of(const struct reader *reader, uint8_t opcode, uint8_t modrm)
{
	if (reader->is_long)
		return opcode >= 0x80 && opcode <= 0x8f ? MT_INSN_BRANCH : MT_INSN_OTHER;
	switch (opcode) {
	case 0x70 ... 0x7f:
		return MT_INSN_BRANCH;
	case 0xc3:
		return MT_INSN_RETURN;
	case 0xe8:
		return MT_INSN_CALL;
	case 0xe9:
	case 0xeb:
		return MT_INSN_JUMP;
	case 0xff:
		if ((modrm >> 3 & 7) == 2)
			return MT_INSN_CALL_INDIRECT;
		return (modrm >> 3 & 7) == 4 ? MT_INSN_JUMP_INDIRECT : MT_INSN_OTHER;
	default:
		return MT_INSN_OTHER;
	}
}

static void read_prefixes(struct reader *reader)
{
	if (reader->bytes[reader->at] == 0x66) {
		reader->half = true;
		reader->at++;
	} else if (reader->bytes[reader->at] == 0xf2 || reader->bytes[reader->at] == 0xf3) {
		reader->repeat = reader->bytes[reader->at++];
	}
	if ((reader->bytes[reader->at] & 0xf0) == 0x40)
		reader->rex = reader->bytes[reader->at++];
	if (reader->bytes[reader->at] == 0x0f) {
		reader->is_long = true;
		reader->at++;
	}
}

static bool may_have_prefixes(const struct reader *reader, uint8_t flags)
{
	if (flags & FLOW & ~KNOWN && (reader->half || reader->rex))
		return false;
	return !reader->repeat || (reader->is_long && flags & VECTOR & ~KNOWN);
}

static int32_t distance_of(const struct reader *reader, size_t size)
{
	int32_t distance = 0;

	if (size == 1)
		return (int8_t)reader->bytes[reader->at];
	memcpy(&distance, reader->bytes + reader->at, sizeof(distance));
	return distance;
}

/* There are MT_INSN_MAX_BYTES to look at. */
static bool take_apart(const uint8_t *bytes, struct mt_insn_common *out)
{
	struct reader reader = {.bytes = bytes};
	uint8_t flags, modrm = 0;

	read_prefixes(&reader);
	*out = (struct mt_insn_common){.opcode = bytes[reader.at++], .rex_b = reader.rex & REX_B};
	flags = reader.is_long ? two_bytes[out->opcode] : one_byte[out->opcode];
	if (!flags || !may_have_prefixes(&reader, flags))
		return false;
	if (flags & MODRM & ~KNOWN) {
		modrm = bytes[reader.at];
		if (flags & PICK & ~KNOWN && !pick(out->opcode, modrm, reader.is_long, &flags))
			return false;
		out->modrm_offset = (uint8_t)reader.at;
		if (modrm >> 6 == 0 && (modrm & 7) == 5)
			out->displacement_offset = (uint8_t)(reader.at + 1);
		reader.at += 1 + bytes_behind(bytes + reader.at);
	}
	size_t immediate = immediate_bytes(&reader, out->opcode, flags);
	out->class = class_of(&reader, out->opcode, modrm);
	if (out->class != MT_INSN_OTHER && (reader.half || (modrm && reader.rex & REX_W)))
		return false;
	if (flags & FLOW & ~KNOWN && immediate)
		out->distance = distance_of(&reader, immediate);
	out->length = (uint8_t)(reader.at + immediate);
	return true;
}

bool mt_insn_common(const uint8_t *bytes, size_t size, struct mt_insn_common *out)
{
	uint8_t few[MT_INSN_MAX_BYTES] = {0};

	if (size >= MT_INSN_MAX_BYTES)
		return take_apart(bytes, out);
	if (size)
		memcpy(few, bytes, size);
	return take_apart(few, out) && out->length <= size;
}
