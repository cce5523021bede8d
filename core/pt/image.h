/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: what the decoder asks of an image. */
#ifndef MT_PT_IMAGE_H
#define MT_PT_IMAGE_H

#include "pt/decoder.h"

/* Another for every image of a cache, never 0: what was learned of an image is found by it. */
uint64_t mt_pt_image_id(const struct mt_pt_image *image);
/* Whether there is code at ADDRESS. */
bool mt_pt_image_has(const struct mt_pt_image *image, uint64_t address);
/* Copies what there is of SIZE bytes at ADDRESS, up to its section's end.  Returns how many. */
size_t mt_pt_image_read(const struct mt_pt_image *image, uint64_t address, uint8_t *bytes,
			size_t size);
/* Whether the filters let control be traced at ADDRESS. */
bool mt_pt_image_is_traced(const struct mt_pt_image *image, uint64_t address);

#endif
