/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code is always computed from the file's bytes, the enabled patches, and the breakpoints;
 * differences are written. */
#include "engine/calls/texts/texts.h"

#include "base/large.h"
#include "engine/calls/memory/swap.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "process/inject.h"

#include <string.h>

#define JUMP      0xe9
#define INT3      0xcc
#define CHUNK     (1u << 20)
#define PAGE      4096u
#define MOST_KEPT ((size_t)16 << 20) /* of memory for a text, until the next one is composed */

static bool holds(const struct mt_calls_module *module, uint64_t address)
{
	return address >= module->start && address < module->end;
}

struct texts {
	uint8_t *memory; /* what is there */
	uint8_t *text;   /* what is to be there */
	size_t size;
	bool *was;                      /* by patch: it is in `memory` */
	struct mt_calls_engine *lender; /* of both; NULL: they are its own */
};

static void leave_alone(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			struct mt_calls_place *place, struct texts *texts)
{
	memset(texts->was, 0, place->module->file->plan->patches.count * sizeof(*texts->was));
	mt_calls_leave_alone(engine, space, place);
}

/* Fresh memory costs more than what is done in it: the modules of a program share theirs. */
static void borrow_texts(struct mt_calls_engine *engine, struct texts *texts)
{
	uint8_t **const bytes[] = {&texts->memory, &texts->text};

	/* While a text is read, another one may have to be. */
	texts->lender = engine->texts_are_lent ? NULL : engine;
	engine->texts_are_lent = true;
	for (int i = 0; i < 2; i++) {
		struct mt_calls_texts_memory *kept = &engine->texts[i];

		if (!texts->lender) {
			*bytes[i] = mt_large_alloc(texts->size);
			continue;
		}
		if (texts->size > kept->size) {
			free(kept->bytes);
			kept->bytes = mt_large_alloc(texts->size);
			kept->size = kept->bytes ? texts->size : 0;
		}
		*bytes[i] = kept->bytes;
	}
}

void mt_calls_text_end(struct mt_calls_engine *engine)
{
	for (int i = 0; i < 2; i++) {
		free(engine->texts[i].bytes);
		engine->texts[i] = (struct mt_calls_texts_memory){0};
	}
}

static void texts_cleanup(struct texts *texts)
{
	if (texts->lender) {
		texts->lender->texts_are_lent = false;
		if (texts->size > MOST_KEPT)
			mt_calls_text_end(texts->lender);
	} else {
		free(texts->memory);
		free(texts->text);
	}
	free(texts->was);
}

/* Of a chunk.  The program may have unmapped some of its pages, which are zeros here. */
static size_t read_chunk(const struct mt_calls_engine *engine, pid_t pid, uint64_t address,
			 uint8_t *bytes, size_t size)
{
	const struct mt_target_ops *ops = engine->target->ops;
	size_t all = ops->read(engine->target, pid, address, bytes, size);

	if (all == size)
		return all;
	memset(bytes, 0, size);
	all = 0;
	for (size_t at = 0; at < size; at += PAGE)
		all += ops->read(engine->target, pid, address + at, bytes + at,
				 size - at < PAGE ? size - at : PAGE);
	return all;
}

/* What is in memory.  *IS_THERE false: nothing.  A library may be unloaded, and the loader has not
 * reported it yet. */
static struct mt_error *read_texts(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space,
				   struct mt_calls_module *module, struct texts *texts,
				   bool *is_there)
{
	size_t patches = module->file->plan->patches.count;

	*is_there = false;
	if (mt_calls_module_find_clean(module))
		return mt_error_no_memory();
	texts->size = module->end - module->start;
	borrow_texts(engine, texts);
	texts->was = calloc(patches + 1, sizeof(*texts->was));
	if (!texts->memory || !texts->text || !texts->was)
		return mt_error_no_memory();
	for (size_t at = 0; at < texts->size; at += CHUNK) {
		size_t size = texts->size - at < CHUNK ? texts->size - at : CHUNK;

		*is_there |= read_chunk(engine, space->pid, module->start + at, texts->memory + at,
					size) != 0;
		mt_try(mt_calls_breathe(engine, space));
	}
	return NULL;
}

