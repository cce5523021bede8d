/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that fill the rings are taken out while the program runs: those that alone would fill a
 * thread's ring within a given time.  Frames of theirs that are open then are closed by the stack
 * pointer, as those whose return is not recorded.
 *
 * A patch of two jumps, or that others stand on, stays in the text, and its trampoline records no
 * more. */
#include "engine/calls/private.h"

#include "engine/calls/ring/throttle.h"

#include <string.h>

#define SAMPLE_LINES 512u
#define MOST_AT_ONCE 16u
#define BURST        8u /* one part in so many of a ring */
#define RECORDS      (MT_PATCH_ENTRY | MT_PATCH_RETURN | MT_PATCH_REDIRECT)

static bool understand(const struct mt_calls_engine *engine, uint32_t number,
		       struct mt_throttle_event *out)
{
	const struct mt_calls_module *module = mt_calls_module_of_site(engine, number);
	const struct mt_plan_site *site;

	if (!module)
		return false;
	site = &module->file->plan->sites.items[number - module->site_base];
	/* A function of a module as a number. */
	out->function = (uint64_t)module->site_base << 32 | site->function;
	out->is_return = site->is_return;
	return true;
}

/* One line's.  It may be written meanwhile: then the sample is a little wrong. */
static size_t sample_line(const struct mt_calls_engine *engine, const uint8_t *line,
			  struct mt_throttle_event *events)
{
	bool is_full = engine->options.stamps == MT_RING_FULL;
	size_t slot = is_full ? sizeof(struct mt_ring_full_event) : sizeof(struct mt_ring_event);
	size_t count = 0;

	for (size_t at = is_full ? 0 : slot; at < MT_RING_LINE_BYTES; at += slot) {
		struct mt_ring_event event;

		memcpy(&event, line + at, sizeof(event));
		if (mt_ring_is_entry(event.site) && !is_full)
			at += slot; /* over its return address */
		if (!understand(engine, event.site & ~MT_RING_SITE_ENTRY, &events[count]))
			continue;
		events[count].follows = count != 0;
		count++;
	}
	return count;
}

/* Of the BYTES that were written last, lines at equal distances. */
static size_t sample(const struct mt_calls_engine *engine, const struct mt_calls_thread *thread,
		     uint64_t written, uint64_t bytes, struct mt_throttle_event *events)
{
	uint64_t size = thread->rings->ring_bytes, begin;
	uint64_t lines = (bytes < size / 2 ? bytes : size / 2) / MT_RING_LINE_BYTES;
	uint64_t step = (lines / SAMPLE_LINES + 1) * MT_RING_LINE_BYTES;
	const uint8_t *ring = mt_calls_ring_here(thread->rings, thread->ring);
	size_t count = 0;

	begin = (written / MT_RING_LINE_BYTES - lines) * MT_RING_LINE_BYTES;
	for (uint64_t at = begin; at + MT_RING_LINE_BYTES <= written; at += step)
		count += sample_line(engine, ring + (at & (size - 1)), events + count);
	return count;
}

struct dependents {
	const struct mt_calls_place *place;
	bool any;
};

static void see_dependent(void *context, size_t patch)
{
	struct dependents *dependents = context;

	dependents->any |= !dependents->place->off[patch];
}

/* Others would go with it; and the second jump of one that has a hole may be where a signal handler
 * returns to. */
static bool must_stay(const struct mt_calls_place *place, size_t patch)
{
	const struct mt_plan *plan = place->module->file->plan;
	struct dependents dependents = {.place = place};

	mt_plan_each_dependent(plan, patch, see_dependent, &dependents);
	return dependents.any || plan->patches.items[patch].hole;
}

struct muting {
	struct mt_calls_engine *engine;
	pid_t pid;
	uint64_t trampoline; /* its address */
	struct mt_error *error;
};

static void write_mute(void *context, const struct mt_trampoline_mute *mute)
{
	struct muting *muting = context;

	if (!muting->error)
		muting->error = muting->engine->target->ops->write(
		    muting->engine->target, muting->pid, muting->trampoline + mute->offset,
		    mute->code, sizeof(mute->code));
}

static struct mt_error *mute(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			     const struct mt_calls_module *module, size_t patch)
{
	struct muting muting = {.engine = engine, .pid = space->pid};
	const struct mt_trampolines *one = mt_calls_trampoline_again(module, patch);

	muting.trampoline = module->room + module->offsets[patch];
	if (one)
		mt_trampoline_each_mute(one, 0, UINT32_MAX, write_mute, &muting);
	return muting.error;
}

/* Disabled patches are removed from the code later. */
static struct mt_error *turn_off(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 struct mt_calls_place *place, uint32_t function)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (place->off[i] || patch->function != function || !(patch->flags & RECORDS))
			continue;
		if (must_stay(place, i))
			mt_try(mute(engine, space, module, i));
		else
			mt_calls_patch_off(place, i, MT_CALLS_OFF_THROTTLE);
	}
	return NULL;
}

static struct mt_calls_place *place_of(struct mt_calls_space *space,
				       const struct mt_calls_module *module)
{
	mt_array_each (place, &space->places)
		if (place->module == module)
			return place;
	return NULL;
}

/* Once a process: what is on its way out may still stand in the rings. */
static bool is_out(const struct mt_calls_engine *engine, pid_t pid, uint64_t key)
{
	mt_array_each (one, &engine->throttled)
		if (one->pid == pid && one->key == key)
			return true;
	return false;
}

static size_t leave_out_known(const struct mt_calls_engine *engine, pid_t pid, uint64_t *functions,
			      size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!is_out(engine, pid, functions[i]))
			functions[left++] = functions[i];
	return left;
}

