/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goroutines out of the events of several threads, of which some are known in part: the recording
 * is made up, the program it is of is this test itself, with the names that Go's runtime has. */
#include "sp_text.h"

#include "decode/decode.h"
#include "perf/recording_writer.h"
#include "trace/goroutines.h"

#include <stdio.h>

#define PID       101
#define OWN_STACK 0x7ffc80010000ull /* of each thread */
#define STACK     0xc000010000ull   /* of goroutine 7, of 4096 bytes; that of 8 is above */
#define BYTES     4096

#define ALONE __attribute__((noinline))
void switch_to(void) __asm__(MT_GOROUTINE_SWITCH ".abi0");
void leave(void) __asm__(MT_GOROUTINE_LEAVE);
void ready(void) __asm__(MT_GOROUTINE_READY);

#define FUNCTION(name)                                                                             \
	ALONE void name(void)                                                                      \
	{                                                                                          \
		__asm__ volatile("# " #name "\n\tnop\n\tnop" : : : "memory");                      \
	}
FUNCTION(switch_to)
FUNCTION(leave)
FUNCTION(ready)
void outer(void), inner(void), other(void), schedule(void);
void park(void) __asm__("runtime.gopark");
void more(void) __asm__("runtime.morestack");
void new_stack(void) __asm__(MT_GOROUTINE_NEW_STACK);
FUNCTION(park)
FUNCTION(more)
FUNCTION(new_stack)
FUNCTION(outer)
FUNCTION(inner)
FUNCTION(other)
FUNCTION(schedule)

/* A sink that keeps goroutine 7's track. */
struct track {
	struct sp_text text;
	bool is_it;
};

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct track *track = self;

	track->is_it = which->name && strncmp(which->name, "goroutine 7", 11) == 0;
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct track *track = self;

	if (!track->is_it)
		return NULL;
	if (slice->kind != MT_SLICE_SIDE)
		return sp_begin(&track->text, slice);
	sp_put(&track->text, slice->side->name);
	if (slice->side->reason) {
		sp_put(&track->text, ": ");
		sp_put(&track->text, slice->side->reason);
	}
	sp_put(&track->text, "(");
	return NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct track *track = self;

	return track->is_it ? sp_end(&track->text, what) : NULL;
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct track *track = self;

	if (track->is_it && what->kind == MT_INSTANT_MARK) {
		sp_put(&track->text, "!");
		sp_put(&track->text, what->side->name);
	}
	return NULL;
}

static struct mt_error *segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct track *track = self;

	return track->is_it ? sp_segment_end(&track->text, segment) : NULL;
}

static const struct mt_slice_sink_ops ops = {
    .thread = thread,
    .segment_begin = sp_segment_begin,
    .begin = begin,
    .end = end,
    .instant = instant,
    .segment_end = segment_end,
};

/* ---- Recordings ---- */

static void put(struct mt_recording_writer *writer, int tid, struct mt_sideband record)
{
	record.pid = PID;
	record.tid = tid;
	record.cpu = -1;
	assert_no_error(mt_recording_writer_put(writer, &record));
}

static void put_program(struct mt_recording_writer *writer)
{
	char line[512], path[256];
	unsigned long long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps)) {
		char protection[8];

		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &from, &to, protection,
			   &offset, path) < 5 ||
		    protection[2] != 'x' || path[0] != '/')
			continue;
		put(writer, PID,
		    (struct mt_sideband){.kind = MT_SIDEBAND_MMAP,
					 .time_ns = 1,
					 .mmap = {.start = from,
						  .length = to - from,
						  .offset = offset,
						  .path = path,
						  .executable = true}});
	}
	fclose(maps);
}

static void put_meaning(struct mt_recording_writer *writer, uint64_t number, const char *name,
			void (*function)(void))
{
	char raw[32] = {0};

	snprintf(raw, sizeof(raw), "%s%cd8", name, '\0');
	put(writer, PID,
	    (struct mt_sideband){.kind = MT_SIDEBAND_SAMPLE,
				 .time_ns = 1,
				 .sample = {.event = MT_NOTE_VALUE_IS,
					    .ip = (uint64_t)(uintptr_t)function,
					    .weight = number,
					    .raw = (const uint8_t *)raw,
					    .raw_size = (uint32_t)strlen(name) + 4}});
}

