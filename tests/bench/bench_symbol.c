/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_symbol [FILE…]: how long a look-up of the function at an address takes once the index is
 * there, over every function of the files, in an order that no cache likes. */
#include "base/clock.h"
#include "space/space.h"

#include <stdio.h>
#include <stdlib.h>

enum { LOOKUPS = 4 << 20 };

static struct mt_error *map(struct mt_space *space, const char *path, uint64_t base)
{
	struct mt_mapping mapping = {.start = base, .end = base + (1ULL << 30), .path = path};

	return mt_space_add(space, &mapping);
}

/* Every function's start, shuffled. */
static uint64_t *collect(const struct mt_mapping *mapping, size_t *count)
{
	const struct mt_symbol *symbols = mt_objfile_symbols(mapping->objfile, count);
	uint64_t *addresses = calloc(*count + 1, sizeof(*addresses));

	for (size_t i = 0; addresses && i < *count; i++) {
		size_t other = (size_t)random() % (i + 1);
		addresses[i] = addresses[other];
		addresses[other] = symbols[i].start + mapping->bias;
	}
	return addresses;
}

static uint64_t look_up(struct mt_space *space, const uint64_t *addresses, size_t count,
			size_t lookups)
{
	uint64_t begin = mt_clock_monotonic_ns(), ids = 0;

	for (size_t i = 0, at = 0; i < lookups; i++, at = at + 1 < count ? at + 1 : 0)
		ids += mt_space_function_at(space, addresses[at])->id;
	/* The sum keeps the compiler from leaving the look-ups out. */
	return mt_clock_monotonic_ns() - begin + (ids == 1);
}

static uint64_t look_up_source(struct mt_space *space, const uint64_t *addresses, size_t count,
			       size_t lookups)
{
	uint64_t begin = mt_clock_monotonic_ns(), lines = 0;
	struct mt_source source;
	struct mt_inline_span span;

	for (size_t i = 0, at = 0; i < lookups; i++, at = at + 1 < count ? at + 1 : 0) {
		mt_space_source_at(space, addresses[at], &source);
		mt_space_inlines_at(space, addresses[at], &span);
		lines += source.line + span.depth;
	}
	return mt_clock_monotonic_ns() - begin + (lines == 1);
}

static void measure(struct mt_space *space, const struct mt_mapping *mapping)
{
	size_t count;

	if (!mapping->objfile) {
		printf("%s: left out: %s\n", mapping->path, mapping->problem);
		return;
	}
	uint64_t begin = mt_clock_monotonic_ns();
	uint64_t *addresses = collect(mapping, &count);
	double index_ms = (double)(mt_clock_monotonic_ns() - begin) / 1e6;
	if (addresses && count) {
		double cold_ns = (double)look_up(space, addresses, count, count) / (double)count;
		double warm_ns = (double)look_up(space, addresses, count, LOOKUPS) / LOOKUPS;
		look_up_source(space, addresses, count, count);
		double source_ns =
		    (double)look_up_source(space, addresses, count, LOOKUPS / 8) / (LOOKUPS / 8);
		printf("%s: %zu functions, index %.1f ms, first look-up %.0f ns, warm %.0f ns; "
		       "line and inlined functions, warm %.0f ns\n",
		       mapping->path, count, index_ms, cold_ns, warm_ns, source_ns);
	}
	free(addresses);
}

static int fail(struct mt_error *error)
{
	fprintf(stderr, "bench_symbol: %s\n", mt_error_message(error));
	mt_error_destroy(error);
	return 1;
}

int main(int argc, char **argv)
{
	const char *usual[] = {"/usr/bin/gdb", "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
			       "/lib/x86_64-linux-gnu/libc.so.6"};
	const char **paths = argc > 1 ? (const char **)argv + 1 : usual;
	size_t count = argc > 1 ? (size_t)argc - 1 : sizeof(usual) / sizeof(*usual);
	struct mt_space_pool *pool = NULL;
	struct mt_space *space = NULL;
	struct mt_error *error = mt_space_pool_create(NULL, &pool);

	if (!error)
		error = mt_space_create(pool, 0, &space);
	for (size_t i = 0; !error && i < count; i++)
		error = map(space, paths[i], 0x100000000ULL * (i + 1));
	if (error)
		return fail(error);
	for (size_t i = 0; i < mt_space_mapping_count(space); i++)
		measure(space, mt_space_mapping(space, i));
	mt_space_destroy(space);
	mt_space_pool_destroy(pool);
	return 0;
}
