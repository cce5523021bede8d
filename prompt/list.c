/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source lines, as they are in the file. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

/* How many lines `list` prints. */
static uint32_t list_size(const struct prompt *prompt)
{
	return prompt->settings.list_size ? prompt->settings.list_size : UINT32_MAX / 2;
}

void prompt_listing_deinit(struct prompt_listing *listing)
{
	free(listing->file);
	free(listing->name);
	*listing = (struct prompt_listing){0};
}

/* Without memory `list` starts over. */
static void remember(struct prompt *prompt, const char *file, const char *name, uint32_t first,
		     uint32_t next)
{
	struct prompt_listing listing = {strdup(file), strdup(name), first, next};

	prompt_listing_deinit(&prompt->listing);
	prompt->listing = listing;
	if (!listing.file || !listing.name)
		prompt_listing_deinit(&prompt->listing);
}

static uint32_t first_around(const struct prompt *prompt, uint32_t line)
{
	uint32_t before = list_size(prompt) / 2;

	return line > before ? line - before : 1;
}

void prompt_list_around(struct prompt *prompt, uint32_t line)
{
	prompt->listing.first = prompt->listing.next = first_around(prompt, line);
}

/* Reports the error once, until another file is shown; then only the position in the file. */
static void report_missing(struct prompt *prompt, const char *file, const char *name, uint32_t line,
			   int errnum)
{
	if (prompt->missing_file && strcmp(prompt->missing_file, file) == 0) {
		prompt_printf("%u\tin %s\n", line, name);
		return;
	}
	prompt_report("%u\t%s: %s.\n", line, name, strerrordesc_np(errnum));
	free(prompt->missing_file);
	prompt->missing_file = strdup(file);
}

