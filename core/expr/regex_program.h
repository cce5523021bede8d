/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files that compile regular expressions:
 *
 *	regex_parse.c    a pattern to instructions
 *	regex_class.c    its escapes and classes
 *	regex.c          instructions to states */
#ifndef MT_EXPR_REGEX_PROGRAM_H
#define MT_EXPR_REGEX_PROGRAM_H

#include "base/array.h"
#include "expr/regex.h"

#include <string.h>

enum mt_regex_operation {
	MT_REGEX_BYTES,    /* one byte of the set, and on */
	MT_REGEX_SPLIT,    /* to the next one, and by `distance` */
	MT_REGEX_JUMP,     /* by `distance` */
	MT_REGEX_BEGIN,    /* on, at the text's beginning */
	MT_REGEX_LINE_END, /* on, at the text's end, or before a newline there */
	MT_REGEX_END,      /* on, at the text's end */
	MT_REGEX_MATCHED,
};

struct mt_regex_set {
	uint64_t bytes[4];
	bool is_undecided; /* of all characters outside ASCII it is not known if they belong */
	bool has_others;   /* they all do: bytes are added for them when it becomes code */
};

static inline void mt_regex_set_add(struct mt_regex_set *set, unsigned low, unsigned high)
{
	for (unsigned byte = low; byte <= high; byte++)
		set->bytes[byte / 64] |= 1ull << byte % 64;
}

static inline bool mt_regex_set_has(const struct mt_regex_set *set, unsigned byte)
{
	return set->bytes[byte / 64] >> byte % 64 & 1;
}

/* Distances are relative, so that code can be moved and copied. */
struct mt_regex_instruction {
	uint8_t operation; /* enum mt_regex_operation */
	int16_t distance;
	struct mt_regex_set set;
};

#define MT_REGEX_MOST_INSTRUCTIONS 1024u

struct mt_regex_program {
	MT_ARRAY(struct mt_regex_instruction) code;
};

struct mt_regex_parser {
	const char *at; /* in the pattern; its NUL ends it */
	struct mt_regex_program *program;
	unsigned depth;
	/* Flags in front of the pattern. */
	bool ignores_case; /* i */
	bool dot_is_all;   /* s */
	bool is_ascii;     /* a */
};

/* ---- regex_parse.c ---- */

/* Errors: as mt_regex_compile(). */
struct mt_error *mt_regex_parse(const char *pattern, struct mt_regex_program *out);
struct mt_error *mt_regex_emit(struct mt_regex_program *program,
			       struct mt_regex_instruction instruction);
/* One that fits nowhere else: in front of those from AT on. */
struct mt_error *mt_regex_insert(struct mt_regex_program *program, size_t at,
				 struct mt_regex_instruction instruction);

/* ---- regex_class.c ---- */

/* Bytes of which a character outside ASCII has one, and then others. */
#define MT_REGEX_LEAD_LOW  0xc2u
#define MT_REGEX_LEAD_HIGH 0xf4u

/* Code for one character: a literal, an escape, a class or a dot. */
struct mt_error *mt_regex_parse_character(struct mt_regex_parser *parser);

#endif
