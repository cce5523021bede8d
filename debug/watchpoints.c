/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watchpoints: an expression, the memory that its value comes from, and the frame that it belongs
 * to.
 *
 * The memory moves: of `p->next` both p and the member are watched, and the address of the member
 * is found again whenever either changed.  A value in registers, or one that is wider than the
 * debug registers reach, is compared after each instruction; so are all where no register is ever
 * hit. */
#include "kernel/breakpoint.h"
#include "private.h"

#include <string.h>

#define MOST_FRAMES     10000
#define ADDRESS_SPACE   (1ull << 47)
#define MOST_BYTES      (1ull << 20) /* that are compared after each instruction */
#define MOST_LOOKS      1000         /* at a value that other threads write */
#define LOCATION_OPTION "-location"

static void forget_value(struct mt_debug_watched *watched)
{
	mt_value_destroy(watched->value);
	watched->value = NULL;
	watched->is_known = false;
	mt_expr_reads_deinit(&watched->reads);
	free(watched->bytes);
	watched->bytes = NULL;
}

static void forget_expr(struct mt_debug_watched *watched)
{
	mt_expr_destroy(watched->expr);
	watched->expr = NULL;
}

void mt_debug_watch_end(struct mt_debug_break *one)
{
	if (!one->watched)
		return;
	forget_value(one->watched);
	forget_expr(one->watched);
	free(one->watched->text);
	free(one->watched);
	one->watched = NULL;
}

/* ---- The scope ---- */

/* Binds it to the selected frame. */
static void note_frame(struct mt_debugger *debugger, struct mt_debug_watched *watched)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	const struct mt_debug_frame *caller =
	    frame ? mt_debug_caller_of(debugger, debugger->selected, frame->level) : NULL;
	uint64_t above =
	    frame && frame->cfa ? mt_debug_word(debugger, frame->cfa - sizeof(uint64_t)) : 0;

	if (!frame)
		return;
	watched->lwp = debugger->selected->thread.lwp;
	watched->cfa = frame->cfa;
	/* The caller of main is no frame. */
	watched->caller = caller                                        ? caller->pc
			  : mt_space_function_at(debugger->code, above) ? above
									: 0;
}

bool mt_debug_watch_frame(struct mt_debugger *debugger, const struct mt_debug_watched *watched,
			  struct mt_debug_lwp *lwp, struct mt_expr_frame *out)
{
	const struct mt_expr_frame *found = NULL;
	const struct mt_debug_frame *frame;

	if (!watched->lwp) {
		found = mt_debug_expr_frame_of(debugger, lwp, 0);
		*out = found ? *found : mt_debugger_expr_frame(debugger, NULL);
		out->pc = out->next_pc = watched->pc;
		return true;
	}
	lwp = mt_debug_find(debugger, watched->lwp);
	for (unsigned i = 0; lwp && !found && i < MOST_FRAMES; i++) {
		frame = mt_debug_frame_of(debugger, lwp, i);
		if (!frame)
			return false;
		if (frame->cfa == watched->cfa && frame->type != MT_DEBUG_INLINE_FRAME)
			found = mt_debug_expr_frame_of(debugger, lwp, i);
	}
	if (found)
		*out = *found;
	return found;
}

static struct mt_error *parse(struct mt_debugger *debugger, struct mt_debug_watched *watched,
			      const struct mt_expr_frame *frame)
{
	forget_expr(watched);
	return mt_expr_parse(debugger->expressions, frame, watched->text, &watched->expr);
}

/* ---- The value ---- */

static uint64_t byte_count(const struct mt_expr_reads *reads)
{
	uint64_t count = 0;

	mt_array_each (read, &reads->memory)
		count += read->size;
	return count;
}

/* The bytes that the value comes from, one behind another.  NULL: they cannot be compared so. */
static uint8_t *read_bytes(struct mt_debugger *debugger, const struct mt_expr_reads *reads)
{
	uint64_t count = byte_count(reads), at = 0;
	uint8_t *bytes = reads->registers || count > MOST_BYTES ? NULL : calloc(1, count + 1);

	mt_array_each (read, &reads->memory) {
		if (bytes)
			mt_debug_read(debugger, read->address, bytes + at, read->size);
		at += read->size;
	}
	return bytes;
}

