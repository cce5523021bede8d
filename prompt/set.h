/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of `set` and `show` share. */
#ifndef MT_PROMPT_SET_H
#define MT_PROMPT_SET_H

#include "prompt/prompt.h"

/* Tables within `set`. */
extern const struct prompt_command prompt_set_print_commands[];
extern const struct prompt_command prompt_set_break_commands[];

/* "on", "1", "yes", "enable", nothing at all; and their opposites.  Errors: USAGE. */
struct mt_error *prompt_parse_switch(const char *text, bool *out);
const char *prompt_switch_words(bool value); /* "on" */
/* "unlimited" is 0.  Errors: USAGE. */
struct mt_error *prompt_parse_limit(const char *text, uint32_t *out);
void prompt_show_limit(struct mt_str *out, const char *what, uint64_t limit);

#endif
