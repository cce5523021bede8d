/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where Go's runtime switches to a goroutine, and the names by which what is recorded there is
 * known: whoever decodes it needs neither symbols nor types. */
#ifndef MT_TRACE_GOROUTINES_H
#define MT_TRACE_GOROUTINES_H

/* All switches to a goroutine go through it; also those to the same one, whose stack was moved. */
#define MT_GOROUTINE_SWITCH "runtime.gogo"
/* The way from a goroutine to the thread's own stack; it returns when the goroutine goes on. */
#define MT_GOROUTINE_LEAVE "runtime.mcall"

/* Whose stack is too small comes here, on the thread's own, and goes on from there. */
#define MT_GOROUTINE_NEW_STACK "runtime.newstack"

/* Who waits may go on from here. */
#define MT_GOROUTINE_READY "runtime.ready"

/* A go statement calls the one, with what it starts, and that the other, which returns a new one.
 */
#define MT_GOROUTINE_MAKE "runtime.newproc"
#define MT_GOROUTINE_MADE "runtime.newproc1"

#define MT_GOROUTINE_ID_NAME    "goroutine"
#define MT_GOROUTINE_WOKEN_NAME "wakes" /* the number of who may go on */
/* Not shown, as no value is whose name begins so. */
#define MT_VALUE_HIDDEN              '.'
#define MT_GOROUTINE_HIGH_NAME       ".high"       /* the upper end of its stack */
#define MT_GOROUTINE_LOW_NAME        ".low"        /* the lower one */
#define MT_GOROUTINE_START_NAME      ".start"      /* its function */
#define MT_GOROUTINE_MADE_START_NAME ".made.start" /* the same of a new one; at the call */
#define MT_GOROUTINE_MADE_AT_NAME    ".made.at"    /* behind the go statement's call */
#define MT_GOROUTINE_MADE_NAME       ".made"       /* its number; at the return */

#endif