static bool must_step(const struct mt_debugger *debugger, const struct mt_debug_watched *watched)
{
	if (watched->avoids_registers || !debugger->pid)
		return watched->avoids_registers;
	mt_array_each (read, &watched->reads.memory)
		if (mt_debug_watch_pieces(read->address, read->size) > MT_PTRACE_WATCHES)
			return true;
	return watched->reads.registers || !watched->reads.memory.count;
}

/* *VALUE NULL: it cannot be read now. */
static struct mt_error *evaluate(struct mt_debugger *debugger, struct mt_debug_break *one,
				 const struct mt_expr_frame *frame, struct mt_value **value)
{
	struct mt_debug_watched *watched = one->watched;
	struct mt_expr_reads reads = {0};
	size_t kept = 0;
	struct mt_error *error = mt_expr_evaluate_noting(watched->expr, frame, &reads, value);

	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY) {
		mt_expr_reads_deinit(&reads);
		return error;
	}
	mt_array_each (read, &reads.memory) /* that can be mapped */
		if (read->address < ADDRESS_SPACE && read->size <= ADDRESS_SPACE - read->address)
			reads.memory.items[kept++] = *read;
	reads.memory.count = kept;
	if (kept != watched->reads.memory.count ||
	    (kept && memcmp(reads.memory.items, watched->reads.memory.items,
			    kept * sizeof(*reads.memory.items)) != 0))
		debugger->watches_changed = true;
	mt_expr_reads_deinit(&watched->reads);
	watched->reads = reads;
	free(watched->bytes);
	watched->bytes = read_bytes(debugger, &reads);
	bool steps = must_step(debugger, watched) && one->public.kind == MT_DEBUG_WATCH;
	if (steps != one->public.by_stepping)
		debugger->watches_changed = true;
	one->public.by_stepping = steps;
	one->public.has_memory = debugger->pid && watched->reads.memory.count;
	if (error && (mt_error_code(error) != MT_ERROR_NOT_FOUND || !reads.memory.count))
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *evaluate_first(struct mt_debugger *debugger, struct mt_debug_break *one,
				       const struct mt_expr_frame *frame)
{
	forget_value(one->watched);
	mt_try(evaluate(debugger, one, frame, &one->watched->value));
	one->watched->is_known = true;
	return NULL;
}

static void print_value(const struct mt_value *value, const struct mt_expr_frame *frame,
			struct mt_str *out)
{
	if (value)
		mt_error_destroy(mt_value_print(value, frame, NULL, out));
	else
		mt_str_append(out, "<unreadable>");
}

/* Compares memory only, without its frame. */
static bool is_surely_same(struct mt_debugger *debugger, const struct mt_debug_watched *watched)
{
	uint8_t *now = watched->bytes ? read_bytes(debugger, &watched->reads) : NULL;
	bool is_same = now && memcmp(now, watched->bytes, byte_count(&watched->reads)) == 0;

	free(now);
	return is_same;
}

/* Behind "-l" or "-location".  NULL: it does not begin with that. */
static const char *behind_option(const char *text)
{
	size_t length = strcspn(text, " \t");

	if (length < strlen("-l") || strncmp(text, LOCATION_OPTION, length) != 0 ||
	    length > strlen(LOCATION_OPTION))
		return NULL;
	return text + length + strspn(text + length, " \t");
}

/* With "-location": the expression becomes the address that it refers to now. */
static struct mt_error *fix_location(struct mt_debug_break *one, const struct mt_expr_frame *frame,
				     const char *text)
{
	struct mt_debug_watched *watched = one->watched;
	mt_auto(mt_str) struct mt_str location = {0}, shown = {0};

	mt_try(mt_expr_locate(watched->expr, frame, &location));
	mt_str_appendf(&shown, LOCATION_OPTION " %s", text);
	if (shown.failed)
		return mt_error_no_memory();
	free(watched->text);
	free(one->text);
	watched->text = strdup(location.text);
	one->text = strdup(shown.text);
	return watched->text && one->text ? NULL : mt_error_no_memory();
}