/* Which patches are in there: whether any is.  Before we have written anything, these are a killed
 * tracer's, and lead elsewhere. */
static bool find_patches(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			 const struct mt_calls_place *place, bool first, struct texts *texts)
{
	const struct mt_calls_module *module = place->module;
	const size_t count = module->file->plan->patches.count;

	memcpy(texts->was, place->written, count * sizeof(*texts->was));
	if (!memchr(texts->was, 1, count))
		return false;
	return (first && mt_calls_is_mapped(engine, space, module)) ||
	       mt_calls_keep_intact(space, module, texts->memory, texts->was);
}

/* In other memory it may well be by chance that something looks like a jump to what is left. */
static bool undo_left(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      const struct mt_calls_module *module, uint8_t *text)
{
	const size_t size = module->end - module->start;

	return mt_calls_is_mapped(engine, space, module)
		   ? mt_calls_left_undo(space->left, module->start, text, module->clean, size)
		   : !mt_calls_left_is_reached(space->left, module->start, text, size);
}

/* The program's own bytes: those of the file where we wrote, and else what is there (text
 * relocations, others' breakpoints). */
static void undo(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		 const struct mt_calls_place *place, struct texts *texts)
{
	const struct mt_calls_module *module = place->module;
	uint8_t *text = texts->text;
	const struct mt_calls_piece piece = {module->start, texts->size, text};

	memcpy(text, texts->memory, texts->size);
	mt_calls_undo_breaks(space, &piece);
	for (size_t i = 0; i < module->file->plan->patches.count; i++) {
		const struct mt_patch *patch = &module->file->plan->patches.items[i];
		size_t at = patch->address + module->bias - module->start;
		size_t hole = patch->hole + module->bias - module->start;

		if (!texts->was[i])
			continue;
		memcpy(text + at, module->clean + at, patch->length);
		if (patch->hole)
			memcpy(text + hole, module->clean + hole, MT_PATCH_JUMP_BYTES);
	}
	if (space->left && !place->another && !undo_left(engine, space, module, text))
		space->left->is_whole = false;
}

struct leaving {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	const struct mt_calls_place *place;
};

static struct mt_error *leave_hole(void *context, pid_t lwp)
{
	const struct leaving *leaving = context;
	struct mt_error *error = mt_calls_leave_hole(leaving->engine, leaving->place, lwp);

	/* One that vfork() holds runs nothing. */
	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}

static struct mt_error *leave_holes(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    const struct mt_calls_place *place)
{
	struct leaving leaving = {engine, space, place};

	/* While the text is hidden there are none. */
	if (!memchr(place->written, 1, place->module->file->plan->patches.count))
		return NULL;
	return engine->target->ops->each_thread(engine->target, space->pid, leave_hole, &leaving);
}

static struct mt_error *move_thread(void *context, pid_t lwp)
{
	const struct leaving *leaving = context;
	struct mt_error *error = mt_calls_displace_thread(leaving->engine, leaving->space, lwp);

	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}

struct leaving_old {
	struct mt_calls_engine *engine;
	const struct mt_calls_module *module;
	const uint8_t *memory;
};

/* One that stands behind a system call to be made again stays: there it finds the file's code. */
static struct mt_error *leave_old_hole(void *context, pid_t lwp)
{
	const struct leaving_old *leaving = context;
	const struct mt_target_ops *ops = leaving->engine->target->ops;
	const struct mt_calls_module *module = leaving->module;
	struct user_regs_struct registers;
	int32_t distance;
	struct mt_error *error = ops->get_registers(leaving->engine->target, lwp, &registers);
	uint64_t at = error ? 0 : registers.rip - module->start;

