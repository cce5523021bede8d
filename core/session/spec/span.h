/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers that are about the time from one place to another, BEGIN..END, or from one coming to the
 * next: how they are written.  Not every `..` stands between two places: quotes, brackets and
 * templates' arguments are one piece, `...` is C's, and `../` is a file's. */
#ifndef MT_SESSION_SPEC_SPAN_H
#define MT_SESSION_SPEC_SPAN_H

#include "session/spec/trigger.h"

#include <stddef.h>

/* What follows the `..` between two places in TEXT, of LENGTH bytes; NULL: it names one. */
const char *mt_trigger_split(const char *text, size_t length);
/* What was written makes sense together; a range's time, which was taken for that of calls, is its
 * own from here on.  Errors: USAGE. */
struct mt_error *mt_trigger_check_span(struct mt_trigger_spec *spec);

#endif
