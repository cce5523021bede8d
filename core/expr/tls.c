/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thread-local storage: that of the program itself lies right below the thread's pointer ("ELF
 * Handling For Thread-Local Storage", variant II); where a library's lies, ops may know. */
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

bool mt_module_is_program(struct mt_module *module)
{
	GElf_Phdr segment;

	return find_segment(module, PT_INTERP, &segment) || !mt_objfile_is_pie(module->objfile);
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