/* Once, to who wanted it otherwise. */
static void tell_of_stepping(struct mt_debugger *debugger)
{
	if (!debugger->settings.hardware_watches || mt_debug_hardware_works(debugger) ||
	    debugger->stepping_is_told || !debugger->front.warned)
		return;
	debugger->stepping_is_told = true;
	debugger->front.warned(debugger->front.context, MT_BREAKPOINT_NEVER_HIT
			       ": while something is watched, the program is single-stepped, which "
			       "is slow");
}

struct mt_error *mt_debug_watch_begin(struct mt_debugger *debugger, struct mt_debug_break *one)
{
	struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);
	const char *location = behind_option(one->text);
	const char *text = location ? location : one->text;
	struct mt_debug_watched *watched;

	if (location && !*location)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	one->watched = watched = calloc(1, sizeof(*watched));
	if (!watched || !(watched->text = strdup(text)))
		return mt_error_no_memory();
	watched->avoids_registers =
	    !debugger->settings.hardware_watches || !mt_debug_hardware_works(debugger);
	frame.at_entry = false; /* it is evaluated behind the prologue, too */
	mt_try(parse(debugger, watched, &frame));
	if (mt_expr_is_constant(watched->expr))
		return mt_error_new(MT_ERROR_USAGE, "Cannot watch constant value `%s'.", text);
	if (location) {
		mt_try(fix_location(one, &frame, location));
		mt_try(parse(debugger, watched, &frame));
	} else {
		watched->pc = frame.pc;
		watched->follows = mt_expr_is_bound(watched->expr);
		if (mt_expr_needs_frame(watched->expr))
			note_frame(debugger, watched);
	}
	mt_try(evaluate_first(debugger, one, &frame));
	if (one->public.kind == MT_DEBUG_WATCH) {
		tell_of_stepping(debugger);
		return NULL;
	}
	if (!must_step(debugger, watched))
		return NULL;
	return mt_error_new(
	    MT_ERROR_USAGE,
	    !watched->avoids_registers
		? "Expression cannot be implemented with read/access watchpoint."
	    : debugger->settings.hardware_watches
		? "Can't set read/access watchpoint: " MT_BREAKPOINT_NEVER_HIT
		  ".  \"watch\" stops when the value changes."
		: "Can't set read/access watchpoint when hardware watchpoints are disabled.");
}

void mt_debug_watch_parse(struct mt_debugger *debugger)
{
	mt_array_each (one, &debugger->breakpoints) {
		struct mt_debug_watched *watched = (*one)->watched;
		struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);

		if (!watched)
			continue;
		frame.pc = frame.next_pc = watched->pc;
		mt_error_destroy(parse(debugger, watched, &frame));
	}
	debugger->watches_changed = true;
}

void mt_debug_watch_forget_exprs(struct mt_debugger *debugger)
{
	mt_array_each (one, &debugger->breakpoints)
		if ((*one)->watched)
			forget_expr((*one)->watched);
}

void mt_debug_watch_evaluate(struct mt_debugger *debugger)
{
	struct mt_expr_frame frame;

	mt_array_each (one, &debugger->breakpoints) {
		struct mt_debug_watched *watched = (*one)->watched;

		if (watched && watched->expr && !watched->is_known && (*one)->public.enabled &&
		    mt_debug_watch_frame(debugger, watched, debugger->selected, &frame))
			mt_error_destroy(evaluate_first(debugger, *one, &frame));
	}
}

void mt_debug_watch_written(struct mt_debugger *debugger, uint64_t address, uint64_t size)
{
	mt_array_each (one, &debugger->breakpoints) {
		struct mt_debug_watched *watched = (*one)->watched;

		if (!watched)
			continue;
		mt_array_each (read, &watched->reads.memory)
			if (address < read->address + read->size && read->address < address + size)
				watched->is_known = false;
	}
}

void mt_debug_watch_ended(struct mt_debugger *debugger)
{
	for (size_t i = debugger->breakpoints.count; i-- > 0;) {
		struct mt_debug_break *one = debugger->breakpoints.items[i];

		if (!one->watched)
			continue;
		forget_value(one->watched);
		one->public.has_memory = false;
		if (one->watched->lwp)
			mt_error_destroy(mt_debugger_delete(debugger, one->public.number));
	}
}

