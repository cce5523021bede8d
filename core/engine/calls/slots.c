/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads' rings, by their slots: who writes into which, and how far. */
#include "engine/calls/private.h"
#include "process/proc.h"

#include "base/clock.h"

#include <string.h>
#include <sys/mman.h>

#define LEAST_STACK_BYTES (8ull << 20)
/* Free rings that have their pages. */
#define WARM_RINGS       2u /* made ready for threads to come */
#define MOST_WARM_BYTES  (4ull << 20)
#define MOST_SPARE_RINGS 8u /* left by threads that ended */
/* Between two looks at a ring: more is not written in years, and never by a trampoline of ours. */
#define MOST_WRITTEN (1ull << 50)

/* One whose pages are as we want them, if there is any; 0: none is free. */
static uint32_t find_free(const struct mt_calls_rings *rings, bool hot)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < rings->count; i++) {
		if (rings->taken[i])
			continue;
		if (rings->hot[i] == hot)
			return i;
		if (!found)
			found = i;
	}
	return found;
}

static void take(struct mt_calls_rings *rings, uint32_t ring)
{
	rings->spare -= rings->hot[ring];
	rings->hot[ring] = true;
	rings->taken[ring] = true;
	rings->given++;
	rings->references++;
}

/* A first touch costs a thread ten times what it costs where the page is there: ours is as good as
 * its own.  A program of one thread has what it needs, and one with a thousand reuses them. */
void mt_calls_warm_ring(struct mt_calls_rings *rings)
{
	uint64_t bytes = rings->ring_bytes < MOST_WARM_BYTES ? rings->ring_bytes : MOST_WARM_BYTES;
	uint32_t wanted = !rings->given ? 1 : rings->given == 1 ? 0 : WARM_RINGS;
	uint32_t ring = rings->spare < wanted ? find_free(rings, false) : 0;
	struct mt_error *error;

	if (!ring || rings->hot[ring])
		return;
	error = mt_calls_rings_reach(rings, ring);
	if (error || madvise(mt_calls_ring_here(rings, ring), bytes, MT_MADV_POPULATE_WRITE)) {
		mt_error_destroy(error);
		return;
	}
	rings->hot[ring] = true;
	rings->spare++;
}

/* A program that is refused may have a GS base of its own by now. */
static struct mt_error *lead_to(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t lwp, uint32_t ring)
{
	return space->stage == MT_CALLS_REFUSED
		   ? NULL
		   : engine->target->ops->set_gs_base(engine->target, lwp,
						      mt_calls_slot_address(space->rings, ring));
}

static struct mt_error *go_without(struct mt_calls_engine *engine,
				   const struct mt_calls_thread *thread)
{
	struct mt_calls_rings *rings = thread->space->rings;

	if (!rings->short_told)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "process %d has more than %u threads at a time: calls of the others are not "
		       "recorded (a smaller --size may allow more)",
		       thread->pid, rings->count - 1);
	rings->short_told = true;
	return mt_calls_discard(engine, thread->space, thread->lwp);
}

/* One that was there before may be on any stack, but most C libraries keep what FS leads to right
 * above the thread's own. */
static uint64_t own_stack(const struct mt_calls_thread *thread,
			  const struct user_regs_struct *registers, bool is_born)
{
	if (thread->lwp == thread->pid)
		return mt_proc_stack(thread->pid);
	return is_born ? registers->rsp : registers->fs_base;
}

struct mt_error *mt_calls_give_ring(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				    bool is_born)
{
	struct mt_calls_space *space = thread->space;
	const struct mt_ring_anchor begin = {0, mt_clock_tsc(), mt_clock_tsc()};
	struct user_regs_struct registers;
	uint32_t ring;

	if (!space->rings || thread->guest || space->stage == MT_CALLS_REFUSED)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	thread->stack = registers.rsp;
	thread->own_stack = own_stack(thread, &registers, is_born);
	thread->own_stack_bytes = mt_proc_stack_bytes(thread->pid);
	/* That is the limit of the first one, and how large others are by default. */
	if (thread->own_stack_bytes < LEAST_STACK_BYTES)
		thread->own_stack_bytes = LEAST_STACK_BYTES;
	if (engine->options.only && engine->options.only != thread->lwp)
		return mt_calls_discard(engine, space, thread->lwp);
	ring = find_free(space->rings, true);
	if (!ring)
		return go_without(engine, thread);
	mt_try(mt_calls_rings_reach(space->rings, ring));
	thread->anchors.count = 0;
	if (mt_array_push(&thread->anchors, begin))
		return mt_error_no_memory();
	*mt_calls_slot(space->rings, ring) = (struct mt_ring_position){
	    .ring = mt_calls_ring_address(space->rings, ring),
	    .pages = mt_calls_pages_address(space->rings, ring),
	    .open_calls = mt_calls_ring_address(space->rings, ring) + space->rings->ring_bytes,
	    .number = thread->number};
	mt_try(lead_to(engine, space, thread->lwp, ring));
	thread->rings = space->rings;
	take(thread->rings, ring);
	thread->ring = ring;
	thread->begin = 0;
	thread->used = 0;
	thread->is_continued = false;
	thread->seen_tsc = 0;
	mt_calls_note_resumed(thread, begin.last);
	return NULL;
}

