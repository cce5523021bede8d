/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread-local storage ("ELF Handling For Thread-Local Storage", variant II): the program's own
 * lies right below the thread's pointer, and a library's too if it asks for that; else it is found
 * through the thread's vector, by the library's number.  The loader has told the library both
 * where its code reads them (R_X86_64_TPOFF64, R_X86_64_DTPMOD64). */
#include "elf/section.h"
#include "values/libraries.h"

#include <gelf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

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

	mt_array_each (module, &eval->program->modules)
		if ((*module)->is_mapped && mt_module_is_program(*module))
			program = *module;
	if (!program || !mt_section_find_type(program->objfile->main.elf, SHT_DYNAMIC, &section) ||
	    !section.data->d_buf)
		return false;
	/* The tags are the file's; the value is the loader's. */
	for (size_t i = 0; i < section.data->d_size / sizeof(Elf64_Dyn); i++) {
		GElf_Dyn entry;

		if (gelf_getdyn(section.data, (int)i, &entry) && entry.d_tag == DT_DEBUG)
			return read_word(eval,
					 section.header.sh_addr + program->bias +
					     i * sizeof(Elf64_Dyn) + offsetof(Elf64_Dyn, d_un),
					 debug);
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

/* By the loader's list. */
static bool find_listed_number(struct mt_eval *eval, const struct mt_module *module,
			       uint64_t *number)
{
	uint64_t map = 0, offset = 0, address = 0;

	if (!find_number_offset(eval, &offset) || !mt_loader_list(eval, &map))
		return false;
	for (unsigned i = 0; map && i < MT_MOST_LIBRARIES; i++) {
		if (!read_word(eval, map + offsetof(struct link_map, l_addr), &address))
			return false;
		if (address == module->bias)
			return read_word(eval, map + offset, number);
		if (!read_word(eval, map + offsetof(struct link_map, l_next), &map))
			return false;
	}
	return false;
}

/* A symbol that is the library's own, whatever others define: its value. */
static bool is_own_symbol(Elf *elf, const struct mt_section *relocations, size_t index,
			  uint64_t *value)
{
	Elf_Scn *scn = elf_getscn(elf, relocations->header.sh_link);
	Elf_Data *symbols = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Sym symbol;

	*value = 0;
	if (!index)
		return true;
	if (!symbols || !gelf_getsym(symbols, (int)index, &symbol) || symbol.st_shndx == SHN_UNDEF)
		return false;
	*value = symbol.st_value;
	return GELF_ST_BIND(symbol.st_info) == STB_LOCAL ||
	       GELF_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT;
}

/* What the loader has written at the library's relocations. */
static void read_relocations(struct mt_eval *eval, const struct mt_module *module,
			     const struct mt_section *section, struct mt_tls_library *out)
{
	Elf *elf = module->objfile->main.elf;
	GElf_Rela relocation;
	uint64_t word, value;

	for (int i = 0; gelf_getrela(section->data, i, &relocation); i++) {
		const unsigned type = (unsigned)GELF_R_TYPE(relocation.r_info);

		if (type != R_X86_64_TPOFF64 && type != R_X86_64_DTPMOD64)
			continue;
		if (!is_own_symbol(elf, section, GELF_R_SYM(relocation.r_info), &value) ||
		    !read_word(eval, relocation.r_offset + module->bias, &word) || !word)
			continue;
		out->is_static |= type == R_X86_64_TPOFF64;
		if (type == R_X86_64_TPOFF64)
			out->below = value + (uint64_t)relocation.r_addend - word;
		else
			out->number = word;
	}
}

/* Whose vectors they are; false: of no C library that is known. */
static bool find_layout(const struct mt_eval *eval, struct mt_tls_library *out)
{
	static const char glibcs[] = "gnu_get_libc_version";

	mt_array_each (module, &eval->program->modules) {
		const char *path = mt_objfile_path((*module)->objfile);

		if (!(*module)->is_mapped)
			continue;
		if (mt_msymbol_named(*module, glibcs, sizeof(glibcs) - 1)) {
			out->entry_bytes = 16;
			out->count_before = 16;
			return true;
		}
		if (path && strstr(path, "musl")) {
			out->entry_bytes = 8;
			out->count_before = 0;
			return true;
		}
	}
	return false;
}

bool mt_tls_of_library(struct mt_eval *eval, struct mt_module *module, struct mt_tls_library *out)
{
	Elf *elf = module->objfile->main.elf;
	struct mt_section section = {0};
	GElf_Phdr segment;

	*out = (struct mt_tls_library){0};
	if (mt_module_is_program(module) || !find_segment(module, PT_TLS, &segment))
		return false;
	while (mt_section_next(elf, &section)) {
		if (section.header.sh_type != SHT_RELA || !(section.header.sh_flags & SHF_ALLOC))
			continue;
		section.data = elf_getdata(section.scn, NULL);
		if (section.data)
			read_relocations(eval, module, &section, out);
	}
	if (out->is_static)
		return true;
	if (!out->number && !find_listed_number(eval, module, &out->number))
		return false;
	return out->number && out->number < MT_MOST_LIBRARIES && find_layout(eval, out);
}

static bool library_base(struct mt_eval *eval, struct mt_module *module, uint64_t thread,
			 uint64_t *base)
{
	struct mt_tls_library library;
	uint64_t vector = 0, count = 0;

	if (!mt_tls_of_library(eval, module, &library))
		return false;
	*base = thread - library.below;
	return library.is_static ||
	       (read_word(eval, thread + 8, &vector) &&
		read_word(eval, vector - library.count_before, &count) && library.number <= count &&
		read_word(eval, vector + library.number * library.entry_bytes, base) && *base &&
		*base != UINT64_MAX);
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
