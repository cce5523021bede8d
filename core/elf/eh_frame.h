/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ranges of code that .eh_frame describes.  Stripped files keep it, so it finds functions where
 * there are no symbols (LSB Core, "Exception Frames"; DWARF 5, section 6.4). */
#ifndef MT_ELF_EH_FRAME_H
#define MT_ELF_EH_FRAME_H

#include "base/array.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct mt_fde {
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint64_t lsda; /* of its language-specific data area; 0: none */
	bool signal;   /* `S` augmentation: its caller stands where it says, exactly */
	bool cold;     /* by the CFA at its start, not where a call arrives */
	bool lazy;     /* it is rsp+24: where a lazy PLT stub arrives, with two words pushed */
};

struct mt_fdes {
	struct mt_fde *items; /* sorted by start */
	size_t count;
	size_t capacity;
};

/* Reads as much of it as it can; a garbled entry is left out.  Returns 0, or -1 without memory. */
int mt_eh_frame_read(Elf *elf, struct mt_fdes *out);
/* The last FDE that begins at or below an address and holds it; NULL: none. */
const struct mt_fde *mt_fdes_find(const struct mt_fdes *fdes, uint64_t address);

/* To behind the `syscall` of a restorer, whose FDE begins a byte before it. */
#define MT_RESTORER_BYTES 16
/* Of a frame with the `S` augmentation: is CODE, from where a call or a handler returns to, what
 * the C library has handlers return to?  OCaml's runtime has the augmentation where it changes
 * stacks. */
bool mt_code_returns_from_signal(const uint8_t *code, size_t size);

#endif
