/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/go.h"

#include <string.h>

#define MOST_BYTES 1024

/* Of runtime.g its thread's runtime.m; of that the goroutine that it runs (Go's
 * runtime/runtime2.go). */
#define M_OF_G       48
#define CURRENT_OF_M 192

unsigned mt_go_goid_offset(unsigned minor)
{
	/* Go 1.23 has g.syscallbp before it, 1.25 no gobuf.ret any more. */
	return minor == 23 || minor == 24 ? 160 : minor >= 18 && minor <= 26 ? 152 : 0;
}

uint64_t mt_go_word(const struct mt_go_memory *memory, uint64_t address)
{
	uint64_t word = 0;

	return memory->read(memory->context, address, &word, sizeof(word)) == sizeof(word) ? word
											   : 0;
}

void mt_go_append_text(const struct mt_go_memory *memory, uint64_t address, uint64_t length,
		       struct mt_str *out)
{
	char text[MOST_BYTES];
	const size_t most = length < sizeof(text) ? (size_t)length : sizeof(text);
	const size_t got = memory->read(memory->context, address, text, most);

	for (size_t i = 0; i < got; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	/* A note's strings end at a NUL. */
	mt_str_append_bytes(out, text, strnlen(text, got));
	mt_str_append(out, length > got ? "..." : "");
}

uint64_t mt_go_goroutine_of(const struct mt_go_memory *memory, uint64_t g)
{
	const unsigned at = memory->goid_offset;
	const uint64_t m = mt_go_word(memory, g + M_OF_G);
	const uint64_t current = mt_go_word(memory, m + CURRENT_OF_M);

	if (!at)
		return 0;
	const uint64_t id = mt_go_word(memory, g + at);
	return !id && current && mt_go_word(memory, current + M_OF_G) == m
		   ? mt_go_word(memory, current + at)
		   : id;
}
