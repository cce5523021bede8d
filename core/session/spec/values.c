/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/spec/values.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* The ( that belongs to the ) at the end of TEXT; NULL: none. */
static const char *find_list(const char *text)
{
	size_t length = strlen(text);
	int depth = 0;

	if (!length || text[length - 1] != ')')
		return NULL;
	while (length-- > 0) {
		depth += (text[length] == ')') - (text[length] == '(');
		if (!depth)
			return length ? text + length : NULL;
	}
	return NULL;
}

/* "*0x401000" is an address, and "operator*" a name. */
static bool is_glob(const char *location)
{
	return *location != '*' || location[1] != '0'
		   ? strpbrk(location, "*?[") && !strstr(location, "operator")
		   : false;
}

struct mt_error *mt_values_spec_parse(const char *text, enum mt_session_values kind,
				      const char *option, struct mt_values_spec *out)
{
	const char *list = kind == MT_VALUES_ARGUMENTS ? find_list(text) : NULL;
	size_t length = list ? (size_t)(list - text) : strlen(text);

	*out = (struct mt_values_spec){.option = option, .kind = kind};
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	if (!length)
		return mt_error_new(MT_ERROR_TRIGGER, "invalid %s \"%s\": must be FUNCTION%s",
				    option, text,
				    kind == MT_VALUES_ARGUMENTS ? " or FUNCTION(NAME, ...)" : "");
	out->text = strdup(text);
	out->location = strndup(text, length);
	if (list)
		out->names = strndup(list + 1, strlen(list) - 2);
	out->is_glob = out->location && is_glob(out->location);
	if (out->text && out->location && (!list || out->names))
		return NULL;
	mt_values_spec_deinit(out);
	return mt_error_no_memory();
}

void mt_values_spec_deinit(struct mt_values_spec *spec)
{
	free(spec->text);
	free(spec->location);
	free(spec->names);
	*spec = (struct mt_values_spec){0};
}
