/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An expression over the values that were recorded with a call, as a trigger's condition has it:
 *
 *	count > 3 && $_streq(name, "tea")
 *	color == RED
 *	$_ret < 0
 *
 * What is recorded are texts (struct mt_slice, `arguments`; struct mt_slice_end, `result`): they
 * take the places of their names, and core/expr evaluates what comes out.  An enumerator is equal
 *to its own name alone; of a string there are the first 32 bytes. */
#ifndef MT_QUERY_VALUE_TEST_H
#define MT_QUERY_VALUE_TEST_H

#include "base/error.h"

struct mt_value_test;

/* What is known of a call.  NULL: nothing. */
struct mt_value_test_call {
	const char *arguments, *result;
};

enum mt_value_truth {
	MT_VALUE_TRUTH_FALSE,
	MT_VALUE_TRUTH_TRUE,
	MT_VALUE_TRUTH_UNKNOWN, /* a value of it was not recorded, or is of another kind */
};

/* Errors: USAGE (no expression; it calls functions); NO_MEMORY. */
struct mt_error *mt_value_test_create(const char *expression, struct mt_value_test **out);
void mt_value_test_destroy(struct mt_value_test *test); /* NULL is fine */

/* Errors: NO_MEMORY. */
struct mt_error *mt_value_test_call(struct mt_value_test *test,
				    const struct mt_value_test_call *call,
				    enum mt_value_truth *truth);
/* Why the last one that is not known was not: "\"cuont\" was not recorded".  Lent. */
const char *mt_value_test_problem(const struct mt_value_test *test);

#endif
