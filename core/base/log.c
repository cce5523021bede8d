/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

struct mt_log_kept_line {
	struct mt_log_kept_line *next;
	struct mt_log log;
	enum mt_log_level level;
	char text[];
};

static _Thread_local struct mt_log_kept *keeper;

static void keep(struct mt_log_kept *kept, const struct mt_log *log, enum mt_log_level level,
		 const char *text)
{
	const size_t size = strlen(text) + 1;
	struct mt_log_kept_line *line = malloc(sizeof(*line) + size);

	if (!line)
		return;
	line->next = NULL;
	line->log = *log;
	line->level = level;
	memcpy(line->text, text, size);
	*(kept->last ? &kept->last->next : &kept->first) = line;
	kept->last = line;
}

void mt_log_keep(struct mt_log_kept *kept)
{
	keeper = kept;
}

static void let_go(struct mt_log_kept *kept, bool is_told)
{
	struct mt_log_kept_line *line = kept->first, *next;

	*kept = (struct mt_log_kept){0};
	for (; line; line = next) {
		next = line->next;
		if (is_told)
			line->log.line(line->log.context, line->level, line->text);
		free(line);
	}
}

void mt_log_tell(struct mt_log_kept *kept)
{
	let_go(kept, true);
}

void mt_log_forget(struct mt_log_kept *kept)
{
	let_go(kept, false);
}

void mt_log(const struct mt_log *log, enum mt_log_level level, const char *format, ...)
{
	if (!log || !log->line || level < log->least)
		return;

	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	const char *line = text.failed ? "out of memory" : text.text;
	if (keeper)
		keep(keeper, log, level, line);
	else
		log->line(log->context, level, line);
}
