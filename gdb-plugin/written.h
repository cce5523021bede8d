/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timelines that were written, in this session of GDB's. */
#ifndef MT_GDB_PLUGIN_WRITTEN_H
#define MT_GDB_PLUGIN_WRITTEN_H

#include <stdint.h>

/* Without memory, or a current directory, its path is not known later. */
void mt_written_add(uint32_t number, const char *path);
/* As a whole path, lent; NULL: none was. */
const char *mt_written_last(void);
/* A line each, for `mtrace info`. */
void mt_written_print(void);

#endif
