/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events: after most of them the thread is resumed; one ends the command. */
#include "kernel/event.h"
#include "private.h"
#include "process/proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- How signals are handled ---- */

/* Signals of normal operation. */
static const int quiet[] = {SIGALRM, SIGURG,  SIGIO,    SIGVTALRM,
			    SIGPROF, SIGCHLD, SIGWINCH, 32 /* NPTL's SIGCANCEL */,
			    33 /* its SIGSETXID */};

void mt_debug_signals_init(struct mt_debugger *debugger)
{
	for (size_t i = 0; i < MT_DEBUG_SIGNALS; i++)
		debugger->handling[i] = (struct mt_debug_handling){true, true, true};
	for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
		debugger->handling[quiet[i]] = (struct mt_debug_handling){false, false, true};
	debugger->handling[SIGTRAP].pass = false;
	debugger->handling[SIGINT].pass = false;
}

const struct mt_debug_handling *mt_debug_handling_of(const struct mt_debugger *debugger, int signal)
{
	return &debugger->handling[signal > 0 && signal < MT_DEBUG_SIGNALS ? signal : 0];
}

struct mt_debug_handling mt_debugger_handling(const struct mt_debugger *debugger, int signal)
{
	return *mt_debug_handling_of(debugger, signal);
}

void mt_debugger_handle(struct mt_debugger *debugger, int signal, struct mt_debug_handling handling)
{
	if (signal > 0 && signal < MT_DEBUG_SIGNALS)
		debugger->handling[signal] = handling;
}

/* ---- Events ---- */

/* LWP does not step over a breakpoint any more, if it did. */
static void end_over(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (debugger->over != lwp)
		return;
	debugger->over = NULL;
	debugger->sites_changed = true;
}

static struct mt_error *on_exited(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);
	struct mt_debug_stop end = {.kind = MT_DEBUG_EXITED, .status = WEXITSTATUS(stop->status)};

	mt_try(mt_debug_record_take(debugger, stop));
	if (stop->lwp == debugger->pid) {
		if (WIFSIGNALED(stop->status))
			end = (struct mt_debug_stop){.kind = MT_DEBUG_KILLED,
						     .signal = WTERMSIG(stop->status)};
		mt_debug_process_ended(debugger);
		mt_debug_report(debugger, NULL, &end);
	} else if (lwp) {
		end_over(debugger, lwp);
		mt_debug_remove_lwp(debugger, lwp, true);
	}
	return NULL;
}

/* It runs no code of the program any more, but has to be resumed. */
static struct mt_error *on_exiting(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	pid_t number = lwp->thread.lwp;

	end_over(debugger, lwp);
	if (number == debugger->pid) {
		lwp->exiting = true;
		return NULL;
	}
	mt_debug_remove_lwp(debugger, lwp, true);
	mt_error_destroy(
	    debugger->target->run->resume(debugger->target, number, MT_RESUME_CONTINUE, 0));
	return NULL;
}

static struct mt_error *on_new_thread(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	if (mt_debug_find(debugger, stop->child))
		return NULL;
	struct mt_debug_lwp *lwp;

	mt_try(mt_debug_add_lwp(debugger, stop->child, true, &lwp));
	mt_try(mt_debug_record_take(debugger, stop));
	if (mt_live_session(&debugger->live))
		mt_session_number_thread(debugger->live.session, stop->child, lwp->thread.number);
	mt_debug_record_tick(debugger); /* makes the ring for the next one */
	return NULL;
}

/* The child is detached, as if we had never been there.  One of vfork() runs in its parent's memory
 * until it calls exec: no breakpoints meanwhile. */
static struct mt_error *on_fork(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				const struct mt_stop *stop)
{
	bool is_vfork = stop->kind == MT_STOP_VFORK;

