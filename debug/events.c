/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each event means: most let their thread go on, one ends the verb. */
#include "kernel/event.h"
#include "private.h"
#include "process/proc.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void end_passing(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (debugger->over != lwp)
		return;
	debugger->over = NULL;
	debugger->over_vfork = false;
	debugger->sites_changed = true;
}

static struct mt_error *on_process_end(struct mt_debugger *debugger, int status)
{
	struct mt_debug_stop told = {.kind = MT_DEBUG_EXITED, .status = WEXITSTATUS(status)};

	if (WIFSIGNALED(status))
		told = (struct mt_debug_stop){.kind = MT_DEBUG_KILLED, .signal = WTERMSIG(status)};
	mt_debug_process_ended(debugger);
	mt_debug_tell(debugger, NULL, &told);
	return NULL;
}

static struct mt_error *on_exited(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);

	mt_try(mt_debug_record_take(debugger, stop));
	if (stop->lwp == debugger->pid)
		return on_process_end(debugger, stop->status);
	if (lwp) {
		end_passing(debugger, lwp);
		mt_debug_remove_lwp(debugger, lwp, true);
	}
	return NULL;
}

/* It runs no code of its own any more, but has to be let go. */
static struct mt_error *on_exiting(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	pid_t number = lwp->thread.lwp;

	end_passing(debugger, lwp);
	if (number == debugger->pid)
		lwp->exiting = true;
	else
		mt_debug_remove_lwp(debugger, lwp, true);
	if (number == debugger->pid)
		return NULL;
	mt_error_destroy(
	    debugger->target->run->resume(debugger->target, number, MT_RESUME_CONTINUE, 0));
	return NULL;
}

static struct mt_error *on_new_thread(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	if (mt_debug_find(debugger, stop->child))
		return NULL;
	mt_try(mt_debug_add_lwp(debugger, stop->child, true, NULL));
	mt_try(mt_debug_record_take(debugger, stop));
	mt_debug_record_tick(debugger); /* the next one's ring */
	return NULL;
}

/* The child goes on by itself, as if we had never been there. */
static struct mt_error *on_fork(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				const struct mt_stop *stop)
{
	if (debugger->settings.follow_child)
		return mt_debug_follow(debugger, lwp, stop);
	mt_try(mt_debug_clean_child(debugger, stop->child));
	mt_error_destroy(mt_debug_rescue_leave_child(debugger, stop->child));
	mt_try(mt_debug_record_forked(debugger, stop->child));
	mt_try(debugger->target->run->detach(debugger->target, stop->child, 0));
	if (debugger->front.forked)
		debugger->front.forked(debugger->front.context, MT_DEBUG_CHILD_LET_GO, &lwp->thread,
				       stop->child, false);
	return NULL;
}

/* It runs in its parent's memory until it is a program of its own: no breakpoints meanwhile. */
static struct mt_error *on_vfork(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				 const struct mt_stop *stop)
{
	if (debugger->settings.follow_child)
		return mt_debug_follow(debugger, lwp, stop);
	mt_try(mt_debug_halt(debugger));
	mt_try(mt_debug_remove_sites(debugger));
	mt_try(debugger->target->run->detach(debugger->target, stop->child, 0));
	debugger->over = lwp;
	debugger->over_vfork = true;
	if (debugger->front.forked)
		debugger->front.forked(debugger->front.context, MT_DEBUG_CHILD_LET_GO, &lwp->thread,
				       stop->child, true);
	return NULL;
}

static struct mt_error *load_executable(struct mt_debugger *debugger)
{
	char link[64], path[4096];

	snprintf(link, sizeof(link), "/proc/%d/exe", debugger->pid);
	ssize_t length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return NULL;
	path[length] = 0;
	char *copy = strdup(path);
	if (!copy)
		return mt_error_no_memory();
	free(debugger->path);
	debugger->path = copy;
	return NULL;
}

