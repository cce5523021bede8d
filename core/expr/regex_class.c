/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands for one character in a regular expression.  A character outside ASCII is a byte that
 * begins one, and then, where any of them fits, all the bytes that go on with it: texts are UTF-8,
 * so nothing else can come there. */
#include "expr/regex_program.h"

#define ASCII         128u
#define MOST_CODE     0x10ffffu
#define MOST_MEMBERS  64u /* outside ASCII */
#define IS_NO_LITERAL UINT32_MAX

/* What is between the brackets, or an escape like \w. */
struct members {
	struct mt_regex_set set;
	uint32_t wide[MOST_MEMBERS]; /* characters outside ASCII */
	unsigned wide_count;
};

static struct mt_error *bad_escape(char letter)
{
	return mt_error_new(MT_ERROR_USAGE, "bad escape \\%c", letter);
}

/* ---- UTF-8 ---- */

/* Its bytes, and their number: 1 to 4; 0: there is no such character. */
static unsigned encode(uint32_t code, uint8_t bytes[4])
{
	static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	const unsigned count = code < ASCII ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	if (code > MOST_CODE || (code >= 0xd800 && code < 0xe000))
		return 0;
	for (unsigned i = count; i-- > 1; code >>= 6)
		bytes[i] = (uint8_t)(0x80 | (code & 0x3f));
	bytes[0] = (uint8_t)(leads[count] | code);
	return count;
}

/* The pattern's next character. */
static struct mt_error *take_code(struct mt_regex_parser *parser, uint32_t *code)
{
	const uint8_t first = (uint8_t)*parser->at;
	const unsigned count = first < ASCII ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint8_t again[4];

	*code = count == 1 ? first : first & (0x7fu >> count);
	for (unsigned i = 1; i < count && (parser->at[i] & 0xc0) == 0x80; i++)
		*code = *code << 6 | (parser->at[i] & 0x3f);
	/* So no other bytes than the character's own are taken. */
	if (encode(*code, again) != count || strncmp(parser->at, (const char *)again, count) != 0)
		return mt_error_new(MT_ERROR_USAGE, "the pattern is not valid UTF-8");
	parser->at += count;
	return NULL;
}

/* ---- Escapes ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

static struct mt_error *take_hexadecimal(struct mt_regex_parser *parser, char letter,
					 uint32_t *code)
{
	const unsigned count = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;

	*code = 0;
	for (unsigned i = 0; i < count; i++, parser->at++) {
		const int digit = digit_of(*parser->at);

		if (digit < 0)
			return mt_error_new(MT_ERROR_USAGE, "incomplete escape \\%c", letter);
		*code = *code << 4 | (uint32_t)digit;
	}
	return *code > MOST_CODE ? bad_escape(letter) : NULL;
}

/* As many digits as there are, of at most MOST. */
static struct mt_error *take_octal(struct mt_regex_parser *parser, unsigned most, uint32_t *code)
{
	*code = 0;
	for (unsigned i = 0; i < most && is_octal(*parser->at); i++)
		*code = *code << 3 | (uint32_t)(*parser->at++ - '0');
	return *code > 0377 ? mt_error_new(MT_ERROR_USAGE,
					   "octal escape value \\%o outside of range 0-0o377",
					   (unsigned)*code)
			    : NULL;
}

/* \d, \s, \w and their opposites.  False: LETTER is none of them. */
static bool add_category(const struct mt_regex_parser *parser, char letter,
			 struct mt_regex_set *set)
{
	struct mt_regex_set category = {0};

	switch (letter | 0x20) {
	case 'w':
		mt_regex_set_add(&category, 'a', 'z');
		mt_regex_set_add(&category, 'A', 'Z');
		mt_regex_set_add(&category, '_', '_');
		mt_regex_set_add(&category, '0', '9');
		break;
	case 'd':
		mt_regex_set_add(&category, '0', '9');
		break;
	case 's':
		mt_regex_set_add(&category, '\t', '\r');
		mt_regex_set_add(&category, 0x1c, ' ');
		break;
	default:
		return false;
	}
	const bool is_opposite = !(letter & 0x20);
	for (unsigned byte = 0; byte < ASCII; byte++)
		if (mt_regex_set_has(&category, byte) != is_opposite)
			mt_regex_set_add(set, byte, byte);
	set->is_undecided |= !parser->is_ascii;
	set->has_others |= is_opposite;
	return true;
}

