/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of a view in few rows, for a pane that stands beside others. */
#include "base/utf8.h"
#include "view/private.h"

#define NAME_COLUMN (MT_TEXT_FUNCTION_COLUMN - MT_TEXT_TIME_COLUMNS) /* behind the duration */
#define GAP_COLUMNS 2                                                /* between two of a row */

typedef MT_ARRAY(size_t) places;

/* The last COUNT that are no headings, in their order. */
static bool choose(const struct mt_view *view, size_t count, places *chosen)
{
	for (size_t at = view->lines.count; at && chosen->count < count; at--)
		if (!view->lines.items[at - 1].is_heading && mt_array_push(chosen, at - 1))
			return false;
	for (size_t i = 0; i < chosen->count / 2; i++) {
		size_t *mirrored = &chosen->items[chosen->count - 1 - i], one = *mirrored;

		*mirrored = chosen->items[i];
		chosen->items[i] = one;
	}
	return true;
}

/* Of the outermost one that is shown: the others are indented from there. */
static uint32_t least_depth(const struct mt_view *view, const places *chosen)
{
	uint32_t depth = MT_TEXT_INDENT_LEVELS;

	mt_array_each (at, chosen)
		if (view->lines.items[*at].depth < depth)
			depth = view->lines.items[*at].depth;
	return depth;
}

static void pad(struct mt_str *out, size_t from, size_t columns)
{
	for (size_t used = mt_utf8_columns(out->text + from, out->length - from); used < columns;
	     used++)
		mt_str_append(out, " ");
}

static void put_cell(struct mt_view *view, size_t at, uint32_t depth, size_t columns,
		     struct mt_str *out)
{
	const size_t name = MT_TEXT_FUNCTION_COLUMN + (size_t)depth * MT_TEXT_INDENT_COLUMNS;

	if (columns <= NAME_COLUMN || !mt_view_whole(view, at))
		return;
	mt_utf8_append_columns(out, view->whole.text, MT_TEXT_TIME_COLUMNS, NAME_COLUMN);
	mt_utf8_append_columns(out, view->whole.text, name, columns - NAME_COLUMN);
}

void mt_view_brief(struct mt_view *view, size_t count, size_t columns, struct mt_str *out)
{
	const size_t half = columns > GAP_COLUMNS ? (columns - GAP_COLUMNS) / 2 : 0;
	places chosen = {0};

	if (!choose(view, count, &chosen))
		out->failed = true;
	const size_t rows = chosen.count / 2 + chosen.count % 2;
	const uint32_t depth = least_depth(view, &chosen);
	for (size_t row = 0; row < rows && !out->failed; row++) {
		const size_t from = out->length;

		put_cell(view, chosen.items[row], depth, half, out);
		if (row + rows < chosen.count && !out->failed) {
			pad(out, from, half + GAP_COLUMNS);
			put_cell(view, chosen.items[row + rows], depth, half, out);
		}
		while (out->length > from && out->text[out->length - 1] == ' ')
			out->length--;
		mt_str_append(out, "\n");
	}
	mt_array_deinit(&chosen);
}