/* Nothing of what was known of the process is true any more. */
static struct mt_error *on_exec(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *only;

	mt_try(mt_debug_let_go_lender(debugger, MT_DEBUG_BY_EXEC));
	mt_debug_plan_clear(debugger);
	mt_debug_forget_sites(debugger);
	mt_debug_watch_ended(debugger);
	mt_debug_rescue_forget(debugger);
	while (debugger->lwps.count > 1)
		mt_debug_remove_lwp(debugger, *mt_array_last(&debugger->lwps), false);
	if (!debugger->lwps.count)
		mt_try(mt_debug_add_lwp(debugger, debugger->pid, false, NULL));
	only = debugger->lwps.items[0];
	end_passing(debugger, only);
	only->thread.lwp = debugger->pid;
	mt_proc_name(debugger->pid, only->thread.name);
	only->running = only->has_registers = only->has_pending = false;
	only->passed = 0;
	only->signal = 0;
	debugger->selected = only;
	if (debugger->settings.exec_is_another) {
		mt_try(mt_debug_next_inferior(debugger));
		only->thread.number = debugger->last_thread = 1;
	}
	mt_try(load_executable(debugger));
	if (debugger->front.executes)
		debugger->front.executes(debugger->front.context, debugger->pid, debugger->path);
	mt_try(mt_debug_space_of_process(debugger));
	mt_debug_resolve_after_exec(debugger);
	debugger->sites_changed = true;
	mt_try(mt_debug_record_take(debugger, stop));
	return mt_debug_record_executed(debugger);
}

static struct mt_error *on_libraries(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct mt_stop stop = {
	    .kind = MT_STOP_LIBRARIES, .pid = debugger->pid, .lwp = lwp->thread.lwp};

	mt_try(mt_debug_record_take(debugger, &stop));
	mt_try(mt_debug_space_of_process(debugger));
	mt_debug_resolve_all(debugger);
	debugger->sites_changed = true;
	return NULL;
}

/* What became of watchpoints, and a breakpoint that was met together with that.  NULL: none. */
static void tell_seen(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
		      const struct mt_debug_break *hit)
{
	const struct mt_debug_stop told = {.kind = MT_DEBUG_WATCHED,
					   .breakpoint = hit ? hit->public.number : 0,
					   .temporary = hit && hit->public.temporary,
					   .seen = debugger->seen.items,
					   .seen_count = debugger->seen.count};

	mt_debug_tell(debugger, lwp, &told);
}

/* A thread stands at an address with a breakpoint, before its instruction. */
static struct mt_error *at_breakpoint(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      uint64_t address, uint64_t sp)
{
	bool again = lwp->again == address && lwp->again_sp == sp;
	struct mt_debug_break *hit = NULL;

	lwp->passed = address;
	if (again)
		lwp->again = 0;
	if (!again && (address == debugger->loader_break || address == debugger->session_break))
		mt_try(on_libraries(debugger, lwp));
	if (!again)
		hit = mt_debug_hit(debugger, lwp, address);
	if (!again && mt_debug_watch_left(debugger, lwp, address)) {
		tell_seen(debugger, lwp, hit);
		return NULL;
	}
	if (hit) {
		const struct mt_debug_stop told = {.kind = MT_DEBUG_BREAKPOINT,
						   .breakpoint = hit->public.number,
						   .temporary = hit->public.temporary};
		if (mt_debug_is_stepped(debugger, lwp) && mt_debug_is_by_instruction(debugger))
			mt_debug_enter_all(lwp, address);
		else
			mt_debug_enter_asked(debugger, lwp, address);
		mt_debug_tell(debugger, lwp, &told);
		return NULL;
	}
	return mt_debug_on_place(debugger, lwp, address);
}

static bool is_still_int3(struct mt_debugger *debugger, uint64_t address)
{
	uint8_t byte = 0;

	return mt_debug_read(debugger, address, &byte, 1) == 1 && byte == 0xcc;
}

static struct mt_error *on_signal(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				  int signal, uint64_t fault);

static struct mt_error *on_breakpoint(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      const struct mt_stop *stop)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!registers)
		return NULL;
	uint64_t address = stop->address ? stop->address : registers->rip - 1, sp = registers->rsp;
	bool is_ours = mt_debug_site_at(debugger, address);

	if (!is_ours && !stop->address && is_still_int3(debugger, address))
		return on_signal(debugger, lwp, SIGTRAP, 0); /* the program's own */
	if (!stop->address)
		mt_try(mt_debug_set_pc(debugger, lwp, address));
	mt_debug_rescue_hit(debugger, lwp);
	return is_ours ? at_breakpoint(debugger, lwp, address, sp) : NULL;
}

/* A debug register was hit, or what is looked at behind each instruction changed: false: nothing
 * that stops the thread. */
static bool on_watch(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_debug_break *hit = mt_debug_watch_hit(debugger, lwp);
	struct mt_debug_stop told = {.kind = MT_DEBUG_BREAKPOINT};
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!hit)
		return false;
	if (debugger->seen.count) {
		/* A breakpoint where it stands now would be passed when it goes on. */
		if (hit->watched)
			hit = registers ? mt_debug_hit(debugger, lwp, registers->rip) : NULL;
		tell_seen(debugger, lwp, hit);
		return true;
	}
	told.breakpoint = hit->public.number;
	told.temporary = hit->public.temporary;
	mt_debug_tell(debugger, lwp, &told);
	return true;
}

