/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors: whatever can fail returns a `struct mt_error *`; NULL is fine.
 *
 * An error carries a code (what a caller may act on), an errno when the system gave one, where it
 * happened (path, file offset, LWP) and a message for people: what failed, on what, why, and the
 * cure.  The caller owns it: print it, wrap it, or pass it to mt_error_destroy().
 * Making an error never fails: without memory a static MT_ERROR_NO_MEMORY comes back.
 *
 * Lost data is no error: it is a gap (trace/event.h). */
#ifndef MT_BASE_ERROR_H
#define MT_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum mt_error_code {
	MT_ERROR_NO_MEMORY = 1,
	MT_ERROR_SYSTEM,      /* a system call failed: see errnum */
	MT_ERROR_USAGE,       /* the caller's words are off: an option, a location, a size */
	MT_ERROR_TRIGGER,     /* USAGE: a trigger that means nothing in the program */
	MT_ERROR_NOT_FOUND,   /* a file, process, symbol or line that is not there */
	MT_ERROR_FORMAT,      /* input that is not what it should be */
	MT_ERROR_UNSUPPORTED, /* sound, but not to be had on this machine or of this input */
	MT_ERROR_PERMISSION,  /* the system refuses; the message names the cure */
	MT_ERROR_BUSY,        /* somebody else holds it */
	MT_ERROR_GONE,        /* the process or thread ended meanwhile */
	MT_ERROR_INTERRUPTED, /* the interrupted-hook said stop */
	MT_ERROR_INTERNAL,    /* ours */
};

struct mt_error;

struct mt_error_where {
	const char *path; /* NULL: none; lives as long as the error */
	int64_t offset;   /* bytes into path; -1: none */
	pid_t lwp;        /* 0: none */
};

struct mt_error *mt_error_new(enum mt_error_code code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "MESSAGE: strerror(errnum)".  The code follows from errnum: EACCES and EPERM are PERMISSION,
 * ENOENT is NOT_FOUND, ESRCH is GONE, ENOMEM is NO_MEMORY, EBUSY is BUSY, all others SYSTEM. */
struct mt_error *mt_error_errno(int errnum, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct mt_error *mt_error_no_memory(void);

/* "CONTEXT: MESSAGE".  Takes and returns the same error; NULL stays NULL. */
struct mt_error *mt_error_wrap(struct mt_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Set where it happened; each takes and returns the same error; NULL stays NULL. */
struct mt_error *mt_error_at_path(struct mt_error *error, const char *path, int64_t offset);
struct mt_error *mt_error_at_lwp(struct mt_error *error, pid_t lwp);

enum mt_error_code mt_error_code(const struct mt_error *error);
int mt_error_errnum(const struct mt_error *error); /* 0: none */
/* Lent: lives as long as the error. */
const char *mt_error_message(const struct mt_error *error);
struct mt_error_where mt_error_where(const struct mt_error *error);

void mt_error_destroy(struct mt_error *error);

static inline void mt_error_cleanup(struct mt_error **error)
{
	mt_error_destroy(*error);
}

/* Return the error of EXPR to our own caller, if there is one. */
#define mt_try(expr)                                                                               \
	do {                                                                                       \
		struct mt_error *mt_try_error = (expr);                                            \
		if (mt_try_error)                                                                  \
			return mt_try_error;                                                       \
	} while (0)

/* A local that is let go of at the end of its scope: mt_auto(mt_error) struct mt_error *e = NULL;
 * calls mt_error_cleanup(&e). */
#define mt_auto(name) __attribute__((cleanup(name##_cleanup), unused))

#endif
