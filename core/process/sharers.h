/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that have the same memory: clone(2) with CLONE_VM, and without CLONE_THREAD. */
#ifndef MT_PROCESS_SHARERS_H
#define MT_PROCESS_SHARERS_H

#include <sys/types.h>

/* Its parent, or a child of its, with which a process shares its memory.  A child by vfork() counts
 * for itself alone: its parent waits until it has left that memory.  0: there is none, or it is not
 * known. */
pid_t mt_proc_sharer(pid_t pid);

#endif
