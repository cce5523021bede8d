/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to programs, as GDB reports it, and what becomes of their recordings then. */
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/interpose.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/hooks.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/inferior/pristine.h"
#include "gdb-plugin/inferior/reads.h"
#include "gdb-plugin/inferior/refuse.h"
#include "process/proc.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first error is reported; all are tried. */
static struct mt_error *join(struct mt_error *first, struct mt_error *other)
{
	if (!first)
		return other;
	mt_error_destroy(other);
	return first;
}

/* As after vfork(), until exec. */
static bool shares_memory(pid_t parent, pid_t child)
{
	return syscall(SYS_kcmp, parent, child, KCMP_VM, 0, 0) == 0;
}

static struct mt_error *show(struct mt_inferior *inferior, bool selected, bool followed)
{
	struct mt_live *live = &inferior->live;
	bool has_yielded = live->state == MT_LIVE_YIELDED;

	if (live->state != MT_LIVE_HIDDEN && !has_yielded)
		return NULL;
	/* GDB's log contains what each instruction changed: patches would come into it, and into
	 * what it undoes. */
	if (selected && mt_gdb_is_recording()) {
		live->state = MT_LIVE_YIELDED;
		return has_yielded ? NULL
				   : mt_error_new(MT_ERROR_UNSUPPORTED,
						  "GDB records the program itself now: its calls "
						  "are recorded again after \"record stop\"");
	}
	live->state = MT_LIVE_HIDDEN;
	live->has_news = true;
	inferior->forked = false;
	struct mt_error *error = mt_pristine_show(live, selected, followed);
	mt_gdb_target_goes_on(live->target);
	mt_try(error);
	if (!selected || followed)
		return NULL;
	if (live->state == MT_LIVE_SHOWN)
		return mt_entries_update(inferior);
	mt_entries_withdraw(&inferior->entries);
	return NULL;
}

/* A child that GDB follows has its parent's agent, so that nothing has to be called in it. */
static struct mt_error *begin(struct mt_inferior *inferior, pid_t pid)
{
	struct mt_error *error = mt_refuse(pid);

	if (error && pid == inferior->refused) {
		mt_error_destroy(error);
		return NULL;
	}
	if (error) {
		inferior->refused = pid;
		return error;
	}
	if (mt_is_fresh(pid)) {
		mt_try(mt_hooks_define());
		mt_try(mt_inferior_begin(inferior, pid, true));
		return mt_live_place_triggers(mt_gdb_debugger(), &inferior->live, NULL);
	}
	if (pid != inferior->child && pid == inferior->reported)
		return NULL;
	if (pid != inferior->child) {
		inferior->reported = pid;
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "process %d is not being recorded; stop it and run \"mtrace start\"", pid);
	}
	if (inferior->lender && shares_memory(inferior->lender, pid))
		return NULL; /* its exec is waited for */
	mt_try(mt_inferior_begin(inferior, pid, false));
	return show(inferior, true, true);
}

static void withdraw_from(struct mt_inferior *inferior)
{
	mt_entries_withdraw(&inferior->entries);
	mt_gdb_target_withdraw(inferior->live.target);
}

static struct mt_error *resume(struct mt_inferior *inferior, pid_t pid)
{
	inferior->crash = 0;
	if (inferior->live.state == MT_LIVE_OFF)
		return NULL;
	/* It comes for new threads, too. */
	if (inferior->live.state < MT_LIVE_SHOWN)
		mt_reads_nothing_ran();
	if (!mt_live_is_recording(&inferior->live))
		return begin(inferior, pid);
	/* Killed from elsewhere: GDB finds out when it goes on, unless it is to insert something.
	 */
	if (!mt_gdb_target_stands_still(pid) && mt_proc_has_ended(pid)) {
		withdraw_from(inferior);
		return NULL;
	}
	mt_try(mt_hooks_ensure());
	mt_try(mt_gdb_target_restore(inferior->live.target));
	return show(inferior, true, false);
}

/* One that goes on together with the selected one. */
static struct mt_error *resume_other(struct mt_inferior *inferior)
{
	if (mt_live_is_recording(&inferior->live))
		return show(inferior, false, false);
	if (inferior->live.state == MT_LIVE_OFF || !inferior->child ||
	    inferior->reported == inferior->child)
		return NULL;
	inferior->reported = inferior->child;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "process %d is not being recorded up to the next stop, since it goes "
			    "on together with its parent (\"set schedule-multiple\")",
			    inferior->child);
}

