/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the program runs: who goes on, who is held, and when a verb is over. */
#include "private.h"
#include "process/proc.h"

#include <sys/syscall.h>
#include <unistd.h>

#define POLL_MS 250
#define TURN_MS 2

static bool is_passing(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers;

	/* A signal comes first; the breakpoint is met again behind its handler. */
	if (lwp->running || lwp->exiting || !lwp->passed || lwp->signal)
		return false;
	registers = mt_debug_registers(debugger, lwp);
	return registers && registers->rip == lwp->passed &&
	       mt_debug_site_at(debugger, lwp->passed);
}

bool mt_debug_is_stepped(const struct mt_debugger *debugger, const struct mt_debug_lwp *lwp)
{
	const struct mt_debug_plan *plan = &debugger->plan;

	return plan->lwp == lwp && !plan->back && plan->kind >= MT_DEBUG_PLAN_STEP &&
	       plan->kind <= MT_DEBUG_PLAN_UNTIL;
}

static struct mt_error *ignore_gone(struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error);
	return NULL;
}

/* The kernel gives a signal only where it was about to give one: elsewhere it is sent. */
static int signal_to_give(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	int signal = lwp->signal;

	if (signal && !lwp->reported) {
		lwp->injected = signal;
		syscall(SYS_tgkill, debugger->pid, lwp->thread.lwp, signal);
		signal = 0;
	}
	lwp->reported = 0;
	return signal;
}

/* One that was killed meanwhile tells so itself. */
static struct mt_error *resume(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	bool is_step = debugger->over
			   ? !debugger->over_vfork
			   : debugger->watches_step || mt_debug_is_stepped(debugger, lwp);
	int signal = signal_to_give(debugger, lwp);

	if (lwp->signal && lwp->passed && !debugger->over) {
		lwp->again = lwp->passed;
		lwp->again_sp = lwp->has_registers ? lwp->registers.rsp : 0;
	}
	if (!debugger->over)
		lwp->passed = 0;
	mt_debug_watch_insert(debugger, lwp);
	lwp->running = true;
	lwp->entered = 0;
	lwp->signal = 0;
	lwp->has_registers = false;
	mt_debug_forget_frames(lwp);
	mt_try(ignore_gone(
	    debugger->target->run->resume(debugger->target, lwp->thread.lwp,
					  is_step ? MT_RESUME_STEP : MT_RESUME_CONTINUE, signal)));
	/* vfork() holds it until its child is a program of its own: then it stops. */
	if (debugger->over == lwp && debugger->over_vfork)
		return ignore_gone(
		    debugger->target->run->interrupt(debugger->target, lwp->thread.lwp));
	return NULL;
}

static bool is_pending(const struct mt_debugger *debugger)
{
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->has_pending)
			return true;
	return false;
}

static struct mt_error *begin_passing(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	mt_try(mt_debug_halt(debugger));
	/* Something may have ended it meanwhile. */
	if (!mt_debug_registers(debugger, lwp) || lwp->has_pending)
		return NULL;
	debugger->over = lwp;
	debugger->over_vfork = false;
	struct mt_debug_site *site = mt_debug_site_at(debugger, lwp->passed);
	if (!site)
		return NULL;
	site->passed = true;
	return mt_debug_lift_site(debugger, site);
}

static struct mt_debug_lwp *find_passing(struct mt_debugger *debugger)
{
	if (debugger->plan.lwp && is_passing(debugger, debugger->plan.lwp))
		return debugger->plan.lwp;
	mt_array_each (lwp, &debugger->lwps)
		if (is_passing(debugger, *lwp))
			return *lwp;
	return NULL;
}

/* The next one behind the last that stands still.  NULL: all run. */
static struct mt_debug_lwp *next_in_turn(struct mt_debugger *debugger)
{
	size_t count = debugger->lwps.count, last = 0;

