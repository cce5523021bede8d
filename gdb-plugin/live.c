/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live.h"

#include "births.h"
#include "command/record_options.h"
#include "command/timeline.h"
#include "gdb.h"
#include "pristine.h"
#include "refuse.h"
#include "settings.h"
#include "target.h"
#include "target/proc.h"
#include "written.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How the kernel names the memory that core/target/calls_ring.c makes. */
#define RINGS_NAME "/memfd:mtrace rings"

static struct {
	bool armed;
	bool hidden;     /* nothing of ours is in the text */
	bool over;       /* the program ended, or is not recorded any more */
	bool busy;       /* within a call that makes GDB resume the program */
	bool has_rings;  /* were seen in its memory */
	bool news;       /* it ran since the last snapshot */
	bool one_thread; /* that is selected at the start, or the first of a new process */
	bool yielded;    /* to GDB's `record` */
	int crash;
	pid_t pid;
	pid_t second; /* that was told to run unrecorded */
	uint32_t snapshots;
	char *engine;
	struct mt_log log;
	struct mt_session_options options;
	struct mt_target *target;
	struct mt_session *session;
} live;

bool mt_live_is_armed(void)
{
	return live.armed;
}

struct mt_session *mt_live_session(void)
{
	return live.over ? NULL : live.session;
}

pid_t mt_live_pid(void)
{
	return live.pid;
}

struct mt_target *mt_live_target(void)
{
	return live.target;
}

int mt_live_crash(void)
{
	return live.crash;
}

bool mt_live_is_hidden(void)
{
	return live.hidden;
}

bool mt_live_is_news(void)
{
	return live.news;
}

uint32_t mt_live_snapshots(void)
{
	return live.snapshots;
}

static struct mt_error *see_rings(void *context, const struct mt_map *map)
{
	bool *there = context;

	*there |= strncmp(map->path, RINGS_NAME, strlen(RINGS_NAME)) == 0;
	return NULL;
}

static struct mt_error *look_for_rings(bool *there)
{
	*there = false;
	return live.target->ops->each_map(live.target, live.pid, see_rings, there);
}

static struct mt_error *on_libraries(pid_t lwp)
{
	const struct mt_stop stop = {.kind = MT_STOP_LIBRARIES, .pid = live.pid, .lwp = lwp};

	/* What attach() itself loads it looks for itself. */
	if (!mt_live_session() || live.busy)
		return NULL;
	mt_try(mt_session_take(live.session, &stop));
	return live.has_rings ? NULL : look_for_rings(&live.has_rings);
}

static void destroy_session(void)
{
	mt_session_destroy(live.session);
	live.session = NULL;
	if (live.target)
		live.target->ops->destroy(live.target);
	live.target = NULL;
	live.pid = 0;
	live.hidden = live.over = live.has_rings = false;
}

/* It stays, to be looked at. */
static void end_session(void)
{
	live.over = true;
	mt_births_forget();
	if (live.target)
		mt_gdb_target_let_go(live.target);
}

void mt_live_destroy(void)
{
	destroy_session();
	free(live.engine);
	live.engine = NULL;
	live.armed = false;
}

/* `auto`, in GDB: what can share the program with it. */
static struct mt_error *choose_engine(const char *name)
{
	char *wanted = name ? strdup(name) : mt_setting_text(MT_SETTING_ENGINE);

	if (!wanted)
		return mt_error_no_memory();
	bool known = strcmp(wanted, "auto") == 0 || strcmp(wanted, "calls") == 0;
	free(live.engine);
	live.engine = known ? strdup("calls") : NULL;
	if (known) {
		free(wanted);
		return live.engine ? NULL : mt_error_no_memory();
	}
	struct mt_error *error =
	    mt_error_new(MT_ERROR_USAGE,
			 "the engine \"%s\" does not work inside of GDB (use calls, or "
			 "mtdb run --engine %s)",
			 wanted, wanted);
	free(wanted);
	return error;
}

static struct mt_error *parse_threads(const char *text)
{
	if (text && strcmp(text, "all") != 0 && strcmp(text, "current") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "no choice of threads: \"%s\" (it can be all or current)",
				    text);
	live.one_thread = text && strcmp(text, "current") == 0;
	return NULL;
}

static struct mt_error *read_settings(const struct mt_live_options *options)
{
	char *size = mt_setting_text(MT_SETTING_BUFFER_SIZE);
	char *stamps = mt_setting_text(MT_SETTING_TIMESTAMPS);
	struct mt_error *error = choose_engine(options->engine);

	live.options = (struct mt_session_options){.engine = live.engine,
						   .ring_bytes = options->ring_bytes,
						   .live = true,
						   .log = &live.log};
	live.log = *mt_gdb_context().log;
	if (!error && !options->ring_bytes && size)
		error = mt_parse_size(size, &live.options.ring_bytes);
	if (!error)
		error = mt_parse_stamps(options->stamps ? options->stamps
					: stamps        ? stamps
							: "sampled",
					&live.options.stamps);
	if (!error)
		error = parse_threads(options->threads);
	free(size);
	free(stamps);
	return error;
}

