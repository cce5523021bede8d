/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a session is asked to do. */
#ifndef MT_SESSION_SPEC_OPTIONS_H
#define MT_SESSION_SPEC_OPTIONS_H

#include "engine/engine.h"

struct mt_session_options {
	const char *engine_name; /* NULL: "auto" */
	struct mt_engine_options engine;
	const char *recording_path; /* NULL: one that goes away with the session */
	const char *output_path;    /* beside which that lies; NULL: it has no name */
	/* Behind so much of the recording, the last snapshots alone are taken: of a crash, and of
	 * the end.  0: half of what the file system has left. */
	uint64_t most_bytes;
	const char *const *triggers;  /* session/spec/trigger.h; NULL at the end; or NULL */
	const char *const *arguments; /* "FUNCTION" or "FUNCTION(NAME, …)": the same */
	const char *const *results;   /* "FUNCTION": the same */
	bool no_open_args;            /* those of the calls that a crash leaves open are not read */
	/* Functions in Python that Python calls are recorded, too. */
	bool python_calls;
	bool pending; /* triggers may be in libraries that come later, and in later programs */
	uint64_t duration_ns; /* of an attached process: let it go after so long; 0: when asked */
	uint32_t most_snapshots; /* of an attached process: let it go after so many; 0: no limit */
	/* Recorded in side tracks: see tracks/tracks.h. */
	const char *const *events, *const *counters;
	const char *const *watches; /* session/spec/watch.h; NULL at the end; or NULL */
};

#endif
