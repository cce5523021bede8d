/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracks/private.h"

#include "base/str.h"
#include "kernel/counter.h"
#include "kernel/system.h"

#include <string.h>

#define COUNTER_PERIOD_NS 1000000

const char *const mt_tracks_names[] = {"sched", "faults", "syscalls", "marks", NULL};

static struct mt_error *add_word(const char *word, size_t length, unsigned *choices)
{
	for (unsigned i = 0; mt_tracks_names[i]; i++)
		if (strlen(mt_tracks_names[i]) == length &&
		    strncmp(word, mt_tracks_names[i], length) == 0) {
			*choices |= 1u << i;
			return NULL;
		}
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "unknown event \"%.*s\": must be sched, faults, syscalls or marks, or several "
	    "separated by commas",
	    (int)length, word);
}

static struct mt_error *read_words(const char *const *lists, unsigned *choices)
{
	for (; lists && *lists; lists++) {
		const char *word = *lists;

		for (size_t length;; word += length + 1) {
			length = strcspn(word, ",");
			mt_try(add_word(word, length, choices));
			if (!word[length])
				break;
		}
	}
	return NULL;
}

struct mt_error *mt_tracks_check(const char *const *events)
{
	unsigned choices = 0;

	return read_words(events, &choices);
}

bool mt_tracks_want_marks(const char *const *events)
{
	unsigned choices = 0;

	mt_error_destroy(read_words(events, &choices));
	return choices & MT_TRACK_CHOICE_MARKS;
}

static struct mt_perf_spec *add(struct mt_tracks *tracks, enum mt_track_event event,
				const char *what, uint32_t type, uint64_t config)
{
	struct mt_perf_spec *spec = &tracks->specs[event];

	tracks->has[event] = true;
	*spec = (struct mt_perf_spec){
	    .what = what,
	    .type = type,
	    .config = config,
	    .period = 1,
	    .sample_type = MT_RING_SAMPLE_TYPE,
	    .backward = true,
	    .raw_clock = tracks->clock.raw,
	};
	return spec;
}

/* An event of which the kernel's part is worth having, but not all may have it. */
static void widen(struct mt_perf_spec *spec)
{
	struct mt_error *error;
	int fd = -1;

	spec->kernel = true;
	error = mt_perf_event_open(spec, 0, -1, -1, &fd);
	spec->kernel = !error;
	mt_error_destroy(error);
	if (fd >= 0)
		mt_system_close(fd);
}

static void add_fault(struct mt_tracks *tracks, enum mt_track_event event, const char *what,
		      uint64_t config)
{
	struct mt_perf_spec *spec = add(tracks, event, what, PERF_TYPE_SOFTWARE, config);

	spec->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	widen(spec);
}

/* A tracepoint fires in the kernel: an event without it would see nothing. */
static struct mt_error *add_tracepoint(struct mt_tracks *tracks, enum mt_track_event event,
				       const char *name, struct mt_tracepoint *tracepoint)
{
	struct mt_perf_spec *spec;

	mt_try(mt_tracepoint_find(name, tracepoint));
	spec = add(tracks, event, name, PERF_TYPE_TRACEPOINT, tracepoint->id);
	spec->sample_type |= PERF_SAMPLE_RAW;
	spec->kernel = true;
	return NULL;
}

static struct mt_error *strange(const char *name)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "the tracepoint %s has unknown fields on this kernel", name);
}

static struct mt_error *add_syscalls(struct mt_tracks *tracks)
{
	static const char enter[] = "raw_syscalls/sys_enter", leave[] = "raw_syscalls/sys_exit";
	struct mt_tracepoint tracepoint;

	mt_try(add_tracepoint(tracks, MT_TRACK_SYSCALL, enter, &tracepoint));
	if (!mt_tracepoint_field(&tracepoint, "id", &tracks->number) ||
	    !mt_tracepoint_field(&tracepoint, "args[6]", &tracks->arguments))
		return strange(enter);
	mt_try(add_tracepoint(tracks, MT_TRACK_SYSRET, leave, &tracepoint));
	if (!mt_tracepoint_field(&tracepoint, "id", &tracks->exit_number) ||
	    !mt_tracepoint_field(&tracepoint, "ret", &tracks->result))
		return strange(leave);
	return NULL;
}

/* The tracepoint says why a thread went off its CPU; without it only that it did. */
static void add_reasons(struct mt_tracks *tracks)
{
	struct mt_tracepoint tracepoint;
	struct mt_event_set set = {0};
	struct mt_error *error =
	    add_tracepoint(tracks, MT_TRACK_SCHED, "sched/sched_switch", &tracepoint);

	if (!error)
		error = mt_event_set_add(&set, &tracks->specs[MT_TRACK_SCHED], 0, -1, 0,
					 MT_DATA_RING_LEAST_BYTES);
	mt_event_set_deinit(&set);
	if (!error && !mt_tracepoint_field(&tracepoint, "prev_state", &tracks->state))
		error = strange("sched/sched_switch");
	tracks->has[MT_TRACK_SCHED] = !error;
	if (error)
		mt_log(tracks->options.log, MT_LOG_INFO,
		       "the reasons why threads wait are not recorded, only when: %s",
		       mt_error_message(error));
	mt_error_destroy(error);
}

static struct mt_error *add_counters(struct mt_tracks *tracks)
{
	const char *const *name = tracks->options.counters;
	struct mt_perf_spec *leader;

	if (!name || !*name)
		return NULL;
	leader = add(tracks, MT_TRACK_COUNTERS, "the clock of counters", PERF_TYPE_SOFTWARE,
		     PERF_COUNT_SW_TASK_CLOCK);
	leader->period = COUNTER_PERIOD_NS;
	leader->sample_type |= PERF_SAMPLE_READ;
	leader->read_format = PERF_FORMAT_GROUP;
	for (; *name; name++) {
		struct mt_perf_spec spec = {.backward = true, .raw_clock = tracks->clock.raw};

		mt_try(mt_counter_find(*name, &spec));
		spec.read_format = PERF_FORMAT_GROUP;
		widen(&spec);
		if (mt_array_push(&tracks->counters, spec))
			return mt_error_no_memory();
	}
	return NULL;
}

struct mt_error *mt_tracks_choose(struct mt_tracks *tracks)
{
	mt_try(read_words(tracks->options.events, &tracks->choices));
	add(tracks, MT_TRACK_BASE, "context switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
	tracks->specs[MT_TRACK_BASE].switches = tracks->choices & MT_TRACK_CHOICE_SCHED;
	if (tracks->choices & MT_TRACK_CHOICE_SCHED)
		add_reasons(tracks);
	if (tracks->choices & MT_TRACK_CHOICE_FAULTS) {
		add_fault(tracks, MT_TRACK_MINOR_FAULT, "minor page faults",
			  PERF_COUNT_SW_PAGE_FAULTS_MIN);
		add_fault(tracks, MT_TRACK_MAJOR_FAULT, "major page faults",
			  PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	}
	if (tracks->choices & MT_TRACK_CHOICE_SYSCALLS)
		mt_try(mt_error_wrap(add_syscalls(tracks), "cannot record system calls"));
	return add_counters(tracks);
}
