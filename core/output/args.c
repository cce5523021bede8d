/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/args.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

const char *mt_arg_name_text(enum mt_arg_name name)
{
	static const char *const texts[MT_ARG_NAMES] = {
	    [MT_ARG_ADDRESS] = "address",
	    [MT_ARG_FILE] = "file",
	    [MT_ARG_LINE] = "line",
	    [MT_ARG_CALL] = "call",
	    [MT_ARG_MODULE] = "module",
	    [MT_ARG_INLINED] = "inlined",
	    [MT_ARG_INFERRED] = "inferred",
	    [MT_ARG_TAIL_CALL] = "tail_call",
	    [MT_ARG_TIME_ESTIMATED] = "time_estimated",
	    [MT_ARG_SIGNAL_HANDLER] = "signal_handler",
	    [MT_ARG_CAUSE] = "cause",
	    [MT_ARG_BYTES_LOST] = "bytes_lost",
	    [MT_ARG_UNWOUND] = "unwound",
	    [MT_ARG_END_LOST] = "end_lost",
	    [MT_ARG_END_ESTIMATED] = "end_estimated",
	    [MT_ARG_PC] = "pc",
	    [MT_ARG_FUNCTION] = "function",
	    [MT_ARG_NUMBER] = "number",
	    [MT_ARG_EXIT_STATUS] = "exit_status",
	    [MT_ARG_SIGNAL] = "signal",
	    [MT_ARG_LEFT_OUT] = "calls_left_out",
	    [MT_ARG_DEEPEST] = "deepest",
	    [MT_ARG_PROCESS] = "process",
	    [MT_ARG_LOCATION] = "location",
	    [MT_ARG_CONDITION] = "condition",
	    [MT_ARG_VALUES] = "values",
	    [MT_ARG_REGISTERS] = "registers",
	    [MT_ARG_THREAD] = "thread",
	    [MT_ARG_ARGUMENTS] = "arguments",
	    [MT_ARG_RESULT] = "result",
	    [MT_ARG_REASON] = "reason",
	    [MT_ARG_VALUE] = "value",
	    [MT_ARG_SAMPLES] = "samples",
	    [MT_ARG_CALL_ID] = "call_id",
	};

	return texts[name];
}

void mt_args_add(struct mt_args *args, enum mt_arg_name name, enum mt_arg_type type,
		 uint64_t number, const char *text)
{
	if (args->count < MT_ARGS_MAX)
		args->items[args->count++] = (struct mt_arg){
		    .name = (uint8_t)name,
		    .type = (uint8_t)type,
		    .number = number,
		    .text = text,
		};
}

static void add_pointer(struct mt_args *args, enum mt_arg_name name, uint64_t address)
{
	if (address)
		mt_args_add(args, name, MT_ARG_TYPE_POINTER, address, NULL);
}

static void add_text(struct mt_args *args, enum mt_arg_name name, const char *text)
{
	if (text && *text)
		mt_args_add(args, name, MT_ARG_TYPE_TEXT, 0, text);
}

static void add_flag(struct mt_args *args, enum mt_arg_name name, bool is_set)
{
	if (is_set)
		mt_args_add(args, name, MT_ARG_TYPE_BOOL, 1, NULL);
}

/* Viewers take an integer for a signed one: what would be negative is shown in hexadecimal. */
static void add_number(struct mt_args *args, enum mt_arg_name name, uint64_t number)
{
	enum mt_arg_type type = number > INT64_MAX ? MT_ARG_TYPE_POINTER : MT_ARG_TYPE_INTEGER;

	mt_args_add(args, name, type, number, NULL);
}

static void add_source(struct mt_args *args, const struct mt_source *source)
{
	add_text(args, MT_ARG_FILE, source->file);
	if (source->file && source->line)
		add_number(args, MT_ARG_LINE, source->line);
}

