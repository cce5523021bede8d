/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convenience functions as GDB has them: $_streq, $_strlen, $_memeq, $_regex.  Source: GDB's
 * manual, "Convenience Functions". */
#include "expr/node.h"

#include "base/hash.h"
#include "base/str.h"
#include "expr/regex.h"
#include "runtime/python_text.h"

#include <string.h>

#define CHUNK        256u
#define CONTINUATION 0x80 /* of a character in UTF-8: the highest two bits */

static const struct named {
	const char *name;
	unsigned arguments;
} functions[] = {
    [MT_NAMED_STREQ] = {"_streq", 2},
    [MT_NAMED_STRLEN] = {"_strlen", 1},
    [MT_NAMED_MEMEQ] = {"_memeq", 3},
    [MT_NAMED_REGEX] = {"_regex", 2},
    [MT_NAMED_PYTHON_HASH] = {"_mtrace_python_hash", 1},
};

enum mt_named_function mt_named_function_of_name(const char *name)
{
	for (size_t i = 1; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (strcmp(name, functions[i].name) == 0)
			return (enum mt_named_function)i;
	return MT_NAMED_NONE;
}

enum mt_named_function mt_named_function_of(const struct mt_node *node)
{
	return node->kind == MT_NODE_CALL && node->left->kind == MT_NODE_CONVENIENCE
		   ? mt_named_function_of_name(node->left->name)
		   : MT_NAMED_NONE;
}

struct mt_error *mt_check_arguments(const struct mt_node *node)
{
	const struct named *function = &functions[mt_named_function_of(node)];
	unsigned count = 0;

	for (const struct mt_node *argument = node->right; argument; argument = argument->next)
		count++;
	if (count == function->arguments)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "$%s requires %u argument%s.", function->name,
			    function->arguments, function->arguments == 1 ? "" : "s");
}

struct mt_error *mt_check_string(struct mt_type *type, uint64_t *most)
{
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_type *stripped = mt_type_strip(type);
	struct mt_type *target =
	    stripped->kind == MT_TYPE_POINTER || stripped->kind == MT_TYPE_ARRAY
		? mt_type_strip(mt_type_target(stripped))
		: NULL;

	*most = stripped->kind == MT_TYPE_ARRAY && stripped->count >= 0 ? (uint64_t)stripped->count
									: MT_MOST_STRING_BYTES;
	if (target && target->kind == MT_TYPE_CHAR && mt_type_size(target) == 1)
		return NULL;
	mt_type_name(type, NULL, &name);
	return mt_error_new(MT_ERROR_USAGE, "Trying to read string with inappropriate type `%s'.",
			    name.text ? name.text : "");
}

/* Without the NUL. */
static struct mt_error *read_string(struct mt_eval *eval, const struct mt_node *node,
				    struct mt_str *out)
{
	struct mt_value value;
	uint64_t most, address;
	char bytes[CHUNK];

	mt_try(mt_eval(eval, node, &value));
	mt_try(mt_check_string(value.type, &most));
	if (mt_type_strip(value.type)->kind == MT_TYPE_ARRAY && value.lval != MT_LVAL_MEMORY) {
		mt_try(mt_value_need(eval, &value));
		const char *text = (const char *)mt_value_bytes(&value);
		mt_str_append_bytes(out, text, strnlen(text, most));
		return out->failed ? mt_error_no_memory() : NULL;
	}
	address = value.address;
	if (mt_type_strip(value.type)->kind == MT_TYPE_POINTER)
		mt_try(mt_value_get(eval, &value, &address));
	/* No page is touched behind the one that has the NUL. */
	for (uint64_t done = 0, size; done < most; done += size) {
		size = CHUNK - (address + done) % CHUNK;
		size = size < most - done ? size : most - done;
		mt_try(mt_value_read(eval, address + done, bytes, size));
		const size_t length = strnlen(bytes, size);
		mt_str_append_bytes(out, bytes, length);
		if (length < size)
			break;
	}
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *streq(struct mt_eval *eval, const struct mt_node *node, bool *equal)
{
	mt_auto(mt_str) struct mt_str left = {0}, right = {0};

	mt_try(read_string(eval, node->right, &left));
	mt_try(read_string(eval, node->right->next, &right));
	*equal = left.length == right.length &&
		 (!left.length || memcmp(left.text, right.text, left.length) == 0);
	return NULL;
}

/* In characters, as Python counts them. */
static struct mt_error *string_length(struct mt_eval *eval, const struct mt_node *node,
				      uint64_t *length)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_try(read_string(eval, node->right, &text));
	*length = 0;
	for (size_t i = 0; i < text.length; i++)
		*length += (text.text[i] & 0xc0) != CONTINUATION;
	return NULL;
}

/* SIZE bytes, at what the argument points to. */
static struct mt_error *read_bytes(struct mt_eval *eval, const struct mt_node *node, uint64_t size,
				   struct mt_str *out)
{
	struct mt_value value;
	char bytes[CHUNK];
	uint64_t address;

