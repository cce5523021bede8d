/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as what a JIT compiler tells perf: after the first one, a jitdump file behind a sound
 * header, or a perf map. */
#include "elf/jitdump.h"

#include "base/arena.h"

#include <elf.h>
#include <string.h>

enum { HEADER_BYTES = 40, MOST_BYTES = 65536 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static const char *keep(void *context, const char *text)
{
	return mt_arena_text(context, text, strlen(text));
}

static void check_symbols(const struct mt_text_symbols *symbols)
{
	uint64_t end = 0;
	struct mt_source source;

	for (size_t i = 0; i < symbols->count; i++) {
		const struct mt_text_symbol *symbol = &symbols->items[i];

		check(symbol->start >= end && symbol->start < symbol->end && *symbol->name);
		check((size_t)symbol->first_line + symbol->line_count <= symbols->lines.count);
		check(mt_text_symbols_search(symbols, symbol->start) == i + 1);
		for (uint64_t at = symbol->start, n = 0; at < symbol->end && n < 64; at += 3, n++)
			if (mt_text_symbols_source_at(symbols, at, &source))
				check(*source.file);
		end = symbol->end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint32_t header[HEADER_BYTES / 4] = {0x4a695444, 1, HEADER_BYTES, EM_X86_64};
	static uint8_t input[HEADER_BYTES + MOST_BYTES];
	struct mt_text_symbols symbols = {0};
	struct mt_arena arena = {0};
	const struct mt_text_store store = {keep, &arena};

	if (size < 2 || size > MOST_BYTES)
		return 0;
	const bool is_dump = bytes[0] & 1;
	const size_t head = is_dump ? HEADER_BYTES : 0;
	memcpy(input, header, HEADER_BYTES);
	memcpy(input + head, bytes + 1, size - 1);
	FILE *file = fmemopen(input, head + size - 1, "r");
	if (!file)
		return 0;
	check(!(is_dump ? mt_jitdump_read : mt_text_symbols_read_perf_map)(file, &store, &symbols));
	fclose(file);
	check_symbols(&symbols);
	mt_text_symbols_deinit(&symbols);
	mt_arena_deinit(&arena);
	return 0;
}
