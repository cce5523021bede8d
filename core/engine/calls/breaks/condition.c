/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions of breakpoints at patched functions' entries: their code lies in front of the stub
 * (stub.c), and leads past it, to the trampoline, when they do not hold.  What is to be measured
 * from there on never comes to the stub: see slow.c.  Those at lines are in line.c. */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/memory/memory.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "engine/calls/trampoline/cfi.h"
#include "expr/regex.h"

#include <string.h>

/* Behind the slots. */
#define MOST_CONDITIONS  (MT_CALLS_CONDITIONS_BYTES / sizeof(struct mt_condition_errors))
#define MOST_ROW_BYTES   32u /* of its description */
#define MOST_TABLE_BYTES 256u
#define COST             "about 100 us a call"
#define KEY              0x9e3779b97f4a7c15ull /* any two products differ */

static struct mt_error *too_many(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "there are more than %zu conditions",
			    MOST_CONDITIONS);
}

/* A function's first instruction that a patch displaces. */
static bool is_entry(const struct mt_calls_place *place, ssize_t patch)
{
	return patch >= 0 && place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY;
}

static uint64_t errors_at(const struct mt_calls_rings *rings, uint32_t number)
{
	return mt_calls_conditions_address(rings) + number * sizeof(struct mt_condition_errors);
}

static struct mt_condition_errors *errors_here(const struct mt_calls_condition *condition)
{
	return (struct mt_condition_errors *)mt_calls_conditions_here(condition->rings) +
	       condition->number;
}

/* The first one of its trigger's in that program: it counts their hits, and what went wrong with
 * values, of which a trigger may have those of thousands of functions. */
static struct mt_calls_condition *counting(const struct mt_calls_engine *engine,
					   const struct mt_calls_rings *rings,
					   struct mt_calls_condition *condition)
{
	mt_array_each (other, &engine->conditions)
		if ((*other)->rings == rings && (*other)->given.trigger == condition->given.trigger)
			return *other;
	return condition;
}

/* The one that has the counts of CONDITION's errors. */
static struct mt_calls_condition *erring(const struct mt_calls_engine *engine,
					 const struct mt_calls_rings *rings,
					 struct mt_calls_condition *condition)
{
	return mt_calls_records_values(condition) ? counting(engine, rings, condition) : condition;
}

static uint32_t make_number(const struct mt_calls_engine *engine,
			    const struct mt_calls_rings *rings,
			    struct mt_calls_condition *condition)
{
	const struct mt_calls_condition *shared = erring(engine, rings, condition);
	uint32_t number = 0;

	if (shared != condition)
		return shared->number;
	mt_array_each (other, &engine->conditions)
		if ((*other)->rings == rings && (*other)->number >= number)
			number = (*other)->number + 1;
	return number;
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mt_calls_condition *condition = context;

	return condition->target->ops->read(condition->target, condition->pid, address, buffer,
					    size);
}

static const struct mt_expr_ops memory_ops = {.read = read_memory};

struct mt_condition_place mt_calls_condition_place(const struct mt_calls_engine *engine,
						   const struct mt_calls_space *space,
						   struct mt_calls_condition *condition,
						   uint64_t address)
{
	const struct mt_engine_limits *limits = &condition->given.limits;

	condition->target = engine->target;
	condition->pid = space->pid;
	condition->memory = (struct mt_expr_frame){.ops = &memory_ops, .context = condition};
	return (struct mt_condition_place){
	    .entry = address,
	    .memory = &condition->memory,
	    .alive = mt_calls_alive_word(space->rings),
	    .errors = errors_at(space->rings, condition->number),
	    .measure = {.key = (condition->number + 1) * KEY},
	    .limits = {.ignore = limits->ignore,
		       .every = limits->every,
		       .can_end = limits->can_end,
		       .interval_ticks =
			   limits->interval_ns ? mt_calls_ticks(engine, limits->interval_ns) : 0,
		       .counts = errors_at(space->rings,
					   counting(engine, space->rings, condition)->number)},
	};
}

static struct mt_error *measure_span(const struct mt_calls_engine *engine,
				     struct mt_calls_condition *condition,
				     struct mt_condition_place *where)
{
	static const enum mt_measure_part parts[] = {
	    [MT_ENGINE_SPAN_BEGIN] = MT_MEASURE_SPAN_BEGIN,
	    [MT_ENGINE_SPAN_END] = MT_MEASURE_SPAN_END,
	    [MT_ENGINE_SPAN_AGAIN] = MT_MEASURE_SPAN_AGAIN,
	};
	const struct mt_engine_condition *given = &condition->given;

