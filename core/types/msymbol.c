/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols of data and code as the linker has them: for what has no DWARF, and for the <name+4>
 * behind pointers. */
#include "base/search.h"
#include "elf/demangle.h"
#include "elf/section.h"
#include "types/scope.h"

#include <string.h>

#define STB_PREFERENCE(binding) ((binding) == STB_GLOBAL ? 0 : (binding) == STB_WEAK ? 1 : 2)

static bool is_wanted(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_OBJECT || type == STT_FUNC || type == STT_NOTYPE ||
		type == STT_GNU_IFUNC || type == STT_TLS || type == STT_COMMON);
}

static bool section_of(Elf *elf, size_t index, GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(elf, index);

	return section && gelf_getshdr(section, header);
}

static void add_symbol(struct mt_module *module, Elf *elf, const GElf_Sym *symbol, const char *name)
{
	struct mt_msymbols *symbols = &module->symbols;
	GElf_Shdr header = {0};
	struct mt_msymbol found = {.address = symbol->st_value,
				   .size = symbol->st_size,
				   .name = name,
				   .type = GELF_ST_TYPE(symbol->st_info),
				   .binding = GELF_ST_BIND(symbol->st_info),
				   .order = (uint32_t)symbols->count};

	if (!name || !*name || !is_wanted(symbol))
		return;
	if (symbol->st_shndx < SHN_LORESERVE) {
		if (!section_of(elf, symbol->st_shndx, &header) || !(header.sh_flags & SHF_ALLOC))
			return;
		found.is_code = header.sh_flags & SHF_EXECINSTR;
	} else if (symbol->st_shndx == SHN_ABS) {
		return;
	}
	(void)mt_array_push(symbols, found);
}

static void read_table(struct mt_module *module, Elf *elf, unsigned type)
{
	struct mt_section table;

	if (!elf || !mt_section_find_type(elf, type, &table) || !table.data->d_buf)
		return;
	for (size_t i = 1; i < table.data->d_size / sizeof(Elf64_Sym); i++) {
		GElf_Sym symbol;

		if (!gelf_getsym(table.data, (int)i, &symbol))
			break;
		add_symbol(module, elf, &symbol,
			   elf_strptr(elf, table.header.sh_link, symbol.st_name));
	}
}

static int compare(const void *left, const void *right)
{
	const struct mt_msymbol *a = left, *b = right;
	int x = STB_PREFERENCE(a->binding), y = STB_PREFERENCE(b->binding);

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (x != y)
		return x - y;
	return a->order < b->order ? -1 : a->order > b->order;
}

const struct mt_msymbols *mt_module_msymbols(struct mt_module *module)
{
	struct mt_msymbols *symbols = &module->symbols;
	struct mt_objfile *objfile = module->objfile;

	if (symbols->read)
		return symbols;
	symbols->read = true;
	mt_objfile_seek_debug(objfile);
	read_table(module, objfile->main.elf, SHT_SYMTAB);
	if (!symbols->count)
		read_table(module, objfile->debug.elf, SHT_SYMTAB);
	if (!symbols->count)
		read_table(module, objfile->mini.elf, SHT_SYMTAB);
	read_table(module, objfile->main.elf, SHT_DYNSYM);
	if (symbols->count)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare);
	return symbols;
}

void mt_msymbols_deinit(struct mt_msymbols *symbols)
{
	mt_array_deinit(symbols);
}

/* Of aliases the last one that is sorted, as GDB prefers it. */
static bool holds(const struct mt_msymbol *symbol, uint64_t address)
{
	return symbol->type != STT_TLS &&
	       (address < symbol->address + symbol->size || !symbol->size);
}

static const struct mt_msymbol *nearest(struct mt_module *module, uint64_t address)
{
	const struct mt_msymbols *symbols = mt_module_msymbols(module);
	const size_t behind =
	    mt_partition_point(i, 0, symbols->count, symbols->items[i].address <= address);
	const struct mt_msymbol *best = NULL;

	for (size_t i = behind; i-- > 0;) {
		const struct mt_msymbol *symbol = &symbols->items[i];

		if (best && symbol->address != best->address)
			break;
		if (!best && symbol->address + (1 << 20) < address && symbol->size == 0)
			break;
		if (holds(symbol, address) && (symbol->size || symbol->address == address || !best))
			best = !best || symbol->size ? symbol : best;
		else if (!best && behind - i > 64)
			break;
	}
	return best;
}

