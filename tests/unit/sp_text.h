/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events of functions "a" to "z", and slices as text: "a(b()c())".  Behind a name stand the
 * flags of its begin: i inferred, e estimated, t tail call, h handler; then @ and the last digit of
 * its number, if it was cut by a loss; behind a parenthesis those
 * of its end: o open, u unwound, e estimated, l lost.  "|" ends a segment; instants are "!signal".
 */
#ifndef SP_TEXT_H
#define SP_TEXT_H

#include "check_sink.h"
#include "sp_names.h"
#include "unit.h"

#include "trace/rebuild.h"

#include <string.h>

/* Events.  They are a nanosecond apart. */
#define ENTER(function, sp)                                                                        \
	{                                                                                          \
		.kind = MT_EVENT_ENTRY, .from = (sp), .to = sp_address(function)                   \
	}
/* Called from OFFSET in CALLER, right before where it returns to. */
#define ENTER_FROM(function, sp, caller, offset)                                                   \
	{                                                                                          \
		.kind = MT_EVENT_ENTRY, .from = (sp), .to = sp_address(function),                  \
		.detail = (uint32_t)sp_address(caller) + (offset) + 1                              \
	}
#define LEAVE(function, sp)                                                                        \
	{                                                                                          \
		.kind = MT_EVENT_LEAVE, .from = (sp), .to = sp_address(function) + 0x40            \
	}
#define FRAME(function, sp)                                                                        \
	{                                                                                          \
		.kind = MT_EVENT_FRAME, .from = (sp), .to = sp_address(function) + 0x20            \
	}
#define AGAIN(function, sp)                                                                        \
	{                                                                                          \
		.kind = MT_EVENT_AGAIN, .from = (sp), .to = sp_address(function)                   \
	}
/* Of value NUMBER: see sp_values(). */
#define VALUE(number, sp, value)                                                                   \
	{                                                                                          \
		.kind = MT_EVENT_VALUE, .from = (sp), .to = (value), .detail = (number)            \
	}
#define SIGNAL(number)                                                                             \
	{                                                                                          \
		.kind = MT_EVENT_SIGNAL, .detail = (number)                                        \
	}
#define MARK(what, number)                                                                         \
	{                                                                                          \
		.kind = MT_EVENT_MARK, .detail = (what), .to = (number)                            \
	}
#define LOST(bytes)                                                                                \
	{                                                                                          \
		.kind = MT_EVENT_GAP, .detail = MT_GAP_AUX_LOST, .from = (bytes)                   \
	}

struct sp_text {
	char text[4096];
	size_t length;
};

static inline void sp_put(struct sp_text *text, const char *word)
{
	size_t length = strlen(word);

	if (text->length + length >= sizeof(text->text))
		return;
	memcpy(text->text + text->length, word, length + 1);
	text->length += length;
}

static inline void sp_put_flags(struct sp_text *text, uint8_t flags, const char *letters)
{
	for (size_t i = 0; letters[i]; i++)
		if (flags & 1u << i)
			sp_put(text, (char[]){letters[i], '\0'});
}

static inline struct mt_error *sp_thread(void *self, const struct mt_thread *thread)
{
	(void)self;
	(void)thread;
	return NULL;
}

static inline struct mt_error *sp_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	(void)self;
	(void)segment;
	return NULL;
}

static inline struct mt_error *sp_begin(void *self, const struct mt_slice *slice)
{
	sp_put(self, slice->kind == MT_SLICE_GAP ? "[lost]" : slice->function->name);
	sp_put_flags(self, slice->flags, "ieth");
	if (slice->call_id)
		sp_put(self, (char[]){'@', (char)('0' + slice->call_id % 10), '\0'});
	sp_put(self, "(");
	if (slice->arguments) {
		sp_put(self, slice->arguments);
		sp_put(self, ";");
	}
	return NULL;
}

