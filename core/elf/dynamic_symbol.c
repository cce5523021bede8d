/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/dynamic_symbol.h"

#include "elf/file.h"
#include "elf/section.h"

#include <string.h>

static void look_up(Elf *elf, const char *const *names, size_t count, uint64_t *addresses)
{
	struct mt_section symbols;
	GElf_Sym symbol;

	if (!mt_section_find_type(elf, SHT_DYNSYM, &symbols))
		return;
	for (int i = 0; gelf_getsym(symbols.data, i, &symbol); i++) {
		const char *its = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);

		for (size_t j = 0; its && symbol.st_shndx != SHN_UNDEF && j < count; j++)
			if (!addresses[j] && strcmp(its, names[j]) == 0)
				addresses[j] = symbol.st_value;
	}
}

void mt_elf_dynamic_symbols(const char *path, const char *const *names, size_t count,
			    uint64_t *addresses)
{
	struct mt_elf_file file = {0};
	struct mt_error *error = mt_elf_file_open(path, &file);

	memset(addresses, 0, count * sizeof(*addresses));
	if (!error)
		look_up(file.elf, names, count, addresses);
	mt_error_destroy(error);
	mt_elf_file_close(&file);
}

uint64_t mt_elf_dynamic_symbol(const char *path, const char *name)
{
	uint64_t address;

	mt_elf_dynamic_symbols(path, &name, 1, &address);
	return address;
}