	mt_error_destroy(error); /* one that vfork() holds runs nothing */
	if (error || mt_inject_is_restarted(&registers) ||
	    at >= module->end - module->start - MT_PATCH_JUMP_BYTES ||
	    leaving->memory[at] != JUMP ||
	    memcmp(leaving->memory + at, module->clean + at, MT_PATCH_JUMP_BYTES) == 0)
		return NULL;
	memcpy(&distance, leaving->memory + at + 1, sizeof(distance));
	registers.rip += MT_PATCH_JUMP_BYTES + (uint64_t)(int64_t)distance;
	return ops->set_registers(leaving->engine->target, lwp, &registers);
}

/* To the text, with what is written. */
static struct mt_error *change(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			       const struct mt_calls_place *place, const struct texts *texts)
{
	const struct mt_calls_text_change change = {
	    .memory = texts->memory, .text = texts->text, .was = texts->was, .is = place->written};

	mt_try(mt_calls_write_beneath(engine, space, place->module, texts->memory, texts->text));
	return mt_calls_text_change(engine, space, space->pid, place->module, &change);
}

/* The whole text, in which nobody else has anything. */
static struct mt_error *exchange(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				 const struct mt_calls_place *place, const struct texts *texts,
				 const uint8_t *text)
{
	const struct mt_calls_text_change change = {
	    .memory = texts->memory, .text = text, .was = texts->was, .is = place->written};

	return mt_calls_text_change(engine, space, space->pid, place->module, &change);
}

/* All that is to be in the text, over the program's own bytes. */
static struct mt_error *compose(const struct mt_calls_engine *engine, struct mt_calls_space *space,
				struct mt_calls_place *place, struct texts *texts, bool first)
{
	const struct mt_calls_piece piece = {place->module->start, texts->size, texts->text};

	if (mt_calls_leave_out(engine, space, place, texts->text, first))
		return mt_error_no_memory();
	mt_calls_compose(space, place, &piece);
	return NULL;
}

void mt_calls_text_note_written(struct mt_calls_space *space, struct mt_calls_place *place,
				bool is_written)
{
	mt_array_each (one, &space->breaks)
		if (holds(place->module, one->address))
			one->written = is_written && !one->held;
	/* While all stand still, of a hundred thousand: what does not change is not read again. */
	const size_t count = place->module->file->plan->patches.count;
	const uint8_t *const off = place->off;
	const uint8_t *const held = place->held;
	bool *const written = place->written;
	if (!is_written)
		memset(written, 0, count * sizeof(*written));
	for (size_t i = 0; i < count && is_written; i++)
		written[i] = !off[i] && !held[i];
	place->is_current = is_written;
}

/* Before the text changes for the first time: should we be killed in between, they go on all the
 * same. */
static struct mt_error *move_threads(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     const struct mt_calls_place *place)
{
	struct leaving leaving = {engine, space, place};

	return engine->target->ops->each_thread(engine->target, space->pid, move_thread, &leaving);
}

/* In a program that dies with us. */
static struct mt_error *begin(struct mt_calls_engine *engine, struct mt_calls_space *space,
			      struct mt_calls_place *place)
{
	if (mt_calls_leave_out(engine, space, place, NULL, true))
		return mt_error_no_memory();
	mt_calls_text_note_written(space, place, true);
	mt_try(move_threads(engine, space, place));
	return mt_calls_text_begin(engine, space, place);
}

/* What was read is the module's, though nothing of ours is in it: the program may have moved it
 * into memory of no file.  Else the library was unloaded, which the loader has not reported yet,
 * and this is in its place. */
static bool is_text(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
		    const struct mt_calls_module *module, const struct texts *texts)
{
	return mt_calls_is_mapped(engine, space, module) ||
	       (module->clean && memcmp(texts->memory, module->clean, texts->size) == 0);
}

struct mt_error *mt_calls_text_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place)
{
	__attribute__((cleanup(texts_cleanup))) struct texts texts = {0};
	const struct mt_calls_module *module = place->module;
	bool first = !place->checked, is_there;

