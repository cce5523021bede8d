/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/spec/trigger.h"
#include "session/spec/span.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"
#define SECOND 1000000000ull

void mt_trigger_spec_deinit(struct mt_trigger_spec *spec)
{
	mt_array_each (expression, &spec->expressions)
		free(*expression);
	mt_array_deinit(&spec->expressions);
	free(spec->location);
	free(spec->begin);
	free(spec->condition);
	*spec = (struct mt_trigger_spec){0};
}

/* The `if` behind a location, outside of quotes and parentheses; NULL: none. */
static const char *find_condition(const char *text)
{
	int depth = 0;

	for (const char *at = text; *at; at++) {
		const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;

		at = end ? end : at;
		depth += (*at == '(') - (*at == ')');
		if (depth == 0 && (at == text || strchr(BLANKS, at[-1])) &&
		    strncmp(at, "if", 2) == 0 && (!at[2] || strchr(BLANKS "(", at[2])))
			return at;
	}
	return NULL;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

static size_t length_without_blanks(const char *text, size_t length)
{
	while (length && strchr(BLANKS, text[length - 1]))
		length--;
	return length;
}

/* ---- Options ---- */

/* "5/s", "10/m"; "5" is a second's. */
static struct mt_error *take_rate(const char *value, struct mt_trigger_spec *spec)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"", SECOND}, {"/s", SECOND}, {"/m", 60 * SECOND}, {"/h", 3600 * SECOND}};
	const size_t length = strcspn(value, "/");
	char *number = strndup(value, length);
	uint64_t count = 0, unit_ns = 0;

	if (!number)
		return mt_error_no_memory();
	struct mt_error *error = mt_parse_number(number, "rate", 1, 1000000, &count);
	free(number);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(value + length, units[i].name) == 0)
			unit_ns = units[i].ns;
	if (error)
		return error;
	if (!unit_ns)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "invalid rate \"%s\": must be COUNT/s, or /m or /h for a minute or an hour",
		    value);
	spec->limits.interval_ns = unit_ns / count;
	return NULL;
}

static struct mt_error *take_max(const char *value, struct mt_trigger_spec *spec)
{
	return mt_parse_number(value, "number of snapshots", 1, UINT32_MAX, &spec->most);
}

static struct mt_error *take_ignore(const char *value, struct mt_trigger_spec *spec)
{
	return mt_parse_number(value, "number of hits to ignore", 0, INT64_MAX,
			       &spec->limits.ignore);
}

static struct mt_error *take_every(const char *value, struct mt_trigger_spec *spec)
{
	return mt_parse_number(value, "number of hits", 1, INT64_MAX, &spec->limits.every);
}

static struct mt_error *take_slower(const char *value, struct mt_trigger_spec *spec)
{
	return mt_parse_duration(value, &spec->slower_ns);
}

static struct mt_error *take_between(const char *value, struct mt_trigger_spec *spec)
{
	return mt_parse_duration(value, &spec->span_ns);
}

static struct mt_error *take_print(const char *value, struct mt_trigger_spec *spec)
{
	char *copy = strdup(value);

	if (copy && !mt_array_push(&spec->expressions, copy))
		return NULL;
	free(copy);
	return mt_error_no_memory();
}

static const struct option {
	const char *name;
	struct mt_error *(*take)(const char *value, struct mt_trigger_spec *spec); /* NULL: none */
	bool is_debuggers;
} options[] = {
    {"-max", take_max, false},         {"-ignore", take_ignore, false},
    {"-every", take_every, false},     {"-rate", take_rate, false},
    {"-return", NULL, false},          {"-slower", take_slower, false},
    {"-between", take_between, false}, {"-stop", NULL, true},
    {"-print", take_print, false},     {"-pending", NULL, true},
};

/* NULL: at none. */
static const struct option *option_at(const char *at)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const size_t length = strlen(options[i].name);

		if (strncmp(at, options[i].name, length) == 0 &&
		    (!at[length] || strchr(BLANKS, at[length])))
			return &options[i];
	}
	return NULL;
}

