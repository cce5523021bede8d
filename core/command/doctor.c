/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What works on this machine, and why not the rest.  Each check tells what is true of this build:
 * an engine is tried where it can be. */
#include "base/outfile.h"
#include "base/path.h"
#include "base/str.h"
#include "command/arguments.h"
#include "engine/engine.h"
#include "engine/pt/pause.h"
#include "kernel/breakpoint.h"
#include "kernel/event.h"
#include "kernel/event_set.h"
#include "kernel/pmu.h"
#include "session/tracks.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *const options[] = {NULL};

static void tell(const struct mt_command_context *context, const char *what, const char *verdict,
		 const char *text)
{
	mt_command_printf(context, "%-10s %-4s %s\n", what, verdict, text);
}

/* The first line of a small file of /proc or /sys; false: not to be read. */
static bool read_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	bool ok = file && fgets(text, (int)size, file);

	if (file)
		fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

/* Start a program under control and end it again, as `run` would begin. */
static struct mt_error *try_launch(const struct mt_command_context *context)
{
	static const char *const arguments[] = {"/bin/true", NULL};
	const struct mt_launch launch = {.path = arguments[0], .arguments = arguments};
	struct mt_target *target = NULL;
	pid_t pid = 0;
	struct mt_error *error = NULL;

	if (!context->target_create)
		return NULL;
	error = context->target_create(context->context, &target);
	if (error)
		return error;
	error = target->run->launch(target, &launch, &pid);
	if (!error)
		error = target->run->kill(target, pid);
	target->ops->destroy(target);
	return error;
}

static bool tell_engine(const struct mt_command_context *context,
			const struct mt_engine_ops *engine)
{
	mt_auto(mt_error) struct mt_error *error = engine->probe ? engine->probe() : NULL;

	if (!error)
		error = try_launch(context);
	tell(context, engine->name, error ? "no" : "yes",
	     error ? mt_error_message(error) : engine->summary);
	return !error;
}

static void append_limits(struct mt_str *text)
{
	char line[16];

	mt_str_appendf(text, "; perf_event_paranoid is %d", mt_perf_paranoid());
	if (read_line("/proc/sys/kernel/perf_event_mlock_kb", line, sizeof(line)))
		mt_str_appendf(text, ", perf_event_mlock_kb %s", line);
}

/* Why Intel PT could not be recorded here; decoding it works everywhere. */
static void tell_hardware(const struct mt_command_context *context)
{
	struct mt_pmu pmu;
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_pmu_read("", &pmu);

	if (error) {
		mt_str_append(&text, mt_error_message(error));
	} else {
		mt_str_appendf(&text, "time by TSC%s%s, %u address filters%s%s",
			       pmu.mtc ? ", MTC" : "", pmu.psb_cyc ? ", CYC" : "",
			       pmu.address_filters, pmu.ptwrite ? ", PTWRITE" : "",
			       pmu.power_events ? ", power events" : "");
		append_limits(&text);
	}
	tell(context, "intel_pt", error ? "no" : "yes", text.failed ? "" : text.text);
}

/* What becomes of the trace when a trigger is hit. */
static void tell_pause(const struct mt_command_context *context)
{
	struct mt_pmu pmu;
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_pmu_read("", &pmu);

	if (error)
		return;
	error = mt_pt_try_pause(&pmu);
	if (error)
		mt_str_appendf(
		    &text, "behind a trigger's hit the trace goes on until the thread stands: %s",
		    mt_error_message(error));
	else
		mt_str_append(&text, "a trigger's hit pauses the trace, at the very instruction");
	tell(context, "aux_pause", error ? "no" : "yes", text.failed ? "" : text.text);
}

static void tell_perf(const struct mt_command_context *context)
{
	mt_auto(mt_str) struct mt_str path = {0};
	bool found = mt_path_find("perf", &path);

	tell(context, "perf", found ? "yes" : "no",
	     found ? path.text : "not installed; it can read recordings too (package linux-perf)");
}

static void tell_debuginfod(const struct mt_command_context *context)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (urls && *urls)
		tell(context, "debuginfod", "yes", urls);
	else
		tell(context, "debuginfod", "no",
		     "DEBUGINFOD_URLS is not set: debug files come from this machine only");
}

