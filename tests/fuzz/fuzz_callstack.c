/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libFuzzer: any events at all into a rebuild over the toy program; the sink's promises hold. */
#include "check_sink.h"
#include "toy_program.h"
#include "trace/rebuild.h"

#include <stdlib.h>

enum { BATCH = 64 };

/* Four bytes an event: kind and flags, from, to, detail and time. */
static uint64_t address_of(uint8_t byte, uint8_t extra)
{
	size_t function = byte % (TOY_FUNCTIONS + 1);
	uint64_t offset = (uint64_t)(extra & 0x0f) * 0x10 + (byte >> 6);

	return function == TOY_FUNCTIONS ? extra : toy_address(function) + offset;
}

static struct mt_event event_of(const uint8_t *data, uint64_t *time_ns)
{
	*time_ns += data[3] >> 5;
	return (struct mt_event){
	    .kind = data[0] & 0x1f,
	    .flags = data[0] & 0x20 ? MT_EVENT_TIME_IS_ESTIMATE : 0,
	    .from = address_of(data[1], data[0] >> 2),
	    .to = address_of(data[2], data[3]),
	    .detail = data[3] % 7,
	    .time_ns = *time_ns,
	};
}

/* In batches, since an event is looked at together with the next one. */
static void push_all(struct mt_rebuild *stack, const uint8_t *data, size_t size)
{
	const size_t most = 1 + size % BATCH;
	struct mt_event events[BATCH];
	uint64_t time_ns = 0;
	size_t count = 0;

	for (; size >= 4; data += 4, size -= 4) {
		events[count++] = event_of(data, &time_ns);
		if (count < most && size >= 8)
			continue;
		mt_error_destroy(mt_rebuild_push(stack, events, count));
		count = 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	struct check_sink check = {0};
	struct mt_rebuild_options options = {
	    .sink = {&check_sink_ops, &check}, .log_memory_bytes = 1, .inlines = true};
	struct mt_symbolizer symbolizer = toy_symbolizer(toy);
	struct mt_rebuild *stack = NULL;

	toy_program_init(toy);
	if (mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack))
		abort();
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	push_all(stack, data, size);
	mt_error_destroy(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	if (*check_sink_failure(&check)) {
		fprintf(stderr, "%s\n", check_sink_failure(&check));
		abort();
	}
	check_sink_deinit(&check);
	free(toy);
	return 0;
}
