/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where calls end that a trigger is about, be it for how long they take (condition/measure.c) or
 * for what they return: at each return of their function, and of those that it ends with a jump to.
 *
 * A return's event is recorded by then, and the trampoline is about to step back over the red zone,
 * by one instruction that is long enough for a jump to code of ours: that does the step, looks at
 * how long the call took, and leads back.  Who took long comes to a stub behind it.  So the call
 * that is told of is in the ring as a whole. */
#include "engine/calls/breaks/breaks.h"

#include "base/clock.h"
#include "engine/calls/memory/memory.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "x86/writer.h"

#include <string.h>

#define JUMP           0xe9
#define MOST_FUNCTIONS 64u /* that end a call */
#define MOST_BACK      12u /* instructions before a computed jump */

static const uint8_t step[MT_MEASURE_STEP_BYTES] = {
    0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0, /* lea rsp, [rsp+128] */
};

/* What ends the calls of a trigger. */
struct ends {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	pid_t lwp;
	const struct mt_calls_break *begin;
	const struct mt_calls_place *place;
	uint32_t functions[MOST_FUNCTIONS]; /* its own first */
	size_t function_count;
	size_t found;
	size_t left;      /* ends that are not found */
	uint64_t left_at; /* the first of them */
	const char *why;
	bool has_others; /* functions, whose ends are left to them */
};

struct mt_error *mt_calls_cannot_measure(const struct mt_calls_condition *condition,
					 const char *why)
{
	if (mt_calls_is_span(condition))
		return mt_error_new(
		    MT_ERROR_TRIGGER,
		    "cannot measure the time for the trigger \"%s\" where it %s: %s",
		    condition->given.text, mt_calls_begins_span(condition) ? "begins" : "ends",
		    why);
	return mt_error_new(MT_ERROR_TRIGGER, "cannot measure the calls for the trigger \"%s\": %s",
			    condition->given.text, why);
}

static const struct mt_plan *plan_of(const struct ends *ends)
{
	return ends->place->module->file->plan;
}

static void leave_out(struct ends *ends, uint64_t address, const char *why)
{
	if (ends->left++)
		return;
	ends->left_at = address + ends->place->module->bias;
	ends->why = why;
}

/* ---- Functions ---- */

/* False: there is no room. */
static bool add_function(struct ends *ends, uint32_t function)
{
	for (size_t i = 0; i < ends->function_count; i++)
		if (ends->functions[i] == function)
			return true;
	if (ends->function_count == MOST_FUNCTIONS)
		return false;
	ends->functions[ends->function_count++] = function;
	return true;
}

/* A switch adds something to a table's address, or has an index in its operand. */
static bool is_switch(const uint8_t *code, const uint8_t *back, size_t count, size_t length)
{
	const int number = mt_insn_jump_register(code, length);
	const uint8_t modrm = code[length >= 3 && (code[0] & 0xf0) == 0x40 ? 2 : 1];
	size_t at = 0;

	if (number < 0)
		return code[0] == 0x3e || (length >= 3 && (modrm & 0xc7) == 0x04);
	for (size_t i = 0; i < count; i++) {
		if (mt_insn_write(code - at - back[i], back[i], number) == MT_WRITE_ADD)
			return true;
		at += back[i];
	}
	return code[0] == 0x3e; /* notrack */
}

/* A jump out of a function: its call ends where that other one returns. */
static void see_jump(struct ends *ends, const struct mt_plan_function *function, uint64_t from,
		     uint64_t target)
{
	uint32_t other;

	if (target >= function->start && target < function->end)
		return;
	other = mt_plan_function_at(plan_of(ends), target);
	if (other == MT_PLAN_NOWHERE || !add_function(ends, other))
		leave_out(ends, from, "it ends there with a jump to another library's function");
}

