/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka, with what it wants included before it, and words for our errors. */
#ifndef MT_TESTS_UNIT_H
#define MT_TESTS_UNIT_H

#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* No error; else its message is shown. */
#define assert_no_error(call)                                                                      \
	do {                                                                                       \
		struct mt_error *unit_error = (call);                                              \
		if (unit_error)                                                                    \
			fail_msg("%s", mt_error_message(unit_error));                              \
	} while (0)

/* An error of this code whose message holds this text; it is let go of. */
#define assert_error(call, wanted_code, text)                                                      \
	unit_assert_error((call), (wanted_code), (text), __FILE__, __LINE__)

static inline void unit_assert_error(struct mt_error *error, enum mt_error_code code,
				     const char *text, const char *file, int line)
{
	if (!error) {
		print_error("no error, where one with \"%s\" was due\n", text);
		_fail(file, line);
		return;
	}
	if (mt_error_code(error) != code || !strstr(mt_error_message(error), text)) {
		print_error("code %d, not %d with \"%s\": %s\n", (int)mt_error_code(error),
			    (int)code, text, mt_error_message(error));
		mt_error_destroy(error);
		_fail(file, line);
		return;
	}
	mt_error_destroy(error);
}

#endif