enum { HIGH, LOW, ID, WOKEN };

static struct mt_recording_writer *start(void)
{
	const struct mt_recording_writer_options options = {.calls = true};
	struct mt_recording_writer *writer = NULL;

	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	put_program(writer);
	put_meaning(writer, HIGH, MT_GOROUTINE_HIGH_NAME, switch_to);
	put_meaning(writer, LOW, MT_GOROUTINE_LOW_NAME, switch_to);
	put_meaning(writer, ID, MT_GOROUTINE_ID_NAME, switch_to);
	put_meaning(writer, WOKEN, MT_GOROUTINE_WOKEN_NAME, ready);
	return writer;
}

static void put_event(struct mt_recording_writer *writer, int tid, struct mt_event event)
{
	assert_no_error(mt_recording_writer_put_calls(writer, PID, tid, &event, 1));
}

static void put_value(struct mt_recording_writer *writer, int tid, uint64_t time_ns,
		      uint32_t number, uint64_t value)
{
	put_event(writer, tid,
		  (struct mt_event){.time_ns = time_ns,
				    .kind = MT_EVENT_VALUE,
				    .from = OWN_STACK - 512,
				    .to = value,
				    .detail = number});
}

/* SP: where it lies. */
static void put_entry(struct mt_recording_writer *writer, int tid, uint64_t time_ns,
		      void (*function)(void), uint64_t sp)
{
	put_event(writer, tid,
		  (struct mt_event){.time_ns = time_ns,
				    .kind = MT_EVENT_ENTRY,
				    .from = sp,
				    .to = (uint64_t)(uintptr_t)function});
}

static void put_return(struct mt_recording_writer *writer, int tid, uint64_t time_ns,
		       void (*function)(void), uint64_t sp)
{
	put_event(writer, tid,
		  (struct mt_event){.time_ns = time_ns,
				    .kind = MT_EVENT_LEAVE,
				    .from = sp,
				    .to = (uint64_t)(uintptr_t)function + 1});
}

static uint64_t stack_of(uint64_t goroutine)
{
	return STACK + (goroutine - 7) * BYTES;
}

static void put_switch_from(struct mt_recording_writer *writer, int tid, uint64_t time_ns,
			    uint64_t goroutine, void (*caller)(void))
{
	struct mt_event event = {.time_ns = time_ns,
				 .kind = MT_EVENT_ENTRY,
				 .from = OWN_STACK - 512,
				 .to = (uint64_t)(uintptr_t)switch_to};

	put_value(writer, tid, time_ns, HIGH, stack_of(goroutine));
	put_value(writer, tid, time_ns, LOW, stack_of(goroutine) - BYTES);
	put_value(writer, tid, time_ns, ID, goroutine);
	mt_event_set_return_address(&event, (uint64_t)(uintptr_t)caller + 1);
	put_event(writer, tid, event);
}

static void put_switch(struct mt_recording_writer *writer, int tid, uint64_t time_ns,
		       uint64_t goroutine)
{
	put_switch_from(writer, tid, time_ns, goroutine, schedule);
}

static void put_snapshot(struct mt_recording_writer *writer, int tid, uint64_t time_ns)
{
	put(writer, tid,
	    (struct mt_sideband){.kind = MT_SIDEBAND_SAMPLE,
				 .time_ns = time_ns,
				 .sample = {.event = MT_NOTE_SNAPSHOT, .weight = 1}});
}

/* Destroys the writer. */
static void check(struct mt_recording_writer *writer, const char *wanted)
{
	struct track track = {0};
	struct check_sink checked = {.next = {&ops, &track}};
	struct mt_recording *recording = NULL;

	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_no_error(
	    mt_decode(recording, NULL, (struct mt_slice_sink){&check_sink_ops, &checked}, NULL));
	assert_string_equal(check_sink_failure(&checked), "");
	assert_string_equal(track.text.text, wanted);
	check_sink_deinit(&checked);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
}