static void see_code(struct ends *ends, uint32_t index)
{
	const struct mt_plan_function *function = &plan_of(ends)->functions.items[index];
	struct mt_calls_module *module = ends->place->module;
	uint8_t back[MOST_BACK] = {0}; /* lengths of instructions, the last one first */
	struct mt_insn insn;

	if (function->start + module->bias < module->start ||
	    function->end + module->bias > module->end || mt_calls_module_find_clean(module))
		return;
	const uint8_t *code = module->clean + (function->start + module->bias - module->start);
	for (uint64_t at = function->start; at < function->end; at += insn.length) {
		const uint8_t *here = code + (at - function->start);

		if (mt_insn_decode(here, function->end - at, at, &insn))
			return;
		if (insn.class == MT_INSN_JUMP || insn.class == MT_INSN_BRANCH)
			see_jump(ends, function, at, insn.target);
		else if (insn.class == MT_INSN_JUMP_INDIRECT &&
			 !is_switch(here, back, MOST_BACK, insn.length))
			leave_out(ends, at, "it ends there with a jump to a computed function");
		memmove(back + 1, back, MOST_BACK - 1);
		back[0] = insn.length;
	}
}

/* ---- Returns ---- */

/* Where the code goes on that a jump at HOOK leads to; that of another trigger comes next. */
static uint64_t target_of(const struct mt_calls_space *space, uint64_t hook)
{
	uint64_t target = hook + sizeof(step);

	mt_array_each (one, &space->breaks)
		if (one->hook == hook && !one->retired) /* the last one stands first */
			target = mt_calls_stub_entry(one) + sizeof(step);
	return target;
}

/* NEXT: what target_of() said.  Nothing but the step is left where that is right behind it. */
struct mt_error *mt_calls_hook_lead(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, uint64_t hook,
				    uint64_t next)
{
	uint32_t distance = (uint32_t)(next - sizeof(step) - (hook + MT_PATCH_JUMP_BYTES));
	uint8_t bytes[MT_PATCH_JUMP_BYTES] = {JUMP};

	memcpy(bytes + 1, &distance, sizeof(distance));
	if (next == hook + sizeof(step))
		memcpy(bytes, step, sizeof(bytes));
	return engine->target->ops->write(engine->target, space->pid, hook, bytes, sizeof(bytes));
}

uint64_t mt_calls_ticks(const struct mt_calls_engine *engine, uint64_t ns)
{
	const struct mt_time_conversion *clock = &engine->options.conversion;
	const uint64_t now = mt_clock_tsc();

	return mt_ns_to_tsc(clock, mt_tsc_to_ns(clock, now) + ns) - now;
}

static bool measures(const struct mt_engine_condition *given)
{
	return given->slower_ns || given->wants_duration;
}

