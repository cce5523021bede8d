/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mtrace info functions`: which functions are recorded, and why the others are not. */
#include "elf/objfile.h"
#include "live/live.h"

#include <fnmatch.h>
#include <string.h>

struct reason {
	const char *why; /* lent for ever */
	size_t count;
};

struct listing {
	const struct mt_live_debugger *debugger;
	const char *pattern; /* NULL: functions are only counted */
	size_t all, recorded;
	MT_ARRAY(struct reason) reasons;
};

static bool is_wanted(const struct listing *listing, const char *name)
{
	return !listing->pattern || mt_name_matches(name, listing->pattern) ||
	       fnmatch(listing->pattern, name, 0) == 0;
}

static struct mt_error *count(struct listing *listing, const char *why)
{
	listing->all++;
	listing->recorded += !why;
	if (!why)
		return NULL;
	mt_array_each (reason, &listing->reasons)
		if (strcmp(reason->why, why) == 0) {
			reason->count++;
			return NULL;
		}
	return mt_array_push(&listing->reasons, ((struct reason){why, 1})) ? mt_error_no_memory()
									   : NULL;
}

static struct mt_error *take(void *context, const struct mt_engine_function *function)
{
	struct listing *listing = context;

	if (!is_wanted(listing, function->name))
		return NULL;
	if (listing->pattern)
		mt_live_printf(listing->debugger, "%s in %s: %s%s\n", function->name,
			       function->module, function->why ? "not recorded: " : "recorded",
			       function->why ? function->why : "");
	return count(listing, function->why);
}

static int by_count(const void *one, const void *other)
{
	const struct reason *a = one, *b = other;

	return (a->count < b->count) - (a->count > b->count);
}

static void print_summary(struct listing *listing, pid_t pid)
{
	mt_live_printf(listing->debugger, "%zu of the %zu functions of process %d are recorded.\n",
		       listing->recorded, listing->all, pid);
	if (!listing->reasons.count)
		return;
	mt_live_printf(listing->debugger, "Not recorded:\n");
	qsort(listing->reasons.items, listing->reasons.count, sizeof(struct reason), by_count);
	mt_array_each (reason, &listing->reasons)
		mt_live_printf(listing->debugger, "  %6zu  %s\n", reason->count, reason->why);
}

struct mt_error *mt_live_functions(const struct mt_live_debugger *debugger, const char *pattern)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct listing listing = {.debugger = debugger, .pattern = pattern};

	if (!mt_live_is_recording(live))
		return mt_error_new(MT_ERROR_USAGE,
				    "no process is being recorded (\"mtrace start\", then run the "
				    "program and stop it; or \"mtrace plan FILE\")");
	struct mt_error *error = mt_session_each_function(live->session, live->pid, take, &listing);
	if (!error && !listing.all)
		error = pattern
			    ? mt_error_new(MT_ERROR_NOT_FOUND,
					   "no function \"%s\" in what process %d has mapped",
					   pattern, live->pid)
			    : mt_error_new(MT_ERROR_NOT_FOUND,
					   "no functions of process %d are known yet: its loader "
					   "has not mapped its libraries (let it come to main)",
					   live->pid);
	if (!error && !pattern)
		print_summary(&listing, live->pid);
	mt_array_deinit(&listing.reasons);
	return error;
}
