/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/eh_frame.h"

#include "elf/section.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static uint64_t read_bytes(struct reader *reader, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint64_t byte;

	do {
		byte = read_bytes(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

static uint64_t read_format(struct reader *reader, unsigned encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return read_bytes(reader, 8);
	case DW_EH_PE_udata2:
		return read_bytes(reader, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)read_bytes(reader, 2);
	case DW_EH_PE_udata4:
		return read_bytes(reader, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)read_bytes(reader, 4);
	case DW_EH_PE_uleb128:
		return read_leb(reader, false);
	case DW_EH_PE_sleb128:
		return read_leb(reader, true);
	default:
		reader->failed = true;
		return 0;
	}
}

struct cfa {
	uint64_t reg;
	uint64_t offset;
	bool expression;
};

/* How many unsigned LEB128 operands a call-frame instruction has; -1: it ends the first row, or is
 * not known. */
static int operand_count(uint8_t op)
{
	switch (op) {
	case DW_CFA_nop:
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
	case DW_CFA_GNU_window_save:
		return 0;
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_GNU_args_size:
		return 1;
	case DW_CFA_offset_extended:
	case DW_CFA_register:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		return 2;
	default:
		return -1;
	}
}

static void skip_block(struct reader *reader)
{
	uint64_t size = read_leb(reader, false);

	if (size > (uint64_t)(reader->end - reader->at))
		reader->failed = true;
	else
		reader->at += size;
}

/* One instruction; false: the first row is complete. */
static bool run_instruction(struct reader *reader, struct cfa *cfa)
{
	uint8_t op = (uint8_t)read_bytes(reader, 1);

	if ((op & 0xc0) == DW_CFA_advance_loc)
		return false;
	if ((op & 0xc0) == DW_CFA_offset)
		return read_leb(reader, false), true;
	if ((op & 0xc0) == DW_CFA_restore)
		return true;
	switch (op) {
	case DW_CFA_def_cfa:
		cfa->reg = read_leb(reader, false);
		cfa->offset = read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_register:
		cfa->reg = read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_offset:
		cfa->offset = read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_expression:
		cfa->expression = true;
		skip_block(reader);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		read_leb(reader, false);
		skip_block(reader);
		return true;
	}
	int count = operand_count(op);
	for (int i = 0; i < count; i++)
		read_leb(reader, false);
	return count >= 0;
}

static void run_first_row(struct reader reader, struct cfa *cfa)
{
	while (reader.at < reader.end && !reader.failed)
		if (!run_instruction(&reader, cfa))
			return;
}

static const uint64_t rsp = 7; /* System V ABI x86-64, figure 3.36 */

static struct cfa first_cfa(const Dwarf_CIE *cie, struct reader instructions)
{
	struct cfa cfa = {.reg = rsp, .offset = 8};

	run_first_row(
	    (struct reader){cie->initial_instructions, cie->initial_instructions_end, false}, &cfa);
	run_first_row(instructions, &cfa);
	return cfa;
}

/* The encoding of code pointers in the FDEs of a CIE; -1: not understood. */
static int pointer_encoding(const Dwarf_CIE *cie)
{
	struct reader data = {cie->augmentation_data,
			      cie->augmentation_data + cie->augmentation_data_size, false};
	const char *letter = cie->augmentation;

	if (*letter != 'z')
		return *letter ? -1 : DW_EH_PE_absptr;
	while (*++letter && !data.failed) {
		if (*letter == 'R')
			return (int)read_bytes(&data, 1);
		if (*letter == 'L')
			read_bytes(&data, 1);
		else if (*letter == 'P')
			read_format(&data, (unsigned)read_bytes(&data, 1));
		else if (*letter != 'S' && *letter != 'B')
			return -1;
	}
	return data.failed ? -1 : DW_EH_PE_absptr;
}

struct section {
	const unsigned char *ident;
	Elf_Data *data;
	uint64_t address;
	Dwarf_Off cie_offset; /* of the CIE below; 0 with no augmentation: none yet */
	Dwarf_CIE cie;
};

static bool load_cie(struct section *section, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (section->cie.augmentation && section->cie_offset == offset)
		return true;
	if (dwarf_next_cfi(section->ident, section->data, true, offset, &next, &entry) != 0 ||
	    !dwarf_cfi_cie_p(&entry))
		return false;
	section->cie_offset = offset;
	section->cie = entry.cie;
	return true;
}

static bool read_fde(struct section *section, const Dwarf_FDE *entry, struct mt_fde *out)
{
	if (!load_cie(section, entry->CIE_pointer))
		return false;
	int encoding = pointer_encoding(&section->cie);
	unsigned base = encoding & 0x70;
	if (encoding < 0 || encoding & DW_EH_PE_indirect || (base && base != DW_EH_PE_pcrel))
		return false;

	struct reader reader = {entry->start, entry->end, false};
	uint64_t place = section->address + (uint64_t)(reader.at - (uint8_t *)section->data->d_buf);
	uint64_t start = read_format(&reader, encoding) + (base ? place : 0);
	uint64_t size = read_format(&reader, encoding & 0x07);
	if (section->cie.augmentation[0] == 'z')
		skip_block(&reader);
	if (reader.failed || size == 0 || start + size < start)
		return false;
	*out = (struct mt_fde){
	    .start = start,
	    .end = start + size,
	    .signal = strchr(section->cie.augmentation, 'S') != NULL,
	};
	struct cfa cfa = first_cfa(&section->cie, reader);
	bool by_rsp = !cfa.expression && cfa.reg == rsp;
	out->cold = !out->signal && !(by_rsp && cfa.offset == 8);
	out->lazy = by_rsp && cfa.offset == 24;
	return true;
}

static int compare_fdes(const void *left, const void *right)
{
	const struct mt_fde *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

int mt_eh_frame_read(Elf *elf, struct mt_fdes *out)
{
	struct mt_section found;
	if (!mt_section_find(elf, ".eh_frame", &found) || !found.data->d_buf)
		return 0;
	struct section section = {
	    .ident = (const unsigned char *)elf_getident(elf, NULL),
	    .data = found.data,
	    .address = found.header.sh_addr,
	};
	Dwarf_Off offset = 0, next = 0;
	for (;; offset = next) {
		Dwarf_CFI_Entry entry;
		struct mt_fde fde;
		next = offset;
		int result =
		    dwarf_next_cfi(section.ident, section.data, true, offset, &next, &entry);
		if (result > 0 || next <= offset)
			break;
		if (result < 0 || dwarf_cfi_cie_p(&entry) || !read_fde(&section, &entry.fde, &fde))
			continue;
		if (mt_array_push(out, fde))
			return -1;
	}
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), compare_fdes);
	return 0;
}

const struct mt_fde *mt_fdes_find(const struct mt_fdes *fdes, uint64_t address)
{
	size_t low = 0, high = fdes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (fdes->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < fdes->items[low - 1].end ? &fdes->items[low - 1] : NULL;
}
