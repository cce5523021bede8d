/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/dynamic_symbol.h"

#include "elf/file.h"
#include "elf/section.h"

#include <string.h>

static uint64_t look_up(Elf *elf, const char *name)
{
	struct mt_section symbols;
	GElf_Sym symbol;

	if (!mt_section_find_type(elf, SHT_DYNSYM, &symbols))
		return 0;
	for (int i = 0; gelf_getsym(symbols.data, i, &symbol); i++) {
		const char *its = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);

		if (its && symbol.st_shndx != SHN_UNDEF && strcmp(its, name) == 0)
			return symbol.st_value;
	}
	return 0;
}

uint64_t mt_elf_dynamic_symbol(const char *path, const char *name)
{
	struct mt_elf_file file = {0};
	uint64_t value = 0;
	struct mt_error *error = mt_elf_file_open(path, &file);

	if (!error)
		value = look_up(file.elf, name);
	mt_error_destroy(error);
	mt_elf_file_close(&file);
	return value;
}
