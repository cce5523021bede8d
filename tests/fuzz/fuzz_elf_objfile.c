/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as an object file: headers, notes, symbols, PLT and .eh_frame.  The index is sorted and
 * disjoint whatever comes in. */
#include "elf/objfile.h"
#include "elf/probe.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_symbols(struct mt_objfile *objfile)
{
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &count);

	for (size_t i = 0; i < count; i++) {
		check(symbols[i].start < symbols[i].end);
		check(i == 0 || symbols[i - 1].end <= symbols[i].start);
		check(mt_objfile_symbol_at(objfile, symbols[i].start) == &symbols[i]);
		check(mt_objfile_symbol_at(objfile, symbols[i].end - 1) == &symbols[i]);
		check(strlen(mt_objfile_symbol_name(objfile, &symbols[i])) > 0);
	}
}

static void check_places(struct mt_objfile *objfile)
{
	char bytes[32];
	uint64_t address, offset;

	for (uint64_t at = 0; at < 0x4000; at += 0x7ff) {
		if (!mt_objfile_offset_to_address(objfile, at, &address))
			continue;
		mt_objfile_address_to_offset(objfile, address, &offset);
		mt_objfile_read(objfile, address, bytes, sizeof(bytes));
	}
}

static void count_one(void *context, uint64_t address, const char *name)
{
	(void)address;
	check(name != NULL);
	++*(size_t *)context;
}

static struct mt_error *read_probe(void *context, const struct mt_probe *probe)
{
	*(size_t *)context +=
	    strlen(probe->provider) + strlen(probe->name) + strlen(probe->arguments);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct mt_objfile *objfile;
	struct mt_error *error = mt_objfile_open_memory("fuzz", bytes, size, &objfile);
	char id[41];
	size_t found = 0;

	if (error) {
		check(strlen(mt_error_message(error)) > 0);
		mt_error_destroy(error);
		return 0;
	}
	mt_build_id_format(mt_objfile_build_id(objfile), id);
	check_symbols(objfile);
	check_places(objfile);
	mt_objfile_find_name(objfile, "main", count_one, &found);
	mt_error_destroy(mt_objfile_each_probe(objfile, read_probe, &found));
	mt_objfile_unref(objfile);
	return 0;
}
