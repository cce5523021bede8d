/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Progress of long work at the terminal; Ctrl-C interrupts it. */
#ifndef MT_GDB_PLUGIN_GDB_PROGRESS_H
#define MT_GDB_PLUGIN_GDB_PROGRESS_H

#include "base/progress.h"

/* For as long as the plugin is loaded. */
extern const struct mt_progress mt_gdb_progress;

/* Erases the line, before something else is shown. */
void mt_gdb_progress_erase(void);

#endif