static struct mt_error *take_option(const struct option *option, const char **at, bool for_debugger,
				    struct mt_trigger_spec *spec)
{
	*at = skip_blanks(*at + strlen(option->name));
	if (option->is_debuggers && !for_debugger)
		return mt_error_new(
		    MT_ERROR_USAGE, "%s is for a debugger's \"mtrace trigger\"%s", option->name,
		    strcmp(option->name, "-pending") == 0 ? ": --pending is the option of mtdb"
							  : "");
	if (!option->take) {
		spec->at_return |= strcmp(option->name, "-return") == 0;
		spec->stops |= strcmp(option->name, "-stop") == 0;
		spec->is_pending |= strcmp(option->name, "-pending") == 0;
		return NULL;
	}
	const char quote = **at == '"' || **at == '\'' ? **at : 0;
	const char ends[] = {quote, '\0'}, *start = *at + (quote != 0);
	const size_t length = strcspn(start, quote ? ends : BLANKS);
	if (!**at)
		return mt_error_new(MT_ERROR_USAGE, "%s requires a value", option->name);
	if (quote && !start[length])
		return mt_error_new(MT_ERROR_USAGE, "the value of %s has no closing %c",
				    option->name, quote);
	char *value = strndup(start, length);
	if (!value)
		return mt_error_no_memory();
	*at = skip_blanks(start + length + (quote != 0));
	struct mt_error *error = option->take(value, spec);
	free(value);
	return error;
}

/* ---- What follows them ---- */

/* "> 5ms" at the end of a text: takes it off *LENGTH.  "> 5" is a condition's, where there is one.
 */
static struct mt_error *take_time(const char *text, bool has_condition, size_t *length,
				  uint64_t *slower_ns)
{
	const char *sign = memrchr(text, '>', *length);
	const char *time = sign ? skip_blanks(sign + 1) : NULL;

	if (!time || sign == text || !strchr(BLANKS, sign[-1]) || *time < '0' || *time > '9')
		return NULL;
	char *copy = strndup(time, (size_t)(text + *length - time));
	if (!copy)
		return mt_error_no_memory();
	struct mt_error *error = mt_parse_duration(copy, slower_ns);
	free(copy);
	if (!error)
		*length = length_without_blanks(text, (size_t)(sign - text));
	if (!error || !has_condition)
		return error;
	mt_error_destroy(error);
	return NULL;
}

/* "LOCATION after TIME": takes it off. */
static struct mt_error *take_after(const char *text, size_t *length, uint64_t *span_ns)
{
	static const char word[] = "after";
	const size_t word_length = sizeof(word) - 1;
	size_t time = *length;

	while (time && !strchr(BLANKS, text[time - 1]))
		time--;
	const size_t end = length_without_blanks(text, time);
	if (time == end || end <= word_length || !strchr(BLANKS, text[end - word_length - 1]) ||
	    strncmp(text + end - word_length, word, word_length) != 0)
		return NULL;
	char *copy = strndup(text + time, *length - time);
	if (!copy)
		return mt_error_no_memory();
	struct mt_error *error = mt_parse_duration(copy, span_ns);
	free(copy);
	*length = length_without_blanks(text, end - word_length);
	return error;
}

/* "LOCATION return": takes it off. */
static bool take_return(const char *text, size_t *length)
{
	static const char word[] = "return";
	const size_t word_length = sizeof(word) - 1;

	if (*length <= word_length || !strchr(BLANKS, text[*length - word_length - 1]) ||
	    strncmp(text + *length - word_length, word, word_length) != 0)
		return false;
	*length = length_without_blanks(text, *length - word_length);
	return true;
}

/* What is known at a return alone. */
static struct mt_error *check_printed(const struct mt_trigger_spec *spec)
{
	if (spec->at_return || spec->slower_ns)
		return NULL;
	mt_array_each (expression, &spec->expressions)
		if (strstr(*expression, "$_ret") || strstr(*expression, "$_duration"))
			return mt_error_new(
			    MT_ERROR_USAGE,
			    "$_ret and $_duration are known when a function returns, as in "
			    "\"-print %s %s return\"",
			    *expression, spec->location);
	return NULL;
}

static struct mt_error *check_names(const struct mt_trigger_spec *spec)
{
	mt_try(check_printed(spec));
	if (spec->at_return || !spec->condition ||
	    (!strstr(spec->condition, "$_ret") && !strstr(spec->condition, "$_duration")))
		return NULL;
	return mt_error_new(MT_ERROR_USAGE,
			    "$_ret and $_duration are known when a function returns, as in "
			    "\"%s return if %s\"",
			    spec->location, spec->condition);
}

static struct mt_error *check_options(const char *at, const char *end)
{
	for (; at < end; at = skip_blanks(at + strcspn(at, BLANKS)))
		if (option_at(at))
			return mt_error_new(MT_ERROR_USAGE,
					    "the options of a trigger precede the location");
	return NULL;
}

static struct mt_error *take_location(const char *text, size_t length, struct mt_trigger_spec *out)
{
	const char *end = mt_trigger_split(text, length);

	out->at_return |= take_return(text, &length);
	if (end) {
		const char *dots = end - 2;

		out->begin = strndup(text, length_without_blanks(text, (size_t)(dots - text)));
		if (!out->begin)
			return mt_error_no_memory();
		end = skip_blanks(end);
		length = end < text + length ? (size_t)(text + length - end) : 0;
		text = end;
	}
	out->location =
	    length == 1 && *text == '.' ? strdup(MT_TRIGGER_INDICATOR) : strndup(text, length);
	if (!out->location)
		return mt_error_no_memory();
	return NULL;
}

