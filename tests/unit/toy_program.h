/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that is nothing but addresses, for tests that make up control flow: user functions of
 * 256 bytes side by side, PLT stubs, cold parts, a signal restorer, and in every third function an
 * inlined one ([0x40, 0x80)) with another inside it ([0x50, 0x60)). */
#ifndef MT_TESTS_TOY_PROGRAM_H
#define MT_TESTS_TOY_PROGRAM_H

#include "trace/event.h"
#include "trace/symbolizer.h"

#include <stdio.h>
#include <string.h>

enum {
	TOY_USERS = 24,
	TOY_STUBS = 4,
	TOY_COLDS = 6, /* of the first users */
	TOY_RESTORER = TOY_USERS + TOY_STUBS + TOY_COLDS,
	TOY_KERNEL, /* and one more */
	TOY_FUNCTIONS = TOY_KERNEL + 2,
	TOY_SIZE = 0x100,
};

struct toy_program {
	struct mt_function functions[TOY_FUNCTIONS];
	struct mt_function unknown;
	char names[TOY_FUNCTIONS][16];
	struct mt_function inlined[2];
	struct mt_inline sites[TOY_USERS][2];
	const struct mt_inline *chains[TOY_USERS][2];
};

static inline uint64_t toy_address(size_t function)
{
	uint64_t base = function >= TOY_KERNEL ? 0xffffffff81000000 : 0x10000;

	return base + function * TOY_SIZE;
}

static inline void toy_program_init(struct toy_program *toy)
{
	memset(toy, 0, sizeof(*toy));
	toy->unknown = (struct mt_function){
	    .kind = MT_FUNCTION_UNKNOWN, .name = "[unknown]", .module = "", .id = TOY_FUNCTIONS};
	for (uint32_t i = 0; i < TOY_FUNCTIONS; i++) {
		struct mt_function *function = &toy->functions[i];

		*function = (struct mt_function){.id = i,
						 .name = toy->names[i],
						 .module = "",
						 .start = toy_address(i),
						 .end = toy_address(i) + TOY_SIZE};
		snprintf(toy->names[i], sizeof(toy->names[i]), "f%u;", i);
		if (i >= TOY_USERS && i < TOY_USERS + TOY_STUBS)
			function->kind = MT_FUNCTION_PLT;
		if (i >= TOY_USERS + TOY_STUBS && i < TOY_RESTORER) {
			function->flags = MT_FUNCTION_COLD;
			snprintf(toy->names[i], sizeof(toy->names[i]), "f%u;.cold",
				 i - TOY_USERS - TOY_STUBS);
		}
	}
	toy->functions[TOY_RESTORER].flags = MT_FUNCTION_SIGNAL_RETURN;
	for (int k = 0; k < 2; k++)
		toy->inlined[k] = (struct mt_function){
		    .kind = MT_FUNCTION_INLINED, .name = k ? "inner" : "outer", .module = ""};
	for (int i = 0; i < TOY_USERS; i++)
		for (int k = 0; k < 2; k++) {
			toy->sites[i][k].function = &toy->inlined[k];
			toy->chains[i][k] = &toy->sites[i][k];
		}
}

static inline const struct mt_function *toy_function_at(void *context, uint64_t address)
{
	struct toy_program *toy = context;
	uint64_t base = mt_address_is_kernel(address) ? 0xffffffff81000000 : 0x10000;
	uint64_t index = (address - base) / TOY_SIZE;

	if (address < base || index >= TOY_FUNCTIONS || toy_address(index) > address ||
	    toy_address(index) + TOY_SIZE <= address)
		return &toy->unknown;
	return &toy->functions[index];
}

static inline bool toy_source_at(void *context, uint64_t address, struct mt_source *out)
{
	(void)context;
	*out = (struct mt_source){.file = "/toy.c", .line = (uint32_t)address};
	return address & 1;
}

/* How many inlined functions the code at this address is in. */
static inline size_t toy_inline_depth(uint64_t address)
{
	uint64_t index = (address - 0x10000) / TOY_SIZE, offset = address % TOY_SIZE;

	if (address < 0x10000 || index >= TOY_USERS || index % 3 != 0)
		return 0;
	return (offset >= 0x40 && offset < 0x80) + (offset >= 0x50 && offset < 0x60);
}

static inline void toy_inlines_at(void *context, uint64_t address, struct mt_inline_span *out)
{
	struct toy_program *toy = context;
	static const uint64_t edges[] = {0, 0x40, 0x50, 0x60, 0x80, TOY_SIZE};
	uint64_t start = address - address % TOY_SIZE;
	int i = 0;

	while (address % TOY_SIZE >= edges[i + 1])
		i++;
	*out = (struct mt_inline_span){.start = start + edges[i], .end = start + edges[i + 1]};
	out->depth = toy_inline_depth(address);
	if (out->depth)
		out->chain = toy->chains[(address - 0x10000) / TOY_SIZE];
}

static inline struct mt_symbolizer toy_symbolizer(struct toy_program *toy)
{
	return (struct mt_symbolizer){.function_at = toy_function_at,
				      .source_at = toy_source_at,
				      .inlines_at = toy_inlines_at,
				      .context = toy};
}

#endif
