/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the program: which threads are resumed, which are held, and when the command is over. */
#include "base/clock.h"
#include "private.h"
#include "process/proc.h"
#include "ptrace/trap.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_MS 250
#define TURN_MS 2
/* For a trap that has happened: it is a matter of microseconds, if nobody freezes the process. */
#define LATE_NS 30000000000ull

static bool is_passing(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers;

	/* A signal comes first; the breakpoint is hit again after its handler. */
	if (lwp->state == MT_DEBUG_LWP_RUNNING || lwp->exiting || !lwp->passed || lwp->signal)
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

static bool is_exec(uint64_t number)
{
	return number == SYS_execve || number == SYS_execveat;
}

/* Should we be killed, a step over exec would be reported to the new program, which has no handler
 * for that: exec is told by its entry, and by its end if it fails. */
static enum mt_resume how_to_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	static const uint8_t instruction[] = {0x0f, 0x05}; /* syscall */
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	uint8_t bytes[sizeof(instruction)];

	if (lwp->enters_exec ||
	    (registers && is_exec(registers->rax) &&
	     mt_debug_read(debugger, registers->rip, bytes, sizeof(bytes)) == sizeof(bytes) &&
	     memcmp(bytes, instruction, sizeof(bytes)) == 0))
		return MT_RESUME_SYSCALL;
	return MT_RESUME_STEP;
}

/* A thread that was killed meanwhile reports that itself. */
static struct mt_error *resume(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	bool is_over_vfork = debugger->over && debugger->over_what == MT_DEBUG_OVER_VFORK;
	bool is_step = debugger->over
			   ? !is_over_vfork
			   : debugger->watches_step || mt_debug_is_stepped(debugger, lwp);
	int signal = lwp->signal;

	/* The kernel delivers a signal only where it was about to: elsewhere it is sent. */
	if (signal && !lwp->reported) {
		lwp->injected = signal;
		syscall(SYS_tgkill, debugger->pid, lwp->thread.lwp, signal);
		signal = 0;
	}
	enum mt_resume how = !is_step ? MT_RESUME_CONTINUE
			     : signal ? MT_RESUME_STEP /* to its handler */
				      : how_to_step(debugger, lwp);
	lwp->enters_exec = false;
	lwp->reported = 0;
	if (lwp->signal && lwp->passed && !debugger->over) {
		lwp->again = lwp->passed;
		lwp->again_sp = lwp->has_registers ? lwp->registers.rsp : 0;
	}
	if (!debugger->over)
		lwp->passed = 0;
	mt_debug_watch_insert(debugger, lwp);
	lwp->state = MT_DEBUG_LWP_RUNNING;
	debugger->objects_seen = false;
	lwp->entered = 0;
	lwp->signal = 0;
	lwp->has_registers = false;
	mt_debug_forget_frames(lwp);
	mt_try(ignore_gone(
	    debugger->target->run->resume(debugger->target, lwp->thread.lwp, how, signal)));
	/* vfork() holds it until its child calls exec: then it stops. */
	if (debugger->over == lwp && is_over_vfork)
		return ignore_gone(
		    debugger->target->run->interrupt(debugger->target, lwp->thread.lwp));
	return NULL;
}

static bool is_pending(const struct mt_debugger *debugger)
{
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->state == MT_DEBUG_LWP_PENDING)
			return true;
	return false;
}

/* Lets a thread step over a breakpoint, if one has to; the others are held. */
static struct mt_error *begin_over(struct mt_debugger *debugger)
{
	struct mt_debug_lwp *passing = debugger->plan.lwp;

	if (!passing || !is_passing(debugger, passing)) {
		passing = NULL;
		mt_array_each (lwp, &debugger->lwps)
			if (!passing && is_passing(debugger, *lwp))
				passing = *lwp;
	}
	if (!passing)
		return NULL;
	mt_try(mt_debug_halt(debugger));
	/* It may have ended meanwhile. */
	if (!mt_debug_registers(debugger, passing) || passing->state == MT_DEBUG_LWP_PENDING)
		return NULL;
	debugger->over = passing;
	debugger->over_what = MT_DEBUG_OVER_BREAKPOINT;
	struct mt_debug_site *site = mt_debug_site_at(debugger, passing->passed);
	if (!site)
		return NULL;
	site->passed = true;
	return mt_debug_lift_site(debugger, site);
}

static struct mt_debug_lwp *turn_holder(const struct mt_debugger *debugger)
{
	return debugger->watches_step && debugger->lwps.count > 1 && debugger->turn
		   ? mt_debug_find(debugger, debugger->turn)
		   : NULL;
}

