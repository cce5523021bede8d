/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to programs, as GDB tells it, and what becomes of their sessions then. */
#include "gdb.h"
#include "live.h"
#include "pristine.h"
#include "process/proc.h"
#include "refuse.h"
#include "target.h"

#include <linux/kcmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first error is told; all are tried. */
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

/* A new process: GDB puts breakpoints that are at addresses into it, too, where there is something
 * else, or nothing.  They come back when their own goes on. */
static void withdraw_breakpoints(void)
{
	for (struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live)) {
		if (!mt_live_session(live))
			continue;
		mt_births_withdraw(&live->births);
		mt_gdb_target_withdraw(live->target);
	}
}

static struct mt_error *restore_breakpoints(struct mt_live *live)
{
	mt_try(mt_births_restore(live));
	return mt_gdb_target_restore(live->target);
}

/* Once for each time.  GDB's log knows what each instruction changed: patches would come into it,
 * and into what it undoes. */
static struct mt_error *tell_recording(struct mt_live *live)
{
	if (live->yielded)
		return NULL;
	live->yielded = true;
	return mt_error_new(
	    MT_ERROR_UNSUPPORTED,
	    "GDB records the program itself now: its calls are recorded again after "
	    "\"record stop\"");
}

static struct mt_error *show(struct mt_live *live, bool selected)
{
	if (!live->hidden)
		return NULL;
	if (selected && mt_gdb_is_recording())
		return tell_recording(live);
	live->news = true;
	live->yielded = live->forked = false;
	return mt_pristine_show(live->session, live->target, live->pid, selected, &live->hidden);
}

/* Once for each. */
static struct mt_error *tell_unrecorded(struct mt_live *live, pid_t pid)
{
	if (live->told == pid)
		return NULL;
	live->told = pid;
	return mt_error_new(MT_ERROR_USAGE,
			    "process %d runs unrecorded: stop it and say \"mtrace start\"", pid);
}

/* A child that GDB follows has its parent's agent, so that nothing has to be called in it. */
static struct mt_error *begin(struct mt_live *live, pid_t pid)
{
	mt_try(mt_refuse(pid));
	if (mt_is_fresh(pid))
		return mt_live_begin(live, pid, true);
	if (pid != live->child)
		return tell_unrecorded(live, pid);
	if (live->lender && shares_memory(live->lender, pid))
		return NULL; /* its exec is waited for */
	mt_try(mt_live_begin(live, pid, false));
	return show(live, true);
}

static struct mt_error *resume(struct mt_live *live, pid_t pid)
{
	live->crash = 0;
	if (!live->armed)
		return NULL;
	if (!mt_live_session(live))
		return begin(live, pid);
	mt_try(restore_breakpoints(live));
	return show(live, true);
}

static struct mt_error *tell_postponed(struct mt_live *live)
{
	if (!live->armed || !live->child || live->told == live->child)
		return NULL;
	live->told = live->child;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "process %d runs unrecorded up to the next stop, since it goes on "
			    "together with its parent (\"set schedule-multiple\")",
			    live->child);
}

/* Those that go on together with the selected one. */
static struct mt_error *resume_others(const struct mt_live *selected)
{
	struct mt_error *error = NULL;

	if (!mt_gdb_parameter("schedule-multiple"))
		return NULL;
	for (struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live))
		if (live != selected)
			error = join(error, mt_live_session(live) ? show(live, false)
								  : tell_postponed(live));
	return error;
}

/* Once for each: that another one is recorded does not mean this one. */
static struct mt_error *tell_stranger(pid_t pid)
{
	static pid_t told;

	if (pid == told)
		return NULL;
	for (const struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live)) {
		if (!mt_live_session(live))
			continue;
		told = pid;
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d runs unrecorded: \"mtrace start\" is about one "
				    "inferior, and was said of inferior %d",
				    pid, live->inferior);
	}
	return NULL;
}

static struct mt_error *prepare(struct mt_live *live)
{
	bool begins = live->armed && live->child && !live->lender && !mt_live_session(live);

	if (!begins && !mt_live_session(live))
		return NULL;
	mt_try(mt_gdb_select_inferior(live->inferior));
	if (!begins)
		return restore_breakpoints(live);
	mt_try(mt_live_begin(live, live->child, false));
	return mt_gdb_target_flush(live->target);
}

struct mt_error *mt_live_continues(void)
{
	const struct mt_live *selected = mt_live_selected();
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");
	struct mt_error *error = NULL;

	if (!thread || thread == Py_None || !mt_gdb_parameter("schedule-multiple")) {
		PyErr_Clear();
		return NULL;
	}
	for (struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live))
		if (live != selected)
			error = join(error, prepare(live));
	mt_auto(mt_py) PyObject *done = PyObject_CallMethod(thread, "switch", NULL);
	return done ? error : join(error, mt_py_error());
}

struct mt_error *mt_live_resumes(void)
{
	pid_t pid = mt_gdb_pid();
	struct mt_live *live = pid ? mt_live_selected() : NULL;
	struct mt_error *error = NULL;

