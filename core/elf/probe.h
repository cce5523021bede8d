/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes that a program was compiled with (<sys/sdt.h>): places that do nothing, with a name and
 * with where their arguments are.
 * Source: the "User Space Probe Implementation" notes of SystemTap, version 3. */
#ifndef MT_ELF_PROBE_H
#define MT_ELF_PROBE_H

#include "elf/objfile.h"

/* Its strings are the object file's. */
struct mt_probe {
	const char *provider, *name;
	const char *arguments; /* "-4@%edi 8@-16(%rbp) 1@$7": as the assembler has them */
	uint64_t address;
	bool guarded; /* passed by unless somebody raises its semaphore */
};

/* An error from FOUND ends the walk. */
struct mt_error *mt_objfile_each_probe(const struct mt_objfile *objfile,
				       struct mt_error *(*found)(void *context,
								 const struct mt_probe *probe),
				       void *context);

#endif
