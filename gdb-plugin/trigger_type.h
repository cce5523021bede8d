/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace.Trigger.  An object has only the number of its trigger, which may be deleted at any time;
 * it is kept as the trigger's `script` until then. */
#ifndef MT_GDB_PLUGIN_TRIGGER_TYPE_H
#define MT_GDB_PLUGIN_TRIGGER_TYPE_H

#include "gdb-plugin/gdb/py.h"
#include "live/live.h"

/* Puts the type into the module. */
struct mt_error *mt_trigger_type_define(PyObject *module);
/* A list of all; NULL with an exception. */
PyObject *mt_triggers_list(void);
/* The trigger's callback: see struct mt_live_debugger_ops. */
struct mt_error *mt_trigger_tell(void *context, const struct mt_live_trigger *trigger,
				 const struct mt_live_written *taken,
				 struct mt_recording *recording, bool *stops);
/* The trigger goes. */
void mt_trigger_forget_object(struct mt_live_trigger *trigger);

#endif
