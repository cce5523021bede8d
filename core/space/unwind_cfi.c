/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call frame information (DWARF 5, section 6.4; LSB Core, "Exception Frames"), as libdw reads it.
 * .eh_frame is asked first: it is loaded with the program, and covers what .debug_frame does. */
#include "dwarf/machine.h"
#include "elf/debug_image.h"
#include "elf/objfile_private.h"
#include "elf/section.h"
#include "space/unwind_private.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

struct mt_cfi {
	Dwarf_CFI *loaded;           /* .eh_frame; NULL: none */
	Dwarf *dwarf;                /* that holds .debug_frame; NULL: none, or not sought yet */
	struct mt_debug_image image; /* that it reads, if there is one */
	bool dwarf_sought;
};

static void destroy(void *data)
{
	struct mt_cfi *cfi = data;

	if (cfi->loaded)
		dwarf_cfi_end(cfi->loaded);
	dwarf_end(cfi->dwarf);
	mt_debug_image_close(&cfi->image);
	free(cfi);
}

static Dwarf *dwarf_with_frames(const struct mt_elf_file *file, struct mt_debug_image *image)
{
	if (!file->elf || !mt_section_exists(file->elf, ".debug_frame"))
		return NULL;
	return dwarf_begin_elf(mt_debug_image_open_frames(file, image) ? image->file.elf
								       : file->elf,
			       DWARF_C_READ, NULL);
}

static Dwarf_CFI *debug_frame(struct mt_objfile *objfile, struct mt_cfi *cfi)
{
	if (!cfi->dwarf_sought) {
		cfi->dwarf_sought = true;
		cfi->dwarf = dwarf_with_frames(&objfile->main, &cfi->image);
		if (!cfi->dwarf) {
			mt_objfile_seek_debug(objfile);
			cfi->dwarf = dwarf_with_frames(&objfile->debug, &cfi->image);
		}
	}
	return cfi->dwarf ? dwarf_getcfi(cfi->dwarf) : NULL;
}

/* NULL: without memory. */
static struct mt_cfi *cfi_of(struct mt_objfile *objfile)
{
	struct mt_cfi *cfi = objfile->cfi.data;

	if (cfi)
		return cfi;
	cfi = calloc(1, sizeof(*cfi));
	if (!cfi)
		return NULL;
	cfi->loaded = dwarf_getcfi_elf(objfile->main.elf);
	objfile->cfi = (struct mt_objfile_attachment){cfi, destroy};
	return cfi;
}

void mt_unwind_prepare(struct mt_objfile *objfile)
{
	cfi_of(objfile);
}

/* The rules at an address of the file; the caller's to free.  NULL: none. */
static Dwarf_Frame *rules_at(struct mt_objfile *objfile, uint64_t address)
{
	struct mt_cfi *cfi = cfi_of(objfile);
	Dwarf_Frame *rules = NULL;
	Dwarf_CFI *other;

	if (!cfi)
		return NULL;
	if (cfi->loaded && dwarf_cfi_addrframe(cfi->loaded, address, &rules) == 0)
		return rules;
	other = debug_frame(objfile, cfi);
	return other && dwarf_cfi_addrframe(other, address, &rules) == 0 ? rules : NULL;
}

/* The input of a rule. */
struct input {
	struct mt_unwinder *unwinder;
	const uint64_t *cfa; /* NULL: it is just what is asked for */
};

static struct mt_error *read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	return mt_unwind_read(((struct input *)context)->unwinder, address, buffer, size)
		   ? NULL
		   : mt_error_new(MT_ERROR_NOT_FOUND, "no memory at 0x%llx",
				  (unsigned long long)address);
}

static struct mt_error *get_register(void *context, uint64_t number, uint64_t *value)
{
	const struct mt_unwinder *unwinder = ((struct input *)context)->unwinder;

	if (number >= MT_REGISTER_COUNT ||
	    !mt_register_is_known(&unwinder->next.registers, (unsigned)number))
		return mt_error_new(MT_ERROR_NOT_FOUND, "register %llu is not known",
				    (unsigned long long)number);
	*value = unwinder->next.registers.values[number];
	return NULL;
}

static struct mt_error *get_cfa(void *context, uint64_t *cfa)
{
	const struct input *input = context;

	if (!input->cfa)
		return mt_machine_garbled();
	*cfa = *input->cfa;
	return NULL;
}

static const struct mt_machine_ops machine_ops = {
    .read = read_memory,
    .get_register = get_register,
    .get_cfa = get_cfa,
};

/* Where a rule leads: one piece.  False: it cannot be computed. */
static bool follow(struct mt_unwinder *unwinder, const uint64_t *cfa, const Dwarf_Op *operations,
		   size_t count, struct mt_piece *out)
{
	struct input input = {unwinder, cfa};
	struct mt_machine_program program = {
	    .ops = &machine_ops, .context = &input, .operations = operations, .count = count};
	struct mt_pieces pieces;
	struct mt_error *error = mt_machine_run(&program, &pieces);

	mt_error_destroy(error);
	if (error || pieces.count != 1)
		return false;
	*out = pieces.items[0];
	if (out->kind != MT_PIECE_REGISTER)
		return out->kind == MT_PIECE_MEMORY || out->kind == MT_PIECE_VALUE;
	error = get_register(&input, out->register_number, &out->value);
	mt_error_destroy(error);
	return !error;
}

/* Of rbx, which functions leave alone unless a rule says otherwise, libdw says that it is
 * undefined: its table for the ABI has rbx's place in the instructions' encoding, where DWARF's is
 * meant. */
static bool find_register(struct mt_unwinder *unwinder, Dwarf_Frame *rules, unsigned number,
			  uint64_t cfa, struct mt_registers *caller)
{
	Dwarf_Op room[3], *operations;
	struct mt_piece found;
	size_t count;

	if (dwarf_frame_register(rules, (int)number, room, &operations, &count))
		return false;
	if (!count && (!operations || number == MT_REGISTER_RBX))
		return true; /* as it is in the frame itself */
	mt_register_forget(caller, number);
	unwinder->saved_at[number] = 0;
	if (!count)
		return true;
	if (!follow(unwinder, &cfa, operations, count, &found))
		return false;
	if (found.kind == MT_PIECE_MEMORY) {
		unwinder->saved_at[number] = found.value;
		if (!mt_unwind_read(unwinder, found.value, &found.value, sizeof(found.value)))
			return false;
	}
	mt_register_set(caller, number, found.value);
	return true;
}

static enum mt_unwind_step apply(struct mt_unwinder *unwinder, Dwarf_Frame *rules,
				 struct mt_registers *caller, uint64_t *cfa, bool *signal)
{
	int address = dwarf_frame_info(rules, NULL, NULL, signal);

	*cfa = 0;
	if (address != MT_REGISTER_RIP)
		return MT_STEP_NO_RULE;
	Dwarf_Op *operations;
	size_t count;
	struct mt_piece found;

	if (dwarf_frame_cfa(rules, &operations, &count) || !count ||
	    !follow(unwinder, NULL, operations, count, &found))
		return MT_STEP_UNREADABLE;
	*cfa = found.value;
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

	if (!rules)
		return mt_unwind_go_rule(space, pc, number, offset);
	if (dwarf_frame_cfa(rules, &operations, &count) == 0 && count == 1) {
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
