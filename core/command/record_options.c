/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/record_options.h"

#include "base/str.h"
#include "command/choose.h"
#include "output/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NS_PER_S         1000000000ull
#define MOST_THROTTLE    86400u
#define DEFAULT_THROTTLE 1u

void mt_record_options_init(struct mt_record_options *record)
{
	*record = (struct mt_record_options){.ready = -1, .throttle = (char *)record};
	mt_pt_options_init(&record->pt);
	mt_sample_options_init(&record->sample);
	const struct poptOption table[] = {
	    {"engine", 'e', POPT_ARG_STRING, &record->session.engine_name, 0, NULL, NULL},
	    {"output", 'o', POPT_ARG_STRING, &record->output, 0, NULL, NULL},
	    {"format", 'f', POPT_ARG_STRING, &record->format, 0, NULL, NULL},
	    {"record", 'r', POPT_ARG_STRING, &record->session.recording_path, 0, NULL, NULL},
	    {"size", 's', POPT_ARG_STRING, &record->size, 0, NULL, NULL},
	    {"space", 0, POPT_ARG_STRING, &record->space, 0, NULL, NULL},
	    {"trigger", 't', POPT_ARG_ARGV, &record->session.triggers, 0, NULL, NULL},
	    {"args", 0, POPT_ARG_ARGV, &record->session.arguments, 0, NULL, NULL},
	    {"returns", 0, POPT_ARG_ARGV, &record->session.results, 0, NULL, NULL},
	    {"no-open-args", 0, POPT_ARG_NONE, &record->no_open_args, 0, NULL, NULL},
	    {"python-calls", 0, POPT_ARG_NONE, &record->python_calls, 0, NULL, NULL},
	    {"pending", 0, POPT_ARG_NONE, &record->pending, 0, NULL, NULL},
	    {"watch", 0, POPT_ARG_ARGV, &record->session.watches, 0, NULL, NULL},
	    {"events", 0, POPT_ARG_ARGV, &record->session.events, 0, NULL, NULL},
	    {"counter", 0, POPT_ARG_ARGV, &record->session.counters, 0, NULL, NULL},
	    {"timestamps", 0, POPT_ARG_STRING, &record->stamps, 0, NULL, NULL},
	    {"modules", 0, POPT_ARG_ARGV, &record->session.engine.modules, 0, NULL, NULL},
	    {"functions", 0, POPT_ARG_ARGV, &record->session.engine.functions, 0, NULL, NULL},
	    {"no-functions", 0, POPT_ARG_ARGV, &record->session.engine.no_functions, 0, NULL, NULL},
	    {"throttle", 0, POPT_ARG_STRING | POPT_ARGFLAG_OPTIONAL, &record->throttle, 0, NULL,
	     NULL},
	    {NULL, 0, POPT_ARG_INCLUDE_TABLE, record->pt.table, 0, NULL, NULL},
	    {NULL, 0, POPT_ARG_INCLUDE_TABLE, record->sample.table, 0, NULL, NULL},
	    {"follow-forks", 0, POPT_ARG_NONE, &record->follow_forks, 0, NULL, NULL},
	    {"ready-fd", 0, POPT_ARG_STRING, &record->ready_fd, 0, NULL, NULL},
	    POPT_TABLEEND,
	};

	_Static_assert(sizeof(table) <= sizeof(record->table), "MT_RECORD_OPTIONS_TABLE");
	memcpy(record->table, table, sizeof(table));
}

static void free_list(const char *const *list)
{
	for (const char *const *word = list; word && *word; word++)
		free((char *)*word);
	free((void *)list);
}

static bool is_throttled(const struct mt_record_options *record)
{
	return record->throttle != (const char *)record;
}