	if (debugger->settings.follow_fork == MT_DEBUG_FOLLOW_CHILD)
		return mt_debug_follow(debugger, lwp, stop);
	if (is_vfork) {
		mt_try(mt_debug_halt(debugger));
		mt_try(mt_debug_remove_sites(debugger));
	} else {
		mt_try(mt_debug_clean_child(debugger, stop->child));
		mt_error_destroy(mt_debug_rescue_leave_child(debugger, stop->child));
		mt_try(mt_debug_record_forked(debugger, stop->child));
	}
	mt_try(debugger->target->run->detach(debugger->target, stop->child, 0));
	if (is_vfork) {
		debugger->over = lwp;
		debugger->over_what = MT_DEBUG_OVER_VFORK;
	}
	if (debugger->front.forked)
		debugger->front.forked(debugger->front.context, MT_DEBUG_CHILD_DETACHED,
				       &lwp->thread, stop->child, is_vfork);
	return NULL;
}

/* The program is another one: nothing that was known of the process holds. */
static struct mt_error *on_exec(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	char link[64], path[4096];
	struct mt_debug_lwp *only;

	mt_try(mt_debug_release_vfork_parent(debugger, MT_DEBUG_BY_EXEC));
	mt_debug_plan_clear(debugger);
	mt_debug_forget_sites(debugger);
	mt_debug_watch_ended(debugger);
	mt_debug_rescue_forget(debugger);
	while (debugger->lwps.count > 1)
		mt_debug_remove_lwp(debugger, *mt_array_last(&debugger->lwps), false);
	if (!debugger->lwps.count)
		mt_try(mt_debug_add_lwp(debugger, debugger->pid, false, NULL));
	only = debugger->lwps.items[0];
	end_over(debugger, only);
	only->thread.lwp = debugger->pid;
	mt_proc_name(debugger->pid, only->thread.name);
	only->state = MT_DEBUG_LWP_STOPPED;
	only->has_registers = false;
	only->passed = 0;
	only->signal = 0;
	debugger->selected = only;
	if (debugger->settings.follow_exec == MT_DEBUG_EXEC_NEW) {
		mt_try(mt_debug_next_inferior(debugger));
		only->thread.number = debugger->last_thread = 1;
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", debugger->pid);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	if (length > 0) {
		char *copy = strndup(path, (size_t)length);

		if (!copy)
			return mt_error_no_memory();
		free(debugger->path);
		debugger->path = copy;
	}
	if (debugger->front.executes)
		debugger->front.executes(debugger->front.context, debugger->pid, debugger->path);
	mt_try(mt_debug_space_of_process(debugger));
	mt_debug_resolve_after_exec(debugger);
	debugger->sites_changed = true;
	mt_try(mt_debug_record_take(debugger, stop));
	return mt_debug_record_launched(debugger);
}

/* HIT: a breakpoint.  Watchpoints in `seen` are reported first, and HIT may be NULL then. */
static void report_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		       const struct mt_debug_break *hit)
{
	const struct mt_debug_stop stop = {.kind = debugger->seen.count ? MT_DEBUG_WATCHED
									: MT_DEBUG_BREAKPOINT,
					   .breakpoint = hit ? hit->public.number : 0,
					   .temporary = hit && hit->public.temporary,
					   .seen = debugger->seen.items,
					   .seen_count = debugger->seen.count};

	mt_debug_report(debugger, lwp, &stop);
}

/* A thread is at an address with a breakpoint, before its instruction. */
static struct mt_error *at_breakpoint(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      uint64_t address, uint64_t sp)
{
	bool again = lwp->again == address && lwp->again_sp == sp;
	const struct mt_stop libraries = {
	    .kind = MT_STOP_LIBRARIES, .pid = debugger->pid, .lwp = lwp->thread.lwp};
	struct mt_debug_break *hit = NULL;

