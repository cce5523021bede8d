/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the text of an object file, and as its data: whatever is planned must be sound by
 * what the header promises, and a trampoline can be asked for.  The first bytes choose the
 * kind of file, and where functions begin. */
#include "engine/calls/plan/plan.h"
#include "engine/calls/trampoline/trampoline.h"

#include "../unit/made_elf.h"

#define HEADER_BYTES (2 + MADE_SYMBOLS)

static void check(int holds)
{
	if (!holds)
		abort();
}

static void fill(struct made_elf *elf, const uint8_t *bytes, size_t size)
{
	size_t rest = size - HEADER_BYTES;
	size_t step;

	elf->is_fixed = bytes[0] & 1;
	elf->symbol_count = 1 + bytes[1] % MADE_SYMBOLS;
	elf->text_size = rest < MADE_PAGE ? rest : MADE_PAGE;
	memcpy(elf->text, bytes + HEADER_BYTES, elf->text_size);
	elf->data_size = elf->text_size;
	memcpy(elf->data, elf->text, elf->data_size);
	step = elf->text_size / elf->symbol_count;
	for (size_t i = 0; i < elf->symbol_count; i++)
		elf->symbols[i] =
		    (struct made_symbol){i * step, step ? bytes[2 + i] % (2 * step) : 0,
					 bytes[2 + i] & 1 ? STT_FUNC : STT_NOTYPE};
	elf->relocation_count = bytes[0] >> 1 & 3;
	for (size_t i = 0; i < elf->relocation_count; i++)
		elf->relocations[i] = bytes[2 + i] * 7u;
}

static void check_patch(const struct mt_objfile *objfile, const struct mt_plan *plan, size_t index)
{
	const struct mt_patch *patch = &plan->patches.items[index];
	const struct mt_patch *host = mt_plan_patch_at(plan, patch->hole);
	const struct mt_trampoline_config config = {.address = 0x1000000,
						    .shared = 0x1000000,
						    .ring_bytes = 4096,
						    .stamps = MT_RING_SAMPLED};
	struct mt_trampolines made = {0};
	uint8_t bytes[MT_PATCH_MAX_BYTES];
	int64_t distance = (int64_t)(patch->hole - (patch->address + MT_PATCH_SHORT_BYTES));

	check(patch->length <= MT_PATCH_MAX_BYTES);
	check(patch->length >= (patch->hole ? MT_PATCH_SHORT_BYTES : MT_PATCH_JUMP_BYTES));
	check(!patch->hole || (distance >= INT8_MIN && distance <= INT8_MAX));
	check(!patch->hole || !host ||
	      (patch->hole >= host->address + MT_PATCH_JUMP_BYTES &&
	       patch->hole + MT_PATCH_JUMP_BYTES <= host->address + host->length));
	check(index == 0 || patch[-1].address + patch[-1].length <= patch->address);
	check(mt_objfile_read(objfile, patch->address, bytes, patch->length) == patch->length);
	check(mt_trampolines_share(&made, &config) == 0);
	/* -2: what it refers to is too far away. */
	check(mt_trampoline_append(&made, &config, patch, bytes, 1 + patch->site) != -1);
	mt_trampolines_deinit(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct made_elf elf;
	struct made_file *file;
	struct mt_objfile *objfile = NULL;
	struct mt_plan *plan = NULL;

	if (size <= HEADER_BYTES)
		return 0;
	memset(&elf, 0, sizeof(elf));
	fill(&elf, bytes, size);
	file = made_elf_file(&elf);
	check(file != NULL);
	struct mt_error *error = mt_objfile_open_memory("fuzz.so", file, sizeof(*file), &objfile);
	free(file);
	if (!error)
		error = mt_plan_create(objfile, NULL, &plan);
	check(!error == !!plan);
	for (size_t i = 0; plan && i < plan->patches.count; i++)
		check_patch(objfile, plan, i);
	mt_error_destroy(error);
	mt_plan_destroy(plan);
	mt_objfile_unref(objfile);
	return 0;
}
