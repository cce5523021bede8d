/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values out of the pieces that a location consists of. */
#include "values/variable.h"

#include <string.h>

static bool read_register(struct mt_eval *eval, unsigned number, void *bytes, size_t size)
{
	const struct mt_expr_frame *frame = eval->frame;

	mt_note_register(eval);
	return frame->ops && frame->ops->get_register &&
	       frame->ops->get_register(frame->context, number, bytes, size);
}

static void make_hole(struct mt_value *value)
{
	value->is_optimized_out = true;
	value->is_lazy = false;
}

static struct mt_error *whole_bytes(struct mt_eval *eval, const void *bytes, size_t count,
				    struct mt_value *out)
{
	uint64_t size = mt_type_size(out->type);

	mt_try(mt_value_room(eval, out, size));
	memcpy(mt_value_bytes(out), bytes, count < size ? count : size);
	return NULL;
}

static struct mt_error *whole(struct mt_eval *eval, const struct mt_piece *piece,
			      struct mt_module *module, struct mt_type *type, struct mt_value *out)
{
	*out = mt_value_zero(type);
	switch (piece->kind) {
	case MT_PIECE_MEMORY:
		*out = mt_value_at(type, piece->value);
		return NULL;
	case MT_PIECE_REGISTER: {
		uint64_t size = mt_type_size(out->type);

		if (size > 32) {
			make_hole(out);
			return NULL;
		}
		mt_try(mt_value_room(eval, out, size));
		out->lval = MT_LVAL_REGISTER;
		out->register_number = piece->register_number;
		if (!read_register(eval, piece->register_number, mt_value_bytes(out), size))
			make_hole(out);
		return NULL;
	}
	case MT_PIECE_VALUE:
		return whole_bytes(eval, &piece->value, sizeof(piece->value), out);
	case MT_PIECE_BYTES:
		return whole_bytes(eval, piece->bytes, piece->byte_count, out);
	case MT_PIECE_POINTER:
		out->is_implicit_pointer = true;
		out->implicit = mt_arena_alloc(eval->arena, sizeof(*out->implicit));
		if (!out->implicit)
			return mt_error_no_memory();
		*out->implicit = (struct mt_implicit){module, piece->die, (int64_t)piece->value};
		return NULL;
	default:
		make_hole(out);
		return mt_value_room(eval, out, mt_type_size(type));
	}
}

/* The piece's bytes into BUFFER.  False: they are nowhere. */
static bool piece_bytes(struct mt_eval *eval, const struct mt_piece *piece, uint8_t *buffer,
			size_t size, struct mt_error **error)
{
	const struct mt_expr_frame *frame = eval->frame;

	memset(buffer, 0, size);
	switch (piece->kind) {
	case MT_PIECE_MEMORY:
		*error = mt_note_memory(eval, piece->value, size);
		if (*error)
			return true;
		if (!frame->ops ||
		    frame->ops->read(frame->context, piece->value, buffer, size) != size)
			*error = mt_error_new(MT_ERROR_NOT_FOUND,
					      "Cannot access memory at address 0x%llx",
					      (unsigned long long)piece->value);
		return true;
	case MT_PIECE_REGISTER:
		return size <= 32 && read_register(eval, piece->register_number, buffer, size);
	case MT_PIECE_VALUE:
		memcpy(buffer, &piece->value, size < 8 ? size : 8);
		return true;
	case MT_PIECE_BYTES:
		memcpy(buffer, piece->bytes, size < piece->byte_count ? size : piece->byte_count);
		return true;
	default:
		return false;
	}
}

static void copy_bits(uint8_t *to, uint64_t to_bit, const uint8_t *from, uint64_t from_bit,
		      uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		bool is_set = from[(from_bit + i) / 8] >> (from_bit + i) % 8 & 1;
		uint8_t mask = (uint8_t)(1u << (to_bit + i) % 8);

		to[(to_bit + i) / 8] =
		    (uint8_t)((to[(to_bit + i) / 8] & ~mask) | (is_set ? mask : 0));
	}
}

static void make_holes(struct mt_value *value, uint64_t from_bit, uint64_t to_bit)
{
	for (uint64_t bit = from_bit; bit < to_bit; bit++)
		value->holes[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static struct mt_error *add_piece(struct mt_eval *eval, const struct mt_piece *piece,
				  uint64_t start, uint64_t bits, struct mt_value *out)
{
	uint64_t size = (piece->bit_offset + bits + 7) / 8;
	uint8_t *buffer;
	struct mt_error *error = NULL;

	if (piece->bit_offset > 1 << 20)
		return mt_error_new(MT_ERROR_FORMAT, "invalid offset of a piece in DWARF");
	buffer = mt_arena_zalloc(eval->arena, size + 1);
	if (!buffer)
		return mt_error_no_memory();
	if (piece_bytes(eval, piece, buffer, size, &error))
		copy_bits(mt_value_bytes(out), start, buffer, piece->bit_offset, bits);
	else
		make_holes(out, start, start + bits);
	return error;
}

static void note_whole_hole(struct mt_value *value, uint64_t size)
{
	for (uint64_t i = 0; i < size; i++)
		if (value->holes[i] != 0xff)
			return;
	make_hole(value);
}

struct mt_error *mt_pieces_value(struct mt_eval *eval, const struct mt_pieces *pieces,
				 struct mt_module *module, struct mt_type *type,
				 struct mt_value *out)
{
	uint64_t total, start = 0;

	if (pieces->count == 1 && !pieces->items[0].bit_size)
		return whole(eval, &pieces->items[0], module, type, out);
	*out = mt_value_zero(type);
	out->lval = MT_LVAL_PIECES;
	total = mt_type_size(type);
	mt_try(mt_value_room(eval, out, total));
	out->holes = mt_arena_zalloc(eval->arena, total + 1);
	if (!out->holes)
		return mt_error_no_memory();
	for (size_t i = 0; i < pieces->count && start < total * 8; i++) {
		const struct mt_piece *piece = &pieces->items[i];
		uint64_t bits = piece->bit_size;

		if (bits > total * 8 - start)
			bits = total * 8 - start;
		mt_try(add_piece(eval, piece, start, bits, out));
		start += bits;
	}
	make_holes(out, start, total * 8);
	note_whole_hole(out, total);
	return NULL;
}
