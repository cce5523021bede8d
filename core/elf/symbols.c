/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The symbol index: out of all candidates one symbol an address, without overlaps, and FDEs where
 * no symbol is.
 *
 * A symbol may lie inside another: a label of assembly, which is left out, or a second entry with
 * a size or FDE of its own, which cuts the outer one short. */
#include "elf/symbols.h"

#include "elf/demangle.h"

#include <string.h>

struct builder {
	struct mt_objfile *objfile;
	struct mt_symbol_index *index;
	struct mt_code code;
	struct mt_fdes fdes;
};

static int compare_sizes(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* `read` rather than its alias `__read`, `strchr` rather than its weak alias `index`. */
static int compare_names(const struct mt_candidate *a, const struct mt_candidate *b)
{
	int order = compare_sizes(strspn(a->name, "_"), strspn(b->name, "_"));

	if (!order)
		order = (a->binding == STB_WEAK) - (b->binding == STB_WEAK);
	if (!order)
		order = compare_sizes(strlen(a->name), strlen(b->name));
	return order ? order : strcmp(a->name, b->name);
}

/* By address; then the better name first. */
static int compare_candidates(const void *left, const void *right)
{
	const struct mt_candidate *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->kind != b->kind)
		return b->kind - a->kind;
	if (a->label != b->label)
		return a->label - b->label;
	int order = (a->binding == STB_LOCAL) - (b->binding == STB_LOCAL);
	return order ? order : compare_names(a, b);
}

static void sort_candidates(struct mt_candidates *candidates)
{
	if (candidates->count)
		qsort(candidates->items, candidates->count, sizeof(*candidates->items),
		      compare_candidates);
}

static int push(struct mt_symbol_index *index, struct mt_symbol symbol)
{
	if (mt_array_grow((void **)&index->symbols, &index->capacity, sizeof(symbol),
			  index->count + 1))
		return -1;
	index->symbols[index->count++] = symbol;
	return 0;
}

static uint8_t flags_of_name(const char *name)
{
	const char *cold = strstr(name, ".cold");
	const char *block = strstr(name, ".__part.");

	/* _dl_runtime_resolve_xsavec, _dl_runtime_profile_avx and their like. */
	if (strncmp(name, "_dl_runtime_", strlen("_dl_runtime_")) == 0)
		return MT_FUNCTION_RESOLVER;
	/* A name of LLVM's for each block of a function (-fbasic-block-sections). */
	if (block && block != name)
		return MT_FUNCTION_COLD;
	return cold && (cold[5] == '\0' || cold[5] == '.') ? MT_FUNCTION_COLD : 0;
}

/* Where a candidate ends: by its size, its FDE, or for want of both the next candidate. */
static uint64_t candidate_end(const struct builder *builder, const struct mt_candidate *candidate,
			      const struct mt_candidate *next)
{
	uint64_t room = mt_code_at(&builder->code, candidate->start)->end;
	const struct mt_fde *fde = mt_fdes_find(&builder->fdes, candidate->start);
	uint64_t end = candidate->start + candidate->size;

	if (end < candidate->start || end > room)
		end = room;
	if (candidate->kind == MT_FUNCTION_PLT)
		return end;
	if (fde && (candidate->size == 0 || fde->start == candidate->start))
		end = end > fde->end ? end : fde->end;
	else if (candidate->size == 0)
		end = next ? next->start : room;
	return end < room ? end : room;
}

/* Whether a candidate that begins inside the last symbol is a function of its own. */
static bool stands_inside(const struct builder *builder, const struct mt_candidate *candidate,
			  uint64_t end, bool outer_is_sized)
{
	const struct mt_symbol *outer = &builder->index->symbols[builder->index->count - 1];
	const struct mt_fde *fde = mt_fdes_find(&builder->fdes, candidate->start);

	if (outer->kind == MT_FUNCTION_PLT)
		return candidate->kind == MT_FUNCTION_PLT;
	if (candidate->kind == MT_FUNCTION_PLT || (fde && fde->start == candidate->start))
		return true;
	if (candidate->label)
		return false;
	return candidate->size ? end >= outer->end : !outer_is_sized;
}

static int add_candidates(struct builder *builder)
{
	struct mt_symbol_index *index = builder->index;
	const struct mt_candidates *all = &index->all;
	bool outer_is_sized = false;

	for (size_t i = 0, next; i < all->count; i = next) {
		const struct mt_candidate *candidate = &all->items[i];
		for (next = i + 1; next < all->count; next++)
			if (all->items[next].start != candidate->start)
				break;
		uint64_t end =
		    candidate_end(builder, candidate, next < all->count ? &all->items[next] : NULL);
		struct mt_symbol *outer = index->count ? &index->symbols[index->count - 1] : NULL;
		if (outer && candidate->start < outer->end) {
			if (!stands_inside(builder, candidate, end, outer_is_sized))
				continue;
			outer->end = candidate->start;
		}
		struct mt_symbol symbol = {
		    .start = candidate->start,
		    .end = end,
		    .raw_name = candidate->name,
		    .kind = candidate->kind,
		    .flags = (uint8_t)(flags_of_name(candidate->name) |
				       (candidate->label ? MT_FUNCTION_LABEL : 0)),
		};
		if (symbol.start < symbol.end && push(index, symbol))
			return -1;
		outer_is_sized = candidate->size != 0;
	}
	return 0;
}

/* The first symbol that ends behind an address, from *CURSOR on. */
static const struct mt_symbol *skip_symbols(const struct mt_symbol *symbols, size_t count,
					    size_t *cursor, uint64_t address)
{
	while (*cursor < count && symbols[*cursor].end <= address)
		++*cursor;
	return *cursor < count ? &symbols[*cursor] : NULL;
}

