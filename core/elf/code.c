/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/search.h"
#include "elf/symbols.h"

#include "elf/section.h"

static int add(struct mt_code *code, uint64_t start, uint64_t size)
{
	struct mt_code_range range = {start, start + size};

	return size && range.end > start ? mt_array_push(code, range) : 0;
}

static int add_sections(const struct mt_objfile *objfile, struct mt_code *out)
{
	struct mt_section section = {0};

	while (mt_section_next(objfile->main.elf, &section)) {
		const GElf_Shdr *header = &section.header;
		const struct mt_load_segment *segment =
		    mt_objfile_segment_at(objfile, header->sh_addr);
		const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

		if ((header->sh_flags & wanted) != wanted || header->sh_type == SHT_NOBITS ||
		    !segment || !segment->executable)
			continue;
		uint64_t room = segment->size - (header->sh_addr - segment->address);
		if (add(out, header->sh_addr, header->sh_size < room ? header->sh_size : room))
			return -1;
	}
	return 0;
}

static int add_segments(const struct mt_objfile *objfile, struct mt_code *out)
{
	for (size_t i = 0; i < objfile->segment_count; i++)
		if (objfile->segments[i].executable &&
		    add(out, objfile->segments[i].address, objfile->segments[i].size))
			return -1;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct mt_code_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void make_disjoint(struct mt_code *code)
{
	size_t kept = 0;

	if (code->count)
		qsort(code->items, code->count, sizeof(*code->items), compare);
	for (size_t i = 0; i < code->count; i++) {
		struct mt_code_range range = code->items[i];

		if (kept && range.start < code->items[kept - 1].end)
			range.start = code->items[kept - 1].end;
		if (range.start < range.end)
			code->items[kept++] = range;
	}
	code->count = kept;
}

int mt_code_read(const struct mt_objfile *objfile, struct mt_code *out)
{
	if (add_sections(objfile, out) || (out->count == 0 && add_segments(objfile, out)))
		return -1;
	make_disjoint(out);
	return 0;
}

const struct mt_code_range *mt_code_at(const struct mt_code *code, uint64_t address)
{
	const size_t behind =
	    mt_partition_point(i, 0, code->count, code->items[i].start <= address);

	return behind && address < code->items[behind - 1].end ? &code->items[behind - 1] : NULL;
}
