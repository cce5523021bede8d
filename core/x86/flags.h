/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction of x86-64 does with the status flags.  Over Zydis: Intel SDM vol. 1, app. A.
 */
#ifndef MT_X86_FLAGS_H
#define MT_X86_FLAGS_H

#include <stddef.h>
#include <stdint.h>

#define MT_STATUS_FLAGS 0x8d5 /* CF, PF, AF, ZF, SF, OF, as in EFLAGS */

struct mt_insn_flags {
	uint16_t read;    /* it depends on them */
	uint16_t written; /* they are not what they were, or may not be */
};

/* Of the instruction at BYTES, of which there are SIZE.  Of what is none, or is not known, no flags
 * are read and all written. */
struct mt_insn_flags mt_insn_status_flags(const uint8_t *bytes, size_t size);

#endif
