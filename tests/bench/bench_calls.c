/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_calls EVENTS [OUTPUT]: from a ring of call events to a timeline, each step with its time.
 * The events are a made-up program's, of this one's own functions, so that names are real, and each
 * returns to behind a call: else it would be a coroutine's. */
#include "decode/decode.h"
#include "engine/calls/ring/ring.h"
#include "no_sink.h"
#include "output/trace_writer.h"
#include "perf/recording_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TID        100
#define STACK      0x7ffc00100000ull
#define FUNCTIONS  8
#define DEPTH      24
#define MANY       4096
#define CALL_BYTES 3 /* call *8(%rax), which may lead to any of them */
#define FUNCTION(n)                                                                                \
	__attribute__((naked, noinline)) static void function_##n(void)                            \
	{                                                                                          \
		__asm__("call *8(%rax)\n\tret");                                                   \
	}

FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)

static void (*const functions[FUNCTIONS])(void) = {
    function_0, function_1, function_2, function_3, function_4, function_5, function_6, function_7,
};

static void must(struct mt_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "bench_calls: %s\n", mt_error_message(error));
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void tell(const char *what, double since, uint64_t events)
{
	double took = seconds() - since;

	printf("%-34s %7.3f s  %6.1f ns an event\n", what, took, took / (double)events * 1e9);
}

/* Sites: function n's entry is 2n + 1, its ret 2n + 2. */
static uint64_t fill_ring(uint8_t *ring, uint64_t events)
{
	uint64_t at = 0, random = 88172645463325252u, tsc = 1000;
	unsigned stack[DEPTH], depth = 0;

	for (uint64_t i = 0; i < events; i++) {
		struct mt_ring_event event;

		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		bool enters = depth == 0 || (depth < DEPTH && random & 1);
		if (enters && at % MT_RING_LINE_BYTES == MT_RING_LINE_BYTES - sizeof(event))
			at += sizeof(event);
		if (at % MT_RING_LINE_BYTES == 0) {
			memcpy(ring + at, &tsc, sizeof(tsc));
			at += sizeof(tsc);
		}
		if (enters) {
			stack[depth++] = (unsigned)(random >> 8) % FUNCTIONS;
			event.site = (2 * stack[depth - 1] + 1) | MT_RING_SITE_ENTRY;
			event.stack = (uint32_t)(STACK - 64 * (depth - 1));
		} else {
			event.site = 2 * stack[depth - 1] + 2;
			event.stack = (uint32_t)(STACK - 64 * (depth - 1));
			depth--;
		}
		memcpy(ring + at, &event, sizeof(event));
		at += sizeof(event);
		if (enters) {
			unsigned caller =
			    depth > 1 ? stack[depth - 2] : (unsigned)(random >> 16) % FUNCTIONS;
			uint64_t return_address =
			    (uint64_t)(uintptr_t)functions[caller] + CALL_BYTES;

			memcpy(ring + at, &return_address, sizeof(return_address));
			at += sizeof(return_address);
		}
		tsc += 10 + random % 40;
	}
	return at;
}

static void put_program(struct mt_recording_writer *writer)
{
	char line[512], path[256], protection[8];
	unsigned long long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &from, &to, protection,
			   &offset, path) == 5 &&
		    protection[2] == 'x' && path[0] == '/')
			must(mt_recording_writer_put(
			    writer, &(struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
							  .time_ns = 1,
							  .pid = TID,
							  .tid = TID,
							  .cpu = -1,
							  .mmap = {.start = from,
								   .length = to - from,
								   .offset = offset,
								   .path = path,
								   .executable = true}}));
	fclose(maps);
}

static void write_recording(struct mt_recording_writer *writer, const struct mt_ring_view *view)
{
	static struct mt_event calls[MANY + MT_RING_LINE_EVENTS];
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	size_t count = 0, more;
	bool at_end = false;

	mt_ring_cursor_init(&cursor, view);
	while (!at_end) {
		more = mt_ring_next_line(&cursor, events, &at_end);
		for (size_t i = 0; i < more; i++) {
			uint32_t function = (events[i].site - 1) / 2;
			bool is_return = (events[i].site - 1) % 2;

			calls[count] = (struct mt_event){
			    .time_ns = events[i].tsc,
			    .to = (uint64_t)(uintptr_t)functions[function] + is_return,
			    .from = STACK - ((uint32_t)STACK - events[i].stack),
			    .kind = is_return ? MT_EVENT_LEAVE : MT_EVENT_ENTRY,
			    .flags = events[i].estimated ? MT_EVENT_TIME_IS_ESTIMATE : 0,
			};
			mt_event_set_return_address(&calls[count++], events[i].return_address);
		}
		if (count < MANY && !at_end)
			continue;
		must(mt_recording_writer_put_calls(writer, TID, TID, calls, count));
		count = 0;
	}
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000, size = 64;
	const char *output = argc > 2 ? argv[2] : "/dev/null";
	const struct mt_recording_writer_options options = {.calls = true};
	struct mt_recording_writer *writer = NULL;
	struct mt_trace_writer *timeline = NULL;
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	while (size < events * 14)
		size *= 2;
	uint8_t *ring = calloc(1, size);
	if (!ring)
		return 1;
	struct mt_ring_view view = {.bytes = ring, .size = size};
	view.written = fill_ring(ring, events);

	double start = seconds(), step = start;
	must(mt_recording_writer_create(NULL, &options, &writer));
	put_program(writer);
	write_recording(writer, &view);
	must(mt_recording_writer_finish(writer));
	tell("ring to recording", step, events);
	step = seconds();
	must(mt_recording_writer_reopen(writer, &recording));
	tell("open the recording", step, events);
	step = seconds();
	must(mt_decode(recording, NULL, (struct mt_slice_sink){&no_ops, NULL}, &stats));
	tell("recording to slices, thrown away", step, events);
	const double slices = seconds() - step;
	step = seconds();
	must(mt_trace_writer_create(output, "fxt", NULL, &timeline));
	must(mt_decode(recording, NULL, mt_trace_writer_sink(timeline), &stats));
	must(mt_trace_writer_finish(timeline));
	tell("recording to .fxt", step, events);
	tell("all", start + slices, stats.events);
	mt_trace_writer_destroy(timeline);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
	free(ring);
	return 0;
}
