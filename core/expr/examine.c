/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `x`: memory as it lies there, by format, size and count. */
#include "expr/node.h"

#include <ctype.h>
#include <string.h>

#define MOST_ITEMS 100000

struct examination {
	struct mt_expr_program *program;
	struct mt_eval *eval;
	struct mt_examine_state *state;
	struct mt_str *out;
	int32_t count;
	uint64_t size; /* of an item; strings have none */
	struct mt_type *type;
};

static uint64_t size_of_letter(char size)
{
	return size == 'b' ? 1 : size == 'h' ? 2 : size == 'w' ? 4 : 8;
}

/* Whole numbers of a size, or floats. */
static struct mt_type *type_for(struct mt_expr_program *program, char letter, char size)
{
	static const uint8_t integers[] = {MT_BUILTIN_INT8, MT_BUILTIN_INT16, MT_BUILTIN_INT32,
					   MT_BUILTIN_INT64};
	unsigned which = size == 'b' ? 0 : size == 'h' ? 1 : size == 'w' ? 2 : 3;

	if (letter == 'f' && size != 'b' && size != 'h')
		return mt_type_builtin(program, size == 'w' ? MT_BUILTIN_FLOAT : MT_BUILTIN_DOUBLE);
	return mt_type_builtin(program, (enum mt_builtin)integers[which]);
}

static unsigned items_a_line(char letter, char size)
{
	if (letter == 's' || letter == 'i')
		return 1;
	if (letter == 'c')
		return 8;
	if (letter == 'a')
		return 2;
	if (letter == 't')
		return size == 'b' ? 8 : size == 'h' ? 8 : size == 'w' ? 2 : 1;
	if (letter == 'f' && size == 'g')
		return 2;
	return size == 'b' ? 8 : size == 'h' ? 8 : size == 'w' ? 4 : 2;
}

static struct mt_error *read_item(struct examination *this, struct mt_value *value)
{
	*value = mt_value_at(this->type, this->state->next);
	return mt_value_fetch(this->eval, value);
}

static void print_address(struct examination *this)
{
	mt_expr_format_code(this->program, this->state->next, this->out);
	mt_str_append(this->out, ":");
}

static struct mt_error *numbers(struct examination *this)
{
	struct mt_print print = {
	    .eval = this->eval, .settings = &this->program->user->settings, .out = this->out};
	unsigned width = items_a_line(this->state->letter, this->state->size);
	bool in_line = false;

	for (int32_t i = 0; i < this->count; i++) {
		struct mt_value value;
		struct mt_error *error;

		if (i % (int32_t)width == 0) {
			if (in_line)
				mt_str_append(this->out, "\n");
			print_address(this);
			in_line = true;
		}
		error = read_item(this, &value);
		if (error) {
			/* The line so far is shown, as GDB shows it. */
			mt_str_append(this->out, "\t");
			return error;
		}
		mt_str_append(this->out, "\t");
		struct mt_expr_format padded = {.letter = this->state->letter, .count = 1};
		uint64_t bits = 0;
		unsigned size = (unsigned)this->size;

		memcpy(&bits, mt_value_bytes(&value), size < 8 ? size : 8);
		switch (this->state->letter) {
		case 'x':
			mt_str_appendf(this->out, "0x%0*llx", (int)size * 2,
				       (unsigned long long)bits);
			break;
		case 't':
			for (unsigned bit = size * 8; bit-- > 0;)
				mt_str_append(this->out, bits >> bit & 1 ? "1" : "0");
			break;
		case 'o':
			mt_str_appendf(this->out, bits ? "0%llo" : "%llo",
				       (unsigned long long)bits);
			break;
		case 'f':
			if (value.type->kind == MT_TYPE_FLOAT)
				mt_print_float(value.type, mt_value_bytes(&value), this->out);
			else
				mt_str_appendf(this->out, "%lld",
					       (long long)mt_extend(bits, size * 8, true));
			break;
		default:
			mt_print_format(&print, &value, &padded);
		}
		this->state->next += this->size;
		this->state->last = value;
	}
	if (in_line)
		mt_str_append(this->out, "\n");
	return NULL;
}

static uint64_t string_length(struct examination *this, uint64_t address, uint64_t limit)
{
	const struct mt_expr_frame *frame = this->eval->frame;
	uint8_t byte = 1;
	uint64_t length = 0;

	while (length < limit && frame->ops &&
	       frame->ops->read(frame->context, address + length, &byte, 1) == 1) {
		length++;
		if (!byte)
			break;
	}
	return length;
}

