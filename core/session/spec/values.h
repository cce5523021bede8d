/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that are recorded with calls, as users write them: `FUNCTION`, of which all parameters are
 * meant, or `FUNCTION(NAME, ...)`; of results `FUNCTION`.  FUNCTION may be a glob. */
#ifndef MT_SESSION_SPEC_VALUES_H
#define MT_SESSION_SPEC_VALUES_H

#include "base/error.h"

#include <stdbool.h>

enum mt_session_values { MT_VALUES_NONE, MT_VALUES_ARGUMENTS, MT_VALUES_RESULT };

/* Zeroed storage can be deinited. */
struct mt_values_spec {
	const char *option; /* by which the user gave it: "--args"; lent */
	char *text;         /* as it was given */
	enum mt_session_values kind;
	char *location;
	char *names;  /* ARGUMENTS: "name, count"; NULL: all parameters */
	bool is_glob; /* of names */
};

/* OPTION must outlive OUT.  Errors: TRIGGER (not even the form of one); NO_MEMORY. */
struct mt_error *mt_values_spec_parse(const char *text, enum mt_session_values kind,
				      const char *option, struct mt_values_spec *out);
void mt_values_spec_deinit(struct mt_values_spec *spec);

#endif
