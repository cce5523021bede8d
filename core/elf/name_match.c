/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a function's name is what people mean by what they typed: they leave out the namespaces
 * in front, the parameters, the arguments of templates, and put blanks where they like. */
#include "base/str.h"
#include "elf/objfile.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Blanks stay between words alone: "char const*", "unsigned int".  Tags of ABIs, which no source
 * has, go: "make[abi:cxx11](int)". */
static void squeeze(const char *text, size_t length, struct mt_str *out)
{
	for (size_t i = 0; i < length; i++) {
		const char *tag_end =
		    strncmp(text + i, "[abi:", 5) == 0 ? strchr(text + i, ']') : NULL;

		if (tag_end)
			i = (size_t)(tag_end - text);
		else if (text[i] != ' ' ||
			 (i && i + 1 < length && is_word(text[i - 1]) && is_word(text[i + 1])))
			mt_str_append_bytes(out, text + i, 1);
	}
}

/* Where the bracket that closes at END opens.  SIZE_MAX: nowhere. */
static size_t opening(const char *name, size_t end, char open, char close)
{
	size_t depth = 0;

	for (size_t i = end + 1; i-- > 0;) {
		depth += name[i] == close;
		depth -= name[i] == open;
		if (!depth)
			return i;
	}
	return SIZE_MAX;
}

size_t mt_name_without_parameters(const char *name)
{
	size_t length = strlen(name), open;

	if (length >= 5 && strcmp(name + length - 5, "const") == 0 &&
	    (length == 5 || !is_word(name[length - 6])))
		length -= 5;
	while (length && name[length - 1] == ' ')
		length--;
	if (!length || name[length - 1] != ')')
		return strlen(name);
	open = opening(name, length - 1, '(', ')');
	return open == SIZE_MAX || (length - open == 2 && open >= 8 &&
				    strncmp(name + open - 8, "operator", 8) == 0)
		   ? length
		   : open;
}

size_t mt_name_without_arguments(const char *name, size_t length)
{
	size_t open;

	if (!length || name[length - 1] != '>' || (length > 1 && strchr("-=>", name[length - 2])))
		return length;
	open = opening(name, length - 1, '<', '>');
	return open == SIZE_MAX ? length : open;
}

/* How much of an operator's name is no bracket: "operator<<". */
static size_t operator_length(const char *name, size_t at)
{
	size_t length = 8;

	if (strncmp(name + at, "operator", 8) != 0 || (at && is_word(name[at - 1])))
		return 0;
	while (length < 11 && name[at + length] && strchr("<>=-", name[at + length]))
		length++;
	return length;
}

/* Without the arguments of all templates. */
static void strip_arguments(const char *name, struct mt_str *out)
{
	size_t depth = 0;

	for (size_t i = 0; name[i]; i++) {
		size_t operator= depth ? 0 : operator_length(name, i);

		if (operator) {
			mt_str_append_bytes(out, name + i, operator);
			i += operator- 1;
			continue;
		}
		depth += name[i] == '<';
		if (!depth)
			mt_str_append_bytes(out, name + i, 1);
		depth -= name[i] == '>' && depth;
	}
}

/* WANTED is all of it, or what follows a "::", or a function's type. */
static bool ends_with(const char *name, size_t length, const char *wanted, bool exact)
{
	size_t wanted_length = strlen(wanted);
	const char *tail = name + length - wanted_length;

	if (wanted_length > length || strncmp(tail, wanted, wanted_length) != 0)
		return false;
	return tail == name || tail[-1] == ' ' ||
	       (!exact && tail - name >= 2 && tail[-1] == ':' && tail[-2] == ':');
}

static bool matches_bare(const char *name, size_t length, const char *wanted, bool exact)
{
	mt_auto(mt_str) struct mt_str bare = {0}, stripped = {0}, asked = {0};

	if (ends_with(name, length, wanted, exact) ||
	    ends_with(name, mt_name_without_arguments(name, length), wanted, exact))
		return true;
	if (!memchr(name, '<', length))
		return false;
	strip_arguments(wanted, &asked);
	if (asked.failed || !asked.text || strcmp(asked.text, wanted) != 0)
		return false;
	mt_str_append_bytes(&bare, name, length);
	if (!bare.failed && bare.text)
		strip_arguments(bare.text, &stripped);
	return !stripped.failed && stripped.text &&
	       ends_with(stripped.text, stripped.length, wanted, exact);
}

