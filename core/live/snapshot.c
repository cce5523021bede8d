/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots, and their timelines: numbered throughout, whichever program they are of. */
#include "decode/timeline.h"
#include "live/live.h"
#include "output/trace_writer.h"
#include "trace/slice.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The debugger's standard output, which "-" is elsewhere, is its user's. */
static struct mt_error *check_name(const char *path)
{
	if (*path && strcmp(path, "-") != 0)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "not the name of a file: \"%s\"", path);
}

static struct mt_error *check_recorded(const struct mt_live_debugger *debugger,
				       const struct mt_live *live)
{
	if (live && live->session)
		return NULL;
	if (debugger->ops->explain_nothing)
		mt_try(debugger->ops->explain_nothing(debugger->context));
	return mt_error_new(MT_ERROR_USAGE,
			    "nothing was recorded yet (\"mtrace start\", then run the program)");
}

/* The thread that is looked at: the one that crashed, if any has; 0: none, or it runs. */
static pid_t standing(const struct mt_live_debugger *debugger, const struct mt_live *live)
{
	if (live->crash_lwp)
		return live->crash_lwp;
	return live->state == MT_LIVE_HIDDEN && live->pid == debugger->ops->pid(debugger->context)
		   ? debugger->ops->lwp(debugger->context)
		   : 0;
}

struct mt_error *mt_live_copy(const struct mt_live_debugger *debugger, const struct mt_live *live,
			      const char *path, struct mt_recording **out)
{
	if (path)
		mt_try(check_name(path));
	mt_try(check_recorded(debugger, live));
	return mt_session_copy(live->session, path, 0, standing(debugger, live), live->crash_lwp,
			       out);
}

struct mt_error *mt_live_open(const struct mt_live_debugger *debugger, const struct mt_live *live,
			      pid_t *tid, struct mt_recording **out)
{
	char *kept = debugger->ops->kept ? debugger->ops->kept(debugger->context) : NULL;

	if (!kept) {
		if (live && live->pid != debugger->ops->pid(debugger->context))
			*tid = 0; /* it is of another process, or of one that ended */
		return mt_live_copy(debugger, live, NULL, out);
	}
	struct mt_error *error = mt_recording_open(kept, debugger->progress, out);
	free(kept);
	return error;
}

struct mt_error *mt_live_goroutine(const struct mt_live_debugger *debugger, struct mt_live *live,
				   struct mt_recording *recording, pid_t tid, uint64_t *goroutine)
{
	const struct mt_decode_options options = {
	    .progress = debugger->progress,
	    .log = debugger->log,
	    .objfile = {.debuginfod = true, .log = debugger->log},
	    .files = &live->files,
	    .tid = tid};

	*goroutine = 0;
	if (tid)
		return mt_decode_last_goroutine(recording, &options, goroutine);
	if (live->session)
		*goroutine = mt_session_result(live->session).death_goroutine;
	return NULL;
}

/* NULL: no memory. */
static char *fill_in(const char *pattern, uint32_t number)
{
	mt_auto(mt_str) struct mt_str path = {0};

	mt_str_append(&path, "");
	for (const char *at = pattern; *at; at++) {
		if (at[0] == '%' && at[1] == 'n') {
			mt_str_appendf(&path, "%u", number);
			at++;
		} else {
			mt_str_append_bytes(&path, at, 1);
		}
	}
	return path.failed ? NULL : strdup(path.text);
}

/* "x-%n.fxt" for "x.fxt".  NULL: no memory. */
static char *with_number(const char *pattern)
{
	mt_auto(mt_str) struct mt_str path = {0};
	const char *slash = strrchr(pattern, '/'), *name = slash ? slash + 1 : pattern;
	const char *dot = strrchr(name, '.');
	const char *end = dot && dot > name ? dot : name + strlen(name);

	mt_str_append_bytes(&path, pattern, (size_t)(end - pattern));
	mt_str_appendf(&path, "-%%n%s", end);
	return path.failed ? NULL : strdup(path.text);
}

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* "trace-%n.fxt" with the snapshot's number; with a higher one where a file is called so, that may
 * be of another session.  Without a place for it, "x.fxt" is followed by "x-2.fxt". */
static char *output_path(const struct mt_live_debugger *debugger, uint32_t number)
{
	char *pattern = mt_live_setting(debugger, MT_LIVE_OUTPUT);

	if (pattern && !strstr(pattern, "%n") && is_file(pattern)) {
		char *numbered = with_number(pattern);

		free(pattern);
		pattern = numbered;
		number = 2;
	}
	char *path = pattern ? fill_in(pattern, number) : NULL;
	while (path && strstr(pattern, "%n") && access(path, F_OK) == 0 && ++number) {
		free(path);
		path = fill_in(pattern, number);
	}
	free(pattern);
	return path;
}