	if (given->trigger >= MT_MEASURE_SPANS)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "only the first %u triggers can measure that",
				    MT_MEASURE_SPANS - 1);
	where->measure = (struct mt_measure){
	    .part = parts[given->span],
	    .word = (uint32_t)(MT_MEASURE_CALLS_BYTES + given->trigger * sizeof(uint64_t)),
	    .ticks = mt_calls_ticks(engine, given->span_ns),
	    .looks_up = mt_measure_is_end(parts[given->span]),
	    .mult = engine->options.conversion.mult,
	    .shift = engine->options.conversion.shift,
	};
	condition->is_timed = where->measure.looks_up;
	return NULL;
}

/* What the program cannot evaluate it stops for each time that the span took long. */
static struct mt_error *leave_expr(const struct mt_calls_engine *engine,
				   struct mt_calls_condition *condition,
				   struct mt_condition_place *where, struct mt_error *why)
{
	condition->is_left = true;
	mt_calls_condition_leave(engine, condition, why);
	where->limits = (struct mt_condition_limits){0}; /* whoever evaluates it counts */
	return mt_condition_compile(NULL, where, &condition->code);
}

bool mt_calls_may_be_at_line(const struct mt_calls_condition *condition)
{
	return !mt_calls_is_later(condition) && !mt_calls_is_span(condition) &&
	       !mt_calls_records_values(condition);
}

static struct mt_error *check_place(const struct mt_calls_place *place,
				    const struct mt_calls_condition *condition, uint64_t address,
				    const char *no_room, bool *at_line)
{
	*at_line = false;
	if (place && is_entry(place, mt_calls_planned_at(place, address)))
		return NULL;
	if (!mt_calls_may_be_at_line(condition))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "it is not at a function's entry that is recorded");
	*at_line = true;
	return no_room ? mt_error_new(MT_ERROR_UNSUPPORTED, "%s", no_room) : NULL;
}

static struct mt_error *compile(struct mt_calls_engine *engine, struct mt_calls_space *space,
				struct mt_calls_condition *condition, uint64_t address,
				const char *no_room)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);

	space->rings->has_conditions = true;
	condition->number = make_number(engine, space->rings, condition);
	struct mt_condition_place where =
	    mt_calls_condition_place(engine, space, condition, address);

	if (mt_calls_records_values(condition)) {
		if (condition->given.at_return)
			where.measure = (struct mt_measure){.part = MT_MEASURE_BEGIN,
							    .key = where.measure.key + address,
							    .untimed = true};
		else
			mt_calls_values_into(engine, space, condition, &where);
	} else if (mt_calls_is_later(condition)) {
		where.measure.part = MT_MEASURE_BEGIN;
	} else if (mt_calls_is_span(condition)) {
		mt_try(measure_span(engine, condition, &where));
	}

	if (condition->number >= MOST_CONDITIONS)
		return too_many();
	mt_try(check_place(place, condition, address, no_room, &where.at_line));
	struct mt_error *error = mt_condition_compile(
	    condition->given.at_return ? NULL : condition->given.expr, &where, &condition->code);
	const char *sandbox = mt_calls_sandbox(engine, space);
	if (!error && condition->code.reads && sandbox) {
		mt_condition_deinit(&condition->code);
		error = mt_error_new(MT_ERROR_UNSUPPORTED, "it reads memory, and process %d %s",
				     space->pid, sandbox);
	}
	return error && mt_error_code(error) == MT_ERROR_UNSUPPORTED &&
		       mt_calls_is_span(condition) && !condition->is_gate
		   ? leave_expr(engine, condition, &where, error)
		   : error;
}

