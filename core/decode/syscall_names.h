/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of system calls of x86-64 by their numbers: made at build (scripts/syscall-table). */
#ifndef MT_DECODE_SYSCALL_NAMES_H
#define MT_DECODE_SYSCALL_NAMES_H

extern const char *const mt_syscall_table[]; /* NULL: no such system call */
extern const unsigned mt_syscall_count;

#endif
