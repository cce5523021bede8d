/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of `mtrace …` share: record.c and trigger.c. */
#ifndef MT_PROMPT_RECORD_H
#define MT_PROMPT_RECORD_H

#include "command/command.h"
#include "prompt/prompt.h"
#include "trace/slice.h"

struct prompt_trigger {
	uint32_t number;
	unsigned breakpoint; /* the silent one behind it */
	char *location;
	char *condition; /* NULL: none */
	uint32_t hits;
	uint64_t most; /* snapshots; 0: no limit */
	bool stops;
	MT_ARRAY(char *) expressions; /* that are printed */
};

struct prompt_record {
	struct mt_debugger *debugger;
	const struct mt_log *log;
	struct mt_session_options options;
	uint32_t snapshots;
	bool has_news; /* the program ran since the last one */
	char *last;    /* file that was written; NULL: none */
	MT_ARRAY(struct prompt_trigger *) triggers;
	uint32_t last_trigger;
};

/* PATH NULL: "trace-NUMBER.fxt". */
struct mt_error *prompt_snapshot(struct prompt *prompt, const char *path);

/* trigger.c */
struct mt_error *prompt_run_trigger(struct prompt *prompt, const char *rest);
struct mt_error *prompt_run_delete_trigger(struct prompt *prompt, const char *rest);
void prompt_print_triggers(struct prompt *prompt);
void prompt_triggers_deinit(struct prompt *prompt);

#endif
