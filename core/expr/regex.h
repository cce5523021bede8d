/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular expressions as Python has them in re.match(), which GDB's $_regex calls: whether a text
 * begins with what the pattern describes.  Source: "re" in Python's library reference.
 *
 * Known are literals, escapes, ., classes, groups, |, the quantifiers, the anchors ^, \A, $ and \Z,
 * and in front of it all the flags a, i and s: (?i).
 * As no more than the answer counts, what groups capture and whether a quantifier is lazy do not,
 * and the pattern becomes a table of states, which reads each byte once.  Texts are UTF-8; which
 * characters outside ASCII \w, \d and \s stand for depends on Python's release, and is not known
 * here; none, with the flag a. */
#ifndef MT_EXPR_REGEX_H
#define MT_EXPR_REGEX_H

#include "base/error.h"

enum mt_regex_answer {
	MT_REGEX_NO,
	MT_REGEX_YES,
	MT_REGEX_UNDECIDED, /* \w, \d or \s met a character outside ASCII */
	MT_REGEX_ANSWERS,
};
#define MT_REGEX_WHY_UNDECIDED                                                                     \
	"whether \\w, \\d or \\s fits a character outside ASCII is not known; with (?a) in "       \
	"front of the pattern, it does not"

#define MT_REGEX_MOST_STATES 256u

/* The states: first the answers, which no byte leads away from, and then the others, of which the
 * text's NUL leads to an answer. */
struct mt_regex {
	uint8_t classes[256];  /* of each byte */
	unsigned class_count;  /* at most 256 */
	unsigned state_count;  /* at most MT_REGEX_MOST_STATES */
	unsigned start;        /* the state at the beginning */
	uint16_t *transitions; /* [state * class_count + class]: the next state */
};

/* Errors: USAGE (PATTERN is none, in Python's words); UNSUPPORTED (it has what is not known here,
 * or too many states); NO_MEMORY.  *OUT is to be deinitialized in any case. */
struct mt_error *mt_regex_compile(const char *pattern, struct mt_regex *out);
void mt_regex_deinit(struct mt_regex *regex);
static inline void mt_regex_cleanup(struct mt_regex *regex)
{
	mt_regex_deinit(regex);
}

enum mt_regex_answer mt_regex_match(const struct mt_regex *regex, const char *text);

#endif
