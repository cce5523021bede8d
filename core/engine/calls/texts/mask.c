/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts that are hidden, and patched all the same.  Where the debugger lets us answer what it reads
 * of the program, patches may stay in memory while people look: what is read is given as it would
 * be without us.  So a stop changes nothing in the text, and at the next resumption those patches
 * alone come and go that stay out for another reason than before.
 *
 * What is in memory can be run from wherever threads stand: the patches from whose trampolines they
 * are led out go before.  So nothing depends on our being there when the program goes on. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "process/interrupted.h"

#include <string.h>

#define PAGE   4096u
#define NEAR   MT_CALLS_NEAR
#define MARGIN (2 * NEAR)
#define MOST   ((size_t)64 << 10) /* of bytes that are looked at together */

static size_t count_of(const struct mt_calls_place *place)
{
	return place->module->file->plan->patches.count;
}

/* ---- what is read ---- */

/* The program's own bytes over the PIECE of a text, where our patches are.  False: one is not there
 * that was written. */
static bool restore(const struct mt_calls_space *space, const struct mt_calls_place *place,
		    const struct mt_calls_piece *piece)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const uint64_t start = piece->start - module->bias;
	const size_t first = mt_calls_first_patch(plan, start > NEAR ? start - NEAR : 0);
	const size_t end = mt_calls_first_patch(plan, start + piece->size + NEAR);
	bool is_whole = true;

	bool *was = calloc(end - first + 1, sizeof(*was));
	for (size_t i = first; was && i < end; i++) {
		was[i - first] = place->written[i] && mt_calls_is_intact(space, module, i, piece);
		is_whole &= was[i - first] || !place->written[i] ||
			    !mt_calls_piece_has_patch(piece, module, i);
	}
	for (size_t i = first; was && i < end; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		const uint64_t hole = patch->hole + module->bias;

		if (!was[i - first])
			continue;
		mt_calls_clean_bytes(module, patch->address + module->bias,
				     piece->bytes + (patch->address - start), patch->length);
		if (patch->hole)
			mt_calls_clean_bytes(module, hole, piece->bytes + (hole - piece->start),
					     MT_PATCH_JUMP_BYTES);
	}
	free(was);
	return was && is_whole;
}

/* [from, end) of a text and what lies near it, without our patches.  Not 0: nobody knows. */
static int read_piece(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      const struct mt_calls_place *place, uint64_t from, uint64_t end,
		      struct mt_calls_piece *piece, bool *is_whole)
{
	const struct mt_calls_module *module = place->module;

	piece->start = from - module->start > MARGIN ? from - MARGIN : module->start;
	piece->size = (module->end - end > MARGIN ? end + MARGIN : module->end) - piece->start;
	piece->bytes = malloc(piece->size);
	if (!piece->bytes || engine->target->ops->read(engine->target, space->pid, piece->start,
						       piece->bytes, piece->size) != piece->size)
		return -1;
	*is_whole = restore(space, place, piece);
	return 0;
}

static void give(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		 const struct mt_calls_place *place, uint64_t from, uint64_t end, uint8_t *bytes)
{
	struct mt_calls_piece piece;
	bool is_whole;

	if (read_piece(engine, space, place, from, end, &piece, &is_whole) == 0)
		memcpy(bytes, piece.bytes + (from - piece.start), end - from);
	free(piece.bytes);
}

bool mt_calls_original(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		       uint64_t address, uint8_t *bytes, size_t size)
{
	const bool is_patched = space->masked || !space->hidden;
	const uint64_t end = address + size;
	bool is_text = false;

	mt_array_each (place, &space->places) {
		const struct mt_calls_module *module = place->module;
		uint64_t from = address > module->start ? address : module->start;
		const uint64_t last = end < module->end ? end : module->end;

		is_text |= from < last;
		for (uint64_t next; bytes && is_patched && from < last; from = next) {
			next = last - from > MOST ? from + MOST : last;
			give(engine, space, place, from, next, bytes + (from - address));
		}
	}
	return is_text;
}

/* ---- what changes ---- */

static void mark(const struct mt_calls_module *module, bool *pages, uint64_t address, size_t length)
{
	const uint64_t at = address + module->bias - module->start;

	pages[at / PAGE] = pages[(at + length - 1) / PAGE] = true;
}

