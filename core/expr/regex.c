/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions to states.  A state is what the instructions may wait for after the same bytes:
 * "Compilers: Principles, Techniques, and Tools", subset construction.  As the text's end comes as
 * a byte of its own, its NUL, an anchor there is a promise about what follows, which goes on with
 * the instruction: that nothing does, or at most a newline. */
#include "expr/regex_program.h"

enum promise { NO_PROMISE, AT_MOST_NEWLINE, NOTHING_FOLLOWS, PROMISES };

/* An instruction that waits, under a promise. */
#define WAIT(at, promise) ((at)*PROMISES + (promise))
#define WORD_BITS         64u

struct builder {
	struct mt_regex_program program;
	struct mt_regex *out;
	size_t words;            /* of each set of waits */
	MT_ARRAY(uint64_t) sets; /* of the states behind the answers */
	MT_ARRAY(uint16_t) transitions;
	uint64_t *next, *seen; /* sets */
	size_t *open;          /* waits whose instructions are still to be followed */
};

static bool has(const uint64_t *set, size_t at)
{
	return set[at / WORD_BITS] >> at % WORD_BITS & 1;
}

static void add(uint64_t *set, size_t at)
{
	set[at / WORD_BITS] |= 1ull << at % WORD_BITS;
}

/* ---- Classes of bytes ---- */

/* Each class falls apart into those that are in SET, and those that are not. */
static void divide(struct mt_regex *regex, const struct mt_regex_set *set)
{
	int outside[256]; /* the class of those that are not; -1: none yet */
	bool is_used[256] = {false};

	memset(outside, -1, sizeof(outside));
	for (unsigned byte = 0; byte < 256; byte++)
		if (mt_regex_set_has(set, byte))
			is_used[regex->classes[byte]] = true;
	for (unsigned byte = 0; byte < 256; byte++) {
		const uint8_t class = regex->classes[byte];

		if (mt_regex_set_has(set, byte) || !is_used[class])
			continue;
		if (outside[class] < 0)
			outside[class] = (int)regex->class_count++;
		regex->classes[byte] = (uint8_t)outside[class];
	}
}

static void find_classes(struct builder *builder)
{
	struct mt_regex_set end = {0}, newline = {0}, leads = {0};

	builder->out->class_count = 1;
	mt_regex_set_add(&end, 0, 0);
	mt_regex_set_add(&newline, '\n', '\n');
	mt_regex_set_add(&leads, MT_REGEX_LEAD_LOW, MT_REGEX_LEAD_HIGH);
	divide(builder->out, &end);
	mt_array_each (instruction, &builder->program.code) {
		if (instruction->operation == MT_REGEX_LINE_END)
			divide(builder->out, &newline);
		if (instruction->operation != MT_REGEX_BYTES)
			continue;
		divide(builder->out, &instruction->set);
		if (instruction->set.is_undecided)
			divide(builder->out, &leads);
	}
}

/* ---- Sets ---- */

static void open_wait(struct builder *builder, size_t *count, size_t at, enum promise promise)
{
	const size_t wait = WAIT(at, promise);

	if (has(builder->seen, wait))
		return;
	add(builder->seen, wait);
	builder->open[(*count)++] = wait;
}

/* To the next set: what waits, from instruction AT on. */
static void follow(struct builder *builder, size_t at, enum promise promise, bool is_start)
{
	size_t count = 0;

	open_wait(builder, &count, at, promise);
	while (count) {
		const size_t wait = builder->open[--count], here = wait / PROMISES;
		const enum promise held = (enum promise)(wait % PROMISES);
		const struct mt_regex_instruction *instruction = &builder->program.code.items[here];
		const size_t there = here + (size_t)(ptrdiff_t)instruction->distance;

		switch (instruction->operation) {
		case MT_REGEX_SPLIT:
			open_wait(builder, &count, here + 1, held);
			open_wait(builder, &count, there, held);
			break;
		case MT_REGEX_JUMP:
			open_wait(builder, &count, there, held);
			break;
		case MT_REGEX_BEGIN:
			if (is_start)
				open_wait(builder, &count, here + 1, held);
			break;
		case MT_REGEX_LINE_END:
			open_wait(builder, &count, here + 1,
				  held == NO_PROMISE ? AT_MOST_NEWLINE : held);
			break;
		case MT_REGEX_END:
			open_wait(builder, &count, here + 1, NOTHING_FOLLOWS);
			break;
		default:
			add(builder->next, wait);
		}
	}
}

static void begin_set(struct builder *builder)
{
	memset(builder->next, 0, builder->words * sizeof(uint64_t));
	memset(builder->seen, 0, builder->words * sizeof(uint64_t));
}

/* The state whose set is the next one. */
static struct mt_error *find_state(struct builder *builder, unsigned *state)
{
	const size_t last = builder->program.code.count - 1, bytes = builder->words * 8;
	bool is_empty = true;