	for (size_t i = 0; i < count; i++)
		if (debugger->lwps.items[i]->thread.lwp == debugger->turn)
			last = i;
	for (size_t i = 1; i <= count; i++) {
		struct mt_debug_lwp *lwp = debugger->lwps.items[(last + i) % count];

		if (!lwp->running)
			return lwp;
	}
	return NULL;
}

/* One that sleeps in a system call stops when that is done, before it does anything else. */
static struct mt_error *let_one_run(struct mt_debugger *debugger)
{
	const struct mt_debug_lwp *last = mt_debug_find(debugger, debugger->turn);
	struct mt_debug_lwp *next;

	if (debugger->turn_holds && last && last->running)
		return NULL;
	next = next_in_turn(debugger);
	debugger->turn_holds = next;
	if (!next)
		return NULL;
	debugger->turn = next->thread.lwp;
	return resume(debugger, next);
}

static struct mt_error *let_run(struct mt_debugger *debugger)
{
	struct mt_debug_lwp *passing;

	if (is_pending(debugger))
		return NULL;
	if (!debugger->over && debugger->sites_changed) {
		debugger->sites_changed = false;
		mt_debug_rescue_begin(debugger);
		mt_try(mt_debug_insert_sites(debugger));
	}
	/* All of its threads get them. */
	if (!debugger->over && debugger->watches_changed) {
		mt_try(mt_debug_halt(debugger));
		mt_try(mt_debug_watch_plan(debugger));
	}
	passing = debugger->over ? NULL : find_passing(debugger);
	if (passing)
		mt_try(begin_passing(debugger, passing));
	if (is_pending(debugger))
		return NULL;
	if (debugger->over)
		return debugger->over->running ? NULL : resume(debugger, debugger->over);
	if (debugger->watches_step && debugger->lwps.count > 1)
		return let_one_run(debugger);
	mt_array_each (lwp, &debugger->lwps)
		if (!(*lwp)->running)
			mt_try(resume(debugger, *lwp));
	return NULL;
}

static bool take_pending(struct mt_debugger *debugger, struct mt_stop *stop)
{
	mt_array_each (lwp, &debugger->lwps) {
		if (!(*lwp)->has_pending)
			continue;
		(*lwp)->has_pending = false;
		*stop = (*lwp)->pending;
		return true;
	}
	return false;
}

/* As Ctrl-C at the program's own terminal; a program that does not mind is halted the second time.
 * An attached one never gets the signal, which would end it, should we end first. */
static struct mt_error *interrupt(struct mt_debugger *debugger)
{
	const struct mt_debug_handling *handling = mt_debug_handling_of(debugger, SIGINT);
	bool is_for_us = debugger->attached && handling->stop && !handling->pass;

	if (!debugger->interrupting && !is_for_us) {
		debugger->interrupting = true;
		kill(debugger->pid, SIGINT);
		return NULL;
	}
	debugger->interrupting = true;
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->running)
			return ignore_gone(
			    debugger->target->run->interrupt(debugger->target, (*lwp)->thread.lwp));
	return NULL;
}

static void note_stopped(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);

	if (!lwp || stop->kind == MT_STOP_EXITED)
		return;
	lwp->running = false;
	lwp->has_registers = false;
	mt_debug_forget_frames(lwp);
}

static int wait_ms(const struct mt_debugger *debugger)
{
	if (debugger->watches_step && debugger->lwps.count > 1 && debugger->turn_holds)
		return TURN_MS;
	return mt_debugger_is_recording(debugger) ? MT_ENGINE_TICK_MS : POLL_MS;
}

static struct mt_error *next_event(struct mt_debugger *debugger, struct mt_stop *stop)
{
	if (take_pending(debugger, stop))
		return NULL;
	mt_try(debugger->target->run->wait(debugger->target, wait_ms(debugger), stop));
	if (stop->kind == MT_STOP_NONE)
		debugger->turn_holds = false;
	mt_debug_record_tick(debugger);
	note_stopped(debugger, stop);
	bool asked = stop->kind == MT_STOP_REQUEST;
	if (debugger->front.interrupted)
		asked |= debugger->front.interrupted(debugger->front.context);
	return asked ? interrupt(debugger) : NULL;
}

