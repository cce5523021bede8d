/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/imports.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The tables of relocations of GDB's program. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * relocations[2];
	size_t bytes[2];
};

static struct tables tables_of(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
	struct tables tables = {0};

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		/* Other loaders than glibc's leave them as they are in the file. */
		const uint64_t at = dynamic->d_un.d_ptr < info->dlpi_addr
					? dynamic->d_un.d_ptr + info->dlpi_addr
					: dynamic->d_un.d_ptr;
		const void *table = (const void *)at; /* NOLINT(performance-no-int-to-ptr) */

		switch (dynamic->d_tag) {
		case DT_SYMTAB:
			tables.symbols = table;
			break;
		case DT_STRTAB:
			tables.names = table;
			break;
		case DT_JMPREL:
			tables.relocations[0] = table;
			break;
		case DT_PLTRELSZ:
			tables.bytes[0] = dynamic->d_un.d_val;
			break;
		case DT_RELA:
			tables.relocations[1] = table;
			break;
		case DT_RELASZ:
			tables.bytes[1] = dynamic->d_un.d_val;
			break;
		default:
			break;
		}
	}
	return tables;
}

/* The table may have been made read-only by the loader. */
static void put(uint64_t at, void *function, bool is_fixed)
{
	const uint64_t page = at & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	void *start = (void *)page; /* NOLINT(performance-no-int-to-ptr) */
	void **entry = (void **)at; /* NOLINT(performance-no-int-to-ptr) */
	const size_t size = at + sizeof(*entry) - page;

	if (is_fixed && mprotect(start, size, PROT_READ | PROT_WRITE))
		return;
	*entry = function;
	if (is_fixed)
		mprotect(start, size, PROT_READ);
}

static bool is_in(const struct dl_phdr_info *info, uint32_t type, uint64_t address)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == type &&
		    address - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
			info->dlpi_phdr[i].p_memsz)
			return true;
	return false;
}

struct placing {
	struct mt_import *imports;
	size_t count;
};

/* NULL: it stays as it is. */
static struct mt_import *find(const struct placing *placing, const char *name)
{
	for (size_t i = 0; i < placing->count; i++)
		if (strcmp(placing->imports[i].name, name) == 0)
			return &placing->imports[i];
	return NULL;
}

static void place_in(const struct dl_phdr_info *info, const struct tables *tables,
		     const struct placing *placing)
{
	for (int i = 0; i < 2; i++) {
		const ElfW(Rela) *one = tables->relocations[i];
		const ElfW(Rela) *end = one ? one + tables->bytes[i] / sizeof(*one) : one;

		for (; one < end; one++) {
			const uint64_t type = ELF64_R_TYPE(one->r_info);
			const char *name =
			    tables->names + tables->symbols[ELF64_R_SYM(one->r_info)].st_name;
			const uint64_t at = one->r_offset + info->dlpi_addr;
			struct mt_import *import = NULL;

			if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT)
				import = find(placing, name);
			if (!import)
				continue;
			put(at, import->function, is_in(info, PT_GNU_RELRO, at));
			import->is_placed = true;
		}
	}
}

/* The first object is the program. */
static int place(struct dl_phdr_info *info, size_t size, void *placing)
{
	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		const uint64_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		const struct tables tables =
		    tables_of(info, (const ElfW(Dyn) *)at); /* NOLINT(performance-no-int-to-ptr) */

		if (tables.symbols && tables.names)
			place_in(info, &tables, placing);
	}
	return 1;
}

void mt_imports_replace(struct mt_import *imports, size_t count)
{
	struct placing placing = {imports, count};

	dl_iterate_phdr(place, &placing);
}