/* Behind a backslash: *CODE, or IS_NO_LITERAL for a category, which is added to SET. */
static struct mt_error *take_escape(struct mt_regex_parser *parser, bool in_class,
				    struct mt_regex_set *set, uint32_t *code)
{
	static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
	const char letter = *parser->at, *known = letter ? strchr(letters, letter) : NULL;

	if (!letter)
		return mt_error_new(MT_ERROR_USAGE, "bad escape (end of pattern)");
	if (is_octal(letter) &&
	    (in_class || letter == '0' || (is_octal(parser->at[1]) && is_octal(parser->at[2]))))
		return take_octal(parser, 3, code);
	if (letter >= '0' && letter <= '9')
		return in_class ? bad_escape(letter)
				: mt_error_new(MT_ERROR_UNSUPPORTED,
					       "references to groups are not supported");
	if ((uint8_t)letter >= ASCII)
		return take_code(parser, code);
	parser->at++;
	*code = IS_NO_LITERAL;
	if (add_category(parser, letter, set))
		return NULL;
	if (letter == 'x' || letter == 'u' || letter == 'U')
		return take_hexadecimal(parser, letter, code);
	if (letter == 'N' || (!in_class && strchr("bB", letter)))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "\\%c is not supported", letter);
	*code = known ? (uint8_t)meanings[known - letters] : (uint8_t)letter;
	const bool is_letter = (letter | 0x20) >= 'a' && (letter | 0x20) <= 'z';
	return is_letter && !known ? bad_escape(letter) : NULL;
}

/* ---- Code ---- */

static struct mt_error *emit_set(struct mt_regex_program *program, const struct mt_regex_set *set)
{
	struct mt_regex_instruction byte = {.operation = MT_REGEX_BYTES, .set = *set};

	byte.set.bytes[0] &= ~1ull; /* a text has no NUL */
	return mt_regex_emit(program, byte);
}

static struct mt_error *emit_code(struct mt_regex_program *program, uint32_t code)
{
	uint8_t bytes[4];
	const unsigned count = encode(code, bytes);

	for (unsigned i = 0; i < count; i++) {
		struct mt_regex_set set = {0};

		mt_regex_set_add(&set, bytes[i], bytes[i]);
		mt_try(emit_set(program, &set));
	}
	return count ? NULL : emit_set(program, &(struct mt_regex_set){0}); /* a surrogate */
}

/* SET, and all characters outside ASCII. */
static struct mt_error *emit_with_all(struct mt_regex_program *program, struct mt_regex_set set)
{
	struct mt_regex_set rest = {0};

	mt_regex_set_add(&set, MT_REGEX_LEAD_LOW, MT_REGEX_LEAD_HIGH);
	mt_regex_set_add(&rest, 0x80, 0xbf);
	mt_try(emit_set(program, &set));
	mt_try(mt_regex_emit(
	    program, (struct mt_regex_instruction){.operation = MT_REGEX_SPLIT, .distance = 3}));
	mt_try(emit_set(program, &rest));
	return mt_regex_emit(
	    program, (struct mt_regex_instruction){.operation = MT_REGEX_JUMP, .distance = -2});
}

static struct mt_error *emit_members(struct mt_regex_program *program,
				     const struct members *members)
{
	const size_t begin = program->code.count;

	if (members->set.is_undecided)
		return emit_set(program, &members->set);
	if (members->set.has_others)
		return emit_with_all(program, members->set);
	mt_try(emit_set(program, &members->set));
	for (unsigned i = 0; i < members->wide_count; i++) {
		const size_t length = program->code.count - begin;
		const struct mt_regex_instruction split = {.operation = MT_REGEX_SPLIT,
							   .distance = (int16_t)(length + 2)};

		mt_try(mt_regex_insert(program, begin, split));
		const size_t jump = program->code.count;
		mt_try(mt_regex_emit(program,
				     (struct mt_regex_instruction){.operation = MT_REGEX_JUMP}));
		mt_try(emit_code(program, members->wide[i]));
		program->code.items[jump].distance = (int16_t)(program->code.count - jump);
	}
	return NULL;
}

static struct mt_error *emit_others(struct mt_regex_program *program, struct members *members)
{
	members->set.bytes[0] = ~members->set.bytes[0];
	members->set.bytes[1] = ~members->set.bytes[1];
	if (members->set.is_undecided || members->set.has_others)
		return emit_set(program, &members->set);
	if (members->wide_count)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "[^…] with characters outside ASCII is not supported");
	return emit_with_all(program, members->set);
}