/* A trigger in it is a part of its patches. */
static bool has_trigger(const struct mt_calls_space *space, const struct mt_calls_place *place,
			uint32_t function)
{
	const struct mt_plan *plan = place->module->file->plan;

	mt_array_each (one, &space->breaks)
		if (one->condition &&
		    mt_plan_function_at(plan, one->address - place->module->bias) == function)
			return true;
	return false;
}

static struct mt_error *throttle(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				 uint64_t key)
{
	const struct mt_calls_module *module = mt_calls_module_of_site(engine, key >> 32);
	struct mt_calls_place *place = place_of(thread->space, module);
	uint32_t function = (uint32_t)key;
	struct mt_calls_throttled one = {
	    .pid = thread->space->pid, .lwp = thread->lwp, .key = key, .tsc = mt_clock_tsc()};

	if (!place || has_trigger(thread->space, place, function))
		return NULL;
	one.address = module->file->plan->functions.items[function].start + module->bias;
	struct mt_objfile *objfile = module->file->objfile;
	uint64_t start = module->file->plan->functions.items[function].start;
	const struct mt_symbol *symbol = mt_objfile_symbol_at(objfile, start);
	const char *name = symbol ? mt_objfile_symbol_name(objfile, symbol) : NULL;
	one.name = name ? name : "an unnamed function";
	if (mt_array_push(&engine->throttled, one))
		return mt_error_no_memory();
	mt_log(engine->options.log, MT_LOG_INFO, "throttled, not recorded from now on: %s",
	       one.name);
	return turn_off(engine, thread->space, place, function);
}

static struct mt_error *rewrite(struct mt_calls_engine *engine, struct mt_calls_space *space,
				const uint64_t *functions, size_t count)
{
	mt_array_each (place, &space->places) {
		bool changed = false;

		for (size_t i = 0; i < count; i++)
			changed |=
			    mt_calls_module_of_site(engine, functions[i] >> 32) == place->module;
		if (changed)
			mt_try(mt_calls_text_write(engine, space, place));
	}
	return NULL;
}

/* All of them at one stop. */
static struct mt_error *throttle_all(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				     const uint64_t *functions, size_t count)
{
	struct mt_error *error = NULL;

	if (!count)
		return NULL;
	mt_try(mt_target_halt(engine->target, thread->pid));
	for (size_t i = 0; !error && i < count; i++)
		error = throttle(engine, thread, functions[i]);
	if (!error)
		error = rewrite(engine, thread->space, functions, count);
	mt_target_release(engine->target, thread->pid);
	return error;
}

static struct mt_error *throttle_busiest(struct mt_calls_engine *engine,
					 struct mt_calls_thread *thread, uint64_t written,
					 uint64_t bytes, double bearable)
{
	struct mt_throttle_event *events =
	    malloc(SAMPLE_LINES * MT_RING_LINE_EVENTS * sizeof(*events));
	uint64_t functions[MOST_AT_ONCE];
	struct mt_error *error;

	if (!events)
		return mt_error_no_memory();
	size_t count = sample(engine, thread, written, bytes, events);
	size_t least = (size_t)(bearable * (double)count) + 1;
	count = mt_throttle_choose(events, count, least, functions, MOST_AT_ONCE);
	count = leave_out_known(engine, thread->space->pid, functions, count);
	error = throttle_all(engine, thread, functions, count);
	free(events);
	return error;
}

/* A burst is no reason: it has to go on for a part of the ring. */
void mt_calls_throttle(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
		       uint64_t written, uint64_t tsc)
{
	const struct mt_time_conversion *clock = &engine->options.conversion;
	uint64_t size = thread->rings->ring_bytes, patience = engine->options.throttle_ns;
	uint64_t bytes = written - thread->seen;
	uint64_t ns = mt_tsc_to_ns(clock, tsc) - mt_tsc_to_ns(clock, thread->seen_tsc);
	bool is_first = !thread->seen_tsc || written < thread->seen;

	if (!patience || (!is_first && bytes < size / BURST && ns < patience))
		return;
	thread->seen = written;
	thread->seen_tsc = tsc;
	if (is_first || thread->space->hidden || !bytes)
		return;
	/* Which part of its events one function may make. */
	double bearable = (double)size / (double)patience * (double)ns / (double)bytes;
	/* A process that is ending reports that by itself. */
	if (bearable < 1)
		mt_error_destroy(throttle_busiest(engine, thread, written, bytes, bearable));
}

struct mt_error *mt_calls_put_throttled(struct mt_calls_engine *engine,
					struct mt_recording_writer *writer)
{
	mt_array_each (one, &engine->throttled) {
		struct mt_sideband note = (struct mt_sideband){
		    .time_ns = mt_tsc_to_ns(&engine->options.conversion, one->tsc),
		    .kind = MT_SIDEBAND_SAMPLE,
		    .pid = one->pid,
		    .tid = one->lwp,
		    .cpu = -1,
		    .sample = {.event = MT_NOTE_THROTTLE, .ip = one->address},
		};

		if (!one->told || engine->options.live)
			mt_try(mt_recording_writer_put(writer, &note));
		one->told = true;
	}
	return NULL;
}

void mt_calls_tell_throttled(const struct mt_calls_engine *engine)
{
	mt_auto(mt_str) struct mt_str names = {0};

	mt_array_each (one, &engine->throttled)
		mt_str_appendf(&names, "%s%s", names.length ? ", " : "", one->name);
	if (engine->throttled.count && !names.failed)
		mt_log(engine->options.log, MT_LOG_INFO,
		       "throttled functions, not recorded to the end: %s", names.text);
}
