/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The syntax of a watchpoint: ADDRESS or SYMBOL or SYMBOL+OFFSET, then :LENGTH (1, 2, 4, 8) and
 * :MODE (r, w, rw, or x for a breakpoint in hardware) optionally. */
#ifndef MT_SESSION_SPEC_WATCH_H
#define MT_SESSION_SPEC_WATCH_H

#include "base/error.h"
#include "elf/objfile.h"
#include "kernel/breakpoint.h"

struct mt_watch_spec {
	const char *text;  /* as it was typed; lent */
	char *symbol;      /* NULL: `offset` is the address */
	uint64_t offset;   /* from the symbol */
	uint8_t length;    /* 0: the variable's */
	uint8_t access;    /* enum mt_access */
	bool reads_wanted; /* "r": the processor reports writes, too */
	bool found;        /* somewhere, once */
};

/* Errors: USAGE. */
struct mt_error *mt_watch_spec_parse(const char *text, struct mt_watch_spec *watch);
void mt_watch_spec_deinit(struct mt_watch_spec *watch);

/* Where a watch without a symbol lies, or one whose symbol OBJFILE has, BIAS being what its
 * addresses are moved by.  *found: it does.  Errors: USAGE (its address is no multiple of its
 * length; a variable of each thread's own). */
struct mt_error *mt_watch_spec_place(const struct mt_watch_spec *watch, struct mt_objfile *objfile,
				     uint64_t bias, struct mt_breakpoint *out, bool *found);

#endif
