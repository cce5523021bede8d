/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A regular expression to instructions: alternatives of sequences of what may be repeated.  Each
 * part's code stands at the end until the next one's; what surrounds it is put in front and behind.
 */
#include "expr/regex_program.h"

#define MOST_DEPTH 200u
#define UNBOUNDED  UINT32_MAX
#define TOO_FEW    "min repeat greater than max repeat"

static struct mt_error *too_large(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "the pattern is too large");
}

struct mt_error *mt_regex_emit(struct mt_regex_program *program,
			       struct mt_regex_instruction instruction)
{
	if (program->code.count == MT_REGEX_MOST_INSTRUCTIONS)
		return too_large();
	return mt_array_push(&program->code, instruction) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_regex_insert(struct mt_regex_program *program, size_t at,
				 struct mt_regex_instruction instruction)
{
	const size_t behind = program->code.count - at;

	mt_try(mt_regex_emit(program, instruction));
	memmove(program->code.items + at + 1, program->code.items + at,
		behind * sizeof(instruction));
	program->code.items[at] = instruction;
	return NULL;
}

static struct mt_error *emit(struct mt_regex_program *program, enum mt_regex_operation operation,
			     int distance)
{
	return mt_regex_emit(program, (struct mt_regex_instruction){.operation = (uint8_t)operation,
								    .distance = (int16_t)distance});
}

/* ---- Repetition ---- */

struct repeat {
	uint32_t least, most;
};

static uint32_t take_number(const char **at, uint32_t otherwise)
{
	uint32_t number = 0;

	if (**at < '0' || **at > '9')
		return otherwise;
	for (; **at >= '0' && **at <= '9'; (*at)++)
		/* As good as any that is too large. */
		if (number <= MT_REGEX_MOST_INSTRUCTIONS)
			number = number * 10 + (uint32_t)(**at - '0');
	return number;
}

/* {m}, {m,}, {,n}, {m,n}.  False: the brace is a literal. */
static bool take_braces(struct mt_regex_parser *parser, struct repeat *out)
{
	const char *at = parser->at + 1;
	const bool has_number = *at >= '0' && *at <= '9';

	out->least = out->most = take_number(&at, 0);
	if (!has_number && *at != ',')
		return false;
	if (*at == ',') {
		at++;
		out->most = take_number(&at, UNBOUNDED);
	}
	if (*at != '}')
		return false;
	parser->at = at + 1;
	return true;
}

/* False: no quantifier is next. */
static bool take_quantifier(struct mt_regex_parser *parser, struct repeat *out)
{
	switch (*parser->at) {
	case '*':
		*out = (struct repeat){0, UNBOUNDED};
		break;
	case '+':
		*out = (struct repeat){1, UNBOUNDED};
		break;
	case '?':
		*out = (struct repeat){0, 1};
		break;
	case '{':
		return take_braces(parser, out);
	default:
		return false;
	}
	parser->at++;
	return true;
}

/* Where none may be. */
static struct mt_error *refuse_quantifier(struct mt_regex_parser *parser, const char *why)
{
	struct repeat times;

	if (!take_quantifier(parser, &times))
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "%s", times.least > times.most ? TOO_FEW : why);
}

/* The LENGTH instructions from BEGIN on once more. */
static struct mt_error *copy(struct mt_regex_program *program, size_t begin, size_t length)
{
	for (size_t i = 0; i < length; i++)
		mt_try(mt_regex_emit(program, program->code.items[begin + i]));
	return NULL;
}

/* What stands from BEGIN to the end: none of it, and the rest, or LEAST times, and then up to MOST
 * times. */
static struct mt_error *repeat(struct mt_regex_program *program, size_t begin,
			       const struct repeat *times)
{
	const size_t length = program->code.count - begin;
	uint32_t done = 1;

	if (!length)
		return NULL;
	if (!times->most) {
		program->code.count = begin;
		return NULL;
	}
	const uint32_t copies = times->most == UNBOUNDED ? times->least : times->most;
	if (copies > MT_REGEX_MOST_INSTRUCTIONS || length * copies > MT_REGEX_MOST_INSTRUCTIONS)
		return too_large();
	for (; done < times->least; done++)
		mt_try(copy(program, begin, length));
	if (times->most == UNBOUNDED && times->least)
		return emit(program, MT_REGEX_SPLIT, -(int)length);
	const bool loops = times->most == UNBOUNDED;
	size_t body = begin;
	if (!times->least) {
		const size_t rest = loops ? 1 : (times->most - 1) * (length + 1);
		const struct mt_regex_instruction split = {
		    .operation = MT_REGEX_SPLIT, .distance = (int16_t)(length + 1 + rest)};

		mt_try(mt_regex_insert(program, begin, split));
		body++;
	}
	if (loops)
		return emit(program, MT_REGEX_JUMP, -(int)length - 1);
	for (; done < times->most; done++) {
		mt_try(emit(program, MT_REGEX_SPLIT, (int)((times->most - done) * (length + 1))));
		mt_try(copy(program, body, length));
	}
	return NULL;
}