/* Once for each: that another one is recorded does not mean this one. */
static struct mt_error *report_stranger(pid_t pid)
{
	static pid_t reported;

	for (const struct mt_inferior *one = NULL;
	     pid != reported && (one = mt_inferior_next(one));) {
		if (!mt_live_is_recording(&one->live))
			continue;
		reported = pid;
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d is not being recorded: \"mtrace start\" applies "
				    "to one inferior, and was run for inferior %d",
				    pid, one->number);
	}
	return NULL;
}

static struct mt_error *prepare(struct mt_inferior *inferior)
{
	bool records = mt_live_is_recording(&inferior->live);

	if (!records &&
	    (inferior->live.state == MT_LIVE_OFF || !inferior->child || inferior->lender))
		return NULL;
	mt_try(mt_gdb_select_inferior(inferior->number));
	if (records)
		return mt_gdb_target_restore(inferior->live.target);
	mt_try(mt_inferior_begin(inferior, inferior->child, false));
	return mt_gdb_target_flush(inferior->live.target);
}

static bool has_other(const struct mt_inferior *selected)
{
	for (const struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (one != selected)
			return true;
	return false;
}

struct mt_error *mt_inferiors_continue(void)
{
	const struct mt_inferior *selected = mt_inferior_selected();

	if (!has_other(selected))
		return NULL;
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");
	struct mt_error *error = NULL;

	if (!thread || thread == Py_None || !mt_gdb_parameter("schedule-multiple")) {
		PyErr_Clear();
		return NULL;
	}
	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (one != selected)
			error = join(error, prepare(one));
	mt_auto(mt_py) PyObject *done = PyObject_CallMethod(thread, "switch", NULL);
	return done ? error : join(error, mt_py_error());
}

/* Whoever goes on hidden has none of our patches in its text. */
struct mt_error *mt_inferiors_unmask(void)
{
	struct mt_error *error = NULL;

	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (mt_live_is_recording(&one->live) && one->live.state < MT_LIVE_SHOWN)
			error = join(error, mt_session_unmask(one->live.session, one->live.pid));
	mt_reads_end();
	return error;
}

struct mt_error *mt_inferiors_resume(void)
{
	pid_t pid = mt_gdb_pid();
	struct mt_inferior *selected = pid ? mt_inferior_selected() : NULL;
	struct mt_error *error = NULL;

	if (selected)
		error = resume(selected, pid);
	else if (pid)
		error = report_stranger(pid);
	const bool all = has_other(selected) && mt_gdb_parameter("schedule-multiple");
	for (struct mt_inferior *one = NULL; all && (one = mt_inferior_next(one));)
		if (one != selected)
			error = join(error, resume_other(one));
	return join(error, mt_inferiors_unmask());
}

/* GDB has told of it by then. */
static bool is_mended(struct mt_inferior *inferior, const struct mt_stop *stop)
{
	bool is_mended = false;

	if (stop->signal != SIGSEGV || !stop->address)
		return false;
	mt_error_destroy(
	    mt_session_mend_copy(inferior->live.session, stop->lwp, stop->address, &is_mended));
	if (is_mended)
		mt_live_printf(mt_gdb_debugger(),
			       "[mtrace: this SIGSEGV is not the program's own: it ran a copy of "
			       "its code, with jumps of the recording in it, which is mended; "
			       "\"signal 0\" goes on]\n");
	return is_mended;
}

/* What it stopped for goes into the recording, as far as that is a signal of its own. */
static struct mt_error *note_signal(struct mt_inferior *inferior, pid_t lwp)
{
	siginfo_t info = {0};

	if (!mt_interpose_get_signal(lwp, &info) || info.si_signo == SIGTRAP ||
	    info.si_signo == SIGSTOP || info.si_signo == 0)
		return NULL;
	struct mt_stop stop = {.kind = MT_STOP_SIGNAL,
			       .pid = inferior->live.pid,
			       .lwp = lwp,
			       .signal = info.si_signo,
			       .code = info.si_code};
	if (mt_live_is_crash(info.si_signo)) {
		inferior->crash = info.si_signo;
		if (info.si_code > 0 && info.si_code != SI_KERNEL)
			stop.address = (uint64_t)(uintptr_t)info.si_addr;
	}
	if (is_mended(inferior, &stop)) {
		inferior->crash = 0;
		return NULL;
	}
	return mt_session_take(inferior->live.session, &stop);
}

/* To a child that GDB keeps, and which has executed nothing yet. */
static bool lends_memory(const struct mt_inferior *inferior)
{
	for (const struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (one->child && one->lender == inferior->live.pid &&
		    shares_memory(one->lender, one->child))
			return true;
	return false;
}

struct mt_error *mt_inferiors_stopped(pid_t lwp)
{
	const struct mt_inferior *selected = mt_inferior_selected();
	const bool may_be_kept = mt_reads_may_be_kept();
	struct mt_error *error = NULL;

	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));) {
		error = join(error, mt_births_clean_pending(one));
		if (one->live.state < MT_LIVE_SHOWN && !one->hidden_early)
			continue;
		one->hidden_early = false;
		struct mt_error *failed = mt_live_hide(&one->live);
		if (!failed && lends_memory(one))
			failed = mt_session_unmask(one->live.session, one->live.pid);
		mt_error_destroy(mt_gdb_target_flush_kept(one->live.target, may_be_kept));
		if (!mt_live_is_recording(&one->live))
			mt_inferior_end(one);
		/* Now the thread stands where the program's own code made it stop. */
		if (!failed && one == selected && lwp && mt_gdb_pid() == one->live.pid)
			failed = note_signal(one, lwp);
		error = join(error, failed);
	}
	/* With `breakpoint always-inserted` GDB puts them into the text at once, and keeps what it
	 * finds there. */
	mt_live_stop_triggers(mt_gdb_debugger());
	mt_pristine_expect_nothing();
	return error;
}