static void add_gap(struct mt_args *args, enum mt_gap_cause cause, uint64_t bytes_lost)
{
	add_text(args, MT_ARG_CAUSE, mt_gap_cause_text(cause));
	if (bytes_lost)
		add_number(args, MT_ARG_BYTES_LOST, bytes_lost);
}

void mt_args_of_slice(struct mt_args *args, const struct mt_slice *slice)
{
	const struct mt_function *function = slice->function;
	const struct mt_source *call = &slice->call_source;

	args->count = 0;
	if (slice->kind == MT_SLICE_SIDE) {
		add_text(args, MT_ARG_ARGUMENTS, slice->side->arguments);
		add_text(args, MT_ARG_RESULT, slice->side->result);
		add_text(args, MT_ARG_REASON, slice->side->reason);
	}
	add_text(args, MT_ARG_ARGUMENTS, slice->arguments);
	add_pointer(args, MT_ARG_ADDRESS, slice->address);
	if (function)
		add_source(args, &function->source);
	if (call->file && call->line)
		mt_args_add(args, MT_ARG_CALL, MT_ARG_TYPE_PLACE, call->line, call->file);
	else if (call->file)
		add_text(args, MT_ARG_CALL, call->file);
	else
		add_pointer(args, MT_ARG_CALL, slice->call_site);
	if (function)
		add_text(args, MT_ARG_MODULE, function->module);
	if (slice->kind == MT_SLICE_GAP)
		add_gap(args, slice->cause, slice->bytes_lost);
	add_flag(args, MT_ARG_INLINED, slice->kind == MT_SLICE_INLINED);
	add_flag(args, MT_ARG_INFERRED, slice->flags & MT_SLICE_INFERRED);
	add_flag(args, MT_ARG_TAIL_CALL, slice->flags & MT_SLICE_TAIL_CALL);
	add_flag(args, MT_ARG_SIGNAL_HANDLER, slice->flags & MT_SLICE_HANDLER);
	add_flag(args, MT_ARG_TIME_ESTIMATED, slice->flags & MT_SLICE_TIME_ESTIMATED);
	if (slice->call_id)
		add_number(args, MT_ARG_CALL_ID, slice->call_id);
}

void mt_args_of_end(struct mt_args *args, const struct mt_slice_end *end)
{
	args->count = 0;
	add_text(args, MT_ARG_RESULT, end->result);
	if (end->samples)
		add_number(args, MT_ARG_SAMPLES, end->samples);
	add_flag(args, MT_ARG_UNWOUND, end->flags & MT_SLICE_END_UNWOUND);
	add_flag(args, MT_ARG_END_LOST, end->flags & MT_SLICE_END_LOST);
	add_flag(args, MT_ARG_END_ESTIMATED, end->flags & MT_SLICE_END_TIME_ESTIMATED);
}

bool mt_signal_has_address(uint32_t number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
	       number == SIGTRAP;
}