/* ---- Parts ---- */

static struct mt_error *parse_alternatives(struct mt_regex_parser *parser);

static struct mt_error *parse_group(struct mt_regex_parser *parser)
{
	parser->at++;
	if (*parser->at == '?') {
		if (parser->at[1] != ':')
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "groups that begin with (?%.1s are not supported",
					    parser->at + 1);
		parser->at += 2;
	}
	if (++parser->depth > MOST_DEPTH)
		return too_large();
	mt_try(parse_alternatives(parser));
	parser->depth--;
	if (*parser->at != ')')
		return mt_error_new(MT_ERROR_USAGE, "missing ), unterminated subpattern");
	parser->at++;
	return NULL;
}

/* False: no anchor is next. */
static bool take_anchor(struct mt_regex_parser *parser, enum mt_regex_operation *out)
{
	static const struct {
		const char *text;
		enum mt_regex_operation operation;
	} anchors[] = {{"^", MT_REGEX_BEGIN},
		       {"\\A", MT_REGEX_BEGIN},
		       {"$", MT_REGEX_LINE_END},
		       {"\\Z", MT_REGEX_END}};

	for (size_t i = 0; i < sizeof(anchors) / sizeof(anchors[0]); i++) {
		const size_t length = strlen(anchors[i].text);

		if (strncmp(parser->at, anchors[i].text, length) != 0)
			continue;
		parser->at += length;
		*out = anchors[i].operation;
		return true;
	}
	return false;
}

static struct mt_error *parse_repeated(struct mt_regex_parser *parser)
{
	const size_t begin = parser->program->code.count;
	enum mt_regex_operation anchor;
	struct repeat times;

	mt_try(refuse_quantifier(parser, "nothing to repeat"));
	if (take_anchor(parser, &anchor)) {
		mt_try(refuse_quantifier(parser, "nothing to repeat"));
		return emit(parser->program, anchor, 0);
	}
	mt_try(*parser->at == '(' ? parse_group(parser) : mt_regex_parse_character(parser));
	if (!take_quantifier(parser, &times))
		return NULL;
	if (times.least > times.most)
		return mt_error_new(MT_ERROR_USAGE, TOO_FEW);
	if (*parser->at == '+')
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "possessive quantifiers are not supported");
	if (*parser->at == '?') /* lazy */
		parser->at++;
	mt_try(repeat(parser->program, begin, &times));
	return refuse_quantifier(parser, "multiple repeat");
}

static struct mt_error *parse_alternatives(struct mt_regex_parser *parser)
{
	struct mt_regex_program *program = parser->program;
	size_t last = 0; /* of the jumps to the end, each of which leads to the one before so far */

	for (;;) {
		const size_t begin = program->code.count;

		while (*parser->at && *parser->at != '|' && *parser->at != ')')
			mt_try(parse_repeated(parser));
		if (*parser->at != '|')
			break;
		parser->at++;
		const struct mt_regex_instruction split = {
		    .operation = MT_REGEX_SPLIT,
		    .distance = (int16_t)(program->code.count - begin + 2)};
		mt_try(mt_regex_insert(program, begin, split));
		const size_t jump = program->code.count;
		mt_try(emit(program, MT_REGEX_JUMP, last ? (int)(jump - last) : 0));
		last = jump;
	}
	while (last) {
		struct mt_regex_instruction *jump = &program->code.items[last];
		const size_t before = jump->distance ? last - (size_t)jump->distance : 0;

		jump->distance = (int16_t)(program->code.count - last);
		last = before;
	}
	return NULL;
}

/* (?is) and the like, in front of all else. */
static void take_flags(struct mt_regex_parser *parser)
{
	while (strncmp(parser->at, "(?", 2) == 0) {
		const size_t count = strspn(parser->at + 2, "ais");

		if (!count || parser->at[2 + count] != ')')
			return;
		parser->ignores_case |= memchr(parser->at + 2, 'i', count) != NULL;
		parser->dot_is_all |= memchr(parser->at + 2, 's', count) != NULL;
		parser->is_ascii |= memchr(parser->at + 2, 'a', count) != NULL;
		parser->at += 2 + count + 1;
	}
}

struct mt_error *mt_regex_parse(const char *pattern, struct mt_regex_program *out)
{
	struct mt_regex_parser parser = {.at = pattern, .program = out};

	take_flags(&parser);
	mt_try(parse_alternatives(&parser));
	if (*parser.at)
		return mt_error_new(MT_ERROR_USAGE, "unbalanced parenthesis");
	return emit(out, MT_REGEX_MATCHED, 0);
}