	if (space->hidden)
		return NULL;
	if (space->is_left)
		return mt_calls_text_clean(engine, space, place);
	if (first && !space->attached && mt_calls_is_text_of_file(engine, space, module)) {
		place->checked = true;
		return begin(engine, space, place);
	}
	/* When it is there again, that is the first time. */
	place->checked = false;
	mt_try(read_texts(engine, space, place->module, &texts, &is_there));
	if (!is_there)
		return NULL;
	const bool any = find_patches(engine, space, place, first, &texts);
	memcpy(place->written, texts.was, module->file->plan->patches.count * sizeof(*texts.was));
	if (!any && !is_text(engine, space, module, &texts))
		return NULL;
	place->checked = true;
	if (!first)
		mt_try(leave_holes(engine, space, place));
	if (first && mt_calls_is_another(engine, space, module, texts.memory))
		leave_alone(engine, space, place, &texts);
	const uint8_t *again = first ? NULL : mt_calls_shown_again(space, place, texts.memory);
	if (again) {
		mt_calls_text_note_written(space, place, true);
		return exchange(engine, space, place, &texts, again);
	}
	undo(engine, space, place, &texts);
	const bool is_clean = engine->options.live && module->clean &&
			      memcmp(texts.text, module->clean, texts.size) == 0;
	if (first && space->inherited && !engine->options.is_clean && !place->another) {
		/* Another tracer of ours was killed here, and nobody knows all that it left. */
		const struct mt_calls_text_change change = {
		    .memory = texts.memory, .text = place->module->clean, .was = texts.was};

		memcpy(texts.text, place->module->clean, texts.size);
		/* Who stands before a jump that is not the program's goes where it leads, to what
		 * the other left: it may be the second one of two. */
		struct leaving_old leaving = {engine, place->module, texts.memory};
		mt_try(engine->target->ops->each_thread(engine->target, space->pid, leave_old_hole,
							&leaving));
		mt_try(mt_calls_text_change(engine, space, space->pid, place->module, &change));
		memset(texts.was, 0, place->module->file->plan->patches.count * sizeof(*texts.was));
	}
	mt_try(compose(engine, space, place, &texts, first));
	if (is_clean)
		mt_calls_shown_keep(space, place, texts.text);
	else
		mt_calls_shown_forget(place);
	mt_calls_text_note_written(space, place, true);
	if (first)
		mt_try(move_threads(engine, space, place));
	return change(engine, space, place, &texts);
}

struct mt_error *mt_calls_text_clean(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place)
{
	__attribute__((cleanup(texts_cleanup))) struct texts texts = {0};
	const size_t count = place->module->file->plan->patches.count;
	bool is_there;

	mt_try(read_texts(engine, space, place->module, &texts, &is_there));
	/* In the text as it was shown all patches are that were written. */
	const uint8_t *clean = mt_calls_shown_clean(space, place, texts.memory);
	if (clean)
		memcpy(texts.was, place->written, count * sizeof(*texts.was));
	else
		is_there &= find_patches(engine, space, place, !place->checked, &texts) ||
			    is_text(engine, space, place->module, &texts);
	memcpy(place->written, texts.was, count * sizeof(*texts.was));
	if (!is_there)
		return NULL;
	mt_try(leave_holes(engine, space, place));
	if (!clean)
		undo(engine, space, place, &texts);
	mt_calls_text_note_written(space, place, false);
	return clean ? exchange(engine, space, place, &texts, clean)
		     : change(engine, space, place, &texts);
}

struct mt_error *mt_calls_text_look(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place, bool *is_patched)
{
	__attribute__((cleanup(texts_cleanup))) struct texts texts = {0};
	bool is_there;

	mt_try(read_texts(engine, space, place->module, &texts, &is_there));
	*is_patched = is_there && find_patches(engine, space, place, !place->checked, &texts);
	return NULL;
}

