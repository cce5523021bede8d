/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "target/engine.h"

#include <string.h>

const struct mt_engine_ops *const mt_engines[] = {
    &mt_engine_calls,
    &mt_engine_step,
    NULL,
};

static struct mt_error *no_such_engine(const char *name)
{
	mt_auto(mt_str) struct mt_str names = {0};

	for (size_t i = 0; mt_engines[i]; i++)
		mt_str_appendf(&names, ", %s", mt_engines[i]->name);
	if (names.failed)
		return mt_error_no_memory();
	return mt_error_new(MT_ERROR_USAGE, "no engine \"%s\": there are auto%s", name, names.text);
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
		mt_str_appendf(&refused, "; not %s: %s", mt_engines[i]->name,
			       mt_error_message(error));
		mt_error_destroy(error);
	}
	return mt_error_new(MT_ERROR_UNSUPPORTED, "no engine works here%s",
			    refused.text ? refused.text : "");
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
		return mt_error_wrap(mt_engines[i]->probe(), "the engine \"%s\" does not work here",
				     name);
	}
	return no_such_engine(name);
}
