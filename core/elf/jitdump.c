/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/jitdump.h"

#include "base/utf8.h"

#include <elf.h>
#include <string.h>

#define MAGIC 0x4a695444u

enum {
	LONGEST_NAME = 4096, /* more of it is cut */
	MOST_SYMBOLS = 1 << 22,
	MOST_LINES = 1 << 22,
	ALIGNMENT = 8, /* of records: so many bytes of padding end one, but one */
	/* V8 counts the addresses of lines from where perf inject puts the code: behind the header
	 * of an ELF file that it makes of it. */
	V8_SHIFT = sizeof(Elf64_Ehdr),
};

struct file_header {
	uint32_t magic, version, total_size, machine, pad, pid;
	uint64_t time, flags;
};

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

struct record_header {
	uint32_t id, total_size;
	uint64_t time;
};

/* Then the name and the code. */
struct load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* Then so many of debug_entry, each with the file's name behind it.  For the code that is loaded
 * next. */
struct debug_info {
	uint64_t address, count;
};

struct debug_entry {
	uint64_t address;
	uint32_t line, discriminator;
};

struct reader {
	FILE *file;
	const struct mt_text_store *store;
	struct mt_text_symbols *out;
	uint64_t left;                  /* bytes of the record that were not read yet */
	MT_ARRAY(uint32_t) by_index;    /* a code's newest symbol + 1; 0: none */
	uint64_t pending_address;       /* of the code that pending lines are for */
	uint32_t pending, pending_from; /* how many; the first one */
	bool failed;                    /* no memory */
};

static bool take(struct reader *reader, void *out, size_t size)
{
	if (reader->left < size || fread(out, 1, size, reader->file) != size)
		return false;
	reader->left -= size;
	return true;
}

/* NULL: it has no end within the record, or no memory. */
static const char *take_name(struct reader *reader)
{
	char name[LONGEST_NAME];
	size_t length = 0;
	int byte;

	while (reader->left && (byte = getc_unlocked(reader->file)) != EOF) {
		reader->left--;
		if (!byte) {
			name[length] = '\0';
			const char *kept = reader->store->keep(reader->store->context, name);
			reader->failed |= !kept;
			return kept;
		}
		if (length < sizeof(name) - 1)
			name[length++] = (char)byte;
	}
	return NULL;
}

/* A code's number, where numbers are as small as they are when they count. */
static uint32_t *slot_of(struct reader *reader, uint64_t index, bool make)
{
	if (index >= MOST_SYMBOLS)
		return NULL;
	if (index >= reader->by_index.count) {
		if (!make)
			return NULL;
		if (mt_array_reserve(&reader->by_index, index + 1)) {
			reader->failed = true;
			return NULL;
		}
		memset(reader->by_index.items + reader->by_index.count, 0,
		       (index + 1 - reader->by_index.count) * sizeof(*reader->by_index.items));
		reader->by_index.count = index + 1;
	}
	return &reader->by_index.items[index];
}

static void add(struct reader *reader, struct mt_text_symbol symbol, uint64_t size, uint64_t index)
{
	symbol.end = symbol.start + size;
	symbol.base = symbol.start;
	symbol.order = reader->out->count;
	if (symbol.end <= symbol.start || reader->out->count >= MOST_SYMBOLS)
		return;
	uint32_t *slot = slot_of(reader, index, true);
	if (reader->failed || mt_array_push(reader->out, symbol))
		reader->failed = true;
	else if (slot)
		*slot = (uint32_t)reader->out->count;
}

static void read_load(struct reader *reader)
{
	struct mt_text_symbol symbol = {0};
	struct load load;

	if (!take(reader, &load, sizeof(load)) || !(symbol.name = take_name(reader)) ||
	    !(symbol.module = reader->store->keep(reader->store->context, "")))
		return;
	symbol.start = load.address;
	if (reader->pending && reader->pending_address == load.address) {
		symbol.first_line = reader->pending_from;
		symbol.line_count = reader->pending;
	}
	reader->pending = 0;
	if (*symbol.name)
		add(reader, symbol, load.size, load.index);
}

static void read_move(struct reader *reader)
{
	struct move move;
	const uint32_t *slot;

	if (!take(reader, &move, sizeof(move)))
		return;
	slot = slot_of(reader, move.index, false);
	if (!slot || !*slot || reader->out->items[*slot - 1].base != move.from)
		return;
	struct mt_text_symbol symbol = reader->out->items[*slot - 1];
	symbol.start = move.to;
	add(reader, symbol, move.size, move.index);
}

