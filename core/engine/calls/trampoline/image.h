/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that lies in the room of a module, as bytes: its trampolines, a page for copies of single
 * instructions, what unwinders learn of the trampolines, and the addresses of holes.
 *
 * An image is made for no place: its words that depend on one are listed, and fixed when it is
 * known where it will lie and whose sites it records.  So it can be kept in a file. */
#ifndef MT_ENGINE_CALLS_TRAMPOLINE_IMAGE_H
#define MT_ENGINE_CALLS_TRAMPOLINE_IMAGE_H

#include "elf/kept.h"
#include "engine/calls/trampoline/trampoline.h"

/* Behind the trampolines: not the image's, but zeros in it. */
#define MT_IMAGE_SPARE_BYTES 4096u
/* No word that depends on the place is longer. */
#define MT_IMAGE_MARGIN 16u

struct mt_image {
	MT_ARRAY(uint8_t) bytes;
	MT_ARRAY(uint32_t)
	offsets;               /* of each patch's trampoline; MT_TRAMPOLINE_NONE: it has none */
	uint32_t code_bytes;   /* of the trampolines, with which the image begins, */
	uint32_t shared_bytes; /* and of what they share, with which these begin */
	uint32_t spare;        /* offset of the spare page */
	uint32_t table;        /* of the search table */
	uint32_t holes;        /* of the addresses of holes, up to the end */
	uint32_t part_count, hole_count;
	uint64_t base;       /* the image was made as if it lay at this address of the file */
	uint32_t first_site; /* and as if its sites were numbered from here on */
	struct mt_fixes fixes;
	uint32_t code_fixes[MT_FIX_KINDS]; /* so many of them, the first ones, are of trampolines */
	struct mt_kept_map kept;           /* what the arrays lie in; else they are its own */
};

/* How an image is made.  Addresses are the file's. */
struct mt_image_config {
	uint64_t start, end;  /* patches within [start, end) have a trampoline */
	const uint8_t *clean; /* the file's bytes of it */
	uint64_t base;        /* words that need no fixing if it lies there, */
	uint32_t first_site;  /* and its sites are numbered from here on */
	uint32_t ring_bytes;
	enum mt_ring_stamps stamps;
	bool movable;     /* it may be loaded with any bias; else with none */
	bool outlives_us; /* its trampolines look at the alive word */
};

/* Where an image will lie, in the addresses of a process. */
struct mt_image_place {
	uint64_t room;
	uint64_t bias;
	uint64_t alive; /* 0 unless it outlives us */
	uint32_t first_site;
};

/* Errors: UNSUPPORTED (more than 4 GiB, or beyond 2 GiB from the text); NO_MEMORY. */
struct mt_error *mt_image_make(const struct mt_plan *plan, const struct mt_image_config *config,
			       struct mt_image *image);
/* Whether all distances fit at that place. */
bool mt_image_reaches(const struct mt_image *image, const struct mt_image_place *place);
/* The bytes of the trampolines from FROM on, END excluded, as they are at that place.  In front of
 * BYTES, and behind what is copied, is room for MT_IMAGE_MARGIN more. */
void mt_image_copy_code(const struct mt_image *image, const struct mt_image_place *place,
			uint32_t from, uint32_t end, uint8_t *bytes);
/* Once: what lies behind the trampolines. */
void mt_image_fix_tables(struct mt_image *image, const struct mt_image_place *place);
void mt_image_deinit(struct mt_image *image);

/* In a file.  The key's variant is to tell of all of the image's config; 0: nothing is kept.
 * Errors: as writing a file. */
struct mt_error *mt_image_store(const struct mt_image *image, const struct mt_kept_key *key,
				const char *path);
/* False: there is none that could be believed. */
bool mt_image_load(const struct mt_plan *plan, const struct mt_kept_key *key, const char *path,
		   struct mt_image *image);

#endif
