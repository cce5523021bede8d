/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that are too many for memory, in a temporary file without a name: it is gone with the
 * process, however that ends.  The file is made by the first write, in $TMPDIR or /tmp.
 *
 * Zeroed storage is an empty spill. */
#ifndef MT_BASE_SPILL_H
#define MT_BASE_SPILL_H

#include "base/error.h"

struct mt_spill {
	int fd; /* counts when is_open */
	bool is_open;
};

/* Errors: SYSTEM, PERMISSION (no directory for temporary files, a full disk). */
struct mt_error *mt_spill_write(struct mt_spill *spill, uint64_t offset, const void *bytes,
				size_t count);
/* Exactly COUNT bytes that were written before.  Errors: SYSTEM. */
struct mt_error *mt_spill_read(struct mt_spill *spill, uint64_t offset, void *bytes, size_t count);
void mt_spill_deinit(struct mt_spill *spill);

#endif
