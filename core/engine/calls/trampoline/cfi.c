/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/trampoline/cfi.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* Not in dwarf.h under these names: LSB Core, "DWARF Exception Header Encoding". */
#define PCREL_SDATA4   (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define DATAREL_SDATA4 (DW_EH_PE_datarel | DW_EH_PE_sdata4)

/* System V ABI, AMD64 supplement, "DWARF Register Number Mapping". */
enum { RAX, RDX, RCX, RSP = 7, RETURN_ADDRESS = 16 };

#define WORD       8
#define NAME_BYTES 160 /* templates have names without end */
#define NAME_START "[mtrace] "

enum section { NONE, TEXT, SEARCH_TABLE, FRAMES, SYMBOLS, STRINGS, SECTION_NAMES, SECTIONS };

static const char section_names[] =
    "\0.text\0.eh_frame_hdr\0.eh_frame\0.symtab\0.strtab\0.shstrtab";

/* Of the search table: where an FDE's code begins, and where the FDE stands. */
struct found {
	uint64_t code, frame;
};

struct builder {
	const struct mt_trampolines *trampolines;
	const struct mt_cfi_config *config;
	struct mt_cfi_image *out;
	Elf64_Shdr sections[SECTIONS];
	MT_ARRAY(struct found) found;
	uint64_t cie;
	bool failed;
};

static void put(struct builder *to, const void *bytes, size_t size)
{
	if (to->failed || mt_array_reserve(&to->out->bytes, to->out->bytes.count + size)) {
		to->failed = true;
		return;
	}
	memcpy(to->out->bytes.items + to->out->bytes.count, bytes, size);
	to->out->bytes.count += size;
}