/* Of an array or a function its own address is examined. */
static bool is_its_address(const struct mt_value *value)
{
	enum mt_type_kind kind = mt_type_strip(value->type)->kind;

	return kind == MT_TYPE_FUNCTION || (kind == MT_TYPE_ARRAY && value->lval == MT_LVAL_MEMORY);
}

static struct mt_error *find_start(struct examination *this, const struct mt_expr_frame *frame,
				   const char *text)
{
	struct mt_expr *expr = NULL;
	struct mt_value value;
	struct mt_error *error;
	uint64_t address = 0;

	mt_try(mt_expr_parse(this->program, frame, text, &expr));
	if (!expr->root) {
		mt_expr_destroy(expr);
		return NULL;
	}
	this->eval->language = expr->language;
	error = mt_eval(this->eval, expr->root, &value);
	if (!error)
		error = mt_value_unreference(this->eval, &value);
	if (!error && is_its_address(&value))
		address = value.address;
	else if (!error)
		error = mt_value_get(this->eval, &value, &address);
	mt_expr_destroy(expr);
	if (!error) {
		this->state->next = address;
		this->state->any = true;
	}
	return error;
}

static struct mt_error *examine(struct examination *this)
{
	struct mt_examine_state *state = this->state;

	if (!state->any)
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument required (starting display address).");
	if (this->count > MOST_ITEMS || this->count < -MOST_ITEMS)
		return mt_error_new(MT_ERROR_USAGE, "Too many items: %d.", this->count);
	if (state->letter == 'i')
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "Instructions are shown by \"disassemble\" and \"x/i\" of "
				    "the debugger.");
	if (state->letter == 's') {
		struct mt_print print = {.eval = this->eval,
					 .settings = &this->program->user->settings,
					 .out = this->out};
		uint64_t limit = this->program->user->settings.elements
				     ? this->program->user->settings.elements
				     : MOST_ITEMS;

		for (int32_t i = 0; i < this->count; i++) {
			uint64_t length = string_length(this, this->state->next, limit);

			print_address(this);
			mt_str_append(this->out, "\t");
			mt_print_string_at(&print, mt_type_builtin(this->program, MT_BUILTIN_CHAR),
					   this->state->next, -1);
			mt_str_append(this->out, "\n");
			this->state->next += length ? length : 1;
		}
		return NULL;
	}
	this->size = size_of_letter(state->size);
	this->type = type_for(this->program, state->letter, state->size);
	if (this->count < 0) {
		this->count = -this->count;
		state->next -= this->size * (uint64_t)this->count;
	}
	return numbers(this);
}

/* $_ is where the last item was, and $__ what was there. */
static struct mt_error *note_last(struct examination *this)
{
	struct mt_type *pointer;
	struct mt_value address, *last = &this->state->last;

	if (!last->type || this->state->letter == 's')
		return NULL;
	pointer = mt_type_pointer_to(last->type);
	if (!pointer)
		return mt_error_no_memory();
	address = mt_value_integer(pointer, last->address);
	mt_try(mt_convenience_set(this->program, "_", &address));
	return mt_convenience_set(this->program, "__", last);
}

struct mt_error *mt_expr_examine(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				 const char *text, struct mt_str *out)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = program, .frame = frame, .arena = &arena};
	struct mt_expr_format format = {.count = 1};
	struct examination this = {
	    .program = program, .eval = &eval, .state = &program->user->examine, .out = out};
	struct mt_error *error = NULL;

	while (isspace((unsigned char)*text))
		text++;
	if (*text == '/')
		mt_try(mt_expr_format_parse(text + 1, &format, &text));
	/* Defaults of before hold where nothing is said. */
	if (format.letter)
		this.state->letter = format.letter;
	if (format.size)
		this.state->size = format.size;
	if (!this.state->letter)
		this.state->letter = 'x';
	if (format.letter == 'a' && !format.size)
		this.state->size = 'g';
	if (format.letter == 'c' && !format.size)
		this.state->size = 'b';
	if (format.letter == 'f' && !format.size && this.state->size != 'w')
		this.state->size = 'g';
	if (!this.state->size)
		this.state->size = 'w';
	this.count = format.count;
	error = find_start(&this, frame, text);
	if (!error)
		error = examine(&this);
	if (!error)
		error = note_last(&this);
	mt_arena_deinit(&arena);
	return error ? error : out->failed ? mt_error_no_memory() : NULL;
}
