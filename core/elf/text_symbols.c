/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/text_symbols.h"
#include "base/search.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 8192 };

struct reading {
	const struct mt_text_store *store;
	struct mt_text_symbols *out;
	/* False: the line is garbled. */
	bool (*parse)(char *line, struct mt_text_symbol *out);
};

static int add_line(struct reading *reading, char *line)
{
	const struct mt_text_store *store = reading->store;
	struct mt_text_symbol symbol = {.order = reading->out->count};

	line[strcspn(line, "\r\n")] = '\0';
	if (!reading->parse(line, &symbol))
		return 0;
	symbol.name = store->keep(store->context, symbol.name);
	symbol.module = store->keep(store->context, symbol.module);
	return symbol.name && symbol.module ? mt_array_push(reading->out, symbol) : -1;
}

/* Whoever may write to /tmp may put anything there: opening a FIFO would wait for ever. */
struct mt_error *mt_text_symbols_open(const char *path, FILE **file, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*file = NULL;
	if (fd >= 0 && fstat(fd, status) == 0) {
		if (S_ISREG(status->st_mode))
			*file = fdopen(fd, "r");
		else
			errno = EINVAL;
	}
	if (*file)
		return NULL;
	struct mt_error *error = mt_error_at_path(
	    mt_error_errno(errno, "cannot read the symbols in %s", path), path, -1);
	if (fd >= 0)
		close(fd);
	return error;
}

static struct mt_error *read_lines(FILE *file, struct reading *reading)
{
	char line[LONGEST_LINE];
	bool in_overlong = false;
	int failed = 0;

	while (!failed && fgets(line, sizeof(line), file)) {
		bool complete = strchr(line, '\n') || feof(file);
		if (complete && !in_overlong)
			failed = add_line(reading, line);
		in_overlong = !complete;
	}
	return failed ? mt_error_no_memory() : NULL;
}

static int compare(const void *left, const void *right)
{
	const struct mt_text_symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void sort(struct mt_text_symbols *symbols)
{
	if (symbols->count)
		qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare);
}

/* Symbols that were found behind the start of a newer one: a heap, the newest on top. */
struct waiting {
	MT_ARRAY(struct mt_text_symbol) heap;
};

static void swap(struct mt_text_symbol *one, struct mt_text_symbol *other)
{
	struct mt_text_symbol kept = *one;

	*one = *other;
	*other = kept;
}

static int wait_for_end(struct waiting *waiting, const struct mt_text_symbol *symbol)
{
	if (mt_array_push(&waiting->heap, *symbol))
		return -1;
	struct mt_text_symbol *items = waiting->heap.items;
	for (size_t at = waiting->heap.count - 1, up; at; at = up) {
		up = (at - 1) / 2;
		if (items[up].order > items[at].order)
			break;
		swap(&items[up], &items[at]);
	}
	return 0;
}

static struct mt_text_symbol take_newest(struct waiting *waiting)
{
	struct mt_text_symbol *items = waiting->heap.items, newest = items[0];
	const size_t count = --waiting->heap.count;

	items[0] = items[count];
	for (size_t at = 0, down = 1; down < count; at = down, down = 2 * at + 1) {
		if (down + 1 < count && items[down + 1].order > items[down].order)
			down++;
		if (items[at].order > items[down].order)
			break;
		swap(&items[at], &items[down]);
	}
	return newest;
}

/* What a newer one follows ends where that begins, and does not go on behind it; what begins within
 * a newer one begins where that ends. */
static int make_disjoint(struct mt_text_symbols *symbols)
{
	struct waiting waiting = {0};
	struct mt_text_symbol current = {0};
	size_t kept = 0, next = 0;
	int failed = 0;

	/* As many are kept as were read at the most, so none is overwritten before its turn. */
	while (!failed && (next < symbols->count || current.end || waiting.heap.count)) {
		const struct mt_text_symbol *item =
		    next < symbols->count ? &symbols->items[next] : NULL;

		if (current.end && (!item || current.end <= item->start)) {
			const uint64_t end = current.end;

			symbols->items[kept++] = current;
			current.end = 0;
			while (!current.end && waiting.heap.count) {
				current = take_newest(&waiting);
				current.start = end;
				if (current.end <= end)
					current.end = 0;
			}
			continue;
		}
		next++;
		if (current.end && item->order < current.order) {
			failed = wait_for_end(&waiting, item);
			continue;
		}
		const struct mt_text_symbol newer = *item;
		if (current.start < newer.start && current.end) {
			current.end = newer.start;
			symbols->items[kept++] = current;
		}
		current = newer;
	}
	mt_array_deinit(&waiting.heap);
	symbols->count = kept;
	return failed;
}

