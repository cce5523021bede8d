/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source lines, as they stand in the file. */
#include "prompt.h"

#include <errno.h>
#include <string.h>

/* Told once, until another file is shown; then only where in the file one is. */
static struct mt_error *tell_missing(struct prompt *prompt, const char *file, const char *name,
				     uint32_t line)
{
	if (prompt->missing_file && strcmp(prompt->missing_file, file) == 0) {
		prompt_printf("%u\tin %s\n", line, name);
		return NULL;
	}
	int errnum = errno;
	fflush(stdout);
	fprintf(stderr, "%u\t%s: %s.\n", line, name, strerrordesc_np(errnum));
	free(prompt->missing_file);
	prompt->missing_file = strdup(file);
	return NULL;
}

static struct mt_error *beyond_end(uint32_t line, const char *name, uint32_t count)
{
	return mt_error_new(MT_ERROR_USAGE, "Line number %u out of range; \"%s\" has %u lines.",
			    line, name, count);
}

struct mt_error *prompt_print_lines(struct prompt *prompt, const char *file, const char *name,
				    uint32_t first, uint32_t last)
{
	FILE *source = fopen(file, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	uint32_t number = 0;

	if (!source)
		return tell_missing(prompt, file, name, first);
	free(prompt->missing_file);
	prompt->missing_file = NULL;
	while (number < last && (length = getline(&line, &room, source)) >= 0) {
		if (++number < first)
			continue;
		while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
			line[--length] = 0;
		prompt_printf("%u\t%s\n", number, line);
	}
	free(line);
	fclose(source);
	if (number < first)
		return beyond_end(first, name, number);
	return NULL;
}
