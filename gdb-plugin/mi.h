/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB's machine interface: commands -mtrace-…, which are those of core/command with an answer in
 * place of text, and =mtrace-snapshot records.  What the commands print beside is MI's console
 * stream. */
#ifndef MT_GDB_PLUGIN_MI_H
#define MT_GDB_PLUGIN_MI_H

#include "gdb-plugin/gdb/py.h"
#include "live/live.h"

/* A GDB without gdb.MICommand has none of them. */
struct mt_error *mt_mi_define(void);
/* Tells those who speak MI of a snapshot, where GDB lets Python write records (GDB 14). */
void mt_mi_notify(const struct mt_live_written *snapshot);

/* ---- Answers (mi_answers.c): new dictionaries.  NULL with an exception. ---- */

/* Of -mtrace-start: what is recorded. */
PyObject *mt_mi_started(void);
/* Of -mtrace-trigger: the trigger that was made last. */
PyObject *mt_mi_trigger(void);
/* Of -mtrace-snapshot: the snapshot that was taken last. */
PyObject *mt_mi_taken(void);
PyObject *mt_mi_snapshot(const struct mt_live_written *snapshot);
/* Of -mtrace-info: all of it. */
PyObject *mt_mi_info(int argc, char **argv);
/* Of -mtrace-history (mi_history.c): the lines of each thread. */
PyObject *mt_mi_history(int argc, char **argv);

/* Stores what is new, an item's reference too.  False with an exception: ITEM is NULL, or could not
 * be stored. */
bool mt_mi_put(PyObject *dictionary, const char *name, PyObject *item);
bool mt_mi_add(PyObject *list, PyObject *item);
/* The same of texts, of which NULL and "" are left out, and of numbers. */
bool mt_mi_put_text(PyObject *dictionary, const char *name, const char *text);
bool mt_mi_put_number(PyObject *dictionary, const char *name, uint64_t number);

#endif
