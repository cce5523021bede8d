/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source lines, as they stand in the file. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define LINES 10 /* that `list` prints */

void prompt_listing_deinit(struct prompt_listing *listing)
{
	free(listing->file);
	free(listing->name);
	*listing = (struct prompt_listing){0};
}

/* Without memory `list` begins anew. */
static void remember(struct prompt *prompt, const char *file, const char *name, uint32_t first,
		     uint32_t next)
{
	struct prompt_listing listing = {strdup(file), strdup(name), first, next};

	prompt_listing_deinit(&prompt->listing);
	prompt->listing = listing;
	if (!listing.file || !listing.name)
		prompt_listing_deinit(&prompt->listing);
}

static uint32_t first_around(uint32_t line)
{
	return line > LINES / 2 ? line - LINES / 2 : 1;
}

void prompt_list_around(struct prompt *prompt, uint32_t line)
{
	prompt->listing.first = prompt->listing.next = first_around(line);
}

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
	return mt_error_new(MT_ERROR_USAGE, "Line number %u out of range; %s has %u lines.", line,
			    name, count);
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
		mt_try(tell_missing(prompt, file, name, first));
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
		return beyond_end(first, name, number);
	remember(prompt, file, name, first, number + 1);
	return NULL;
}

/* A line of a file: both lent, until something else is listed. */
struct spot {
	const char *file;
	const char *name;
	uint32_t line;
};

/* The first place that a location means. */
static struct mt_error *keep_first(void *context, const struct mt_location *place)
{
	uint64_t *first = context;

	if (!*first)
		*first = place->address;
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

static struct mt_error *spot_at(struct prompt *prompt, uint64_t address, struct spot *spot)
{
	struct mt_debug_place place;

	mt_debugger_place(prompt->debugger, address, &place);
	if (!place.file)
		return no_symbols();
	*spot = (struct spot){place.source.file, place.file, place.source.line};
	return NULL;
}

static struct mt_error *spot_of_main(struct prompt *prompt, struct spot *spot)
{
	uint64_t address = 0;

	mt_error_destroy(mt_debugger_locate(prompt->debugger, "main", keep_first, &address));
	return address ? spot_at(prompt, address, spot) : no_symbols();
}

/* What is shown of a function begins with its first line. */
static struct mt_error *spot_of_place(struct prompt *prompt, const char *text, struct spot *spot)
{
	uint32_t line = line_of(text);
	struct mt_debug_place place;
	uint64_t address = 0;

	mt_try(mt_debugger_locate(prompt->debugger, text, keep_first, &address));
	mt_debugger_place(prompt->debugger, address, &place);
	if (!line && *text != '*' && place.function && place.function->start)
		address = place.function->start;
	mt_try(spot_at(prompt, address, spot));
	if (line)
		spot->line = line;
	if (*text == '*' && place.function)
		prompt_printf("0x%llx is in %s (%s:%u).\n", (unsigned long long)address,
			      place.function->name, spot->name, spot->line);
	return NULL;
}

/* IN: whose lines are meant by numbers alone; NULL: the file's that was listed last, or main's. */
static struct mt_error *find_spot(struct prompt *prompt, const char *text, const struct spot *in,
				  struct spot *spot)
{
	uint32_t line = strchr(text, ':') ? 0 : line_of(text);

	if (!line)
		return spot_of_place(prompt, text, spot);
	if (in)
		*spot = *in;
	else if (prompt->listing.file)
		*spot = (struct spot){.file = prompt->listing.file, .name = prompt->listing.name};
	else
		mt_try(spot_of_main(prompt, spot));
	spot->line = line;
	return NULL;
}

/* The names may be the listing's, which the printing replaces. */
static struct mt_error *print_spot(struct prompt *prompt, const struct spot *spot, uint32_t first,
				   uint32_t last)
{
	char *file = strdup(spot->file), *name = strdup(spot->name);
	struct mt_error *error = file && name ? prompt_print_lines(prompt, file, name, first, last)
					      : mt_error_no_memory();

	free(file);
	free(name);
	return error;
}

/* "A,B", "A,", ",B"; COMMA stands in TEXT. */
static struct mt_error *list_range(struct prompt *prompt, char *text, char *comma)
{
	const char *behind = prompt_skip_blanks(comma + 1);
	struct spot from = {0}, to = {0};

	*comma = '\0';
	while (comma > text && isspace((unsigned char)comma[-1]))
		*--comma = '\0';
	if (*text)
		mt_try(find_spot(prompt, text, NULL, &from));
	if (*behind)
		mt_try(find_spot(prompt, behind, *text ? &from : NULL, &to));
	if (!*text && !*behind)
		return mt_error_new(MT_ERROR_USAGE,
				    "Two empty args do not say what lines to list.");
	if (!*text)
		return print_spot(prompt, &to, to.line >= LINES ? to.line - LINES + 1 : 1, to.line);
	if (*behind && strcmp(from.file, to.file) != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "Specified first and last lines are in different files.");
	return print_spot(prompt, &from, from.line, *behind ? to.line : from.line + LINES - 1);
}

static struct mt_error *list_more(struct prompt *prompt)
{
	const struct prompt_listing *listing = &prompt->listing;
	struct spot spot = {listing->file, listing->name, listing->next};

	if (!listing->file) {
		mt_try(spot_of_main(prompt, &spot));
		spot.line = first_around(spot.line >= LINES ? spot.line - LINES + 1 : 1);
	}
	return print_spot(prompt, &spot, spot.line, spot.line + LINES - 1);
}

static struct mt_error *list_before(struct prompt *prompt)
{
	const struct prompt_listing *listing = &prompt->listing;
	struct spot spot = {listing->file, listing->name, listing->first};

	if (!listing->file)
		return list_more(prompt);
	if (listing->first <= 1)
		return mt_error_new(MT_ERROR_USAGE, "Already at the start of %s.", listing->name);
	return print_spot(prompt, &spot, spot.line > LINES ? spot.line - LINES : 1, spot.line - 1);
}

static struct mt_error *run_list(struct prompt *prompt, const char *rest)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct spot spot = {0};

	mt_str_append(&text, rest);
	if (text.failed)
		return mt_error_no_memory();
	if (!*rest)
		return list_more(prompt);
	if (strcmp(rest, "-") == 0)
		return list_before(prompt);
	if (strchr(rest, ','))
		return list_range(prompt, text.text, strchr(text.text, ','));
	mt_try(find_spot(prompt, rest, NULL, &spot));
	return print_spot(prompt, &spot, first_around(spot.line),
			  first_around(spot.line) + LINES - 1);
}

const struct prompt_command prompt_list_commands[] = {
    {.name = "list",
     .aliases = "l",
     .usage = "[LOCATION | FIRST,[LAST] | ,LAST | -]",
     .takes = PROMPT_LOCATION,
     .summary = "Print ten lines of the source",
     .help =
	 "Without an argument: around where the program stands, or the lines behind those that\n"
	 "were printed last; with \"-\" those before them.\n",
     .repeats = true,
     .run = run_list},
    {0},
};
