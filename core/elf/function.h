/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function and a place in the source, as a running process has them: addresses are the
 * process's own, after relocation.  What is here is lent by the mt_space_pool behind the space that
 * gave it (space/space.h) and lives, with its strings, until that pool is destroyed: spaces may
 * come and go while functions, inlined calls and sources are still pointed to. */
#ifndef MT_ELF_FUNCTION_H
#define MT_ELF_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

struct mt_source {
	const char *file; /* as the compiler named it, made absolute; NULL: not known */
	uint32_t line;    /* 0: not known */
	uint32_t column;  /* 0: not known */
};

enum mt_function_kind {
	MT_FUNCTION_SYMBOL,  /* from .symtab or .dynsym, or perf-PID.map */
	MT_FUNCTION_PLT,     /* "name@plt" */
	MT_FUNCTION_FDE,     /* no symbol: "func@0x1234 in libx.so", from .eh_frame */
	MT_FUNCTION_UNKNOWN, /* no FDE either: "[libx.so]", "[kernel]" or "[unknown]"; the range
			      * is what is known to hold nothing else */
	MT_FUNCTION_INLINED, /* the subject of DW_TAG_inlined_subroutine; start = end = 0 */
	MT_FUNCTION_PYTHON,  /* in Python, by its qualified name; the module is its file; start =
			      * end = 0 */
};

#define MT_FUNCTION_SIGNAL_RETURN 0x1 /* of a signal's handler: __restore_rt */
#define MT_FUNCTION_COLD          0x2 /* a part of another function: "foo.cold", "foo.__part.1" */
#define MT_FUNCTION_RESOLVER      0x4 /* _dl_runtime_…: jumps on to what it looked up */
#define MT_FUNCTION_LABEL         0x8 /* a label of assembly, which may be no function */

struct mt_function {
	uint32_t id;        /* dense, from 0, unique among all functions of one mt_space_pool */
	uint8_t kind;       /* enum mt_function_kind */
	uint8_t flags;      /* MT_FUNCTION_… */
	const char *name;   /* demangled, never NULL */
	const char *module; /* path of the object file, never NULL; "" where there is none */
	uint64_t start;     /* [start, end) */
	uint64_t end;
	struct mt_source source; /* the definition: of the first line in it */
};

/* One inlined call: compare instances by pointer. */
struct mt_inline {
	const struct mt_function *function; /* MT_FUNCTION_INLINED */
	struct mt_source call;              /* the call site */
};

/* The addresses around one at which the chain of inlined functions stays the same. */
struct mt_inline_span {
	uint64_t start; /* [start, end) */
	uint64_t end;
	size_t depth;                         /* of chain; 0: nothing is inlined here */
	const struct mt_inline *const *chain; /* outermost first */
};

#endif
