/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/html_chunk.h"

#include <string.h>

#define ARGS_BYTES  (1u << 20) /* recorded strings may be long */
#define PIECE_BYTES 3072u      /* a multiple of 3 */

bool mt_html_chunk_is_full(const struct mt_html_chunk *chunk)
{
	return chunk->count == MT_HTML_CHUNK_ROWS || chunk->args.bytes > ARGS_BYTES;
}

/* RFC 4648, section 4. */
struct base64 {
	struct mt_stream *stream;
	uint8_t bytes[PIECE_BYTES];
	size_t count;
};

static struct mt_error *encode(struct base64 *base64)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const size_t count = base64->count;
	char out[PIECE_BYTES / 3 * 4];
	char *next = out;

	memset(base64->bytes + count, 0, count % 3 ? 3 - count % 3 : 0);
	for (size_t i = 0; i < count; i += 3) {
		const uint8_t *in = base64->bytes + i;
		const uint32_t bits = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

		*next++ = digits[bits >> 18];
		*next++ = digits[bits >> 12 & 63];
		*next++ = i + 1 < count ? digits[bits >> 6 & 63] : '=';
		*next++ = i + 2 < count ? digits[bits & 63] : '=';
	}
	base64->count = 0;
	return mt_stream_write(base64->stream, out, (size_t)(next - out));
}

static struct mt_error *put(struct base64 *base64, const void *bytes, size_t size)
{
	const uint8_t *next = bytes;

	for (size_t i = 0; i < size; i++) {
		base64->bytes[base64->count++] = next[i];
		if (base64->count == PIECE_BYTES)
			mt_try(encode(base64));
	}
	return NULL;
}

/* A member of all rows, as a typed array of JavaScript has them: little-endian. */
static struct mt_error *put_column(struct base64 *base64, const struct mt_html_chunk *chunk,
				   size_t offset, size_t size)
{
	for (uint32_t i = 0; i < chunk->count; i++)
		mt_try(put(base64, (const uint8_t *)&chunk->rows[i] + offset, size));
	return NULL;
}

static struct mt_error *put_rows(struct base64 *base64, const struct mt_html_chunk *chunk)
{
	static const struct {
		size_t offset, size;
	} columns[] = {
#define COLUMN(member) {offsetof(struct mt_html_row, member), sizeof(chunk->rows[0].member)}
	    COLUMN(begin_ns), COLUMN(duration_ns), COLUMN(track), COLUMN(depth),
	    COLUMN(name),     COLUMN(args),        COLUMN(flags),
#undef COLUMN
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		mt_try(put_column(base64, chunk, columns[i].offset, columns[i].size));
	return encode(base64);
}

static struct mt_error *write_args(const struct mt_text_table *args, struct mt_stream *stream,
				   struct mt_str *scratch)
{
	mt_str_append(scratch, "<script type=\"text/plain\" class=\"args\">[");
	mt_try(mt_stream_write_str(stream, scratch));
	for (const struct mt_text *text = args->first; text; text = mt_text_table_next(text)) {
		mt_str_appendf(scratch, "%s\n{%s}", text == args->first ? "" : ",", text->text);
		mt_try(mt_html_write_json(stream, scratch));
	}
	mt_str_append(scratch, "]</script>\n");
	return mt_stream_write_str(stream, scratch);
}

struct mt_error *mt_html_chunk_write(struct mt_html_chunk *chunk, struct mt_stream *stream,
				     struct mt_str *scratch)
{
	struct base64 base64 = {.stream = stream};

	if (!chunk->count)
		return NULL;
	mt_str_appendf(scratch, "<script type=\"text/plain\" class=\"rows\" data-count=\"%u\">",
		       chunk->count);
	mt_try(mt_stream_write_str(stream, scratch));
	mt_try(put_rows(&base64, chunk));
	mt_str_append(scratch, "</script>\n");
	mt_try(mt_stream_write_str(stream, scratch));
	mt_try(write_args(&chunk->args, stream, scratch));
	chunk->count = 0;
	mt_text_table_clear(&chunk->args);
	return NULL;
}

/* The value of the character at *AT, which is well-formed UTF-8; moves *AT behind it. */
static uint32_t take_character(const uint8_t **at)
{
	const uint8_t first = *(*at)++;
	uint32_t value = first;

	if (first >= 0xc0) {
		value = first & (first >= 0xf0 ? 0x07u : first >= 0xe0 ? 0x0fu : 0x1fu);
		while ((**at & 0xc0) == 0x80)
			value = value << 6 | (*(*at)++ & 0x3fu);
	}
	return value;
}

static void append_escaped(struct mt_str *out, uint32_t value)
{
	if (value > 0xffff) {
		mt_str_appendf(out, "\\u%04x", 0xd800 + ((value - 0x10000) >> 10));
		value = 0xdc00 + ((value - 0x10000) & 0x3ff);
	}
	mt_str_appendf(out, "\\u%04x", value);
}

struct mt_error *mt_html_write_json(struct mt_stream *stream, struct mt_str *json)
{
	mt_auto(mt_str) struct mt_str out = {0};
	const uint8_t *plain = (const uint8_t *)(json->text ? json->text : ""), *at = plain;

	if (json->failed)
		return mt_error_no_memory();
	while (*at) {
		if (*at < 0x7f && *at != '<') {
			at++;
			continue;
		}
		mt_str_append_bytes(&out, (const char *)plain, (size_t)(at - plain));
		append_escaped(&out, take_character(&at));
		plain = at;
	}
	mt_str_append_bytes(&out, (const char *)plain, (size_t)(at - plain));
	mt_str_clear(json);
	return mt_stream_write_str(stream, &out);
}
