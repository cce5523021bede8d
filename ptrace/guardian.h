/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that does nothing until we are gone, be it by SIGKILL, and then takes out of another
 * process's text the breakpoint instructions that we had put in.  It is out of reach of what ends
 * us: in a session of its own, by another name, and ignoring all signals but SIGKILL. */
#ifndef MT_PTRACE_GUARDIAN_H
#define MT_PTRACE_GUARDIAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_guardian;

#define MT_GUARDIAN_SITES 8000

/* A place with an int3: its address, and in the highest byte what was there before. */
typedef uint64_t mt_guardian_site;

static inline mt_guardian_site mt_guardian_site_make(uint64_t address, uint8_t original)
{
	return address | (uint64_t)original << 56;
}

static inline uint64_t mt_guardian_address(mt_guardian_site site)
{
	return site & ~(0xffull << 56);
}

static inline uint8_t mt_guardian_original(mt_guardian_site site)
{
	return (uint8_t)(site >> 56);
}

/* Watches over the memory that process PID has now.  Errors: SYSTEM; PERMISSION; NO_MEMORY. */
struct mt_error *mt_guardian_create(pid_t pid, struct mt_guardian **out);
/* NULL is fine.  What is noted still, is taken out. */
void mt_guardian_destroy(struct mt_guardian *guardian);

/* Before an int3 is written there, or when something else comes to lie beneath one.  Returns its
 * place among the sites; -1: there are too many. */
ssize_t mt_guardian_note(struct mt_guardian *guardian, uint64_t address, uint8_t original);
bool mt_guardian_knows(const struct mt_guardian *guardian, uint64_t address);
/* The recorded sites, in order. */
size_t mt_guardian_sites(const struct mt_guardian *guardian, const mt_guardian_site **out);
/* The sites behind the first COUNT of them are not in the text any more. */
void mt_guardian_keep(struct mt_guardian *guardian, size_t count);

#endif
