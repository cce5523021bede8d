/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/no_call.h"

#include "base/str.h"
#include "elf/objfile.h"
#include "engine/calls/plan/plan.h"

#include <string.h>

struct search {
	const char *function;
	MT_ARRAY(const char *) paths; /* that were looked at; lent by the recording */
	bool can_record;              /* one of that name, at least */
	struct mt_str why;            /* "leaf of /bin/a: too short"; empty: none was found */
};

/* The first one that cannot be recorded is told. */
static void look_at(struct search *search, struct mt_objfile *objfile, const struct mt_plan *plan,
		    const struct mt_symbol *symbol)
{
	mt_array_each (left, &plan->left) {
		if (left->is_return || left->address != symbol->start)
			continue;
		if (!search->why.length)
			mt_str_appendf(&search->why, "%s of %s (%s)",
				       mt_objfile_symbol_name(objfile, symbol),
				       mt_objfile_path(objfile), mt_plan_reason_name(left->reason));
		return;
	}
	search->can_record = true;
}

static struct mt_error *look_in(struct search *search, struct mt_objfile *objfile)
{
	struct mt_error *error = NULL;
	struct mt_plan *plan = NULL;
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &count);

	for (size_t i = 0; i < count && !search->can_record && !error; i++) {
		const struct mt_function function = {
		    .kind = symbols[i].kind,
		    .flags = symbols[i].flags,
		    .name = mt_objfile_symbol_name(objfile, &symbols[i])};

		if (function.kind != MT_FUNCTION_SYMBOL || function.flags & MT_FUNCTION_COLD ||
		    !mt_function_matches(&function, search->function))
			continue;
		if (!plan)
			error = mt_plan_create(objfile, NULL, &plan);
		if (!error)
			look_at(search, objfile, plan, &symbols[i]);
	}
	mt_plan_destroy(plan);
	return error;
}

/* A file that is not there any more, or not as it was, tells nothing. */
static struct mt_error *look_through(struct search *search, const struct mt_sideband *mapping)
{
	struct mt_build_id id = {.size = mapping->mmap.build_id_size};
	struct mt_objfile *objfile = NULL;

	mt_array_each (path, &search->paths)
		if (strcmp(*path, mapping->mmap.path) == 0)
			return NULL;
	if (mt_array_push(&search->paths, mapping->mmap.path))
		return mt_error_no_memory();
	memcpy(id.bytes, mapping->mmap.build_id, sizeof(id.bytes));
	struct mt_error *error = mt_objfile_open(mapping->mmap.path, &id, NULL, &objfile);

	if (!error)
		error = look_in(search, objfile);
	mt_objfile_unref(objfile);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *find_out(struct search *search, const struct mt_recording *recording)
{
	const struct mt_sideband *sideband = mt_recording_sideband(recording);
	size_t count = mt_recording_sideband_count(recording);

	for (size_t i = 0; i < count && !search->can_record; i++) {
		const struct mt_sideband *one = &sideband[i];

		if (one->kind == MT_SIDEBAND_MMAP && one->mmap.executable && !one->mmap.kernel &&
		    one->mmap.path[0] == '/')
			mt_try(look_through(search, one));
	}
	return search->why.failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_decode_no_call(struct mt_recording *recording, const char *function)
{
	struct search search = {.function = function};
	struct mt_error *error = NULL;

	if (mt_recording_is_of_calls(recording))
		error = find_out(&search, recording);
	if (!error && search.why.length && !search.can_record)
		error = mt_error_new(MT_ERROR_NOT_FOUND,
				     "the recording contains no call of \"%s\": the engine calls "
				     "cannot record %s",
				     function, search.why.text);
	else if (!error)
		error = mt_error_new(MT_ERROR_NOT_FOUND, "the recording contains no call of \"%s\"",
				     function);
	mt_array_deinit(&search.paths);
	mt_str_deinit(&search.why);
	return error;
}