/* What the program cannot evaluate it stops for each time. */
static struct mt_error *compile_end(const struct ends *ends, struct mt_calls_condition *end,
				    const struct mt_condition_place *where)
{
	const struct mt_expr *expr = end->given.at_return ? end->given.expr : NULL;
	struct mt_error *error = mt_condition_compile(expr, where, &end->code);

	const char *sandbox = mt_calls_sandbox(ends->engine, ends->space);

	if (!error && end->code.reads && sandbox) {
		mt_condition_deinit(&end->code);
		error = mt_error_new(MT_ERROR_UNSUPPORTED, "it reads memory, and process %d %s",
				     ends->space->pid, sandbox);
	}
	end->is_compiled = true;
	if (!error || end->is_gate)
		return error;
	if (mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		return mt_calls_condition_invalid(end, error);
	end->is_left = true;
	if (ends->found == 1)
		mt_calls_condition_leave(ends->engine, end, error);
	else
		mt_error_destroy(error);
	struct mt_condition_place each = *where;
	each.limits = (struct mt_condition_limits){0}; /* whoever evaluates it counts */
	return mt_condition_compile(NULL, &each, &end->code);
}

static struct mt_error *add_end(struct ends *ends, uint64_t address, uint64_t hook, bool is_own)
{
	const struct mt_calls_break *begin = ends->begin;
	const struct mt_engine_condition *given = &begin->condition->given;
	struct mt_calls_condition *end = mt_calls_condition_add(ends->engine, given);

	if (!end)
		return mt_error_no_memory();
	end->is_end = true;
	end->is_gate = begin->gate;
	end->number = begin->condition->number;
	end->rings = ends->space->rings;
	end->rings->references++;
	struct mt_condition_place where =
	    mt_calls_condition_place(ends->engine, ends->space, end, address);
	where.measure.part = MT_MEASURE_END;
	where.measure.ticks = given->slower_ns ? mt_calls_ticks(ends->engine, given->slower_ns) : 0;
	where.measure.looks_up = measures(given) || !is_own;
	end->is_timed = where.measure.looks_up && !given->values;
	where.measure.mult = ends->engine->options.conversion.mult;
	where.measure.shift = ends->engine->options.conversion.shift;
	where.measure.counts = is_own && !given->values && (given->at_return || !given->expr);
	if (given->values) {
		where.measure.key += begin->address; /* each of its functions is one alone */
		/* Those that began and end here are taken out of the table. */
		where.measure.looks_up = ends->function_count > 1;
		where.measure.untimed = true;
		where.measure.is_own = is_own;
		mt_calls_values_into(ends->engine, ends->space, begin->condition, &where);
	}
	where.measure.at_return = true;
	mt_try(compile_end(ends, end, &where));
	struct mt_calls_break one = {.address = address,
				     .asked = begin->asked ? begin->asked : begin->address,
				     .hook = hook,
				     .gate = begin->gate,
				     .trigger = begin->trigger,
				     .condition = end};
	mt_try(mt_calls_stub_make_before(ends->engine, ends->space, ends->lwp, &one,
					 target_of(ends->space, hook)));
	if (mt_array_push(&ends->space->breaks, one))
		return mt_error_no_memory();
	return mt_calls_hook_lead(ends->engine, ends->space, hook, target_of(ends->space, hook));
}

/* The returns that a patch's trampoline records. */
static struct mt_error *hook_patch(struct ends *ends, size_t patch, bool is_own)
{
	const struct mt_calls_module *module = ends->place->module;
	const struct mt_trampolines *one = mt_calls_trampoline_again(module, patch);

	for (size_t i = 0; one && i < one->rows.count; i++) {
		const struct mt_trampoline_row *row = &one->rows.items[i];

		if (row->phase != MT_PHASE_RECORDED || row->below != MT_RING_RED_ZONE ||
		    row->saved || one->code.count - row->offset < sizeof(step) ||
		    memcmp(one->code.items + row->offset, step, sizeof(step)) != 0)
			continue;
		ends->found++;
		mt_try(add_end(ends, row->original,
			       module->room + module->offsets[patch] + row->offset, is_own));
	}
	return NULL;
}

static struct mt_error *hook_function(struct ends *ends, uint32_t function)
{
	const struct mt_plan *plan = plan_of(ends);
	const bool is_own = function == ends->functions[0];

	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (patch->function != function ||
		    !(patch->flags & (MT_PATCH_RETURN | MT_PATCH_REDIRECT)))
			continue;
		if (ends->place->off[i])
			leave_out(ends, patch->address,
				  "what is in memory there is not the file's");
		else
			mt_try(hook_patch(ends, i, is_own));
	}
	mt_array_each (left, &plan->left)
		if (left->function == function && left->is_return)
			leave_out(ends, left->address,
				  mt_plan_reason_name((enum mt_plan_reason)left->reason));
	return NULL;
}

