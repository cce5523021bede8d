/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names behind addresses, as the rebuild of call stacks and the outputs need them.  decode/
 * implements it over an mt_space; tests over a table. */
#ifndef MT_TRACE_SYMBOLIZER_H
#define MT_TRACE_SYMBOLIZER_H

#include "elf/function.h"

#include <stdbool.h>

/* A call instruction. */
struct mt_call_before {
	/* Where its code is not known, of a byte within it; 0: there is no call. */
	uint64_t address;
	const struct mt_function *target; /* of a direct call; NULL: it is none, or not known */
};

struct mt_symbolizer {
	/* Never NULL; the same pointer for the same function.  Lent for the run. */
	const struct mt_function *(*function_at)(void *context, uint64_t address);
	bool (*source_at)(void *context, uint64_t address, struct mt_source *out);
	/* May be NULL: inlined functions are not shown. */
	void (*inlines_at)(void *context, uint64_t address, struct mt_inline_span *out);
	/* Where CALLER calls CALLEE, or jumps to it, as far as the code alone shows it; where
	 * IS_JUMP, jumps alone count.  0: it does not show it.  May be NULL. */
	uint64_t (*call_site)(void *context, const struct mt_function *caller,
			      const struct mt_function *callee, bool is_jump);
	/* The call that returns to an address.  May be NULL. */
	struct mt_call_before (*call_before)(void *context, uint64_t return_address);
	/* What stands for all code that was made at run time, where the address is in such code;
	 * else NULL.  May be NULL: none is. */
	const struct mt_function *(*made_at)(void *context, uint64_t address);
	void *context;
};

/* Of a symbolizer that shows inlined functions; where it knows of nothing, ADDRESS alone. */
static inline struct mt_inline_span mt_symbolizer_span_at(const struct mt_symbolizer *symbolizer,
							  uint64_t address)
{
	struct mt_inline_span span = {0};

	symbolizer->inlines_at(symbolizer->context, address, &span);
	if (span.start > address || address >= span.end || span.depth > UINT16_MAX)
		span = (struct mt_inline_span){.start = address, .end = address + 1};
	return span;
}

/* Everything is "[unknown]": until a rebuild is given another. */
extern const struct mt_symbolizer mt_symbolizer_without_names;

#endif
