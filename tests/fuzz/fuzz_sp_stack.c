/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer: any call events at all into the rebuild by the stack pointer, of a thread with other
 * stacks, too; the sink's promises hold. */
#include "check_sink.h"
#include "sp_names.h"
#include "trace/rebuild.h"

#include <stdlib.h>

/* Four bytes an event: kind and flags, stack and function, two of the stack pointer. */
static struct mt_event event_of(const uint8_t *data, uint64_t *time_ns)
{
	static const uint64_t bases[] = {0, 0x9000, 0x555500000000, 0x7ffc00000000};

	*time_ns += data[0] >> 6;
	return (struct mt_event){
	    .time_ns = *time_ns,
	    .kind = data[0] & 0x0f ? MT_EVENT_GAP + (data[0] & 7) : 200,
	    .flags = data[0] >> 4 & 1,
	    .from = bases[data[1] >> 6] - 8 * (uint64_t)(data[2] | data[3] << 8),
	    .to = sp_address((char)('a' + data[1] % 27)),
	    .detail =
		data[0] & 0x20 ? (uint32_t)sp_address((char)('a' + data[2] % 27)) + 1 : data[1] % 5,
	};
}

static struct mt_error *take(void *self, uint32_t fiber, const struct mt_event *event,
			     bool is_start)
{
	(void)self;
	(void)is_start;
	if (!fiber && event->kind >= MT_EVENT_ENTRY && event->kind <= MT_EVENT_AGAIN)
		abort();
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct check_sink check = {0};
	struct sp_names names;
	uint64_t last_call_id = 0;
	const struct mt_rebuild_options options = {
	    .sink = {&check_sink_ops, &check},
	    .log_memory_bytes = 1,
	    .last_call_id = &last_call_id,
	    .fibers = {size && data[0] & 1 ? take : NULL, NULL}};
	struct mt_symbolizer symbolizer = sp_symbolizer(&names);
	const struct mt_event own_stack = {.kind = MT_EVENT_MARK,
					   .detail = MT_MARK_OWN_STACK,
					   .to = 0x7ffc00000000,
					   .from = 0x10000};
	struct mt_rebuild *stack = NULL;
	struct mt_event events[64];
	uint64_t time_ns = 0;
	size_t count = 0;

	sp_names_init(&names);
	sp_names_of_ocaml(&names);
	symbolizer.call_before = sp_call_before;
	if (mt_rebuild_create(&mt_rebuild_from_calls, &options, &stack))
		abort();
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	if (size && data[0] & 2)
		mt_error_destroy(mt_rebuild_push(stack, &own_stack, 1));
	for (; size >= 4; data += 4, size -= 4) {
		events[count++] = event_of(data, &time_ns);
		if (count == 64 || data[0] == 0x20) {
			mt_error_destroy(mt_rebuild_push(stack, events, count));
			count = 0;
		}
	}
	mt_error_destroy(mt_rebuild_push(stack, events, count));
	mt_error_destroy(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	if (*check_sink_failure(&check)) {
		fprintf(stderr, "%s\n", check_sink_failure(&check));
		abort();
	}
	check_sink_deinit(&check);
	return 0;
}
