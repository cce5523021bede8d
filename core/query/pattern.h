/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calls are meant: "price_of", "shop::*(count > 3)", "handle > 5ms", "parse(len == 0) < 1us".
 * The same as a trigger's location, with what was recorded in the place of what the program has. */
#ifndef MT_QUERY_PATTERN_H
#define MT_QUERY_PATTERN_H

#include "query/value_test.h"
#include "trace/slice.h"

struct mt_pattern;

/* TEXT is copied.  Errors: USAGE; NO_MEMORY. */
struct mt_error *mt_pattern_create(const char *text, struct mt_pattern **out);
void mt_pattern_destroy(struct mt_pattern *pattern); /* NULL is fine */

/* Whether a call of FUNCTION can be meant: looked up, for one that was asked for before. */
bool mt_pattern_fits_function(struct mt_pattern *pattern, const struct mt_function *function);
/* Whether a call of such a function is meant.  Of one that was seen in part the duration fits only
 * if what was seen is longer than the least.  Errors: NO_MEMORY. */
struct mt_error *mt_pattern_fits_call(struct mt_pattern *pattern, const struct mt_slice *slice,
				      const struct mt_slice_end *end, enum mt_value_truth *truth);
/* As it was asked for, without what is behind it.  Lent. */
const char *mt_pattern_function(const struct mt_pattern *pattern);
/* mt_value_test_problem().  Lent. */
const char *mt_pattern_problem(const struct mt_pattern *pattern);

#endif