/* Nobody must find in it what is not the next owner's.  Few are kept with their pages. */
static void give_back(struct mt_calls_rings *rings, uint32_t ring, uint64_t used)
{
	uint8_t *bytes = mt_calls_ring_here(rings, ring);

	rings->taken[ring] = false;
	rings->hot[ring] =
	    rings->spare < MOST_SPARE_RINGS || madvise(bytes, rings->ring_bytes, MADV_REMOVE) != 0;
	rings->spare += rings->hot[ring];
	if (rings->has_conditions)
		(void)madvise(bytes + rings->ring_bytes, MT_CALLS_TABLES_BYTES, MADV_REMOVE);
	if (rings->hot[ring])
		memset(bytes, 0, used < rings->ring_bytes ? used : rings->ring_bytes);
}

void mt_calls_take_ring(struct mt_calls_thread *thread)
{
	struct mt_calls_rings *rings = thread->rings;

	if (!rings)
		return;
	give_back(rings, thread->ring, thread->used);
	thread->rings = NULL;
	mt_calls_rings_unref(rings);
}

struct mt_error *mt_calls_discard(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space, pid_t lwp)
{
	return space->rings ? lead_to(engine, space, lwp, 0) : NULL;
}

bool mt_calls_is_slot(const struct mt_calls_rings *rings, uint64_t gs_base)
{
	return gs_base - rings->address < mt_calls_slots_bytes(rings);
}

/* A program that writes wild may have put anything there. */
uint64_t mt_calls_written(const struct mt_calls_thread *thread)
{
	uint64_t written =
	    __atomic_load_n(&mt_calls_slot(thread->rings, thread->ring)->written, __ATOMIC_RELAXED);

	written -= written % sizeof(struct mt_ring_event);
	return written < thread->begin || written - thread->begin > MOST_WRITTEN ? thread->begin
										 : written;
}

void mt_calls_number_thread(struct mt_engine *base, pid_t lwp, unsigned number)
{
	struct mt_calls_thread *thread = mt_calls_find_thread((struct mt_calls_engine *)base, lwp);

	if (!thread)
		return;
	thread->number = number;
	if (thread->rings)
		mt_calls_slot(thread->rings, thread->ring)->number = number;
}

void mt_calls_unwrite(const struct mt_calls_thread *thread, uint64_t written)
{
	__atomic_store_n(&mt_calls_slot(thread->rings, thread->ring)->written, written,
			 __ATOMIC_RELAXED);
}

struct mt_ring_view mt_calls_ring_view(const struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread)
{
	const struct mt_calls_rings *rings = thread->rings;

	return (struct mt_ring_view){.bytes = mt_calls_ring_here(rings, thread->ring),
				     .size = rings->ring_bytes,
				     .written = mt_calls_written(thread),
				     .begin = thread->begin,
				     .stamps = engine->options.stamps,
				     .anchors = thread->anchors.items,
				     .anchor_count = thread->anchors.count};
}

static uint64_t oldest_tsc(const struct mt_ring_view *view)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	bool at_end = false;

	mt_ring_cursor_init(&cursor, view);
	while (!at_end)
		if (mt_ring_next_line(&cursor, events, &at_end))
			return events[0].tsc;
	return 0;
}

struct mt_engine_ring mt_calls_ring_look(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread)
{
	const struct mt_ring_view view = mt_calls_ring_view(engine, thread);
	const struct mt_ring_anchor *last = mt_array_last(&thread->anchors);
	uint64_t begin = oldest_tsc(&view);
	uint64_t end = last->written == view.written ? last->first : mt_clock_tsc();
	struct mt_engine_ring ring = {.bytes = view.size, .used = view.written - view.begin};

	if (ring.used > ring.bytes)
		ring.used = ring.bytes;
	if (begin && end > begin)
		ring.span_ns = mt_tsc_to_ns(&engine->options.conversion, end) -
			       mt_tsc_to_ns(&engine->options.conversion, begin);
	return ring;
}
