/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which order a text changes, so that it is a program's after each single write: we may be
 * killed between any two, and then its threads run what is there.  (A program that we started dies
 * with us: its text is written at once.)
 *
 * A write within a page is done or not done.  What may be overwritten at any time is what nobody
 * comes to: a hole before its short jump is there, and what lies behind a patch's own jump as long
 * as that stands.  So a patch comes in these steps, and goes in the other order:
 *
 *	the long jump into its hole, the jump of the patch itself, the dead bytes behind that
 *
 * A patch whose hole lies among another's dead bytes, or that displaces the return to which another
 * one's branches went, comes after that other.  Patches of the same step depend on each other in
 * nothing, and are written by pages.  One that lies across a page's end is written by itself.
 *
 * What remains is a jump that itself lies across a page's end, one in a thousand: the system writes
 * it in two parts, and looks between them whether we were killed. */
#include "engine/calls/texts/texts.h"

#include <string.h>

#define PAGE        4096u
#define MOST_LEVELS 8u

struct order {
	struct mt_calls_engine *engine;
	pid_t pid;
	const struct mt_calls_module *module;
	size_t size;
	uint8_t *memory; /* what is there */
	uint8_t *image;  /* what is to be there after this step */
	bool *dirty;     /* by page: they may differ */
};

/* A patch that needs another one in the text. */
struct need {
	uint32_t one, other;
};

struct needs {
	const struct mt_plan *plan;
	MT_ARRAY(struct need) items;
	bool failed;
};

static void add_need(struct needs *needs, const struct mt_patch *one, const struct mt_patch *other)
{
	const struct mt_patch *first = needs->plan->patches.items;
	struct need need = {(uint32_t)(one - first), (uint32_t)(other - first)};

	if (one != other && mt_array_push(&needs->items, need))
		needs->failed = true;
}

/* Not those that would only be recorded once too often without the other. */
static void find_needs(struct needs *needs, const struct mt_patch *patch)
{
	const struct mt_patch *there, *last = NULL;

	for (unsigned i = 0; patch->hole && i < MT_PATCH_JUMP_BYTES; i++) {
		there = mt_plan_patch_at(needs->plan, patch->hole + i);
		if (there && there != last)
			add_need(needs, patch, there);
		last = there;
	}
	if (!patch->redirect || patch->flags & MT_PATCH_AGAIN)
		return;
	there = mt_plan_patch_at(needs->plan, patch->redirect);
	if (there && there->address < patch->redirect)
		add_need(needs, there, patch);
}

static bool deepen(const struct needs *needs, uint8_t *levels)
{
	bool deeper = false;

	mt_array_each (need, &needs->items) {
		uint8_t least = (uint8_t)(levels[need->other] + 1);

		if (levels[need->one] >= least || least >= MOST_LEVELS)
			continue;
		levels[need->one] = least;
		deeper = true;
	}
	return deeper;
}

int mt_calls_order_levels(const struct mt_plan *plan, uint8_t **out)
{
	struct needs needs = {.plan = plan};

	*out = calloc(plan->patches.count + 1, 1);
	mt_array_each (patch, &plan->patches)
		find_needs(&needs, patch);
	while (*out && !needs.failed && deepen(&needs, *out))
		;
	mt_array_deinit(&needs.items);
	return *out && !needs.failed ? 0 : -1;
}

/* The text itself begins with a page. */
static bool crosses(size_t at, size_t length)
{
	return at / PAGE != (at + length - 1) / PAGE;
}

static void put(struct order *order, const uint8_t *from, size_t at, size_t length)
{
	memcpy(order->image + at, from + at, length);
	order->dirty[at / PAGE] = order->dirty[(at + length - 1) / PAGE] = true;
}

static struct mt_error *write_at(struct order *order, size_t from, size_t end)
{
	mt_try(order->engine->target->ops->write(order->engine->target, order->pid,
						 order->module->start + from, order->image + from,
						 end - from));
	memcpy(order->memory + from, order->image + from, end - from);
	return NULL;
}

/* At once. */
static struct mt_error *put_now(struct order *order, const uint8_t *from, size_t at, size_t length)
{
	if (memcmp(order->memory + at, from + at, length) == 0)
		return NULL;
	memcpy(order->image + at, from + at, length);
	return write_at(order, at, at + length);
}

static bool differs(const struct order *order, size_t at)
{
	size_t left = order->size - at;

	return order->dirty[at / PAGE] &&
	       memcmp(order->memory + at, order->image + at, left < PAGE ? left : PAGE) != 0;
}

/* The step's pages. */
static struct mt_error *flush(struct order *order)
{
	for (size_t at = 0; at < order->size; at += PAGE) {
		size_t from = at;

		while (at < order->size && differs(order, at))
			at += PAGE;
		if (at > from)
			mt_try(write_at(order, from, at < order->size ? at : order->size));
	}
	memset(order->dirty, 0, order->size / PAGE + 1);
	return NULL;
}

/* A jump and what is dead behind it. */
static struct mt_error *install(struct order *order, const uint8_t *text, size_t at, size_t jump,
				size_t length)
{
	if (!crosses(at, length)) {
		put(order, text, at, length);
		return NULL;
	}
	mt_try(put_now(order, text, at, jump));
	return length > jump ? put_now(order, text, at + jump, length - jump) : NULL;
}