void mt_record_options_deinit(struct mt_record_options *record)
{
	free((char *)record->session.engine_name);
	free(record->output);
	free(record->format);
	free((char *)record->session.recording_path);
	free(record->size);
	free(record->space);
	free(record->stamps);
	free(record->ready_fd);
	if (is_throttled(record))
		free(record->throttle);
	mt_pt_options_deinit(&record->pt);
	mt_sample_options_deinit(&record->sample);
	free_list(record->session.triggers);
	free_list(record->session.arguments);
	free_list(record->session.results);
	free_list(record->session.watches);
	free_list(record->session.events);
	free_list(record->session.counters);
	free_list(record->session.engine.modules);
	free_list(record->session.engine.functions);
	free_list(record->session.engine.no_functions);
}

/* The program must not inherit it, or who waits for its end would wait for the program. */
static struct mt_error *parse_ready_fd(struct mt_record_options *record)
{
	uint64_t fd = 0;

	mt_try(mt_parse_number(record->ready_fd, "file descriptor", 0, INT32_MAX, &fd));
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC))
		return mt_error_new(MT_ERROR_USAGE,
				    "--ready-fd=%s: no such file descriptor is open",
				    record->ready_fd);
	record->ready = (int)fd;
	return NULL;
}

struct mt_error *mt_record_options_apply(struct mt_record_options *record)
{
	struct mt_engine_options *engine = &record->session.engine;
	uint64_t throttle_s = DEFAULT_THROTTLE;

	if (record->output)
		mt_try(mt_trace_writer_check(record->output, record->format));
	if (record->size)
		mt_try(mt_parse_size(record->size, &engine->ring_bytes));
	if (record->space)
		mt_try(mt_parse_size(record->space, &record->session.most_bytes));
	if (record->stamps)
		mt_try(mt_parse_stamps(record->stamps, &engine->stamps));
	if (is_throttled(record) && record->throttle)
		mt_try(mt_parse_number(record->throttle, "number of seconds", 1, MOST_THROTTLE,
				       &throttle_s));
	if (is_throttled(record))
		engine->throttle_ns = throttle_s * NS_PER_S;
	if (record->ready_fd)
		mt_try(parse_ready_fd(record));
	engine->kernel = record->pt.kernel;
	engine->follow_forks = record->follow_forks;
	record->session.pending = record->pending;
	record->session.no_open_args = record->no_open_args;
	record->session.python_calls = record->python_calls;
	if (record->python_calls && record->no_open_args)
		return mt_error_new(MT_ERROR_USAGE,
				    "--python-calls and --no-open-args exclude each other: nothing "
				    "of Python is read with that");
	mt_try(mt_sample_options_apply(&record->sample, &engine->sample));
	return mt_pt_options_apply(&record->pt, &engine->pt);
}

struct mt_error *mt_record_options_choose(struct mt_record_options *record,
					  const struct mt_command_context *context,
					  const char *path)
{
	for (const char **trigger = (const char **)record->session.triggers; trigger && *trigger;
	     trigger++) {
		char *name = NULL;

		if (!mt_choose_is_asked(*trigger))
			continue;
		mt_try(mt_choose_function(context, path, &name));
		free((char *)*trigger);
		*trigger = name;
	}
	return NULL;
}

const char *mt_record_options_output(const struct mt_record_options *record)
{
	const char *format = record->format;

	if (record->output)
		return record->output;
	if (format && strcmp(format, "text") == 0)
		return "trace.txt";
	if (format && strcmp(format, "pftrace") == 0)
		return "trace.pftrace";
	if (format && strcmp(format, "folded") == 0)
		return "trace.folded";
	if (format && strcmp(format, "html") == 0)
		return "trace.html";
	if (format && strcmp(format, "speedscope") == 0)
		return "trace.speedscope.json";
	return format && strcmp(format, "json") == 0 ? "trace.json" : "trace.fxt";
}

/* A failure is ignored: the reader may be gone. */
void mt_record_options_report_ready(struct mt_record_options *record)
{
	static const char line[] = "recording\n";

	if (record->ready < 0)
		return;
	while (write(record->ready, line, sizeof(line) - 1) < 0 && errno == EINTR)
		;
	close(record->ready);
	record->ready = -1;
}