	for (size_t i = 0; i < builder->words; i++)
		is_empty &= !builder->next[i];
	if (is_empty || has(builder->next, WAIT(last, NO_PROMISE))) {
		*state = is_empty ? MT_REGEX_NO : MT_REGEX_YES;
		return NULL;
	}
	for (*state = MT_REGEX_ANSWERS; *state < builder->out->state_count; (*state)++)
		if (memcmp(builder->sets.items + (*state - MT_REGEX_ANSWERS) * builder->words,
			   builder->next, bytes) == 0)
			return NULL;
	if (*state == MT_REGEX_MOST_STATES)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "the pattern has more than %u states",
				    MT_REGEX_MOST_STATES);
	for (size_t i = 0; i < builder->words; i++)
		if (mt_array_push(&builder->sets, builder->next[i]))
			return mt_error_no_memory();
	builder->out->state_count++;
	return NULL;
}

/* ---- Transitions ---- */

/* What waits goes on with BYTE, which is no NUL, if it can.  False: that is not known. */
static bool pass(struct builder *builder, size_t wait, unsigned byte)
{
	const size_t at = wait / PROMISES;
	const enum promise held = (enum promise)(wait % PROMISES);
	const struct mt_regex_instruction *instruction = &builder->program.code.items[at];
	const bool is_matched = instruction->operation == MT_REGEX_MATCHED;

	if (held == NOTHING_FOLLOWS || (held == AT_MOST_NEWLINE && byte != '\n'))
		return true;
	if (instruction->set.is_undecided && byte >= MT_REGEX_LEAD_LOW &&
	    byte <= MT_REGEX_LEAD_HIGH)
		return false;
	if (is_matched || mt_regex_set_has(&instruction->set, byte))
		follow(builder, is_matched ? at : at + 1,
		       held == NO_PROMISE ? NO_PROMISE : NOTHING_FOLLOWS, false);
	return true;
}

/* BYTE in the state whose set is FROM. */
static struct mt_error *step(struct builder *builder, const uint64_t *from, unsigned byte,
			     unsigned *state)
{
	const size_t last = builder->program.code.count - 1;

	if (!byte) {
		*state =
		    has(from, WAIT(last, AT_MOST_NEWLINE)) || has(from, WAIT(last, NOTHING_FOLLOWS))
			? MT_REGEX_YES
			: MT_REGEX_NO;
		return NULL;
	}
	begin_set(builder);
	for (size_t i = 0; i < builder->words; i++)
		for (uint64_t left = from[i]; left; left &= left - 1)
			if (!pass(builder, i * WORD_BITS + (size_t)__builtin_ctzll(left), byte)) {
				*state = MT_REGEX_UNDECIDED;
				return NULL;
			}
	return find_state(builder, state);
}

static struct mt_error *add_transitions(struct builder *builder, unsigned from)
{
	unsigned bytes[256]; /* one of each class */

	for (unsigned byte = 256; byte-- > 0;)
		bytes[builder->out->classes[byte]] = byte;
	for (unsigned class = 0; class < builder->out->class_count; class ++) {
		unsigned state = from; /* an answer stays */

		/* The array of sets may move as states are added. */
		if (from >= MT_REGEX_ANSWERS)
			mt_try(
			    step(builder,
				 builder->sets.items + (from - MT_REGEX_ANSWERS) * builder->words,
				 bytes[class], &state));
		if (mt_array_push(&builder->transitions, (uint16_t)state))
			return mt_error_no_memory();
	}
	return NULL;
}

static struct mt_error *build(struct builder *builder)
{
	const size_t waits = builder->program.code.count * PROMISES;

	builder->words = (waits + WORD_BITS - 1) / WORD_BITS;
	builder->next = calloc(builder->words, sizeof(uint64_t));
	builder->seen = calloc(builder->words, sizeof(uint64_t));
	builder->open = calloc(waits, sizeof(*builder->open));
	if (!builder->next || !builder->seen || !builder->open)
		return mt_error_no_memory();
	find_classes(builder);
	builder->out->state_count = MT_REGEX_ANSWERS;
	follow(builder, 0, NO_PROMISE, true);
	mt_try(find_state(builder, &builder->out->start));
	for (unsigned state = 0; state < builder->out->state_count; state++)
		mt_try(add_transitions(builder, state));
	return NULL;
}

struct mt_error *mt_regex_compile(const char *pattern, struct mt_regex *out)
{
	struct builder builder = {.out = out};

	*out = (struct mt_regex){0};
	struct mt_error *error = mt_regex_parse(pattern, &builder.program);
	if (!error)
		error = build(&builder);
	out->transitions = builder.transitions.items;
	mt_array_deinit(&builder.program.code);
	mt_array_deinit(&builder.sets);
	free(builder.next);
	free(builder.seen);
	free(builder.open);
	return error;
}

void mt_regex_deinit(struct mt_regex *regex)
{
	free(regex->transitions);
	*regex = (struct mt_regex){0};
}

enum mt_regex_answer mt_regex_match(const struct mt_regex *regex, const char *text)
{
	unsigned state = regex->start;

	for (; state >= MT_REGEX_ANSWERS; text++)
		state =
		    regex->transitions[state * regex->class_count + regex->classes[(uint8_t)*text]];
	return (enum mt_regex_answer)state;
}
