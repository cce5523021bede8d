/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls with the same values come by the thousand: the last answer is kept. */
#include "query/value_test.h"

#include "base/hash.h"
#include "base/str.h"
#include "expr/expr.h"

#include <ctype.h>
#include <string.h>

struct mt_value_test {
	const char *expression; /* lent */
	struct mt_space_pool *pool;
	struct mt_space *space;
	struct mt_expr_program *program;
	struct mt_str text; /* with values in the places of names */
	struct mt_str last_text;
	enum mt_value_truth last_truth;
	struct mt_str problem;
};

/* A piece of what is lent. */
struct piece {
	const char *text;
	size_t length;
};

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_name_part(char c)
{
	return is_name_start(c) || isdigit((unsigned char)c);
}

/* ---- What was recorded: "name=\"butter\", count=2", "{x = 1, y = 2}" ---- */

/* Behind a value: a string with its quotes and "...", or anything up to a comma. */
static const char *behind_value(const char *at)
{
	if (*at == '"') {
		for (at++; *at && *at != '"'; at++)
			at += *at == '\\' && at[1];
		at += *at == '"';
	}
	while (*at && *at != ',' && *at != '}')
		at++;
	return at;
}

/* The next of LIST into NAME and VALUE.  False: there is none. */
static bool next_value(const char **list, struct piece *name, struct piece *value)
{
	const char *at = *list + strspn(*list, "{}, ");
	const char *equals = strchr(at, '=');

	if (!*at || !equals)
		return false;
	name->text = at;
	name->length = (size_t)(equals - at);
	while (name->length && at[name->length - 1] == ' ')
		name->length--;
	value->text = equals + 1 + strspn(equals + 1, " ");
	*list = behind_value(value->text);
	value->length = (size_t)(*list - value->text);
	return true;
}

static bool find_value(const char *list, struct piece wanted, struct piece *value)
{
	struct piece name;

	while (list && next_value(&list, &name, value))
		if (name.length == wanted.length &&
		    memcmp(name.text, wanted.text, wanted.length) == 0)
			return true;
	return false;
}

/* ---- Its place in the expression ---- */

/* Numbers, strings, and of "97 'a'" the number.  Words are enumerators: numbers that are their
 * own. */
static void put_value(struct mt_str *out, struct piece value)
{
	size_t length = value.length;

	if (value.text[0] == '"') {
		while (length && value.text[length - 1] == '.')
			length--;
	} else {
		const char *blank = memchr(value.text, ' ', length);

		length = blank ? (size_t)(blank - value.text) : length;
	}
	if (length == 4 && memcmp(value.text, "true", length) == 0)
		mt_str_append(out, "1");
	else if (length == 5 && memcmp(value.text, "false", length) == 0)
		mt_str_append(out, "0");
	else if (is_name_start(value.text[0]))
		mt_str_appendf(
		    out, "%llu",
		    (unsigned long long)(mt_hash(0, value.text, length) >> 2 | 1ull << 61));
	else if (value.text[0] == '-')
		mt_str_appendf(out, "(%.*s)", (int)length, value.text);
	else
		mt_str_append_bytes(out, value.text, length);
}

/* "item->sizes[0].x": as far as it could be a name of a value's. */
static size_t longest_name(const char *at)
{
	size_t length = 0;

	for (;;) {
		while (is_name_part(at[length]))
			length++;
		if (at[length] == '[' && isdigit((unsigned char)at[length + 1])) {
			size_t digits = strspn(at + length + 1, "0123456789");

			if (at[length + 1 + digits] != ']')
				return length;
			length += digits + 2;
		} else if (at[length] == '.' && is_name_start(at[length + 1])) {
			length++;
		} else if ((strncmp(at + length, "->", 2) == 0 ||
			    strncmp(at + length, "::", 2) == 0) &&
			   is_name_start(at[length + 2])) {
			length += 2;
		} else {
			return length;
		}
	}
}

