/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/spec/span.h"

#include <string.h>

/* The end of what begins with the bracket at AT; AT itself: it has none, like that of
 * `operator<`. */
static const char *skip_brackets(const char *at, const char *end)
{
	static const char brackets[] = "()[]{}<>";
	const char *open = strchr(brackets, *at);
	size_t depth = 0;

	if (!open || (open - brackets) % 2)
		return at;
	for (const char *close = at; close < end; close++) {
		depth += *close == open[0];
		if (*close == open[1] && --depth == 0)
			return close;
	}
	return at;
}

/* Likewise of a quote, and of an operator's own signs. */
static const char *skip_piece(const char *text, const char *at, const char *end)
{
	static const char word[] = "operator";
	const size_t length = sizeof(word) - 1;

	if (*at == '"' || *at == '\'') {
		const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));

		return close ? close : at;
	}
	if ((size_t)(at - text) >= length && strncmp(at - length, word, length) == 0) {
		while (at + 1 < end && strchr("<>=-", *at) && strchr("<>=", at[1]))
			at++;
		if (strchr("<>", *at))
			return at;
	}
	return skip_brackets(at, end);
}

const char *mt_trigger_split(const char *text, size_t length)
{
	const char *end = text + length;

	for (const char *at = text; at < end; at++) {
		if (*at != '.') {
			at = skip_piece(text, at, end);
			continue;
		}
		size_t dots = 0;
		while (at + dots < end && at[dots] == '.')
			dots++;
		const int is_directory = at + dots < end && at[dots] == '/';
		if ((dots == 2 && !is_directory) || (dots == 4 && is_directory))
			return at + 2;
		at += dots - 1;
	}
	return NULL;
}

/* "BEGIN..END", of which the second is OUT's location by now, and its time that of calls. */
static struct mt_error *make_range(struct mt_trigger_spec *out)
{
	if (out->span_ns)
		return mt_error_new(MT_ERROR_USAGE,
				    "\"after\" and -between are about one place, and this is from "
				    "one to another: \"%s..%s > TIME\"",
				    out->begin, out->location);
	if (!*out->begin || !*out->location ||
	    mt_trigger_split(out->location, strlen(out->location)))
		return mt_error_new(MT_ERROR_USAGE, "\"..\" stands between two places, as in "
						    "\"begin..end > 5ms\"");
	if (!out->slower_ns)
		return mt_error_new(MT_ERROR_USAGE,
				    "from one place to another it is the time that counts, as in "
				    "\"%s..%s > 5ms\"",
				    out->begin, out->location);
	if (strcmp(out->begin, out->location) == 0)
		return mt_error_new(MT_ERROR_USAGE, "both places are the same: \"%s after TIME\"",
				    out->location);
	out->span_ns = out->slower_ns;
	out->slower_ns = 0;
	return NULL;
}

struct mt_error *mt_trigger_check_span(struct mt_trigger_spec *spec)
{
	if (spec->begin)
		mt_try(make_range(spec));
	if (!spec->span_ns)
		return NULL;
	if (spec->at_return)
		return mt_error_new(MT_ERROR_USAGE, "a time between places ends where a function "
						    "begins, not at its return");
	if (spec->slower_ns)
		return mt_error_new(MT_ERROR_USAGE, "\"> TIME\" is about how long a call takes, "
						    "\"after\" and -between about what is between "
						    "two: only one of them is possible");
	bool wants_result = spec->condition && strstr(spec->condition, "$_ret");
	mt_array_each (expression, &spec->expressions)
		wants_result |= strstr(*expression, "$_ret") != NULL;
	return wants_result ? mt_error_new(MT_ERROR_USAGE,
					   "$_ret is known when a function returns, and not where "
					   "a time between places ends")
			    : NULL;
}

enum mt_engine_span mt_trigger_span(const struct mt_trigger_spec *spec, bool is_begin)
{
	if (!spec->span_ns)
		return MT_ENGINE_SPAN_NONE;
	if (!spec->begin)
		return MT_ENGINE_SPAN_AGAIN;
	return is_begin ? MT_ENGINE_SPAN_BEGIN : MT_ENGINE_SPAN_END;
}

uint64_t mt_trigger_span_ns(const struct mt_trigger_spec *spec)
{
	return spec->span_ns && !spec->begin ? spec->span_ns - 1 : spec->span_ns;
}
