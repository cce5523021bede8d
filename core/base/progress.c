/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/progress.h"

struct mt_error *mt_progress_step(const struct mt_progress *progress, const char *what,
				  uint64_t done, uint64_t total)
{
	if (!progress)
		return NULL;
	if (progress->report)
		progress->report(progress->context, what, done, total);
	if (progress->interrupted && progress->interrupted(progress->context))
		return mt_error_new(MT_ERROR_INTERRUPTED, "%s: interrupted", what);
	return NULL;
}