static void find_functions(struct ends *ends)
{
	add_function(ends, mt_plan_function_at(plan_of(ends),
					       ends->begin->address - ends->place->module->bias));
	for (size_t i = 0; i < ends->function_count; i++)
		see_code(ends, ends->functions[i]);
	/* Of many functions, those of them that others end with a jump to record it. */
	if (mt_calls_records_values(ends->begin->condition) &&
	    ends->begin->condition->given.is_one_of_many) {
		ends->has_others = ends->function_count > 1;
		ends->function_count = 1;
	}
}

/* The returns of other functions are those of its calls only where these began. */
bool mt_calls_needs_begin(struct mt_calls_space *space, const struct mt_calls_break *begin)
{
	struct ends ends = {.begin = begin, .place = mt_calls_place_at(space, begin->address)};

	find_functions(&ends);
	return measures(&begin->condition->given) || ends.function_count > 1;
}

struct mt_error *mt_calls_add_ends(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_break *begin)
{
	struct ends ends = {.engine = engine,
			    .space = space,
			    .lwp = lwp,
			    .begin = begin,
			    .place = mt_calls_place_at(space, begin->address)};
	const char *text = begin->condition->given.text;

	find_functions(&ends);
	for (size_t i = 0; i < ends.function_count; i++)
		mt_try(hook_function(&ends, ends.functions[i]));
	if (mt_calls_records_values(begin->condition))
		return ends.left || (!ends.found && !ends.has_others)
			   ? mt_calls_values_tell_ends(engine, begin->condition, ends.left,
						       ends.left + ends.found,
						       ends.left ? ends.why : "it never returns")
			   : NULL;
	if (!ends.found)
		return mt_calls_cannot_measure(begin->condition,
					       ends.left ? ends.why : "it never returns");
	if (ends.left)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "calls for the trigger \"%s\" that end at %zu of its %zu ends are not "
		       "measured, the first at 0x%llx: %s (try a function that calls it)",
		       text, ends.left, ends.left + ends.found, (unsigned long long)ends.left_at,
		       ends.why);
	return NULL;
}

void mt_calls_hold(const struct mt_calls_thread *thread, uint64_t ticks)
{
	if (thread->rings)
		__atomic_fetch_add(&mt_calls_slot(thread->rings, thread->ring)->held, ticks,
				   __ATOMIC_RELAXED);
}

void mt_calls_let_run(struct mt_calls_thread *thread)
{
	if (thread->held_tsc)
		mt_calls_hold(thread, mt_clock_tsc() - thread->held_tsc);
	thread->held_tsc = 0;
}

void mt_calls_reopen_span(const struct mt_calls_thread *thread,
			  const struct mt_calls_condition *condition)
{
	if (!thread->rings)
		return;
	const uint64_t began = __atomic_load_n(
	    &mt_calls_slot(thread->rings, thread->ring)->slow_begin, __ATOMIC_RELAXED);
	uint64_t *spans = (uint64_t *)(mt_calls_ring_here(thread->rings, thread->ring) +
				       thread->rings->ring_bytes + MT_MEASURE_CALLS_BYTES);
	__atomic_store_n(&spans[condition->given.trigger], began, __ATOMIC_RELAXED);
}

uint64_t mt_calls_slow_ns(const struct mt_calls_engine *engine,
			  const struct mt_calls_thread *thread)
{
	const struct mt_time_conversion *clock = &engine->options.conversion;
	const uint64_t now = mt_clock_tsc();

	if (!thread->rings)
		return 0;
	/* The program can write there. */
	struct mt_ring_position *slot = mt_calls_slot(thread->rings, thread->ring);
	uint64_t begin = __atomic_load_n(&slot->slow_begin, __ATOMIC_RELAXED);
	uint64_t ticks = __atomic_load_n(&slot->slow_ticks, __ATOMIC_RELAXED);
	if (ticks > now || begin > now - ticks)
		return 0;
	const uint64_t took_ns = mt_tsc_to_ns(clock, begin + ticks) - mt_tsc_to_ns(clock, begin);
	return took_ns ? took_ns : 1; /* shorter than a step of the clock */
}
