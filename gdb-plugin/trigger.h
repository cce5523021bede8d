/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers over GDB's breakpoints: the part of struct mt_live_debugger_ops that they need. */
#ifndef MT_GDB_PLUGIN_TRIGGER_H
#define MT_GDB_PLUGIN_TRIGGER_H

#include "gdb-plugin/gdb/py.h"
#include "live/live.h"

struct mt_error *mt_trigger_set(void *context, struct mt_live_trigger *trigger,
				struct mt_str *said);
void mt_trigger_delete(void *context, struct mt_live_trigger *trigger);
struct mt_error *mt_trigger_locations(void *context, const struct mt_live_trigger *trigger,
				      mt_live_location_found *found, void *found_context);
void mt_trigger_expect_gates(void *context);
void mt_trigger_set_aside(void *context, const struct mt_live_trigger *trigger, bool aside);
void mt_trigger_moved(void *context, struct mt_live *live);
bool mt_trigger_is_set(void *context, const struct mt_live_trigger *trigger);
struct mt_error *mt_trigger_evaluate(void *context, const char *expression, struct mt_str *out);
/* $_ret becomes what the selected frame's function returns; void, if that is not known. */
void mt_trigger_set_result(void *context);
struct mt_error *mt_trigger_arguments(void *context, struct mt_str *out);

/* GDB's number of the newest breakpoint, and a reference to it; 0 and NULL: there is none. */
long long mt_trigger_last_breakpoint(PyObject **out);
/* That of its breakpoint. */
void mt_trigger_append_condition(struct mt_str *out, const struct mt_live_trigger *trigger);
/* trigger_gate.c: no trigger is left that would need it. */
void mt_trigger_drop_catchpoint(void);

/* Defines the functions that their conditions call. */
struct mt_error *mt_triggers_define(void);

#endif