/* A stripped dynamic loader has its resolvers still: nothing else in it begins like them. */
static uint8_t flags_of_fde(const struct mt_objfile *objfile, const struct mt_fde *fde)
{
	if (fde->lazy && strncmp(mt_path_name(objfile->path), "ld-", 3) == 0)
		return MT_FUNCTION_RESOLVER;
	return fde->cold ? MT_FUNCTION_COLD : 0;
}

/* A symbol for the part of an FDE before the next symbol; none if its start has one. */
static int add_fde(struct builder *builder, const struct mt_fde *fde,
		   const struct mt_symbol *symbol, const struct mt_fde *next)
{
	const struct mt_code_range *room = mt_code_at(&builder->code, fde->start);
	struct mt_symbol found = {
	    .start = fde->start,
	    .end = fde->end,
	    .kind = MT_FUNCTION_FDE,
	    .flags = flags_of_fde(builder->objfile, fde),
	};

	if (!room || (symbol && symbol->start <= fde->start))
		return 0;
	if (found.end > room->end)
		found.end = room->end;
	if (symbol && found.end > symbol->start)
		found.end = symbol->start;
	if (next && found.end > next->start)
		found.end = next->start;
	return found.start < found.end ? push(builder->index, found) : 0;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct mt_symbol *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int add_fdes(struct builder *builder)
{
	struct mt_symbol_index *index = builder->index;
	size_t count = index->count, cursor = 0;

	for (size_t i = 0; i < builder->fdes.count; i++) {
		const struct mt_fde *fde = &builder->fdes.items[i];
		const struct mt_symbol *symbol =
		    skip_symbols(index->symbols, count, &cursor, fde->start);
		if (add_fde(builder, fde, symbol, i + 1 < builder->fdes.count ? fde + 1 : NULL))
			return -1;
	}
	if (index->count)
		qsort(index->symbols, index->count, sizeof(*index->symbols), compare_symbols);
	return 0;
}

static bool returns_from_signals(const struct mt_objfile *objfile, const struct mt_fde *fde)
{
	size_t size;
	const uint8_t *code = fde->signal ? mt_objfile_bytes(objfile, fde->start, &size) : NULL;

	return code && mt_code_returns_from_signal(code, size);
}

static int build(struct builder *builder)
{
	struct mt_candidates *all = &builder->index->all;

	if (mt_code_read(builder->objfile, &builder->code) ||
	    mt_eh_frame_read(builder->objfile->main.elf, &builder->fdes) ||
	    mt_collect_symbols(builder->objfile, &builder->code, all))
		return -1;
	sort_candidates(all);
	if (mt_collect_plt(builder->objfile, &builder->code, all))
		return -1;
	sort_candidates(all);
	if (add_candidates(builder) || add_fdes(builder))
		return -1;
	struct mt_symbol_index *index = builder->index;
	size_t cursor = 0;

	mt_array_each (fde, &builder->fdes) {
		if (!returns_from_signals(builder->objfile, fde))
			continue;
		while (cursor < index->count && index->symbols[cursor].start < fde->start)
			cursor++;
		for (size_t i = cursor; i < index->count && index->symbols[i].start < fde->end; i++)
			index->symbols[i].flags |= MT_FUNCTION_SIGNAL_RETURN;
	}
	if (builder->index->count == 0)
		return 0;
	builder->index->starts = calloc(builder->index->count, sizeof(*builder->index->starts));
	builder->index->names = calloc(builder->index->count, sizeof(*builder->index->names));
	if (!builder->index->starts || !builder->index->names)
		return -1;
	for (size_t i = 0; i < builder->index->count; i++)
		builder->index->starts[i] = builder->index->symbols[i].start;
	return 0;
}

struct mt_symbol_index *mt_symbol_index(struct mt_objfile *objfile)
{
	if (objfile->symbols)
		return objfile->symbols;
	struct builder builder = {
	    .objfile = objfile,
	    .index = calloc(1, sizeof(*builder.index)),
	};
	if (builder.index && build(&builder)) {
		mt_symbol_index_destroy(builder.index);
		builder.index = NULL;
	}
	mt_array_deinit(&builder.code);
	mt_array_deinit(&builder.fdes);
	objfile->symbols = builder.index;
	return objfile->symbols;
}

void mt_symbol_index_destroy(struct mt_symbol_index *index)
{
	if (!index)
		return;
	mt_array_deinit(&index->all);
	free(index->symbols);
	free(index->starts);
	free(index->names);
	free(index);
}

const struct mt_symbol *mt_objfile_symbols(struct mt_objfile *objfile, size_t *count)
{
	const struct mt_symbol_index *index = mt_symbol_index(objfile);

	*count = index ? index->count : 0;
	return index ? index->symbols : NULL;
}

size_t mt_symbol_index_search(const struct mt_symbol_index *index, uint64_t address)
{
	const uint64_t *base = index->starts;
	size_t count = index->count;

	/* Without branches that depend on the data: they cost more than the steps. */
	while (count > 1) {
		size_t half = count / 2;
		base += base[half] <= address ? half : 0;
		count -= half;
	}
	return count && *base <= address ? (size_t)(base - index->starts) + 1 : 0;
}

const struct mt_symbol *mt_objfile_symbol_at(struct mt_objfile *objfile, uint64_t address)
{
	const struct mt_symbol_index *index = mt_symbol_index(objfile);
	size_t behind = index ? mt_symbol_index_search(index, address) : 0;

	return behind && address < index->symbols[behind - 1].end ? &index->symbols[behind - 1]
								  : NULL;
}
