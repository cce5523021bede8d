/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process's list of mappings, read once for several questions: reading it takes longer than most
 * of them.
 *
 *	struct mt_held_maps maps;
 *	mt_target_hold_maps(target, pid, &maps);
 *	…
 *	mt_target_let_maps_go(target, &maps);
 *
 * When a thread may have changed them, as it goes on or makes a system call for us, they are read
 * again.  Whoever else shares the memory may do so unseen: keep it short. */
#ifndef MT_PROCESS_MAPS_H
#define MT_PROCESS_MAPS_H

#include "base/array.h"
#include "process/target.h"

struct mt_held_maps {
	pid_t pid;
	bool is_read;                  /* and good */
	unsigned walks;                /* through the items */
	MT_ARRAY(struct mt_map) items; /* paths are their own */
	struct mt_held_maps *outer;    /* of another process; NULL: none */
};

/* Where those of the process are held already, nothing changes. */
void mt_target_hold_maps(struct mt_target *target, pid_t pid, struct mt_held_maps *held);
void mt_target_let_maps_go(struct mt_target *target, struct mt_held_maps *held);
/* As the op each_map: of what is held, or read anew. */
struct mt_error *mt_target_each_map(struct mt_target *target, pid_t pid,
				    struct mt_error *(*found)(void *context,
							      const struct mt_map *map),
				    void *context);

#endif
