/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions of a process are recorded, for people who miss a call. */
#include "engine/calls/private.h"

#include "base/str.h"

#define THROTTLED "it was throttled"

/* NULL: it is in the text, or hidden, or held: then the debugger records its calls. */
static const char *reason_of(const struct mt_calls_place *place, size_t patch)
{
	static const char *const reasons[] = {
	    [MT_CALLS_OFF_ROOM] = "no room for its trampoline",
	    [MT_CALLS_OFF_FOREIGN] = "its code in memory differs from the file's",
	    [MT_CALLS_OFF_BREAK] = "a trigger is in the middle of its first bytes",
	    [MT_CALLS_OFF_FAULT] = "an instruction in its first bytes caused a signal",
	    [MT_CALLS_OFF_THROTTLE] = THROTTLED,
	    [MT_CALLS_OFF_REFUSED] = "nothing of the process is recorded any more",
	    [MT_CALLS_OFF_NEEDS] = "its jump needs bytes of another one that is left out",
	};

	return reasons[place->off[patch]];
}

/* By function of the plan; NULL: it is recorded. */
static void find_out(const struct mt_calls_engine *engine, pid_t pid,
		     const struct mt_calls_place *place, const char **why)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->functions.count; i++)
		why[i] = "its entry was not found";
	mt_array_each (left, &plan->left)
		if (!left->is_return)
			why[left->function] = mt_plan_reason_name(left->reason);
	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (!(patch->flags & MT_PATCH_ENTRY))
			continue;
		why[patch->function] = reason_of(place, i);
	}
	/* Also those whose patch stays in the text. */
	mt_array_each (one, &engine->throttled)
		if (one->pid == pid && mt_calls_module_of_site(engine, one->key >> 32) == module)
			why[(uint32_t)one->key] = THROTTLED;
}

static struct mt_error *each_of(const struct mt_calls_place *place, const char **why,
				mt_engine_function_found *found, void *context)
{
	const struct mt_calls_file *file = place->module->file;
	mt_auto(mt_str) struct mt_str name = {0};

	for (size_t i = 0; i < file->plan->functions.count; i++) {
		const struct mt_plan_function *one = &file->plan->functions.items[i];
		/* A plan that was kept has no indices of symbols. */
		const struct mt_symbol *symbol = mt_objfile_symbol_at(file->objfile, one->start);

		if (one->flags & MT_PLAN_PART)
			continue;
		mt_str_clear(&name);
		if (symbol && symbol->raw_name)
			mt_str_append(&name, mt_objfile_symbol_name(file->objfile, symbol));
		else
			mt_str_appendf(&name, "func@%#jx", (uintmax_t)one->start);
		if (name.failed)
			return mt_error_no_memory();
		mt_try(found(context, &(struct mt_engine_function){name.text, file->path, why[i]}));
	}
	return NULL;
}

struct mt_error *mt_calls_each_function(struct mt_engine *base, pid_t pid,
					mt_engine_function_found *found, void *context)
{
	const struct mt_calls_engine *engine = (const struct mt_calls_engine *)base;
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_error *error = NULL;

	for (size_t i = 0; space && i < space->places.count && !error; i++) {
		const struct mt_calls_place *place = &space->places.items[i];
		const char **why =
		    calloc(place->module->file->plan->functions.count + 1, sizeof(*why));

		if (!why)
			return mt_error_no_memory();
		find_out(engine, pid, place, why);
		error = each_of(place, why, found, context);
		free(why);
	}
	return error;
}
