/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/fuzzy.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
	MATCH = 16,
	GAP = -1,
	WORD_BEGIN = 10,
	CONSECUTIVE = 8,
	WHOLE_BEGIN = 4,
};

struct word {
	const char *text;
	size_t length;
	bool case_counts;
};

static bool is_same(const struct word *word, char a, char b)
{
	if (word->case_counts)
		return a == b;
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static bool begins_word(const char *text, size_t at)
{
	if (at == 0)
		return true;
	const unsigned char before = (unsigned char)text[at - 1], here = (unsigned char)text[at];

	return (isalnum(here) && !isalnum(before)) || (isupper(here) && islower(before)) ||
	       (isdigit(here) && !isdigit(before));
}

/* The first position by which all letters came, and from there back the shortest stretch. */
static bool find_stretch(const char *text, const struct word *word, size_t *begin, size_t *end)
{
	size_t at = 0, found = 0;

	for (; text[at] && found < word->length; at++)
		found += is_same(word, text[at], word->text[found]);
	if (found < word->length)
		return false;
	*end = at;
	while (found > 0)
		found -= is_same(word, text[--at], word->text[found - 1]);
	*begin = at;
	return true;
}

static int32_t score_stretch(const char *text, const struct word *word, size_t begin, size_t end)
{
	int32_t score = begin == 0 ? WHOLE_BEGIN : 0;
	size_t found = 0;
	bool consecutive = false;

	for (size_t at = begin; at < end; at++) {
		bool matches = found < word->length && is_same(word, text[at], word->text[found]);

		if (!matches)
			score += GAP;
		else
			score += MATCH + (begins_word(text, at) ? WORD_BEGIN : 0) +
				 (consecutive ? CONSECUTIVE : 0);
		found += matches;
		consecutive = matches;
	}
	return score;
}

/* The best of all stretches: a later one may begin a word. */
static int32_t score_word(const char *text, const struct word *word)
{
	int32_t best = MT_FUZZY_NONE;
	size_t begin, end;

	for (size_t from = 0; find_stretch(text + from, word, &begin, &end); from += begin + 1) {
		int32_t score = score_stretch(text, word, from + begin, from + end);

		if (score > best)
			best = score;
	}
	return best;
}

int32_t mt_fuzzy_score(const char *text, const char *query)
{
	int32_t sum = 0;

	for (query += strspn(query, " "); *query; query += strspn(query, " ")) {
		struct word word = {.text = query, .length = strcspn(query, " ")};

		for (size_t i = 0; i < word.length; i++)
			word.case_counts |= isupper((unsigned char)query[i]) != 0;
		int32_t score = score_word(text, &word);
		if (score == MT_FUZZY_NONE)
			return MT_FUZZY_NONE;
		sum += score;
		query += word.length;
	}
	return sum;
}
