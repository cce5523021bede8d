/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instructions that make nearly all of a compiler's output, taken apart by tables: some ten
 * times as fast as by Zydis, which is asked for the rest. */
#ifndef MT_X86_COMMON_H
#define MT_X86_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_insn_common {
	uint8_t length;
	uint8_t class;               /* enum mt_insn_class */
	uint8_t opcode;              /* its last byte */
	uint8_t modrm_offset;        /* 0: there is none */
	uint8_t displacement_offset; /* of one beside rip; 0: there is none */
	bool rex_b;
	int32_t distance; /* of a direct branch, from its end */
};

/* False: it is none of them, or SIZE bytes do not hold it whole. */
bool mt_insn_common(const uint8_t *bytes, size_t size, struct mt_insn_common *out);

#endif