/* A symbol names nothing beyond its section. */
const struct mt_msymbol *mt_msymbol_at(struct mt_module *module, uint64_t address)
{
	const struct mt_msymbol *symbol = nearest(module, address);
	const char *section = symbol ? mt_module_section(module, address) : NULL;

	return section && section == mt_module_section(module, symbol->address) ? symbol : NULL;
}

const struct mt_msymbol *mt_msymbol_named(struct mt_module *module, const char *name, size_t length)
{
	const struct mt_msymbols *symbols = mt_module_msymbols(module);
	const struct mt_msymbol *best = NULL;

	mt_array_each (symbol, symbols)
		if (strncmp(symbol->name, name, length) == 0 &&
		    (!symbol->name[length] || symbol->name[length] == '@') &&
		    (!best || STB_PREFERENCE(symbol->binding) < STB_PREFERENCE(best->binding)))
			best = symbol;
	return best;
}

const char *mt_module_section(struct mt_module *module, uint64_t file_address)
{
	struct mt_section section = {0};

	while (mt_section_next(module->objfile->main.elf, &section))
		if (section.header.sh_flags & SHF_ALLOC && !(section.header.sh_flags & SHF_TLS) &&
		    file_address >= section.header.sh_addr &&
		    file_address - section.header.sh_addr < section.header.sh_size)
			return section.name;
	return NULL;
}

static void append_bare(const char *name, bool linked, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str bare = {0};

	mt_str_append_bytes(&bare, name, strcspn(name, "@"));
	if (linked || bare.failed || !bare.text || !mt_demangle(bare.text, MT_DEMANGLE_FULL, out))
		mt_str_append(out, bare.text ? bare.text : "?");
}

static void append_offset(uint64_t offset, struct mt_str *out)
{
	if (offset)
		mt_str_appendf(out, "+%llu", (unsigned long long)offset);
	mt_str_append(out, ">");
}

bool mt_format_symbol(struct mt_expr_program *program, uint64_t address, bool linked,
		      struct mt_str *out)
{
	struct mt_module *module = mt_program_module_at(program, address);
	uint64_t file_address = module ? address - module->bias : 0;
	const struct mt_msymbol *symbol = module ? mt_msymbol_at(module, file_address) : NULL;
	size_t count;

	if (symbol) {
		mt_str_append(out, " <");
		/* Of a function's several names the one that it is defined by. */
		Dwarf_Die function;
		Dwarf_Addr entry;

		if (!symbol->is_code || !mt_scope_function(module, symbol->address, &function) ||
		    dwarf_entrypc(&function, &entry) || entry != symbol->address ||
		    !mt_function_name(module, &function, linked, out))
			append_bare(symbol->name, linked, out);
		append_offset(file_address - symbol->address, out);
		return true;
	}
	/* Stubs of the procedure linkage table have no symbol of the linker's. */
	const struct mt_symbol *stub = module && mt_objfile_symbols(module->objfile, &count)
					   ? mt_objfile_symbol_at(module->objfile, file_address)
					   : NULL;
	if (!stub || !stub->raw_name)
		return false;
	mt_str_append(out, " <");
	if (linked)
		mt_str_append(out, stub->raw_name); /* "qsort@plt" */
	else
		append_bare(stub->raw_name, false, out);
	append_offset(file_address - stub->start, out);
	return true;
}

void mt_expr_format_address(struct mt_expr_program *program, uint64_t address, struct mt_str *out)
{
	mt_str_appendf(out, "0x%llx", (unsigned long long)address);
	mt_format_symbol(program, address, false, out);
}

void mt_expr_format_code(struct mt_expr_program *program, uint64_t address, struct mt_str *out)
{
	mt_str_appendf(out, "0x%llx", (unsigned long long)address);
	mt_format_symbol(program, address, true, out);
}