	if (live)
		error = resume(live, pid);
	else if (pid)
		error = tell_stranger(pid);
	error = join(error, resume_others(live));
	mt_pristine_expect_nothing();
	return error;
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL;
}

/* What it stopped for, as far as that is a signal of its own. */
static struct mt_error *tell_signal(struct mt_live *live, pid_t lwp)
{
	siginfo_t info = {0};
	struct mt_stop stop = {.kind = MT_STOP_SIGNAL, .pid = live->pid, .lwp = lwp};

	if (ptrace(PTRACE_GETSIGINFO, lwp, 0, &info) || info.si_signo == SIGTRAP ||
	    info.si_signo == SIGSTOP || info.si_signo == 0)
		return NULL;
	stop.signal = info.si_signo;
	stop.code = info.si_code;
	if (is_crash(info.si_signo) && info.si_code > 0 && info.si_code != SI_KERNEL)
		stop.address = (uint64_t)(uintptr_t)info.si_addr;
	if (is_crash(info.si_signo))
		live->crash = info.si_signo;
	return mt_session_take(live->session, &stop);
}

static struct mt_error *hide(struct mt_live *live)
{
	mt_try(mt_session_reap(live->session));
	live->hidden = true;
	struct mt_error *error = mt_session_hide(live->session, live->pid);
	mt_error_destroy(mt_gdb_target_flush(live->target));
	if (error || !live->interrupted)
		return error;
	live->armed = false;
	mt_live_end(live);
	return mt_error_new(MT_ERROR_USAGE,
			    "process %d is not recorded any more, since planning was interrupted "
			    "(\"mtrace start\" begins again)",
			    live->pid);
}

struct mt_error *mt_live_stopped(pid_t lwp)
{
	struct mt_live *selected = mt_live_selected();
	struct mt_error *error = NULL;

	for (struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live)) {
		if (!mt_live_session(live) || live->hidden)
			continue;
		struct mt_error *failed = hide(live);
		/* Now the thread stands where the program's own code made it stop. */
		if (!failed && live == selected && lwp && mt_gdb_pid() == live->pid)
			failed = tell_signal(live, lwp);
		error = join(error, failed);
	}
	return error;
}

/* GDB keeps it: by follow-fork-mode child, or detach-on-fork off. */
static struct mt_error *on_child(struct mt_live *parent, int inferior, pid_t pid)
{
	bool shares = shares_memory(parent->pid, pid);
	struct mt_live *child;

	if (!shares)
		mt_try(mt_session_clean(parent->session, parent->pid, pid));
	parent->forked = true;
	mt_try(mt_live_inherit(parent, inferior, pid, &child));
	child->lender = shares ? parent->pid : 0;
	return NULL;
}

struct mt_error *mt_live_new_thread(int inferior, pid_t pid, pid_t lwp)
{
	struct mt_live *live = mt_live_find(pid);
	const struct mt_stop stop = {
	    .kind = MT_STOP_NEW_THREAD, .pid = pid, .lwp = pid, .child = lwp};

	if (!live) {
		struct mt_live *parent = mt_live_find(mt_proc_status_number(pid, "PPid"));

		if (parent)
			return on_child(parent, inferior, pid);
		withdraw_breakpoints();
		return NULL;
	}
	if (lwp == pid)
		return NULL;
	mt_try(mt_session_reap(live->session));
	mt_try(mt_session_take(live->session, &stop));
	mt_session_tick(live->session);
	return NULL;
}

/* It had no memory of its own to be recorded in. */
static struct mt_error *begin_after_exec(struct mt_live *live, pid_t pid)
{
	if (!live->armed || live->child != pid || !live->lender ||
	    shares_memory(live->lender, pid) || !mt_is_fresh(pid))
		return NULL;
	return mt_live_begin(live, pid, true);
}

/* Its rings were mapped, and are not any more. */
struct mt_error *mt_live_check_exec(void)
{
	struct mt_live *live = mt_live_selected();
	pid_t pid = mt_gdb_pid();
	bool there = false, had = live && live->has_rings;

	if (live && pid && !mt_live_session(live))
		return begin_after_exec(live, pid);
	if (!live || live->hidden || pid != live->pid)
		return NULL;
	const struct mt_stop stop = {.kind = MT_STOP_EXEC, .pid = pid, .lwp = pid, .child = pid};
	mt_try(mt_live_look_for_rings(live, &there));
	live->has_rings = there;
	if (there || !had)
		return NULL;
	mt_births_forget(&live->births);
	return mt_session_take(live->session, &stop);
}

/* What GDB let go, the user has done with; but for one whose child GDB follows instead. */
struct mt_error *mt_live_ended(struct mt_live *live, int status)
{
	const struct mt_stop stop = {
	    .kind = MT_STOP_EXITED, .pid = live->pid, .lwp = live->pid, .status = status};
	struct mt_error *error = NULL;

	if (mt_proc_has_ended(live->pid))
		error = mt_session_take(live->session, &stop);
	else
		live->armed &= live->forked;
	mt_live_end(live);
	return error;
}
