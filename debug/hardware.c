/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's debug registers.  Those of a process that was attached to are perf events: should we
 * be killed, the kernel closes them before it resumes the threads.  Registers that ptrace(2) set
 * would stay, and the next SIGTRAP would end the process; they are used for programs that die with
 * us, where perf events are refused, and for threads that block the events' signal. */
#include "kernel/breakpoint.h"
#include "kernel/system.h"
#include "private.h"

#define ANY_CODE 8 /* the length that the kernel wants of a breakpoint */

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
