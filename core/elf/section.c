/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/section.h"

#include <string.h>

bool mt_section_next(Elf *elf, struct mt_section *out)
{
	size_t names;

	out->data = NULL;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((out->scn = elf_nextscn(elf, out->scn))) {
		if (!gelf_getshdr(out->scn, &out->header))
			continue;
		out->name = elf_strptr(elf, names, out->header.sh_name);
		if (!out->name)
			out->name = "";
		return true;
	}
	return false;
}

static bool load(struct mt_section *section)
{
	section->data = elf_getdata(section->scn, NULL);
	return section->data != NULL;
}

bool mt_section_find(Elf *elf, const char *name, struct mt_section *out)
{
	out->scn = NULL;
	while (mt_section_next(elf, out))
		if (strcmp(out->name, name) == 0)
			return load(out);
	return false;
}

bool mt_section_exists(Elf *elf, const char *name)
{
	struct mt_section section = {0};

	while (mt_section_next(elf, &section))
		if (strcmp(section.name, name) == 0)
			return true;
	return false;
}

bool mt_section_find_type(Elf *elf, unsigned type, struct mt_section *out)
{
	out->scn = NULL;
	while (mt_section_next(elf, out))
		if (out->header.sh_type == type)
			return load(out);
	return false;
}