	mt_try(mt_eval(eval, node, &value));
	const bool is_array = mt_type_strip(value.type)->kind == MT_TYPE_ARRAY;
	if (is_array && value.lval != MT_LVAL_MEMORY) { /* a literal */
		mt_try(mt_value_need(eval, &value));
		if (mt_type_size(value.type) < size)
			return mt_error_new(MT_ERROR_USAGE, "$_memeq: the literal is shorter.");
		mt_str_append_bytes(out, (const char *)mt_value_bytes(&value), size);
		return out->failed ? mt_error_no_memory() : NULL;
	}
	address = value.address;
	if (!is_array)
		mt_try(mt_value_get(eval, &value, &address));
	for (uint64_t done = 0; done < size; done += CHUNK) {
		const uint64_t part = size - done < CHUNK ? size - done : CHUNK;

		mt_try(mt_value_read(eval, address + done, bytes, part));
		mt_str_append_bytes(out, bytes, part);
	}
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *memeq(struct mt_eval *eval, const struct mt_node *node, bool *equal)
{
	mt_auto(mt_str) struct mt_str left = {0}, right = {0};
	const struct mt_node *other = node->right->next;
	struct mt_value value;
	uint64_t size;

	mt_try(mt_eval(eval, other->next, &value));
	mt_try(mt_value_get(eval, &value, &size));
	if ((int64_t)size < 0)
		return mt_error_new(MT_ERROR_USAGE, "length must be non-negative");
	if (size > MT_MOST_STRING_BYTES)
		return mt_error_new(MT_ERROR_USAGE, "$_memeq compares at most %u bytes.",
				    MT_MOST_STRING_BYTES);
	mt_try(read_bytes(eval, node->right, size, &left));
	mt_try(read_bytes(eval, other, size, &right));
	*equal = !size || memcmp(left.text, right.text, size) == 0;
	return NULL;
}

/* Of the str at an address. */
static struct mt_error *python_hash(struct mt_eval *eval, const struct mt_node *node, uint64_t *out)
{
	uint8_t header[MT_PYTHON_TEXT_ASCII], characters[MT_TEXT_HASH_BYTES];
	struct mt_value value;
	uint64_t at, length;

	mt_try(mt_eval(eval, node->right, &value));
	mt_try(mt_value_get(eval, &value, &at));
	mt_try(mt_value_read(eval, at, header, sizeof(header)));
	memcpy(&length, header + MT_PYTHON_TEXT_LENGTH, sizeof(length));
	const uint8_t state = header[MT_PYTHON_TEXT_STATE];
	const uint64_t size =
	    length * (state >> MT_PYTHON_TEXT_KIND_BIT & MT_PYTHON_TEXT_KIND_MASK);
	at += state >> MT_PYTHON_TEXT_ASCII_BIT & 1 ? MT_PYTHON_TEXT_ASCII : MT_PYTHON_TEXT_OTHER;
	mt_try(mt_value_read(eval, at, characters,
			     size < sizeof(characters) ? size : sizeof(characters)));
	*out = mt_text_hash(characters, size);
	return NULL;
}

static struct mt_error *compile_pattern(const struct mt_str *pattern, struct mt_regex *out)
{
	return mt_error_wrap(mt_regex_compile(pattern->text ? pattern->text : "", out), "$_regex");
}

struct mt_error *mt_literal_pattern(const struct mt_node *node, struct mt_regex *out)
{
	mt_auto(mt_str) struct mt_str pattern = {0};
	struct mt_value value = node->value;
	uint64_t most;

	mt_try(mt_check_string(value.type, &most));
	const char *text = (const char *)mt_value_bytes(&value);
	mt_str_append_bytes(&pattern, text, strnlen(text, mt_type_size(value.type)));
	return pattern.failed ? mt_error_no_memory() : compile_pattern(&pattern, out);
}

/* Whether the string's beginning is what the pattern describes. */
static struct mt_error *matches(struct mt_eval *eval, const struct mt_node *node, bool *is_match)
{
	mt_auto(mt_str) struct mt_str text = {0}, pattern = {0};
	mt_auto(mt_regex) struct mt_regex regex = {0};

	mt_try(read_string(eval, node->right, &text));
	mt_try(read_string(eval, node->right->next, &pattern));
	mt_try(compile_pattern(&pattern, &regex));
	const enum mt_regex_answer answer = mt_regex_match(&regex, text.text ? text.text : "");
	*is_match = answer == MT_REGEX_YES;
	return answer == MT_REGEX_UNDECIDED
		   ? mt_error_new(MT_ERROR_UNSUPPORTED, "$_regex: %s", MT_REGEX_WHY_UNDECIDED)
		   : NULL;
}

struct mt_error *mt_eval_named_function(struct mt_eval *eval, const struct mt_node *node,
					struct mt_value *out)
{
	bool equal = false;
	uint64_t number;

	mt_try(mt_check_arguments(node));
	switch (mt_named_function_of(node)) {
	case MT_NAMED_STREQ:
		mt_try(streq(eval, node, &equal));
		break;
	case MT_NAMED_MEMEQ:
		mt_try(memeq(eval, node, &equal));
		break;
	case MT_NAMED_REGEX:
		mt_try(matches(eval, node, &equal));
		break;
	case MT_NAMED_PYTHON_HASH:
		mt_try(python_hash(eval, node, &number));
		*out = mt_value_integer(mt_type_builtin(eval->program, MT_BUILTIN_ULONG), number);
		return NULL;
	default:
		mt_try(string_length(eval, node, &number));
		*out = mt_value_integer(mt_type_builtin(eval->program, MT_BUILTIN_INT), number);
		return NULL;
	}
	*out = mt_eval_bool(eval, equal);
	return NULL;
}
