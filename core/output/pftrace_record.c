/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/pftrace_record.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* No event takes as many strings. */
#define EVENT_STRINGS 32

enum { WIRE_VARINT = 0, WIRE_FIXED = 1, WIRE_BYTES = 2 };

#define VARINT_MAX 10
/* Fields below 16 have tags of one byte. */
#define TAG(field, wire) ((uint64_t)(field) << 3 | (wire))

void mt_pf_number(struct mt_pf_message *message, unsigned field, uint64_t value)
{
	uint8_t *at = message->bytes + message->size;

	if (message->size + 2 * VARINT_MAX > sizeof(message->bytes))
		return;
	at = mt_pf_put_varint(at, TAG(field, WIRE_VARINT));
	at = mt_pf_put_varint(at, value);
	message->size = (size_t)(at - message->bytes);
}

void mt_pf_fixed(struct mt_pf_message *message, unsigned field, uint64_t bits)
{
	uint8_t *at = message->bytes + message->size;

	if (message->size + 2 * VARINT_MAX > sizeof(message->bytes))
		return;
	at = mt_pf_put_varint(at, TAG(field, WIRE_FIXED));
	bits = htole64(bits);
	memcpy(at, &bits, sizeof(bits));
	message->size = (size_t)(at - message->bytes) + sizeof(bits);
}

void mt_pf_bytes(struct mt_pf_message *message, unsigned field, const void *bytes, size_t size)
{
	uint8_t *at = message->bytes + message->size;

	if (message->size + 2 * VARINT_MAX + size > sizeof(message->bytes))
		return;
	at = mt_pf_put_varint(at, TAG(field, WIRE_BYTES));
	at = mt_pf_put_varint(at, size);
	if (size)
		memcpy(at, bytes, size);
	message->size = (size_t)(at - message->bytes) + size;
}

void mt_pf_message(struct mt_pf_message *message, unsigned field, const struct mt_pf_message *part)
{
	mt_pf_bytes(message, field, part->bytes, part->size);
}

/* Fields may stand in any order: the track behind what is told of the event. */
struct mt_error *mt_pf_send_event(struct mt_stream *stream, uint64_t time_ns, uint64_t track_uuid,
				  const void *event, size_t size)
{
	const size_t event_size = size + 1 + mt_pf_varint_size(track_uuid);
	const size_t packet_size =
	    1 + mt_pf_varint_size(time_ns) + 2 + 2 + 1 + mt_pf_varint_size(event_size) + event_size;
	void *room = NULL;

	mt_try(mt_stream_room(stream, 1 + mt_pf_varint_size(packet_size) + packet_size, &room));
	uint8_t *at = room;
	*at++ = TAG(MT_PF_TRACE_PACKET, WIRE_BYTES);
	at = mt_pf_put_varint(at, packet_size);
	*at++ = TAG(MT_PF_PACKET_TIMESTAMP, WIRE_VARINT);
	at = mt_pf_put_varint(at, time_ns);
	*at++ = TAG(MT_PF_PACKET_SEQUENCE_ID, WIRE_VARINT);
	*at++ = MT_PF_SEQUENCE_ID;
	*at++ = TAG(MT_PF_PACKET_SEQUENCE_FLAGS, WIRE_VARINT);
	*at++ = MT_PF_NEEDS_STATE;
	*at++ = TAG(MT_PF_PACKET_TRACK_EVENT, WIRE_BYTES);
	at = mt_pf_put_varint(at, event_size);
	memcpy(at, event, size);
	at += size;
	*at++ = TAG(MT_PF_EVENT_TRACK_UUID, WIRE_VARINT);
	mt_pf_put_varint(at, track_uuid);
	return NULL;
}

static struct mt_error *send_message(struct mt_stream *stream, const struct mt_pf_message *message)
{
	return mt_stream_write(stream, message->bytes, message->size);
}

struct mt_error *mt_pf_send_track(struct mt_stream *stream, const struct mt_pf_message *track)
{
	struct mt_pf_message packet, trace;

	packet.size = trace.size = 0;
	mt_pf_number(&packet, MT_PF_PACKET_SEQUENCE_ID, MT_PF_SEQUENCE_ID);
	mt_pf_message(&packet, MT_PF_PACKET_TRACK_DESCRIPTOR, track);
	mt_pf_message(&trace, MT_PF_TRACE_PACKET, &packet);
	return send_message(stream, &trace);
}

/* Interned strings. */

/* A field's tag and the size of its bytes, which follow. */
static size_t put_head(uint8_t *at, unsigned field, size_t size)
{
	return (size_t)(mt_pf_put_varint(mt_pf_put_varint(at, TAG(field, WIRE_BYTES)), size) - at);
}

static void append_number(struct mt_str *out, unsigned field, uint64_t value)
{
	uint8_t bytes[2 * VARINT_MAX];
	uint8_t *end = mt_pf_put_varint(bytes, TAG(field, WIRE_VARINT));

	end = mt_pf_put_varint(end, value);
	mt_str_append_bytes(out, (const char *)bytes, (size_t)(end - bytes));
}

