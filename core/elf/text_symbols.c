/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/text_symbols.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST_LINE = 8192 };

struct reading {
	struct mt_arena *arena;
	struct mt_text_symbols *out;
	/* False: the line is garbled. */
	bool (*parse)(char *line, struct mt_text_symbol *out);
};

static int add_line(struct reading *reading, char *line)
{
	struct mt_text_symbol symbol = {.order = reading->out->count};

	line[strcspn(line, "\r\n")] = '\0';
	if (!reading->parse(line, &symbol))
		return 0;
	symbol.name = mt_arena_text(reading->arena, symbol.name, strlen(symbol.name));
	symbol.module = mt_arena_text(reading->arena, symbol.module, strlen(symbol.module));
	return symbol.name && symbol.module ? mt_array_push(reading->out, symbol) : -1;
}

/* Whoever may write to /tmp may put anything there: opening a FIFO would wait for ever. */
static FILE *open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	FILE *file = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode))
		errno = EINVAL;
	else
		file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static struct mt_error *read_lines(const char *path, struct reading *reading)
{
	char line[LONGEST_LINE];
	bool in_overlong = false;
	int failed = 0;
	FILE *file = open_regular(path);

	if (!file)
		return mt_error_at_path(
		    mt_error_errno(errno, "cannot read the symbols in %s", path), path, -1);
	while (!failed && fgets(line, sizeof(line), file)) {
		bool complete = strchr(line, '\n') || feof(file);
		if (complete && !in_overlong)
			failed = add_line(reading, line);
		in_overlong = !complete;
	}
	fclose(file);
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

static void make_disjoint(struct mt_text_symbols *symbols)
{
	size_t kept = 0;

	for (size_t i = 0; i < symbols->count; i++) {
		struct mt_text_symbol symbol = symbols->items[i];
		struct mt_text_symbol *last = kept ? &symbols->items[kept - 1] : NULL;

		if (last && symbol.start < last->end) {
			if (symbol.order > last->order)
				last->end = symbol.start;
			else
				symbol.start = last->end;
			kept -= last->start == last->end;
		}
		if (symbol.start < symbol.end)
			symbols->items[kept++] = symbol;
	}
	symbols->count = kept;
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

struct mt_error *mt_text_symbols_read_perf_map(const char *path, struct mt_arena *arena,
					       struct mt_text_symbols *out)
{
	struct reading reading = {arena, out, parse_perf_map};

	mt_try(read_lines(path, &reading));
	sort(out);
	make_disjoint(out);
	return NULL;
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

struct mt_error *mt_text_symbols_read_kallsyms(const char *path, struct mt_arena *arena,
					       struct mt_text_symbols *out)
{
	struct reading reading = {arena, out, parse_kallsyms};

	mt_try(read_lines(path, &reading));
	sort(out);
	end_at_next(out);
	return NULL;
}

void mt_text_symbols_deinit(struct mt_text_symbols *symbols)
{
	mt_array_deinit(symbols);
}

size_t mt_text_symbols_search(const struct mt_text_symbols *symbols, uint64_t address)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
