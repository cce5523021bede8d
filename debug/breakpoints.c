/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user's breakpoints, and their locations, which are found again when code is mapped. */
#include "kernel/breakpoint.h"
#include "private.h"

#include <string.h>

#define SILENT 1000000u /* their numbers begin here */

static void forget_parsed(struct mt_debug_break *one)
{
	mt_array_each (expr, &one->parsed)
		mt_expr_destroy(*expr);
	mt_array_deinit(&one->parsed);
}

void mt_debug_forget_conditions(struct mt_debugger *debugger)
{
	mt_array_each (one, &debugger->breakpoints)
		forget_parsed(*one);
}

static void destroy(struct mt_debug_break *one)
{
	forget_parsed(one);
	mt_debug_watch_end(one);
	mt_array_deinit(&one->locations);
	free(one->text);
	free(one->condition);
	free(one);
}

void mt_debug_breakpoints_deinit(struct mt_debugger *debugger)
{
	mt_array_each (one, &debugger->breakpoints)
		destroy(*one);
	mt_array_deinit(&debugger->breakpoints);
}

/* Sets the fields that callers see. */
static void publish(struct mt_debug_break *one)
{
	one->public.text = one->text;
	one->public.condition = one->condition;
	one->public.locations = one->locations.items;
	one->public.location_count = one->locations.count;
}

struct resolving {
	struct mt_debugger *debugger;
	struct mt_debug_break *one;
};

static struct mt_error *add_location(void *context, const struct mt_location *found)
{
	struct resolving *resolving = context;
	const struct mt_debug_location location = {
	    .address = found->address,
	    .enabled = true,
	    .function = found->function,
	    .instance = found->instance,
	    .source = found->source,
	    .file = mt_debug_file_name(resolving->debugger, found->address, found->source.file)};

	return mt_array_push(&resolving->one->locations, location) ? mt_error_no_memory() : NULL;
}

static struct mt_error *resolve(struct mt_debugger *debugger, struct mt_debug_break *one,
				const char *location)
{
	struct resolving resolving = {debugger, one};

	one->locations.count = 0;
	forget_parsed(one);
	struct mt_error *error = mt_debugger_locate(debugger, location, add_location, &resolving);
	publish(one);
	return error;
}

static struct mt_error *resolve_again(struct mt_debugger *debugger, struct mt_debug_break *one)
{
	bool was_pending = !one->locations.count;

	if (one->is_fixed || one->watched)
		return NULL;
	struct mt_error *error = resolve(debugger, one, one->text);
	if (was_pending && one->locations.count && debugger->front.resolved)
		debugger->front.resolved(debugger->front.context, one->public.number);
	return error;
}

void mt_debug_resolve_all(struct mt_debugger *debugger)
{
	mt_array_each (one, &debugger->breakpoints)
		mt_error_destroy(resolve_again(debugger, *one));
	mt_debug_watch_parse(debugger);
}

void mt_debug_resolve_after_exec(struct mt_debugger *debugger)
{
	mt_array_each (at, &debugger->breakpoints) {
		struct mt_debug_break *one = *at;
		bool had_location =
		    one->locations.count && one->public.enabled && !one->public.silent;
		struct mt_error *error = resolve_again(debugger, one);

		if (error && had_location) {
			one->public.enabled = false;
			if (debugger->front.unresolved)
				debugger->front.unresolved(debugger->front.context,
							   one->public.number,
							   mt_error_message(error));
		}
		mt_error_destroy(error);
	}
	mt_debug_watch_parse(debugger);
}

/* The condition at the location with this index; of a watchpoint, where that was set. */
static struct mt_error *parse_at(struct mt_debugger *debugger, const struct mt_debug_break *one,
				 size_t index, struct mt_expr **out)
{
	struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);
	uint64_t address = one->watched ? one->condition_pc : one->locations.items[index].address;
	const struct mt_function *function = mt_space_function_at(debugger->code, address);

	frame.pc = frame.next_pc = address;
	frame.inner = 0;
	frame.at_entry = !one->watched && function && function->start == address;
	return mt_expr_parse(debugger->expressions, &frame, one->condition, out);
}

/* It means something at one location at least. */
static struct mt_error *check_condition(struct mt_debugger *debugger,
					const struct mt_debug_break *one)
{
	struct mt_error *error = NULL;
	size_t i = 0;

	do {
		struct mt_expr *expr = NULL;

		mt_error_destroy(error);
		error = parse_at(debugger, one, i, &expr);
		mt_expr_destroy(expr);
	} while (error && ++i < one->locations.count);
	return error;
}

static struct mt_error *set_condition(struct mt_debugger *debugger, struct mt_debug_break *one,
				      const char *text)
{
	char *copy = text && *text ? strdup(text) : NULL, *former = one->condition;
	struct mt_error *error = text && *text && !copy ? mt_error_no_memory() : NULL;

	one->condition = copy;
	if (!one->watched || !one->watched->lwp)
		one->condition_pc = mt_debugger_expr_frame(debugger, NULL).pc;
	else
		one->condition_pc = one->watched->pc;
	if (!error && copy && (one->locations.count || one->watched))
		error = check_condition(debugger, one);
	if (error) {
		one->condition = former;
		free(copy);
		if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
			return error;
		/* A name that is not found does not make the breakpoint pending. */
		struct mt_error *usage =
		    mt_error_new(MT_ERROR_USAGE, "%s", mt_error_message(error));
		mt_error_destroy(error);
		return usage;
	}
	free(former);
	forget_parsed(one);
	publish(one);
	return NULL;
}