struct mt_error *prompt_print_lines(struct prompt *prompt, const char *file, const char *name,
				    uint32_t first, uint32_t last)
{
	FILE *source = fopen(file, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	uint32_t number = 0;

	if (!source) {
		report_missing(prompt, file, name, first, errno);
		remember(prompt, file, name, first, last + 1);
		return NULL;
	}
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
		return mt_error_new(MT_ERROR_USAGE, "Line number %u out of range; %s has %u lines.",
				    first, name, number);
	remember(prompt, file, name, first, number + 1);
	return NULL;
}

/* A line of a file.  The names are the listing's or the debugger's: print_lines() copies them. */
struct position {
	const char *file;
	const char *name;
	uint32_t line;
};

static struct mt_error *keep_first(void *context, const struct mt_location *location)
{
	uint64_t *first = context;

	if (!*first)
		*first = location->address;
	return NULL;
}

static struct mt_error *no_symbols(void)
{
	return mt_error_new(MT_ERROR_USAGE,
			    "No symbol table is loaded.  Use the \"file\" command.");
}

/* "12", the same behind "FILE:"; 0: something else. */
static uint32_t line_of(const char *text)
{
	const char *colon = strrchr(text, ':');
	const char *digits = colon ? colon + 1 : text;

	if (!*digits || digits[strspn(digits, "0123456789")])
		return 0;
	return (uint32_t)strtoul(digits, NULL, 10);
}

static struct mt_error *position_at(struct prompt *prompt, uint64_t address,
				    struct position *position)
{
	struct mt_debug_position found;

	mt_debugger_position(prompt->debugger, address, &found);
	if (!found.file)
		return no_symbols();
	*position = (struct position){found.source.file, found.file, found.source.line};
	return NULL;
}

static struct mt_error *position_of_main(struct prompt *prompt, struct position *position)
{
	uint64_t address = 0;

	mt_error_destroy(mt_debugger_locate(prompt->debugger, "main", keep_first, &address));
	return address ? position_at(prompt, address, position) : no_symbols();
}

/* IN: the file of a line number alone; NULL: the file that was listed last, or main's. */
static struct mt_error *find_position(struct prompt *prompt, const char *text,
				      const struct position *in, struct position *position)
{
	uint32_t line = line_of(text);
	struct mt_debug_position found;
	uint64_t address = 0;

	if (line && !strchr(text, ':')) {
		if (in)
			*position = *in;
		else if (prompt->listing.file)
			*position = (struct position){.file = prompt->listing.file,
						      .name = prompt->listing.name};
		else
			mt_try(position_of_main(prompt, position));
		position->line = line;
		return NULL;
	}
	mt_try(mt_debugger_locate(prompt->debugger, text, keep_first, &address));
	mt_debugger_position(prompt->debugger, address, &found);
	/* A function is listed from its first line. */
	if (!line && *text != '*' && found.function && found.function->start)
		address = found.function->start;
	mt_try(position_at(prompt, address, position));
	if (line)
		position->line = line;
	if (*text == '*' && found.function)
		prompt_printf("0x%llx is in %s (%s:%u).\n", (unsigned long long)address,
			      found.function->name, position->name, position->line);
	return NULL;
}

static struct mt_error *print_lines(struct prompt *prompt, const struct position *position,
				    uint32_t first, uint32_t last)
{
	char *file = strdup(position->file), *name = strdup(position->name);
	struct mt_error *error = file && name ? prompt_print_lines(prompt, file, name, first, last)
					      : mt_error_no_memory();

	free(file);
	free(name);
	return error;
}

/* "A,B", "A,", ",B"; COMMA points into TEXT. */
static struct mt_error *list_range(struct prompt *prompt, char *text, char *comma)
{
	const char *behind = prompt_skip_blanks(comma + 1);
	struct position from = {0}, to = {0};

	*comma = '\0';
	while (comma > text && isspace((unsigned char)comma[-1]))
		*--comma = '\0';
	if (*text)
		mt_try(find_position(prompt, text, NULL, &from));
	if (*behind)
		mt_try(find_position(prompt, behind, *text ? &from : NULL, &to));
	if (!*text && !*behind)
		return mt_error_new(MT_ERROR_USAGE,
				    "Two empty args do not say what lines to list.");
	if (!*text)
		return print_lines(
		    prompt, &to, to.line >= list_size(prompt) ? to.line - list_size(prompt) + 1 : 1,
		    to.line);
	if (*behind && strcmp(from.file, to.file) != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "Specified first and last lines are in different files.");
	return print_lines(prompt, &from, from.line,
			   *behind ? to.line : from.line + list_size(prompt) - 1);
}

static struct mt_error *run_list(struct prompt *prompt, const char *rest)
{
	const struct prompt_listing *listing = &prompt->listing;
	struct position position = {listing->file, listing->name, listing->next};
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_append(&text, rest);
	if (text.failed)
		return mt_error_no_memory();
	if (strchr(rest, ','))
		return list_range(prompt, text.text, strchr(text.text, ','));
	if (strcmp(rest, "-") == 0 && listing->file) {
		if (listing->first <= 1)
			return mt_error_new(MT_ERROR_USAGE, "Already at the start of %s.",
					    listing->name);
		return print_lines(
		    prompt, &position,
		    listing->first > list_size(prompt) ? listing->first - list_size(prompt) : 1,
		    listing->first - 1);
	}
	if (*rest && strcmp(rest, "-") != 0) {
		mt_try(find_position(prompt, rest, NULL, &position));
		position.line = first_around(prompt, position.line);
	} else if (!listing->file) {
		mt_try(position_of_main(prompt, &position));
		position.line = first_around(prompt, position.line >= list_size(prompt)
							 ? position.line - list_size(prompt) + 1
							 : 1);
	}
	return print_lines(prompt, &position, position.line, position.line + list_size(prompt) - 1);
}

const struct prompt_command prompt_list_commands[] = {
    {.name = "list",
     .aliases = "l",
     .usage = "[LOCATION | FIRST,[LAST] | ,LAST | -]",
     .takes = PROMPT_LOCATION,
     .summary = "Print lines of the source, ten if \"set listsize\" does not tell otherwise",
     .help = "Without an argument: around where the program is stopped, or the lines after those\n"
	     "that were printed last; with \"-\" the lines before them.\n",
     .repeats = true,
     .run = run_list},
    {0},
};
