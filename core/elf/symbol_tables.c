/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/symbols.h"

#include "elf/go_table.h"
#include "elf/section.h"

#include <lzma.h>
#include <string.h>

/* Symbols of older binutils carry a version: "memcpy@@GLIBC_2.14". */
static const char *without_version(struct mt_objfile *objfile, const char *name)
{
	const char *at = strchr(name, '@');

	if (!at || at == name)
		return name;
	return mt_arena_text(&objfile->arena, name, (size_t)(at - name));
}

static bool is_function(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static int add_symbol(struct mt_objfile *objfile, const GElf_Sym *symbol, const char *name,
		      const struct mt_code *code, struct mt_candidates *out)
{
	if (!name || !*name || !is_function(symbol) || !mt_code_at(code, symbol->st_value))
		return 0;
	struct mt_candidate candidate = {
	    .start = symbol->st_value,
	    .size = symbol->st_size,
	    .name = without_version(objfile, name),
	    .kind = MT_FUNCTION_SYMBOL,
	    .label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE,
	    .is_ifunc = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
	    .binding = GELF_ST_BIND(symbol->st_info),
	};
	return candidate.name ? mt_array_push(out, candidate) : -1;
}

static int add_table(struct mt_objfile *objfile, Elf *elf, unsigned type,
		     const struct mt_code *code, struct mt_candidates *out)
{
	struct mt_section table;

	if (!elf || !mt_section_find_type(elf, type, &table) || !table.data->d_buf)
		return 0;
	size_t count = table.data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; i < count; i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(table.data, (int)i, &symbol))
			break;
		const char *name = elf_strptr(elf, table.header.sh_link, symbol.st_name);
		if (add_symbol(objfile, &symbol, name, code, out))
			return -1;
	}
	return 0;
}

/* .gnu_debugdata holds an xz-compressed ELF file with the symbols that .dynsym lacks (GDB's manual,
 * "Debugging Information in a Special Section").  What cannot be unpacked is passed by. */
static void open_mini(struct mt_objfile *objfile)
{
	enum { LARGEST = 256 << 20 };
	struct mt_section section;

	if (!mt_section_find(objfile->main.elf, ".gnu_debugdata", &section) || !section.data->d_buf)
		return;
	size_t room = section.data->d_size < LARGEST / 32 ? section.data->d_size * 32 : LARGEST;
	uint8_t *unpacked = malloc(room);
	uint64_t memory_limit = LARGEST;
	size_t in = 0, size = 0;
	if (unpacked &&
	    lzma_stream_buffer_decode(&memory_limit, 0, NULL, section.data->d_buf, &in,
				      section.data->d_size, unpacked, &size, room) == LZMA_OK) {
		mt_error_destroy(
		    mt_elf_file_open_memory(objfile->path, unpacked, size, &objfile->mini));
	}
	free(unpacked);
}

/* Those that a stripped program's own runtime needs. */
static int add_go_functions(struct mt_objfile *objfile, struct mt_candidates *out)
{
	const struct mt_go_table *table = mt_go_table(objfile);
	struct mt_go_function function;

	for (size_t i = 0; table && i < mt_go_function_count(table); i++) {
		if (!mt_go_function_at(table, i, &function))
			continue;
		struct mt_candidate candidate = {
		    .start = function.start,
		    .size = function.end - function.start,
		    .name = function.name,
		    .kind = MT_FUNCTION_SYMBOL,
		    .binding = STB_LOCAL,
		};
		if (mt_array_push(out, candidate))
			return -1;
	}
	return 0;
}

int mt_collect_symbols(struct mt_objfile *objfile, const struct mt_code *code,
		       struct mt_candidates *out)
{
	const size_t before = out->count;

	mt_objfile_seek_debug(objfile);
	open_mini(objfile);
	if (add_table(objfile, objfile->main.elf, SHT_SYMTAB, code, out) ||
	    add_table(objfile, objfile->debug.elf, SHT_SYMTAB, code, out) ||
	    add_table(objfile, objfile->mini.elf, SHT_SYMTAB, code, out))
		return -1;
	if (out->count == before && add_go_functions(objfile, out))
		return -1;
	return add_table(objfile, objfile->main.elf, SHT_DYNSYM, code, out);
}