/* It has not executed its instruction yet, or has not reported that: what changed may be its doing,
 * and nobody else's is looked at before. */
static bool turn_goes_on(const struct mt_debugger *debugger)
{
	const struct mt_debug_lwp *holder = turn_holder(debugger);

	return holder && holder->state == MT_DEBUG_LWP_RUNNING &&
	       mt_proc_is_at_work(holder->thread.lwp);
}

/* Resumes the next thread that is stopped, when the last one's turn is over.  A thread that sleeps
 * in a system call stops when that is done, before it does anything else. */
static struct mt_error *resume_next(struct mt_debugger *debugger)
{
	const struct mt_debug_lwp *holder = turn_holder(debugger);
	size_t count = debugger->lwps.count, last = 0;

	if (holder && holder->state == MT_DEBUG_LWP_RUNNING)
		return NULL;
	debugger->turn = 0;
	for (size_t i = 0; i < count; i++)
		if (debugger->lwps.items[i]->thread.lwp == debugger->last_turn)
			last = i;
	for (size_t i = 1; i <= count; i++) {
		struct mt_debug_lwp *lwp = debugger->lwps.items[(last + i) % count];

		if (lwp->state == MT_DEBUG_LWP_RUNNING)
			continue;
		debugger->turn = debugger->last_turn = lwp->thread.lwp;
		return resume(debugger, lwp);
	}
	return NULL;
}

static struct mt_error *resume_threads(struct mt_debugger *debugger)
{
	if (is_pending(debugger))
		return NULL;
	if (!debugger->over && debugger->sites_changed) {
		debugger->sites_changed = false;
		mt_debug_rescue_begin(debugger);
		mt_try(mt_debug_insert_sites(debugger));
	}
	/* The debug registers of all threads are set. */
	if (!debugger->over && debugger->watches_changed) {
		mt_try(mt_debug_halt(debugger));
		mt_try(mt_debug_watch_plan(debugger));
	}
	if (!debugger->over)
		mt_try(begin_over(debugger));
	if (is_pending(debugger))
		return NULL;
	if (debugger->over)
		return debugger->over->state == MT_DEBUG_LWP_RUNNING
			   ? NULL
			   : resume(debugger, debugger->over);
	if (debugger->watches_step && debugger->lwps.count > 1)
		return resume_next(debugger);
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->state != MT_DEBUG_LWP_RUNNING)
			mt_try(resume(debugger, *lwp));
	return NULL;
}

/* As Ctrl-C at the program's own terminal; a program that ignores the signal is halted the second
 * time.  An attached one is halted at once: the signal would end it, should we end first. */
static struct mt_error *interrupt(struct mt_debugger *debugger)
{
	const struct mt_debug_handling *handling = mt_debug_handling_of(debugger, SIGINT);
	bool is_for_us =
	    debugger->process == MT_DEBUG_ATTACHED && handling->stop && !handling->pass;
	bool is_first = debugger->command != MT_DEBUG_COMMAND_INTERRUPTED;

	debugger->command = MT_DEBUG_COMMAND_INTERRUPTED;
	if (is_first && !is_for_us) {
		kill(debugger->pid, SIGINT);
		return NULL;
	}
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->state == MT_DEBUG_LWP_RUNNING)
			return ignore_gone(
			    debugger->target->run->interrupt(debugger->target, (*lwp)->thread.lwp));
	return NULL;
}

static void set_stopped(struct mt_debug_lwp *lwp)
{
	lwp->state = MT_DEBUG_LWP_STOPPED;
	lwp->has_registers = false;
	mt_debug_forget_frames(lwp);
}

/* An event that has been kept; that of the thread whose turn it is comes first. */
static struct mt_debug_lwp *next_pending(const struct mt_debugger *debugger)
{
	struct mt_debug_lwp *holder = turn_holder(debugger);

	if (holder && holder->state == MT_DEBUG_LWP_PENDING)
		return holder;
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->state == MT_DEBUG_LWP_PENDING)
			return *lwp;
	return NULL;
}

/* One that slept stops while another one's turn goes on: its event is kept until that is over.
 * Otherwise it would be taken for the one that changed a value. */
static bool has_to_wait(const struct mt_debugger *debugger, const struct mt_stop *stop)
{
	bool is_looked_at = stop->kind == MT_STOP_STEP || stop->kind == MT_STOP_SYSCALL ||
			    stop->kind == MT_STOP_HANDLER || stop->kind == MT_STOP_SIGNAL;

	return is_looked_at && stop->lwp != debugger->turn && turn_goes_on(debugger);
}

