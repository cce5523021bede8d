/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that the program has copied, with our jumps in it, and runs elsewhere, as V8 does with its
 * builtins where these lie in memory of no file.  A jump is relative, so a copy's leads as far
 * beside the trampoline as the copy lies beside the text.  Nothing is mapped there, as a rule: the
 * thread faults where it wanted to go, and there we hear of it.  Then all jumps of ours in that
 * copy become the program's own bytes, and the thread goes on where one stood.  In a copy that
 * cannot be written, as in a shared mapping of a memfd, it goes each time where the jump leads in
 * the text: code that runs elsewhere refers to nothing beside itself, so that does the same.
 *
 * An int3 of a trigger's may have come with a copy, too, and is met as it is.
 *
 * Of a copy is taken what lies at one distance from the text, and is ours byte for byte: the bytes
 * of a jump say where it leads, which in other memory are there by chance once in 2^40. */
#include "engine/calls/texts/texts.h"

#include "base/array.h"
#include "base/log.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "process/maps.h"

#include <stdlib.h>
#include <string.h>

#define JUMP       0xe9
#define INT3       0xcc
#define ALIKE      8u /* bytes, from an int3 on, that tell a copy */
#define REACH      (1ull << 31)
#define PAGE       4096u
#define CHUNK      (1u << 20)
#define MOST_READ  (512ull << 20) /* to find a copy */
#define MOST_KNOWN 64u

struct mending {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	pid_t lwp;
	uint64_t fault;           /* where a jump in a copy led; or behind an int3 */
	MT_ARRAY(uint64_t) jumps; /* to there, that are in code; or that int3 */
	uint64_t read;            /* bytes so far */
	struct mt_calls_place *place;
	uint8_t *text;     /* the place's, with all that is ours */
	uint64_t distance; /* from it to the copy */
	bool is_trap;
	size_t mended; /* so much of ours is found in it */
	bool is_known; /* the copy was met before, */
	bool is_clean; /* and mended */
	bool is_fixed; /* it cannot be written */
	struct mt_error *failed;
};

static size_t read_memory(const struct mending *mending, uint64_t address, void *bytes, size_t size)
{
	struct mt_target *target = mending->engine->target;

	return target->ops->read(target, mending->space->pid, address, bytes, size);
}

static uint64_t led_to(uint64_t jump, const uint8_t *bytes)
{
	int32_t distance;

	memcpy(&distance, bytes + 1, sizeof(distance));
	return jump + MT_PATCH_JUMP_BYTES + (uint64_t)(int64_t)distance;
}

static int note_jumps(struct mending *mending, uint64_t address, const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;

	while (end - at >= MT_PATCH_JUMP_BYTES &&
	       (at = memchr(at, JUMP, (size_t)(end - at - MT_PATCH_JUMP_BYTES + 1)))) {
		const uint64_t jump = address + (uint64_t)(at - bytes);

		if (led_to(jump, at) == mending->fault && mt_array_push(&mending->jumps, jump))
			return -1;
		at++;
	}
	return 0;
}

/* What is read of a chunk overlaps the next by all of a jump but a byte. */
static struct mt_error *search(void *context, const struct mt_map *map)
{
	struct mending *mending = context;
	const uint64_t first = mending->fault > REACH ? mending->fault - REACH : 0;
	const uint64_t start = map->start > first ? map->start : first;
	const uint64_t end = map->end < mending->fault + REACH ? map->end : mending->fault + REACH;
	const struct mt_calls_place *place = mt_calls_place_at(mending->space, map->start);

	if (!map->executable || start >= end || map->start >> 63 ||
	    (place && mt_calls_is_mapping_of(place->module, map)))
		return NULL;
	uint8_t *bytes = malloc(CHUNK);
	bool failed = !bytes;
	for (uint64_t at = start; at < end && !failed && mending->read < MOST_READ;
	     at += CHUNK - MT_PATCH_JUMP_BYTES + 1) {
		const size_t size =
		    read_memory(mending, at, bytes, end - at < CHUNK ? end - at : CHUNK);

		mending->read += size;
		failed = note_jumps(mending, at, bytes, size);
	}
	free(bytes);
	return failed ? mt_error_no_memory() : NULL;
}