/* While all are halted: a hit of ours happens again when the thread goes on; births are adopted,
 * since somebody has to know of the new one; the rest waits. */
static struct mt_error *keep(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);
	const struct user_regs_struct *registers;

	if (stop->pid && stop->pid != debugger->pid)
		return mt_debug_take(debugger, stop);
	switch (stop->kind) {
	case MT_STOP_FORK:
		if (!debugger->settings.follow_child)
			return mt_debug_take(debugger, stop);
		/* It is followed when its parent goes on, and has nothing of ours until then. */
		mt_try(mt_debug_clean_child(debugger, stop->child));
		mt_try(mt_debug_record_forked(debugger, stop->child));
		break;
	case MT_STOP_NEW_THREAD:
	case MT_STOP_EXEC:
		return mt_debug_take(debugger, stop);
	case MT_STOP_INTERRUPTED:
		return NULL;
	case MT_STOP_BREAKPOINT:
		if (stop->address)
			return NULL;
		registers = lwp ? mt_debug_registers(debugger, lwp) : NULL;
		if (registers && mt_debug_site_at(debugger, registers->rip - 1))
			return mt_debug_set_pc(debugger, lwp, registers->rip - 1);
		break;
	case MT_STOP_EXITED:
		if (stop->lwp != debugger->pid)
			return mt_debug_take(debugger, stop);
		break;
	}
	if (lwp) {
		lwp->has_pending = true;
		lwp->pending = *stop;
	}
	return NULL;
}

static struct mt_error *drain(struct mt_debugger *debugger)
{
	struct mt_stop stop;

	for (;;) {
		struct mt_error *error = debugger->target->run->wait(debugger->target, 0, &stop);

		if (error)
			return ignore_gone(error);
		if (stop.kind == MT_STOP_NONE || stop.kind == MT_STOP_REQUEST)
			return NULL;
		mt_try(keep(debugger, &stop));
	}
}

/* It ran a breakpoint instruction, which the kernel tells only when it goes on: a halt comes first.
 * It does nothing else before. */
static bool has_untold_trap(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers =
	    lwp->has_pending || lwp->exiting ? NULL : mt_debug_registers(debugger, lwp);

	return registers && mt_debug_site_at(debugger, registers->rip - 1) &&
	       mt_proc_is_pending(lwp->thread.lwp, SIGTRAP);
}

static struct mt_error *take_untold(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_stop stop = {0};
	pid_t number = lwp->thread.lwp;

	mt_try(ignore_gone(
	    debugger->target->run->resume(debugger->target, number, MT_RESUME_CONTINUE, 0)));
	lwp->has_registers = false;
	while (stop.lwp != number) {
		mt_try(debugger->target->run->wait(debugger->target, POLL_MS, &stop));
		if (stop.kind != MT_STOP_NONE && stop.kind != MT_STOP_REQUEST)
			mt_try(keep(debugger, &stop));
	}
	return NULL;
}

struct mt_error *mt_debug_halt(struct mt_debugger *debugger)
{
	mt_try(debugger->target->run->halt(debugger->target, debugger->pid));
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->running) {
			(*lwp)->running = false;
			(*lwp)->has_registers = false;
			mt_debug_forget_frames(*lwp);
		}
	mt_try(drain(debugger));
	for (size_t i = 0; i < debugger->lwps.count; i++)
		if (has_untold_trap(debugger, debugger->lwps.items[i]))
			mt_try(take_untold(debugger, debugger->lwps.items[i]));
	return NULL;
}

void mt_debug_tell(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		   const struct mt_debug_stop *stop)
{
	const struct user_regs_struct *registers = lwp ? mt_debug_registers(debugger, lwp) : NULL;

	*debugger->stop = *stop;
	debugger->stop->pid = debugger->last_pid;
	debugger->told = true;
	if (!lwp)
		return;
	debugger->selected = lwp;
	debugger->selected_frame = 0;
	debugger->stop->switched = lwp->thread.lwp != debugger->last_lwp;
	/* Where it stands now was told. */
	lwp->passed = registers ? registers->rip : 0;
}

