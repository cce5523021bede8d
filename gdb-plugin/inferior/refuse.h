/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a program cannot be recorded. */
#ifndef MT_GDB_PLUGIN_INFERIOR_REFUSE_H
#define MT_GDB_PLUGIN_INFERIOR_REFUSE_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* pid 0: none yet.  Errors: UNSUPPORTED, with what would work instead. */
struct mt_error *mt_refuse(pid_t pid);
/* Errors: UNSUPPORTED (a core file has no history). */
struct mt_error *mt_refuse_looking_back(void);
/* It stands before the first instruction of its dynamic loader, as a new process does. */
bool mt_is_fresh(pid_t pid);

#endif