/* By page: some of its patches are to come or to go.  Returns how many. */
static size_t find_changes(const struct mt_calls_place *place, bool *pages)
{
	const struct mt_calls_module *module = place->module;
	size_t count = 0;

	for (size_t i = 0; i < count_of(place); i++) {
		const struct mt_patch *patch = &module->file->plan->patches.items[i];

		if (place->written[i] == mt_calls_is_on(place, i))
			continue;
		mark(module, pages, patch->address, patch->length);
		if (patch->hole)
			mark(module, pages, patch->hole, MT_PATCH_JUMP_BYTES);
	}
	for (size_t at = 0; at < module->end - module->start; at += PAGE)
		count += pages[at / PAGE];
	return count;
}

/* Those that come stand in the file's own bytes. */
static bool can_come(const struct mt_calls_place *place, const struct mt_calls_piece *piece)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const size_t end = mt_calls_first_patch(plan, piece->start + piece->size - module->bias);

	for (size_t i = mt_calls_first_patch(plan, piece->start - module->bias); i < end; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		const uint64_t spans[][2] = {{patch->address, patch->length},
					     {patch->hole, patch->hole ? MT_PATCH_JUMP_BYTES : 0}};
		uint8_t clean[MT_PATCH_MAX_BYTES];

		if (place->written[i] || !mt_calls_is_on(place, i))
			continue;
		for (int part = 0; part < 2; part++) {
			const uint64_t address = spans[part][0] + module->bias;
			const size_t length = spans[part][1];

			if (!length || !mt_calls_piece_holds(piece, address, length))
				continue;
			mt_calls_clean_bytes(module, address, clean, length);
			if (memcmp(piece->bytes + (address - piece->start), clean, length) != 0)
				return false;
		}
	}
	return true;
}

static struct mt_error *update_pages(const struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_place *place, uint64_t from,
				     uint64_t end, bool *done)
{
	struct mt_calls_piece piece;
	struct mt_error *error = NULL;

	*done = read_piece(engine, space, place, from, end, &piece, done) == 0 && *done &&
		can_come(place, &piece);
	if (*done) {
		mt_calls_compose(space, place, &piece);
		error = engine->target->ops->write(engine->target, space->pid, from,
						   piece.bytes + (from - piece.start), end - from);
	}
	free(piece.bytes);
	return error;
}

static struct mt_error *update_marked(const struct mt_calls_engine *engine,
				      const struct mt_calls_space *space,
				      const struct mt_calls_place *place, const bool *pages,
				      bool *done)
{
	const struct mt_calls_module *module = place->module;
	const size_t size = module->end - module->start;
	struct mt_error *error = NULL;

	for (size_t at = 0; !error && *done && at < size; at += PAGE) {
		const size_t from = at;

		while (at < size && pages[at / PAGE])
			at += PAGE;
		if (at > from)
			error = update_pages(engine, space, place, module->start + from,
					     module->start + (at < size ? at : size), done);
	}
	return error;
}

/* Of a process that outlives us a page is written at once or not at all, and no more than that. */
struct mt_error *mt_calls_text_update(const struct mt_calls_engine *engine,
				      struct mt_calls_space *space, struct mt_calls_place *place,
				      bool *done)
{
	const struct mt_calls_module *module = place->module;
	struct mt_error *error = NULL;

	*done = place->checked;
	if (!*done || place->is_current)
		return NULL;
	bool *pages = calloc((module->end - module->start) / PAGE + 1, sizeof(*pages));
	if (!pages)
		return mt_error_no_memory();
	const size_t changed = find_changes(place, pages);
	*done = changed <= 1 || !space->attached;
	if (changed && *done)
		error = update_marked(engine, space, place, pages, done);
	if (changed && *done && !error)
		mt_calls_text_note_written(space, place, true);
	else if (!changed)
		place->is_current = true;
	free(pages);
	return error;
}

/* ---- hiding ---- */

struct standing {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	bool in_ours, in_hole;
	bool is_elsewhere; /* in other code of ours than trampolines */
	size_t looked;     /* at so many places */
};

/* Whether it is to be led elsewhere. */
static struct mt_error *look(void *context, uint64_t pc)
{
	struct standing *standing = context;
	const struct mt_calls_place *place = mt_calls_place_at(standing->space, pc);

	standing->looked++;
	standing->in_hole |= place && mt_calls_patch_of_hole(place, pc) >= 0;
	standing->in_ours |= mt_calls_is_ours(standing->space, pc);
	return NULL;
}

/* Out of the trampoline at PC threads are led into the bytes of its patch. */
static struct mt_error *hold_patch_of(void *context, uint64_t pc)
{
	struct standing *standing = context;
	struct mt_calls_place *place = mt_calls_place_of_trampoline(standing->space, pc);
	const struct mt_trampoline_row *row = place ? mt_calls_row_at(place->module, pc) : NULL;
	const struct mt_plan *plan = row ? place->module->file->plan : NULL;
	const struct mt_patch *patch =
	    plan ? mt_plan_patch_at(plan, row->original - place->module->bias) : NULL;

