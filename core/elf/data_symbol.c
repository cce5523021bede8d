/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/data_symbol.h"

#include "elf/demangle.h"
#include "elf/objfile_private.h"
#include "elf/section.h"

#include <string.h>

static bool is_named(const char *raw, const char *name)
{
	mt_auto(mt_str) struct mt_str clear = {0};

	if (!raw || !*raw)
		return false;
	if (strcmp(raw, name) == 0)
		return true;
	/* Demangling each symbol of a large program would take seconds. */
	if (raw[0] != '_' || !strstr(name, "::"))
		return false;
	return mt_demangle(raw, MT_DEMANGLE_FULL, &clear) && !clear.failed &&
	       strcmp(clear.text, name) == 0;
}

static bool is_variable(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_OBJECT || type == STT_TLS || type == STT_COMMON);
}

static bool find_in(Elf *elf, unsigned type, const char *name, struct mt_data_symbol *out)
{
	struct mt_section table;

	if (!elf || !mt_section_find_type(elf, type, &table) || !table.data->d_buf)
		return false;
	size_t count = table.data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; i < count; i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(table.data, (int)i, &symbol))
			break;
		if (!is_variable(&symbol) ||
		    !is_named(elf_strptr(elf, table.header.sh_link, symbol.st_name), name))
			continue;
		*out = (struct mt_data_symbol){
		    .address = symbol.st_value,
		    .size = symbol.st_size,
		    .thread_local = GELF_ST_TYPE(symbol.st_info) == STT_TLS,
		};
		return true;
	}
	return false;
}

bool mt_objfile_find_data_symbol(struct mt_objfile *objfile, const char *name,
				 struct mt_data_symbol *out)
{
	mt_objfile_seek_debug(objfile);
	return find_in(objfile->main.elf, SHT_SYMTAB, name, out) ||
	       find_in(objfile->debug.elf, SHT_SYMTAB, name, out) ||
	       find_in(objfile->main.elf, SHT_DYNSYM, name, out);
}
