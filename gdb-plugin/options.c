/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "options.h"

#include <string.h>

static struct mt_error *find(const char *word, const struct mt_gdb_option *table,
			     const struct mt_gdb_option **out)
{
	size_t length = strlen(word);

	*out = NULL;
	for (const struct mt_gdb_option *option = table; option->name; option++) {
		if (strncmp(option->name, word, length) != 0)
			continue;
		if (*out)
			return mt_error_new(MT_ERROR_USAGE, "%s: ambiguous option: %s or %s", word,
					    (*out)->name, option->name);
		*out = option;
	}
	return *out ? NULL : mt_error_new(MT_ERROR_USAGE, "unknown option: %s", word);
}

struct mt_error *mt_gdb_options(int argc, char **argv, const struct mt_gdb_option *table,
				int *first)
{
	int at = 1;

	for (; at < argc && argv[at][0] == '-' && argv[at][1]; at += 2) {
		const struct mt_gdb_option *option;

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		mt_try(find(argv[at], table, &option));
		if (at + 1 >= argc)
			return mt_error_new(MT_ERROR_USAGE, "%s needs a value", option->name);
		*option->value = argv[at + 1];
	}
	*first = at;
	return NULL;
}
