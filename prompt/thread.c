/* SPDX-License-Identifier: GPL-3.0-or-later */
/* thread, and commands for several of them */
#include "prompt/prompt.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

/* Threads FIRST to LAST of an inferior. */
struct id {
	unsigned inferior, first, last;
};

static unsigned number_at(const char **at)
{
	char *end;
	unsigned long number = strtoul(*at, &end, 10);

	*at = end;
	return number < UINT32_MAX ? (unsigned)number : 0;
}

/* "3", "2.3", "2.3-5".  False: it is something else. */
static bool read_id(const struct prompt *prompt, const char **at, struct id *out)
{
	out->inferior = mt_debugger_inferior_count(prompt->debugger);
	if (!isdigit((unsigned char)**at))
		return false;
	out->first = number_at(at);
	if (**at == '.') {
		out->inferior = out->first;
		if (!isdigit((unsigned char)*++*at))
			return false;
		out->first = number_at(at);
	}
	out->last = out->first;
	if (**at == '-' && isdigit((unsigned char)(*at)[1])) {
		++*at;
		out->last = number_at(at);
	}
	return !**at || strchr(" \t", **at);
}

static struct mt_error *unknown(const struct prompt *prompt, const struct id *id)
{
	unsigned count = mt_debugger_inferior_count(prompt->debugger);

	if (!id->inferior || id->inferior > count)
		return mt_error_new(MT_ERROR_USAGE, "No inferior number '%u'", id->inferior);
	if (count > 1)
		return mt_error_new(MT_ERROR_USAGE, "Unknown thread %u.%u.", id->inferior,
				    id->first);
	return mt_error_new(MT_ERROR_USAGE, "Unknown thread %u.", id->first);
}

/* Only the last inferior has threads. */
static struct mt_error *select_id(struct prompt *prompt, const struct id *id)
{
	struct mt_error *error;

	if (id->inferior != mt_debugger_inferior_count(prompt->debugger))
		return unknown(prompt, id);
	error = mt_debugger_select_thread(prompt->debugger, id->first);
	if (!error)
		return NULL;
	mt_error_destroy(error);
	return unknown(prompt, id);
}

static struct mt_error *select_thread(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame;
	const struct mt_debug_thread *thread;
	mt_auto(mt_str) struct mt_str name = {0};
	const char *at = rest;
	struct id id;

	if (!read_id(prompt, &at, &id))
		return mt_error_new(MT_ERROR_USAGE, "Invalid thread ID: %s", rest);
	mt_try(select_id(prompt, &id));
	thread = mt_debugger_selected(prompt->debugger);
	prompt_name_thread(prompt, thread, &name);
	if (name.failed)
		return mt_error_no_memory();
	prompt_printf("[Switching to thread %s (%s)]\n", prompt_thread_number(prompt, thread).text,
		      name.text);
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
	prompt_printf("[Current thread is %s (%s)]\n", prompt_thread_number(prompt, thread).text,
		      name.text);
	return NULL;
}

/* ---- thread apply ---- */

#define MOST_IDS 100000

typedef MT_ARRAY(struct id) ids;

static struct mt_error *add_ids(ids *out, struct id id)
{
	for (; id.first <= id.last && out->count < MOST_IDS; id.first++)
		if (mt_array_push(out, id))
			return mt_error_no_memory();
	return NULL;
}

/* "all", youngest first; or "1 3-5": then *REST is the command. */
static struct mt_error *read_ids(struct prompt *prompt, const char **rest, ids *out)
{
	const char *at = *rest;
	struct id id = {.inferior = mt_debugger_inferior_count(prompt->debugger)};

	if (prompt_is_word(at, "all")) {
		*rest = prompt_skip_blanks(at + 3);
		for (size_t i = mt_debugger_thread_count(prompt->debugger); i-- > 0;) {
			id.first = id.last = mt_debugger_thread(prompt->debugger, i)->number;
			mt_try(add_ids(out, id));
		}
		return NULL;
	}
	while (isdigit((unsigned char)*at)) {
		if (!read_id(prompt, &at, &id))
			return mt_error_new(MT_ERROR_USAGE, "Invalid thread ID: %s", *rest);
		mt_try(add_ids(out, id));
		at = prompt_skip_blanks(at);
		*rest = at;
	}
	return NULL;
}

static void print_text(void *context)
{
	prompt_printf("%s", (const char *)context);
}

static struct mt_error *apply_one(struct prompt *prompt, const struct id *id,
				  const struct prompt_applying *how)
{
	const struct mt_debug_thread *thread;
	mt_auto(mt_str) struct mt_str name = {0}, head = {0};
	struct mt_error *error = select_id(prompt, id);

	if (error) {
		const char *message = mt_error_message(error);
		int length = (int)strlen(message);

		length -= length && message[length - 1] == '.';
		prompt_report("warning: %.*s\n", length, message);
		mt_error_destroy(error);
		return NULL;
	}
	thread = mt_debugger_selected(prompt->debugger);
	prompt_name_thread(prompt, thread, &name);
	mt_str_appendf(&head, "\nThread %s (%s", prompt_thread_number(prompt, thread).text,
		       name.failed ? "" : name.text);
	if (*thread->name) /* a core file has none */
		mt_str_appendf(&head, " \"%s\"", thread->name);
	mt_str_append(&head, "):\n");
	if (name.failed || head.failed)
		return mt_error_no_memory();
	return prompt_apply(prompt, how, print_text, head.text);
}

