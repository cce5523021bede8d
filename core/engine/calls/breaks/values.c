/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments and results of calls, recorded in the program: their code lies where that of a
 * trigger's condition would (condition.c, slow.c), and no thread ever comes to the stub behind it.
 * Each value has a number, which is that of its events; the recording says what it means. */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/memory/memory.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "trace/recorded_values.h"

#include <stdio.h>
#include <string.h>

#define MOST_STRINGS 8 /* of a function: each takes slots of the code's frame */

static bool is_character(struct mt_type *type)
{
	type = mt_type_strip(type);
	return type->kind == MT_TYPE_CHAR && mt_type_size(type) == 1;
}

/* False: it is none that is known how to show. */
static bool form_of(struct mt_type *type, char *form)
{
	switch (type->kind) {
	case MT_TYPE_INT:
		*form = type->is_signed ? MT_VALUE_SIGNED : MT_VALUE_UNSIGNED;
		return true;
	case MT_TYPE_CHAR:
		*form = MT_VALUE_CHAR;
		return true;
	case MT_TYPE_BOOL:
		*form = MT_VALUE_BOOL;
		return true;
	case MT_TYPE_ENUM:
		*form = MT_VALUE_ENUM;
		return true;
	case MT_TYPE_FLOAT:
		*form = mt_type_size(type) == sizeof(float) ? MT_VALUE_FLOAT : MT_VALUE_DOUBLE;
		return true;
	case MT_TYPE_POINTER:
		*form = is_character(mt_type_target(type)) ? MT_VALUE_STRING : MT_VALUE_POINTER;
		return true;
	case MT_TYPE_MEMBER_POINTER:
		*form = MT_VALUE_POINTER;
		return true;
	default:
		return false;
	}
}

static void put_word(struct mt_str *raw, const char *word)
{
	mt_str_append_bytes(raw, word, strlen(word) + 1);
}

/* As the note of it says: see perf/recording_writer.h. */
static void describe(const struct mt_engine_value *given, struct mt_type *type, char form,
		     struct mt_str *raw)
{
	mt_type_expand(type);
	put_word(raw, given->name);
	mt_str_appendf(raw, "%c%u", form, (unsigned)mt_type_size(type) & UINT8_MAX);
	mt_str_append_bytes(raw, "", 1);
	for (size_t i = 0; form == MT_VALUE_ENUM && i < type->enumerator_count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%lld", (long long)type->enumerators[i].value);
		put_word(raw, type->enumerators[i].name);
		put_word(raw, number);
	}
}

/* The number of what NOTE describes: also that of another process's. */
static uint32_t number_of(const struct mt_calls_engine *engine, const struct mt_calls_value *note)
{
	uint32_t number = 0;

	mt_array_each (known, &engine->values) {
		if (known->function == note->function && known->is_result == note->is_result &&
		    known->raw.length == note->raw.length &&
		    memcmp(known->raw.text, note->raw.text, note->raw.length) == 0)
			break;
		number++;
	}
	return number;
}

/* NOTE, and MORE numbers of its own; RAW, which it has, goes over to it. */
static struct mt_error *add_numbers(struct mt_calls_engine *engine,
				    const struct mt_calls_value *note, size_t more,
				    struct mt_str *raw)
{
	struct mt_calls_value word = *note;

	word.raw = (struct mt_str){0};
	if (mt_array_push(&engine->values, *note))
		return mt_error_no_memory();
	*raw = (struct mt_str){0};
	for (size_t i = 0; i < more; i++)
		if (mt_array_push(&engine->values, word))
			return mt_error_no_memory();
	return NULL;
}

static size_t strings_of(const struct mt_calls_condition *condition)
{
	size_t count = 0;

	mt_array_each (value, &condition->values)
		count += value->is_string;
	return count;
}