static struct mt_error *make_session(pid_t pid)
{
	destroy_session();
	mt_try(mt_gdb_target_create(on_libraries, &live.target));
	mt_gdb_target_set_pid(live.target, pid);
	live.options.only = live.one_thread ? mt_gdb_lwp() : 0;
	mt_try(mt_session_create(live.target, &live.options, NULL, &live.session));
	live.pid = pid;
	live.news = true;
	return NULL;
}

static struct mt_error *begin(pid_t pid, bool fresh)
{
	const struct mt_launch launch = {0};
	struct mt_error *error = make_session(pid);

	if (!error && fresh)
		error = mt_session_launch(live.session, &launch);
	if (!error && !fresh) {
		live.busy = true;
		error = mt_session_attach(live.session, pid);
		live.busy = false;
		live.hidden = live.has_rings = true;
		mt_error_destroy(mt_gdb_target_flush(live.target));
	}
	if (error)
		destroy_session();
	return error;
}

/* By "continue &", or because a condition of a breakpoint's calls us: text is changed at stops. */
static struct mt_error *refuse_running(pid_t pid)
{
	if (!pid || !mt_gdb_is_running())
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "process %d runs: stop it first (\"interrupt\")", pid);
}

struct mt_error *mt_live_start(const struct mt_live_options *options)
{
	pid_t pid = mt_gdb_pid();

	if (mt_live_session())
		return mt_error_new(MT_ERROR_USAGE, "process %d is recorded already", live.pid);
	mt_try(mt_refuse(pid));
	mt_try(refuse_running(pid));
	mt_try(read_settings(options));
	live.armed = true;
	if (!pid)
		return NULL;
	struct mt_error *error = begin(pid, false);
	live.armed = !error;
	return error;
}

struct mt_error *mt_live_stop(void)
{
	if (!live.armed)
		return mt_error_new(MT_ERROR_USAGE,
				    "nothing is recorded (\"mtrace start\" begins)");
	if (mt_live_session() && !live.hidden)
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d runs: stop it first (\"interrupt\")", live.pid);
	live.armed = false;
	end_session();
	return NULL;
}

/* Once for each. */
static struct mt_error *tell_second(pid_t pid)
{
	if (pid == live.second)
		return NULL;
	live.second = pid;
	return mt_error_new(
	    MT_ERROR_UNSUPPORTED,
	    "process %d runs unrecorded: one process can be recorded at a time, and "
	    "that is %d (\"mtrace stop\" gives it free)",
	    pid, live.pid);
}

/* Once for each time.  GDB's log knows what each instruction changed: patches would come into it,
 * and into what it undoes. */
static struct mt_error *tell_recording(void)
{
	if (live.yielded)
		return NULL;
	live.yielded = true;
	return mt_error_new(
	    MT_ERROR_UNSUPPORTED,
	    "GDB records the program itself now: its calls are recorded again after "
	    "\"record stop\"");
}

struct mt_error *mt_live_resumes(pid_t pid)
{
	if (!live.armed || !pid)
		return NULL;
	live.crash = 0;
	if (!mt_live_session()) {
		mt_try(mt_refuse(pid));
		if (mt_is_fresh(pid))
			return begin(pid, true);
		if (pid == live.second)
			return NULL; /* it was told */
		live.second = pid;
		return mt_error_new(MT_ERROR_USAGE,
				    "process %d runs unrecorded: stop it and say \"mtrace start\"",
				    pid);
	}
	if (pid != live.pid)
		return tell_second(pid);
	if (!live.hidden)
		return NULL;
	if (mt_gdb_is_recording())
		return tell_recording();
	live.news = true;
	live.yielded = false;
	mt_try(mt_pristine_show(live.session, live.target, pid, &live.hidden));
	return NULL;
}

static bool is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL;
}

/* What it stopped for, as far as that is a signal of its own. */
static struct mt_error *tell_signal(pid_t lwp)
{
	siginfo_t info = {0};
	struct mt_stop stop = {.kind = MT_STOP_SIGNAL, .pid = live.pid, .lwp = lwp};

	if (ptrace(PTRACE_GETSIGINFO, lwp, 0, &info) || info.si_signo == SIGTRAP ||
	    info.si_signo == SIGSTOP || info.si_signo == 0)
		return NULL;
	stop.signal = info.si_signo;
	stop.code = info.si_code;
	if (is_crash(info.si_signo) && info.si_code > 0 && info.si_code != SI_KERNEL)
		stop.address = (uint64_t)(uintptr_t)info.si_addr;
	if (is_crash(info.si_signo))
		live.crash = info.si_signo;
	return mt_session_take(live.session, &stop);
}

struct mt_error *mt_live_stopped(pid_t lwp)
{
	if (!mt_live_session() || live.hidden || mt_gdb_pid() != live.pid)
		return NULL;
	mt_try(mt_session_reap(live.session));
	live.hidden = true;
	struct mt_error *error = mt_session_hide(live.session, live.pid);
	mt_error_destroy(mt_gdb_target_flush(live.target));
	/* Now the thread stands where the program's own code made it stop. */
	return error || !lwp ? error : tell_signal(lwp);
}

