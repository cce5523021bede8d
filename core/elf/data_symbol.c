/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/data_symbol.h"

#include "elf/demangle.h"
#include "elf/objfile_private.h"
#include "elf/section.h"

#include <stdlib.h>
#include <string.h>

/* Of a table of names, read at once. */
#define PIECE_BYTES 65536u

static bool is_named(const char *raw, const char *name)
{
	mt_auto(mt_str) struct mt_str clear = {0};

	if (!*raw)
		return false;
	if (strcmp(raw, name) == 0)
		return true;
	/* Demangling each symbol of a large program would take seconds. */
	if (raw[0] != '_' || !strstr(name, "::"))
		return false;
	return mt_demangle(raw, MT_DEMANGLE_FULL, &clear) && !clear.failed &&
	       strcmp(clear.text, name) == 0;
}

static bool is_variable_type(unsigned type)
{
	return type == STT_OBJECT || type == STT_TLS || type == STT_COMMON;
}

static bool is_function_type(unsigned type)
{
	return type == STT_FUNC;
}

/* NUL-terminated, whatever is in it. */
static const Elf_Data *names_of(Elf *elf, const struct mt_section *table)
{
	const Elf_Data *names = elf_getdata(elf_getscn(elf, table->header.sh_link), NULL);

	return names && names->d_buf && names->d_size &&
		       !((const char *)names->d_buf)[names->d_size - 1]
		   ? names
		   : NULL;
}

/* The header of the names of FILE's symbol table.  False: there is none. */
static bool find_names(const struct mt_elf_file *file, unsigned kind, GElf_Shdr *names)
{
	struct mt_section table = {0};

	while (mt_section_next(file->elf, &table))
		if (table.header.sh_type == kind)
			return gelf_getshdr(elf_getscn(file->elf, table.header.sh_link), names);
	return false;
}

/* Whether NAME is among the names of FILE's symbol table, or ends one of them.  Nearly no file that
 * a program maps has what is looked for in all of them, and to read through the names takes a tenth
 * of the time that it takes to have them, and the symbols, in memory. */
static bool may_have(const struct mt_elf_file *file, unsigned kind, const char *name)
{
	const size_t length = strlen(name); /* so much of a piece may belong to the next one's */
	char piece[PIECE_BYTES]; /* no heap, which would grow and shrink with each file */
	GElf_Shdr names;

	if (!file->elf || !find_names(file, kind, &names))
		return false;
	bool found = length >= PIECE_BYTES / 2 || strstr(name, "::");
	size_t have = 0;
	for (uint64_t done = 0; !found && done < names.sh_size;) {
		const uint64_t left = names.sh_size - done;
		const size_t room = PIECE_BYTES - have, size = left < room ? (size_t)left : room;

		if (mt_elf_file_read(file, names.sh_offset + done, piece + have, size) != size)
			break;
		done += size;
		have += size;
		found = memmem(piece, have, name, length + 1);
		const size_t kept = have < length ? have : length;
		memmove(piece, piece + have - kept, kept);
		have = kept;
	}
	return found;
}

/* All are looked at for each file that a program maps: by libelf's calls for one it takes five
 * times as long. */
static bool find_in(const struct mt_elf_file *file, unsigned kind, bool (*is_wanted)(unsigned type),
		    const char *name, struct mt_data_symbol *out)
{
	Elf *elf = file->elf;
	struct mt_section table;

	if (!may_have(file, kind, name) || gelf_getclass(elf) != ELFCLASS64 ||
	    !mt_section_find_type(elf, kind, &table) || !table.data->d_buf)
		return false;
	const Elf_Data *names = names_of(elf, &table);
	const uint8_t *at = table.data->d_buf;
	for (size_t left = table.data->d_size; names && left >= sizeof(Elf64_Sym);
	     at += sizeof(Elf64_Sym), left -= sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, at, sizeof(symbol));
		const unsigned type = ELF64_ST_TYPE(symbol.st_info);
		if (!is_wanted(type) || symbol.st_shndx == SHN_UNDEF ||
		    symbol.st_name >= names->d_size ||
		    !is_named((const char *)names->d_buf + symbol.st_name, name))
			continue;
		*out = (struct mt_data_symbol){
		    .address = symbol.st_value,
		    .size = symbol.st_size,
		    .thread_local = type == STT_TLS,
		};
		return true;
	}
	return false;
}

static struct mt_sought_symbol seek(struct mt_objfile *objfile, const char *name, bool is_function)
{
	bool (*const is_wanted)(unsigned type) = is_function ? is_function_type : is_variable_type;
	struct mt_sought_symbol sought = {.is_function = is_function};

	mt_objfile_seek_debug(objfile);
	sought.is_found = find_in(&objfile->main, SHT_SYMTAB, is_wanted, name, &sought.symbol) ||
			  find_in(&objfile->debug, SHT_SYMTAB, is_wanted, name, &sought.symbol) ||
			  find_in(&objfile->main, SHT_DYNSYM, is_wanted, name, &sought.symbol);
	return sought;
}

static bool find(struct mt_objfile *objfile, const char *name, bool is_function,
		 struct mt_data_symbol *out)
{
	struct mt_sought_symbol sought;

	mt_array_each (known, &objfile->sought) {
		if (known->is_function != is_function || strcmp(known->name, name) != 0)
			continue;
		if (known->is_found)
			*out = known->symbol;
		return known->is_found;
	}
	sought = seek(objfile, name, is_function);
	sought.name = mt_arena_text(&objfile->arena, name, strlen(name));
	if (sought.name)
		(void)mt_array_push(&objfile->sought, sought); /* else it is sought again */
	if (sought.is_found)
		*out = sought.symbol;
	return sought.is_found;
}

bool mt_objfile_find_data_symbol(struct mt_objfile *objfile, const char *name,
				 struct mt_data_symbol *out)
{
	return find(objfile, name, false, out);
}

uint64_t mt_objfile_find_function_symbol(struct mt_objfile *objfile, const char *name)
{
	struct mt_data_symbol symbol;

	return find(objfile, name, true, &symbol) ? symbol.address : 0;
}