static struct mt_error *take_out(struct order *order, const uint8_t *clean, size_t at, size_t jump,
				 size_t length)
{
	if (!crosses(at, length)) {
		put(order, clean, at, length);
		return NULL;
	}
	if (length > jump)
		mt_try(put_now(order, clean, at + jump, length - jump));
	return put_now(order, clean, at, jump);
}

static size_t offset_of(const struct order *order, uint64_t file_address)
{
	return file_address + order->module->bias - order->module->start;
}

static struct mt_error *put_hole(struct order *order, const uint8_t *from,
				 const struct mt_patch *patch)
{
	size_t at = offset_of(order, patch->hole);

	if (!patch->hole)
		return NULL;
	if (crosses(at, MT_PATCH_JUMP_BYTES))
		return put_now(order, from, at, MT_PATCH_JUMP_BYTES);
	put(order, from, at, MT_PATCH_JUMP_BYTES);
	return NULL;
}

static bool stays(const struct mt_calls_text_change *change, size_t patch)
{
	return change->is && change->is[patch];
}

static bool leaves(const struct mt_calls_text_change *change, size_t patch)
{
	return change->was[patch] && !stays(change, patch);
}

static size_t jump_bytes(const struct mt_patch *patch)
{
	return patch->hole ? MT_PATCH_SHORT_BYTES : MT_PATCH_JUMP_BYTES;
}

static struct mt_error *take_level(struct order *order, const struct mt_calls_text_change *change,
				   int level)
{
	const struct mt_calls_module *module = order->module;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (module->levels[i] == level && leaves(change, i))
			mt_try(take_out(order, module->clean, offset_of(order, patch->address),
					jump_bytes(patch), patch->length));
	}
	mt_try(flush(order));
	for (size_t i = 0; i < plan->patches.count; i++)
		if (module->levels[i] == level && leaves(change, i))
			mt_try(put_hole(order, module->clean, &plan->patches.items[i]));
	return flush(order);
}

static struct mt_error *put_level(struct order *order, const struct mt_calls_text_change *change,
				  int level)
{
	const struct mt_calls_module *module = order->module;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++)
		if (module->levels[i] == level && stays(change, i))
			mt_try(put_hole(order, change->text, &plan->patches.items[i]));
	mt_try(flush(order));
	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (module->levels[i] == level && stays(change, i))
			mt_try(install(order, change->text, offset_of(order, patch->address),
				       jump_bytes(patch), patch->length));
	}
	return flush(order);
}

static struct mt_error *change(struct order *order, const struct mt_calls_space *space,
			       const struct mt_calls_text_change *change)
{
	for (int level = MOST_LEVELS - 1; level >= 0; level--)
		mt_try(take_level(order, change, level));
	/* A breakpoint's own jump overlaps no patch that is in the text with it. */
	mt_array_each (one, &space->breaks) {
		size_t at = one->address - order->module->start;

		if (at >= order->size || one->length < MT_PATCH_JUMP_BYTES)
			continue;
		bool goes = memcmp(change->text + at, one->original, one->length) == 0;
		mt_try((goes ? take_out : install)(order, change->text, at, MT_PATCH_JUMP_BYTES,
						   one->length));
	}
	mt_try(flush(order));
	for (int level = 0; level < (int)MOST_LEVELS; level++)
		mt_try(put_level(order, change, level));
	/* Any other bytes are those of a tracer of ours that was killed here, or an int3 in a
	 * program that dies with us. */
	put(order, change->text, 0, order->size);
	memset(order->dirty, true, order->size / PAGE + 1);
	return flush(order);
}

/* All at once: nobody runs what would be there between two writes. */
static struct mt_error *replace(struct mt_calls_engine *engine, pid_t pid,
				const struct mt_calls_module *module,
				const struct mt_calls_text_change *what)
{
	size_t size = module->end - module->start;

	for (size_t at = 0; at < size; at += PAGE) {
		size_t from = at;

		while (at < size && memcmp(what->memory + at, what->text + at,
					   size - at < PAGE ? size - at : PAGE) != 0)
			at += PAGE;
		size_t end = at < size ? at : size;
		if (end == from)
			continue;
		mt_try(engine->target->ops->write(engine->target, pid, module->start + from,
						  what->text + from, end - from));
		memcpy(what->memory + from, what->text + from, end - from);
	}
	return NULL;
}

struct mt_error *mt_calls_text_change(struct mt_calls_engine *engine,
				      const struct mt_calls_space *space, pid_t pid,
				      struct mt_calls_module *module,
				      const struct mt_calls_text_change *what)
{
	struct order order = {.engine = engine,
			      .pid = pid,
			      .module = module,
			      .size = module->end - module->start,
			      .memory = what->memory};
	struct mt_error *error = mt_error_no_memory();

	if (!space->attached) {
		mt_error_destroy(error);
		return replace(engine, pid, module, what);
	}
	order.image = malloc(order.size);
	order.dirty = calloc(order.size / PAGE + 1, sizeof(*order.dirty));
	if (order.image && order.dirty &&
	    (module->levels || !mt_calls_order_levels(module->file->plan, &module->levels))) {
		mt_error_destroy(error);
		memcpy(order.image, order.memory, order.size);
		error = change(&order, space, what);
	}
	free(order.image);
	free(order.dirty);
	return error;
}
