/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results: VALUE events wait for the ENTRY or LEAVE that they belong to, which comes
 * right behind them, at the same stack pointer, in the same function; or the FRAME of one who was
 * stopped in between.  Those for which it does not
 * come are dropped. */
#include "trace/goroutines.h"
#include "trace/python_calls.h"
#include "trace/sp_internal.h"

#include <string.h>

void mt_sp_take_value(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_values *waiting = &stack->values;
	size_t index = 0;

	if (waiting->count && waiting->sp != event->from)
		waiting->count = 0;
	waiting->sp = event->from;
	/* Whoever was put back to the entry recorded it once more. */
	while (index < waiting->count && waiting->numbers[index] != event->detail)
		index++;
	if (index == MT_SP_VALUES)
		return;
	waiting->numbers[index] = event->detail;
	waiting->bits[index] = event->to;
	waiting->count += index == waiting->count;
}

/* The words from NUMBER on, as far as they came behind INDEX. */
static size_t words_of(const struct mt_sp_values *waiting, size_t index, uint32_t number,
		       uint64_t words[MT_RECORDED_STRING_WORDS])
{
	size_t count = 0;

	for (size_t i = index + 1; i < waiting->count && count < MT_RECORDED_STRING_WORDS; i++)
		if (waiting->numbers[i] == number + count)
			words[count++] = waiting->bits[i];
	return count;
}

static void append(const struct mt_sp_values *waiting, size_t index,
		   const struct mt_recorded_value *value, struct mt_str *text)
{
	uint64_t words[MT_RECORDED_STRING_WORDS];
	const uint32_t next = value->number + 1;
	size_t length = index + 1, count;

	while (length < waiting->count && waiting->numbers[length] != next)
		length++;
	switch (value->form) {
	case MT_VALUE_STRING:
		count = words_of(waiting, index, next, words);
		mt_recorded_string_append(value, waiting->bits[index], words, count, text);
		break;
	case MT_VALUE_TEXT:
		if (length < waiting->count) {
			count = words_of(waiting, length, next + 1, words);
			if (count || waiting->bits[length] < sizeof(*words)) {
				mt_recorded_text_append(waiting->bits[length], words, count, text);
				break;
			}
		}
		/* fallthrough */
	default:
		mt_recorded_value_append(value, waiting->bits[index], text);
	}
}

const char *mt_sp_values_of(struct mt_sp_stack *stack, uint64_t sp,
			    const struct mt_function *function, bool result)
{
	struct mt_recorded_values *values = stack->base.options.values;
	const struct mt_sp_values *waiting = &stack->values;
	bool has_parts = false;

	if (!values || !waiting->count || waiting->sp != sp)
		return NULL;
	mt_auto(mt_str) struct mt_str text = {0};
	for (size_t i = 0; i < waiting->count; i++) {
		const struct mt_recorded_value *value =
		    mt_recorded_values_find(values, waiting->numbers[i]);

		if (!value || value->is_result != result || value->name[0] == MT_VALUE_HIDDEN ||
		    mt_rebuild_function_at(&stack->base, value->function) != function)
			continue;
		if (!result)
			mt_str_appendf(&text, "%s%s=", text.length ? ", " : "", value->name);
		else if (value->name[0])
			mt_str_appendf(&text, "%s%s = ", text.length ? ", " : "{", value->name);
		has_parts |= result && value->name[0];
		append(waiting, i, value, &text);
	}
	if (has_parts)
		mt_str_append(&text, "}");
	if (!text.length && !text.failed)
		return NULL;
	const char *kept = mt_recorded_values_keep(values, &text);
	if (!kept)
		mt_rebuild_out_of_memory(&stack->base);
	return kept;
}

/* The parts that were recorded.  False: not all of them. */
static bool python_code(const struct mt_sp_stack *stack, struct mt_recorded_python_code *out)
{
	const struct mt_sp_values *waiting = &stack->values;
	unsigned found = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		const struct mt_recorded_value *value =
		    mt_recorded_values_find(stack->base.options.values, waiting->numbers[i]);

		if (!value || value->name[0] != MT_VALUE_HIDDEN)
			continue;
		if (strcmp(value->name, MT_PYTHON_FUNCTION_NAME) == 0)
			out->function = waiting->bits[i];
		else if (strcmp(value->name, MT_PYTHON_FILE_NAME) == 0)
			out->file = waiting->bits[i];
		else if (strcmp(value->name, MT_PYTHON_LINE_NAME) == 0)
			out->first_line = waiting->bits[i];
		else
			continue;
		found++;
	}
	return found == 3;
}

void mt_sp_begin_python(struct mt_sp_stack *stack, struct mt_sp_frame *frame)
{
	struct mt_recorded_python_code code = {0};

	if (!stack->values.count || stack->values.sp != frame->sp || !python_code(stack, &code))
		return;
	const struct mt_python_call *call =
	    mt_recorded_values_python(stack->base.options.values, &code);
	if (!call)
		return;
	frame->python = call->function;
	if (call->where)
		mt_segment_log_text(&stack->base.log, call->where);
	mt_segment_log_begin_settled(&stack->base.log, stack->base.now_ns, stack->base.estimated,
				     &(struct mt_log_slice){.function = frame->python,
							    .kind = MT_SLICE_CALL,
							    .flags = MT_SLICE_PYTHON});
}