static const struct mt_patch *patch_of(const struct mending *mending, size_t index)
{
	return &mending->place->module->file->plan->patches.items[index];
}

static size_t patch_count(const struct mending *mending)
{
	return mending->place->module->file->plan->patches.count;
}

static uint64_t trampoline_of(const struct mending *mending, size_t index)
{
	return mending->place->module->room + mending->place->module->offsets[index];
}

static const uint8_t *in_text(const struct mending *mending, uint64_t address)
{
	return mending->text + (address - mending->place->module->start);
}

static struct mt_calls_piece whole_text(const struct mending *mending)
{
	const struct mt_calls_module *module = mending->place->module;

	return (struct mt_calls_piece){module->start, module->end - module->start, mending->text};
}

/* What of ours is in the text: its patches, and then the breakpoints that have bytes there. */
struct ours {
	uint64_t at;   /* where threads come to it */
	uint64_t jump; /* where it leads away: a patch may have a hole for that */
};

static size_t count_ours(const struct mending *mending)
{
	return patch_count(mending) + mending->space->breaks.count;
}

/* False: it is not in that text. */
static bool find_ours(const struct mending *mending, size_t index, struct ours *ours)
{
	const struct mt_calls_module *module = mending->place->module;
	const struct mt_calls_piece text = whole_text(mending);

	if (index < patch_count(mending)) {
		const struct mt_patch *patch = patch_of(mending, index);

		ours->at = patch->address + module->bias;
		ours->jump = patch->hole ? patch->hole + module->bias : ours->at;
		return module->offsets[index] != MT_CALLS_NONE &&
		       mt_calls_piece_has_patch(&text, module, index);
	}
	const struct mt_calls_break *one =
	    &mending->space->breaks.items[index - patch_count(mending)];
	ours->at = ours->jump = one->address;
	return one->length && mt_calls_piece_holds(&text, one->address, MT_PATCH_JUMP_BYTES);
}

/* Where a thread is that it has led away.  A trigger may have come to a patch, or gone, since the
 * copy was made. */
static bool leads_to(const struct mending *mending, size_t index, const struct ours *ours,
		     uint64_t goal)
{
	const uint8_t *there = in_text(mending, ours->jump);

	if (index < patch_count(mending) && goal == trampoline_of(mending, index))
		return true;
	return *there == JUMP ? goal == led_to(ours->jump, there)
			      : *there == INT3 && goal == ours->jump + 1;
}

static bool is_alike(const struct mending *mending, const struct mt_calls_piece *piece,
		     uint64_t address, size_t size)
{
	const struct mt_calls_piece text = whole_text(mending);

	return mt_calls_piece_holds(piece, address, size) &&
	       mt_calls_piece_holds(&text, address, size) &&
	       memcmp(piece->bytes + (address - piece->start), in_text(mending, address), size) ==
		   0;
}

/* PIECE is of the copy, as if it lay where the text does.  A breakpoint may stand on the first byte
 * of a patch. */
static bool has_ours(const struct mending *mending, const struct mt_calls_piece *piece,
		     size_t index)
{
	struct ours ours;

	if (!find_ours(mending, index, &ours))
		return false;
	if (index >= patch_count(mending))
		return is_alike(mending, piece, ours.at, ALIKE);
	if (!mt_calls_piece_has_patch(piece, mending->place->module, index))
		return false;
	const uint8_t *there = piece->bytes + (ours.jump - piece->start);
	return (is_alike(mending, piece, ours.jump, MT_PATCH_JUMP_BYTES) ||
		(*there == JUMP && leads_to(mending, index, &ours, led_to(ours.jump, there)))) &&
	       (ours.jump == ours.at || is_alike(mending, piece, ours.at, MT_PATCH_SHORT_BYTES));
}

static void clean(const struct mending *mending, const struct mt_calls_piece *piece,
		  uint64_t address, size_t size)
{
	const struct mt_calls_module *module = mending->place->module;

	memcpy(piece->bytes + (address - piece->start), module->clean + (address - module->start),
	       size);
}