/* Alone: what is wrong with one is nothing to the others. */
static struct mt_error *add_value(struct mt_calls_engine *engine, struct mt_calls_space *space,
				  const struct mt_calls_break *one, size_t index)
{
	struct mt_calls_condition *condition = one->condition;
	const struct mt_engine_value *given = &condition->given.values[index];
	struct mt_condition_value value = {.expr = given->expr};
	struct mt_condition_place where =
	    mt_calls_condition_place(engine, space, condition, one->address);
	struct mt_condition code = {0};
	mt_auto(mt_str) struct mt_str raw = {0};
	char form = 0;

	where.values = &value;
	where.value_count = 1;
	mt_try(mt_condition_compile(NULL, &where, &code));
	bool reads = code.reads;
	mt_condition_deinit(&code);
	const char *sandbox = mt_calls_sandbox(engine, space);
	if (reads && sandbox)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "it reads memory, and process %d %s",
				    space->pid, sandbox);
	if (value.text.is_text)
		form = MT_VALUE_TEXT;
	else if (!form_of(value.type, &form))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "values of its type cannot be shown");
	value.is_string = form == MT_VALUE_STRING || form == MT_VALUE_TEXT;
	if (value.is_string && (sandbox || strings_of(condition) == MOST_STRINGS)) {
		form = MT_VALUE_POINTER;
		value.is_string = false;
	}
	describe(given, value.type, form, &raw);
	if (raw.failed)
		return mt_error_no_memory();
	const struct mt_calls_value note = {.pid = space->pid,
					    .function = one->address,
					    .is_result = condition->given.at_return,
					    .raw = raw};
	const uint32_t number = number_of(engine, &note);
	if (number + MT_RECORDED_STRING_NUMBERS > MT_RING_MOST_VALUES)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "there are too many values");
	value.site = (MT_RING_SITE_END + number) | MT_RING_SITE_ENTRY;
	if (mt_array_push(&condition->values, value))
		return mt_error_no_memory();
	return number == engine->values.count
		   ? add_numbers(engine, &note,
				 value.is_string ? MT_RECORDED_STRING_NUMBERS - 1 : 0, &raw)
		   : NULL;
}

/* Of many functions one reason is told. */
static enum mt_log_level loudness(struct mt_calls_engine *engine,
				  const struct mt_engine_condition *given)
{
	if (given->is_implied)
		return MT_LOG_DEBUG;
	if (!given->is_one_of_many)
		return MT_LOG_WARNING;
	mt_array_each (told, &engine->values_told)
		if (*told == given->trigger)
			return MT_LOG_DEBUG;
	return mt_array_push(&engine->values_told, given->trigger) ? MT_LOG_DEBUG : MT_LOG_WARNING;
}

static void log_reason(struct mt_calls_engine *engine, const struct mt_engine_condition *given,
		       const char *what, const char *reason)
{
	mt_log(engine->options.log, loudness(engine, given), "%s \"%s\": %s: %s%s", given->option,
	       given->text, what, reason,
	       given->is_one_of_many
		   ? " (more of the kind are not told: name a function for its own)"
		   : "");
}

/* NAME: of the value; "": it is about all of them. */
static struct mt_error *tell(struct mt_calls_engine *engine,
			     const struct mt_calls_condition *condition, const char *name,
			     struct mt_error *error)
{
	const struct mt_engine_condition *given = &condition->given;
	mt_auto(mt_str) struct mt_str what = {0};

