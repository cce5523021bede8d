/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of calls that ended with a jump to another function (tail calls): what they return is
 * known when that one returns, long after their slices ended.  Their ends in the log keep a place
 * for it; each knows that of the call before, so that a chain takes no memory here.
 *
 * The program records the result as that of the call that jumped, if it is told to; else it is what
 * the last one returned, where both would show it alike. */
#include "trace/sp_internal.h"

#include <string.h>

static const struct mt_recorded_value *value_at(const struct mt_sp_stack *stack, size_t index)
{
	return &stack->base.options.values->items.items[index];
}

/* Whose results the numbers are.  False: there are none. */
static bool find_owners(struct mt_sp_stack *stack)
{
	const struct mt_recorded_values *values = stack->base.options.values;

	if (!values || !values->has_results)
		return false;
	while (stack->owners.count < values->items.count) {
		const struct mt_recorded_value *value = value_at(stack, stack->owners.count);
		const struct mt_function *function =
		    value->name && value->is_result
			? mt_rebuild_function_at(&stack->base, value->function)
			: NULL;

		if (mt_array_push(&stack->owners, function)) {
			mt_rebuild_out_of_memory(&stack->base);
			return false;
		}
	}
	return true;
}

/* The first part of FUNCTION's result from INDEX on. */
static size_t next_part(const struct mt_sp_stack *stack, const struct mt_function *function,
			size_t index)
{
	while (index < stack->owners.count && stack->owners.items[index] != function)
		index++;
	return index;
}

static bool is_same_form(const struct mt_recorded_value *one, const struct mt_recorded_value *other)
{
	return one->form == other->form && one->size == other->size &&
	       strcmp(one->name, other->name) == 0 && one->names_bytes == other->names_bytes &&
	       (!one->names_bytes || memcmp(one->names, other->names, one->names_bytes) == 0);
}

/* Would both show the same result? */
static bool show_the_same(const struct mt_sp_stack *stack, const struct mt_function *one,
			  const struct mt_function *other)
{
	const size_t count = stack->owners.count;
	size_t a = next_part(stack, one, 0), b = next_part(stack, other, 0);

	if (a == count)
		return false;
	while (a < count && b < count && is_same_form(value_at(stack, a), value_at(stack, b))) {
		a = next_part(stack, one, a + 1);
		b = next_part(stack, other, b + 1);
	}
	return a == count && b == count;
}

void mt_sp_await_result(struct mt_sp_stack *stack, const struct mt_function *function,
			struct mt_sp_late *late)
{
	struct mt_segment_log *log = &stack->base.log;
	const struct mt_log_late_text text = {
	    .function = function, .before = late->epoch == log->epoch ? late->place : 0};

	if (!find_owners(stack) || next_part(stack, function, 0) == stack->owners.count)
		return;
	late->place = mt_segment_log_late_text(log, &text);
	late->epoch = log->epoch;
}

void mt_sp_give_results(struct mt_sp_stack *stack, const struct mt_sp_frame *frame)
{
	struct mt_segment_log *log = &stack->base.log;
	uint64_t place = frame->late.epoch == log->epoch ? frame->late.place : 0;
	const struct mt_function *function = NULL;
	struct mt_log_late_text late = {0};
	const char *text = NULL;

	for (; place && mt_segment_log_get_late(log, place, &late); place = late.before) {
		if (late.function != function) {
			function = late.function;
			text = mt_sp_values_of(stack, frame->sp, function, true);
			if (!text && stack->result &&
			    show_the_same(stack, function, frame->function))
				text = stack->result;
		}
		late.text = text;
		if (text)
			mt_segment_log_set_late(log, place, &late);
	}
}
