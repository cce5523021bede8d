/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/header_note.h"

#include "elf/objfile_private.h"
#include "elf/section.h"

#include <string.h>

/* One of the functions that include/go has. */
#define GO_FUNCTION "mtrace_mark_string"

/* Go's assembler makes no notes, but its table of functions has their names, one behind the other.
 */
static bool is_in_go_table(const struct mt_objfile *objfile)
{
	struct mt_section table;
	size_t size = 0;

	if (!mt_section_find(objfile->main.elf, ".gopclntab", &table) &&
	    !mt_section_find(objfile->main.elf, ".data.rel.ro.gopclntab", &table))
		return false;
	const uint8_t *bytes = mt_objfile_bytes(objfile, table.header.sh_addr, &size);
	if (size > table.header.sh_size)
		size = table.header.sh_size;
	return bytes && memmem(bytes, size, GO_FUNCTION, sizeof(GO_FUNCTION));
}

bool mt_objfile_has_header_note(const struct mt_objfile *objfile)
{
	struct mt_section note;

	return objfile->main.elf && (mt_section_find(objfile->main.elf, ".note.mtrace", &note) ||
				     is_in_go_table(objfile));
}