/* Thread PID has it call inner() in outer() and leave, which ends at 22. */
static void put_first_run(struct mt_recording_writer *writer)
{
	put_entry(writer, PID, 5, schedule, OWN_STACK - 256);
	put_switch(writer, PID, 10, 7);
	put_entry(writer, PID, 20, outer, STACK - 64);
	put_entry(writer, PID, 21, inner, STACK - 128);
	put_entry(writer, PID, 22, leave, STACK - 192);
}

/* ---- Tests ---- */

static void it_goes_on_in_another_thread(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_first_run(writer);
	put_entry(writer, PID + 1, 6, schedule, OWN_STACK - 256);
	put_switch(writer, PID + 1, 30, 7);
	put_return(writer, PID + 1, 31, inner, STACK - 128);
	put_return(writer, PID + 1, 32, outer, STACK - 64);
	check(writer, "outer(inner(runtime.mcall(runnable())))|");
}

/* The other thread's ring has its last calls alone, so what the goroutine did in it before is not
 * known; it is in other(), which outer() did not call. */
static void what_another_thread_lost_may_be_its(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_first_run(writer);
	put_entry(writer, PID + 1, 28, schedule, OWN_STACK - 256);
	put_switch(writer, PID + 1, 30, 7);
	put_return(writer, PID + 1, 31, other, STACK - 96);
	check(writer, "outer@1(inner@2(runtime.mcall@3(runnable()l)l)l)l[lost]()|otheri()|");
}

/* A thread that was seen from its birth on had no goroutine before. */
static void nothing_is_lost_before_a_thread_is_born(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_first_run(writer);
	put(writer, PID + 1,
	    (struct mt_sideband){
		.kind = MT_SIDEBAND_SAMPLE,
		.time_ns = 27,
		.sample = {.event = MT_NOTE_OWN_STACK, .address = OWN_STACK, .weight = 8192}});
	put_entry(writer, PID + 1, 28, schedule, OWN_STACK - 8);
	put_switch(writer, PID + 1, 30, 7);
	put_return(writer, PID + 1, 31, inner, STACK - 128);
	put_return(writer, PID + 1, 32, outer, STACK - 64);
	check(writer, "outer(inner(runtime.mcall(runnable())))|");
}

/* Between a snapshot and what is left of a ring: runs within that are known, and what lies between
 * them is not. */
static void runs_within_a_loss_are_alone(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_first_run(writer);
	put_entry(writer, PID + 1, 6, schedule, OWN_STACK - 256);
	put_snapshot(writer, PID, 40);
	put_snapshot(writer, PID + 1, 40);
	put(writer, PID + 1,
	    (struct mt_sideband){.kind = MT_SIDEBAND_LOST, .time_ns = 41, .lost = {.lost = 5}});
	put_switch(writer, PID, 50, 7);
	put_return(writer, PID, 51, inner, STACK - 128);
	put_entry(writer, PID, 52, leave, STACK - 192);
	put_switch(writer, PID, 60, 7);
	put_entry(writer, PID, 61, inner, STACK - 128);
	put_entry(writer, PID, 62, leave, STACK - 192);
	/* From 70 on all is known. */
	put_entry(writer, PID + 1, 70, schedule, OWN_STACK - 256);
	put_switch(writer, PID, 80, 7);
	put_entry(writer, PID, 81, other, STACK - 128);
	put_entry(writer, PID, 82, leave, STACK - 192);
	put_switch(writer, PID + 1, 90, 7);
	put_return(writer, PID + 1, 91, other, STACK - 128);
	check(writer, "outer@2(inner@3(runtime.mcall@4(runnable()o)o)o)o#|[lost]()|"
		      "inneri@3()runtime.mcall@5(runnable()l)l[lost]()|"
		      "inner@6(runtime.mcall@7(runnable()l)l)l[lost]()|"
		      "other(runtime.mcall(runnable()))|");
}