/* An instruction was done, or a system call, or a signal's handler begins. */
static struct mt_error *on_step(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	if (!registers)
		return NULL;
	if (registers->rip != lwp->passed || debugger->over == lwp)
		lwp->passed = 0;
	end_passing(debugger, lwp);
	if (on_watch(debugger, lwp) || !mt_debug_is_stepped(debugger, lwp))
		return NULL;
	uint64_t pc = registers->rip, sp = registers->rsp;
	if (!lwp->passed && mt_debug_site_at(debugger, pc)) {
		mt_try(at_breakpoint(debugger, lwp, pc, sp));
		if (debugger->told)
			return NULL;
	}
	return mt_debug_is_stepped(debugger, lwp) ? mt_debug_on_step(debugger, lwp) : NULL;
}

static struct mt_error *on_signal(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				  int signal, uint64_t fault)
{
	const struct mt_debug_handling *handling = mt_debug_handling_of(debugger, signal);
	const struct mt_debug_stop told = {
	    .kind = MT_DEBUG_SIGNAL, .signal = signal, .address = fault};
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);

	end_passing(debugger, lwp);
	bool is_injected = lwp->injected == signal;
	lwp->signal = handling->pass || is_injected ? signal : 0;
	lwp->reported = signal;
	lwp->injected = 0;
	if (handling->stop && !is_injected) {
		mt_debug_tell(debugger, lwp, &told);
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

bool mt_debug_is_of_processor(const struct mt_stop *stop)
{
	if (mt_perf_is_trap(stop->signal, stop->code))
		return true;
	return stop->signal == SIGTRAP &&
	       (stop->code == TRAP_HWBKPT || stop->code == TRAP_TRACE || stop->code == TRAP_BRKPT);
}

static struct mt_error *on_hardware_trap(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	end_passing(debugger, lwp);
	on_watch(debugger, lwp);
	return NULL;
}

static struct mt_error *on_interrupted(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct mt_debug_stop told = {.kind = MT_DEBUG_SIGNAL,
					   .signal = debugger->attached ? SIGINT : 0};

	end_passing(debugger, lwp);
	if (debugger->interrupting)
		mt_debug_tell(debugger, lwp, &told);
	return NULL;
}

/* Job control stops the whole process, and each thread tells so: one of them is enough.  Then the
 * program goes on in spite of it, until that is over or we are: as in GDB, which cannot tell a stop
 * from the signal that made it. */
static struct mt_error *on_group_stop(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				      int signal)
{
	bool is_news = lwp->group_stops == debugger->group_stops;

	debugger->group_stops += is_news;
	lwp->group_stops = debugger->group_stops;
	if (is_news)
		mt_try(on_signal(debugger, lwp, signal, 0));
	end_passing(debugger, lwp);
	lwp->signal = lwp->reported = 0;
	return NULL;
}

/* Of a process that was let go, or waits for its child: it may be killed meanwhile. */
static struct mt_error *on_stranger(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	if (stop->kind == MT_STOP_EXITED && stop->lwp == debugger->lender)
		debugger->lender = 0;
	if (stop->kind != MT_STOP_EXITED)
		mt_error_destroy(debugger->target->run->resume(debugger->target, stop->lwp,
							       MT_RESUME_CONTINUE, 0));
	return NULL;
}

struct mt_error *mt_debug_take(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, stop->lwp);

	if (stop->pid && stop->pid != debugger->pid)
		return on_stranger(debugger, stop);
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
		return on_fork(debugger, lwp, stop);
	case MT_STOP_VFORK:
		return on_vfork(debugger, lwp, stop);
	case MT_STOP_BREAKPOINT:
		return on_breakpoint(debugger, lwp, stop);
	case MT_STOP_STEP:
	case MT_STOP_SYSCALL:
	case MT_STOP_HANDLER:
		return on_step(debugger, lwp);
	case MT_STOP_SIGNAL:
		if (mt_debug_is_of_processor(stop))
			return on_hardware_trap(debugger, lwp);
		return on_signal(debugger, lwp, stop->signal, stop->address);
	case MT_STOP_INTERRUPTED:
		return on_interrupted(debugger, lwp);
	case MT_STOP_GROUP:
		return on_group_stop(debugger, lwp, stop->signal);
	default:
		return NULL;
	}
}