static void clean_ours(const struct mending *mending, const struct mt_calls_piece *piece,
		       size_t index)
{
	const size_t patches = patch_count(mending);
	struct ours ours;

	find_ours(mending, index, &ours);
	clean(mending, piece, ours.at,
	      index < patches ? patch_of(mending, index)->length
			      : mending->space->breaks.items[index - patches].length);
	if (ours.jump != ours.at)
		clean(mending, piece, ours.jump, MT_PATCH_JUMP_BYTES);
}

/* How many there were. */
static size_t undo(const struct mending *mending, const struct mt_calls_piece *piece)
{
	const size_t all = count_ours(mending);
	bool *copied = calloc(all + 1, sizeof(*copied));
	size_t count = 0;

	/* One may have its jump among another's bytes. */
	for (size_t i = 0; copied && i < all; i++)
		count += copied[i] = has_ours(mending, piece, i);
	for (size_t i = 0; count && i < all; i++)
		if (copied[i])
			clean_ours(mending, piece, i);
	free(copied);
	return count;
}

static struct mt_error *write_changed(const struct mending *mending, uint64_t address,
				      const uint8_t *was, const uint8_t *is, size_t size)
{
	struct mt_target *target = mending->engine->target;

	for (size_t at = 0; at < size; at += PAGE) {
		const size_t part = size - at < PAGE ? size - at : PAGE;

		if (memcmp(was + at, is + at, part) != 0)
			mt_try(target->ops->write(target, mending->space->pid, address + at,
						  is + at, part));
	}
	return NULL;
}

/* The part of the copy that lies in MAP. */
static struct mt_error *mend_map(void *context, const struct mt_map *map)
{
	struct mending *mending = context;
	const struct mt_calls_module *module = mending->place->module;
	const uint64_t from = module->start + mending->distance;
	const uint64_t to = module->end + mending->distance;
	const uint64_t start = map->start > from ? map->start : from;
	const uint64_t end = map->end < to ? map->end : to;

	/* A copy may lie across the end of the address space, and then it is none. */
	if (start >= end || from > to || !map->readable || mending->failed ||
	    mt_calls_is_mapping_of(module, map))
		return NULL;
	struct mt_calls_piece piece = {.start = start - mending->distance,
				       .bytes = malloc(end - start)};
	uint8_t *was = malloc(end - start);
	struct mt_error *error = piece.bytes && was ? NULL : mt_error_no_memory();

	if (!error) {
		piece.size = read_memory(mending, start, was, end - start);
		memcpy(piece.bytes, was, piece.size);
		mending->mended += undo(mending, &piece);
		mending->failed = write_changed(mending, start, was, piece.bytes, piece.size);
	}
	free(piece.bytes);
	free(was);
	return error;
}

static bool is_in_text(const struct mending *mending, uint64_t address)
{
	const struct mt_calls_module *module = mending->place->module;

	return address >= module->start && address < module->end;
}

/* A thread that was led away from the copy; or that is on its way to that, in a hole or behind an
 * int3, where others may stand by right as soon as it is mended. */
static bool lead_back(void *context, struct user_regs_struct *registers)
{
	const struct mending *mending = context;
	const uint64_t there = registers->rip - mending->distance;
	struct ours ours;

	for (size_t i = 0; i < count_ours(mending); i++) {
		if (!find_ours(mending, i, &ours) ||
		    !(leads_to(mending, i, &ours, there) ||
		      (there == ours.jump && there != ours.at)) ||
		    (mending->is_clean && is_in_text(mending, there)))
			continue;
		registers->rip = ours.at + mending->distance;
		return true;
	}
	return false;
}

static struct mt_error *mend(struct mending *mending)
{
	const struct mt_target_ops *ops = mending->engine->target->ops;
	struct mt_calls_engine *engine = mending->engine;
	struct user_regs_struct registers;
	bool is_whole;

	if (!mending->is_fixed)
		mt_try(mt_target_each_map(engine->target, mending->space->pid, mend_map, mending));
	mending->is_fixed |= mending->failed != NULL;
	if (!mending->is_fixed)
		mt_try(mt_calls_move_all(engine, mending->space, lead_back, mending, &is_whole));
	/* It may be of another process with the same memory, too. */
	mt_try(ops->get_registers(engine->target, mending->lwp, &registers));
	if (registers.rip != mending->fault)
		return NULL;
	if (mending->is_fixed)
		registers.rip -= mending->distance + mending->is_trap;
	else if (!lead_back(mending, &registers))
		return NULL;
	return ops->set_registers(engine->target, mending->lwp, &registers);
}

