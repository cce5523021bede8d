/* SPDX-License-Identifier: GPL-3.0-or-later */
/* uthash's own function, byte by byte over 16 bytes, took most of the time of an event. */
#define HASH_FUNCTION(key, length, hash) ((hash) = hash_of_string(key))

#include "output/fxt_record.h"

#include "base/utf8.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/* No record uses as many strings. */
#define RECORD_STRINGS 32

/* Of a string: its text's address and its line. */
#define KEY_SIZE offsetof(struct mt_fxt_string, last_use)

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
	record->words[0] |= htole64((uint64_t)record->count << MT_FXT_SIZE_SHIFT);
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

static unsigned hash_of_string(const void *key)
{
	const struct mt_fxt_string *string = key;
	uint64_t hash = ((uint64_t)(uintptr_t)string->text + (string->line << 40)) ^ string->line;

	return (unsigned)(hash * 0x9e3779b97f4a7c15 >> 32);
}

static struct mt_error *take_slot(struct mt_fxt_strings *strings, const char *text, uint32_t line,
				  struct mt_fxt_string **out)
{
	struct mt_fxt_string *slot;

	/* Not one that the record being written may mean. */
	do {
		if (++strings->last_slot == MT_FXT_STRINGS)
			strings->last_slot = MT_FXT_FIXED_STRINGS;
		slot = &strings->slots[strings->last_slot];
	} while (slot->text && strings->uses - slot->last_use < RECORD_STRINGS);
	if (slot->text) {
		HASH_DEL(strings->table, slot);
		strings->generation++;
	}
	slot->text = text;
	slot->line = line;
	HASH_ADD(hh, strings->table, text, KEY_SIZE, slot);
	if (!slot->hh.tbl) {
		slot->text = NULL;
		return mt_error_no_memory();
	}
	*out = slot;
	return send_string(strings, (uint16_t)(slot - strings->slots), text, line);
}

struct mt_error *mt_fxt_string(struct mt_fxt_strings *strings, const char *text, uint32_t line,
			       uint16_t *index)
{
	const struct mt_fxt_string key = {.text = text, .line = line};
	struct mt_fxt_string *slot;
	uint16_t *hint;

	*index = 0;
	if (!text || (!*text && !line))
		return NULL;
	hint = &strings->hints[hash_of_string(&key) % MT_FXT_HINTS];
	slot = &strings->slots[*hint];
	if (slot->text != text || slot->line != line) {
		HASH_FIND(hh, strings->table, &key, KEY_SIZE, slot);
		if (!slot)
			mt_try(take_slot(strings, text, line, &slot));
		*hint = (uint16_t)(slot - strings->slots);
	}
	slot->last_use = ++strings->uses;
	*index = (uint16_t)(slot - strings->slots);
	return NULL;
}

void mt_fxt_strings_deinit(struct mt_fxt_strings *strings)
{
	HASH_CLEAR(hh, strings->table);
	mt_str_deinit(&strings->scratch);
}