/* As after vfork(), until exec. */
static bool shares_memory(pid_t child)
{
	return syscall(SYS_kcmp, live.pid, child, KCMP_VM, 0, 0) == 0;
}

/* GDB keeps it: by follow-fork-mode child, or detach-on-fork off. */
static struct mt_error *on_child(pid_t child)
{
	if (!shares_memory(child))
		mt_try(mt_session_clean(live.session, live.pid, child));
	live.second = child;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "process %d, a child of the recorded one, runs unrecorded (when it is "
			    "stopped and alone, \"mtrace start\" records it)",
			    child);
}

struct mt_error *mt_live_new_thread(pid_t pid, pid_t lwp)
{
	const struct mt_stop stop = {
	    .kind = MT_STOP_NEW_THREAD, .pid = pid, .lwp = live.pid, .child = lwp};

	if (!mt_live_session())
		return NULL;
	if (pid != live.pid)
		return mt_proc_status_number(pid, "PPid") == live.pid ? on_child(pid) : NULL;
	if (lwp == pid)
		return NULL;
	mt_try(mt_session_reap(live.session));
	mt_try(mt_session_take(live.session, &stop));
	mt_session_tick(live.session);
	return NULL;
}

/* Its rings were mapped, and are not any more. */
struct mt_error *mt_live_check_exec(bool *is_new)
{
	const struct mt_stop stop = {
	    .kind = MT_STOP_EXEC, .pid = live.pid, .lwp = live.pid, .child = live.pid};
	bool there = false, had = live.has_rings;

	*is_new = false;
	if (!mt_live_session() || live.hidden || mt_gdb_pid() != live.pid)
		return NULL;
	mt_try(look_for_rings(&there));
	live.has_rings = there;
	if (there || !had)
		return NULL;
	*is_new = true;
	return mt_session_take(live.session, &stop);
}

struct mt_error *mt_live_ended(int status)
{
	const struct mt_stop stop = {
	    .kind = MT_STOP_EXITED, .pid = live.pid, .lwp = live.pid, .status = status};
	struct mt_error *error = NULL;

	if (!mt_live_session())
		return NULL;
	if (mt_proc_has_ended(live.pid))
		error = mt_session_take(live.session, &stop);
	else
		live.armed = false; /* what GDB let go, the user has done with */
	end_session();
	return error;
}

/* GDB's standard output, which "-" is elsewhere, may be a terminal, or speak MI. */
static struct mt_error *check_name(const char *path)
{
	if (*path && strcmp(path, "-") != 0)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "what is written needs the name of a file: \"%s\"",
			    path);
}

struct mt_error *mt_live_recording(const char *path, struct mt_recording **out)
{
	if (path)
		mt_try(check_name(path));
	return live.session ? mt_session_copy(live.session, path, 0, out)
			    : mt_refuse_looking_back();
}

/* "trace-%n.fxt" */
static char *output_path(uint32_t number)
{
	mt_auto(mt_str) struct mt_str path = {0};
	char *pattern = mt_setting_text(MT_SETTING_OUTPUT);

	for (const char *at = pattern ? pattern : "trace-%n.fxt"; *at; at++) {
		if (at[0] == '%' && at[1] == 'n') {
			mt_str_appendf(&path, "%u", number);
			at++;
		} else {
			mt_str_append_bytes(&path, at, 1);
		}
	}
	free(pattern);
	return path.text && !path.failed ? strdup(path.text) : NULL;
}

static struct mt_error *write_timeline(struct mt_recording *recording, const char *path)
{
	const struct mt_command_context context = mt_gdb_context();
	const struct mt_timeline timeline = {.path = path};
	struct mt_decode_stats stats = {0};

	return mt_timeline_write(&context, recording, &timeline, &stats);
}

static struct mt_error *take_snapshot(const char *path, uint32_t number,
				      struct mt_recording **recording)
{
	if (!live.session)
		return mt_refuse_looking_back();
	if (!path)
		return mt_error_no_memory();
	mt_try(check_name(path));
	mt_try(mt_session_copy(live.session, NULL, number, recording));
	struct mt_error *error = write_timeline(*recording, path);
	if (!error)
		return NULL;
	mt_recording_close(*recording);
	*recording = NULL;
	return error;
}

struct mt_error *mt_live_snapshot_and_keep(const char *path, char **written,
					   struct mt_recording **recording)
{
	uint32_t number = live.snapshots + 1;
	char *name = path ? strdup(path) : output_path(number);
	struct mt_error *error = take_snapshot(name, number, recording);

	*written = NULL;
	if (error) {
		free(name);
		return error;
	}
	live.snapshots = number;
	mt_written_add(number, name);
	live.news = !live.hidden && mt_live_session(); /* it runs on */
	*written = name;
	return NULL;
}

struct mt_error *mt_live_snapshot(const char *path, char **written)
{
	struct mt_recording *recording = NULL;
	struct mt_error *error = mt_live_snapshot_and_keep(path, written, &recording);

	mt_recording_close(recording);
	return error;
}
