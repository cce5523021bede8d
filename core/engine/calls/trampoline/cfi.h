/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes trampolines to unwinders, as an object file in memory: GDB takes it through its JIT
 * interface, the program's own unwinder through the loader's _dl_find_object().
 *
 * A trampoline is to an unwinder what a signal's frame is: it interrupted the function at the
 * original address, whose registers are all to be had.  So is a hole, the long jump on the way from
 * a patch to its trampoline.
 *
 * Sources: DWARF 5, 6.4; LSB Core, "Exception Frames" (augmentation zRS: encoded addresses, signal
 * frames); "The .eh_frame_hdr section"; System V gABI. */
#ifndef MT_ENGINE_CALLS_TRAMPOLINE_CFI_H
#define MT_ENGINE_CALLS_TRAMPOLINE_CFI_H

#include "engine/calls/trampoline/trampoline.h"

/* The code of one trampoline: from `offset` up to the next part's, or to the end. */
struct mt_cfi_part {
	uint32_t offset;
	const char *name; /* as linked; may be NULL */
};

struct mt_cfi_hole {
	uint64_t address;
	uint64_t original; /* the patch's address */
};

/* Addresses are the process's; all lie within 2 GiB. */
struct mt_cfi_config {
	uint64_t code;                   /* of the trampolines' first byte */
	uint64_t address;                /* where the image will lie: a multiple of 8 */
	const struct mt_cfi_part *parts; /* by offset */
	size_t part_count;
	const struct mt_cfi_hole *holes; /* by address */
	size_t hole_count;
};

struct mt_cfi_image {
	MT_ARRAY(uint8_t) bytes; /* the object file */
	uint64_t search_table;   /* address of its .eh_frame_hdr */
};

/* Returns 0; -1 without memory, or when something lies beyond 2 GiB. */
int mt_cfi_build(const struct mt_trampolines *trampolines, const struct mt_cfi_config *config,
		 struct mt_cfi_image *image);
void mt_cfi_image_deinit(struct mt_cfi_image *image);

#endif
