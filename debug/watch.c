/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Debug registers: watchpoints, and breakpoints that leave the text alone.  All threads have the
 * same ones, and get them when they go on. */
#include "private.h"

#include <string.h>

#define MOST_FRAMES 10000

/* ---- What is watched ---- */

void mt_debug_watch_end(struct mt_debug_break *one)
{
	if (!one->watched)
		return;
	mt_value_destroy(one->watched->value);
	mt_expr_destroy(one->watched->expr);
	free(one->watched);
	one->watched = NULL;
}

/* Without the frame it has no meaning. */
static bool needs_frame(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			const char *text)
{
	struct mt_expr_frame nowhere = *frame;
	struct mt_expr *expr = NULL;

	nowhere.pc = nowhere.next_pc = 0;
	struct mt_error *error = mt_expr_parse(program, &nowhere, text, &expr);
	bool needs = error;
	mt_expr_destroy(expr);
	mt_error_destroy(error);
	return needs || strchr(text, '$');
}

static void note_frame(struct mt_debugger *debugger, struct mt_debug_watched *watched)
{
	unsigned level = debugger->selected_frame;
	const struct mt_debug_frame *caller =
	    mt_debug_caller_of(debugger, debugger->selected, level);
	uint64_t pc = caller ? caller->pc : 0;
	const struct mt_debug_frame *frame = mt_debug_frame_of(debugger, debugger->selected, level);

	if (!frame)
		return;
	watched->lwp = debugger->selected->thread.lwp;
	watched->cfa = frame->cfa;
	watched->caller = pc;
}

static struct mt_error *look_at(struct mt_debug_watched *watched, const struct mt_expr_frame *frame,
				const char *text)
{
	mt_try(mt_expr_evaluate(watched->expr, frame, &watched->value));
	if (mt_value_location(watched->value, &watched->address, &watched->size) && watched->size)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE,
			    "Cannot watch `%s': it does not lie in memory (mtdb watches by debug "
			    "registers alone).",
			    text);
}

struct mt_error *mt_debug_watch_begin(struct mt_debugger *debugger, struct mt_debug_break *one)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);
	struct mt_expr_program *program;

	mt_try(mt_debugger_expressions(debugger, &program));
	one->watched = calloc(1, sizeof(*one->watched));
	if (!one->watched)
		return mt_error_no_memory();
	mt_try(mt_expr_parse(program, &frame, one->text, &one->watched->expr));
	if (!debugger->pid)
		return mt_error_new(MT_ERROR_USAGE, "Watchpoints need a program that runs: start "
						    "it first (\"start\").");
	mt_try(look_at(one->watched, &frame, one->text));
	if (needs_frame(program, &frame, one->text))
		note_frame(debugger, one->watched);
	return NULL;
}

/* ---- The registers ---- */

static struct mt_error *too_many(void)
{
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "Could not insert hardware breakpoints:\nYou may have requested too many "
	    "hardware breakpoints/watchpoints.");
}

static struct mt_error *use(struct mt_debugger *debugger, unsigned *used,
			    const struct mt_ptrace_watch *watch, unsigned number)
{
	if (*used == MT_PTRACE_WATCHES)
		return too_many();
	debugger->watches[*used] = *watch;
	debugger->watch_of[(*used)++] = number;
	return NULL;
}

/* In aligned pieces of 8, 4, 2 and 1 bytes. */
static struct mt_error *use_for_memory(struct mt_debugger *debugger, unsigned *used,
				       const struct mt_debug_break *one)
{
	uint64_t at = one->watched->address, end = at + one->watched->size;

	while (at < end) {
		struct mt_ptrace_watch watch = {at, 8,
						one->public.kind == MT_DEBUG_WATCH
						    ? MT_PTRACE_WATCH_WRITE
						    : MT_PTRACE_WATCH_ACCESS};
		while (at % watch.length || end - at < watch.length)
			watch.length /= 2;
		mt_try(use(debugger, used, &watch, one->public.number));
		at += watch.length;
	}
	return NULL;
}

static struct mt_error *use_for(struct mt_debugger *debugger, unsigned *used,
				const struct mt_debug_break *one)
{
	if (one->watched)
		return use_for_memory(debugger, used, one);
	mt_array_each (location, &one->locations) {
		const struct mt_ptrace_watch watch = {location->address, 1,
						      MT_PTRACE_WATCH_EXECUTE};
		if (location->enabled)
			mt_try(use(debugger, used, &watch, one->public.number));
	}
	return NULL;
}

struct mt_error *mt_debug_watch_plan(struct mt_debugger *debugger)
{
	const struct mt_ptrace_watch none = {0};
	struct mt_error *error = NULL;
	unsigned used = 0;

	mt_array_each (one, &debugger->breakpoints)
		if (!error && (*one)->public.kind != MT_DEBUG_BREAK && (*one)->public.enabled)
			error = use_for(debugger, &used, *one);
	if (!used && !debugger->watch_generation)
		return error;
	for (unsigned i = used; i < MT_PTRACE_WATCHES; i++)
		debugger->watches[i] = none;
	debugger->watch_generation++;
	return error;
}

