/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that were seen before go a shorter way through the rebuild by the stack pointer.  Where the
 * names are given anew before each event, no call was seen before: that must make no difference. */
#include "sp_text.h"

#include <inttypes.h>

enum { OTHERS_INLINED = 0x50 /* of one of "J" alone */ };
enum { EVENTS = 400, ROUNDS = 1000, DEPTH = 12 };

#define STACK 0x7ffc00000000ull
#define OTHER 0x555500000000ull /* a stack of other bounds, in whose place a third may be found */

struct program {
	uint64_t seed;
	struct mt_event events[EVENTS + DEPTH];
	size_t count;
	/* What is open, as far as nothing odd happens. */
	char functions[DEPTH + 1];
	uint64_t stack[DEPTH + 1];
	size_t depth;
};

static uint64_t at_random(struct program *p, uint64_t below)
{
	p->seed ^= p->seed << 13;
	p->seed ^= p->seed >> 7;
	p->seed ^= p->seed << 17;
	return p->seed % below;
}

static void put(struct program *p, struct mt_event event)
{
	event.time_ns = 1000 + p->count;
	event.flags = at_random(p, 8) ? 0 : MT_EVENT_TIME_IS_ESTIMATE;
	p->events[p->count++] = event;
}

/* By few calls, so that most were seen before: in the caller's own code, in inlined calls, in code
 * that was made at run time, in what may begin a stack. */
static void call(struct program *p)
{
	static const uint8_t places[] = {0x10, OTHERS_INLINED, SP_INLINED, SP_INLINED_TWICE};
	const char caller = at_random(p, 10) ? p->functions[p->depth] : "vxkk"[at_random(p, 4)];
	const char function = (char)('a' + at_random(p, 4));
	const uint64_t sp = p->stack[p->depth] - (at_random(p, 10) ? 64 : at_random(p, 4) * 8);
	const uint32_t place = places[at_random(p, 4)];

	put(p, (struct mt_event)ENTER_FROM(function, sp, caller, caller == 'k' ? -1u : place));
	if (p->depth == DEPTH)
		return;
	p->functions[++p->depth] = function;
	p->stack[p->depth] = sp;
}

static void leave(struct program *p)
{
	put(p, (struct mt_event)LEAVE(p->functions[p->depth], p->stack[p->depth]));
	p->depth -= p->depth > 0;
}

static void do_something_odd(struct program *p)
{
	const uint64_t sp = p->stack[p->depth];
	const char function = p->functions[p->depth];

	switch (at_random(p, 12)) {
	case 0:
		put(p, (struct mt_event)SIGNAL(14));
		p->stack[p->depth] -= at_random(p, 2) * 2048;
		break;
	case 1:
		put(p, (struct mt_event)LOST(4096));
		break;
	case 2:
		put(p, (struct mt_event)MARK(MT_MARK_SNAPSHOT, 1));
		break;
	case 3: /* another stack, or back */
		p->stack[p->depth] =
		    sp > OTHER + 0x100000 ? OTHER - at_random(p, 3) * 0x8000 : STACK;
		break;
	case 4: /* an exception, or a part that is not recorded */
		p->depth = at_random(p, p->depth + 1);
		break;
	case 5: /* an unwinder comes by, perhaps twice */
		for (size_t i = p->depth + 1; i-- > 0;)
			put(p, (struct mt_event)FRAME(p->functions[i], p->stack[i]));
		break;
	case 6:
		put(p, (struct mt_event)ENTER('e', sp)); /* by a jump */
		break;
	case 7:
		put(p, (struct mt_event)VALUE(at_random(p, 6), sp - 64, at_random(p, 2)));
		break;
	case 8:
		put(p, (struct mt_event)AGAIN(function, sp - at_random(p, 2) * 4096));
		break;
	case 9: /* one above all that is known */
		put(p, (struct mt_event)FRAME(function, sp));
		put(p, (struct mt_event)FRAME('y', sp + 64 * (1 + at_random(p, 16))));
		put(p, (struct mt_event)LEAVE(function, sp));
		put(p, (struct mt_event)LEAVE('y', p->events[p->count - 2].from));
		p->depth -= p->depth > 0;
		break;
	case 10:
		put(p, (struct mt_event)FRAME('y', sp + 64 * at_random(p, 16)));
		break;
	case 11:
		put(p, (struct mt_event)LEAVE('b', sp + 8 * at_random(p, 32)));
		break;
	}
}

static void make(struct program *p, uint64_t seed)
{
	*p = (struct program){
	    .seed = seed * 0x9e3779b97f4a7c15u, .functions = "x", .stack = {STACK}};
	while (p->count < EVENTS) {
		if (!at_random(p, 25))
			do_something_odd(p);
		else if (p->depth && at_random(p, 2))
			leave(p);
		else
			call(p);
	}
}

static void inlines_at(void *context, uint64_t address, struct mt_inline_span *out)
{
	struct sp_names *names = context;
	const uint64_t index = (address - sp_address('a')) / SP_SIZE;

	sp_inlines_at(context, address, out);
	if (index >= SP_FUNCTIONS || address != sp_address((char)('a' + index)) + OTHERS_INLINED)
		return;
	out->depth = 1;
	out->chain = &names->chains[index][1];
}

static struct mt_error *take(void *self, uint32_t fiber, const struct mt_event *event,
			     bool is_start)
{
	sp_put(self, (char[]){'{', (char)('0' + fiber % 10), (char)('0' + event->kind % 10),
			      is_start ? '!' : '}', '\0'});
	return NULL;
}

static void rebuild(const struct program *p, bool anew, struct sp_text *text)
{
	struct sp_names names;
	struct mt_symbolizer symbolizer = sp_symbolizer(&names);
	struct mt_recorded_values values = {0};
	uint64_t last_call_id = 0;
	const struct mt_rebuild_options options = {.sink = {&sp_text_ops, text},
						   .inlines = p->seed & 1,
						   .fibers = {p->seed & 4 ? take : NULL, text},
						   .values = &values,
						   .last_call_id = &last_call_id,
						   .events = 64};
	const struct mt_event own_stack = {
	    .kind = MT_EVENT_MARK, .detail = MT_MARK_OWN_STACK, .to = STACK + 64, .from = 1 << 20};
	struct mt_rebuild *stack = NULL;

	sp_names_init(&names);
	symbolizer.call_before = sp_call_before;
	symbolizer.inlines_at = inlines_at;
	sp_values(&values);
	assert_no_error(mt_rebuild_create(&mt_rebuild_from_calls, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	if (p->seed & 2)
		assert_no_error(mt_rebuild_push(stack, &own_stack, 1));
	for (size_t i = 0, more; i < p->count; i += more) {
		/* A whole list of an unwinder's frames at once. */
		for (more = 1; i + more < p->count && p->events[i + more].kind == MT_EVENT_FRAME;)
			more++;
		if (anew)
			mt_rebuild_set_symbolizer(stack, &symbolizer);
		assert_no_error(mt_rebuild_push(stack, p->events + i, more));
	}
	assert_no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	mt_recorded_values_deinit(&values);
}

static void what_was_seen_before_makes_no_difference(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct sp_text seen = {0}, unseen = {0};
		struct program p;

		make(&p, seed);
		rebuild(&p, false, &seen);
		rebuild(&p, true, &unseen);
		if (strcmp(seen.text, unseen.text) != 0)
			fail_msg("seed %" PRIu64 ":\n%s\ninstead of\n%s", seed, seen.text,
				 unseen.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_seen_before_makes_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
