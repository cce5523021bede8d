/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goroutines are called: "goroutine 7 (main.worker)".  `go worker(x)` begins with a function
 * of the compiler's, main.main.func1 or main.main.gowrap1, which calls what is meant. */
#include "decode/goroutines_private.h"
#include "elf/go_table.h"
#include "x86/insn.h"

#include <inttypes.h>
#include <string.h>

/* The first function of a goroutine is entered this far below at the most. */
#define FIRST_BELOW 64u
static const char *function_name(const struct mt_goroutine_run *run, uint64_t address)
{
	const struct mt_symbolizer *symbolizer = &run->epoch->symbolizer.symbolizer;
	const struct mt_function *function = symbolizer->function_at(symbolizer->context, address);

	return function->kind == MT_FUNCTION_SYMBOL ? function->name : NULL;
}

/* What wrappers call besides. */
static bool is_helper(const char *name)
{
	static const char *const helpers[] = {"runtime.morestack", "runtime.gcWriteBarrier",
					      "runtime.panic"};

	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		if (strncmp(name, helpers[i], strlen(helpers[i])) == 0)
			return true;
	return false;
}

/* What the function's code calls directly; NULL: nothing. */
static const char *callee_of(const struct mt_goroutine_run *run, const struct mt_mapping *mapping,
			     const struct mt_go_function *function)
{
	size_t size = 0;
	const uint8_t *bytes = mt_objfile_bytes(mapping->objfile, function->start, &size);
	struct mt_insn insn;

	if (!bytes)
		return NULL;
	for (uint64_t at = function->start; at < function->end; at += insn.length) {
		const size_t done = (size_t)(at - function->start);

		if (done >= size || mt_insn_decode(bytes + done, size - done, at, &insn))
			return NULL;
		if (insn.class != MT_INSN_CALL)
			continue;
		const char *name = function_name(run, insn.target + mapping->bias);
		if (name && !is_helper(name))
			return name;
	}
	return NULL;
}

/* NULL: not known. */
static const char *name_of_start(const struct mt_goroutine_run *run, uint64_t start)
{
	const struct mt_mapping *mapping = mt_space_find(run->epoch->space, start);
	const struct mt_go_table *table =
	    mapping && mapping->objfile ? mt_go_table(mapping->objfile) : NULL;
	struct mt_go_function function;
	const char *name = NULL;

	if (table) {
		const size_t index = mt_go_function_of(table, start - mapping->bias);

		if (index < mt_go_function_count(table) &&
		    mt_go_function_at(table, index, &function) && function.is_wrapper)
			name = callee_of(run, mapping, &function);
	}
	return name ? name : function_name(run, start);
}

static struct mt_error *take_first(void *event, const struct mt_event *events, size_t count)
{
	(void)count;
	*(struct mt_event *)event = events[0];
	return NULL;
}

struct mt_error *mt_goroutine_name(struct mt_goroutines *goroutines, struct mt_goroutine *one)
{
	const struct mt_goroutine_run *run = one->runs ? &goroutines->runs.items[one->first] : NULL;
	struct mt_event event = {0};
	const char *name = run && one->start ? name_of_start(run, one->start) : NULL;

	if (!name && run && run->count) {
		mt_try(mt_kept_events_give(&goroutines->events, run->first, 1, take_first, &event));
		if (event.kind == MT_EVENT_ENTRY && MT_GOROUTINE_TOP - event.from <= FIRST_BELOW)
			name = name_of_start(run, event.to);
	}
	one->name = mt_arena_format(&goroutines->run->arena,
				    name ? "goroutine %" PRIu64 " (%s)" : "goroutine %" PRIu64,
				    one->key.id, name);
	return one->name ? NULL : mt_error_no_memory();
}
