/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of commands, how they are found, and how their options are read. */
#include "base/str.h"
#include "command/arguments.h"
#include "command/command.h"

#include "unit.h"

static void test_every_command_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; mt_commands[i]; i++) {
		const struct mt_command *command = mt_commands[i];

		assert_true(command->where);
		if (command->where & MT_COMMAND_IN_SHELL)
			assert_ptr_equal(mt_command_find(command->name), command);
		assert_non_null(command->run);
		assert_true(strlen(command->summary) > 0);
		assert_true(command->summary[strlen(command->summary) - 1] != '.');
		assert_true(command->help[strlen(command->help) - 1] == '\n');
	}
	assert_null(mt_command_find("xyzzy"));
	assert_null(mt_command_find(""));
}

/* "--output=FILE" of the completion table stands in the help text too. */
static void test_completed_options_are_explained(void **state)
{
	(void)state;
	for (size_t i = 0; mt_commands[i]; i++)
		for (const char *const *option = mt_commands[i]->options;
		     mt_commands[i]->where & MT_COMMAND_IN_SHELL && *option; option++)
			if (!strstr(mt_commands[i]->help, *option))
				fail_msg("%s: no %s in its help", mt_commands[i]->name, *option);
}

static void assert_suggests(const char *typed, const char *name)
{
	const struct mt_command *command = mt_command_suggest(typed);

	if (name && command)
		assert_string_equal(command->name, name);
	else
		assert_true(!name && !command);
}

static void test_suggestions(void **state)
{
	(void)state;
	assert_suggests("decod", "decode");
	assert_suggests("deocde", "decode");
	assert_suggests("hist", "history");
	assert_suggests("dcotor", "doctor");
	assert_suggests("halp", "help");
	assert_suggests("dumpp", "dump");
	assert_suggests("", NULL);
	assert_suggests("xyzzy", NULL);
	assert_suggests("decodeeverything", NULL);
	assert_suggests("a name much longer than any that a command could ever have", NULL);
}

static void test_exit_statuses(void **state)
{
	(void)state;
	assert_int_equal(mt_exit_status(MT_ERROR_USAGE), 2);
	assert_int_equal(mt_exit_status(MT_ERROR_INTERRUPTED), 130);
	assert_int_equal(mt_exit_status(MT_ERROR_FORMAT), 1);
	assert_int_equal(mt_exit_status(MT_ERROR_NO_MEMORY), 1);
}

static void keep(void *context, const char *text)
{
	mt_str_append(context, text);
}

static struct mt_error *run_into(struct mt_str *printed, const char *name, const char *argument)
{
	const struct mt_command *command = mt_command_find(name);
	struct mt_command_context context = {
	    .print = keep, .context = printed, .prefix = "tool", .help = "tool help"};
	char *argv[] = {(char *)name, (char *)argument, NULL};

	return command->run(&context, argument ? 2 : 1, argv);
}

static void test_help_lists_all(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str printed = {0};

	assert_no_error(run_into(&printed, "help", NULL));
	assert_non_null(strstr(printed.text, "Usage: tool COMMAND"));
	for (size_t i = 0; mt_commands[i]; i++) {
		if (!(mt_commands[i]->where & MT_COMMAND_IN_SHELL))
			continue;
		assert_non_null(strstr(printed.text, mt_commands[i]->name));
		assert_non_null(strstr(printed.text, mt_commands[i]->summary));
	}
}

static void test_help_of_each(void **state)
{
	(void)state;
	for (size_t i = 0; mt_commands[i]; i++) {
		mt_auto(mt_str) struct mt_str printed = {0};

		if (!(mt_commands[i]->where & MT_COMMAND_IN_SHELL))
			continue;
		assert_no_error(run_into(&printed, "help", mt_commands[i]->name));
		assert_non_null(strstr(printed.text, mt_commands[i]->help));
	}
	mt_auto(mt_str) struct mt_str printed = {0};
	assert_error(run_into(&printed, "help", "xyzzy"), MT_ERROR_USAGE,
		     "unknown command \"xyzzy\": try \"tool help\"");
}

struct parsed {
	char *text;
	int flag;
};

static struct mt_error *parse(struct parsed *parsed, struct mt_arguments *arguments, size_t least,
			      size_t most, char **argv)
{
	const struct mt_command_context context = {.prefix = "tool", .help = "tool help"};
	const struct poptOption table[] = {
	    {"text", 't', POPT_ARG_STRING, &parsed->text, 0, NULL, NULL},
	    {"flag", 'f', POPT_ARG_NONE, &parsed->flag, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	int argc = 0;

	while (argv[argc])
		argc++;
	return mt_arguments_parse(arguments, &context, &mt_command_decode, table, argc, argv, least,
				  most);
}

#define WORDS(...)                                                                                 \
	(char *[])                                                                                 \
	{                                                                                          \
		(char *)"decode", __VA_ARGS__, NULL                                                \
	}

static void test_options_may_stand_anywhere(void **state)
{
	(void)state;
	char file[] = "file", option[] = "--text=x", flag[] = "-f", dashes[] = "--", dash[] = "-";
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct parsed parsed = {0};

	assert_no_error(
	    parse(&parsed, &arguments, 1, 3, WORDS(file, option, dash, flag, dashes, option)));
	assert_string_equal(parsed.text, "x");
	assert_int_equal(parsed.flag, 1);
	assert_int_equal(arguments.count, 3);
	assert_string_equal(arguments.words[0], "file");
	assert_string_equal(arguments.words[1], "-");
	assert_string_equal(arguments.words[2], "--text=x");
	free(parsed.text);
}

static void test_wrong_words_are_named(void **state)
{
	(void)state;
	char file[] = "file", bad[] = "--bad", text[] = "--text", more[] = "more";
	struct parsed parsed = {0};
	static const char *const expected[] = {"unknown option: --bad", "missing argument: --text",
					       "unexpected argument: more"};
	char **const wrong[] = {WORDS(file, bad), WORDS(file, text), WORDS(file, more)};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		mt_auto(mt_arguments) struct mt_arguments arguments = {0};
		assert_error(parse(&parsed, &arguments, 1, 1, wrong[i]), MT_ERROR_USAGE,
			     expected[i]);
	}
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	assert_error(parse(&parsed, &arguments, 2, 2, WORDS(file)), MT_ERROR_USAGE,
		     "decode: missing argument\nUsage: tool decode ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_command_is_whole),
	    cmocka_unit_test(test_completed_options_are_explained),
	    cmocka_unit_test(test_suggestions),
	    cmocka_unit_test(test_exit_statuses),
	    cmocka_unit_test(test_help_lists_all),
	    cmocka_unit_test(test_help_of_each),
	    cmocka_unit_test(test_options_may_stand_anywhere),
	    cmocka_unit_test(test_wrong_words_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