static struct mt_error *next_event(struct mt_debugger *debugger, struct mt_stop *stop)
{
	int timeout_ms = turn_holder(debugger)                   ? TURN_MS
			 : mt_live_is_recording(&debugger->live) ? MT_ENGINE_TICK_MS
								 : POLL_MS;
	struct mt_debug_lwp *pending = turn_goes_on(debugger) ? NULL : next_pending(debugger);

	if (pending) {
		pending->state = MT_DEBUG_LWP_STOPPED;
		*stop = pending->pending;
		return NULL;
	}
	mt_try(debugger->target->run->wait(debugger->target, timeout_ms, stop));
	if (stop->kind == MT_STOP_NONE && !turn_goes_on(debugger))
		debugger->turn = 0;
	mt_debug_record_tick(debugger);
	struct mt_debug_lwp *stopped = mt_debug_find(debugger, stop->lwp);
	if (stopped && stop->kind != MT_STOP_EXITED)
		set_stopped(stopped);
	if (stopped && has_to_wait(debugger, stop)) {
		stopped->state = MT_DEBUG_LWP_PENDING;
		stopped->pending = *stop;
		*stop = (struct mt_stop){0};
	}
	bool is_interrupted = stop->kind == MT_STOP_REQUEST;
	if (debugger->front.interrupted)
		is_interrupted |= debugger->front.interrupted(debugger->front.context);
	return is_interrupted ? interrupt(debugger) : NULL;
}

/* While all are halted: a breakpoint is hit again when its thread is resumed; new threads and
 * programs are handled at once, since they have to be known; other events are kept. */
static struct mt_error *keep(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);
	const struct user_regs_struct *registers;

	if (stop->pid && stop->pid != debugger->pid)
		return mt_debug_handle_event(debugger, stop);
	switch (stop->kind) {
	case MT_STOP_FORK:
		if (debugger->settings.follow_fork != MT_DEBUG_FOLLOW_CHILD)
			return mt_debug_handle_event(debugger, stop);
		/* It is followed when its parent is resumed, and has nothing of ours until then. */
		mt_try(mt_debug_clean_child(debugger, stop->child));
		mt_try(mt_debug_record_forked(debugger, stop->child));
		break;
	case MT_STOP_NEW_THREAD:
	case MT_STOP_EXEC:
		return mt_debug_handle_event(debugger, stop);
	case MT_STOP_INTERRUPTED:
		return NULL;
	case MT_STOP_BREAKPOINT:
		if (stop->address)
			return NULL;
		registers = lwp ? mt_debug_registers(debugger, lwp) : NULL;
		if (registers && mt_debug_is_own_int3(debugger, registers->rip - 1))
			return mt_debug_set_pc(debugger, lwp, registers->rip - 1);
		break;
	case MT_STOP_EXITED:
		if (stop->lwp != debugger->pid)
			return mt_debug_handle_event(debugger, stop);
		break;
	}
	if (lwp) {
		lwp->state = MT_DEBUG_LWP_PENDING;
		lwp->pending = *stop;
	}
	return NULL;
}

/* A thread that executed a breakpoint instruction just before the halt: the kernel reports that
 * only when it is resumed, before it does anything else. */
static struct mt_error *take_late_trap(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers =
	    lwp->state == MT_DEBUG_LWP_PENDING || lwp->exiting ? NULL
							       : mt_debug_registers(debugger, lwp);
	struct mt_stop stop = {0};
	pid_t number = lwp->thread.lwp;
	siginfo_t trap;

	if (!registers || !mt_ptrace_find_trap(number, &trap) || trap.si_code != SI_KERNEL ||
	    !mt_debug_is_own_int3(debugger, registers->rip - 1))
		return NULL;
	mt_try(ignore_gone(
	    debugger->target->run->resume(debugger->target, number, MT_RESUME_CONTINUE, 0)));
	lwp->has_registers = false;
	const uint64_t end_ns = mt_clock_monotonic_ns() + LATE_NS;
	while (stop.lwp != number) {
		if (mt_clock_monotonic_ns() > end_ns)
			return mt_error_new(MT_ERROR_BUSY, "Thread %d does not stop.", number);
		mt_try(debugger->target->run->wait(debugger->target, POLL_MS, &stop));
		if (stop.kind != MT_STOP_NONE && stop.kind != MT_STOP_REQUEST)
			mt_try(keep(debugger, &stop));
	}
	return NULL;
}

struct mt_error *mt_debug_halt(struct mt_debugger *debugger)
{
	struct mt_stop stop;

