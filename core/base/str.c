/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"

#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FORMAT_ROOM 64

static bool reserve(struct mt_str *str, size_t more)
{
	if (!str->failed &&
	    mt_array_grow((void **)&str->text, &str->capacity, 1, str->length + more + 1))
		str->failed = true;
	return !str->failed;
}

void mt_str_append_bytes(struct mt_str *str, const char *bytes, size_t count)
{
	if (!reserve(str, count))
		return;
	if (count)
		memcpy(str->text + str->length, bytes, count);
	str->length += count;
	str->text[str->length] = '\0';
}

void mt_str_append(struct mt_str *str, const char *text)
{
	mt_str_append_bytes(str, text, strlen(text));
}

/* Formats into the room there is, and once more only if that was too small. */
void mt_str_vappendf(struct mt_str *str, const char *format, va_list args)
{
	va_list again;

	if (!reserve(str, FORMAT_ROOM))
		return;
	size_t room = str->capacity - str->length;
	va_copy(again, args);
	int count = vsnprintf(str->text + str->length, room, format, again);
	va_end(again);
	if (count < 0 || ((size_t)count >= room && !reserve(str, (size_t)count))) {
		str->failed = true;
		return;
	}
	if ((size_t)count >= room)
		vsnprintf(str->text + str->length, (size_t)count + 1, format, args);
	str->length += (size_t)count;
}

void mt_str_appendf(struct mt_str *str, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	mt_str_vappendf(str, format, args);
	va_end(args);
}

void mt_str_clear(struct mt_str *str)
{
	str->length = 0;
	if (str->text)
		str->text[0] = '\0';
}

void mt_str_deinit(struct mt_str *str)
{
	free(str->text);
	*str = (struct mt_str){0};
}

#define NS_PER_S 1000000000ull

struct mt_error *mt_parse_size(const char *text, uint64_t *size_bytes)
{
	static const char letters[] = "kmgt";
	char *end = NULL;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	const char *letter = *end ? strchr(letters, tolower((unsigned char)*end)) : NULL;
	const char *rest = letter ? end + 1 : end;
	int shift = letter ? 10 * (int)(letter - letters + 1) : 0;
	bool is_unit =
	    !*rest || strcasecmp(rest, "B") == 0 || (letter && strcasecmp(rest, "iB") == 0);
	if (!isdigit((unsigned char)text[0]) || !is_unit)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "\"%s\" is not a size; expected a number with a suffix k, M or G, as in 16M",
		    text);
	if (errno == ERANGE || number > UINT64_MAX >> shift)
		return mt_error_new(MT_ERROR_USAGE, "the size \"%s\" is too large", text);
	*size_bytes = (uint64_t)number << shift;
	return NULL;
}

/* The digits behind a point, of UNIT; *AT is set behind them. */
static uint64_t fraction(const char **at, uint64_t unit)
{
	uint64_t sum = 0;

	for (; isdigit((unsigned char)**at); ++*at) {
		sum += (uint64_t)(**at - '0') * unit / 10;
		unit /= 10;
	}
	return sum;
}

/* 0: it is none. */
static uint64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1},       {"us", 1000},         {"µs", 1000},          {"ms", 1000000},
		     {"s", NS_PER_S}, {"m", 60 * NS_PER_S}, {"h", 3600 * NS_PER_S}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(name, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

struct mt_error *mt_parse_duration(const char *text, uint64_t *ns)
{
	char *end = NULL;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	const char *digits = *end == '.' ? end + 1 : end;
	const uint64_t unit = unit_ns(digits + strspn(digits, *end == '.' ? "0123456789" : ""));
	const uint64_t rest = fraction(&digits, unit);
	const bool is_empty = *end == '.' && digits == end + 1;

	if (!isdigit((unsigned char)text[0]) || is_empty || !unit || (!number && !rest))
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "\"%s\" is not a time; expected a number with a suffix ns, us, ms, s, m or "
		    "h, as in 2s",
		    text);
	if (errno == ERANGE || number > UINT64_MAX / 2 / unit)
		return mt_error_new(MT_ERROR_USAGE, "the time \"%s\" is too long", text);
	*ns = number * unit + rest;
	return NULL;
}

struct mt_error *mt_parse_number(const char *text, const char *what, uint64_t low, uint64_t high,
				 uint64_t *value)
{
	char *end = NULL;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || errno || number < low || number > high)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "\"%s\" is not a valid %s; expected a whole number from %llu to %llu", text,
		    what, (unsigned long long)low, (unsigned long long)high);
	*value = number;
	return NULL;
}
