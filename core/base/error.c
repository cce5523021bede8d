/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mt_error {
	enum mt_error_code code;
	int errnum;
	struct mt_error_where where;
	char *path;
	char *message;
};

static struct mt_error no_memory = {
    .code = MT_ERROR_NO_MEMORY,
    .errnum = ENOMEM,
    .where = {.offset = -1},
    .message = (char *)"out of memory",
};

struct mt_error *mt_error_no_memory(void)
{
	return &no_memory;
}

/* For people, whatever names are in it.  Takes MESSAGE. */
static char *clean(char *message)
{
	struct mt_str text = {0};

	if (!message)
		return NULL;
	mt_utf8_append_lines(&text, message);
	free(message);
	if (!text.failed)
		return text.text;
	mt_str_deinit(&text);
	return NULL;
}

static struct mt_error *create(enum mt_error_code code, int errnum, char *message)
{
	message = clean(message);

	struct mt_error *error = message ? calloc(1, sizeof(*error)) : NULL;

	if (!error) {
		free(message);
		return &no_memory;
	}
	error->code = code;
	error->errnum = errnum;
	error->where.offset = -1;
	error->message = message;
	return error;
}

static char *vformat(const char *format, va_list args)
{
	char *text = NULL;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

struct mt_error *mt_error_new(enum mt_error_code code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *message = vformat(format, args);
	va_end(args);
	return create(code, 0, message);
}

static enum mt_error_code code_of_errnum(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return MT_ERROR_PERMISSION;
	case ENOENT:
		return MT_ERROR_NOT_FOUND;
	case ESRCH:
		return MT_ERROR_GONE;
	case ENOMEM:
		return MT_ERROR_NO_MEMORY;
	case EBUSY:
		return MT_ERROR_BUSY;
	default:
		return MT_ERROR_SYSTEM;
	}
}

struct mt_error *mt_error_errno(int errnum, const char *format, ...)
{
	va_list args;
	char *message = NULL;

	va_start(args, format);
	char *what = vformat(format, args);
	va_end(args);
	if (what && asprintf(&message, "%s: %s", what, strerrordesc_np(errnum)) < 0)
		message = NULL;
	free(what);
	return create(code_of_errnum(errnum), errnum, message);
}

struct mt_error *mt_error_wrap(struct mt_error *error, const char *format, ...)
{
	va_list args;
	char *message = NULL;

	if (!error || error == &no_memory)
		return error;
	va_start(args, format);
	char *context = vformat(format, args);
	va_end(args);
	if (context && asprintf(&message, "%s: %s", context, error->message) >= 0) {
		free(error->message);
		error->message = clean(message);
	}
	free(context);
	return error;
}

struct mt_error *mt_error_at_path(struct mt_error *error, const char *path, int64_t offset)
{
	if (!error || error == &no_memory)
		return error;
	free(error->path);
	error->path = path ? strdup(path) : NULL;
	error->where.path = error->path;
	error->where.offset = offset;
	return error;
}

struct mt_error *mt_error_at_lwp(struct mt_error *error, pid_t lwp)
{
	if (error && error != &no_memory)
		error->where.lwp = lwp;
	return error;
}

enum mt_error_code mt_error_code(const struct mt_error *error)
{
	return error->code;
}

int mt_error_errnum(const struct mt_error *error)
{
	return error->errnum;
}

const char *mt_error_message(const struct mt_error *error)
{
	return error->message;
}

struct mt_error_where mt_error_where(const struct mt_error *error)
{
	return error->where;
}

void mt_error_destroy(struct mt_error *error)
{
	if (!error || error == &no_memory)
		return;
	free(error->path);
	free(error->message);
	free(error);
}