/* Tried as an output would be begun; nothing stays. */
static void tell_output(const struct mt_command_context *context)
{
	struct statvfs file_system;
	struct mt_outfile *file = NULL;
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_outfile_create("trace.fxt", &file);

	mt_outfile_destroy(file);
	if (error)
		mt_str_appendf(&text, "not in this directory, use -o: %s", mt_error_message(error));
	else if (statvfs(".", &file_system) == 0)
		mt_str_appendf(&text, "this directory is writable, %llu MiB are free",
			       (unsigned long long)file_system.f_bavail * file_system.f_frsize >>
				   20);
	tell(context, "output", error ? "no" : "yes", text.text ? text.text : "");
}

/* What is said of a track that lacks something. */
static void keep_line(void *context, enum mt_log_level level, const char *text)
{
	struct mt_str *kept = context;

	(void)level;
	mt_str_clear(kept);
	mt_str_append(kept, text);
}

static void tell_tracks(const struct mt_command_context *context, const char *what,
			const char *event, const char *counter, const char *summary)
{
	const char *const events[] = {event, NULL}, *const counters[] = {counter, NULL};
	mt_auto(mt_str) struct mt_str lacks = {0};
	const struct mt_log log = {.line = keep_line, .context = &lacks, .least = MT_LOG_INFO};
	const struct mt_tracks_options tracks_options = {
	    .events = event ? events : NULL,
	    .counters = counter ? counters : NULL,
	    .log = &log,
	};
	struct mt_tracks *tracks = NULL;
	mt_auto(mt_error) struct mt_error *error = mt_tracks_create(&tracks_options, &tracks);

	mt_tracks_destroy(tracks);
	tell(context, what, error ? "no" : "yes",
	     error          ? mt_error_message(error)
	     : lacks.length ? lacks.text
			    : summary);
}

/* On a variable of our own. */
static void tell_watch(const struct mt_command_context *context)
{
	const uint64_t watched = 0;
	const struct mt_breakpoint breakpoint = {.address = (uint64_t)(uintptr_t)&watched,
						 .length = sizeof(watched)};
	struct mt_perf_spec spec = mt_breakpoint_spec(&breakpoint, "a watchpoint");
	struct mt_event_set set = {0};
	mt_auto(mt_error) struct mt_error *error =
	    mt_event_set_add(&set, &spec, 0, -1, 0, MT_DATA_RING_LEAST_BYTES);

	mt_event_set_deinit(&set);
	tell(context, "watch", error ? "no" : "yes",
	     error ? mt_error_message(error) : "debug registers, for --watch");
}

static void tell_beside(const struct mt_command_context *context)
{
	tell_tracks(context, "sched", "sched", NULL, "where threads run, and why not");
	tell_tracks(context, "faults", "faults", NULL, "page faults, with their addresses");
	tell_tracks(context, "syscalls", "syscalls", NULL, "system calls by name");
	tell_tracks(context, "counters", NULL, "instructions",
		    "of the processor; those of the kernel, such as page-faults, too");
	tell_watch(context);
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	const struct poptOption table[] = {POPT_TABLEEND};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct mt_error *error =
	    mt_arguments_parse(&arguments, context, &mt_command_doctor, table, argc, argv, 0, 0);
	bool any = false;

	if (error)
		return error;
	mt_command_printf(context, "Engines, ways to record here:\n");
	for (const struct mt_engine_ops *const *engine = mt_engines; *engine; engine++)
		any |= tell_engine(context, *engine);
	mt_command_printf(context, "\nBeside the calls (--events, --counter, --watch):\n");
	tell_beside(context);
	mt_command_printf(context, "\nWhat helps:\n");
	tell_hardware(context);
	tell_pause(context);
	tell_perf(context);
	tell_debuginfod(context);
	tell_output(context);
	context->exit_status = any ? 0 : 1;
	return NULL;
}

const struct mt_command mt_command_doctor = {
    .name = "doctor",
    .summary = "Tell what works on this machine, and why not the rest",
    .usage = "",
    .help =
	"Try each engine, and what can be recorded beside the calls, and look at what else\n"
	"tracing wants: permissions, Intel PT, perf, debug files, room for output.  A line each:\n"
	"yes or no, and for no the reason and the cure.  The exit status is 1 when no engine\n"
	"works.\n",
    .options = options,
    .run = run,
};