/* GDB's breakpoints are in the text, as far as it could insert them. */
struct mt_error *mt_inferior_hide_early(struct mt_inferior *inferior)
{
	mt_reads_bar(true);
	struct mt_error *error = mt_live_hide(&inferior->live);
	mt_reads_bar(false);
	inferior->hidden_early = true;
	return error;
}

struct mt_error *mt_inferiors_settle(void)
{
	struct mt_inferior *selected = mt_inferior_selected();

	if (!selected || !mt_gdb_is_standing() ||
	    !(selected->hidden_early || selected->live.state >= MT_LIVE_SHOWN))
		return NULL;
	mt_reads_bar(true);
	struct mt_error *error = mt_inferiors_stopped(0);
	mt_reads_bar(false);
	return error;
}

/* GDB puts breakpoints that are at addresses into a new process, too, where there is something
 * else, or nothing.  They come back when their own goes on. */
static void withdraw_breakpoints(void)
{
	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (mt_live_is_recording(&one->live))
			withdraw_from(one);
}

static struct mt_error *note_running(void *context, pid_t lwp)
{
	*(bool *)context |= !mt_gdb_target_stands_still(lwp);
	return NULL;
}

/* GDB looks at its memory through the child, and puts breakpoints there.  Whose threads run cannot
 * be hidden before all of them stop. */
static struct mt_error *hide_from_child(struct mt_inferior *parent)
{
	struct mt_live *live = &parent->live;
	bool runs = false;

	mt_try(live->target->ops->each_thread(live->target, live->pid, note_running, &runs));
	if (runs)
		return NULL;
	mt_try(mt_live_hide(live));
	return mt_session_unmask(live->session, live->pid);
}

static struct mt_error *discard(void *context, pid_t lwp)
{
	const struct mt_inferior *inferior = context;

	return mt_gdb_target_stands_still(lwp) ? mt_session_discard(inferior->live.session, lwp)
					       : NULL;
}

/* GDB keeps it: by follow-fork-mode child, or detach-on-fork off.  After vfork() it will be another
 * program's process. */
static struct mt_error *on_child(struct mt_inferior *parent, int number, pid_t pid)
{
	bool shares = shares_memory(parent->live.pid, pid);
	struct mt_target *target = parent->live.target;
	struct mt_inferior *child;

	if (!shares)
		mt_try(mt_session_clean(parent->live.session, parent->live.pid, pid));
	else
		withdraw_breakpoints();
	if (shares)
		mt_try(hide_from_child(parent));
	mt_births_told(&parent->births, pid);
	parent->forked = true;
	mt_try(mt_inferior_inherit(parent, number, pid, &child));
	child->lender = shares ? parent->live.pid : 0;
	/* What its parent does then is not recorded. */
	if (!mt_gdb_parameter("detach-on-fork"))
		return NULL;
	return target->ops->each_thread(target, parent->live.pid, discard, parent);
}

