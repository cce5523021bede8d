/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jitdump files, in which a JIT compiler tells perf of the code that it makes
 * (linux/tools/perf/Documentation/jitdump-specification.txt): names, and lines where it has told
 * them.  Node.js writes one with --perf-prof, Java with perf's agent libperf-jvmti.so, .NET with
 * DOTNET_PerfMapEnabled. */
#ifndef MT_ELF_JITDUMP_H
#define MT_ELF_JITDUMP_H

#include "elf/text_symbols.h"

/* What is garbled ends the reading, as does a record that is still being written; what came before
 * counts.  Where ranges overlap the later record wins.  Of other machines' code: nothing.
 * Errors: NO_MEMORY. */
struct mt_error *mt_jitdump_read(FILE *file, const struct mt_text_store *store,
				 struct mt_text_symbols *out);

#endif
