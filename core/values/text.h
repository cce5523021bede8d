/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings of the languages' libraries: std::string and std::string_view, String and &str of Rust,
 * Go's string.  All of them are the address of their characters, and how many these are. */
#ifndef MT_VALUES_TEXT_H
#define MT_VALUES_TEXT_H

#include "values/value.h"

/* The member at a path of names, "_M_impl._M_start", bases included.  False: there is none, or it
 * cannot be read. */
bool mt_value_at_path(struct mt_eval *eval, struct mt_value *value, const char *path,
		      struct mt_value *out);

/* The address of the characters of such a string, a pointer, and their number.  False: it is none,
 * or has not the shape that is expected. */
bool mt_text_parts(struct mt_eval *eval, struct mt_value *value, struct mt_value *start,
		   struct mt_value *count);
/* The type of its characters, by that of START. */
struct mt_type *mt_text_element(struct mt_eval *eval, const struct mt_value *start);

#endif