	lwp->passed = address;
	if (again)
		lwp->again = 0;
	if (!again && (address == debugger->loader_break || address == debugger->session_break)) {
		mt_try(mt_debug_record_take(debugger, &libraries));
		mt_try(mt_debug_space_of_process(debugger));
		mt_debug_resolve_all(debugger);
		mt_try(mt_debug_record_loaded(debugger));
		debugger->sites_changed = true;
	}
	if (!again) {
		mt_try(mt_debug_record_came(debugger, lwp));
		hit = mt_debug_hit(debugger, lwp, address);
	}
	if (!again && mt_debug_watch_left(debugger, lwp, address)) {
		report_hit(debugger, lwp, hit);
		return NULL;
	}
	if (!hit)
		return mt_debug_on_plan_location(debugger, lwp, address);
	if (mt_debug_is_stepped(debugger, lwp) && mt_debug_is_by_instruction(debugger))
		mt_debug_enter_all(lwp, address);
	else
		mt_debug_enter_asked(debugger, lwp, address);
	report_hit(debugger, lwp, hit);
	return NULL;
}

static struct mt_error *on_signal(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				  int signal, uint64_t fault)
{
	const struct mt_debug_handling *handling = mt_debug_handling_of(debugger, signal);
	const struct mt_debug_stop stop = {
	    .kind = MT_DEBUG_SIGNAL, .signal = signal, .address = fault};
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	end_over(debugger, lwp);
	bool is_injected = lwp->injected == signal;
	lwp->signal = handling->pass || is_injected ? signal : 0;
	lwp->reported = signal;
	lwp->injected = 0;
	if (handling->stop && !is_injected) {
		mt_debug_report(debugger, lwp, &stop);
		return NULL;
	}
	if (handling->print && !is_injected && debugger->front.signalled)
		debugger->front.signalled(debugger->front.context, &lwp->thread, signal);
	/* Its handler is not stepped through. */
	if (lwp->signal && registers && mt_debug_is_stepped(debugger, lwp)) {
		debugger->plan.back = registers->rip;
		debugger->plan.back_sp = registers->rsp;
		debugger->plan.into = false;
		debugger->sites_changed = true;
	}
	return NULL;
}

static struct mt_error *on_breakpoint(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      const struct mt_stop *stop)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!registers)
		return NULL;
	uint64_t address = stop->address ? stop->address : registers->rip - 1, sp = registers->rsp;
	if (!stop->address && !mt_debug_is_own_int3(debugger, address))
		return on_signal(debugger, lwp, SIGTRAP, 0);
	if (!stop->address)
		mt_try(mt_debug_set_pc(debugger, lwp, address));
	mt_debug_rescue_hit(debugger, lwp);
	return mt_debug_site_at(debugger, address) ? at_breakpoint(debugger, lwp, address, sp)
						   : NULL;
}

/* False: the signal is the program's own. */
static bool on_gate(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	unsigned number = 0;

	if (!mt_debug_record_passes(debugger, lwp, &number))
		return false;
	end_over(debugger, lwp);
	lwp->signal = lwp->reported = 0;
	mt_array_each (one, &debugger->breakpoints)
		if (number && (*one)->public.number == number)
			report_hit(debugger, lwp, *one);
	return true;
}

/* A debug register was hit, or an instruction executed.  False: that does not stop the thread. */
static bool on_watch(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_debug_break *hit = mt_debug_watch_hit(debugger, lwp);
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!hit)
		return false;
	/* A breakpoint at this address would be stepped over when the thread is resumed. */
	if (debugger->seen.count && hit->watched)
		hit = registers ? mt_debug_hit(debugger, lwp, registers->rip) : NULL;
	report_hit(debugger, lwp, hit);
	return true;
}

