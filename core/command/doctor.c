/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks what works on this machine, and why the rest does not.  Each line is the result of a trial
 * by this very build: an engine is started where it can be. */
#include "base/outfile.h"
#include "base/path.h"
#include "base/str.h"
#include "command/arguments.h"
#include "engine/engine.h"
#include "engine/pt/pause.h"
#include "kernel/breakpoint.h"
#include "kernel/data_ring.h"
#include "kernel/event.h"
#include "kernel/pmu.h"
#include "tracks/tracks.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *const options[] = {NULL};

static void print_check(const struct mt_command_context *context, const char *name, bool works,
			const char *text)
{
	mt_command_printf(context, "%-10s %-4s %s\n", name, works ? "yes" : "no", text);
}

/* Starts a program under control, as `run` would, and kills it. */
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

static bool check_engine(const struct mt_command_context *context,
			 const struct mt_engine_ops *engine)
{
	mt_auto(mt_error) struct mt_error *error = engine->probe ? engine->probe() : NULL;

	if (!error)
		error = try_launch(context);
	print_check(context, engine->name, !error,
		    error ? mt_error_message(error) : engine->summary);
	return !error;
}

/* Keeps the last message of a track that lacks something. */
static void keep_line(void *context, enum mt_log_level level, const char *text)
{
	struct mt_str *kept = context;

	(void)level;
	mt_str_clear(kept);
	mt_str_append(kept, text);
}

static void check_track(const struct mt_command_context *context, const char *name,
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
	print_check(context, name, !error,
		    error          ? mt_error_message(error)
		    : lacks.length ? lacks.text
				   : summary);
}

static void check_watch(const struct mt_command_context *context)
{
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_breakpoint_probe(MT_DATA_RING_LEAST_BYTES);

	if (error)
		mt_str_appendf(&text,
			       "%s; triggers of --engine calls and step need none, and watch at "
			       "mtdb's prompt single-steps if need be",
			       mt_error_message(error));
	else
		mt_str_append(&text, "debug registers, for --watch and for triggers of the engines "
				     "pt and sample");
	print_check(context, "watch", !error, text.failed ? "" : text.text);
}

/* Whether Intel PT can be recorded here (decoding works everywhere), and whether a trigger's hit
 * pauses the trace. */
static void check_hardware(const struct mt_command_context *context)
{
	struct mt_pmu pmu;
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_pmu_read("", &pmu);
	FILE *file;
	char line[16];

	if (error) {
		print_check(context, "intel_pt", false, mt_error_message(error));
		return;
	}
	mt_str_appendf(&text, "time by TSC%s%s, %u address filters%s%s", pmu.mtc ? ", MTC" : "",
		       pmu.psb_cyc ? ", CYC" : "", pmu.address_filters,
		       pmu.ptwrite ? ", PTWRITE" : "", pmu.power_events ? ", power events" : "");
	mt_str_appendf(&text, "; perf_event_paranoid is %d", mt_perf_paranoid());
	file = fopen("/proc/sys/kernel/perf_event_mlock_kb", "re");
	if (file && fgets(line, sizeof(line), file))
		mt_str_appendf(&text, ", perf_event_mlock_kb is %.*s", (int)strcspn(line, "\n"),
			       line);
	if (file)
		fclose(file);
	print_check(context, "intel_pt", true, text.failed ? "" : text.text);

	error = mt_breakpoint_probe(0);
	mt_str_clear(&text);
	if (error) {
		mt_str_appendf(&text, "no trigger of the engine pt is hit: %s",
			       mt_error_message(error));
		print_check(context, "aux_pause", false, text.failed ? "" : text.text);
		return;
	}
	error = mt_pt_try_pause(&pmu);
	if (error)
		mt_str_appendf(&text,
			       "after a trigger's hit the trace continues until the thread stops: "
			       "%s",
			       mt_error_message(error));
	else
		mt_str_append(&text, "a trigger's hit pauses the trace at that instruction");
	print_check(context, "aux_pause", !error, text.failed ? "" : text.text);
}

static void check_files(const struct mt_command_context *context)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	mt_auto(mt_str) struct mt_str path = {0};
	bool has_perf = mt_path_find("perf", &path), has_urls = urls && *urls;

	print_check(context, "perf", has_perf,
		    has_perf ? path.text
			     : "not installed; it can read recordings too (package linux-perf)");
	print_check(context, "debuginfod", has_urls,
		    has_urls ? urls
			     : "DEBUGINFOD_URLS is not set: only debug files of this machine are "
			       "used");
}

/* Creates an output file as `run` does, and drops it again. */
static void check_output(const struct mt_command_context *context)
{
	struct statvfs file_system;
	struct mt_outfile *file = NULL;
	mt_auto(mt_str) struct mt_str text = {0};
	mt_auto(mt_error) struct mt_error *error = mt_outfile_create("trace.fxt", &file);

	mt_outfile_destroy(file);
	if (error)
		mt_str_appendf(&text, "not in this directory: %s; use -o to write elsewhere",
			       mt_error_message(error));
	else if (statvfs(".", &file_system) == 0)
		mt_str_appendf(&text, "this directory is writable, %llu MiB free",
			       (unsigned long long)file_system.f_bavail * file_system.f_frsize >>
				   20);
	print_check(context, "output", !error, text.text ? text.text : "");
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
	mt_command_printf(context, "Engines:\n");
	for (const struct mt_engine_ops *const *engine = mt_engines; *engine; engine++)
		any |= check_engine(context, *engine);
	mt_command_printf(context,
			  "\nEvents in addition to calls (--events, --counter, --watch):\n");
	check_track(context, "sched", "sched", NULL, "where threads run, and why not");
	check_track(context, "faults", "faults", NULL, "page faults, with their addresses");
	check_track(context, "syscalls", "syscalls", NULL, "system calls by name");
	check_track(context, "counters", NULL, "instructions",
		    "of the processor, and of the kernel (such as page-faults)");
	check_watch(context);
	mt_command_printf(context, "\nSystem:\n");
	check_hardware(context);
	check_files(context);
	check_output(context);
	context->exit_status = any ? 0 : 1;
	return NULL;
}

const struct mt_command mt_command_doctor = {
    .name = "doctor",
    .summary = "Check what works on this machine, and why the rest does not",
    .usage = "",
    .help =
	"Try each engine and each kind of event, and check the system: Intel PT, perf, debug\n"
	"files, the output directory.  Each line is yes or no; for a no it gives the reason and\n"
	"the fix.  The exit status is 1 when no engine works.\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL | MT_COMMAND_IN_DEBUGGER,
    .run = run,
};
