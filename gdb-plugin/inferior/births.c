/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/inferior/births.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/inferior.h"
#include "process/proc.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3 0xcc

static void forget_let_go(mt_births *births)
{
	size_t count = 0;

	mt_array_each (child, births)
		if (mt_proc_status_number(*child, "TracerPid") == getpid())
			births->items[count++] = *child;
	births->count = count;
}

void mt_births_told(mt_births *births, pid_t child)
{
	size_t count = 0;

	mt_array_each (one, births)
		if (*one != child)
			births->items[count++] = *one;
	births->count = count;
}

/* What GDB does next, too; the stop is left for it. */
static bool stops(pid_t child)
{
	siginfo_t info;

	if (mt_gdb_target_stands_still(child))
		return true;
	while (waitid(P_PID, (id_t)child, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL))
		if (errno != EINTR)
			return false;
	return mt_gdb_target_stands_still(child);
}

static struct mt_error *disown(struct mt_inferior *parent, const struct mt_stop *stop)
{
	mt_try(mt_session_disown(parent->live.session, stop));
	if (mt_proc_share_memory(stop->pid, stop->child) > 0)
		return NULL;
	forget_let_go(&parent->births);
	return mt_array_push(&parent->births, stop->child) ? mt_error_no_memory() : NULL;
}

static void take(struct mt_inferior *parent, const struct mt_stop *stop)
{
	const PyGILState_STATE state = PyGILState_Ensure();
	struct mt_error *error = disown(parent, stop);

	if (error && mt_error_code(error) != MT_ERROR_GONE)
		mt_gdb_warn(mt_error_message(error));
	mt_error_destroy(error);
	PyGILState_Release(state);
}

/* The kernel tells of a child that is to end without SIGCHLD as of a thread. */
void mt_births_hear(pid_t lwp, int status)
{
	const int event = WIFSTOPPED(status) ? status >> 16 : 0;
	unsigned long child = 0;

	if (event != PTRACE_EVENT_FORK && event != PTRACE_EVENT_VFORK &&
	    event != PTRACE_EVENT_CLONE)
		return;
	struct mt_stop stop = {.kind = event == PTRACE_EVENT_VFORK ? MT_STOP_VFORK : MT_STOP_FORK,
			       .pid = mt_proc_status_number(lwp, "Tgid"),
			       .lwp = lwp};
	struct mt_inferior *parent = mt_inferior_find(stop.pid);

	if (!parent || ptrace(PTRACE_GETEVENTMSG, lwp, 0, &child))
		return;
	stop.child = (pid_t)child;
	if (mt_proc_status_number(stop.child, "Tgid") == stop.child && stops(stop.child))
		take(parent, &stop);
}

struct pending {
	struct mt_target *target;
	pid_t parent, child;
};

static struct mt_error *clean_at(void *context, uint64_t address)
{
	const struct pending *pending = context;
	const struct mt_target_ops *ops = pending->target->ops;
	uint8_t there = 0, own = INT3;

	if (ops->read(pending->target, pending->child, address, &there, 1) != 1 || there != INT3 ||
	    ops->read(pending->target, pending->parent, address, &own, 1) != 1)
		return NULL;
	/* With `breakpoint always-inserted` it is in the parent's memory, too. */
	if (own == INT3 && (pending->parent != mt_gdb_pid() || !mt_gdb_read_byte(address, &own)))
		return NULL;
	return own == INT3 ? NULL : ops->write(pending->target, pending->child, address, &own, 1);
}

struct mt_error *mt_births_clean_pending(struct mt_inferior *inferior)
{
	struct pending pending = {.target = inferior->live.target, .parent = inferior->live.pid};
	struct mt_error *error = NULL;

	if (!inferior->births.count || !mt_live_is_recording(&inferior->live))
		return NULL;
	forget_let_go(&inferior->births);
	mt_array_each (child, &inferior->births) {
		pending.child = *child;
		if (!error && *child != mt_gdb_pid()) /* a checkpoint can become it */
			error = mt_py_each_breakpoint(clean_at, &pending);
	}
	return error;
}
