/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"
#include "command/command.h"
#include "live/live.h"

#include <string.h>

static int depth_behind(const char *word, int depth)
{
	for (; *word; word++)
		depth += (*word == '(') - (*word == ')');
	return depth;
}

/* The words from *AT on that are one FUNCTION (NAME, ...). */
static void take_function(char **argv, int argc, int *at, struct mt_str *out)
{
	int depth = 0;

	do {
		mt_str_appendf(out, "%s%s", out->length ? " " : "", argv[*at]);
		depth = depth_behind(argv[(*at)++], depth);
	} while (*at < argc && (depth > 0 || argv[*at][0] == '('));
}

static bool is_option(const char *word, const char *option)
{
	return strlen(word) > 1 && strncmp(word, option, strlen(word)) == 0;
}

static struct mt_error *delete_all(struct mt_command_context *context, int argc, char **argv)
{
	if (argc < 3)
		return mt_error_new(MT_ERROR_USAGE, "-delete requires a number of values");
	for (int i = 2; i < argc; i++)
		mt_try(mt_live_delete_values(context->debugger, argv[i]));
	return NULL;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	const bool is_result = argc > 1 && is_option(argv[1], "-return");
	int at = is_result ? 2 : 1;

	if (argc < 2) {
		mt_live_list_values(context->debugger);
		if (!context->debugger->values.count)
			mt_command_printf(context, "No values are recorded with calls.\n");
		return NULL;
	}
	if (is_option(argv[1], "-delete"))
		return delete_all(context, argc, argv);
	if (at == argc)
		return mt_error_new(MT_ERROR_USAGE, "mtrace values -return requires a function");
	if (argv[at][0] == '-')
		return mt_error_new(MT_ERROR_USAGE, "unknown option: %s", argv[at]);
	while (at < argc) {
		mt_auto(mt_str) struct mt_str text = {0};

		take_function(argv, argc, &at, &text);
		if (text.failed)
			return mt_error_no_memory();
		mt_try(mt_live_add_values(context->debugger, text.text, is_result));
	}
	return NULL;
}

static const char *const options[] = {"-return", "-delete NUMBER", NULL};

const struct mt_command mt_command_values = {
    .name = "values",
    .summary = "Record arguments or results with the calls of functions",
    .usage = "[-return] FUNCTION[(NAME, ...)]...",
    .help = "The program records them itself, from the moment it goes on: numbers, enumerators,\n"
	    "pointers, and the first 32 bytes of strings.  They are shown with the calls:\n"
	    "price_of(name=\"butter\", count=2) = 598.\n\n"
	    "FUNCTION alone means all its parameters; NAME may be an expression of them, such as\n"
	    "request->id.  In FUNCTION \"*\" and \"?\" stand for any letters.  Without arguments\n"
	    "all that was asked for is listed.\n\n"
	    "Options:\n"
	    "  -return             what FUNCTION returns, instead\n"
	    "  -delete NUMBER...   do not record these any more\n",
    .options = options,
    .where = MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_LOCATION,
    .group = "COMMAND_DATA",
    .run = run,
};