	if (!error || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	struct mt_error *whole = NULL;
	if (mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
		mt_str_appendf(&what, "%s is not recorded", *name ? name : "it");
		if (what.failed)
			whole = mt_error_no_memory();
		else
			log_reason(engine, given, what.text, mt_error_message(error));
	} else
		whole = mt_error_new(MT_ERROR_TRIGGER, "invalid %s \"%s\": %s", given->option,
				     given->text, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

struct mt_error *mt_calls_values_tell_ends(struct mt_calls_engine *engine,
					   const struct mt_calls_condition *condition, size_t left,
					   size_t all, const char *why)
{
	mt_auto(mt_str) struct mt_str what = {0};

	mt_str_appendf(&what, "the result is not recorded at %zu of %zu ends of its calls", left,
		       all);
	if (what.failed)
		return mt_error_no_memory();
	log_reason(engine, &condition->given, what.text, why);
	return NULL;
}

struct mt_error *mt_calls_values_tell(struct mt_calls_engine *engine,
				      const struct mt_calls_condition *condition,
				      struct mt_error *error)
{
	return tell(engine, condition, "", error);
}

/* As the trampoline at ADDRESS records it, unless that adds a time stamp; 0: none does. */
static uint32_t entry_site(struct mt_calls_space *space, uint64_t address)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, address);
	const ssize_t at = place ? mt_calls_planned_at(place, address) : -1;
	const struct mt_patch *patch =
	    at < 0 ? NULL : &place->module->file->plan->patches.items[at];

	return patch && (patch->flags & (MT_PATCH_ENTRY | MT_PATCH_STAMP)) == MT_PATCH_ENTRY
		   ? place->module->site_base + patch->site
		   : 0;
}

void mt_calls_values_into(const struct mt_calls_engine *engine, struct mt_calls_space *space,
			  const struct mt_calls_condition *condition,
			  struct mt_condition_place *where)
{
	where->values = condition->values.items;
	where->value_count = condition->values.count;
	where->ring_bytes = (uint32_t)engine->options.ring_bytes;
	where->stamps = engine->options.stamps;
	if (where->stamps == MT_RING_SAMPLED && !condition->given.at_return)
		where->entry_site = entry_site(space, where->entry);
}

struct mt_error *mt_calls_values_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      const struct mt_calls_break *one)
{
	struct mt_calls_condition *condition = one->condition;
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	ssize_t patch = !place      ? -1
			: one->gate ? mt_calls_planned_at(place, one->address)
				    : mt_calls_patch_at(place, one->address);

	if (patch < 0 || mt_calls_patch_address(place->module, (size_t)patch) != one->address ||
	    !(place->module->file->plan->patches.items[patch].flags & MT_PATCH_ENTRY))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "its calls are not recorded");
	for (size_t i = 0; i < condition->given.value_count; i++)
		mt_try(tell(engine, condition, condition->given.values[i].name,
			    add_value(engine, space, one, i)));
	return NULL;
}

bool mt_calls_value_of(const struct mt_calls_engine *engine, uint32_t site, uint32_t *number)
{
	*number = site - MT_RING_SITE_END;
	return site >= MT_RING_SITE_END && *number < engine->values.count;
}

bool mt_calls_value_is_named(const struct mt_calls_engine *engine, uint32_t number,
			     const char *name)
{
	const struct mt_str *raw = &engine->values.items[number].raw;

	return raw->length && strcmp(raw->text, name) == 0;
}

bool mt_calls_value_is_result(const struct mt_calls_engine *engine, uint32_t number)
{
	return engine->values.items[number].is_result;
}

struct mt_error *mt_calls_put_values(struct mt_calls_engine *engine,
				     struct mt_recording_writer *writer)
{
	uint32_t number = 0;

	mt_array_each (value, &engine->values) {
		const struct mt_sideband note = {
		    .time_ns = mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc()),
		    .kind = MT_SIDEBAND_SAMPLE,
		    .pid = value->pid,
		    .tid = value->pid,
		    .cpu = -1,
		    .sample = {.event = MT_NOTE_VALUE_IS,
			       .ip = value->function,
			       .address = value->is_result,
			       .weight = number,
			       .raw = (const uint8_t *)value->raw.text,
			       .raw_size = (uint32_t)value->raw.length},
		};

		if (value->raw.length && (!value->told || engine->options.live))
			mt_try(mt_recording_writer_put(writer, &note));
		value->told = true;
		number++;
	}
	return NULL;
}

void mt_calls_values_end(struct mt_calls_engine *engine)
{
	mt_array_each (value, &engine->values)
		mt_str_deinit(&value->raw);
	mt_array_deinit(&engine->values);
	mt_array_deinit(&engine->values_told);
}
