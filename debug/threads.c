/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The threads of the program, the oldest first. */
#include "private.h"
#include "process/proc.h"

#include <stdio.h>
#include <string.h>

struct mt_debug_lwp *mt_debug_find(const struct mt_debugger *debugger, pid_t lwp)
{
	mt_array_each (one, &debugger->lwps)
		if ((*one)->thread.lwp == lwp)
			return *one;
	return NULL;
}

struct mt_error *mt_debug_add_lwp(struct mt_debugger *debugger, pid_t lwp, bool report,
				  struct mt_debug_lwp **out)
{
	struct mt_debug_lwp *added = calloc(1, sizeof(*added));

	if (!added || mt_array_push(&debugger->lwps, added)) {
		free(added);
		return mt_error_no_memory();
	}
	added->thread.number = ++debugger->last_thread;
	debugger->births++;
	added->thread.lwp = lwp;
	added->group_stops = debugger->group_stops;
	if (mt_debugger_has_process(debugger))
		mt_proc_name(lwp, added->thread.name);
	mt_debug_registers(debugger, added); /* for its handle */
	if (report && debugger->front.thread_born)
		debugger->front.thread_born(debugger->front.context, &added->thread);
	if (out)
		*out = added;
	return NULL;
}

void mt_debug_remove_lwp(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, bool report)
{
	size_t at = 0;

	while (at < debugger->lwps.count && debugger->lwps.items[at] != lwp)
		at++;
	if (at == debugger->lwps.count)
		return;
	if (report && debugger->front.thread_ended)
		debugger->front.thread_ended(debugger->front.context, &lwp->thread);
	debugger->lwps.count--;
	memmove(&debugger->lwps.items[at], &debugger->lwps.items[at + 1],
		(debugger->lwps.count - at) * sizeof(debugger->lwps.items[0]));
	if (debugger->selected == lwp) {
		debugger->selected = debugger->lwps.count ? debugger->lwps.items[0] : NULL;
		debugger->selected_frame = 0;
	}
	if (debugger->over == lwp)
		debugger->over = NULL;
	if (debugger->plan.lwp == lwp)
		mt_debug_plan_clear(debugger);
	mt_array_each (frame, &lwp->frames)
		free(*frame);
	mt_array_deinit(&lwp->frames);
	mt_debug_contexts_deinit(lwp);
	mt_debug_hardware_deinit(lwp);
	free(lwp);
}

void mt_debug_remove_lwps(struct mt_debugger *debugger)
{
	while (debugger->lwps.count)
		mt_debug_remove_lwp(debugger, *mt_array_last(&debugger->lwps), false);
	debugger->last_thread = debugger->births = 0;
}

const struct user_regs_struct *mt_debug_registers(struct mt_debugger *debugger,
						  struct mt_debug_lwp *lwp)
{
	if (lwp->state == MT_DEBUG_LWP_RUNNING)
		return NULL;
	if (!lwp->has_registers) {
		struct mt_error *error = debugger->target->ops->get_registers(
		    debugger->target, lwp->thread.lwp, &lwp->registers);

		lwp->has_registers = !error;
		if (!error)
			lwp->thread.handle = lwp->registers.fs_base;
		mt_error_destroy(error);
	}
	return lwp->has_registers ? &lwp->registers : NULL;
}

struct mt_error *mt_debug_set_pc(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 uint64_t pc)
{
	if (!mt_debug_registers(debugger, lwp))
		return mt_error_new(MT_ERROR_GONE, "thread %d is gone", lwp->thread.lwp);
	lwp->registers.rip = pc;
	mt_debug_forget_frames(lwp);
	return debugger->target->ops->set_registers(debugger->target, lwp->thread.lwp,
						    &lwp->registers);
}

void mt_debug_forget_frames(struct mt_debug_lwp *lwp)
{
	lwp->frame_count = 0;
	lwp->unwinding = false;
}

/* With its present name: the program may have changed it. */
static const struct mt_debug_thread *updated(const struct mt_debugger *debugger,
					     struct mt_debug_lwp *lwp)
{
	char name[sizeof(lwp->thread.name)] = "";

	if (!lwp->thread.is_named && mt_debugger_has_process(debugger))
		mt_proc_name(lwp->thread.lwp, name);
	if (*name)
		memcpy(lwp->thread.name, name, sizeof(name));
	return &lwp->thread;
}

struct mt_error *mt_debugger_name_thread(struct mt_debugger *debugger, const char *name)
{
	struct mt_debug_lwp *lwp = debugger->selected;

	if (!lwp)
		return mt_error_new(MT_ERROR_USAGE, "No thread selected");
	lwp->thread.is_named = name && *name;
	if (lwp->thread.is_named)
		snprintf(lwp->thread.name, sizeof(lwp->thread.name), "%s", name);
	return NULL;
}

size_t mt_debugger_thread_count(const struct mt_debugger *debugger)
{
	return debugger->lwps.count;
}

const struct mt_debug_thread *mt_debugger_thread(const struct mt_debugger *debugger, size_t index)
{
	return index < debugger->lwps.count ? updated(debugger, debugger->lwps.items[index]) : NULL;
}

unsigned mt_debugger_births(const struct mt_debugger *debugger)
{
	return debugger->births;
}

const struct mt_debug_thread *mt_debugger_selected(const struct mt_debugger *debugger)
{
	return debugger->selected ? updated(debugger, debugger->selected) : NULL;
}

struct mt_error *mt_debugger_select_thread(struct mt_debugger *debugger, unsigned number)
{
	mt_array_each (one, &debugger->lwps) {
		if ((*one)->thread.number != number)
			continue;
		debugger->selected = *one;
		debugger->selected_frame = 0;
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "Unknown thread %u.", number);
}
