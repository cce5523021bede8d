/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread-local storage ("ELF Handling For Thread-Local Storage", variant II): the program's own
 * lies right below the thread's pointer, a library's is found through the thread's vector, as far
 * as libc's symbols say where it keeps the library's number. */
#include "elf/section.h"
#include "values/libraries.h"

#include <gelf.h>
#include <link.h>
#include <stddef.h>

static bool find_segment(struct mt_module *module, unsigned type, GElf_Phdr *out)
{
	Elf *elf = module->objfile->main.elf;
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, out) && out->p_type == type)
			return true;
	return false;
}

/* libc has an interpreter too; that a program is one stands among the dynamic section's flags. */
bool mt_module_is_program(struct mt_module *module)
{
	struct mt_section section;

	if (!mt_objfile_is_pie(module->objfile))
		return true;
	if (!mt_section_find_type(module->objfile->main.elf, SHT_DYNAMIC, &section) ||
	    !section.data->d_buf)
		return false;
	for (size_t i = 0; i < section.data->d_size / sizeof(Elf64_Dyn); i++) {
		GElf_Dyn entry;

		if (gelf_getdyn(section.data, (int)i, &entry) && entry.d_tag == DT_FLAGS_1)
			return entry.d_un.d_val & DF_1_PIE;
	}
	return false;
}

static bool read_word(struct mt_eval *eval, uint64_t address, uint64_t *word)
{
	const struct mt_expr_frame *frame = eval->frame;

	return frame->ops->read(frame->context, address, word, sizeof(*word)) == sizeof(*word);
}

/* Of its struct r_debug, to which the program's DT_DEBUG leads (link.h); 0: there is none yet. */
static bool find_debug(struct mt_eval *eval, uint64_t *debug)
{
	struct mt_module *program = NULL;
	struct mt_section section;
	uint64_t tag = 0;

	mt_array_each (module, &eval->program->modules)
		if ((*module)->is_mapped && mt_module_is_program(*module))
			program = *module;
	if (!program || !mt_section_find_type(program->objfile->main.elf, SHT_DYNAMIC, &section))
		return false;
	for (uint64_t i = 0; i < section.header.sh_size / 16; i++) {
		uint64_t entry = section.header.sh_addr + program->bias + i * 16;

		if (!read_word(eval, entry, &tag) || !read_word(eval, entry + 8, debug))
			return false;
		if (tag == DT_DEBUG)
			return true;
	}
	return false;
}

bool mt_loader_list(struct mt_eval *eval, uint64_t *list)
{
	uint64_t debug = 0;

	return find_debug(eval, &debug) &&
	       read_word(eval, debug + offsetof(struct r_debug, r_map), list);
}

enum mt_loader_state mt_loader_state(struct mt_eval *eval)
{
	uint64_t debug = 0, list = 0, state = 0;

	if (!find_debug(eval, &debug))
		return MT_LOADER_UNKNOWN;
	return debug && read_word(eval, debug + offsetof(struct r_debug, r_map), &list) && list &&
		       read_word(eval, debug + offsetof(struct r_debug, r_state), &state) &&
		       (uint32_t)state == RT_CONSISTENT
		   ? MT_LOADER_DONE
		   : MT_LOADER_AT_WORK;
}

/* Where struct link_map has the module's number, by a descriptor that libc has for debuggers: bits,
 * count, offset. */
static bool find_number_offset(struct mt_eval *eval, uint64_t *offset)
{
	static const char name[] = "_thread_db_link_map_l_tls_modid";
	const struct mt_expr_frame *frame = eval->frame;
	uint32_t descriptor[3];

	mt_array_each (module, &eval->program->modules) {
		const struct mt_msymbol *symbol =
		    (*module)->is_mapped ? mt_msymbol_named(*module, name, sizeof(name) - 1) : NULL;

		if (!symbol ||
		    frame->ops->read(frame->context, symbol->address + (*module)->bias, descriptor,
				     sizeof(descriptor)) != sizeof(descriptor))
			continue;
		*offset = descriptor[2];
		return descriptor[0] == 64;
	}
	return false;
}

/* By the thread's vector, whose entries are 16 bytes, by the module's number. */
static bool library_base(struct mt_eval *eval, struct mt_module *module, uint64_t thread,
			 uint64_t *base)
{
	uint64_t map = 0, offset = 0, address = 0, number = 0, vector = 0;

	if (!find_number_offset(eval, &offset) || !mt_loader_list(eval, &map))
		return false;
	for (unsigned i = 0; map && i < MT_MOST_LIBRARIES; i++) {
		if (!read_word(eval, map + offsetof(struct link_map, l_addr), &address))
			return false;
		if (address == module->bias)
			break;
		if (!read_word(eval, map + offsetof(struct link_map, l_next), &map))
			return false;
	}
	return map && address == module->bias && read_word(eval, map + offset, &number) && number &&
	       number < MT_MOST_LIBRARIES && read_word(eval, thread + 8, &vector) &&
	       read_word(eval, vector + number * 16, base) && *base && *base != UINT64_MAX;
}

bool mt_tls_of_program(struct mt_module *module, uint64_t *below)
{
	GElf_Phdr segment;
	uint64_t align;

	if (!mt_module_is_program(module) || !find_segment(module, PT_TLS, &segment))
		return false;
	align = segment.p_align ? segment.p_align : 1;
	*below = (segment.p_memsz + align - 1) / align * align;
	return true;
}

static bool program_base(struct mt_module *module, uint64_t thread, uint64_t *base)
{
	uint64_t below;

	if (!mt_tls_of_program(module, &below))
		return false;
	*base = thread - below;
	return true;
}

struct mt_error *mt_tls_address(struct mt_eval *eval, struct mt_module *module, uint64_t offset,
				uint64_t *address)
{
	const struct mt_expr_frame *frame = eval->frame;
	uint64_t base = 0, thread = 0;

	if (!frame->ops || !frame->ops->get_register)
		return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
				    (unsigned long long)offset);
	if ((frame->ops->get_tls &&
	     frame->ops->get_tls(frame->context, module->objfile, module->bias, &base)) ||
	    (frame->ops->get_register(frame->context, MT_REGISTER_FS_BASE, &thread,
				      sizeof(thread)) &&
	     (program_base(module, thread, &base) || library_base(eval, module, thread, &base)))) {
		*address = base + offset;
		return NULL;
	}
	return mt_error_new(
	    MT_ERROR_NOT_FOUND,
	    "Cannot find thread-local storage of %s: this needs libc's debug symbols (package "
	    "libc6-dbg)",
	    mt_objfile_path(module->objfile));
}
