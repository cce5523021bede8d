/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs, as a shell finds them. */
#ifndef MT_BASE_PATH_H
#define MT_BASE_PATH_H

#include <stdbool.h>

#include "str.h"

/* A regular file that may be run. */
bool mt_path_is_runnable(const char *path);
/* The first runnable file NAME (without a slash) in the directories of PATH, an empty one being
 * the current.  FOUND is replaced; it fails without memory. */
bool mt_path_find(const char *name, struct mt_str *found);

#endif
