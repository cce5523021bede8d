/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How perf's core behaves towards a PMU with an AUX area, tried out on a real kernel, call by call:
 * what the engine builds on, and what its stand-in in the unit tests has to imitate.  Each check
 * prints a line of TAP. */
#ifndef MTRACE_TEST_EVENT_H
#define MTRACE_TEST_EVENT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE       4096u
#define DATA_PAGES 8u

/* An AUX event with its mappings. */
struct event {
	int fd;
	struct perf_event_mmap_page *page;
	uint8_t *aux;
	size_t aux_bytes;
};

struct record {
	uint32_t type;
	const uint64_t *body; /* behind the header; in static storage until the next record */
};

extern int device; /* /dev/mtrace_test_pt */

/* "ok N - TEXT", or "not ok" with what errno says when it is not 0. */
void check(bool fine, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The call is to fail so. */
void check_errno(long result, int expected, const char *what);
/* Prints the plan. True: all was fine. */
bool checks_end(void);

uint32_t pmu_type(void);
struct perf_event_attr pt_attr(void); /* user space, disabled, all that identifies a record */
int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu);
/* errno tells why it failed.  WRITABLE: full mode. */
bool map_event(struct event *event, size_t aux_bytes, bool writable);
/* Opened and mapped, or the program ends. */
struct event trace(pid_t pid, int cpu, size_t aux_bytes, bool writable);
void close_event(struct event *event);
void enable(const struct event *event);
void disable(const struct event *event);
uint64_t aux_head(const struct event *event);

/* The "hardware" puts out SIZE bytes; byte N since the first call is pattern(N). */
void play(size_t size);
uint8_t pattern(uint64_t number);
/* The number of the next byte. */
uint64_t played(void);

/* The oldest record that was not read.  False: there is none. */
bool next_record(struct event *event, struct record *record);
/* The next of this TYPE; others are thrown away. */
bool next_of(struct event *event, uint32_t type, struct record *record);

void test_overwrite(void);
void test_full(void);
void test_pause(void);
void test_threads(void);
void test_times(void);
void test_refusals(void);
void test_privileges(void);
void test_filters(void);

#endif
