/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"
#include "output/text_line.h"
#include "screen/state.h"
#include "view/action.h"

#include <string.h>

/* Smaller terminals do without. */
#define ROWS_FOR_STATUS 2
#define ROWS_FOR_HEAD   6
#define ROWS_FOR_SOURCE 8
#define TEXT_BYTES      4096 /* of a name in the status line */

static const char *const keys[] = {
    "arrows, j, k, PgUp, PgDn, Home, End: move",
    "Enter: show the source where it was called",
    "Esc: hide it",
    "space: fold",
    "u, d: caller, first callee",
    "n, p: next, previous call of the same function",
    "/ WORD: search towards the begin",
    "r: search again",
    "t, T: next, previous thread",
    "q: leave",
};

/* As many keys in a row as fit; returns the rows. */
static size_t put_help(size_t columns, struct mt_str *out)
{
	size_t rows = 1, used = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i]);
		bool fits = used + 3 + length <= columns;

		if (used) {
			mt_str_append(out, fits ? "   " : "\n");
			rows += !fits;
			used = fits ? used + 3 : 0;
		}
		mt_str_append(out, keys[i]);
		used += length;
	}
	return rows;
}

struct screen_layout screen_layout(const struct screen *screen)
{
	mt_auto(mt_str) struct mt_str help = {0};
	struct screen_layout layout = {
	    .head = screen->rows >= ROWS_FOR_HEAD,
	    .status = screen->rows >= ROWS_FOR_STATUS,
	};
	size_t rest = screen->rows - layout.head - layout.status;

	if (screen->shows_source && screen->rows >= ROWS_FOR_SOURCE)
		layout.source = screen->rows * 2 / 5;
	rest -= layout.source;
	if (screen->shows_help)
		layout.help = put_help(screen->columns, &help);
	if (layout.help >= rest)
		layout.help = rest ? rest - 1 : 0;
	layout.list = rest - layout.help;
	return layout;
}

/* Rows, from the top to the bottom. */
struct drawing {
	struct screen *screen;
	screen_put *put;
	void *context;
	size_t row;
	struct mt_str text; /* of the next one */
};

static void put_row(struct drawing *drawing, enum screen_style style)
{
	const char *text = drawing->text.text && !drawing->text.failed ? drawing->text.text : "";

	drawing->put(drawing->context, drawing->row++, style, text);
	mt_str_clear(&drawing->text);
}

/* Anybody's TEXT as a row. */
static void put_text(struct drawing *drawing, enum screen_style style, const char *text,
		     size_t first)
{
	mt_utf8_append_columns(&drawing->text, text, first, drawing->screen->columns);
	put_row(drawing, style);
}

/* The first column that is shown, so that the end of TEXT is in sight. */
static size_t first_of_end(const struct screen *screen, const struct mt_str *text)
{
	size_t columns = mt_utf8_columns(text->text, text->length);

	return columns > screen->columns ? columns - screen->columns : 0;
}

/* Over the columns of mt_view_line(). */
static void put_head(struct drawing *drawing)
{
	mt_auto(mt_str) struct mt_str names = {0};
	struct mt_text_style style = {0};
	size_t columns = drawing->screen->columns;

	mt_text_head(&names, &style);
	mt_text_style_deinit(&style);
	mt_utf8_append_columns(&drawing->text, "  ", 0, columns);
	if (names.text && columns > 2)
		mt_utf8_append_columns(&drawing->text, names.text, drawing->screen->first,
				       columns - 2);
	put_row(drawing, SCREEN_BOLD);
}

static void put_list(struct drawing *drawing, size_t rows)
{
	struct screen *screen = drawing->screen;
	size_t at = mt_view_top(screen->view, rows);

	for (; rows; rows--) {
		bool is_selected = at != MT_VIEW_NONE && at == mt_view_selected(screen->view);

		if (at != MT_VIEW_NONE) {
			mt_view_line(screen->view, at, screen->first, screen->columns,
				     &drawing->text);
			at = mt_view_below(screen->view, at);
		}
		put_row(drawing, is_selected ? SCREEN_REVERSE : SCREEN_PLAIN);
	}
}

