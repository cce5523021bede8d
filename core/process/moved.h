/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs move their text into memory of no file, as for huge pages (node's --use-largepages, and
 * whatever else calls mremap(2) or copies it over itself): the list of mappings has no name for it
 * then, and it is the file's code all the same. */
#ifndef MT_PROCESS_MOVED_H
#define MT_PROCESS_MOVED_H

#include "elf/objfile.h"
#include "process/target.h"

/* Whether MAP could be that. */
bool mt_map_is_nameless_code(const struct mt_map *map);
/* Whether it is, of OBJFILE, with the bytes that the file has from OFFSET on: told by its contents,
 * of which more than half are the file's (of the others some may be ours). */
bool mt_map_holds_text(struct mt_target *target, pid_t pid, const struct mt_map *map,
		       const struct mt_objfile *objfile, uint64_t offset);

#endif
