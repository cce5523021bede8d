/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Describes trampolines to the program's own unwinder, which comes to it through the loader's
 * _dl_find_object(): a search table, and behind it the call frame information.
 *
 * A trampoline is to an unwinder what a signal's frame is: it interrupted the function at the
 * original address, whose registers are all to be had.  So is a hole, the long jump on the way from
 * a patch to its trampoline.  What trampolines share is a function that one of them has called, but
 * for an unwinder's look at where it returns to, which is that very instruction.
 *
 * Sources: DWARF 5, 6.4; LSB Core, "Exception Frames" (augmentation zRS: encoded addresses, signal
 * frames); "The .eh_frame_hdr section". */
#ifndef MT_ENGINE_CALLS_TRAMPOLINE_CFI_H
#define MT_ENGINE_CALLS_TRAMPOLINE_CFI_H

#include "engine/calls/trampoline/trampoline.h"

struct mt_cfi_hole {
	uint64_t address;
	uint64_t original; /* the patch's address */
};

/* Addresses are the process's; all lie within 2 GiB. */
struct mt_cfi_config {
	uint64_t code;    /* of the trampolines' first byte */
	uint64_t address; /* where the image will lie: a multiple of 8 behind the trampolines */
	const uint32_t *parts; /* where each trampoline, and what they share, begins, up to the
				* next one; by offset */
	size_t part_count;
	const struct mt_cfi_hole *holes; /* by address */
	size_t hole_count;
	struct mt_fixes *fixes; /* to be added to, by distance from `code`; NULL: not needed */
};

/* The image begins with its search table.  The holes stand behind the trampolines in it, as is
 * right when they lie above them. */
struct mt_cfi_image {
	MT_ARRAY(uint8_t) bytes;
};

/* Returns 0; -1 without memory, or when something lies beyond 2 GiB. */
int mt_cfi_build(const struct mt_trampolines *trampolines, const struct mt_cfi_config *config,
		 struct mt_cfi_image *image);
/* What an image needs when the text with the holes lies below it. */
void mt_cfi_holes_first(uint8_t *image, size_t part_count, size_t hole_count);
void mt_cfi_image_deinit(struct mt_cfi_image *image);

#endif
