/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Follows the child of a fork: it is the program from then on, and its parent is detached, with
 * nothing of ours in it.
 *
 * The child of vfork() runs in its parent's memory.  The parent is held in its vfork() meanwhile,
 * so that breakpoints may be in that memory for the child; they are removed before the parent is
 * detached: when the child has called exec, or is gone. */
#include "private.h"
#include "process/proc.h"

#include <string.h>

struct mt_debug_settings *mt_debugger_settings(struct mt_debugger *debugger)
{
	return &debugger->settings;
}

unsigned mt_debugger_inferior_count(const struct mt_debugger *debugger)
{
	return (unsigned)debugger->former.count + 1;
}

unsigned mt_debugger_beginnings(const struct mt_debugger *debugger)
{
	return debugger->beginnings;
}

struct mt_debug_inferior mt_debugger_inferior(const struct mt_debugger *debugger, unsigned number)
{
	struct mt_debug_inferior inferior = {.pid = debugger->pid, .path = debugger->path};
	size_t former = debugger->former.count;

	if (!number || number > former)
		return inferior;
	inferior.pid = number == former ? debugger->vfork_parent : 0;
	inferior.path = debugger->former.items[number - 1];
	return inferior;
}

bool mt_debugger_is_vfork_child(const struct mt_debugger *debugger)
{
	return debugger->vfork_parent != 0;
}

struct mt_error *mt_debug_next_inferior(struct mt_debugger *debugger)
{
	char *path = debugger->path ? strdup(debugger->path) : NULL;

	if ((debugger->path && !path) || mt_array_push(&debugger->former, path)) {
		free(path);
		return mt_error_no_memory();
	}
	debugger->births++;
	mt_debug_environment_deinit(debugger);
	mt_try(mt_debug_environment_init(debugger));
	return mt_debugger_set_arguments(debugger, "");
}

void mt_debug_drop_children(struct mt_debugger *debugger, bool kill)
{
	const struct mt_run_ops *run = debugger->target->run;

	mt_array_each (lwp, &debugger->lwps) {
		if ((*lwp)->state != MT_DEBUG_LWP_PENDING ||
		    ((*lwp)->pending.kind != MT_STOP_FORK && (*lwp)->pending.kind != MT_STOP_VFORK))
			continue;
		pid_t child = (*lwp)->pending.child;
		(*lwp)->state = MT_DEBUG_LWP_STOPPED;
		if (!kill && (*lwp)->pending.kind == MT_STOP_FORK)
			mt_error_destroy(mt_debug_rescue_leave_child(debugger, child));
		mt_error_destroy(kill ? run->kill(debugger->target, child)
				      : run->detach(debugger->target, child, 0));
	}
}

struct mt_error *mt_debug_release_vfork_parent(struct mt_debugger *debugger,
					       enum mt_debug_release why)
{
	pid_t parent = debugger->vfork_parent;

	if (!parent)
		return NULL;
	debugger->vfork_parent = 0;
	struct mt_error *error = mt_debug_clean_child(debugger, parent);
	if (why != MT_DEBUG_BY_DETACH) /* else it still waits for its child */
		mt_error_destroy(mt_debug_rescue_leave_child(debugger, parent));
	if (!error)
		error = debugger->target->run->detach(debugger->target, parent, 0);
	if (!error && debugger->front.parent_detached)
		debugger->front.parent_detached(debugger->front.context, parent, why);
	return error;
}

/* The thread that forked becomes its copy, which continues with the plan. */
static void move_to_child(struct mt_debugger *debugger, struct mt_debug_lwp *lwp, pid_t child)
{
	for (size_t i = debugger->lwps.count; i-- > 0;)
		if (debugger->lwps.items[i] != lwp)
			mt_debug_remove_lwp(debugger, debugger->lwps.items[i], false);
	mt_debug_watch_move(debugger, lwp->thread.lwp, child);
	lwp->thread.lwp = child;
	lwp->thread.number = debugger->last_thread = 1;
	mt_proc_name(child, lwp->thread.name);
	lwp->state = MT_DEBUG_LWP_STOPPED;
	lwp->has_registers = false;
	lwp->signal = lwp->reported = lwp->injected = 0;
	lwp->watches = 0;
	lwp->passed = lwp->again = 0;
	mt_debug_forget_frames(lwp);
	debugger->over = NULL;
	debugger->plan.first_function = 0; /* the stop is shown as one in another function */
	debugger->selected = lwp;
	debugger->selected_frame = 0;
	debugger->pid = debugger->last_pid = child;
}

struct mt_error *mt_debug_follow(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 const struct mt_stop *stop)
{
	bool shares_memory = stop->kind == MT_STOP_VFORK;

	if (!shares_memory) {
		mt_try(mt_debug_clean_child(debugger, stop->child));
		mt_error_destroy(mt_debug_rescue_leave_child(debugger, stop->child));
		mt_try(mt_debug_record_forked(debugger, stop->child));
	}
	mt_try(mt_debug_halt(debugger));
	if (debugger->vfork_parent) { /* its child forks before it calls exec */
		mt_try(mt_debug_remove_sites(debugger));
		mt_try(mt_debug_release_vfork_parent(debugger, MT_DEBUG_BY_DETACH));
	}
	mt_try(mt_debug_next_inferior(debugger));
	if (debugger->front.forked)
		debugger->front.forked(debugger->front.context, MT_DEBUG_CHILD_FOLLOWED,
				       &lwp->thread, stop->child, shares_memory);
	mt_try(mt_live_hide(&debugger->live));
	if (shares_memory)
		debugger->vfork_parent = debugger->pid;
	mt_debug_restore_threads(debugger);
	if (!shares_memory) {
		mt_try(mt_debug_remove_sites(debugger));
		mt_try(debugger->target->run->detach(debugger->target, debugger->pid, 0));
	}
	move_to_child(debugger, lwp, stop->child);
	mt_try(mt_debug_space_of_process(debugger));
	mt_debug_resolve_all(debugger);
	debugger->sites_changed = true;
	return mt_debug_record_followed(debugger, shares_memory);
}
