/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dwarf/inlines.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

void mt_inlines_destroy(struct mt_inlines *inlines)
{
	if (!inlines)
		return;
	mt_array_deinit(&inlines->spans);
	free(inlines);
}

/* Parents before their children. */
static int compare(const void *left, const void *right)
{
	const struct mt_inline_interval *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->node->depth != b->node->depth)
		return a->node->depth < b->node->depth ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int add_span(struct mt_inline_intervals *spans, uint64_t start, uint64_t end,
		    struct mt_inline_node *node)
{
	struct mt_inline_interval *last = spans->count ? mt_array_last(spans) : NULL;
	struct mt_inline_interval span = {start, end, node};

	if (start >= end)
		return 0;
	if (last && last->end == start && last->node == node) {
		last->end = end;
		return 0;
	}
	return mt_array_push(spans, span);
}

/* One pass over the sorted intervals, with a stack of those that are open.  AT is how far the spans
 * have come. */
struct sweep {
	struct mt_inline_intervals open;
	struct mt_inline_intervals *spans;
	uint64_t at;
};

static int close_until(struct sweep *sweep, uint64_t address)
{
	while (sweep->open.count) {
		struct mt_inline_interval *top = mt_array_last(&sweep->open);
		uint64_t end = top->end < address ? top->end : address;

		if (add_span(sweep->spans, sweep->at, end, top->node))
			return -1;
		if (sweep->at < end)
			sweep->at = end;
		if (top->end > address)
			return 0;
		sweep->open.count--;
	}
	return 0;
}

static int open_interval(struct sweep *sweep, struct mt_inline_interval interval)
{
	if (close_until(sweep, interval.start))
		return -1;
	/* Intervals nest; of one that does not, what sticks out is lost. */
	if (sweep->open.count && interval.end > mt_array_last(&sweep->open)->end)
		interval.end = mt_array_last(&sweep->open)->end;
	sweep->at = interval.start;
	return mt_array_push(&sweep->open, interval);
}

static int flatten(struct mt_inline_intervals *intervals, struct mt_inline_intervals *spans)
{
	struct sweep sweep = {.spans = spans};
	int result = 0;

	if (intervals->count)
		qsort(intervals->items, intervals->count, sizeof(*intervals->items), compare);
	for (size_t i = 0; !result && i < intervals->count; i++)
		result = open_interval(&sweep, intervals->items[i]);
	if (!result)
		result = close_until(&sweep, UINT64_MAX);
	mt_array_deinit(&sweep.open);
	return result;
}

static struct mt_inlines *build(struct mt_objfile *objfile, struct mt_unit *unit)
{
	struct mt_inline_intervals intervals = {0};
	struct mt_inlines *inlines = calloc(1, sizeof(*inlines));

	if (inlines &&
	    (mt_inline_walk(objfile, unit, &intervals) || flatten(&intervals, &inlines->spans))) {
		mt_inlines_destroy(inlines);
		inlines = NULL;
	}
	mt_array_deinit(&intervals);
	return inlines;
}

static const struct mt_inline **chain_of(struct mt_objfile *objfile, struct mt_inline_node *node)
{
	if (node->chain)
		return node->chain;
	const struct mt_inline **chain =
	    mt_arena_zalloc(&objfile->arena, node->depth * sizeof(*chain));
	if (!chain)
		return NULL;
	const struct mt_inline_node *each = node;
	for (size_t i = node->depth; i-- > 0; each = each->parent)
		chain[i] = &each->call;
	node->chain = chain;
	return chain;
}

static void narrow(struct mt_inline_span *span, uint64_t start, uint64_t end)
{
	span->start = span->start > start ? span->start : start;
	span->end = span->end < end ? span->end : end;
}

static void look_up(struct mt_objfile *objfile, const struct mt_inlines *inlines, uint64_t address,
		    struct mt_inline_span *out)
{
	const struct mt_inline_interval *items = inlines->spans.items;
	const size_t behind = mt_partition_point(i, 0, inlines->spans.count,
						 inlines->spans.items[i].start <= address);

	if (!behind || address >= items[behind - 1].end) {
		narrow(out, behind ? items[behind - 1].end : 0,
		       behind < inlines->spans.count ? items[behind].start : UINT64_MAX);
		return;
	}
	struct mt_inline_node *node = items[behind - 1].node;
	narrow(out, items[behind - 1].start, items[behind - 1].end);
	out->chain = chain_of(objfile, node);
	out->depth = out->chain ? node->depth : 0;
}

struct inlined_search {
	const char *name;
	const char *word; /* its last: rules out most names */
	size_t word_length;
	MT_ARRAY(const struct mt_inline_node *) found;
};

static bool is_searched(const struct inlined_search *search_for, const char *name)
{
	if (search_for->word_length &&
	    !memmem(name, strlen(name), search_for->word, search_for->word_length))
		return false;
	return mt_name_matches(name, search_for->name);
}

static int note_instance(struct inlined_search *search_for, const struct mt_inline_node *node)
{
	mt_array_each (known, &search_for->found)
		if (*known == node)
			return 0;
	return mt_array_push(&search_for->found, node);
}

static void search_spans(struct inlined_search *search_for, const struct mt_inlines *inlines)
{
	const struct mt_inline_node *last = NULL;

	for (size_t i = 0; i < inlines->spans.count; i++) {
		const struct mt_inline_node *innermost = inlines->spans.items[i].node;

		for (const struct mt_inline_node *node = innermost; node && node != last;
		     node = node->parent)
			if (is_searched(search_for, node->call.function->name) &&
			    note_instance(search_for, node))
				return;
		last = innermost;
	}
}

void mt_objfile_find_inlined(struct mt_objfile *objfile, const char *name,
			     void (*found)(void *context, uint64_t address,
					   const struct mt_inline *instance),
			     void *context)
{
	struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct inlined_search search_for = {.name = name};

	search_for.word_length = mt_name_last_word(name, &search_for.word);
	for (size_t i = 0; dwarf && i < dwarf->unit_count; i++) {
		struct mt_unit *unit = &dwarf->units[i];

		if (!unit->inlines)
			unit->inlines = build(objfile, unit);
		if (unit->inlines)
			search_spans(&search_for, unit->inlines);
	}
	mt_array_each (node, &search_for.found)
		found(context, (*node)->entry, &(*node)->call);
	mt_array_deinit(&search_for.found);
}

void mt_objfile_inlines_at(struct mt_objfile *objfile, uint64_t address, struct mt_inline_span *out)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	size_t behind = dwarf ? mt_dwarf_search(dwarf, address) : 0;

	*out = (struct mt_inline_span){.start = 0, .end = UINT64_MAX};
	if (!dwarf)
		return;
	struct mt_unit *unit = mt_dwarf_unit_at(dwarf, address);
	if (!unit) {
		narrow(out, behind ? dwarf->ranges[behind - 1].end : 0,
		       behind < dwarf->range_count ? dwarf->ranges[behind].start : UINT64_MAX);
		return;
	}
	narrow(out, dwarf->ranges[behind - 1].start, dwarf->ranges[behind - 1].end);
	if (!unit->inlines)
		unit->inlines = build(objfile, unit);
	if (unit->inlines)
		look_up(objfile, unit->inlines, address, out);
}