#define put_bytes(to, ...)                                                                         \
	put((to), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_u32(struct builder *to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

/* All values are below 2^14. */
static void put_uleb(struct builder *to, uint32_t value)
{
	if (value >= 0x80) {
		put_bytes(to, (uint8_t)(value | 0x80), (uint8_t)(value >> 7));
		return;
	}
	put_bytes(to, (uint8_t)value);
}

static uint64_t here(const struct builder *to)
{
	return to->config->address + to->out->bytes.count;
}

static void put_distance(struct builder *to, uint64_t target, uint64_t from)
{
	int64_t distance = (int64_t)(target - from);

	if (distance != (int32_t)distance)
		to->failed = true;
	put_u32(to, (uint32_t)distance);
}

static void set_u32(struct builder *to, size_t at, uint32_t value)
{
	if (!to->failed)
		memcpy(to->out->bytes.items + at, &value, sizeof(value));
}

static void align(struct builder *to, size_t to_bytes, uint8_t with)
{
	while (!to->failed && to->out->bytes.count % to_bytes)
		put(to, &with, 1);
}

static void begin_section(struct builder *to, enum section which, uint32_t type, uint64_t alignment)
{
	static const uint8_t names[SECTIONS] = {0, 1, 7, 21, 31, 39, 47};

	align(to, WORD, 0);
	to->sections[which] = (Elf64_Shdr){
	    .sh_name = names[which],
	    .sh_type = type,
	    .sh_offset = to->out->bytes.count,
	    .sh_addralign = alignment,
	};
}

static void end_section(struct builder *to, enum section which)
{
	to->sections[which].sh_size = to->out->bytes.count - to->sections[which].sh_offset;
}

/* In the program's memory, with an address of its own. */
static void place_section(struct builder *to, enum section which)
{
	to->sections[which].sh_flags = SHF_ALLOC;
	to->sections[which].sh_addr = to->config->address + to->sections[which].sh_offset;
}

/* Lengths are those of what follows them, filled up to whole words. */
static size_t begin_entry(struct builder *to)
{
	put_u32(to, 0);
	return to->out->bytes.count;
}

static void end_entry(struct builder *to, size_t start)
{
	align(to, WORD, DW_CFA_nop);
	set_u32(to, start - sizeof(uint32_t), (uint32_t)(to->out->bytes.count - start));
}

static void put_cie(struct builder *to)
{
	to->cie = here(to);
	size_t start = begin_entry(to);

	put_u32(to, 0);
	put_bytes(to, 1, 'z', 'R', 'S', 0);
	put_bytes(to, 1, (uint8_t)-WORD & 0x7f, RETURN_ADDRESS); /* factors, as LEB128 */
	put_bytes(to, 1, PCREL_SDATA4);
	put_bytes(to, DW_CFA_def_cfa, RSP, 0);
	end_entry(to, start);
}

static size_t begin_fde(struct builder *to, uint64_t code, uint32_t size)
{
	struct found found = {.code = code, .frame = here(to)};
	size_t start = begin_entry(to);

	put_u32(to, (uint32_t)(here(to) - to->cie));
	put_distance(to, code, here(to));
	put_u32(to, size);
	put_bytes(to, 0);
	if (mt_array_push(&to->found, found))
		to->failed = true;
	return start;
}

static void put_advance(struct builder *to, uint32_t bytes)
{
	uint16_t wide = (uint16_t)bytes;

	if (bytes == 0)
		return;
	if (bytes < 0x40) {
		put_bytes(to, (uint8_t)(DW_CFA_advance_loc | bytes));
	} else if (bytes <= UINT8_MAX) {
		put_bytes(to, DW_CFA_advance_loc1, (uint8_t)bytes);
	} else {
		put_bytes(to, DW_CFA_advance_loc2);
		put(to, &wide, sizeof(wide));
		to->failed |= bytes > UINT16_MAX;
	}
}

static int compare_hole(const void *left, const void *right)
{
	const struct mt_cfi_hole *one = left, *other = right;

	return one->address < other->address ? -1 : one->address > other->address;
}

/* A displaced instruction may have stood where a hole is now.  A byte further on its own function's
 * call frame information says the same, and the hole's is not meant. */
static uint64_t beside_hole(const struct builder *to, uint64_t original)
{
	const struct mt_cfi_hole wanted = {.address = original};

	return to->config->hole_count && bsearch(&wanted, to->config->holes, to->config->hole_count,
						 sizeof(wanted), compare_hole)
		   ? original + 1
		   : original;
}

static void put_original(struct builder *to, uint64_t original)
{
	original = beside_hole(to, original);
	put_bytes(to, DW_CFA_val_expression, RETURN_ADDRESS, 1 + sizeof(original), DW_OP_addr);
	put(to, &original, sizeof(original));
}

/* The pushes begin below the red zone, if it was stepped over. */
static void put_saved(struct builder *to, const struct mt_trampoline_row *row, uint8_t before)
{
	static const uint8_t order[] = {RAX, RDX, RCX}; /* as MT_SAVED_… has them */
	uint32_t above = row->below >= MT_RING_RED_ZONE ? MT_RING_RED_ZONE / WORD : 0;

	for (unsigned i = 0; i < sizeof(order); i++) {
		uint8_t bit = (uint8_t)(1u << i);

		if (!((row->saved ^ before) & bit))
			continue;
		if (row->saved & bit) {
			put_bytes(to, DW_CFA_offset | order[i]);
			put_uleb(to, above + i + 1);
		} else {
			put_bytes(to, DW_CFA_same_value, order[i]);
		}
	}
}

static void put_cfa(struct builder *to, int below)
{
	if (below >= 0) {
		put_bytes(to, DW_CFA_def_cfa_offset);
		put_uleb(to, (uint32_t)below);
	} else {
		put_bytes(to, DW_CFA_def_cfa_offset_sf);
		put_uleb(to, (uint32_t)-below / WORD); /* of a factor less than 0 */
	}
}

static uint32_t part_end(const struct builder *to, size_t index)
{
	return index + 1 < to->config->part_count ? to->config->parts[index + 1].offset
						  : (uint32_t)to->trampolines->code.count;
}

static void put_frames(struct builder *to)
{
	begin_section(to, FRAMES, SHT_PROGBITS, WORD);
	place_section(to, FRAMES);
	put_cie(to);
	for (size_t i = 0; i < to->config->part_count; i++) {
		uint32_t offset = to->config->parts[i].offset, end = part_end(to, i);
		const struct mt_trampoline_row *row = mt_trampoline_row_at(to->trampolines, offset);
		const struct mt_trampoline_row *last = mt_array_last(&to->trampolines->rows);
		struct mt_trampoline_row before = {.offset = offset};
		size_t start = begin_fde(to, to->config->code + offset, end - offset);

		for (; row && row <= last && row->offset < end; row++) {
			/* Of several at one place the last one holds. */
			if (row < last && row[1].offset == row->offset)
				continue;
			put_advance(to, row->offset - before.offset);
			if (row->below != before.below)
				put_cfa(to, row->below);
			put_saved(to, row, before.saved);
			if (row->original != before.original)
				put_original(to, row->original);
			before = *row;
		}
		end_entry(to, start);
	}
	for (size_t i = 0; i < to->config->hole_count; i++) {
		const struct mt_cfi_hole *hole = &to->config->holes[i];
		size_t start = begin_fde(to, hole->address, MT_PATCH_JUMP_BYTES);

		put_original(to, hole->original);
		end_entry(to, start);
	}
	put_u32(to, 0); /* the end, for those who walk */
	end_section(to, FRAMES);
}

static int compare_found(const void *left, const void *right)
{
	const struct found *one = left, *other = right;

	return one->code < other->code ? -1 : one->code > other->code;
}

static void fill_search_table(struct builder *to)
{
	uint64_t table = to->out->search_table, end = to->out->bytes.count;

	if (to->failed)
		return;
	if (to->found.count)
		qsort(to->found.items, to->found.count, sizeof(*to->found.items), compare_found);
	to->out->bytes.count = table + sizeof(uint32_t) - to->config->address;
	put_distance(to, to->sections[FRAMES].sh_addr, here(to));
	put_u32(to, (uint32_t)to->found.count);
	mt_array_each (found, &to->found) {
		put_distance(to, found->code, table);
		put_distance(to, found->frame, table);
	}
	to->out->bytes.count = end;
}

static void put_symbols(struct builder *to)
{
	Elf64_Sym symbol = {0};
	uint32_t name = 1;

	begin_section(to, SYMBOLS, SHT_SYMTAB, WORD);
	put(to, &symbol, sizeof(symbol));
	symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	symbol.st_shndx = TEXT;
	for (size_t i = 0; i < to->config->part_count; i++) {
		const struct mt_cfi_part *part = &to->config->parts[i];

		symbol.st_name = name;
		symbol.st_value = to->config->code + part->offset;
		symbol.st_size = part_end(to, i) - part->offset;
		put(to, &symbol, sizeof(symbol));
		name += sizeof(NAME_START) + (part->name ? strnlen(part->name, NAME_BYTES) : 0);
	}
	end_section(to, SYMBOLS);
	to->sections[SYMBOLS].sh_entsize = sizeof(symbol);
	to->sections[SYMBOLS].sh_link = STRINGS;
	to->sections[SYMBOLS].sh_info = (uint32_t)to->config->part_count + 1;
}

static void put_strings(struct builder *to)
{
	begin_section(to, STRINGS, SHT_STRTAB, 1);
	put(to, "", 1);
	for (size_t i = 0; i < to->config->part_count; i++) {
		const char *name = to->config->parts[i].name;

		put(to, NAME_START, sizeof(NAME_START) - 1);
		if (name)
			put(to, name, strnlen(name, NAME_BYTES));
		put(to, "", 1);
	}
	end_section(to, STRINGS);
	begin_section(to, SECTION_NAMES, SHT_STRTAB, 1);
	put(to, section_names, sizeof(section_names));
	end_section(to, SECTION_NAMES);
}

static void fill_header(struct builder *to)
{
	Elf64_Ehdr header = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_EXEC,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(header),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = SECTIONS,
	    .e_shstrndx = SECTION_NAMES,
	};

	align(to, WORD, 0);
	header.e_shoff = to->out->bytes.count;
	put(to, to->sections, sizeof(to->sections));
	if (!to->failed)
		memcpy(to->out->bytes.items, &header, sizeof(header));
}

int mt_cfi_build(const struct mt_trampolines *trampolines, const struct mt_cfi_config *config,
		 struct mt_cfi_image *image)
{
	struct builder to = {.trampolines = trampolines, .config = config, .out = image};
	const Elf64_Ehdr room = {0};

	*image = (struct mt_cfi_image){0};
	put(&to, &room, sizeof(room));
	begin_section(&to, TEXT, SHT_NOBITS, 1);
	to.sections[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	to.sections[TEXT].sh_addr = to.config->code;
	to.sections[TEXT].sh_size = to.trampolines->code.count;
	/* Room first: it stands before the frames, so that the file's head leads to it. */
	size_t count = to.config->part_count + to.config->hole_count;
	begin_section(&to, SEARCH_TABLE, SHT_PROGBITS, WORD);
	place_section(&to, SEARCH_TABLE);
	to.out->search_table = here(&to);
	put_bytes(&to, 1, PCREL_SDATA4, DW_EH_PE_udata4, DATAREL_SDATA4);
	for (size_t i = 0; i < 2 + 2 * count; i++)
		put_u32(&to, 0);
	end_section(&to, SEARCH_TABLE);
	put_frames(&to);
	fill_search_table(&to);
	put_symbols(&to);
	put_strings(&to);
	fill_header(&to);
	mt_array_deinit(&to.found);
	if (!to.failed)
		return 0;
	mt_cfi_image_deinit(image);
	return -1;
}

void mt_cfi_image_deinit(struct mt_cfi_image *image)
{
	mt_array_deinit(&image->bytes);
}