/* ---- Classes ---- */

/* A character, or a category, which is added. */
static struct mt_error *take_member(struct mt_regex_parser *parser, struct mt_regex_set *set,
				    uint32_t *code)
{
	if (!*parser->at)
		return mt_error_new(MT_ERROR_USAGE, "unterminated character set");
	if (*parser->at != '\\')
		return take_code(parser, code);
	parser->at++;
	return take_escape(parser, true, set, code);
}

static struct mt_error *add_range(struct members *members, uint32_t low, uint32_t high)
{
	if (low == IS_NO_LITERAL || high == IS_NO_LITERAL || low > high)
		return mt_error_new(MT_ERROR_USAGE, "bad character range");
	if (high < ASCII) {
		mt_regex_set_add(&members->set, low, high);
		return NULL;
	}
	if (low != high)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "ranges of characters outside ASCII are not supported");
	if (members->wide_count == MOST_MEMBERS)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "[…] with more than %u characters outside ASCII is not "
				    "supported",
				    MOST_MEMBERS);
	members->wide[members->wide_count++] = low;
	return NULL;
}

static void add_case(struct members *members, char letter, uint32_t wide)
{
	if (mt_regex_set_has(&members->set, (uint8_t)letter))
		members->wide[members->wide_count++] = wide;
}

/* With the flag i: both cases of all members. */
static struct mt_error *add_cases(const struct mt_regex_parser *parser, struct members *members)
{
	if (!parser->ignores_case)
		return NULL;
	for (unsigned lower = 'a', upper = 'A'; lower <= 'z'; lower++, upper++) {
		if (!mt_regex_set_has(&members->set, lower) &&
		    !mt_regex_set_has(&members->set, upper))
			continue;
		mt_regex_set_add(&members->set, lower, lower);
		mt_regex_set_add(&members->set, upper, upper);
	}
	if (parser->is_ascii)
		return NULL;
	if (members->wide_count)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "characters outside ASCII are not supported with the flag i");
	/* Those outside ASCII that are a case of one within it. */
	add_case(members, 'i', 0x130);
	add_case(members, 'i', 0x131);
	add_case(members, 's', 0x17f);
	add_case(members, 'k', 0x212a);
	return NULL;
}

static struct mt_error *take_members(struct mt_regex_parser *parser, struct members *members)
{
	for (bool is_first = true; is_first || *parser->at != ']'; is_first = false) {
		uint32_t low = IS_NO_LITERAL, high;

		mt_try(take_member(parser, &members->set, &low));
		high = low;
		if (*parser->at == '-' && parser->at[1] != ']') {
			parser->at++;
			mt_try(take_member(parser, &members->set, &high));
			mt_try(add_range(members, low, high));
		} else if (low != IS_NO_LITERAL) {
			mt_try(add_range(members, low, low));
		}
	}
	parser->at++;
	return NULL;
}

static struct mt_error *parse_class(struct mt_regex_parser *parser)
{
	struct members members = {0};
	const bool is_negated = *parser->at == '^';

	parser->at += is_negated;
	mt_try(take_members(parser, &members));
	mt_try(add_cases(parser, &members));
	return is_negated ? emit_others(parser->program, &members)
			  : emit_members(parser->program, &members);
}

struct mt_error *mt_regex_parse_character(struct mt_regex_parser *parser)
{
	struct members members = {0};
	uint32_t code;

	switch (*parser->at) {
	case '[':
		parser->at++;
		return parse_class(parser);
	case '.':
		parser->at++;
		mt_regex_set_add(&members.set, 1, '\n' - 1);
		mt_regex_set_add(&members.set, '\n' + !parser->dot_is_all, ASCII - 1);
		return emit_with_all(parser->program, members.set);
	case '\\':
		parser->at++;
		mt_try(take_escape(parser, false, &members.set, &code));
		break;
	default:
		mt_try(take_code(parser, &code));
	}
	if (code != IS_NO_LITERAL && !parser->ignores_case)
		return emit_code(parser->program, code);
	if (code != IS_NO_LITERAL)
		mt_try(add_range(&members, code, code));
	mt_try(add_cases(parser, &members));
	return emit_members(parser->program, &members);
}