/* "LOCATION [return] [> TIME] [if CONDITION] [> TIME]" */
static struct mt_error *parse_rest(const char *text, struct mt_trigger_spec *out)
{
	const char *condition = find_condition(text);
	size_t length = length_without_blanks(text, strlen(text));

	mt_try(take_time(text, condition, &length, &out->slower_ns));
	size_t place = condition ? length_without_blanks(text, (size_t)(condition - text)) : length;
	if (condition)
		mt_try(take_time(text, false, &place, &out->slower_ns));
	mt_try(take_after(text, &place, &out->span_ns));
	mt_try(check_options(text, text + place));
	if (condition) {
		condition = skip_blanks(condition + 2);
		if (condition >= text + length)
			return mt_error_new(MT_ERROR_USAGE, "no condition after \"if\"");
		out->condition = strndup(condition, (size_t)(text + length - condition));
	}
	if (condition && !out->condition)
		return mt_error_no_memory();
	mt_try(take_location(text, place, out));
	mt_try(mt_trigger_check_span(out));
	return out->span_ns ? NULL : check_names(out);
}

static struct mt_error *parse(const char *text, bool for_debugger, struct mt_trigger_spec *out)
{
	const char *at = skip_blanks(text);
	const struct option *option;

	while ((option = option_at(at)))
		mt_try(take_option(option, &at, for_debugger, out));
	if (!*at || find_condition(at) == at)
		return mt_error_new(MT_ERROR_USAGE, for_debugger
							? "mtrace trigger requires a location (see "
							  "\"help mtrace trigger\")"
							: "must be FUNCTION, FILE:LINE, "
							  "*ADDRESS or *FUNCTION+OFFSET");
	/* A debugger's locations have options of their own. */
	if (*at == '-' && !for_debugger)
		return mt_error_new(MT_ERROR_USAGE, "there is no option %.*s",
				    (int)strcspn(at, BLANKS), at);
	return parse_rest(at, out);
}

struct mt_error *mt_trigger_spec_parse(const char *text, bool for_debugger,
				       struct mt_trigger_spec *out)
{
	*out = (struct mt_trigger_spec){0};
	struct mt_error *error = parse(text, for_debugger, out);

	if (!error)
		return NULL;
	mt_trigger_spec_deinit(out);
	if (for_debugger || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	struct mt_error *whole = mt_error_new(MT_ERROR_TRIGGER, "invalid trigger \"%s\": %s", text,
					      mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

bool mt_trigger_wants_duration(const struct mt_trigger_spec *spec)
{
	mt_array_each (expression, &spec->expressions)
		if (strstr(*expression, "$_duration"))
			return true;
	return spec->condition && strstr(spec->condition, "$_duration");
}

/* " > 5ms" */
static void append_time(struct mt_str *out, const char *sign, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned unit = 0;

	for (; ns % 1000 == 0 && unit < 3; unit++)
		ns /= 1000;
	mt_str_appendf(out, " %s %llu%s", sign, (unsigned long long)ns, units[unit]);
}

void mt_trigger_spec_describe(const struct mt_trigger_spec *spec, struct mt_str *out)
{
	if (spec->begin)
		mt_str_appendf(out, "%s..", spec->begin);
	mt_str_append(out, spec->location);
	if (spec->at_return)
		mt_str_append(out, " return");
	if (spec->span_ns)
		append_time(out, spec->begin ? ">" : "after", spec->span_ns);
	if (spec->condition)
		mt_str_appendf(out, " if %s", spec->condition);
	if (spec->slower_ns)
		append_time(out, ">", spec->slower_ns);
}

/* ---- Limits ---- */

bool mt_trigger_counts(const struct mt_engine_limits *limits, struct mt_trigger_count *count,
		       uint64_t now_ns)
{
	const uint64_t before = count->hits++;

	if (before < limits->ignore ||
	    (limits->every > 1 && (before - limits->ignore + 1) % limits->every))
		return false;
	if (limits->interval_ns && now_ns < count->next_ns)
		return false;
	count->next_ns = now_ns + limits->interval_ns;
	return true;
}

void mt_trigger_describe_limits(const struct mt_engine_limits *limits, struct mt_str *out)
{
	if (limits->ignore)
		mt_str_appendf(out, ", after %llu hits", (unsigned long long)limits->ignore);
	if (limits->every > 1)
		mt_str_appendf(out, ", one of %llu", (unsigned long long)limits->every);
	if (limits->interval_ns)
		mt_str_appendf(out, ", %.4g s apart at least",
			       (double)limits->interval_ns / (double)SECOND);
}
