/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dynamic loader's list of what is loaded (link.h): its names are those that people know; the
 * kernel has the files that they led to. */
#include "values/libraries.h"
#include "elf/section.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#define LONGEST_NAME 4096

static bool read_text(const struct mt_expr_frame *frame, uint64_t address, struct mt_str *out)
{
	char text[LONGEST_NAME];
	size_t size = frame->ops->read(frame->context, address, text, sizeof(text));

	mt_str_append_bytes(out, text, strnlen(text, size));
	return !out->failed && out->length && out->length < sizeof(text);
}

static struct mt_module *module_of(struct mt_expr_program *program, uint64_t address)
{
	struct mt_module *module = mt_program_module_at(program, address);

	return module && !mt_module_is_program(module) && mt_objfile_path(module->objfile)[0] == '/'
		   ? module
		   : NULL;
}

bool mt_expr_each_library(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			  bool (*found)(void *context, const struct mt_expr_library *library),
			  void *context)
{
	struct mt_eval eval = {.program = program, .frame = frame};
	uint64_t map = 0, words[4];

	if (!frame->ops || !frame->ops->read)
		return false;
	mt_error_destroy(mt_program_update(program));
	if (!mt_loader_list(&eval, &map))
		return false;
	/* l_addr, l_name, l_ld, l_next: the part of struct link_map that is the same everywhere. */
	for (unsigned i = 0; map && i < MT_MOST_LIBRARIES; i++, map = words[3]) {
		mt_auto(mt_str) struct mt_str name = {0};
		struct mt_expr_library library = {0};
		struct mt_section text;
		struct mt_module *module;

		if (frame->ops->read(frame->context, map, words, sizeof(words)) != sizeof(words))
			return false;
		module = module_of(program, words[2]);
		if (!module || !read_text(frame, words[1], &name))
			continue;
		library.name = name.text;
		library.objfile = module->objfile;
		if (mt_section_find(module->objfile->main.elf, ".text", &text)) {
			library.start = text.header.sh_addr + module->bias;
			library.end = library.start + text.header.sh_size;
		}
		if (!found(context, &library))
			return true;
	}
	return true;
}

struct wanted {
	const struct mt_objfile *objfile;
	struct mt_str *out;
};

static bool keep_name(void *context, const struct mt_expr_library *library)
{
	struct wanted *wanted = context;

	if (library->objfile != wanted->objfile)
		return true;
	mt_str_append(wanted->out, library->name);
	return false;
}

void mt_expr_file_at(struct mt_expr_program *program, const struct mt_expr_frame *frame,
		     uint64_t address, struct mt_str *out)
{
	struct mt_module *module = mt_program_module_at(program, address);
	struct wanted wanted = {module ? module->objfile : NULL, out};
	size_t before = out->length;

	if (!module)
		return;
	if (frame && frame->ops)
		mt_expr_each_library(program, frame, keep_name, &wanted);
	if (out->length == before)
		mt_str_append(out, mt_objfile_path(module->objfile));
}
