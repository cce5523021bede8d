/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Debug registers: watchpoints, and hardware breakpoints.  All threads have the same ones, which
 * are set when they are resumed.
 *
 * Those of a process that was attached to are perf events: should we be killed, the kernel closes
 * them before it resumes the threads.  Registers that ptrace(2) set would stay, and the next
 * SIGTRAP would end the process; they are used for programs that die with us, where perf events are
 * refused, and for threads that block the events' signal. */
#include "kernel/breakpoint.h"
#include "kernel/system.h"
#include "private.h"

#include <string.h>

#define ANY_CODE 8 /* the length that the kernel wants of a breakpoint */

/* ---- Of a thread ---- */

static void note_hits(struct mt_debug_hardware *hardware)
{
	for (unsigned i = 0; i < hardware->count; i++) {
		struct mt_debug_hardware_event *event = &hardware->events[i];
		uint64_t count = 0;

		if (mt_system_read(event->fd, &count, sizeof(count)) != sizeof(count))
			count = 0;
		hardware->hits |= (unsigned)(count != event->hits) << event->index;
		event->hits = count;
	}
}

static void close_events(struct mt_debug_hardware *hardware)
{
	note_hits(hardware);
	while (hardware->count)
		mt_system_close(hardware->events[--hardware->count].fd);
}

static struct mt_error *open_event(struct mt_debug_lwp *lwp, const struct mt_ptrace_watch *watch,
				   unsigned index)
{
	static const uint8_t kinds[] = {
	    [MT_PTRACE_WATCH_EXECUTE] = MT_ACCESS_EXECUTE,
	    [MT_PTRACE_WATCH_WRITE] = MT_ACCESS_WRITE,
	    [MT_PTRACE_WATCH_ACCESS] = MT_ACCESS_READ_WRITE,
	};
	const struct mt_breakpoint breakpoint = {
	    .address = watch->address,
	    .length = watch->kind == MT_PTRACE_WATCH_EXECUTE ? ANY_CODE : watch->length,
	    .access = kinds[watch->kind],
	};
	const struct mt_perf_spec spec = mt_breakpoint_spec(&breakpoint, "a debug register");
	struct mt_debug_hardware *hardware = &lwp->hardware;
	struct mt_debug_hardware_event *event = &hardware->events[hardware->count];

	*event = (struct mt_debug_hardware_event){.index = index};
	mt_try(mt_perf_event_open(&spec, lwp->thread.lwp, -1, -1, &event->fd));
	hardware->count++;
	return NULL;
}

void mt_debug_hardware_set(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			   const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES])
{
	const struct mt_ptrace_watch none[MT_PTRACE_WATCHES] = {0};
	bool has_events = debugger->process == MT_DEBUG_ATTACHED &&
			  !mt_ptrace_blocks(lwp->thread.lwp, MT_TRAP_SIGNAL);

	close_events(&lwp->hardware);
	for (unsigned i = 0; has_events && i < MT_PTRACE_WATCHES; i++) {
		struct mt_error *error = watches[i].length ? open_event(lwp, &watches[i], i) : NULL;

		has_events = !error;
		mt_error_destroy(error);
	}
	if (!has_events)
		close_events(&lwp->hardware);
	/* A thread that is gone reports that itself. */
	mt_ptrace_set_watches(lwp->thread.lwp, has_events ? none : watches);
}

unsigned mt_debug_hardware_take_hits(struct mt_debug_lwp *lwp)
{
	note_hits(&lwp->hardware);
	unsigned hits = lwp->hardware.hits | mt_ptrace_take_watch_hits(lwp->thread.lwp);
	lwp->hardware.hits = 0;
	return hits;
}

void mt_debug_hardware_deinit(struct mt_debug_lwp *lwp)
{
	close_events(&lwp->hardware);
}

/* ---- Of all threads ---- */

bool mt_debug_hardware_works(struct mt_debugger *debugger)
{
	if (debugger->hardware == MT_DEBUG_HARDWARE_NOT_TRIED) {
		mt_auto(mt_error) struct mt_error *error = mt_breakpoint_probe(0);

		/* ptrace(2) may set what no perf event may. */
		debugger->hardware = !error || mt_ptrace_watches_work()
					 ? MT_DEBUG_HARDWARE_WORKS
					 : MT_DEBUG_HARDWARE_NEVER_HIT;
	}
	return debugger->hardware == MT_DEBUG_HARDWARE_WORKS;
}

static uint8_t kind_of(const struct mt_debug_break *one)
{
	return !one->watched                        ? MT_PTRACE_WATCH_EXECUTE
	       : one->public.kind == MT_DEBUG_WATCH ? MT_PTRACE_WATCH_WRITE
						    : MT_PTRACE_WATCH_ACCESS;
}

/* Equal ones share a register.  False: there are no more registers. */
static bool use(struct mt_debugger *debugger, unsigned *used, const struct mt_ptrace_watch *watch)
{
	for (unsigned i = 0; i < *used; i++) {
		const struct mt_ptrace_watch *known = &debugger->watches[i];

		if (known->address == watch->address && known->length == watch->length &&
		    known->kind == watch->kind)
			return true;
	}
	if (*used == MT_PTRACE_WATCHES)
		return false;
	debugger->watches[(*used)++] = *watch;
	return true;
}

