/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints and watchpoints as people see them listed. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

/* "in f(int) at f.c:3", or "<f+4>". */
static void print_location(struct prompt *prompt, const struct mt_debug_location *location)
{
	mt_auto(mt_str) struct mt_str name = {0}, symbol = {0};
	struct mt_expr_program *program;
	struct mt_error *error = mt_debugger_expressions(prompt->debugger, &program);

	prompt_printf("0x%016llx ", (unsigned long long)location->address);
	if (location->instance && location->function)
		mt_str_append(&name, location->function);
	else if (!error)
		mt_expr_function_at(program, location->address, &name);
	if (name.length)
		prompt_printf("in %s%s", name.text, location->file ? " at " : "");
	else if (!error && !location->file)
		mt_expr_format_address(program, location->address, &symbol);
	if (location->file)
		prompt_printf("%s:%u", location->file, location->source.line);
	else if (symbol.text && strchr(symbol.text, '<'))
		prompt_printf("%s", strchr(symbol.text, '<'));
	mt_error_destroy(error);
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

/* How wide each is that depends on what is listed. */
struct columns {
	int kind;
	int address;
};

static bool has_address(const struct mt_debug_breakpoint *one)
{
	return one->location_count || one->has_memory;
}

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

/* TEXT holds the number of each that is to be listed; without any, all of them. */
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

typedef MT_ARRAY(const struct mt_debug_breakpoint *) listed;

static struct mt_error *choose(struct prompt *prompt, const char *text, bool (*fits)(uint8_t kind),
			       listed *out)
{
	const struct mt_debug_breakpoint *one;

	for (size_t i = 0; (one = mt_debugger_breakpoint(prompt->debugger, i)); i++) {
		bool wanted;

		mt_try(is_wanted(text, one->number, &wanted));
		if (!one->silent && fits(one->kind) && wanted && mt_array_push(out, one))
			return mt_error_no_memory();
	}
	return NULL;
}

static void print_list(struct prompt *prompt, const listed *list)
{
	struct columns columns = {.kind = strlen("hw watchpoint") + 1, .address = 10};

	mt_array_each (one, list) {
		if ((int)strlen(kind_words(*one)) > columns.kind)
			columns.kind = (int)strlen(kind_words(*one));
		if (has_address(*one))
			columns.address = 18; /* as many digits as a word has */
	}
	prompt_printf("Num     %-*s Disp Enb %-*s What\n", columns.kind, "Type", columns.address,
		      "Address");
	mt_array_each (one, list)
		print_breakpoint(prompt, *one, &columns);
}

static struct mt_error *list_those(struct prompt *prompt, const char *text,
				   bool (*fits)(uint8_t kind), const char *none,
				   const char *none_matching)
{
	listed list = {0};
	struct mt_error *error = choose(prompt, text, fits, &list);

	if (!error && list.count)
		print_list(prompt, &list);
	else if (!error && *text)
		prompt_printf("%s matching '%s'.\n", none_matching, text);
	else if (!error)
		prompt_printf("%s.\n", none);
	mt_array_deinit(&list);
	return error;
}

static bool fits_all(uint8_t kind)
{
	(void)kind;
	return true;
}

static bool watches(uint8_t kind)
{
	return kind >= MT_DEBUG_WATCH;
}

struct mt_error *prompt_info_breakpoints(struct prompt *prompt, const char *rest)
{
	return list_those(prompt, rest, fits_all, "No breakpoints or watchpoints",
			  "No breakpoint or watchpoint");
}

struct mt_error *prompt_info_watchpoints(struct prompt *prompt, const char *rest)
{
	return list_those(prompt, rest, watches, "No watchpoints", "No watchpoint");
}

/* Of THREAD; 0: of any. */
static const struct mt_debug_breakpoint *find_of(struct prompt *prompt, unsigned thread)
{
	const struct mt_debug_breakpoint *one;

	for (size_t i = 0; (one = mt_debugger_breakpoint(prompt->debugger, i)); i++)
		if (one->thread && (!thread || one->thread == thread))
			return one;
	return NULL;
}

void prompt_drop_breakpoints_of(struct prompt *prompt, unsigned thread)
{
	const struct mt_debug_breakpoint *one;

	while ((one = find_of(prompt, thread))) {
		prompt_printf("Thread-specific breakpoint %u deleted - thread %u no longer in the "
			      "thread list.\n",
			      one->number, one->thread);
		mt_error_destroy(mt_debugger_delete(prompt->debugger, one->number));
	}
}
