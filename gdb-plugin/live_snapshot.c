/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots, and their timelines: numbered throughout, whichever inferior they are of. */
#include "base/str.h"
#include "command/timeline.h"
#include "gdb.h"
#include "live.h"
#include "progress.h"
#include "refuse.h"
#include "settings.h"
#include "written.h"

#include <string.h>

static uint32_t snapshots;

uint32_t mt_live_snapshots(void)
{
	return snapshots;
}

/* GDB's standard output, which "-" is elsewhere, may be a terminal, or speak MI. */
static struct mt_error *check_name(const char *path)
{
	if (*path && strcmp(path, "-") != 0)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "what is written needs the name of a file: \"%s\"",
			    path);
}

static struct mt_error *check_recorded(const struct mt_live *live)
{
	if (live && live->session)
		return NULL;
	for (const struct mt_live *other = mt_live_next(NULL); other; other = mt_live_next(other))
		if (other->session)
			return mt_error_new(MT_ERROR_USAGE,
					    "nothing was recorded of this inferior, but of "
					    "inferior %d (\"inferior %d\" selects that)",
					    other->inferior, other->inferior);
	return mt_refuse_looking_back();
}

struct mt_error *mt_live_recording(const struct mt_live *live, const char *path,
				   struct mt_recording **out)
{
	if (path)
		mt_try(check_name(path));
	mt_try(check_recorded(live));
	return mt_session_copy(live->session, path, 0, out);
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

static struct mt_error *take(const struct mt_live *live, const char *path, uint32_t number,
			     struct mt_recording **recording)
{
	mt_try(check_recorded(live));
	if (!path)
		return mt_error_no_memory();
	mt_try(check_name(path));
	mt_try(mt_session_copy(live->session, NULL, number, recording));
	struct mt_error *error = write_timeline(*recording, path);
	if (!error)
		return NULL;
	mt_recording_close(*recording);
	*recording = NULL;
	return error;
}

struct mt_error *mt_live_snapshot(struct mt_live *live, const char *path, char **written,
				  struct mt_recording **recording)
{
	uint32_t number = snapshots + 1;
	char *name = path ? strdup(path) : output_path(number);
	struct mt_recording *made = NULL;
	struct mt_error *error = take(live, name, number, &made);

	*written = NULL;
	mt_gdb_progress_erase();
	if (error) {
		free(name);
		return error;
	}
	snapshots = number;
	mt_written_add(number, name);
	live->news = !live->hidden && mt_live_session(live); /* it runs on */
	*written = name;
	if (recording)
		*recording = made;
	else
		mt_recording_close(made);
	return NULL;
}
