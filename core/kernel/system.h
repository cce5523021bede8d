/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The system calls that perf events take, all in one object file, so that a test can replace them
 * by a kernel of its own (ld's --wrap).  Each returns a negative errno when it fails.
 * Source: perf_event_open(2). */
#ifndef MT_KERNEL_SYSTEM_H
#define MT_KERNEL_SYSTEM_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The new event's descriptor, closed on exec. */
int mt_system_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
int mt_system_close(int fd);
/* ARGUMENT: a number, or a pointer's. */
int mt_system_ioctl(int fd, unsigned long request, uintptr_t argument);
/* Thread LWP gets SIGNAL, with si_code POLL_IN, at each sample. */
int mt_system_signal(int fd, pid_t lwp, int signal);
int mt_system_read(int fd, void *bytes, size_t size);
/* Shared; OFFSET is one of the two at which a perf event can be mapped. */
int mt_system_map(int fd, uint64_t offset, size_t size, int protection, void **out);
void mt_system_unmap(void *address, size_t size);
/* The contents of a file of /proc or /sys, as a string of at most SIZE - 1 bytes; the bytes read.
 */
int mt_system_read_file(const char *path, char *text, size_t size);

#endif