static inline struct mt_error *sp_end(void *self, const struct mt_slice_end *end)
{
	sp_put(self, ")");
	sp_put_flags(self, end->flags, "ouel");
	if (end->result) {
		sp_put(self, "=");
		sp_put(self, end->result);
	}
	return NULL;
}

static inline struct mt_error *sp_instant(void *self, const struct mt_instant *instant)
{
	static const char *const names[] = {
	    [MT_INSTANT_SIGNAL] = "!signal",   [MT_INSTANT_GAP] = "!gap",
	    [MT_INSTANT_TRIGGER] = "!trigger", [MT_INSTANT_EXIT] = "!exit",
	    [MT_INSTANT_EXEC] = "!exec",       [MT_INSTANT_SNAPSHOT] = "!snapshot",
	};

	sp_put(self, names[instant->kind]);
	return NULL;
}

static inline struct mt_error *sp_segment_end(void *self, const struct mt_thread_segment *segment)
{
	sp_put(self, segment->snapshot ? "#|" : "|");
	return NULL;
}

static const struct mt_slice_sink_ops sp_text_ops = {
    .thread = sp_thread,
    .segment_begin = sp_segment_begin,
    .begin = sp_begin,
    .end = sp_end,
    .instant = sp_instant,
    .segment_end = sp_segment_end,
};

/* 0 and 1 are arguments of "a", 2 is its result; 3 and 4 are those of "b", 5 is the result of "c".
 */
static inline void sp_values(struct mt_recorded_values *values)
{
	static const struct mt_recorded_value known[] = {
	    {.number = 0, .form = MT_VALUE_SIGNED, .name = "x"},
	    {.number = 1, .form = MT_VALUE_POINTER, .name = "y"},
	    {.number = 2, .form = MT_VALUE_SIGNED, .name = "", .is_result = true},
	    {.number = 3, .form = MT_VALUE_CHAR, .name = "z"},
	    {.number = 4, .form = MT_VALUE_BOOL, .name = "", .is_result = true},
	    {.number = 5, .form = MT_VALUE_BOOL, .name = "", .is_result = true},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct mt_recorded_value value = known[i];

		value.function = sp_address(i < 3 ? 'a' : i < 5 ? 'b' : 'c');
		assert_no_error(mt_recorded_values_add(values, &value));
	}
}

static inline void sp_rebuild(const struct mt_event *events, size_t count, size_t batch,
			      struct mt_slice_sink sink)
{
	struct check_sink check = {.next = sink};
	struct sp_names names;
	struct mt_symbolizer symbolizer = sp_symbolizer(&names);
	struct mt_recorded_values values = {0};
	uint64_t last_call_id = 0;
	const struct mt_rebuild_options options = {.sink = {&check_sink_ops, &check},
						   .log_memory_bytes = 1,
						   .inlines = true,
						   .values = &values,
						   .last_call_id = &last_call_id,
						   .events = batch < count ? batch : 0};
	struct mt_rebuild *stack = NULL;

	sp_names_init(&names);
	sp_values(&values);
	assert_no_error(mt_rebuild_create(&mt_rebuild_from_calls, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	for (size_t i = 0; i < count; i += batch)
		assert_no_error(
		    mt_rebuild_push(stack, events + i, count - i < batch ? count - i : batch));
	assert_no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	assert_string_equal(check_sink_failure(&check), "");
	check_sink_deinit(&check);
	mt_recorded_values_deinit(&values);
}

static inline void sp_expect(struct mt_event *events, size_t count, const char *wanted)
{
	struct sp_text text = {0};

	for (size_t i = 0; i < count; i++)
		if (!events[i].time_ns)
			events[i].time_ns = 100 + i;
	sp_rebuild(events, count, count, (struct mt_slice_sink){&sp_text_ops, &text});
	assert_string_equal(text.text, wanted);
}

#define EXPECT(wanted, ...)                                                                        \
	do {                                                                                       \
		struct mt_event events_[] = {__VA_ARGS__};                                         \
		sp_expect(events_, sizeof(events_) / sizeof(events_[0]), wanted);                  \
	} while (0)

#endif