static void append_text(struct mt_pf_strings *strings, unsigned field, const char *text,
			uint32_t line)
{
	uint8_t head[2 * VARINT_MAX];
	char number[16] = "";

	if (line)
		snprintf(number, sizeof(number), ":%u", line);
	mt_str_clear(&strings->text);
	mt_utf8_append(&strings->text, text, MT_PF_TEXT_MAX - strlen(number));
	mt_str_append(&strings->text, number);
	strings->entry.failed |= strings->text.failed;
	mt_str_append_bytes(&strings->entry, (const char *)head,
			    put_head(head, field, strings->text.length));
	mt_str_append_bytes(&strings->entry, strings->text.text, strings->text.length);
}

/* Write the packet that tells STRING. */
static struct mt_error *send_string(struct mt_pf_strings *strings,
				    const struct mt_pf_string *string)
{
	struct mt_str *entry = &strings->entry;
	uint8_t entry_head[2 * VARINT_MAX], data_head[2 * VARINT_MAX], head[2 * VARINT_MAX];
	uint8_t flags = MT_PF_NEEDS_STATE;
	bool is_location = string->kind == MT_PF_LOCATION;

	mt_str_clear(entry);
	append_number(entry, MT_PF_INTERNED_IID, string->iid);
	append_text(strings, MT_PF_INTERNED_TEXT, string->text, is_location ? 0 : string->line);
	if (is_location && string->function)
		append_text(strings, MT_PF_INTERNED_FUNCTION, string->function, 0);
	if (is_location && string->line)
		append_number(entry, MT_PF_INTERNED_LINE, string->line);
	if (entry->failed)
		return mt_error_no_memory();
	if (strings->is_new)
		flags |= MT_PF_STATE_CLEARED;
	strings->is_new = false;

	const uint8_t sequence[] = {TAG(MT_PF_PACKET_SEQUENCE_ID, WIRE_VARINT), MT_PF_SEQUENCE_ID,
				    TAG(MT_PF_PACKET_SEQUENCE_FLAGS, WIRE_VARINT), flags};
	const size_t entry_head_size = put_head(entry_head, string->kind, entry->length);
	const size_t data_size = entry_head_size + entry->length;
	const size_t data_head_size = put_head(data_head, MT_PF_PACKET_INTERNED_DATA, data_size);
	const size_t head_size =
	    put_head(head, MT_PF_TRACE_PACKET, sizeof(sequence) + data_head_size + data_size);
	mt_try(mt_stream_write(strings->stream, head, head_size));
	mt_try(mt_stream_write(strings->stream, sequence, sizeof(sequence)));
	mt_try(mt_stream_write(strings->stream, data_head, data_head_size));
	mt_try(mt_stream_write(strings->stream, entry_head, entry_head_size));
	return mt_stream_write(strings->stream, entry->text, entry->length);
}

struct mt_error *mt_pf_strings_begin(struct mt_pf_strings *strings)
{
	if (strings->count)
		memset(strings->places, 0, sizeof(strings->places));
	strings->count = 0;
	strings->generation++;
	strings->is_new = true;
	for (unsigned i = 0; i < MT_ARG_NAMES; i++) {
		const struct mt_pf_string name = {
		    .text = mt_arg_name_text(i),
		    .iid = i + 1,
		    .kind = MT_PF_ANNOTATION_NAME,
		};

		mt_try(send_string(strings, &name));
	}
	return NULL;
}

struct mt_error *mt_pf_strings_reserve(struct mt_pf_strings *strings)
{
	return strings->count + EVENT_STRINGS > MT_PF_STRINGS ? mt_pf_strings_begin(strings) : NULL;
}

static size_t place_of(const struct mt_pf_string *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key->text ^ (uint64_t)(uintptr_t)key->function << 20 ^
			(uint64_t)key->line << 32 ^ (uint64_t)key->kind << 56;

	return hash * 0x9e3779b97f4a7c15u >> 48; /* 16 bits: MT_PF_STRING_PLACES */
}

static bool is_same(const struct mt_pf_string *one, const struct mt_pf_string *other)
{
	return one->text == other->text && one->function == other->function &&
	       one->line == other->line && one->kind == other->kind;
}

/* The table is never more than half full, so that a free place ends every search soon. */
struct mt_error *mt_pf_string(struct mt_pf_strings *strings, enum mt_pf_interned kind,
			      const char *text, const char *function, uint32_t line, uint64_t *iid)
{
	struct mt_pf_string key = {
	    .text = text ? text : "", .function = function, .line = line, .kind = kind};
	size_t place = place_of(&key);

	while (strings->places[place].text) {
		if (is_same(&strings->places[place], &key)) {
			*iid = strings->places[place].iid;
			return NULL;
		}
		place = (place + 1) % MT_PF_STRING_PLACES;
	}
	*iid = key.iid = ++strings->last_iid;
	strings->places[place] = key;
	strings->count++;
	return send_string(strings, &key);
}

void mt_pf_strings_deinit(struct mt_pf_strings *strings)
{
	mt_str_deinit(&strings->text);
	mt_str_deinit(&strings->entry);
}
