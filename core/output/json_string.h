/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_OUTPUT_JSON_STRING_H
#define MT_OUTPUT_JSON_STRING_H

#include "base/str.h"

/* Appends TEXT in quotes, as well-formed JSON whatever its bytes are, cut at 32,000 of them.
 * SCRATCH is the caller's, to be used again. */
void mt_json_append_string(struct mt_str *out, struct mt_str *scratch, const char *text);

#endif