static bool matches(const char *name, const char *wanted, bool exact)
{
	size_t length = strlen(name);

	if (ends_with(name, length, wanted, exact) ||
	    matches_bare(name, mt_name_without_parameters(name), wanted, exact))
		return true;
	/* A method's `const` may be left out. */
	return length > 6 && strcmp(name + length - 6, ")const") == 0 &&
	       ends_with(name, length - 5, wanted, exact);
}

size_t mt_name_without_cold(const char *name)
{
	static const char *const endings[] = {" [clone .cold",    " (.cold",    ".cold",
					      " [clone .__part.", " (.__part.", ".__part."};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *at = strstr(name, endings[i]);

		if (at && at > name)
			return (size_t)(at - name);
	}
	return strlen(name);
}

/* The compilers' word in NAME[0, LENGTH), from its dot on, and a number behind it; LENGTH: there is
 * none at the end. */
static size_t before_word(const char *name, size_t length)
{
	static const char *const words[] = {".cold",     ".part",  ".constprop", ".isra",
					    ".lto_priv", ".clone", ".llvm",      ".localalias",
					    ".__part",   ".__uniq"};
	size_t end = length;

	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	end = end < length && end && name[end - 1] == '.' ? end - 1 : length;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t size = strlen(words[i]);

		if (end > size && memcmp(name + end - size, words[i], size) == 0)
			return end - size;
	}
	return length;
}

/* What a demangler puts behind a name for them. */
static size_t before_bracket(const char *name, size_t length)
{
	static const char *const openings[] = {" [clone .", " (."};
	static const char closings[] = "])";

	for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		const char *at = strstr(name, openings[i]);

		if (at && at > name && name[length - 1] == closings[i])
			return (size_t)(at - name);
	}
	return length;
}

size_t mt_name_without_clone(const char *name)
{
	size_t length = strlen(name), before;

	if (length)
		length = before_bracket(name, length);
	do {
		before = length;
		length = before_word(name, length);
	} while (length < before);
	return length;
}

size_t mt_name_last_word(const char *name, const char **out)
{
	size_t end = mt_name_without_arguments(name, mt_name_without_parameters(name)), start = end;

	if (strstr(name, "operator"))
		return 0;
	while (start && is_word(name[start - 1]))
		start--;
	*out = name + start;
	return end - start;
}

bool mt_name_matches(const char *name, const char *wanted)
{
	mt_auto(mt_str) struct mt_str plain = {0}, asked = {0};
	bool exact = strncmp(wanted, "::", 2) == 0;
	const char *word;
	size_t length = mt_name_last_word(wanted, &word);

	/* This rules out nearly all names. */
	if (length && !memmem(name, strlen(name), word, length))
		return false;
	if (exact)
		wanted += 2;
	squeeze(name, strlen(name), &plain);
	squeeze(wanted, strlen(wanted), &asked);
	return !plain.failed && !asked.failed && plain.text && asked.text &&
	       matches(plain.text, asked.text, exact);
}

static bool is_meant(const char *name, const char *wanted)
{
	return strcmp(name, wanted) == 0 || mt_name_matches(name, wanted) ||
	       fnmatch(wanted, name, 0) == 0;
}

/* "Store.load" is meant by "load", and so is "outer.<locals>.load". */
static bool is_meant_in_python(const char *name, const char *wanted)
{
	while ((name = strchr(name, '.')))
		if (strcmp(++name, wanted) == 0)
			return true;
	return false;
}

bool mt_function_matches(const struct mt_function *function, const char *wanted)
{
	mt_auto(mt_str) struct mt_str whole = {0};

	if (is_meant(function->name, wanted) ||
	    (function->kind == MT_FUNCTION_PYTHON && is_meant_in_python(function->name, wanted)))
		return true;
	if (!(function->flags & MT_FUNCTION_COLD))
		return false;
	mt_str_append_bytes(&whole, function->name, mt_name_without_cold(function->name));
	return !whole.failed && is_meant(whole.text, wanted);
}