static bool is_compared(const char *start, const char *name, size_t length)
{
	const char *behind = name + length + strspn(name + length, " ");

	while (name > start && name[-1] == ' ')
		name--;
	return strncmp(behind, "==", 2) == 0 || strncmp(behind, "!=", 2) == 0 ||
	       (name - start >= 2 && name[-1] == '=' && (name[-2] == '=' || name[-2] == '!'));
}

static bool has_enumerator(const char *list)
{
	struct piece name, value;

	while (list && next_value(&list, &name, &value))
		if (is_name_start(value.text[0]) && strncmp(value.text, "true", 4) != 0 &&
		    strncmp(value.text, "false", 5) != 0)
			return true;
	return false;
}

static bool put_name(struct mt_value_test *test, const struct mt_value_test_call *call,
		     struct piece name)
{
	struct piece value;

	if (find_value(call->arguments, name, &value)) {
		put_value(&test->text, value);
		return true;
	}
	if ((has_enumerator(call->arguments) ||
	     (call->result && (has_enumerator(call->result) || is_name_start(*call->result)))) &&
	    is_compared(test->expression, name.text, name.length)) {
		put_value(&test->text, name);
		return true;
	}
	mt_str_clear(&test->problem);
	mt_str_appendf(&test->problem, "\"%.*s\" was not recorded", (int)name.length, name.text);
	return false;
}

/* "$_ret", "$_ret.x": *LENGTH is what it takes. */
static bool put_result(struct mt_value_test *test, const struct mt_value_test_call *call,
		       size_t length, const char *at)
{
	struct piece value = {call->result, call->result ? strlen(call->result) : 0};
	struct piece part = {at + 6, length - 6};

	if (call->result &&
	    (length == 5 ? *call->result != '{' : find_value(call->result, part, &value))) {
		put_value(&test->text, value);
		return true;
	}
	mt_str_clear(&test->problem);
	mt_str_append(&test->problem, "what was returned was not recorded");
	return false;
}

static const char *behind_quotes(const char *at)
{
	const char quote = *at;

	for (at++; *at && *at != quote; at++)
		at += *at == '\\' && at[1];
	return at + (*at == quote);
}

/* False: a value is not known. */
static bool fill_in(struct mt_value_test *test, const struct mt_value_test_call *call)
{
	bool is_known = true;
	const char *at = test->expression;

	mt_str_clear(&test->text);
	while (*at && is_known) {
		const char *end = at + 1;

		if (*at == '"' || *at == '\'') {
			end = behind_quotes(at);
			mt_str_append_bytes(&test->text, at, (size_t)(end - at));
		} else if (*at == '$') {
			end = at + 1 + longest_name(at + 1);
			if (strncmp(at, "$_ret", 5) == 0 && (end == at + 5 || at[5] == '.'))
				is_known = put_result(test, call, (size_t)(end - at), at);
			else
				mt_str_append_bytes(&test->text, at, (size_t)(end - at));
		} else if (is_name_start(*at)) {
			end = at + longest_name(at);
			is_known = put_name(test, call, (struct piece){at, (size_t)(end - at)});
		} else if (isdigit((unsigned char)*at)) {
			while (is_name_part(*end) || *end == '.')
				end++;
			mt_str_append_bytes(&test->text, at, (size_t)(end - at));
		} else {
			mt_str_append_bytes(&test->text, at, 1);
		}
		at = end;
	}
	return is_known;
}

/* ---- Evaluation ---- */

static size_t read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context, (void)address, (void)buffer, (void)size;
	return 0;
}

static bool get_no_register(void *context, unsigned number, void *bytes, size_t size)
{
	(void)context, (void)number, (void)bytes, (void)size;
	return false;
}

static bool get_no_cfa(void *context, uint64_t *cfa)
{
	(void)context, (void)cfa;
	return false;
}

static const struct mt_expr_ops no_process = {
    .read = read_nothing,
    .get_register = get_no_register,
    .get_cfa = get_no_cfa,
};

static struct mt_error *parse_and_test(struct mt_value_test *test, const char *text, bool *is_true)
{
	const struct mt_expr_frame frame = {.ops = &no_process};
	struct mt_expr *expr = NULL;
	struct mt_error *error = mt_expr_parse(test->program, &frame, text, &expr);

