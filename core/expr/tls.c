/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread-local storage: that of the program itself lies right below the thread's pointer ("ELF
 * Handling For Thread-Local Storage", variant II); where a library's lies, ops may know. */
#include "elf/section.h"
#include "expr/scope.h"

#include <gelf.h>

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

struct mt_error *mt_tls_address(struct mt_eval *eval, struct mt_module *module, uint64_t offset,
				uint64_t *address)
{
	const struct mt_expr_frame *frame = eval->frame;
	GElf_Phdr segment;
	uint64_t base = 0, align;

	if (!frame->ops)
		return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
				    (unsigned long long)offset);
	if (frame->ops->get_tls &&
	    frame->ops->get_tls(frame->context, module->objfile, module->bias, &base)) {
		*address = base + offset;
		return NULL;
	}
	if (!find_segment(module, PT_TLS, &segment) || !mt_module_is_program(module) ||
	    !frame->ops->get_register ||
	    !frame->ops->get_register(frame->context, MT_EXPR_FS_BASE, &base, sizeof(base)))
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "Cannot find thread-local storage of %s: it is not known where "
				    "this thread has it",
				    mt_objfile_path(module->objfile));
	align = segment.p_align ? segment.p_align : 1;
	*address = base - (segment.p_memsz + align - 1) / align * align + offset;
	return NULL;
}
