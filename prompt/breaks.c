/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info breakpoints` and `info watchpoints`. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

/* "in f(int) at f.c:3", or "<f+4>". */
static void print_location(struct prompt *prompt, const struct mt_debug_location *location)
{
	mt_auto(mt_str) struct mt_str name = {0}, symbol = {0};
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	prompt_printf("0x%016llx ", (unsigned long long)location->address);
	if (location->instance && location->function)
		mt_str_append(&name, location->function);
	else
		mt_expr_function_at(program, location->address, &name);
	if (name.length)
		prompt_printf("in %s%s", name.text, location->file ? " at " : "");
	else if (!location->file)
		mt_expr_format_address(program, location->address, &symbol);
	if (location->file)
		prompt_printf("%s:%u", location->file, location->source.line);
	else if (symbol.text && strchr(symbol.text, '<'))
		prompt_printf("%s", strchr(symbol.text, '<'));
}

static const char *kind_words(const struct mt_debug_breakpoint *one)
{
	static const char *const kinds[] = {
	    [MT_DEBUG_BREAK] = "breakpoint",      [MT_DEBUG_HARDWARE_BREAK] = "hw breakpoint",
	    [MT_DEBUG_WATCH] = "hw watchpoint",   [MT_DEBUG_RWATCH] = "read watchpoint",
	    [MT_DEBUG_AWATCH] = "acc watchpoint",
	};

	return one->by_stepping ? "watchpoint" : kinds[one->kind];
}

/* Widths that depend on what is listed. */
struct columns {
	int kind;
	int address;
};

static void print_breakpoint(struct prompt *prompt, const struct mt_debug_breakpoint *one,
			     const struct columns *columns)
{
	int width = columns->kind;

	prompt_printf("%-7u %-*s %-4s %-3s ", one->number, width, kind_words(one),
		      one->temporary ? "del" : "keep", one->enabled ? "y" : "n");
	if (one->kind >= MT_DEBUG_WATCH) {
		prompt_printf("%-*s %s", columns->address, "", one->text);
	} else if (!one->location_count) {
		prompt_printf("%-*s %s", columns->address, "<PENDING>", one->text);
	} else if (one->location_count > 1) {
		prompt_printf("<MULTIPLE>         ");
	} else {
		print_location(prompt, &one->locations[0]);
	}
	if (one->thread)
		prompt_printf(" thread %u", one->thread);
	prompt_printf("\n");
	if (one->condition)
		prompt_printf("\tstop only if %s\n", one->condition);
	if (one->thread)
		prompt_printf("\tstop only in thread %u\n", one->thread);
	if (one->hits)
		prompt_printf("\tbreakpoint already hit %llu time%s\n",
			      (unsigned long long)one->hits, one->hits == 1 ? "" : "s");
	if (one->ignore)
		prompt_printf("\tignore next %llu hits\n", (unsigned long long)one->ignore);
	prompt_show_commands(prompt, one->number);
	for (size_t i = 0; one->location_count > 1 && i < one->location_count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%u.%zu", one->number, i + 1);
		prompt_printf("%-7s %-*s %-4s %-3s ", number, width, "", "",
			      one->locations[i].enabled ? "y" : "n");
		print_location(prompt, &one->locations[i]);
		prompt_printf("\n");
	}
}

/* TEXT: "1 3-5"; without any number, all are listed. */
static struct mt_error *is_wanted(const char *text, unsigned number, bool *wanted)
{
	*wanted = !*text;
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end != text && *end == '-')
			last = strtoul(end + 1, &end, 10);
		if (!isdigit((unsigned char)*text) || (*end && !isspace((unsigned char)*end)))
			return mt_error_new(MT_ERROR_USAGE,
					    "Arguments must be numbers or '$' variables.");
		*wanted |= number >= first && number <= last;
		text = prompt_skip_blanks(end);
	}
	return NULL;
}

struct mt_error *prompt_info_breakpoints(struct prompt *prompt, const char *rest,
					 int watchpoints_only)
{
	struct columns columns = {.kind = strlen("hw watchpoint") + 1, .address = 10};
	MT_ARRAY(const struct mt_debug_breakpoint *) list = {0};
	const struct mt_debug_breakpoint *one;
	struct mt_error *error = NULL;
	bool wanted;

	for (size_t i = 0; !error && (one = mt_debugger_breakpoint(prompt->debugger, i)); i++) {
		error = is_wanted(rest, one->number, &wanted);
		if (error || one->silent || !wanted ||
		    (watchpoints_only && one->kind < MT_DEBUG_WATCH))
			continue;
		if (mt_array_push(&list, one))
			error = mt_error_no_memory();
		if ((int)strlen(kind_words(one)) > columns.kind)
			columns.kind = (int)strlen(kind_words(one));
		if (one->location_count || one->has_memory)
			columns.address = 18; /* the digits of a word */
	}
	if (!error && list.count)
		prompt_printf("Num     %-*s Disp Enb %-*s What\n", columns.kind, "Type",
			      columns.address, "Address");
	else if (!error && *rest)
		prompt_printf("No %s matching '%s'.\n",
			      watchpoints_only ? "watchpoint" : "breakpoint or watchpoint", rest);
	else if (!error)
		prompt_printf("No %s.\n",
			      watchpoints_only ? "watchpoints" : "breakpoints or watchpoints");
	for (size_t i = 0; !error && i < list.count; i++)
		print_breakpoint(prompt, list.items[i], &columns);
	mt_array_deinit(&list);
	return error;
}

void prompt_drop_breakpoints_of(struct prompt *prompt, unsigned thread)
{
	const struct mt_debug_breakpoint *one;

	for (size_t i = 0; (one = mt_debugger_breakpoint(prompt->debugger, i));) {
		if (!one->thread || (thread && one->thread != thread)) {
			i++;
			continue;
		}
		prompt_printf("Thread-specific breakpoint %u deleted - thread %u no longer in the "
			      "thread list.\n",
			      one->number, one->thread);
		mt_error_destroy(mt_debugger_delete(prompt->debugger, one->number));
	}
}

/* ---- rbreak ---- */

static struct mt_error *break_at(void *context, const struct mt_expr_function *function)
{
	mt_auto(mt_str) struct mt_str location = {0};

	if (function->file)
		mt_str_appendf(&location, "%s:", function->file);
	mt_str_append(&location, function->name);
	if (location.failed)
		return mt_error_no_memory();
	const struct mt_debug_new_breakpoint what = {.location = location.text};
	mt_try(prompt_add_breakpoint(context, &what));
	if (function->file)
		prompt_printf("%s\n", function->text);
	else
		prompt_printf("<function, no debug info> %s;\n", function->name);
	return NULL;
}

/* [FILE:]REGEX; "::" is of a name. */
struct mt_error *prompt_rbreak(struct prompt *prompt, const char *rest)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	mt_auto(mt_str) struct mt_str file = {0};
	const char *colon = strchr(rest, ':');

	if (colon && colon > rest && colon[1] != ':') {
		const char *end = colon;

		while (end > rest && strchr(" \t", end[-1]))
			end--;
		mt_str_append_bytes(&file, rest, (size_t)(end - rest));
		rest = prompt_skip_blanks(colon + 1);
	}
	if (file.failed)
		return mt_error_no_memory();
	return mt_expr_each_function(program, file.text, rest, break_at, prompt);
}