struct mt_error *mt_debugger_break(struct mt_debugger *debugger,
				   const struct mt_debug_new_breakpoint *what, unsigned *number)
{
	bool here = !what->location || !*what->location, watches = what->kind >= MT_DEBUG_WATCH;
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_debug_break *one;

	if (here && watches)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	if (here && !frame)
		return mt_error_new(MT_ERROR_USAGE, "No default breakpoint address now.");
	if (what->kind == MT_DEBUG_HARDWARE_BREAK && !mt_debug_hardware_works(debugger))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "No hardware breakpoint support in the target: " MT_BREAKPOINT_NEVER_HIT
		    ".  Use \"break\".");
	one = calloc(1, sizeof(*one));
	if (!one)
		return mt_error_no_memory();
	one->public = (struct mt_debug_breakpoint){.kind = what->kind,
						   .temporary = what->temporary,
						   .silent = what->silent,
						   .enabled = true,
						   .thread = what->thread};
	/* A location that depends on where the program is is kept as its present meaning; errors
	 * show it as it was typed. */
	if (here)
		mt_str_appendf(&text, "*0x%llx", (unsigned long long)frame->pc);
	else if (watches || !mt_debug_fix_line(debugger, what->location, &text))
		mt_str_append(&text, what->location);
	one->text = text.failed ? NULL : strdup(text.text);
	struct mt_error *error = !one->text ? mt_error_no_memory()
				 : watches
				     ? mt_debug_watch_begin(debugger, one)
				     : resolve(debugger, one, here ? one->text : what->location);
	one->is_fixed = !error && !watches && mt_debug_is_momentary(debugger, one->text);
	if (error && what->pending && mt_error_code(error) == MT_ERROR_NOT_FOUND) {
		mt_error_destroy(error);
		error = NULL;
	}
	if (!error && what->condition)
		error = set_condition(debugger, one, what->condition);
	if (!error && mt_array_push(&debugger->breakpoints, one))
		error = mt_error_no_memory();
	if (error) {
		destroy(one);
		return error;
	}
	/* Silent ones have numbers that users do not see. */
	*number = one->public.number =
	    what->silent ? SILENT + ++debugger->last_silent : ++debugger->last_breakpoint;
	publish(one);
	debugger->watches_changed = true;
	return NULL;
}

size_t mt_debugger_breakpoint_count(const struct mt_debugger *debugger)
{
	return debugger->breakpoints.count;
}

const struct mt_debug_breakpoint *mt_debugger_breakpoint(const struct mt_debugger *debugger,
							 size_t index)
{
	return index < debugger->breakpoints.count ? &debugger->breakpoints.items[index]->public
						   : NULL;
}

static struct mt_debug_break **find(const struct mt_debugger *debugger, unsigned number)
{
	mt_array_each (one, &debugger->breakpoints)
		if ((*one)->public.number == number)
			return one;
	return NULL;
}

const struct mt_debug_breakpoint *mt_debugger_find_breakpoint(const struct mt_debugger *debugger,
							      unsigned number)
{
	struct mt_debug_break **one = find(debugger, number);

	return one ? &(*one)->public : NULL;
}

static struct mt_error *no_breakpoint(unsigned number)
{
	return mt_error_new(MT_ERROR_USAGE, "No breakpoint number %u.", number);
}

struct mt_error *mt_debugger_delete(struct mt_debugger *debugger, unsigned number)
{
	struct mt_debug_break **one = find(debugger, number);

	if (!one)
		return no_breakpoint(number);
	size_t at = (size_t)(one - debugger->breakpoints.items);
	destroy(*one);
	debugger->breakpoints.count--;
	memmove(one, one + 1, (debugger->breakpoints.count - at) * sizeof(*one));
	debugger->watches_changed = true;
	debugger->sites_changed = true;
	return NULL;
}

struct mt_error *mt_debugger_enable(struct mt_debugger *debugger, unsigned number, bool enabled)
{
	struct mt_debug_break **one = find(debugger, number);

	if (!one)
		return no_breakpoint(number);
	/* Changes while it was disabled do not count. */
	if ((*one)->watched && !(*one)->public.enabled)
		(*one)->watched->is_known = false;
	(*one)->public.enabled = enabled;
	debugger->watches_changed = true;
	return NULL;
}

void mt_debugger_set_aside(struct mt_debugger *debugger, unsigned number, bool aside)
{
	struct mt_debug_break **one = find(debugger, number);

	if (one)
		(*one)->is_aside = aside;
	debugger->sites_changed = true;
}

struct mt_error *mt_debugger_ignore(struct mt_debugger *debugger, unsigned number, uint64_t count)
{
	struct mt_debug_break **one = find(debugger, number);