/* Length of the greatest aligned piece at START that a register can watch. */
static uint8_t first_piece(uint64_t start, uint64_t end)
{
	uint8_t length = 8;

	while (start % length || end - start < length)
		length /= 2;
	return length;
}

size_t mt_debug_watch_pieces(uint64_t address, uint64_t size)
{
	uint64_t end = address + size;
	size_t count = 0;

	while (address < end && count <= MT_PTRACE_WATCHES) {
		address += first_piece(address, end);
		count++;
	}
	return count;
}

static bool use_for_memory(struct mt_debugger *debugger, unsigned *used, uint8_t kind,
			   const struct mt_expr_read *read)
{
	uint64_t start = read->address, end = start + read->size;

	while (start < end) {
		const struct mt_ptrace_watch watch = {start, first_piece(start, end), kind};

		if (!use(debugger, used, &watch))
			return false;
		start += watch.length;
	}
	return true;
}

static bool use_for(struct mt_debugger *debugger, unsigned *used, const struct mt_debug_break *one)
{
	if (one->public.by_stepping)
		return true;
	if (one->watched)
		mt_array_each (read, &one->watched->reads.memory)
			if (!use_for_memory(debugger, used, kind_of(one), read))
				return false;
	mt_array_each (location, &one->locations) {
		const struct mt_expr_read instruction = {location->address, 1};

		if (location->enabled &&
		    !use_for_memory(debugger, used, MT_PTRACE_WATCH_EXECUTE, &instruction))
			return false;
	}
	return true;
}

struct mt_error *mt_debug_watch_plan(struct mt_debugger *debugger)
{
	mt_auto(mt_str) struct mt_str failed = {0};
	unsigned used = 0;

	debugger->watches_changed = false;
	debugger->watches_step = false;
	mt_array_each (one, &debugger->breakpoints) {
		const struct mt_debug_breakpoint *known = &(*one)->public;

		if (known->kind == MT_DEBUG_BREAK || !known->enabled)
			continue;
		if (!use_for(debugger, &used, *one))
			mt_str_appendf(&failed, "%s %u.\n",
				       (*one)->watched ? "Could not insert hardware watchpoint"
						       : "Cannot insert hardware breakpoint",
				       known->number);
		debugger->watches_step |= known->by_stepping;
	}
	if (!used && !debugger->watch_generation)
		return NULL;
	memset(&debugger->watches[used], 0,
	       (MT_PTRACE_WATCHES - used) * sizeof(debugger->watches[0]));
	debugger->watch_generation++;
	if (failed.failed)
		return mt_error_no_memory();
	if (!failed.length)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE,
			    "Warning:\n%sCould not insert hardware breakpoints:\n"
			    "You may have requested too many hardware breakpoints/watchpoints.\n\n"
			    "Command aborted.",
			    failed.text);
}

void mt_debug_watch_insert(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (lwp->watches == debugger->watch_generation)
		return;
	lwp->watches = debugger->watch_generation;
	mt_debug_hardware_set(debugger, lwp, debugger->watches);
}

void mt_debug_watch_withdraw(struct mt_debugger *debugger)
{
	const struct mt_ptrace_watch none[MT_PTRACE_WATCHES] = {0};

	mt_array_each (lwp, &debugger->lwps) {
		if ((*lwp)->watches)
			mt_debug_hardware_set(debugger, *lwp, none);
		(*lwp)->watches = 0;
	}
}

void mt_debug_watch_move(struct mt_debugger *debugger, pid_t from, pid_t to)
{
	mt_array_each (one, &debugger->breakpoints)
		if ((*one)->watched && (*one)->watched->lwp == from)
			(*one)->watched->lwp = to;
}

/* ---- Hits ---- */

static bool covers(const struct mt_debug_break *one, uint64_t address)
{
	if (one->watched)
		mt_array_each (read, &one->watched->reads.memory)
			if (address - read->address < read->size)
				return true;
	mt_array_each (location, &one->locations)
		if (location->address == address)
			return true;
	return false;
}

struct mt_debug_break *mt_debug_watch_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	unsigned hits = debugger->watch_generation ? mt_debug_hardware_take_hits(lwp) : 0;
	struct mt_debug_break *stopping = NULL;

	if (!hits && !debugger->watches_step)
		return NULL;
	mt_array_each (one, &debugger->breakpoints) {
		const struct mt_debug_breakpoint *known = &(*one)->public;

		bool is_hit = known->by_stepping;

		if (known->kind == MT_DEBUG_BREAK || !known->enabled ||
		    (known->thread && known->thread != lwp->thread.number))
			continue;
		for (unsigned i = 0; i < MT_PTRACE_WATCHES; i++)
			is_hit |= hits >> i & 1 && debugger->watches[i].kind == kind_of(*one) &&
				  covers(*one, debugger->watches[i].address);
		if (!is_hit)
			continue;
		bool stops = (*one)->watched ? mt_debug_watch_check(debugger, *one, lwp)
					     : mt_debug_break_stops(debugger, *one, lwp, 0);
		if (stops && !stopping)
			stopping = *one;
	}
	return stopping;
}