struct mt_error *mt_inferior_new_thread(int number, pid_t pid, const struct mt_live_thread *thread)
{
	struct mt_inferior *inferior = mt_inferior_find(pid), *parent;
	const struct mt_stop stop = {
	    .kind = MT_STOP_NEW_THREAD, .pid = pid, .lwp = pid, .child = thread->lwp};

	/* A process of its own, which GDB takes for a thread (births.c). */
	if (inferior && mt_proc_status_number(thread->lwp, "Tgid") != pid)
		return NULL;
	if (inferior && thread->lwp == pid)
		return NULL;
	if (inferior) {
		mt_try(mt_session_reap(inferior->live.session));
		mt_try(mt_session_take(inferior->live.session, &stop));
		mt_session_number_thread(inferior->live.session, thread->lwp, thread->number);
		mt_session_tick(inferior->live.session);
		return NULL;
	}
	parent = mt_inferior_find(mt_proc_status_number(pid, "PPid"));
	if (parent)
		return on_child(parent, number, pid);
	withdraw_breakpoints();
	return NULL;
}

/* It had no memory of its own to be recorded in. */
static struct mt_error *begin_after_exec(struct mt_inferior *inferior, pid_t pid)
{
	if (inferior->live.state == MT_LIVE_OFF || inferior->child != pid || !inferior->lender ||
	    shares_memory(inferior->lender, pid) || !mt_is_fresh(pid))
		return NULL;
	return mt_inferior_begin(inferior, pid, true);
}

/* Its rings were mapped, and are not any more. */
struct mt_error *mt_inferior_check_exec(void)
{
	struct mt_inferior *inferior = mt_inferior_selected();
	pid_t pid = mt_gdb_pid();
	bool there = false, had = inferior && inferior->has_rings;

	if (inferior && pid && !mt_live_is_recording(&inferior->live))
		return begin_after_exec(inferior, pid);
	if (!inferior || inferior->live.state < MT_LIVE_HIDDEN || pid != inferior->live.pid)
		return NULL;
	const struct mt_stop stop = {.kind = MT_STOP_EXEC, .pid = pid, .lwp = pid, .child = pid};
	mt_try(mt_inferior_look_for_rings(inferior, &there));
	inferior->has_rings = there;
	if (there || !had)
		return NULL;
	mt_entries_withdraw(&inferior->entries);
	/* Also if a call of GDB's has executed it. */
	inferior->live.state = MT_LIVE_SHOWN;
	return mt_session_take(inferior->live.session, &stop);
}

struct mt_error *mt_inferiors_detach(void)
{
	struct mt_inferior *inferior = mt_inferior_selected();

	if (!inferior || inferior->live.pid != mt_gdb_pid() ||
	    !mt_live_is_recording(&inferior->live))
		return NULL;
	if (inferior->live.state >= MT_LIVE_SHOWN) {
		const pid_t pid = inferior->live.pid;

		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "process %d runs on with patched code, which does no harm: it "
				    "was not stopped before it was detached (\"mtdb attach "
				    "--for=1ms %d\" restores it)",
				    pid, pid);
	}
	mt_inferior_leave(inferior);
	inferior->live.state = MT_LIVE_OFF;
	return mt_live_ended(mt_gdb_debugger(), &inferior->live, 0, true);
}

/* What GDB let go, the user has done with; but for one whose child GDB follows instead. */
struct mt_error *mt_inferior_ended(struct mt_inferior *inferior, int status, bool stood_still)
{
	pid_t pid = inferior->live.pid;
	const struct mt_stop stop = {
	    .kind = MT_STOP_EXITED, .pid = pid, .lwp = pid, .status = status};
	struct mt_error *error = NULL;
	bool is_gone = mt_proc_has_ended(pid);

	mt_live_stop_triggers(mt_gdb_debugger());
	if (is_gone)
		error = stood_still ? mt_session_end_standing(inferior->live.session, pid, status)
				    : mt_session_take(inferior->live.session, &stop);
	mt_inferior_end(inferior);
	if (!is_gone && !inferior->forked)
		inferior->live.state = MT_LIVE_OFF;
	return error;
}