static bool compose(struct mending *mending, struct mt_calls_place *place)
{
	struct mt_calls_module *module = place->module;
	const size_t size = module->end - module->start;

	mending->place = place;
	if (mt_calls_module_find_clean(module))
		return false;
	mending->text = malloc(size);
	if (!mending->text)
		return false;
	memcpy(mending->text, module->clean, size);
	const struct mt_calls_piece piece = whole_text(mending);
	mt_calls_compose(mending->space, place, &piece);
	return true;
}

/* In the copy, since another one's may lead as far beside something else.  Behind a mended one its
 * jumps are the program's own bytes. */
static bool is_there(const struct mending *mending, uint64_t jump)
{
	const uint8_t *own = mending->place->module->clean + (jump - mending->place->module->start);
	const uint64_t at = jump + mending->distance;
	uint8_t there[MT_PATCH_JUMP_BYTES];

	if (read_memory(mending, at, there, sizeof(there)) < sizeof(there))
		return false;
	return mending->is_clean ? memcmp(there, own, sizeof(there)) == 0
				 : *there == JUMP && led_to(at, there) == mending->fault;
}

/* Whether something at the copy's distance leads there. */
static bool is_of_copy(const struct mending *mending)
{
	struct ours ours;

	for (size_t i = 0; i < count_ours(mending); i++)
		if (find_ours(mending, i, &ours) &&
		    leads_to(mending, i, &ours, mending->fault - mending->distance) &&
		    is_there(mending, ours.jump))
			return true;
	return false;
}

static bool is_of_ours(struct mt_calls_space *space, uint64_t address)
{
	return mt_calls_place_of_trampoline(space, address) ||
	       mt_calls_break_of_stub(space, address);
}

static bool is_done(const struct mending *mending)
{
	return mending->mended || mending->failed || mending->is_known;
}

static struct mt_error *mend_known(struct mending *mending, const struct mt_calls_code_copy *copy,
				   bool is_clean)
{
	struct mt_calls_space *space = mending->space;
	struct mt_calls_place *place = mt_calls_place_at(space, copy->start);
	struct mt_error *error = NULL;

	if (!place || !is_of_ours(space, mending->fault - copy->distance))
		return NULL;
	mending->distance = copy->distance;
	mending->is_fixed = copy->is_fixed;
	mending->is_clean = is_clean && !copy->is_fixed;
	if (!compose(mending, place))
		return mt_error_no_memory();
	mending->is_known = is_of_copy(mending);
	if (mending->is_known)
		error = mend(mending);
	free(mending->text);
	return error;
}

static struct mt_error *mend_any_known(struct mending *mending, bool is_clean)
{
	mt_array_each (copy, &mending->space->copies)
		if (!is_done(mending))
			mt_try(mend_known(mending, copy, is_clean));
	return NULL;
}

static struct mt_error *note_copy(struct mending *mending)
{
	struct mt_calls_space *space = mending->space;
	const struct mt_calls_code_copy copy = {mending->place->module->start, mending->distance,
						mending->is_fixed};

	if (space->copies.count == MOST_KNOWN)
		space->copies.count = 0;
	return mt_array_push(&space->copies, copy) ? mt_error_no_memory() : NULL;
}

/* All int3s lead to what is behind them. */
static bool is_same_trap(const struct mending *mending, uint64_t address)
{
	uint8_t there[ALIKE];
	const struct mt_calls_piece piece = {address, sizeof(there), there};

	return read_memory(mending, address + mending->distance, there, sizeof(there)) ==
		   sizeof(there) &&
	       is_alike(mending, &piece, address, sizeof(there));
}

/* Of the place, whose jump's copy stands at one of those that were found. */
static struct mt_error *mend_found(struct mending *mending)
{
	struct ours ours;

	mt_array_each (jump, &mending->jumps)
		for (size_t i = 0; i < count_ours(mending) && !is_done(mending); i++) {
			if (!find_ours(mending, i, &ours))
				continue;
			mending->distance = *jump - ours.jump;
			if (mending->distance &&
			    leads_to(mending, i, &ours, mending->fault - mending->distance) &&
			    (!mending->is_trap || is_same_trap(mending, ours.at)))
				mt_try(mend(mending));
		}
	return is_done(mending) ? note_copy(mending) : NULL;
}