struct mt_error *mt_text_symbols_settle(struct mt_text_symbols *symbols)
{
	sort(symbols);
	return make_disjoint(symbols) ? mt_error_no_memory() : NULL;
}

static bool parse_hex(char **text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(*text, &end, 16);
	if (errno || end == *text || *end != ' ')
		return false;
	*text = end + 1;
	return true;
}

static bool parse_perf_map(char *line, struct mt_text_symbol *out)
{
	uint64_t size;

	if (!parse_hex(&line, &out->start) || !parse_hex(&line, &size) || !*line)
		return false;
	out->end = out->start + size;
	out->name = line;
	out->module = "";
	return out->end > out->start;
}

struct mt_error *mt_text_symbols_read_perf_map(FILE *file, const struct mt_text_store *store,
					       struct mt_text_symbols *out)
{
	struct reading reading = {store, out, parse_perf_map};

	mt_try(read_lines(file, &reading));
	return mt_text_symbols_settle(out);
}

static bool parse_kallsyms(char *line, struct mt_text_symbol *out)
{
	if (!parse_hex(&line, &out->start) || out->start == 0 || !strchr("tTwW", *line) || !*line ||
	    line[1] != ' ')
		return false;
	out->name = line + 2;
	out->module = "[kernel.kallsyms]";
	char *tab = strchr(line, '\t');
	if (tab) {
		*tab = '\0';
		out->module = tab + 1;
	}
	return *out->name != '\0';
}

/* The kernel gives no sizes: each symbol ends where the next one begins. */
static void end_at_next(struct mt_text_symbols *symbols)
{
	const uint64_t largest = 1 << 20; /* behind the last one of a region lies nothing */
	size_t kept = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		struct mt_text_symbol symbol = symbols->items[i];

		if (kept && symbols->items[kept - 1].start == symbol.start)
			continue;
		symbols->items[kept++] = symbol;
	}
	symbols->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct mt_text_symbol *symbol = &symbols->items[i];
		uint64_t next = i + 1 < kept ? symbol[1].start : UINT64_MAX;

		symbol->end = next - symbol->start < largest ? next : symbol->start + largest;
	}
}

struct mt_error *mt_text_symbols_read_kallsyms(FILE *file, const struct mt_text_store *store,
					       struct mt_text_symbols *out)
{
	struct reading reading = {store, out, parse_kallsyms};

	mt_try(read_lines(file, &reading));
	sort(out);
	end_at_next(out);
	return NULL;
}

void mt_text_symbols_deinit(struct mt_text_symbols *symbols)
{
	mt_array_deinit(symbols);
	mt_array_deinit(&symbols->lines);
}

size_t mt_text_symbols_search(const struct mt_text_symbols *symbols, uint64_t address)
{
	return mt_partition_point(i, 0, symbols->count, symbols->items[i].start <= address);
}

bool mt_text_symbols_source_at(const struct mt_text_symbols *symbols, uint64_t address,
			       struct mt_source *out)
{
	size_t behind = mt_text_symbols_search(symbols, address);
	const struct mt_text_symbol *symbol = behind ? &symbols->items[behind - 1] : NULL;

	if (!symbol || address >= symbol->end || !symbol->line_count)
		return false;
	const struct mt_text_line *lines = symbols->lines.items + symbol->first_line;
	const size_t next =
	    mt_partition_point(i, 0, symbol->line_count, lines[i].offset <= address - symbol->base);

	if (!next)
		return false;
	*out = (struct mt_source){.file = lines[next - 1].file, .line = lines[next - 1].line};
	return true;
}
