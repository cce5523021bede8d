/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Long work tells at the terminal how far it is, and ends when its user types Ctrl-C. */
#ifndef MT_GDB_PLUGIN_PROGRESS_H
#define MT_GDB_PLUGIN_PROGRESS_H

#include "base/progress.h"

/* For as long as the plugin is loaded. */
extern const struct mt_progress mt_gdb_progress;

/* Take the line away, before something else is shown. */
void mt_gdb_progress_erase(void);

#endif