	if (patch)
		mt_calls_patch_hold(place, (size_t)(patch - plan->patches.items));
	standing->is_elsewhere |= !patch && mt_calls_is_ours(standing->space, pc);
	return NULL;
}

/* Of who is in what trampolines share: where in one of them it will be behind that. */
static uint64_t place_of(const struct standing *standing, const struct user_regs_struct *registers)
{
	struct mt_target *target = standing->engine->target;
	const struct mt_calls_place *place =
	    mt_calls_place_of_trampoline(standing->space, registers->rip);
	const struct mt_trampoline_row *row =
	    place ? mt_calls_row_at(place->module, registers->rip) : NULL;
	uint64_t returns = 0;

	if (!row || row->phase != MT_PHASE_SHARED ||
	    target->ops->read(target, standing->space->pid,
			      registers->rsp + (uint64_t)row->below - sizeof(returns), &returns,
			      sizeof(returns)) != sizeof(returns))
		return registers->rip;
	return mt_calls_place_of_trampoline(standing->space, returns) == place ? returns
									       : registers->rip;
}

/* Where the thread stands, and where it will when its signal handlers return.  Looks for these
 * once. */
static struct mt_error *look_at(struct standing *standing, struct mt_calls_thread *thread,
				const struct user_regs_struct *registers)
{
	mt_try(look(standing, place_of(standing, registers)));
	const size_t before = standing->looked;
	mt_try(mt_interrupted_each(standing->engine->target, standing->space->pid, registers->rsp,
				   look, standing));
	if (standing->looked == before)
		thread->quiet_sp = registers->rsp;
	return NULL;
}

static struct mt_error *hold_patches_of(struct standing *standing, struct mt_calls_thread *thread,
					const struct user_regs_struct *registers)
{
	mt_try(hold_patch_of(standing, place_of(standing, registers)));
	if (thread->quiet_sp == registers->rsp)
		return NULL;
	return mt_interrupted_each(standing->engine->target, standing->space->pid, registers->rsp,
				   hold_patch_of, standing);
}

static struct mt_error *
each_standing(struct standing *standing,
	      struct mt_error *(*found)(struct standing *standing, struct mt_calls_thread *thread,
					const struct user_regs_struct *registers))
{
	struct mt_target *target = standing->engine->target;

	for (struct mt_calls_thread *thread = standing->engine->threads; thread;
	     thread = thread->hh.next) {
		struct user_regs_struct registers;

		if (thread->space != standing->space)
			continue;
		struct mt_error *error =
		    target->ops->get_registers(target, thread->lwp, &registers);
		const bool is_there = !error;
		mt_error_destroy(error); /* it ended */
		if (is_there)
			mt_try(found(standing, thread, &registers));
	}
	return NULL;
}

/* What a breakpoint has in the text is a patch's jump, which leads to its stub. */
static bool has_own_bytes(const struct mt_calls_space *space)
{
	mt_array_each (one, &space->breaks)
		if (one->length && !one->hook)
			return true;
	return false;
}

static bool may_mask(const struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	const struct mt_target_ops *ops = engine->target->ops;

	if (!ops->masks_reads || has_own_bytes(space) || space->waiting.count || space->left ||
	    space->inherited)
		return false;
	mt_array_each (place, &space->places)
		if (!place->checked || place->another || mt_calls_module_find_clean(place->module))
			return false;
	return ops->masks_reads(engine->target, space->pid);
}

struct mt_error *mt_calls_mask(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       bool *is_aside)
{
	struct standing standing = {.engine = engine, .space = space};

	*is_aside = false;
	if (!may_mask(engine, space))
		return NULL;
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		thread->quiet_sp = 0;
	mt_try(each_standing(&standing, look_at));
	*is_aside = !standing.in_ours && !standing.in_hole;
	if (standing.in_hole)
		mt_try(mt_calls_leave_holes(engine, space));
	if (!*is_aside)
		mt_try(each_standing(&standing, hold_patches_of));
	space->masked = !standing.is_elsewhere;
	mt_array_each (place, &space->places)
		if (space->masked)
			mt_try(mt_calls_text_update(engine, space, place, &space->masked));
	return NULL;
}

struct mt_error *mt_calls_unmask(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	if (!space->masked)
		return NULL;
	space->masked = false;
	mt_array_each (place, &space->places)
		mt_try(mt_calls_text_clean(engine, space, place));
	return NULL;
}