void mt_debug_process_ended(struct mt_debugger *debugger)
{
	mt_debug_leave_children(debugger, false);
	mt_error_destroy(mt_debug_let_go_lender(debugger, MT_DEBUG_BY_EXIT));
	mt_debug_plan_clear(debugger);
	mt_debug_forget_sites(debugger);
	mt_debug_rescue_forget(debugger);
	mt_debug_remove_lwps(debugger);
	debugger->over = NULL;
	mt_debug_record_ended(debugger);
	debugger->pid = 0;
	debugger->attached = false;
	debugger->loader_break = 0;
	mt_debug_watch_ended(debugger);
	if (debugger->path)
		mt_error_destroy(mt_debug_space_of_file(debugger));
	mt_debug_resolve_all(debugger);
}

static struct mt_error *run(struct mt_debugger *debugger)
{
	const struct mt_debug_stop at_end = {.kind = MT_DEBUG_SIGNAL};
	struct mt_stop stop;

	while (!debugger->told) {
		mt_try(let_run(debugger));
		mt_try(next_event(debugger, &stop));
		mt_try(mt_debug_take(debugger, &stop));
		if (!debugger->told && debugger->front.ended &&
		    debugger->front.ended(debugger->front.context))
			mt_debug_tell(debugger, NULL, &at_end);
	}
	return NULL;
}

static void end_passing(struct mt_debugger *debugger)
{
	debugger->over = NULL;
	debugger->over_vfork = false;
}

/* What was recorded ends with the signal, if there is one. */
static struct mt_error *record_stop(struct mt_debugger *debugger)
{
	const struct mt_debug_stop *told = debugger->stop;
	const struct mt_stop stop = {
	    .kind = MT_STOP_SIGNAL,
	    .pid = debugger->pid,
	    .lwp = debugger->selected ? debugger->selected->thread.lwp : 0,
	    .signal = told->signal,
	    .address = told->address,
	};

	mt_try(mt_debug_record_hide(debugger));
	if (!debugger->told || told->kind != MT_DEBUG_SIGNAL || !told->signal)
		return NULL;
	return mt_debug_record_take(debugger, &stop);
}

/* Everybody stands still, and the text is the program's own. */
static struct mt_error *come_to_rest(struct mt_debugger *debugger)
{
	struct mt_error *error = NULL, *other;

	if (debugger->pid)
		error = mt_debug_halt(debugger);
	if (debugger->pid) {
		other = mt_debug_remove_sites(debugger);
		if (error)
			mt_error_destroy(other);
		else
			error = other;
	}
	mt_debug_watch_withdraw(debugger);
	mt_debug_rescue_rest(debugger);
	if (debugger->pid && !error)
		error = record_stop(debugger);
	end_passing(debugger);
	mt_debug_plan_clear(debugger);
	return error;
}

struct mt_error *mt_debug_run(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	pid_t pid = debugger->pid;
	struct mt_error *error, *other;

	*stop = (struct mt_debug_stop){0};
	mt_debug_seen_clear(debugger);
	mt_debug_watch_look(debugger);
	mt_try(mt_debug_watch_plan(debugger));
	debugger->stop = stop;
	debugger->told = false;
	debugger->interrupting = false;
	debugger->sites_changed = true;
	debugger->last_pid = pid;
	debugger->last_lwp = debugger->selected ? debugger->selected->thread.lwp : 0;
	if (debugger->front.runs)
		debugger->front.runs(debugger->front.context, pid);
	error = mt_debug_record_show(debugger);
	if (!error)
		error = run(debugger);
	other = come_to_rest(debugger);
	if (debugger->front.stopped)
		debugger->front.stopped(debugger->front.context, pid);
	debugger->stop = NULL;
	if (!error)
		return other;
	mt_error_destroy(other);
	return error;
}
