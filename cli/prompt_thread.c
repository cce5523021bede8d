/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread, thread apply */
#include "prompt.h"

#include <ctype.h>
#include <string.h>

static struct mt_error *no_threads(void)
{
	return mt_error_new(MT_ERROR_USAGE, "No threads.");
}

static struct mt_error *select_thread(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame;
	mt_auto(mt_str) struct mt_str name = {0};
	uint64_t number;

	if (!isdigit((unsigned char)*rest))
		return mt_error_new(MT_ERROR_USAGE, "Invalid thread ID: %s", rest);
	mt_try(prompt_parse_count(rest, &number));
	mt_try(mt_debugger_select_thread(prompt->debugger,
					 number < UINT32_MAX ? (unsigned)number : 0));
	prompt_name_thread(prompt, mt_debugger_selected(prompt->debugger), &name);
	if (name.failed)
		return mt_error_no_memory();
	prompt_printf("[Switching to thread %llu (%s)]\n", (unsigned long long)number, name.text);
	frame = mt_debugger_frame(prompt->debugger, 0);
	if (frame)
		prompt_show_frame(prompt, frame, true);
	return NULL;
}

static struct mt_error *run_thread(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_thread *thread = mt_debugger_selected(prompt->debugger);
	mt_auto(mt_str) struct mt_str name = {0};

	if (!thread)
		return *rest ? select_thread(prompt, rest)
			     : mt_error_new(MT_ERROR_USAGE, "No thread selected");
	if (*rest)
		return select_thread(prompt, rest);
	prompt_name_thread(prompt, thread, &name);
	if (name.failed)
		return mt_error_no_memory();
	prompt_printf("[Current thread is %u (%s)]\n", thread->number, name.text);
	return NULL;
}

/* ---- thread apply ---- */

typedef MT_ARRAY(unsigned) numbers;

/* "all", youngest first; or "1 3-5": then *REST is the command. */
static struct mt_error *read_numbers(struct prompt *prompt, const char **rest, numbers *out)
{
	const char *at = *rest;
	size_t count = mt_debugger_thread_count(prompt->debugger);

	if (prompt_is_word(at, "all")) {
		*rest = prompt_skip_blanks(at + 3);
		for (size_t i = count; i-- > 0;)
			if (mt_array_push(out, mt_debugger_thread(prompt->debugger, i)->number))
				return mt_error_no_memory();
		return NULL;
	}
	while (isdigit((unsigned char)*at)) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && out->count < 100000; first++)
			if (mt_array_push(out, (unsigned)first))
				return mt_error_no_memory();
		at = prompt_skip_blanks(end);
	}
	*rest = at;
	return NULL;
}

static struct mt_error *apply_one(struct prompt *prompt, unsigned number, const char *command)
{
	const struct mt_debug_thread *thread;
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_error *error = mt_debugger_select_thread(prompt->debugger, number);

	if (error) {
		fflush(stdout);
		fprintf(stderr, "warning: Unknown thread %u\n", number);
		mt_error_destroy(error);
		return NULL;
	}
	thread = mt_debugger_selected(prompt->debugger);
	prompt_name_thread(prompt, thread, &name);
	if (name.failed)
		return mt_error_no_memory();
	prompt_printf("\nThread %u (%s \"%s\"):\n", number, name.text, thread->name);
	return prompt_execute_one(prompt, command);
}

static struct mt_error *apply_all(struct prompt *prompt, const numbers *list, const char *command)
{
	unsigned number = mt_debugger_selected(prompt->debugger)->number;
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	unsigned level = frame ? frame->level : 0;
	struct mt_error *error = NULL;

	mt_array_each (one, list)
		if (!error && mt_debugger_pid(prompt->debugger))
			error = apply_one(prompt, *one, command);
	mt_error_destroy(mt_debugger_select_thread(prompt->debugger, number));
	mt_debugger_select_frame(prompt->debugger, level);
	return error;
}

static struct mt_error *run_apply(struct prompt *prompt, const char *rest)
{
	numbers list = {0};
	struct mt_error *error;

	if (!mt_debugger_selected(prompt->debugger))
		return no_threads();
	error = read_numbers(prompt, &rest, &list);
	if (!error && !list.count)
		error = mt_error_new(MT_ERROR_USAGE, "Please specify a thread ID list");
	if (!error && !*rest)
		error = mt_error_new(MT_ERROR_USAGE,
				     "Please specify a command at the end of 'thread apply'");
	if (!error)
		error = apply_all(prompt, &list, rest);
	mt_array_deinit(&list);
	return error;
}

static const struct prompt_command thread_commands[] = {
    {.name = "apply",
     .usage = "all|NUMBER... COMMAND",
     .summary = "Do a command in each of several threads",
     .run = run_apply},
    {0},
};

const struct prompt_command prompt_thread_commands[] = {
    {.name = "thread",
     .aliases = "t",
     .usage = "[NUMBER]",
     .summary = "Select a thread",
     .sub = thread_commands,
     .run = run_thread},
    {0},
};