/* Whether the first of the place's patches is in the text. */
static bool is_first_there(const struct mt_calls_engine *engine, const struct mt_calls_space *space,
			   const struct mt_calls_place *place)
{
	const struct mt_plan *plan = place->module->file->plan;
	const bool *written = memchr(place->written, 1, plan->patches.count);
	uint8_t bytes[MT_CALLS_NEAR];

	if (!written)
		return true;
	const size_t index = (size_t)(written - place->written);
	const struct mt_patch *patch = &plan->patches.items[index];
	struct mt_calls_piece piece = {.start = patch->address + place->module->bias,
				       .bytes = bytes};
	if (patch->hole && patch->hole < patch->address)
		piece.start = patch->hole + place->module->bias;
	piece.size = engine->target->ops->read(engine->target, space->pid, piece.start, bytes,
					       sizeof(bytes));
	return mt_calls_is_intact(space, place->module, index, &piece);
}

struct mt_error *mt_calls_text_is_kept(struct mt_calls_engine *engine,
				       const struct mt_calls_space *space,
				       const struct mt_calls_place *place, bool *is_kept)
{
	*is_kept = space->hidden || space->is_left ||
		   (place->checked && is_first_there(engine, space, place));
	if (*is_kept || !place->checked)
		return NULL;
	return mt_calls_text_look(engine, space, place, is_kept);
}

struct mt_error *mt_calls_text_write_again(struct mt_calls_engine *engine,
					   struct mt_calls_space *space,
					   struct mt_calls_place *place)
{
	mt_calls_text_note_written(space, place, false);
	place->checked = false;
	return mt_calls_text_write(engine, space, place);
}

/* While a text is read, places may come and go.  NULL: it went. */
static struct mt_calls_place *find_place(struct mt_calls_space *space,
					 const struct mt_calls_module *module)
{
	struct mt_calls_place *place = mt_calls_place_at(space, module->start);

	return place && place->module == module ? place : NULL;
}

struct mt_error *mt_calls_text_prepare(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_place *place, struct mt_calls_swap *swap)
{
	__attribute__((cleanup(texts_cleanup))) struct texts texts = {0};
	struct mt_calls_module *module = place->module;
	struct mt_calls_copy *copy = mt_calls_swap_find(swap, module->start);
	bool is_there;

	if (!copy)
		return NULL;
	mt_try(read_texts(engine, space, module, &texts, &is_there));
	place = find_place(space, module);
	if (!is_there || !place || !mt_calls_is_mapped(engine, space, module) ||
	    !mt_calls_swap_is_read(swap, copy, texts.memory, module->clean))
		return NULL;
	place->checked = true;
	find_patches(engine, space, place, true, &texts);
	if (mt_calls_is_another(engine, space, module, texts.memory))
		leave_alone(engine, space, place, &texts);
	undo(engine, space, place, &texts);
	mt_try(compose(engine, space, place, &texts, true));
	return mt_calls_swap_fill(engine, space, copy, texts.text, module->clean);
}

/* A debugger's breakpoint instruction stands on a patch that was written: what it covers, and comes
 * back when it goes, is our jump. */
static bool has_covered(const struct mt_calls_module *module, const struct texts *texts)
{
	for (size_t i = 0; i < module->file->plan->patches.count; i++)
		if (texts->was[i] &&
		    texts->memory[mt_calls_patch_address(module, i) - module->start] == INT3)
			return true;
	return false;
}

struct mt_error *mt_calls_text_prepare_clean(struct mt_calls_engine *engine,
					     struct mt_calls_space *space,
					     const struct mt_calls_place *place,
					     struct mt_calls_swap *swap)
{
	__attribute__((cleanup(texts_cleanup))) struct texts texts = {0};
	struct mt_calls_module *module = place->module;
	struct mt_calls_copy *copy = mt_calls_swap_find(swap, module->start);
	bool is_there;

	if (!copy)
		return NULL;
	mt_try(read_texts(engine, space, module, &texts, &is_there));
	place = find_place(space, module);
	if (!is_there || !place)
		return NULL; /* nothing to the others */
	find_patches(engine, space, place, !place->checked, &texts);
	undo(engine, space, place, &texts);
	/* With what is of others it is written in place: it may be another file's by now, and the
	 * debugger is to know what lies beneath its breakpoints. */
	copy->is_filled =
	    memcmp(texts.text, module->clean, texts.size) == 0 && !has_covered(module, &texts);
	return NULL;
}
