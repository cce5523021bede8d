/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/pattern.h"

#include "base/array.h"
#include "base/str.h"
#include "elf/objfile.h"

#include <ctype.h>
#include <string.h>

enum { NOT_ASKED, FITS, FITS_NOT };

struct mt_pattern {
	char *function;
	char *expression; /* NULL: any values */
	struct mt_value_test *test;
	uint64_t longer_ns, shorter_ns; /* UINT64_MAX: however long */
	MT_ARRAY(uint8_t) by_function;  /* by its id */
};

static void trim(char *text)
{
	size_t length = strlen(text), blanks = strspn(text, " ");

	while (length > blanks && text[length - 1] == ' ')
		length--;
	memmove(text, text + blanks, length - blanks);
	text[length - blanks] = '\0';
}

/* "… > 5ms" at the end: takes it away. */
static struct mt_error *take_limit(struct mt_pattern *pattern, char *text)
{
	char *sign = strrchr(text, ' ');
	uint64_t ns;

	while (sign && sign > text && *sign == ' ')
		sign--;
	if (!sign || sign == text || (*sign != '>' && *sign != '<') || strchr(sign, ')') ||
	    (sign[-1] != ' ' && sign[-1] != ')'))
		return NULL;
	mt_try(mt_parse_duration(sign + 1 + strspn(sign + 1, " "), &ns));
	if (*sign == '>')
		pattern->longer_ns = ns;
	else
		pattern->shorter_ns = ns;
	*sign = '\0';
	trim(text);
	return NULL;
}

/* The '(' of the ')' at the end. */
static char *opening(char *text, char *end)
{
	int depth = 0;
	char quote = 0;
	char *first = NULL;

	for (char *at = text; at <= end; at++) {
		if (quote) {
			at += *at == '\\' && at < end;
			quote = *at == quote ? 0 : quote;
		} else if (*at == '"' || (*at == '\'' && depth)) {
			quote = *at;
		} else if (*at == '(' && !depth++) {
			first = at;
		} else if (*at == ')' && depth) {
			depth--;
		}
	}
	return depth ? NULL : first;
}

/* "f(x > 3)" to its parts; "operator()" has none. */
static void take_expression(struct mt_pattern *pattern, char *text)
{
	size_t length = strlen(text);
	char *open = length && text[length - 1] == ')' ? opening(text, text + length - 1) : NULL;

	if (!open || open == text || !open[1 + strspn(open + 1, " ")] || open[1] == ')')
		return;
	text[length - 1] = *open = '\0';
	pattern->expression = open + 1;
	trim(pattern->expression);
	trim(text);
}

static struct mt_error *parse(struct mt_pattern *pattern)
{
	trim(pattern->function);
	mt_try(take_limit(pattern, pattern->function));
	mt_try(take_limit(pattern, pattern->function));
	take_expression(pattern, pattern->function);
	if (!*pattern->function)
		return mt_error_new(MT_ERROR_USAGE, "no function is named");
	if (pattern->expression && *pattern->expression)
		return mt_value_test_create(pattern->expression, &pattern->test);
	return NULL;
}

struct mt_error *mt_pattern_create(const char *text, struct mt_pattern **out)
{
	struct mt_pattern *pattern = calloc(1, sizeof(*pattern));

	*out = NULL;
	if (!pattern)
		return mt_error_no_memory();
	pattern->shorter_ns = UINT64_MAX;
	pattern->function = strdup(text);
	struct mt_error *error = pattern->function ? parse(pattern) : mt_error_no_memory();
	if (error)
		mt_pattern_destroy(pattern);
	else
		*out = pattern;
	return error;
}

void mt_pattern_destroy(struct mt_pattern *pattern)
{
	if (!pattern)
		return;
	mt_value_test_destroy(pattern->test);
	mt_array_deinit(&pattern->by_function);
	free(pattern->function);
	free(pattern);
}

bool mt_pattern_fits_function(struct mt_pattern *pattern, const struct mt_function *function)
{
	while (pattern->by_function.count <= function->id)
		if (mt_array_push(&pattern->by_function, (uint8_t)NOT_ASKED))
			return mt_function_matches(function, pattern->function);
	uint8_t *known = &pattern->by_function.items[function->id];
	if (*known == NOT_ASKED)
		*known = mt_function_matches(function, pattern->function) ? FITS : FITS_NOT;
	return *known == FITS;
}

struct mt_error *mt_pattern_fits_call(struct mt_pattern *pattern, const struct mt_slice *slice,
				      const struct mt_slice_end *end, enum mt_value_truth *truth)
{
	const struct mt_value_test_call call = {slice->arguments, end->result};
	const uint64_t duration_ns = end->time_ns - slice->time_ns;
	const bool is_partial = slice->flags & MT_SLICE_INFERRED ||
				end->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST);

	*truth = MT_VALUE_TRUTH_FALSE;
	if ((pattern->longer_ns && duration_ns <= pattern->longer_ns) ||
	    (pattern->shorter_ns != UINT64_MAX &&
	     (is_partial || duration_ns >= pattern->shorter_ns)))
		return NULL;
	*truth = MT_VALUE_TRUTH_TRUE;
	return pattern->test ? mt_value_test_call(pattern->test, &call, truth) : NULL;
}

const char *mt_pattern_function(const struct mt_pattern *pattern)
{
	return pattern->function;
}

const char *mt_pattern_problem(const struct mt_pattern *pattern)
{
	return pattern->test ? mt_value_test_problem(pattern->test) : "";
}
