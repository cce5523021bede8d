/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any pattern, up to the first NUL, and any text behind it: the table is one whose walk ends. */
#include "expr/regex.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 4096

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_table(const struct mt_regex *regex)
{
	check(regex->state_count >= MT_REGEX_ANSWERS &&
	      regex->state_count <= MT_REGEX_MOST_STATES && regex->start < regex->state_count);
	for (unsigned byte = 0; byte < 256; byte++)
		check(regex->classes[byte] < regex->class_count);
	for (unsigned state = 0; state < regex->state_count; state++) {
		const uint16_t *next = regex->transitions + (size_t)state * regex->class_count;

		for (unsigned class = 0; class < regex->class_count; class ++) {
			check(next[class] < regex->state_count);
			check(state >= MT_REGEX_ANSWERS || next[class] == state);
		}
		check(next[regex->classes[0]] < MT_REGEX_ANSWERS);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char pattern[MOST_BYTES + 2];
	struct mt_regex regex;

	if (size > MOST_BYTES)
		return 0;
	memcpy(pattern, bytes, size);
	memset(pattern + size, 0, 2);
	struct mt_error *error = mt_regex_compile(pattern, &regex);
	if (!error) {
		check_table(&regex);
		check(mt_regex_match(&regex, pattern + strlen(pattern) + 1) < MT_REGEX_ANSWERS);
	}
	mt_error_destroy(error);
	mt_regex_deinit(&regex);
	return 0;
}