static void tell(const struct mending *mending)
{
	struct mt_calls_module *module = mending->place->module;

	if (!module->copy_told)
		mt_log(mending->engine->options.log, MT_LOG_WARNING,
		       "process %d runs code that it has copied out of %s: %s", mending->space->pid,
		       module->file->path,
		       mending->is_fixed ? "the copy cannot be written, and calls in it are slow"
					 : "calls in the copy are not recorded");
	module->copy_told = true;
}

/* The one that has those jumps. */
static struct mt_error *mend_new(struct mending *mending)
{
	struct mt_calls_space *space = mending->space;

	mending->is_fixed = mending->is_clean = false;
	if (!mending->is_trap)
		mt_try(mt_target_each_map(mending->engine->target, space->pid, search, mending));
	for (size_t i = 0; i < space->places.count && mending->jumps.count && !is_done(mending);
	     i++) {
		struct mt_error *error = compose(mending, &space->places.items[i])
					     ? mend_found(mending)
					     : mt_error_no_memory();

		if (is_done(mending))
			tell(mending);
		free(mending->text);
		mt_try(error);
	}
	return NULL;
}

/* Where no jump leads there, another thread may have come to one before it was mended. */
static struct mt_error *find_and_mend(struct mending *mending)
{
	mt_try(mend_any_known(mending, false));
	if (!is_done(mending))
		mt_try(mend_new(mending));
	return mend_any_known(mending, true);
}

static struct mt_error *mend_halted(struct mending *mending, bool *is_mended)
{
	struct mt_target *target = mending->engine->target;

	mt_try(mt_target_halt(target, mending->space->pid));
	struct mt_error *error = find_and_mend(mending);
	mt_target_release(target, mending->space->pid);
	*is_mended = is_done(mending);
	mt_array_deinit(&mending->jumps);
	mt_error_destroy(mending->failed);
	return error;
}

/* Programs have faults of their own, and many: for those nobody is halted. */
static bool may_be_ours(const struct mending *mending, uint64_t pc)
{
	bool is_known = false;

	mt_array_each (copy, &mending->space->copies)
		is_known |= is_of_ours(mending->space, mending->fault - copy->distance);
	return mending->space->places.count && (is_known || pc == mending->fault);
}

struct mt_error *mt_calls_mend_copy(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t fault, bool *is_mended)
{
	struct mending mending = {.engine = engine, .space = space, .lwp = lwp, .fault = fault};
	struct user_regs_struct registers;

	*is_mended = false;
	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	return may_be_ours(&mending, registers.rip) ? mend_halted(&mending, is_mended) : NULL;
}

static bool has_trap_at(const struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (one, &space->breaks)
		if (one->length && !one->stub && one->address == address)
			return true;
	return false;
}

static bool is_copied_trap(const struct mending *mending, uint64_t trap)
{
	uint8_t there[ALIKE], here[ALIKE];

	if (read_memory(mending, trap, there, sizeof(there)) < sizeof(there) || *there != INT3)
		return false;
	mt_array_each (one, &mending->space->breaks)
		if (one->length && !one->stub && one->address != trap &&
		    read_memory(mending, one->address, here, sizeof(here)) == sizeof(here) &&
		    memcmp(here, there, sizeof(here)) == 0)
			return true;
	return false;
}

/* It ran the int3 before that was mended, and stands where that was. */
static bool was_led_back(const struct mt_calls_space *space, uint64_t pc)
{
	mt_array_each (copy, &space->copies)
		if (has_trap_at(space, pc - copy->distance))
			return true;
	return false;
}

struct mt_error *mt_calls_mend_trap(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, uint64_t pc, bool *is_mended)
{
	struct mending mending = {
	    .engine = engine, .space = space, .lwp = lwp, .fault = pc, .is_trap = true};

	*is_mended = was_led_back(space, pc);
	if (*is_mended || !is_copied_trap(&mending, pc - 1))
		return NULL;
	if (mt_array_push(&mending.jumps, pc - 1))
		return mt_error_no_memory();
	return mend_halted(&mending, is_mended);
}
