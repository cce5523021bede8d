/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/fxt_record.h"

#include "output/utf8.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#define SIZE_SHIFT 4

void mt_fxt_start(struct mt_fxt_record *record, enum mt_fxt_record_type type, uint64_t header)
{
	record->count = 0;
	mt_fxt_word(record, header | type);
}

void mt_fxt_word(struct mt_fxt_record *record, uint64_t word)
{
	if (record->count < MT_FXT_WORDS_MAX)
		record->words[record->count++] = htole64(word);
}

void mt_fxt_text(struct mt_fxt_record *record, const char *text, size_t length)
{
	for (size_t done = 0; done < length; done += sizeof(uint64_t)) {
		uint64_t word = 0;
		size_t rest = length - done;

		memcpy(&word, text + done, rest < sizeof(word) ? rest : sizeof(word));
		mt_fxt_word(record, le64toh(word));
	}
}

struct mt_error *mt_fxt_send(struct mt_fxt_record *record, struct mt_stream *stream)
{
	record->words[0] |= htole64((uint64_t)record->count << SIZE_SHIFT);
	return mt_stream_write(stream, record->words, record->count * sizeof(record->words[0]));
}

static struct mt_error *send_string(struct mt_fxt_strings *strings, uint16_t index,
				    const char *text, uint32_t line)
{
	struct mt_str *scratch = &strings->scratch;
	char number[16] = "";

	if (line)
		snprintf(number, sizeof(number), ":%u", line);
	mt_str_clear(scratch);
	mt_utf8_append(scratch, text, MT_FXT_TEXT_MAX - strlen(number));
	mt_str_append(scratch, number);
	if (scratch->failed)
		return mt_error_no_memory();
	mt_fxt_start(&strings->record, MT_FXT_STRING,
		     (uint64_t)index << 16 | (uint64_t)scratch->length << 32);
	mt_fxt_text(&strings->record, scratch->text, scratch->length);
	return mt_fxt_send(&strings->record, strings->stream);
}

struct mt_error *mt_fxt_fixed_string(struct mt_fxt_strings *strings, uint16_t index,
				     const char *text)
{
	return send_string(strings, index, text, 0);
}

static size_t set_of(const char *text, uint32_t line)
{
	uint64_t hash = ((uint64_t)(uintptr_t)text + line) * 0x9e3779b97f4a7c15;

	return (hash >> 32) * MT_FXT_STRING_SETS >> 32;
}

/* The place of a text, or the one that it should take. */
static struct mt_fxt_string *place_of(struct mt_fxt_string set[MT_FXT_STRING_WAYS],
				      const char *text, uint32_t line)
{
	struct mt_fxt_string *oldest = &set[0];

	for (size_t i = 0; i < MT_FXT_STRING_WAYS; i++) {
		if (set[i].text == text && set[i].line == line)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	return oldest;
}

struct mt_error *mt_fxt_string(struct mt_fxt_strings *strings, const char *text, uint32_t line,
			       uint16_t *index)
{
	*index = 0;
	if (!text || (!*text && !line))
		return NULL;

	struct mt_fxt_string *place = place_of(strings->places[set_of(text, line)], text, line);
	bool is_new = place->text != text || place->line != line;

	*index = (uint16_t)(MT_FXT_FIXED_STRINGS + (place - strings->places[0]));
	*place = (struct mt_fxt_string){.text = text, .line = line, .used = ++strings->uses};
	return is_new ? send_string(strings, *index, text, line) : NULL;
}
