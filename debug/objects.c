/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files that the program has registered in memory, for code that is in no file: looked for
 * once a stop, when an address is in no file's code, so that who steps elsewhere does not wait. */
#include "private.h"

#include "elf/jit_object.h"

#include <string.h>

struct seeing {
	struct mt_debugger *debugger;
	bool came, went;
};

static struct mt_error *came(void *context, uint32_t number, const uint8_t *bytes, size_t size)
{
	struct seeing *seeing = context;

	(void)number;
	seeing->came = true;
	return mt_space_add_object(seeing->debugger->code, bytes, size);
}

static struct mt_error *went(void *context, uint32_t number)
{
	struct seeing *seeing = context;

	(void)number;
	seeing->went = true;
	return NULL;
}

static struct mt_error *begin(struct mt_debugger *debugger)
{
	struct mt_error *error = mt_jit_list_create(&debugger->objects);

	for (size_t i = 0; !error && i < mt_space_mapping_count(debugger->code); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(debugger->code, i);

		if (mapping->objfile)
			error = mt_jit_list_add_file(debugger->objects, mapping->objfile,
						     mapping->bias);
	}
	return error;
}

static struct mt_error *look(struct mt_debugger *debugger, struct seeing *seeing)
{
	const struct mt_jit_changes changes = {.came = came, .went = went, .context = seeing};

	if (!debugger->objects)
		mt_try(begin(debugger));
	return mt_jit_list_look(debugger->objects, debugger->target, debugger->pid, &changes);
}

/* Of those that went nothing may be left: begin anew. */
static struct mt_error *look_again(struct mt_debugger *debugger, struct seeing *seeing)
{
	mt_space_drop_objects(debugger->code);
	mt_debug_forget_objects(debugger);
	return look(debugger, seeing);
}

bool mt_debug_see_objects(struct mt_debugger *debugger, uint64_t address)
{
	const struct mt_mapping *mapping = mt_space_find(debugger->code, address);
	struct seeing seeing = {.debugger = debugger};

	if (debugger->objects_seen || !debugger->pid ||
	    (mapping && mapping->objfile && strcmp(mapping->path, MT_JIT_OBJECT_PATH) != 0))
		return false;
	struct mt_error *error = look(debugger, &seeing);
	if (!error && seeing.went)
		error = look_again(debugger, &seeing);
	mt_error_destroy(error);
	debugger->objects_seen = true;
	if (!seeing.came && !seeing.went)
		return false;
	mt_debugger_forget_frames(debugger);
	return true;
}

void mt_debug_forget_objects(struct mt_debugger *debugger)
{
	mt_jit_list_destroy(debugger->objects);
	debugger->objects = NULL;
	debugger->objects_seen = false;
}
