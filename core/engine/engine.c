/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/engine.h"

#include <string.h>

const struct mt_engine_ops *const mt_engines[] = {
    &mt_engine_pt, &mt_engine_calls, &mt_engine_sample, &mt_engine_step, NULL,
};

/* What a machine does not have is said in short: nobody needs to do anything about it. */
static void append_refusal(struct mt_str *refused, const struct mt_engine_ops *engine,
			   const struct mt_error *error)
{
	const char *message = mt_error_message(error);
	size_t length = mt_error_code(error) == MT_ERROR_UNSUPPORTED ? strcspn(message, ":;(")
								     : strlen(message);

	while (length && message[length - 1] == ' ')
		length--;
	mt_str_appendf(refused, "; not %s: %.*s", engine->name, (int)length, message);
}

/* The first that works; why each before it does not. */
static struct mt_error *choose_first(const struct mt_engine_ops **out, struct mt_str *why)
{
	mt_auto(mt_str) struct mt_str refused = {0};

	for (size_t i = 0; mt_engines[i]; i++) {
		if (!mt_engines[i]->automatic)
			continue;
		struct mt_error *error = mt_engines[i]->probe();
		if (!error) {
			*out = mt_engines[i];
			if (why)
				mt_str_appendf(why, "%s (%s)%s", mt_engines[i]->name,
					       mt_engines[i]->summary,
					       refused.text ? refused.text : "");
			return NULL;
		}
		append_refusal(&refused, mt_engines[i], error);
		mt_error_destroy(error);
	}
	return mt_error_new(MT_ERROR_UNSUPPORTED, "no engine works here%s",
			    refused.text ? refused.text : "");
}

/* An engine that was asked for does not work: which ones do. */
static struct mt_error *add_others(struct mt_error *error, const struct mt_engine_ops *asked)
{
	mt_auto(mt_str) struct mt_str others = {0};

	for (size_t i = 0; error && mt_engines[i]; i++) {
		mt_auto(mt_error) struct mt_error *refusal = mt_engines[i]->probe();

		if (mt_engines[i] != asked && !refusal)
			mt_str_appendf(&others, "%s --engine %s (%s)",
				       others.length ? " or" : "; these engines work here:",
				       mt_engines[i]->name, mt_engines[i]->summary);
	}
	if (!error || others.failed || !others.length)
		return error;
	struct mt_error *full =
	    mt_error_new(mt_error_code(error), "the engine \"%s\" does not work here: %s%s",
			 asked->name, mt_error_message(error), others.text);
	mt_error_destroy(error);
	return full;
}

struct mt_error *mt_engine_choose(const char *name, const struct mt_engine_ops **out,
				  struct mt_str *why)
{
	if (!name || strcmp(name, "auto") == 0)
		return choose_first(out, why);
	for (size_t i = 0; mt_engines[i]; i++) {
		if (strcmp(mt_engines[i]->name, name) != 0)
			continue;
		*out = mt_engines[i];
		if (why)
			mt_str_appendf(why, "%s (%s)", name, mt_engines[i]->summary);
		return add_others(mt_engines[i]->probe(), mt_engines[i]);
	}
	mt_auto(mt_str) struct mt_str names = {0};
	for (size_t i = 0; mt_engines[i]; i++)
		mt_str_appendf(&names, ", %s", mt_engines[i]->name);
	if (names.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE, "unknown engine \"%s\": valid engines are auto%s", name,
			    names.text);
}

struct mt_error *mt_engine_put_snapshot(struct mt_recording_writer *writer, pid_t pid, pid_t lwp,
					uint64_t pc, uint32_t number, uint64_t time_ns)
{
	const struct mt_sideband note = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = pid,
	    .tid = lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_SNAPSHOT, .ip = pc, .weight = number},
	};

	return number ? mt_recording_writer_put(writer, &note) : NULL;
}
