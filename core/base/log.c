/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log.h"

#include "base/utf8.h"

void mt_log(const struct mt_log *log, enum mt_log_level level, const char *format, ...)
{
	if (!log || !log->line || level < log->least)
		return;

	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	log->line(log->context, level, text.failed ? "out of memory" : text.text);
}