static int compare_lines(const void *left, const void *right)
{
	const struct mt_text_line *a = left, *b = right;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* NULL: it is garbled, or no memory.  LAST: the name before it. */
static const char *take_file_name(struct reader *reader, const char *last)
{
	const char *name = take_name(reader);
	mt_auto(mt_str) struct mt_str shown = {0};

	if (name && last && (name == last || strcmp(name, "\xff") == 0))
		return last;
	if (!name || !*name)
		return NULL;
	mt_utf8_append_shown(&shown, name, LONGEST_NAME);
	reader->failed |= shown.failed;
	return !shown.failed && strcmp(shown.text, name) == 0 ? name : NULL;
}

/* False: the record is garbled. */
static bool read_lines(struct reader *reader, const struct debug_info *info)
{
	struct mt_text_symbols *out = reader->out;
	struct debug_entry entry;
	const char *name = NULL;
	bool in_order = true;

	for (uint64_t i = 0; i < info->count && out->lines.count < MOST_LINES; i++) {
		if (!take(reader, &entry, sizeof(entry)) || !(name = take_file_name(reader, name)))
			return false;
		const uint64_t offset = entry.address - info->address;
		if (offset > UINT32_MAX)
			return false;
		const struct mt_text_line line = {(uint32_t)offset, entry.line, name};
		in_order &= !reader->pending || offset >= mt_array_last(&out->lines)->offset;
		if (mt_array_push(&out->lines, line)) {
			reader->failed = true;
			return false;
		}
		reader->pending++;
	}
	if (!in_order)
		qsort(out->lines.items + reader->pending_from, reader->pending,
		      sizeof(*out->lines.items), compare_lines);
	return reader->left < ALIGNMENT;
}

/* V8 has written what lay in memory that it had freed instead of a script's name, zeros and all:
 * lines that do not fill the record are none. */
static void read_debug_info(struct reader *reader)
{
	struct debug_info info;

	reader->pending = 0;
	reader->pending_from = (uint32_t)reader->out->lines.count;
	if (!take(reader, &info, sizeof(info)))
		return;
	reader->pending_address = info.address;
	if (read_lines(reader, &info))
		return;
	reader->pending = 0;
	reader->out->lines.count = reader->pending_from;
}

/* A seek throws away what was read ahead, which is more than most code. */
static bool skip_rest(struct reader *reader)
{
	char rest[16384];

	if (reader->left > sizeof(rest))
		return fseeko(reader->file, (off_t)reader->left, SEEK_CUR) == 0;
	return take(reader, rest, reader->left);
}

static bool read_record(struct reader *reader)
{
	struct record_header header;

	reader->left = sizeof(header);
	if (!take(reader, &header, sizeof(header)) || header.total_size < sizeof(header))
		return false;
	reader->left = header.total_size - sizeof(header);
	switch (header.id) {
	case CODE_LOAD:
		read_load(reader);
		break;
	case CODE_MOVE:
		read_move(reader);
		break;
	case CODE_DEBUG_INFO:
		read_debug_info(reader);
		break;
	default:
		break;
	}
	return !reader->failed && skip_rest(reader);
}

/* V8's, if no line of the whole file belongs to the first bytes of any code, and one to the very
 * next. */
static void undo_shift(struct mt_text_symbols *symbols)
{
	bool has_first = false;

	mt_array_each (line, &symbols->lines) {
		if (line->offset < V8_SHIFT)
			return;
		has_first |= line->offset == V8_SHIFT;
	}
	mt_array_each (line, &symbols->lines)
		line->offset -= has_first ? V8_SHIFT : 0;
}

struct mt_error *mt_jitdump_read(FILE *file, const struct mt_text_store *store,
				 struct mt_text_symbols *out)
{
	struct reader reader = {.file = file, .store = store, .out = out};
	struct file_header header;

	reader.left = sizeof(header);
	if (!take(&reader, &header, sizeof(header)) || header.magic != MAGIC ||
	    header.version != 1 || header.total_size < sizeof(header) ||
	    header.machine != EM_X86_64 ||
	    fseeko(file, (off_t)(header.total_size - sizeof(header)), SEEK_CUR) != 0)
		return NULL;
	while (read_record(&reader))
		continue;
	mt_array_deinit(&reader.by_index);
	if (reader.failed)
		return mt_error_no_memory();
	undo_shift(out);
	return mt_text_symbols_settle(out);
}