struct mt_error *mt_calls_condition_invalid(const struct mt_calls_condition *condition,
					    struct mt_error *error)
{
	if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	struct mt_error *whole =
	    mt_error_new(MT_ERROR_TRIGGER, "invalid condition of the trigger \"%s\": %s",
			 condition->given.text, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

struct mt_error *mt_calls_condition_compile(struct mt_calls_engine *engine,
					    struct mt_calls_space *space,
					    struct mt_calls_condition *condition, uint64_t address,
					    const char *no_room)
{
	if (condition->is_compiled)
		return NULL;
	struct mt_error *error = compile(engine, space, condition, address, no_room);
	condition->is_compiled = !error;
	if (!error) {
		condition->rings = space->rings;
		condition->rings->references++;
	}
	if (!error || condition->is_gate || mt_calls_records_values(condition) ||
	    mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	if (mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		return mt_calls_condition_invalid(condition, error);
	if (mt_calls_is_later(condition) || mt_calls_is_span(condition)) {
		struct mt_error *whole =
		    mt_calls_cannot_measure(condition, mt_error_message(error));
		mt_error_destroy(error);
		return whole;
	}
	if (condition->given.expr || mt_engine_is_limited(&condition->given.limits))
		mt_calls_condition_leave(engine, condition, error);
	else
		mt_error_destroy(error); /* there is nothing to evaluate */
	return NULL;
}

void mt_calls_condition_mute(const struct mt_calls_engine *engine,
			     struct mt_calls_condition *condition)
{
	__atomic_store_n(&errors_here(counting(engine, condition->rings, condition))->is_over, 1,
			 __ATOMIC_RELAXED);
}

void mt_calls_condition_leave(const struct mt_calls_engine *engine,
			      const struct mt_calls_condition *condition, struct mt_error *why)
{
	mt_log(engine->options.log, MT_LOG_WARNING,
	       "the condition of the trigger \"%s\" is evaluated by mtdb, which takes " COST ": %s",
	       condition->given.text, mt_error_message(why));
	mt_error_destroy(why);
}

uint64_t mt_calls_condition_bytes(const struct mt_calls_condition *condition)
{
	const struct mt_trampolines *code = &condition->code.trampolines;

	return code->code.count + code->rows.count * MOST_ROW_BYTES + MOST_TABLE_BYTES;
}

static void see_mute(void *context, const struct mt_trampoline_mute *mute)
{
	uint32_t *first = context;

	if (mute->offset < *first)
		*first = mute->offset;
}

/* The word at AT, behind which BYTES more stand. */
static void put_distance(struct mt_condition *code, uint64_t address, uint32_t at, uint32_t bytes,
			 uint64_t target)
{
	const uint32_t distance =
	    (uint32_t)(target - (address + at + (uint32_t)sizeof(distance) + bytes));

	memcpy(code->trampolines.code.items + at, &distance, sizeof(distance));
}

/* It goes on at TRAMPOLINE: where that records the function's entry, which CODE does as well,
 * behind the recording. */
static void join(struct mt_calls_space *space, struct mt_condition *code, uint64_t address,
		 uint64_t trampoline)
{
	const uint64_t entry = code->trampolines.rows.items[0].original;
	const struct mt_calls_place *place = mt_calls_place_of_trampoline(space, trampoline);
	const ssize_t patch = place ? mt_calls_planned_at(place, entry) : -1;
	uint64_t behind = 0, recording = address; /* which is no MT_CONDITION_RECORDS */
	uint32_t first = UINT32_MAX;

	if (patch >= 0 && place->module->room + place->module->offsets[patch] == trampoline)
		behind = mt_calls_module_copy_of(place->module, (size_t)patch, entry);
	if (behind)
		mt_trampoline_each_mute(mt_calls_trampoline_again(place->module, (size_t)patch), 0,
					(uint32_t)(behind - trampoline), see_mute, &first);
	if (first != UINT32_MAX)
		recording = trampoline + first;
	put_distance(code, address, code->recording, 1, recording);
	put_distance(code, address, code->behind, 0, behind ? behind : trampoline);
}

struct mt_error *mt_calls_condition_write(struct mt_calls_engine *engine,
					  struct mt_calls_space *space,
					  struct mt_calls_condition *condition, uint64_t address,
					  uint64_t trampoline)
{
	struct mt_condition *code = &condition->code;

	put_distance(code, address, code->miss, 0, trampoline);
	if (code->behind)
		join(space, code, address, trampoline);
	condition->address = address;
	return engine->target->ops->write(engine->target, space->pid, address,
					  code->trampolines.code.items,
					  code->trampolines.code.count);
}

struct mt_error *mt_calls_condition_describe(struct mt_calls_engine *engine,
					     struct mt_calls_space *space,
					     struct mt_calls_condition *condition,
					     struct mt_calls_room *room)
{
	const struct mt_condition *code = &condition->code;
	const uint64_t table = (room->used + 7) & ~7ull;
	const uint32_t begin = 0;
	const struct mt_cfi_config config = {
	    .code = condition->address, .address = table, .parts = &begin, .part_count = 1};
	const struct mt_calls_entry entry = {.code = condition->address,
					     .code_bytes = code->trampolines.code.count,
					     .search_table = table};
	struct mt_cfi_image image;
	struct mt_error *error = NULL;

	if (mt_cfi_build(&code->trampolines, &config, &image))
		return mt_error_no_memory();
	if (image.bytes.count <= room->end - table) {
		error = engine->target->ops->write(engine->target, space->pid, table,
						   image.bytes.items, image.bytes.count);
		room->used = table + image.bytes.count;
		if (!error)
			error = mt_calls_cfi_link(engine, space, &entry, &condition->entry);
	}
	mt_cfi_image_deinit(&image);
	return error;
}

static struct mt_calls_break *break_at(const struct mt_calls_space *space, uint64_t pc)
{
	mt_array_each (one, &space->breaks)
		if (one->condition && one->condition->address &&
		    pc - one->condition->address < one->condition->code.trampolines.code.count)
			return one;
	return NULL;
}

struct mt_calls_break *mt_calls_break_of_condition(struct mt_calls_space *space, uint64_t pc)
{
	return break_at(space, pc);
}

const struct mt_trampoline_row *mt_calls_condition_row(const struct mt_calls_space *space,
						       uint64_t pc)
{
	const struct mt_calls_break *one = break_at(space, pc);

	return one ? mt_trampoline_row_at(&one->condition->code.trampolines,
					  (uint32_t)(pc - one->condition->address))
		   : NULL;
}

bool mt_calls_condition_records_entry(const struct mt_calls_space *space, uint64_t pc)
{
	const struct mt_calls_break *one = break_at(space, pc);

	return one && one->condition->code.behind;
}

bool mt_calls_condition_is_probe(const struct mt_calls_space *space, uint64_t pc)
{
	const struct mt_calls_break *one = break_at(space, pc);

	return one && pc - one->condition->address >= one->condition->code.probe_begin &&
	       pc - one->condition->address < one->condition->code.probe_end;
}

void mt_calls_condition_end_probe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space,
				  struct user_regs_struct *registers)
{
	uint64_t saved[MT_CONDITION_PROBE_REGISTERS];

	if (!mt_calls_condition_is_probe(space, registers->rip) ||
	    engine->target->ops->read(engine->target, space->pid, registers->rsp, saved,
				      sizeof(saved)) != sizeof(saved))
		return;
	registers->rdi = saved[0];
	registers->rsi = saved[1];
	registers->r8 = saved[2];
	registers->r9 = saved[3];
	registers->r10 = saved[4];
	registers->r11 = saved[5];
}

void mt_calls_condition_fault(const struct mt_calls_engine *engine,
			      const struct mt_calls_space *space,
			      struct mt_calls_condition *condition, uint64_t fault)
{
	struct mt_calls_condition *counts = erring(engine, condition->rings, condition);

	counts->faults++;
	counts->fault = fault;
	__atomic_fetch_or(&errors_here(counts)->trust,
			  MT_CONDITION_WILD |
			      (mt_calls_sandbox(engine, space) ? MT_CONDITION_SANDBOXED : 0),
			  __ATOMIC_RELAXED);
}

struct mt_condition_errors mt_calls_condition_errors(const struct mt_calls_condition *condition)
{
	struct mt_condition_errors errors = *errors_here(condition);

	if (condition->faults)
		errors.address = condition->fault;
	errors.reads += condition->faults;
	return errors;
}

static void tell_errors(const struct mt_calls_engine *engine,
			const struct mt_calls_condition *condition)
{
	const struct mt_condition_errors errors = mt_calls_condition_errors(condition);
	const char *what = mt_calls_records_values(condition) ? "arguments for --args"
							      : "the condition of the trigger";

	if (errors.reads)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "%s \"%s\" could not be evaluated %u times: "
		       "Cannot access memory at address 0x%llx",
		       what, condition->given.text, errors.reads,
		       (unsigned long long)errors.address);
	if (errors.divisions)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "%s \"%s\" could not be evaluated %u times: Division by zero", what,
		       condition->given.text, errors.divisions);
	if (errors.unset)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "%s \"%s\" could not be evaluated %u times: the thread has no copy yet of "
		       "thread-local variables of a library",
		       what, condition->given.text, errors.unset);
	if (errors.undecided)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "%s \"%s\" could not be evaluated %u times: $_regex: %s", what,
		       condition->given.text, errors.undecided, MT_REGEX_WHY_UNDECIDED);
	if (errors.lost)
		mt_log(
		    engine->options.log, MT_LOG_INFO,
		    "at least %u calls for the trigger \"%s\" were not measured: they ended by an "
		    "exception, longjmp() or a jump to another function",
		    errors.lost, condition->given.text);
	if (errors.unmatched)
		mt_log(engine->options.log, MT_LOG_INFO,
		       "%u calls for the trigger \"%s\" were not measured: they had begun before "
		       "it was set, or too many of them were open",
		       errors.unmatched, condition->given.text);
}

struct mt_calls_condition *mt_calls_condition_add(struct mt_calls_engine *engine,
						  const struct mt_engine_condition *given)
{
	struct mt_calls_condition *condition = calloc(1, sizeof(*condition));

	if (!condition)
		return NULL;
	condition->given = *given;
	if (!mt_array_push(&engine->conditions, condition))
		return condition;
	free(condition);
	return NULL;
}

void mt_calls_conditions_end(struct mt_calls_engine *engine)
{
	mt_array_each (condition, &engine->conditions)
		if ((*condition)->is_compiled && !(*condition)->is_end && !(*condition)->is_gate &&
		    erring(engine, (*condition)->rings, *condition) == *condition)
			tell_errors(engine, *condition);
	mt_array_each (condition, &engine->conditions) {
		mt_calls_rings_unref((*condition)->rings);
		mt_condition_deinit(&(*condition)->code);
		mt_array_deinit(&(*condition)->values);
		free(*condition);
	}
	mt_array_deinit(&engine->conditions);
}