/* An instruction was executed, or a system call, or the handler of a signal begins. */
static struct mt_error *on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!registers)
		return NULL;
	if (registers->rip != lwp->passed || debugger->over == lwp)
		lwp->passed = 0;
	end_over(debugger, lwp);
	if (on_watch(debugger, lwp) || !mt_debug_is_stepped(debugger, lwp))
		return NULL;
	uint64_t pc = registers->rip, sp = registers->rsp;
	if (!lwp->passed && mt_debug_site_at(debugger, pc)) {
		mt_try(at_breakpoint(debugger, lwp, pc, sp));
		if (debugger->command == MT_DEBUG_COMMAND_DONE)
			return NULL;
	}
	return mt_debug_is_stepped(debugger, lwp) ? mt_debug_on_step(debugger, lwp) : NULL;
}

bool mt_debug_is_of_processor(const struct mt_stop *stop)
{
	if (mt_perf_is_trap(stop->signal, stop->code))
		return true;
	return stop->signal == SIGTRAP &&
	       (stop->code == TRAP_HWBKPT || stop->code == TRAP_TRACE || stop->code == TRAP_BRKPT);
}

/* Job control stops the whole process, and each thread reports it: the first report counts.  Then
 * the program is continued in spite of it, until the stop is over or we are: as GDB does, which
 * does not distinguish a stop from the signal that caused it. */
static struct mt_error *on_group_stop(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      int signal)
{
	bool is_first = lwp->group_stops == debugger->group_stops;

	debugger->group_stops += is_first;
	lwp->group_stops = debugger->group_stops;
	if (is_first)
		mt_try(on_signal(debugger, lwp, signal, 0));
	end_over(debugger, lwp);
	lwp->signal = lwp->reported = 0;
	return NULL;
}

struct mt_error *mt_debug_handle_event(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);
	const struct mt_debug_stop interrupted = {
	    .kind = MT_DEBUG_SIGNAL, .signal = debugger->process == MT_DEBUG_ATTACHED ? SIGINT : 0};

	/* A process that was detached, or the parent of vfork(), which may be killed. */
	if (stop->pid && stop->pid != debugger->pid) {
		if (stop->kind == MT_STOP_EXITED && stop->lwp == debugger->vfork_parent)
			debugger->vfork_parent = 0;
		if (stop->kind != MT_STOP_EXITED)
			mt_error_destroy(debugger->target->run->resume(debugger->target, stop->lwp,
								       MT_RESUME_CONTINUE, 0));
		return NULL;
	}
	if (stop->kind == MT_STOP_EXITED)
		return on_exited(debugger, stop);
	if (stop->kind == MT_STOP_EXEC && stop->pid == debugger->pid)
		return on_exec(debugger, stop);
	if (!lwp)
		return NULL;
	switch (stop->kind) {
	case MT_STOP_EXITING:
		return on_exiting(debugger, lwp);
	case MT_STOP_NEW_THREAD:
		return on_new_thread(debugger, stop);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		return on_fork(debugger, lwp, stop);
	case MT_STOP_BREAKPOINT:
		return on_breakpoint(debugger, lwp, stop);
	case MT_STOP_STEP:
	case MT_STOP_SYSCALL:
	case MT_STOP_HANDLER:
		return on_step(debugger, lwp);
	case MT_STOP_SYSCALL_ENTRY:
		lwp->enters_exec = true; /* see how_to_step() */
		return NULL;
	case MT_STOP_SIGNAL:
		if (stop->signal == SIGURG && on_gate(debugger, lwp))
			return NULL;
		if (mt_debug_record_mends(debugger, stop)) {
			lwp->signal = lwp->reported = 0;
			return NULL;
		}
		if (!mt_debug_is_of_processor(stop))
			return on_signal(debugger, lwp, stop->signal, stop->address);
		end_over(debugger, lwp);
		on_watch(debugger, lwp);
		return NULL;
	case MT_STOP_INTERRUPTED:
		end_over(debugger, lwp);
		if (debugger->command == MT_DEBUG_COMMAND_INTERRUPTED)
			mt_debug_report(debugger, lwp, &interrupted);
		return NULL;
	case MT_STOP_GROUP:
		return on_group_stop(debugger, lwp, stop->signal);
	default:
		return NULL;
	}
}
