/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls by which GDB's main thread reaches the programs that it debugs: pread64(2),
 * pwrite64(2) and close(2) on /proc/PID/mem, ptrace(2) and waitpid(2).  It makes them by its table
 * of imported functions, in which ours take their place.  A GDB that reaches programs in another
 * way is not heard.
 *
 * What it asks of threads that stand is kept, and not asked again. */
#ifndef MT_GDB_PLUGIN_GDB_INTERPOSE_H
#define MT_GDB_PLUGIN_GDB_INTERPOSE_H

#include "gdb-plugin/gdb/py.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

/* Who hears of them; all of it is filled in.  errno is theirs to leave as the system call has it.
 */
struct mt_interpose_ops {
	/* In the place of pread64() and pwrite64(): DESCRIPTOR is the memory of PID. */
	ssize_t (*read)(pid_t pid, int descriptor, void *bytes, size_t size, off64_t at);
	ssize_t (*write)(pid_t pid, int descriptor, const void *bytes, size_t size, off64_t at);
	/* GDB closes that: the process has another memory, or has ended. */
	void (*closes)(pid_t pid);
	/* It is about to let a thread that stands go on, or step. */
	void (*resumes)(pid_t lwp, bool steps);
	/* Whether it is not to know that LWP stopped, by what waitpid() gives as STATUS: at a
	 * system call, with which LWP goes on. */
	bool (*conceals)(pid_t lwp, int status);
	/* It is about to learn that. */
	void (*stopped)(pid_t lwp, int status);
};

/* From now on, for ever; once it is done, does nothing.  False: this GDB does not call waitpid(2)
 * by its table of functions. */
bool mt_interpose(const struct mt_interpose_ops *ops);

/* What is there, but for GDB's breakpoints; as mt_gdb_read_memory(), and the reads of that are not
 * heard. */
PyObject *mt_interpose_read_beneath(uint64_t address, size_t size);
/* GDB's own of the process's memory, where it was heard to use one that is open yet; else -1. */
int mt_interpose_descriptor(pid_t pid);
/* Of a thread that stands still: as GDB or we got them last, if nothing has changed them since.
 * False: it does not. */
bool mt_interpose_get_registers(pid_t lwp, struct user_regs_struct *registers);
bool mt_interpose_get_signal(pid_t lwp, siginfo_t *info);
/* Those that are kept, of whichever thread; NULL: none are. */
const struct user_regs_struct *mt_interpose_kept_registers(void);
/* Something of a thread was changed, or will be, by us. */
void mt_interpose_forget_thread(void);

#endif