	mt_try(debugger->target->run->halt(debugger->target, debugger->pid));
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->state == MT_DEBUG_LWP_RUNNING)
			set_stopped(*lwp);
	for (;;) {
		struct mt_error *error = debugger->target->run->wait(debugger->target, 0, &stop);

		if (error)
			mt_try(ignore_gone(error));
		if (error || stop.kind == MT_STOP_NONE)
			break;
		if (stop.kind == MT_STOP_REQUEST)
			continue;
		mt_try(keep(debugger, &stop));
	}
	for (size_t i = 0; i < debugger->lwps.count; i++)
		mt_try(take_late_trap(debugger, debugger->lwps.items[i]));
	return NULL;
}

void mt_debug_report(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		     const struct mt_debug_stop *stop)
{
	const struct user_regs_struct *registers = lwp ? mt_debug_registers(debugger, lwp) : NULL;

	*debugger->stop = *stop;
	debugger->stop->pid = debugger->last_pid;
	debugger->command = MT_DEBUG_COMMAND_DONE;
	if (!lwp)
		return;
	debugger->selected = lwp;
	debugger->selected_frame = 0;
	debugger->stop->switched = lwp->thread.lwp != debugger->last_lwp;
	/* A breakpoint here has been reported. */
	lwp->passed = registers ? registers->rip : 0;
}

void mt_debug_process_ended(struct mt_debugger *debugger)
{
	mt_debug_drop_children(debugger, false);
	mt_error_destroy(mt_debug_release_vfork_parent(debugger, MT_DEBUG_BY_EXIT));
	mt_debug_plan_clear(debugger);
	mt_debug_forget_sites(debugger);
	mt_debug_rescue_forget(debugger);
	mt_debug_remove_lwps(debugger);
	debugger->over = NULL;
	mt_debugger_record_ended(debugger);
	debugger->pid = 0;
	debugger->process = MT_DEBUG_NO_PROCESS;
	debugger->loader_break = 0;
	mt_debug_watch_ended(debugger);
	if (debugger->path)
		mt_error_destroy(mt_debug_space_of_file(debugger));
	mt_debug_resolve_all(debugger);
}

/* All threads are stopped, and the text is the program's own. */
static struct mt_error *come_to_rest(struct mt_debugger *debugger)
{
	const struct mt_debug_stop *reported = debugger->stop;
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
		error = mt_live_hide(&debugger->live);
	/* The recording ends with the signal, if there is one. */
	if (debugger->pid && !error && debugger->command == MT_DEBUG_COMMAND_DONE &&
	    reported->kind == MT_DEBUG_SIGNAL && reported->signal) {
		const struct mt_stop stop = {
		    .kind = MT_STOP_SIGNAL,
		    .pid = debugger->pid,
		    .lwp = debugger->selected ? debugger->selected->thread.lwp : 0,
		    .signal = reported->signal,
		    .address = reported->address,
		};
		error = mt_debug_record_take(debugger, &stop);
	}
	debugger->over = NULL;
	mt_debug_plan_clear(debugger);
	return error;
}

struct mt_error *mt_debug_run(struct mt_debugger *debugger, struct mt_debug_stop *stop)
{
	pid_t pid = debugger->pid;
	const struct mt_debug_stop at_end = {.kind = MT_DEBUG_SIGNAL};
	struct mt_error *error, *other;
	struct mt_stop event;

	*stop = (struct mt_debug_stop){0};
	mt_debug_seen_clear(debugger);
	mt_debug_watch_evaluate(debugger);
	mt_try(mt_debug_watch_plan(debugger));
	debugger->stop = stop;
	debugger->command = MT_DEBUG_COMMAND_RUNS;
	debugger->sites_changed = true;
	debugger->last_pid = pid;
	debugger->last_lwp = debugger->selected ? debugger->selected->thread.lwp : 0;
	if (debugger->front.runs)
		debugger->front.runs(debugger->front.context, pid);
	error = mt_debug_record_show(debugger);
	while (!error && debugger->command != MT_DEBUG_COMMAND_DONE) {
		error = resume_threads(debugger);
		if (!error)
			error = next_event(debugger, &event);
		if (!error)
			error = mt_debug_handle_event(debugger, &event);
		if (!error && debugger->command != MT_DEBUG_COMMAND_DONE && debugger->front.ended &&
		    debugger->front.ended(debugger->front.context))
			mt_debug_report(debugger, NULL, &at_end);
	}
	other = come_to_rest(debugger);
	if (debugger->front.stopped)
		debugger->front.stopped(debugger->front.context, pid);
	debugger->stop = NULL;
	if (!error)
		return other;
	mt_error_destroy(other);
	return error;
}