static struct mt_error *apply_all(struct prompt *prompt, const ids *list,
				  const struct prompt_applying *how)
{
	unsigned number = mt_debugger_selected(prompt->debugger)->number;
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	unsigned level = frame ? frame->level : 0;
	struct mt_error *error = NULL;

	for (size_t i = 0; i < list->count && !error && mt_debugger_pid(prompt->debugger); i++)
		error =
		    apply_one(prompt, &list->items[how->ascending ? list->count - 1 - i : i], how);
	mt_error_destroy(mt_debugger_select_thread(prompt->debugger, number));
	mt_debugger_select_frame(prompt->debugger, level);
	return error;
}

static struct mt_error *run_apply(struct prompt *prompt, const char *rest)
{
	bool all = prompt_is_word(rest, "all");
	struct prompt_applying how = {0};
	ids list = {0};
	struct mt_error *error;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Please specify a thread ID list");
	if (!mt_debugger_selected(prompt->debugger))
		return all ? NULL : mt_error_new(MT_ERROR_USAGE, "No threads.");
	error = read_ids(prompt, &rest, &list);
	if (!error && !list.count)
		error = mt_error_new(MT_ERROR_USAGE, "Please specify a thread ID list");
	if (!error)
		error = prompt_read_applying(rest, &how);
	if (!error && !*how.command)
		error =
		    mt_error_new(MT_ERROR_USAGE,
				 all ? "Please specify a command at the end of 'thread apply all'"
				     : "Please specify a command following the thread ID list");
	how.ascending &= all;
	if (!error)
		error = apply_all(prompt, &list, &how);
	mt_array_deinit(&list);
	return error;
}

static struct mt_error *run_silently(struct prompt *prompt, const char *rest)
{
	mt_auto(mt_str) struct mt_str text = {0};

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE,
				    "Please specify a command to apply on all threads");
	mt_str_appendf(&text, "all -s %s", rest);
	return text.failed ? mt_error_no_memory() : run_apply(prompt, text.text);
}

static struct mt_error *run_name(struct prompt *prompt, const char *rest)
{
	return mt_debugger_name_thread(prompt->debugger, rest);
}

/* The names that a thread has: the user's or its own, and by its numbers. */
static bool find_in(struct prompt *prompt, const struct mt_debug_thread *thread,
		    const regex_t *pattern)
{
	mt_auto(mt_str) struct mt_str target = {0};
	const struct prompt_text number = prompt_thread_number(prompt, thread);
	bool found = regexec(pattern, thread->name, 0, NULL, 0) == 0;

	if (found)
		prompt_printf("Thread %s has %sname '%s'\n", number.text,
			      thread->is_named ? "" : "target ", thread->name);
	prompt_name_thread(prompt, thread, &target);
	if (target.failed || regexec(pattern, target.text, 0, NULL, 0) != 0)
		return found;
	prompt_printf("Thread %s has target id '%s'\n", number.text, target.text);
	return true;
}

static struct mt_error *run_find(struct prompt *prompt, const char *rest)
{
	regex_t pattern;
	bool found = false;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Command requires an argument.");
	if (regcomp(&pattern, rest, REG_NOSUB) != 0)
		return mt_error_new(MT_ERROR_USAGE, "Invalid regexp: %s", rest);
	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++)
		found |= find_in(prompt, mt_debugger_thread(prompt->debugger, i), &pattern);
	regfree(&pattern);
	if (!found)
		prompt_printf("No threads match '%s'\n", rest);
	return NULL;
}

static const struct prompt_command thread_commands[] = {
    {.name = "apply",
     .usage = "all|NUMBER... [-q] [-c|-s] COMMAND",
     .summary = "Run a command in several threads",
     .help =
	 "-q: do not name them; -c: print errors and continue; -s: skip threads where it fails\n"
	 "or prints nothing; -ascending: with \"all\", the oldest first.\n",
     .run = run_apply},
    {.name = "find",
     .usage = "REGEXP",
     .summary = "List the threads whose names match",
     .run = run_find},
    {.name = "name",
     .usage = "[NAME]",
     .summary = "Set the name of the selected thread; without NAME, the program's own",
     .run = run_name},
    {0},
};

const struct prompt_command prompt_thread_commands[] = {
    {.name = "thread",
     .aliases = "t",
     .usage = "[NUMBER]",
     .summary = "Select a thread",
     .sub = thread_commands,
     .run = run_thread},
    {.name = "taas",
     .usage = "COMMAND",
     .summary = "Run a command in all threads, and name those where it prints something",
     .run = run_silently},
    {0},
};
