/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call frame information (DWARF 5, section 6.4; LSB Core, "Exception Frames"), as libdw reads it.
 * .eh_frame is asked first: it is loaded with the program, and covers what .debug_frame does. */
#include "elf/objfile_private.h"
#include "elf/section.h"
#include "space/unwind_private.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

struct mt_cfi {
	Dwarf_CFI *loaded; /* .eh_frame; NULL: none */
	Dwarf *dwarf;      /* that holds .debug_frame; NULL: none, or not sought yet */
	bool dwarf_sought;
};

void mt_cfi_destroy(struct mt_cfi *cfi)
{
	if (!cfi)
		return;
	if (cfi->loaded)
		dwarf_cfi_end(cfi->loaded);
	dwarf_end(cfi->dwarf);
	free(cfi);
}

static Dwarf *dwarf_with_frames(const struct mt_elf_file *file)
{
	struct mt_section section;

	if (!file->elf || !mt_section_find(file->elf, ".debug_frame", &section))
		return NULL;
	return dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
}

static Dwarf_CFI *debug_frame(struct mt_objfile *objfile, struct mt_cfi *cfi)
{
	if (!cfi->dwarf_sought) {
		cfi->dwarf_sought = true;
		cfi->dwarf = dwarf_with_frames(&objfile->main);
		if (!cfi->dwarf) {
			mt_objfile_seek_debug(objfile);
			cfi->dwarf = dwarf_with_frames(&objfile->debug);
		}
	}
	return cfi->dwarf ? dwarf_getcfi(cfi->dwarf) : NULL;
}

/* The rules at an address of the file; the caller's to free.  NULL: none. */
static Dwarf_Frame *rules_at(struct mt_objfile *objfile, uint64_t address)
{
	Dwarf_Frame *rules = NULL;
	Dwarf_CFI *other;

	if (!objfile->cfi) {
		objfile->cfi = calloc(1, sizeof(*objfile->cfi));
		if (!objfile->cfi)
			return NULL;
		objfile->cfi->loaded = dwarf_getcfi_elf(objfile->main.elf);
	}
	if (objfile->cfi->loaded && dwarf_cfi_addrframe(objfile->cfi->loaded, address, &rules) == 0)
		return rules;
	other = debug_frame(objfile, objfile->cfi);
	return other && dwarf_cfi_addrframe(other, address, &rules) == 0 ? rules : NULL;
}

static bool find_cfa(struct mt_unwinder *unwinder, Dwarf_Frame *rules, uint64_t *cfa)
{
	Dwarf_Op *operations;
	size_t count;
	bool in_memory;

	return dwarf_frame_cfa(rules, &operations, &count) == 0 && count &&
	       mt_unwind_evaluate(unwinder, operations, count, NULL, cfa, &in_memory);
}

/* Of rbx, which functions leave alone unless a rule says otherwise, libdw says that it is
 * undefined: its table for the ABI has rbx's place in the instructions' encoding, where DWARF's is
 * meant. */
static bool find_register(struct mt_unwinder *unwinder, Dwarf_Frame *rules, unsigned number,
			  uint64_t cfa, struct mt_registers *caller)
{
	Dwarf_Op room[3], *operations;
	uint64_t value = 0;
	size_t count;
	bool in_memory;

	if (dwarf_frame_register(rules, (int)number, room, &operations, &count))
		return false;
	if (!count && (!operations || number == MT_REGISTER_RBX))
		return true; /* as it is in the frame itself */
	mt_register_forget(caller, number);
	unwinder->places[number] = 0;
	if (!count)
		return true;
	if (!mt_unwind_evaluate(unwinder, operations, count, &cfa, &value, &in_memory))
		return false;
	unwinder->places[number] = in_memory ? value : 0;
	if (in_memory && !mt_unwind_read(unwinder, value, &value, sizeof(value)))
		return false;
	mt_register_set(caller, number, value);
	return true;
}

static enum mt_unwind_step apply(struct mt_unwinder *unwinder, Dwarf_Frame *rules,
				 struct mt_registers *caller, uint64_t *cfa, bool *signal)
{
	int address = dwarf_frame_info(rules, NULL, NULL, signal);

	*cfa = 0;
	if (address != MT_REGISTER_RIP)
		return MT_STEP_NO_RULE;
	if (!find_cfa(unwinder, rules, cfa))
		return MT_STEP_UNREADABLE;
	*caller = unwinder->next.registers;
	/* Unless a rule says otherwise. */
	mt_register_set(caller, MT_REGISTER_RSP, *cfa);
	for (unsigned i = 0; i < MT_REGISTER_COUNT; i++)
		if (!find_register(unwinder, rules, i, *cfa, caller) && i == MT_REGISTER_RIP)
			return MT_STEP_UNREADABLE;
	return mt_register_is_known(caller, MT_REGISTER_RIP) ? MT_STEP_DONE : MT_STEP_OUTERMOST;
}

enum mt_unwind_step mt_unwind_by_cfi(struct mt_unwinder *unwinder, struct mt_registers *caller,
				     uint64_t *cfa, bool *signal)
{
	uint64_t address = mt_unwind_inside(&unwinder->next);
	const struct mt_mapping *mapping = mt_space_find(unwinder->source.space, address);
	Dwarf_Frame *rules = mapping && mapping->objfile
				 ? rules_at(mapping->objfile, address - mapping->bias)
				 : NULL;

	if (!rules)
		return MT_STEP_NO_RULE;
	enum mt_unwind_step step = apply(unwinder, rules, caller, cfa, signal);
	free(rules);
	return step;
}

bool mt_unwind_cfa_rule(struct mt_space *space, uint64_t pc, unsigned *number, int64_t *offset)
{
	const struct mt_mapping *mapping = mt_space_find(space, pc);
	Dwarf_Frame *rules =
	    mapping && mapping->objfile ? rules_at(mapping->objfile, pc - mapping->bias) : NULL;
	Dwarf_Op *operations;
	size_t count = 0;
	bool simple = false;

	if (rules && dwarf_frame_cfa(rules, &operations, &count) == 0 && count == 1) {
		uint8_t atom = operations[0].atom;

		simple = (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) || atom == DW_OP_bregx;
		*number = atom == DW_OP_bregx ? (unsigned)operations[0].number
					      : (unsigned)(atom - DW_OP_breg0);
		*offset =
		    (int64_t)(atom == DW_OP_bregx ? operations[0].number2 : operations[0].number);
	}
	free(rules);
	return simple;
}
