/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the core's words for people go.  The core prints nothing itself: it hands lines to a sink
 * that the front end gave it (a terminal's standard error, gdb.write, a test's buffer). */
#ifndef MT_BASE_LOG_H
#define MT_BASE_LOG_H

enum mt_log_level { MT_LOG_DEBUG, MT_LOG_INFO, MT_LOG_WARNING };

/* A NULL sink, or a sink without `line`, swallows everything. */
struct mt_log {
	/* One line without its newline. */
	void (*line)(void *context, enum mt_log_level level, const char *text);
	void *context;
	enum mt_log_level least; /* lines below this level are not made */
};

void mt_log(const struct mt_log *log, enum mt_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Lines that wait, for whoever they are: a thread that is nobody's face keeps them until another
 * tells them.  Zeroed storage has none. */
struct mt_log_kept {
	struct mt_log_kept_line *first, *last;
};

/* From now on this thread's lines, of all logs, go to KEPT; NULL: none does any more.  What is to
 * be told must live until it is told; without memory lines are lost. */
void mt_log_keep(struct mt_log_kept *kept);
/* Tells them in their order, or does not; then there are none. */
void mt_log_tell(struct mt_log_kept *kept);
void mt_log_forget(struct mt_log_kept *kept);

#endif
