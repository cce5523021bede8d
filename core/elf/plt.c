/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PLT stubs have no symbols.  A stub jumps through a slot of the GOT, and the relocation of that
 * slot names the function; a lazy stub of IBT code pushes its index in .rela.plt instead (System V
 * ABI x86-64, sections 5.2 and 13.2). */
#include "base/search.h"
#include "elf/symbols.h"

#include "elf/section.h"

#include <string.h>

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	struct slot *items;
	size_t count;
	size_t capacity;
};

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static const char *symbol_name(Elf *elf, const struct mt_section *relocations, Elf_Data *symbols,
			       size_t index)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Scn *scn = elf_getscn(elf, relocations->header.sh_link);

	if (!index || !symbols || !gelf_getsym(symbols, (int)index, &symbol) ||
	    !gelf_getshdr(scn, &header))
		return NULL;
	const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name && *name ? name : NULL;
}

static int add_slot(struct mt_objfile *objfile, const GElf_Rela *relocation, const char *name,
		    const struct mt_candidates *known, struct slots *out)
{
	if (!name && GELF_R_TYPE(relocation->r_info) == R_X86_64_IRELATIVE) {
		/* A name at an address among the symbols, which are sorted with the best name
		 * first. */
		uint64_t address = (uint64_t)relocation->r_addend;
		const size_t at =
		    mt_partition_point(i, 0, known->count, known->items[i].start < address);

		name = at < known->count && known->items[at].start == address
			   ? known->items[at].name
			   : NULL;
		if (!name)
			name = mt_arena_format(&objfile->arena, "*ABS*+0x%llx",
					       (unsigned long long)relocation->r_addend);
		if (!name)
			return -1;
	}
	struct slot slot = {relocation->r_offset, name};
	return mt_array_push(out, slot);
}

/* The slots of one relocation section, in its order. */
static int read_slots(struct mt_objfile *objfile, const char *section,
		      const struct mt_candidates *known, struct slots *out)
{
	Elf *elf = objfile->main.elf;
	struct mt_section table;

	if (!mt_section_find(elf, section, &table) || table.header.sh_type != SHT_RELA ||
	    !table.data->d_buf)
		return 0;
	Elf_Scn *symbol_scn = elf_getscn(elf, table.header.sh_link);
	Elf_Data *symbols = symbol_scn ? elf_getdata(symbol_scn, NULL) : NULL;
	if (symbols && symbols->d_type != ELF_T_SYM)
		symbols = NULL;
	size_t count = table.data->d_size / sizeof(Elf64_Rela);
	for (size_t i = 0; i < count; i++) {
		GElf_Rela relocation;
		if (!gelf_getrela(table.data, (int)i, &relocation))
			break;
		if (GELF_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE)
			continue;
		const char *name = symbol_name(elf, &table, symbols, GELF_R_SYM(relocation.r_info));
		if (add_slot(objfile, &relocation, name, known, out))
			return -1;
	}
	return 0;
}

/* The address that a stub's code refers to: the target of `jmp *disp(%rip)`, or the operand of its
 * push. */
struct stub {
	bool has_slot;
	bool has_index;
	bool is_first; /* PLT0: pushes a GOT slot and jumps to the resolver */
	uint64_t slot;
	uint32_t index;
};

static struct stub read_stub(const unsigned char *code, size_t size, uint64_t address)
{
	struct stub stub = {0};
	int32_t operand;

	/* endbr64 holds no byte that the search below could take for an opcode. */
	for (size_t i = 0; i + 5 <= size; i++) {
		memcpy(&operand, code + i + 1, sizeof(operand));
		if (code[i] == 0x41 && code[i + 1] == 0xbb) {
			i += 5; /* mov $index, %r11d, as mold has it */
		} else if (code[i] == 0x68 && !stub.has_index) {
			stub.has_index = true;
			stub.index = (uint32_t)operand;
			i += 4;
		} else if (i + 6 <= size && code[i] == 0xff && code[i + 1] == 0x35) {
			stub.is_first = true;
			return stub;
		} else if (i + 6 <= size && code[i] == 0xff && code[i + 1] == 0x25) {
			memcpy(&operand, code + i + 2, sizeof(operand));
			stub.has_slot = true;
			stub.slot = address + i + 6 + (uint64_t)(int64_t)operand;
			return stub;
		}
	}
	return stub;
}

static const char *stub_name(const struct stub *stub, const struct slots *by_address,
			     const struct slots *by_index)
{
	if (stub->is_first)
		return "_dl_runtime_resolve";
	if (stub->has_slot) {
		struct slot key = {stub->slot, NULL};
		const struct slot *found = by_address->count
					       ? bsearch(&key, by_address->items, by_address->count,
							 sizeof(key), compare_slots)
					       : NULL;
		return found ? found->name : NULL;
	}
	if (stub->has_index && stub->index < by_index->count)
		return by_index->items[stub->index].name;
	return NULL;
}

static int add_stub(struct mt_objfile *objfile, uint64_t address, size_t size, const char *name,
		    struct mt_candidates *out)
{
	size_t length = strcspn(name, "@");
	struct mt_candidate candidate = {
	    .start = address,
	    .size = size,
	    .kind = MT_FUNCTION_PLT,
	    .name = mt_arena_format(&objfile->arena, "%.*s@plt", (int)length, name),
	};
	return candidate.name ? mt_array_push(out, candidate) : -1;
}

static int read_stubs(struct mt_objfile *objfile, const char *name,
		      const struct mt_code *code_ranges, const struct slots *by_address,
		      const struct slots *by_index, struct mt_candidates *out)
{
	struct mt_section section;

	if (!mt_section_find(objfile->main.elf, name, &section) || !section.data->d_buf)
		return 0;
	const unsigned char *code = section.data->d_buf;
	size_t size = section.data->d_size;
	/* The linkers agree on 16 bytes, but for .plt.got without IBT. */
	size_t step = section.header.sh_entsize == 8 ? 8 : 16;
	for (size_t at = 0; at + step <= size; at += step) {
		uint64_t address = section.header.sh_addr + at;
		struct stub stub = read_stub(code + at, step, address);
		const char *found = stub_name(&stub, by_address, by_index);
		if (found && mt_code_at(code_ranges, address) &&
		    add_stub(objfile, address, step, found, out))
			return -1;
	}
	return 0;
}

int mt_collect_plt(struct mt_objfile *objfile, const struct mt_code *code,
		   struct mt_candidates *out)
{
	struct slots by_index = {0}, by_address = {0};
	int result = -1;

	if (read_slots(objfile, ".rela.plt", out, &by_index) ||
	    read_slots(objfile, ".rela.plt", out, &by_address) ||
	    read_slots(objfile, ".rela.dyn", out, &by_address))
		goto out;
	if (by_address.count)
		qsort(by_address.items, by_address.count, sizeof(*by_address.items), compare_slots);
	result = read_stubs(objfile, ".plt", code, &by_address, &by_index, out) ||
			 read_stubs(objfile, ".plt.sec", code, &by_address, &by_index, out) ||
			 read_stubs(objfile, ".plt.got", code, &by_address, &by_index, out)
		     ? -1
		     : 0;
out:
	mt_array_deinit(&by_index);
	mt_array_deinit(&by_address);
	return result;
}