void mt_args_of_instant(struct mt_args *args, const struct mt_instant *instant)
{
	const struct mt_hit *hit = instant->hit;
	int status = (int)instant->value; /* of an EXIT */

	args->count = 0;
	add_flag(args, MT_ARG_TIME_ESTIMATED, instant->estimated);
	switch (instant->kind) {
	case MT_INSTANT_SIGNAL:
		/* 0 is an address here: that of the null pointer that was followed. */
		if (mt_signal_has_address(instant->detail))
			mt_args_add(args, MT_ARG_ADDRESS, MT_ARG_TYPE_POINTER, instant->value,
				    NULL);
		add_number(args, MT_ARG_NUMBER, instant->detail);
		break;
	case MT_INSTANT_GAP:
		add_gap(args, (enum mt_gap_cause)instant->detail, instant->value);
		break;
	case MT_INSTANT_TRIGGER:
		add_number(args, MT_ARG_NUMBER, instant->value);
		add_text(args, MT_ARG_REASON, instant->side ? instant->side->reason : NULL);
		if (!hit)
			break;
		add_text(args, MT_ARG_LOCATION, hit->location);
		add_text(args, MT_ARG_CONDITION, hit->condition);
		add_text(args, MT_ARG_VALUES, hit->values);
		add_text(args, MT_ARG_REGISTERS, hit->registers);
		add_number(args, MT_ARG_THREAD, (uint64_t)hit->tid);
		break;
	case MT_INSTANT_EXIT:
		if (WIFEXITED(status))
			add_number(args, MT_ARG_EXIT_STATUS, (uint64_t)WEXITSTATUS(status));
		else if (WIFSIGNALED(status))
			add_text(args, MT_ARG_SIGNAL, mt_signal_name((uint32_t)WTERMSIG(status)));
		break;
	case MT_INSTANT_SNAPSHOT:
		add_number(args, MT_ARG_NUMBER, instant->value);
		break;
	case MT_INSTANT_FAULT:
		mt_args_add(args, MT_ARG_ADDRESS, MT_ARG_TYPE_POINTER, instant->value, NULL);
		break;
	}
	add_pointer(args, MT_ARG_PC, instant->address);
	if (instant->function)
		add_text(args, MT_ARG_FUNCTION, instant->function->name);
	add_source(args, &instant->source);
}

void mt_args_of_counter(struct mt_args *args, const struct mt_counter *counter)
{
	uint64_t number = counter->value;

	args->count = 0;
	if (counter->is_real)
		memcpy(&number, &counter->real, sizeof(number));
	mt_args_add(args, MT_ARG_VALUE, counter->is_real ? MT_ARG_TYPE_REAL : MT_ARG_TYPE_INTEGER,
		    number, NULL);
}

void mt_args_of_snapshot(struct mt_args *args, const struct mt_thread_segment *segment)
{
	args->count = 0;
	add_number(args, MT_ARG_NUMBER, segment->snapshot);
}

const char *mt_slice_category(const struct mt_slice *slice)
{
	if (slice->flags & MT_SLICE_SAMPLED)
		return MT_CATEGORY_SAMPLED;
	switch (slice->kind) {
	case MT_SLICE_INLINED:
		return MT_CATEGORY_INLINED;
	case MT_SLICE_SYSCALL:
	case MT_SLICE_UNTRACED:
		return MT_CATEGORY_KERNEL;
	case MT_SLICE_GAP:
		return MT_CATEGORY_LOST;
	case MT_SLICE_SIDE:
		return slice->side->category;
	default:
		return MT_CATEGORY_CALL;
	}
}

const char *mt_instant_category(const struct mt_instant *instant)
{
	if (instant->side)
		return instant->side->category;
	return instant->kind == MT_INSTANT_GAP ? MT_CATEGORY_LOST : MT_CATEGORY_MARK;
}

const char *mt_instant_name(const struct mt_instant *instant)
{
	switch (instant->kind) {
	case MT_INSTANT_SIGNAL:
		return mt_signal_name(instant->detail);
	case MT_INSTANT_GAP:
		return mt_slice_name(&(struct mt_slice){
		    .kind = MT_SLICE_GAP,
		    .cause = (enum mt_gap_cause)instant->detail,
		});
	case MT_INSTANT_TRIGGER:
		if (instant->side)
			return instant->side->name;
		return instant->hit ? instant->hit->location : "trigger";
	case MT_INSTANT_EXIT:
		return "exit";
	case MT_INSTANT_SNAPSHOT:
		return MT_SNAPSHOT_NAME;
	case MT_INSTANT_EXEC:
		return "exec";
	case MT_INSTANT_TX_ABORT:
		return "transaction aborted";
	case MT_INSTANT_THROTTLE:
		return "throttled";
	case MT_INSTANT_FAULT:
	case MT_INSTANT_MARK:
		return instant->side->name;
	default:
		return "instant";
	}
}
