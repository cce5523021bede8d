/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/header_note.h"

#include "elf/objfile_private.h"
#include "elf/section.h"

bool mt_objfile_has_header_note(const struct mt_objfile *objfile)
{
	struct mt_section note;

	return objfile->main.elf && mt_section_find(objfile->main.elf, ".note.mtrace", &note);
}
