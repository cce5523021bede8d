/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/eh_frame.h"
#include "base/search.h"

#include "elf/eh_reader.h"
#include "elf/section.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

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

static void skip_block(struct mt_eh_reader *reader)
{
	uint64_t size = mt_eh_read_leb(reader, false);

	if (size > (uint64_t)(reader->end - reader->at))
		reader->failed = true;
	else
		reader->at += size;
}

/* One instruction; false: the first row is complete. */
static bool run_instruction(struct mt_eh_reader *reader, struct cfa *cfa)
{
	uint8_t op = (uint8_t)mt_eh_read_bytes(reader, 1);

	if ((op & 0xc0) == DW_CFA_advance_loc)
		return false;
	if ((op & 0xc0) == DW_CFA_offset)
		return mt_eh_read_leb(reader, false), true;
	if ((op & 0xc0) == DW_CFA_restore)
		return true;
	switch (op) {
	case DW_CFA_def_cfa:
		cfa->reg = mt_eh_read_leb(reader, false);
		cfa->offset = mt_eh_read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_register:
		cfa->reg = mt_eh_read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_offset:
		cfa->offset = mt_eh_read_leb(reader, false);
		return true;
	case DW_CFA_def_cfa_expression:
		cfa->expression = true;
		skip_block(reader);
		return true;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		mt_eh_read_leb(reader, false);
		skip_block(reader);
		return true;
	}
	int count = operand_count(op);
	for (int i = 0; i < count; i++)
		mt_eh_read_leb(reader, false);
	return count >= 0;
}

static void run_row(struct mt_eh_reader *reader, struct cfa *cfa)
{
	while (reader->at < reader->end && !reader->failed)
		if (!run_instruction(reader, cfa))
			return;
}

static const uint64_t rsp = 7; /* System V ABI x86-64, figure 3.36 */

static bool is_by_rsp(const struct cfa *cfa)
{
	return !cfa->expression && cfa->reg == rsp;
}

/* The CFA of the first row.  *IS_ARRIVED_AT: a call may arrive there.  A part that is landing pads
 * alone begins with a nop, since no landing pad is at an offset of 0: after it the CFA is farther
 * away than by what an instruction of one byte, a push, can do. */
static struct cfa first_cfa(const Dwarf_CIE *cie, struct mt_eh_reader instructions,
			    bool *is_arrived_at)
{
	struct mt_eh_reader initial = {cie->initial_instructions, cie->initial_instructions_end,
				       false};
	const uint8_t advance_one = DW_CFA_advance_loc | 1;
	struct cfa cfa = {.reg = rsp, .offset = 8};

	run_row(&initial, &cfa);
	run_row(&instructions, &cfa);
	*is_arrived_at = is_by_rsp(&cfa) && cfa.offset == 8;
	if (!instructions.failed && instructions.at < instructions.end &&
	    instructions.at[-1] == advance_one && cie->code_alignment_factor == 1) {
		struct cfa second = cfa;

		run_row(&instructions, &second);
		*is_arrived_at &= is_by_rsp(&second) && second.offset <= 16;
	}
	return cfa;
}

/* How the FDEs of a CIE write their pointers. */
struct encodings {
	int code; /* -1: not understood */
	int lsda; /* DW_EH_PE_omit: they have none */
};

static struct encodings encodings_of(const Dwarf_CIE *cie)
{
	const struct encodings garbled = {-1, DW_EH_PE_omit};
	struct encodings found = {DW_EH_PE_absptr, DW_EH_PE_omit};
	struct mt_eh_reader data = {cie->augmentation_data,
				    cie->augmentation_data + cie->augmentation_data_size, false};
	const char *letter = cie->augmentation;

	if (*letter != 'z')
		return *letter ? garbled : found;
	while (*++letter && !data.failed) {
		if (*letter == 'R')
			found.code = (int)mt_eh_read_bytes(&data, 1);
		else if (*letter == 'L')
			found.lsda = (int)mt_eh_read_bytes(&data, 1);
		else if (*letter == 'P')
			mt_eh_read_format(&data, (unsigned)mt_eh_read_bytes(&data, 1));
		else if (*letter != 'S' && *letter != 'B')
			return garbled;
	}
	return data.failed ? garbled : found;
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

static uint64_t address_of(const struct section *section, const uint8_t *at)
{
	return section->address + (uint64_t)(at - (uint8_t *)section->data->d_buf);
}

/* The augmentation data of an FDE begins with the pointer to its language-specific data. */
static uint64_t read_lsda(const struct section *section, const struct mt_eh_reader *reader,
			  int encoding)
{
	struct mt_eh_reader data = *reader;
	uint64_t lsda = 0;

	mt_eh_read_leb(&data, false);
	if (encoding == DW_EH_PE_omit ||
	    !mt_eh_read_pointer(&data, (unsigned)encoding, address_of(section, data.at), &lsda))
		return 0;
	return data.failed ? 0 : lsda;
}

static bool read_fde(struct section *section, const Dwarf_FDE *entry, struct mt_fde *out)
{
	if (!load_cie(section, entry->CIE_pointer))
		return false;
	struct encodings encodings = encodings_of(&section->cie);
	struct mt_eh_reader reader = {entry->start, entry->end, false};
	uint64_t start;
	if (encodings.code < 0 || !mt_eh_read_pointer(&reader, (unsigned)encodings.code,
						      address_of(section, reader.at), &start))
		return false;
	uint64_t size = mt_eh_read_format(&reader, (unsigned)encodings.code & 0x07);
	uint64_t lsda = 0;
	if (section->cie.augmentation[0] == 'z') {
		lsda = read_lsda(section, &reader, encodings.lsda);
		skip_block(&reader);
	}
	if (reader.failed || size == 0 || start + size < start)
		return false;
	*out = (struct mt_fde){
	    .start = start,
	    .end = start + size,
	    .lsda = lsda,
	    .signal = strchr(section->cie.augmentation, 'S') != NULL,
	};
	bool is_arrived_at;
	struct cfa cfa = first_cfa(&section->cie, reader, &is_arrived_at);
	out->cold = !out->signal && !is_arrived_at;
	out->lazy = is_by_rsp(&cfa) && cfa.offset == 24;
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
	const size_t behind =
	    mt_partition_point(i, 0, fdes->count, fdes->items[i].start <= address);

	return behind && address < fdes->items[behind - 1].end ? &fdes->items[behind - 1] : NULL;
}

bool mt_code_returns_from_signal(const uint8_t *code, size_t size)
{
	static const uint8_t syscall[] = {0x0f, 0x05};

	return memmem(code, size < MT_RESTORER_BYTES ? size : MT_RESTORER_BYTES, syscall,
		      sizeof(syscall));
}