/* Reads the file; what stands for it otherwise goes to ABOVE, the row above the lines. */
static bool find_source(struct screen *screen, struct mt_str *above, uint32_t *line)
{
	size_t selected = mt_view_selected(screen->view);
	struct screen_source *source = &screen->source;
	const char *file;

	if (selected == MT_VIEW_NONE || !mt_view_place(screen->view, selected, &file, line)) {
		mt_str_append(above, mt_view_actions[MT_VIEW_SHOW].none);
		return false;
	}
	screen_source_read(source, file);
	mt_str_appendf(above, "%s:%u", file, *line);
	if (source->why)
		mt_str_appendf(above, ": %s", source->why);
	else if (*line > source->starts.count)
		mt_str_appendf(above, ": the file has only %zu lines", source->starts.count);
	return !source->why;
}

/* The line is in the middle. */
static void put_source(struct drawing *drawing, size_t rows)
{
	struct screen *screen = drawing->screen;
	mt_auto(mt_str) struct mt_str above = {0};
	uint32_t line = 0;
	bool is_found = find_source(screen, &above, &line);

	put_text(drawing, SCREEN_BOLD, above.text && !above.failed ? above.text : "",
		 first_of_end(screen, &above));
	rows--;
	size_t number = line > rows / 2 ? line - rows / 2 : 1;
	for (; rows; rows--, number++) {
		mt_auto(mt_str) struct mt_str text = {0};

		if (is_found && number <= screen->source.starts.count) {
			mt_str_appendf(&text, "%6zu  ", number);
			screen_source_line(&screen->source, number, screen->columns, &text);
		}
		put_text(drawing, text.text && number == line ? SCREEN_REVERSE : SCREEN_PLAIN,
			 text.text && !text.failed ? text.text : "", 0);
	}
}

static void put_keys(struct drawing *drawing, size_t rows)
{
	mt_auto(mt_str) struct mt_str help = {0};

	put_help(drawing->screen->columns, &help);
	const char *at = help.text && !help.failed ? help.text : "";
	for (; rows; rows--) {
		put_text(drawing, SCREEN_PLAIN, at, 0);
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
}

/* The word that is typed, with its end in sight; else the answer to the last key, or where we are.
 */
static void put_status(struct drawing *drawing)
{
	const struct screen *screen = drawing->screen;
	size_t selected = mt_view_selected(screen->view), first = 0;
	mt_auto(mt_str) struct mt_str text = {0};

	if (screen->is_typing) {
		mt_str_appendf(&text, "/%s_", screen->typed);
		first = first_of_end(screen, &text);
	} else if (screen->answer.length) {
		mt_str_append(&text, screen->answer.text);
	} else {
		mt_str_appendf(&text, "line %zu of %zu   ?: keys   q: leave   ",
			       selected == MT_VIEW_NONE ? 0 : selected + 1,
			       mt_view_count(screen->view));
		mt_utf8_append_shown(&text, screen->title, TEXT_BYTES);
	}
	put_text(drawing, SCREEN_REVERSE, text.text && !text.failed ? text.text : "", first);
}

void screen_draw(struct screen *screen, screen_put *put, void *context)
{
	const struct screen_layout layout = screen_layout(screen);
	struct drawing drawing = {screen, put, context, 0, {0}};

	if (layout.head)
		put_head(&drawing);
	put_list(&drawing, layout.list);
	if (layout.source)
		put_source(&drawing, layout.source);
	put_keys(&drawing, layout.help);
	if (layout.status)
		put_status(&drawing);
	mt_str_deinit(&drawing.text);
}

void screen_deinit(struct screen *screen)
{
	screen_source_deinit(&screen->source);
	mt_str_deinit(&screen->answer);
}
