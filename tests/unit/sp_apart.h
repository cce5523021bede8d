/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events of a thread with several stacks, and what is shown of it, and of its coroutines. */
#ifndef SP_APART_H
#define SP_APART_H

#include "sp_text.h"

#define FAR_AWAY 0x10000000 /* another stack */

/* Returns to the first byte of "k", behind which is no call: what begins a stack does so. */
#define START(function, sp)                                                                        \
	{                                                                                          \
		.kind = MT_EVENT_ENTRY, .from = (sp), .to = sp_address(function),                  \
		.detail = (uint32_t)sp_address('k')                                                \
	}
#define OWN_STACK(sp) MARK(MT_MARK_OWN_STACK, sp)

/* "2*x": "x" begins stack 2; "2+x", "2-x": entries and rets on it; "0!": for all. */
static inline struct mt_error *sp_take(void *self, uint32_t fiber, const struct mt_event *event,
				       bool is_start)
{
	const char kind = is_start                        ? '*'
			  : event->kind == MT_EVENT_ENTRY ? '+'
			  : event->kind == MT_EVENT_LEAVE ? '-'
			  : event->kind == MT_EVENT_FRAME ? '~'
							  : '!';
	if (event->kind == MT_EVENT_MARK && event->detail == MT_MARK_OWN_STACK)
		return NULL;

	const char name = (char)('a' + (event->to - sp_address('a')) / SP_SIZE);

	sp_put(self, (char[]){' ', (char)('0' + fiber), kind, '\0'});
	if (kind != '!')
		sp_put(self, (char[]){name, '\0'});
	return NULL;
}

static inline void sp_expect_apart(struct mt_event *events, size_t count, const char *wanted,
				   const char *wanted_of_fibers)
{
	struct sp_text text = {0}, fibers = {0};
	struct mt_slice_sink sink = {&sp_text_ops, &text};
	struct sp_names names;
	struct mt_symbolizer symbolizer = sp_symbolizer(&names);
	const struct mt_rebuild_options options = {.sink = sink, .fibers = {sp_take, &fibers}};
	struct mt_rebuild *stack = NULL;

	for (size_t i = 0; i < count; i++)
		events[i].time_ns = 100 + i;
	sp_names_init(&names);
	sp_names_of_ocaml(&names);
	symbolizer.call_before = sp_call_before;
	assert_no_error(mt_rebuild_create(&mt_rebuild_from_calls, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	assert_no_error(mt_rebuild_push(stack, events, count));
	assert_no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	assert_string_equal(text.text, wanted);
	assert_string_equal(fibers.text, wanted_of_fibers);
}

#define EXPECT_APART(wanted, wanted_of_fibers, ...)                                                \
	do {                                                                                       \
		struct mt_event events_[] = {__VA_ARGS__};                                         \
		sp_expect_apart(events_, sizeof(events_) / sizeof(events_[0]), wanted,             \
				wanted_of_fibers);                                                 \
	} while (0)

#endif