void mt_debug_watch_insert(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (lwp->watches == debugger->watch_generation)
		return;
	lwp->watches = debugger->watch_generation;
	mt_debug_hardware_set(debugger, lwp, debugger->watches);
}

void mt_debug_watch_withdraw(struct mt_debugger *debugger)
{
	const struct mt_ptrace_watch none[MT_PTRACE_WATCHES] = {0};

	mt_array_each (lwp, &debugger->lwps) {
		if ((*lwp)->watches)
			mt_debug_hardware_set(debugger, *lwp, none);
		(*lwp)->watches = 0;
	}
}

void mt_debug_watch_move(struct mt_debugger *debugger, pid_t from, pid_t to)
{
	mt_array_each (one, &debugger->breakpoints)
		if ((*one)->watched && (*one)->watched->lwp == from)
			(*one)->watched->lwp = to;
}

void mt_debug_watch_forget(struct mt_debugger *debugger)
{
	for (size_t i = debugger->breakpoints.count; i-- > 0;)
		if (debugger->breakpoints.items[i]->watched)
			mt_error_destroy(mt_debugger_delete(
			    debugger, debugger->breakpoints.items[i]->public.number));
}

/* ---- Hits ---- */

static struct mt_debug_break *find(struct mt_debugger *debugger, unsigned number)
{
	mt_array_each (one, &debugger->breakpoints)
		if ((*one)->public.number == number)
			return *one;
	return NULL;
}

/* The frame that the expression was told of, wherever the thread is now.  False: it is gone. */
static bool frame_of(struct mt_debugger *debugger, const struct mt_debug_watched *watched,
		     struct mt_debug_lwp *lwp, struct mt_expr_frame *out)
{
	const struct mt_expr_frame *found = NULL;
	const struct mt_debug_frame *frame;

	if (watched->lwp)
		lwp = mt_debug_find(debugger, watched->lwp);
	if (!watched->lwp)
		found = lwp ? mt_debug_expr_frame_of(debugger, lwp, 0) : NULL;
	for (unsigned i = 0; lwp && watched->lwp && !found && i < MOST_FRAMES; i++) {
		frame = mt_debug_frame_of(debugger, lwp, i);
		if (!frame)
			return false;
		if (frame->cfa == watched->cfa && !frame->inlined)
			found = mt_debug_expr_frame_of(debugger, lwp, i);
	}
	if (found)
		*out = *found;
	if (found && !watched->lwp)
		out->pc = out->next_pc = 0;
	return found;
}

static void print_value(const struct mt_value *value, const struct mt_expr_frame *frame,
			struct mt_str *out)
{
	mt_str_clear(out);
	mt_error_destroy(mt_value_print(value, frame, NULL, out));
}

/* Whether its value is news. */
static bool has_changed(struct mt_debugger *debugger, struct mt_debug_break *one,
			struct mt_debug_lwp *lwp)
{
	struct mt_debug_watched *watched = one->watched;
	struct mt_value *value = NULL;
	struct mt_expr_frame frame;

	if (!frame_of(debugger, watched, lwp, &frame))
		return false;
	struct mt_error *error = mt_expr_evaluate(watched->expr, &frame, &value);
	if (error) {
		mt_error_destroy(error);
		return false;
	}
	bool changed = !mt_value_equal(watched->value, value);
	print_value(watched->value, &frame, &debugger->watch_before);
	print_value(value, &frame, &debugger->watch_after);
	mt_value_destroy(watched->value);
	watched->value = value;
	if (!changed)
		mt_str_clear(&debugger->watch_before);
	return changed;
}

struct mt_debug_break *mt_debug_watch_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	unsigned hits = debugger->watch_generation ? mt_debug_hardware_take_hits(lwp) : 0;
	struct mt_debug_break *stopping = NULL;

	for (unsigned i = 0; i < MT_PTRACE_WATCHES && !stopping; i++) {
		struct mt_debug_break *one =
		    hits >> i & 1 ? find(debugger, debugger->watch_of[i]) : NULL;

		if (!one || (one->public.thread && one->public.thread != lwp->thread.number))
			continue;
		bool is_news = !one->watched || has_changed(debugger, one, lwp) ||
			       one->public.kind != MT_DEBUG_WATCH;
		if (is_news && mt_debug_break_stops(debugger, one, lwp, 0))
			stopping = one;
	}
	return stopping;
}

struct mt_debug_break *mt_debug_watch_left(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
					   uint64_t address)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	mt_array_each (one, &debugger->breakpoints) {
		const struct mt_debug_watched *watched = (*one)->watched;

		if (watched && watched->lwp == lwp->thread.lwp && watched->caller == address &&
		    registers && registers->rsp >= watched->cfa)
			return *one;
	}
	return NULL;
}