	if (!one)
		return no_breakpoint(number);
	(*one)->public.ignore = count;
	return NULL;
}

struct mt_error *mt_debugger_condition(struct mt_debugger *debugger, unsigned number,
				       const char *text)
{
	struct mt_debug_break **one = find(debugger, number);

	return one ? set_condition(debugger, *one, text) : no_breakpoint(number);
}

static struct mt_error *parsed_at(struct mt_debugger *debugger, struct mt_debug_break *one,
				  size_t index, struct mt_expr **out)
{
	while (one->parsed.count <= index)
		if (mt_array_push(&one->parsed, NULL))
			return mt_error_no_memory();
	if (!one->parsed.items[index])
		mt_try(parse_at(debugger, one, index, &one->parsed.items[index]));
	*out = one->parsed.items[index];
	return NULL;
}

/* A condition that cannot be evaluated holds, and its error is reported; but the silent have their
 * owner, who counts it.  False: no error. */
static bool report_failed(struct mt_debugger *debugger, const struct mt_debug_break *one,
			  struct mt_error *error)
{
	bool failed = error;

	if (failed && debugger->front.condition_failed)
		debugger->front.condition_failed(debugger->front.context, one->public.number,
						 mt_error_message(error));
	mt_error_destroy(error);
	return failed;
}

static bool holds(struct mt_debugger *debugger, struct mt_debug_break *one,
		  struct mt_debug_lwp *lwp, size_t index)
{
	uint64_t address = one->locations.items[index].address;
	const struct mt_function *function = mt_space_function_at(debugger->code, address);
	bool at_entry = function && function->start == address, is_true = true;
	struct mt_expr *expr = NULL;

	if (!one->condition)
		return true;
	struct mt_error *error = parsed_at(debugger, one, index, &expr);
	if (error && one->locations.count > 1) { /* it is about the others */
		mt_error_destroy(error);
		return false;
	}
	mt_debug_set_thread_variables(debugger, lwp);
	if (!error) {
		const struct mt_expr_frame *frame =
		    mt_debug_expr_here(debugger, lwp, address, at_entry);
		error = frame ? mt_expr_is_true(expr, frame, &is_true) : mt_error_no_memory();
	}
	return report_failed(debugger, one, error) ? !one->public.silent : is_true;
}

bool mt_debug_watch_holds(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp)
{
	const struct mt_function *function =
	    mt_space_function_at(debugger->code, one->condition_pc);
	const struct mt_expr_frame *found = NULL;
	const struct mt_debug_frame *frame;
	struct mt_expr_frame own;
	struct mt_expr *expr = NULL;
	bool is_true = true;

	if (!one->condition)
		return true;
	struct mt_error *error = parsed_at(debugger, one, 0, &expr);
	mt_debug_set_thread_variables(debugger, lwp);
	if (!error && one->watched->lwp) {
		if (mt_debug_watch_frame(debugger, one->watched, lwp, &own))
			found = &own;
	} else if (!error && !mt_expr_needs_frame(expr)) {
		found = mt_debug_expr_frame_of(debugger, lwp, 0);
	} else if (!error) { /* the innermost frame of the function in which it was set */
		for (unsigned level = 0;
		     !found && (frame = mt_debug_frame_of(debugger, lwp, level)); level++)
			if (function && frame->function_start == function->start)
				found = mt_debug_expr_frame_of(debugger, lwp, level);
	}
	if (found)
		error = mt_expr_is_true_within(expr, found, &is_true);
	return report_failed(debugger, one, error) || is_true;
}

bool mt_debug_break_counts(struct mt_debugger *debugger, struct mt_debug_break *one,
			   struct mt_debug_lwp *lwp)
{
	one->public.hits++;
	if (one->public.silent && !debugger->front.hit)
		return false;
	if (one->public.silent) {
		struct mt_debug_lwp *selected = debugger->selected;
		unsigned level = debugger->selected_frame;

		debugger->selected = lwp;
		debugger->selected_frame = 0;
		bool stops = debugger->front.hit(debugger->front.context, one->public.number);
		debugger->selected = selected;
		debugger->selected_frame = level;
		if (!stops)
			return false;
	}
	if (!one->public.ignore)
		return true;
	one->public.ignore--;
	return false;
}

bool mt_debug_break_stops(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp, size_t index)
{
	return holds(debugger, one, lwp, index) && mt_debug_break_counts(debugger, one, lwp);
}

struct mt_debug_break *mt_debug_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				    uint64_t address)
{
	struct mt_debug_break *first = NULL;

	/* Each of them counts its hits. */
	mt_array_each (at, &debugger->breakpoints) {
		struct mt_debug_break *one = *at;
		size_t index = 0;

		if (!one->public.enabled || one->is_aside || one->public.kind != MT_DEBUG_BREAK ||
		    (one->public.thread && one->public.thread != lwp->thread.number))
			continue;
		while (index < one->locations.count &&
		       (one->locations.items[index].address != address ||
			!one->locations.items[index].enabled))
			index++;
		if (index < one->locations.count &&
		    mt_debug_break_stops(debugger, one, lwp, index) && !first)
			first = one;
	}
	return first;
}