/* ---- Changes ---- */

static struct mt_error *note(struct mt_debugger *debugger, struct mt_debug_break *one,
			     const struct mt_value *before, bool changed,
			     const struct mt_expr_frame *frame)
{
	struct mt_debug_seen seen = {.breakpoint = one->public.number};
	struct mt_str old = {0}, new = {0};

	if (changed)
		print_value(before, frame, &old);
	print_value(one->watched->value, frame, &new);
	seen.before = old.text;
	seen.after = new.text;
	if (!old.failed && !new.failed && !mt_array_push(&debugger->seen, seen))
		return NULL;
	mt_str_deinit(&old);
	mt_str_deinit(&new);
	return mt_error_no_memory();
}

/* Whether the watchpoint triggers. */
static bool is_news(const struct mt_debug_break *one, bool changed)
{
	switch (one->public.kind) {
	case MT_DEBUG_WATCH:
		return changed;
	case MT_DEBUG_RWATCH:
		return !changed; /* else it was written: the processor cannot watch reads alone */
	default:
		return true;
	}
}

/* Whether the condition holds.  Other threads write on meanwhile: the value is read until it is the
 * same before and after that was found; of one that is gone by then nothing can be told. */
static bool holds(struct mt_debugger *debugger, struct mt_debug_break *one,
		  struct mt_debug_lwp *lwp, const struct mt_expr_frame *frame)
{
	struct mt_debug_watched *watched = one->watched;
	bool is_same = !one->condition;

	for (unsigned i = 0; !is_same && i < MOST_LOOKS; i++) {
		struct mt_value *again = NULL;

		if (!mt_debug_watch_holds(debugger, one, lwp))
			return false;
		struct mt_error *error = evaluate(debugger, one, frame, &again);
		if (error || !again || !watched->value) {
			mt_error_destroy(error);
			mt_value_destroy(again);
			return true;
		}
		is_same = mt_value_equal(watched->value, again);
		mt_value_destroy(watched->value);
		watched->value = again;
	}
	return true;
}

bool mt_debug_watch_check(struct mt_debugger *debugger, struct mt_debug_break *one,
			  struct mt_debug_lwp *lwp)
{
	struct mt_debug_watched *watched = one->watched;
	struct mt_value *before = watched->value, *now = NULL;
	struct mt_expr_frame frame;

	if (!watched->expr || !watched->is_known ||
	    (one->public.by_stepping && is_surely_same(debugger, watched)) ||
	    !mt_debug_watch_frame(debugger, watched, lwp, &frame))
		return false;
	struct mt_error *error = watched->follows ? parse(debugger, watched, &frame) : NULL;
	if (!error)
		error = evaluate(debugger, one, &frame, &now);
	if (error) {
		mt_error_destroy(error);
		mt_value_destroy(now);
		return false;
	}
	bool changed = before && now ? !mt_value_equal(before, now) : before != now;
	watched->value = now;
	bool stops = is_news(one, changed) && holds(debugger, one, lwp, &frame) &&
		     mt_debug_break_counts(debugger, one, lwp);
	/* As GDB reports it: an access to memory that could not be read before has no old value. */
	changed &= before || one->public.kind == MT_DEBUG_WATCH;
	if (stops)
		mt_error_destroy(note(debugger, one, before, changed, &frame));
	mt_value_destroy(before);
	return stops;
}

void mt_debug_seen_clear(struct mt_debugger *debugger)
{
	mt_array_each (seen, &debugger->seen) {
		free((char *)seen->before);
		free((char *)seen->after);
	}
	mt_array_deinit(&debugger->seen);
}

bool mt_debug_watch_left(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, uint64_t address)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	size_t count = debugger->seen.count;

	mt_array_each (one, &debugger->breakpoints) {
		const struct mt_debug_watched *watched = (*one)->watched;
		const struct mt_debug_seen seen = {.breakpoint = (*one)->public.number,
						   .left = true};

		if (watched && watched->lwp == lwp->thread.lwp && watched->caller == address &&
		    registers && registers->rsp >= watched->cfa &&
		    mt_array_push(&debugger->seen, seen))
			break;
	}
	return debugger->seen.count > count;
}