	if (!error)
		error = mt_expr_check_alone(expr);
	if (!error)
		error = mt_expr_is_true(expr, &frame, is_true);
	mt_expr_destroy(expr);
	return error;
}

struct mt_error *mt_value_test_call(struct mt_value_test *test,
				    const struct mt_value_test_call *call,
				    enum mt_value_truth *truth)
{
	bool is_true = false;

	*truth = MT_VALUE_TRUTH_UNKNOWN;
	if (!fill_in(test, call))
		return test->problem.failed ? mt_error_no_memory() : NULL;
	if (test->text.failed)
		return mt_error_no_memory();
	if (test->last_text.length == test->text.length && test->text.length &&
	    memcmp(test->last_text.text, test->text.text, test->text.length) == 0) {
		*truth = test->last_truth;
		return NULL;
	}
	struct mt_error *error = parse_and_test(test, test->text.text, &is_true);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	if (error) {
		mt_str_clear(&test->problem);
		mt_str_append(&test->problem, mt_error_message(error));
		mt_error_destroy(error);
	} else {
		*truth = is_true ? MT_VALUE_TRUTH_TRUE : MT_VALUE_TRUTH_FALSE;
	}
	mt_str_clear(&test->last_text);
	mt_str_append_bytes(&test->last_text, test->text.text, test->text.length);
	test->last_truth = *truth;
	return test->last_text.failed ? mt_error_no_memory() : NULL;
}

const char *mt_value_test_problem(const struct mt_value_test *test)
{
	return test->problem.text ? test->problem.text : "";
}

/* ---- Its life ---- */

/* With a number in the place of each name it has to be an expression. */
static struct mt_error *check(struct mt_value_test *test)
{
	mt_auto(mt_str) struct mt_str text = {0};
	const struct mt_expr_frame frame = {.ops = &no_process};
	struct mt_expr *expr = NULL;

	for (const char *at = test->expression, *end; *at; at = end) {
		end = at + 1;
		if (*at == '"' || *at == '\'')
			end = behind_quotes(at);
		else if (is_name_start(*at) || *at == '$')
			end = at + 1 + longest_name(at + 1);
		else
			while (isdigit((unsigned char)*at) && (is_name_part(*end) || *end == '.'))
				end++;
		if (is_name_start(*at) || strncmp(at, "$_ret", 5) == 0) {
			if (end[strspn(end, " ")] == '(')
				return mt_error_new(MT_ERROR_USAGE,
						    "%.*s: no functions can be called in a "
						    "recording",
						    (int)(end - at), at);
			mt_str_append(&text, "1");
		} else {
			mt_str_append_bytes(&text, at, (size_t)(end - at));
		}
	}
	if (text.failed)
		return mt_error_no_memory();
	struct mt_error *error =
	    mt_expr_parse(test->program, &frame, text.text ? text.text : "", &expr);
	if (!error)
		error = mt_expr_check_alone(expr);
	mt_expr_destroy(expr);
	if (!error || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	mt_error_destroy(error);
	return mt_error_new(MT_ERROR_USAGE, "\"%s\" is no expression", test->expression);
}

struct mt_error *mt_value_test_create(const char *expression, struct mt_value_test **out)
{
	struct mt_value_test *test = calloc(1, sizeof(*test));
	struct mt_error *error = test ? NULL : mt_error_no_memory();

	*out = NULL;
	if (!error) {
		test->expression = expression;
		error = mt_space_pool_create(NULL, &test->pool);
	}
	if (!error)
		error = mt_space_create(test->pool, 0, &test->space);
	if (!error)
		error = mt_expr_program_create(test->space, &test->program);
	if (!error)
		error = check(test);
	if (error)
		mt_value_test_destroy(test);
	else
		*out = test;
	return error;
}

void mt_value_test_destroy(struct mt_value_test *test)
{
	if (!test)
		return;
	mt_expr_program_destroy(test->program);
	mt_space_destroy(test->space);
	mt_space_pool_destroy(test->pool);
	mt_str_deinit(&test->text);
	mt_str_deinit(&test->last_text);
	mt_str_deinit(&test->problem);
	free(test);
}
