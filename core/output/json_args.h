/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_OUTPUT_JSON_ARGS_H
#define MT_OUTPUT_JSON_ARGS_H

#include "base/str.h"
#include "output/args.h"

/* Appends the members of a JSON object: "address":"0x1234","line":7.  SCRATCH is the caller's, to
 * be used again. */
void mt_json_append_args(struct mt_str *out, struct mt_str *scratch, const struct mt_args *args);

#endif