static struct mt_error *write_timeline(const struct mt_live_debugger *debugger,
				       struct mt_live *live, const char *path, uint32_t number,
				       struct mt_recording **recording)
{
	struct mt_timeline timeline = {.path = path};
	struct mt_decode_stats stats = {0};

	mt_try(check_recorded(debugger, live));
	timeline.files = &live->files;
	mt_try(check_name(path));
	mt_try(mt_trace_writer_check(path, NULL));
	mt_try(mt_session_copy(live->session, NULL, number, standing(debugger, live),
			       live->crash_lwp, recording));
	return mt_timeline_write(debugger->log, debugger->progress, *recording, &timeline, &stats);
}

/* PATH becomes the list's. */
static struct mt_error *add_written(struct mt_live_debugger *debugger, uint32_t number, char *path)
{
	mt_auto(mt_str) struct mt_str whole = {0};
	char *directory = *path == '/' ? NULL : getcwd(NULL, 0);

	if (directory)
		mt_str_appendf(&whole, "%s/", directory);
	mt_str_append(&whole, path);
	free(directory);
	const struct mt_live_written one = {number, path, whole.failed ? NULL : whole.text};
	if (!one.whole || mt_array_push(&debugger->written, one))
		return mt_error_no_memory();
	whole.text = NULL;
	return NULL;
}

struct mt_error *mt_live_snapshot(struct mt_live_debugger *debugger, struct mt_live *live,
				  const char *path, const char **written,
				  struct mt_recording **recording)
{
	uint32_t number = debugger->snapshots + 1;
	char *name = path ? strdup(path) : output_path(debugger, number);
	struct mt_recording *made = NULL;
	struct mt_error *error =
	    name ? write_timeline(debugger, live, name, number, &made) : mt_error_no_memory();

	if (!error) {
		debugger->snapshots = number;
		debugger->ops->set_variable(debugger->context, "_mtrace_snapshots", number);
		live->has_news = live->state >= MT_LIVE_SHOWN; /* it runs on */
		error = add_written(debugger, number, name);
	}
	if (error) {
		free(name);
		mt_recording_close(made);
		return error;
	}
	*written = name;
	if (debugger->ops->taken)
		debugger->ops->taken(debugger->context, mt_array_last(&debugger->written), made);
	if (recording)
		*recording = made;
	else
		mt_recording_close(made);
	return NULL;
}

const char *mt_live_last_written(const struct mt_live_debugger *debugger)
{
	return debugger->written.count ? mt_array_last(&debugger->written)->whole : NULL;
}

bool mt_live_is_crash(int signal)
{
	return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
	       signal == SIGILL;
}

/* WHICH: the setting that wants it.  MOMENT: "SIGSEGV". */
static struct mt_error *take_last(struct mt_live_debugger *debugger, struct mt_live *live,
				  enum mt_live_setting which, const char *moment, const char *hint)
{
	char *wanted = mt_live_setting(debugger, which);
	bool is_wanted = wanted && strcmp(wanted, "off") != 0;
	const char *path;

	free(wanted);
	if (!is_wanted || !live->session || !live->has_news)
		return NULL;
	mt_try(mt_live_snapshot(debugger, live, NULL, &path, NULL));
	mt_live_printf(debugger, "[mtrace: the calls up to %s are in %s%s]\n", moment, path, hint);
	return NULL;
}

static struct mt_error *take_at_crash(struct mt_live_debugger *debugger, struct mt_live *live,
				      int signal)
{
	return take_last(debugger, live, MT_LIVE_ON_CRASH, mt_signal_name((uint32_t)signal),
			 "; \"mtrace history\" shows the last");
}

struct mt_error *mt_live_stopped(struct mt_live_debugger *debugger, struct mt_live *live,
				 int signal)
{
	live->crash = mt_live_is_crash(signal) ? signal : 0;
	live->crash_lwp = live->crash ? debugger->ops->lwp(debugger->context) : 0;
	return live->crash ? take_at_crash(debugger, live, signal) : NULL;
}

struct mt_error *mt_live_ended(struct mt_live_debugger *debugger, struct mt_live *live, int signal,
			       bool was_let_go)
{
	int stopped_for = live->crash;

	live->crash = 0;
	live->crash_lwp = 0; /* and its stack are gone */
	/* Of a crash that it stopped for there is a snapshot. */
	if (mt_live_is_crash(signal) && signal != stopped_for)
		mt_try(take_at_crash(debugger, live, signal));
	return take_last(debugger, live, MT_LIVE_ON_EXIT,
			 was_let_go ? "where it was let go" : "the end", "");
}