/* It left its thread for another stack alone, or may have run elsewhere. */
static void check_growth(void (*caller)(void), const char *wanted)
{
	struct mt_recording_writer *writer = start();

	put_entry(writer, PID, 5, schedule, OWN_STACK - 256);
	put_switch(writer, PID, 10, 7);
	put_entry(writer, PID, 20, outer, STACK - 64);
	put_entry(writer, PID, 21, inner, STACK - 128);
	put_entry(writer, PID, 22, more, STACK - 136);
	put_switch_from(writer, PID, 30, 7, caller);
	put_entry(writer, PID, 31, inner, STACK - 128);
	put_return(writer, PID, 32, inner, STACK - 128);
	put_return(writer, PID, 33, outer, STACK - 64);
	put_entry(writer, PID + 1, 40, schedule, OWN_STACK - 256);
	check(writer, wanted);
}

static void it_does_not_leave_for_a_larger_stack(void **state)
{
	(void)state;
	check_growth(new_stack, "outer(inner(runtime.morestack()e)innert())[lost]()|");
	check_growth(schedule, "outer@1(inner@2(runtime.morestack@3()l)l)l[lost]()|"
			       "outeri@1(inner())[lost]()|");
}

/* A ring that begins within what is recorded at a switch: where the stack lies is not known. */
static void of_a_switch_a_part_may_be_lost(void **state)
{
	struct mt_recording_writer *writer = start();

	(void)state;
	put_first_run(writer);
	put_value(writer, PID + 1, 30, LOW, STACK - BYTES);
	put_value(writer, PID + 1, 30, ID, 7);
	put_entry(writer, PID + 1, 30, switch_to, OWN_STACK - 512);
	put_return(writer, PID + 1, 31, inner, STACK - 128);
	put_entry(writer, PID + 1, 32, leave, STACK - 192);
	put_switch(writer, PID + 1, 40, 7);
	put_return(writer, PID + 1, 41, outer, STACK - 64);
	check(writer, "outer@1(inner@2(runtime.mcall@3(runnable()l)l)l)l[lost]()|outeri@1()|");
}

/* A thread wakes it: whose goroutine that was is not known before the thread's first switch. */
static void check_wake(bool is_known, const char *wanted)
{
	struct mt_recording_writer *writer = start();

	put_entry(writer, PID, 5, schedule, OWN_STACK - 256);
	put_switch(writer, PID, 10, 7);
	put_entry(writer, PID, 20, outer, STACK - 64);
	put_entry(writer, PID, 21, park, STACK - 128);
	put_entry(writer, PID, 22, leave, STACK - 192);
	if (is_known)
		put_switch(writer, PID + 1, 6, 8);
	put_entry(writer, PID + 1, 7, other, stack_of(8) - 128);
	put_value(writer, PID + 1, 25, WOKEN, 7);
	put_entry(writer, PID + 1, 25, ready, OWN_STACK - 512);
	put_switch(writer, PID + 1, 30, 7);
	put_return(writer, PID + 1, 31, park, STACK - 128);
	put_return(writer, PID + 1, 32, outer, STACK - 64);
	check(writer, wanted);
}

static void who_wakes_it_may_not_be_known(void **state)
{
	(void)state;
	check_wake(true, "outer(runtime.gopark(runtime.mcall(waiting()runnable: woken by goroutine "
			 "8())))|");
	check_wake(false, "outer(runtime.gopark(runtime.mcall(waiting()runnable())))|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_goes_on_in_another_thread),
	    cmocka_unit_test(what_another_thread_lost_may_be_its),
	    cmocka_unit_test(nothing_is_lost_before_a_thread_is_born),
	    cmocka_unit_test(runs_within_a_loss_are_alone),
	    cmocka_unit_test(it_does_not_leave_for_a_larger_stack),
	    cmocka_unit_test(of_a_switch_a_part_may_be_lost),
	    cmocka_unit_test(who_wakes_it_may_not_be_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
