/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places in a program as people type them, for breakpoints, triggers, `list` and `info line` alike:
 * FUNCTION, FILE:LINE, FILE:FUNCTION, LINE, *ADDRESS, *FUNCTION+OFFSET.  A FUNCTION of which the
 * dynamic loader chooses an implementation, like memcpy, means each that may be chosen. */
#ifndef MT_SPACE_LOCATION_H
#define MT_SPACE_LOCATION_H

#include "space/space.h"

enum mt_location_kind {
	MT_LOCATION_FUNCTION,
	MT_LOCATION_LINE,
	MT_LOCATION_ADDRESS,
};

/* One address that a text means: a line may stand for several. */
struct mt_location {
	uint64_t
	    address;    /* of the process: where a breakpoint goes, behind the prologue if asked */
	uint64_t entry; /* of the function; 0: not known */
	/* As it is shown: of a LINE that one, of an inlined call its line.  file NULL: not
	 * known. */
	struct mt_source source;
	const char *function; /* its name, as people write it; NULL: none.  Lives as long as the
			       * space's pool */
	const struct mt_inline *instance; /* of that function, if it is inlined; NULL: it is not */
	const struct mt_mapping *mapping; /* until the space changes */
	/* FUNCTION is chosen when the program begins, nobody knows among which: the place is where
	 * that is done (space/implementations.h). */
	bool is_resolver;
};

struct mt_locations {
	struct mt_location *items;
	size_t count;
	size_t capacity;
	uint8_t kind;  /* enum mt_location_kind */
	uint32_t line; /* LINE: the one that was asked for, which may have no code */
	bool no_file;  /* the reason for an error: no such file */
};

struct mt_str;

struct mt_location_options {
	const char *file;   /* of a LINE alone; NULL: none is current */
	uint32_t line;      /* "+N" and "-N" count from it */
	bool skip_prologue; /* functions: the address behind the prologue */
	bool no_inlined; /* functions: not where they were inlined, which takes all DWARF to know */
	bool no_stubs;   /* functions: not the program's stubs for those of libraries */
	/* `info line`: how addresses are shown; NULL: with the function's name. */
	void (*append_address)(void *context, uint64_t address, struct mt_str *out);
	void *append_context;
	bool quiet_missing; /* a place that is not there is no error: the count is 0 then */
};

/* Errors: USAGE (no location); NOT_FOUND ("Function \"foo\" not defined.", "No source file named
 * foo.c.", "No line 99 in file \"foo.c\".", "No line 99 in the current file.",
 * "No symbol \"foo\" in current context."): GDB's words; NO_MEMORY. */
struct mt_error *mt_location_resolve(struct mt_space *space, const char *text,
				     const struct mt_location_options *options,
				     struct mt_locations *out);
void mt_locations_deinit(struct mt_locations *locations);

/* `info line`: appends what GDB says of each place.  Takes what mt_location_resolve() takes. */
struct mt_error *mt_location_info_line(struct mt_space *space, const char *text,
				       const struct mt_location_options *options,
				       struct mt_str *out);

#endif
