/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a goroutine does while it has no thread: a slice in runtime.mcall(), by which it left, says
 * why it waits, as Go's own reports of goroutines do, or that it could run.  That is known by who
 * called runtime.gopark(): of its own argument there are but numbers, other ones in each version.
 */
#include "base/search.h"
#include "decode/goroutines_private.h"
#include "trace/goroutines.h"
#include "trace/sink_ops.h"

#include <stdlib.h>
#include <string.h>

#define PARK       "runtime.gopark"
#define END        "runtime.goexit1"
#define SEMAPHORE  "runtime.semacquire1"
#define MOST_OUTER 12 /* so far out from gopark() somebody may say why */

static const struct mt_side_event runnable = {.name = "runnable", .category = "goroutine"};
static const struct mt_side_event waits = {.name = "waiting", .category = "goroutine"};

/* In the words of runtime.waitReasonStrings. */
#define WAITS(words)                                                                               \
	{                                                                                          \
		.name = "waiting: " words, .category = "goroutine"                                 \
	}
static const struct {
	const char *function;
	struct mt_side_event what;
} reasons[] = {
    {"runtime.chanrecv", WAITS("chan receive")},
    {"runtime.chansend", WAITS("chan send")},
    {"runtime.selectgo", WAITS("select")},
    {"runtime.block", WAITS("select (no cases)")},
    {"runtime.netpollblock", WAITS("IO wait")},
    {"time.Sleep", WAITS("sleep")},
    {"sync.runtime_notifyListWait", WAITS("sync.Cond.Wait")},
    {SEMAPHORE, WAITS("semacquire")},
    {"runtime.gcParkAssist", WAITS("GC assist wait")},
    {"runtime.gcWaitOnMark", WAITS("wait for GC cycle")},
    {"runtime.gcBgMarkWorker", WAITS("GC worker (idle)")},
    {"runtime.bgsweep", WAITS("GC sweep wait")},
    {"runtime.bgscavenge", WAITS("GC scavenge wait")},
    {"runtime.forcegchelper", WAITS("force gc (idle)")},
    {"runtime.runfinq", WAITS("finalizer wait")},
    /* These wait for a semaphore. */
    {"sync.(*Mutex).lockSlow", WAITS("sync.Mutex.Lock")},
    {"sync.(*RWMutex).RLock", WAITS("sync.RWMutex.RLock")},
    {"sync.(*RWMutex).Lock", WAITS("sync.RWMutex.Lock")},
    {"sync.(*WaitGroup).Wait", WAITS("sync.WaitGroup.Wait")},
};

/* The wakes of one goroutine, in their times. */
struct wakes {
	const struct mt_goroutine_wake *next, *end;
};

struct mt_goroutine_states {
	struct mt_slice_sink to;
	struct mt_goroutines *goroutines; /* whose wakes are sorted by who is woken */
	MT_ARRAY(struct mt_goroutine_wake) by_waker;
	MT_ARRAY(const struct mt_function *) open; /* the outermost first */
	struct wakes of_it, by_it;                 /* the goroutine whose track it is */
	/* A slice in the innermost call says what it does meanwhile. */
	bool is_away, waits;
	uint64_t since_ns;
};
MT_SLICE_FILTER(struct mt_goroutine_states, to);

/* ---- What it waits for ---- */

/* Behind the name may stand its calling convention. */
static bool is_called(const struct mt_function *function, const char *name)
{
	const size_t length = strlen(name);

	return function && function->name && strncmp(function->name, name, length) == 0 &&
	       (!function->name[length] || strcmp(function->name + length, ".abi0") == 0);
}

static const struct mt_side_event *reason_of(const struct mt_function *function)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (is_called(function, reasons[i].function))
			return &reasons[i].what;
	return NULL;
}

/* The goroutine is about to leave; NULL: for ever. */
static const struct mt_side_event *state_of(const struct mt_goroutine_states *states)
{
	const struct mt_side_event *found = NULL;
	size_t i = states->open.count;
	const struct mt_function *caller = i ? states->open.items[--i] : NULL;

	if (is_called(caller, END))
		return NULL;
	if (!is_called(caller, PARK))
		return &runnable;
	for (size_t outer = 0; i && outer < MOST_OUTER; outer++) {
		const struct mt_function *function = states->open.items[--i];
		const struct mt_side_event *reason = reason_of(function);

		if (reason)
			found = reason;
		if (reason && !is_called(function, SEMAPHORE))
			break;
	}
	return found ? found : &waits;
}

/* ---- Who wakes whom ---- */

static const char *name_of(const struct mt_goroutine *one)
{
	return one ? one->name : "the runtime";
}

/* NULL: no memory. */
static const struct mt_side_event *new_event(const struct mt_goroutine_states *states,
					     const char *name, const char *reason)
{
	struct mt_side_event *what =
	    mt_arena_zalloc(&states->goroutines->run->arena, sizeof(*what));

	if (!what || !name || !reason)
		return NULL;
	what->name = name;
	what->category = "goroutine";
	what->reason = *reason ? reason : NULL;
	return what;
}

/* An arrow has two ends. */
static uint64_t flow_of(const struct mt_goroutine_states *states,
			const struct mt_goroutine_wake *wake)
{
	return wake->is_seen && !states->goroutines->run->options->goroutine ? wake->number : 0;
}

/* Those that it makes up to TIME_NS. */
static struct mt_error *tell_wakes(struct mt_goroutine_states *states, uint64_t time_ns)
{
	struct mt_arena *arena = &states->goroutines->run->arena;

	for (; states->by_it.next < states->by_it.end && states->by_it.next->time_ns <= time_ns;
	     states->by_it.next++) {
		const struct mt_goroutine_wake *wake = states->by_it.next;
		const struct mt_instant instant = {
		    .time_ns = wake->time_ns,
		    .kind = MT_INSTANT_MARK,
		    .side =
			new_event(states,
				  mt_arena_format(arena, wake->is_new ? "starts %s" : "wakes %s",
						  name_of(wake->woken)),
				  ""),
		    .flow = flow_of(states, wake)};

		if (!instant.side)
			return mt_error_no_memory();
		mt_try(mt_slice_pass_instant(states, &instant));
	}
	return NULL;
}

static bool is_due(const struct wakes *wakes)
{
	return wakes->next < wakes->end && wakes->next->is_new;
}

/* The number of an arrow to its first call; 0: none. */
static uint64_t birth_of(const struct mt_goroutine_states *states)
{
	return is_due(&states->of_it) ? flow_of(states, states->of_it.next) : 0;
}

/* In the first call that is known of it, which began at TIME_NS. */
static struct mt_error *tell_birth(struct mt_goroutine_states *states, uint64_t time_ns)
{
	const struct mt_goroutine_wake *wake = states->of_it.next;
	struct mt_instant instant = {.time_ns = time_ns, .kind = MT_INSTANT_MARK};

	if (!is_due(&states->of_it))
		return NULL;
	states->of_it.next++;
	instant.side =
	    new_event(states,
		      wake->is_waker_known ? mt_arena_format(&states->goroutines->run->arena,
							     "created by %s", name_of(wake->waker))
					   : "created",
		      "");
	if (!instant.side)
		return mt_error_no_memory();
	/* The call may be the function's last instruction. */
	instant.address = wake->woken->made_at ? wake->woken->made_at - 1 : 0;
	if (instant.address) {
		struct mt_space *space = wake->woken->made_in->space;

		instant.function = mt_space_function_at(space, instant.address);
		mt_space_source_at(space, instant.address, &instant.source);
	}
	return mt_slice_pass_instant(states, &instant);
}

/* It waits, at that depth, and may go on by TIME_NS. */
static struct mt_error *wake_up(struct mt_goroutine_states *states, uint32_t depth,
				uint64_t time_ns)
{
	struct wakes *wakes = &states->of_it;

	while (wakes->next < wakes->end && wakes->next->time_ns < states->since_ns)
		wakes->next++;
	if (!states->waits || wakes->next == wakes->end || wakes->next->time_ns > time_ns)
		return NULL;
	const struct mt_goroutine_wake *wake = wakes->next++;
	const struct mt_slice_end end = {.time_ns = wake->time_ns, .depth = depth};
	const struct mt_slice slice = {
	    .kind = MT_SLICE_SIDE,
	    .time_ns = wake->time_ns,
	    .depth = depth,
	    .side = new_event(states, runnable.name,
			      wake->is_waker_known
				  ? mt_arena_format(&states->goroutines->run->arena, "woken by %s",
						    name_of(wake->waker))
				  : ""),
	    .flow = flow_of(states, wake),
	};

	if (!slice.side)
		return mt_error_no_memory();
	states->waits = false;
	mt_try(mt_slice_pass_end(states, &end));
	return mt_slice_pass_begin(states, &slice);
}

/* What comes before TIME_NS, or just then. */
static struct mt_error *come_to(struct mt_goroutine_states *states, uint64_t time_ns)
{
	if (states->is_away)
		mt_try(wake_up(states, (uint32_t)states->open.count, time_ns));
	return tell_wakes(states, time_ns);
}

/* ---- The sink ---- */

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_goroutine_states *states = self;
	const struct mt_side_event *state =
	    is_called(slice->function, MT_GOROUTINE_LEAVE) ? state_of(states) : NULL;
	const struct mt_slice away = {.kind = MT_SLICE_SIDE,
				      .time_ns = slice->time_ns,
				      .depth = slice->depth + 1,
				      .side = state};

	mt_try(come_to(states, slice->time_ns));
	if (mt_array_push(&states->open, slice->function))
		return mt_error_no_memory();
	struct mt_slice shown = *slice;
	shown.flow = birth_of(states);
	mt_try(mt_slice_pass_begin(self, &shown));
	mt_try(tell_birth(states, slice->time_ns));
	states->is_away = state != NULL;
	states->waits = state && state != &runnable;
	states->since_ns = slice->time_ns;
	return state ? mt_slice_pass_begin(self, &away) : NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_goroutine_states *states = self;
	struct mt_slice_end back = {
	    .time_ns = what->time_ns, .depth = what->depth + 1, .flags = what->flags};

	mt_try(come_to(states, what->time_ns));
	if (states->is_away)
		mt_try(mt_slice_pass_end(self, &back));
	states->is_away = false;
	states->open.count -= states->open.count != 0;
	return mt_slice_pass_end(self, what);
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	mt_try(come_to(self, what->time_ns));
	return mt_slice_pass_instant(self, what);
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_goroutine_states *states = self;

	/* Of what was lost nothing is told. */
	while (states->by_it.next < states->by_it.end &&
	       states->by_it.next->time_ns < segment->begin_ns)
		states->by_it.next++;
	states->open.count = 0;
	states->is_away = false;
	return mt_slice_pass_segment_begin(self, segment);
}

/* ---- All of them ---- */

static int compare(uint64_t one, uint64_t other)
{
	return one < other ? -1 : one > other;
}

static int compare_goroutines(const struct mt_goroutine *one, const struct mt_goroutine *other)
{
	if (!one || !other)
		return (one != NULL) - (other != NULL);
	const int order = compare((uint64_t)one->key.pid, (uint64_t)other->key.pid);
	return order ? order : compare(one->key.id, other->key.id);
}

static int compare_times(const struct mt_goroutine_wake *one, const struct mt_goroutine_wake *other)
{
	const int order = compare(one->time_ns, other->time_ns);

	return order ? order : compare(one->number, other->number);
}

static int compare_by_woken(const void *left, const void *right)
{
	const struct mt_goroutine_wake *one = left, *other = right;
	const int order = compare_goroutines(one->woken, other->woken);

	return order ? order : compare_times(one, other);
}

static int compare_by_waker(const void *left, const void *right)
{
	const struct mt_goroutine_wake *one = left, *other = right;
	const int order = compare_goroutines(one->waker, other->waker);

	return order ? order : compare_times(one, other);
}

/* ONE's among COUNT that are sorted by it. */
static struct wakes wakes_of(const struct mt_goroutine_wake *items, size_t count,
			     const struct mt_goroutine *one, bool by_waker)
{
	struct wakes found = {items, items + count};

	found.next += mt_partition_point(
	    i, 0, count, compare_goroutines(by_waker ? items[i].waker : items[i].woken, one) < 0);
	for (found.end = found.next; found.end < items + count; found.end++)
		if ((by_waker ? found.end->waker : found.end->woken) != one)
			break;
	return found;
}

struct mt_error *mt_goroutine_states_create(struct mt_goroutines *goroutines,
					    struct mt_slice_sink to,
					    struct mt_goroutine_states **out)
{
	struct mt_goroutine_states *states = calloc(1, sizeof(*states));

	*out = states;
	if (!states)
		return mt_error_no_memory();
	states->to = to;
	states->goroutines = goroutines;
	mt_array_each (wake, &goroutines->wakes)
		if (mt_array_push(&states->by_waker, *wake))
			return mt_error_no_memory();
	if (!goroutines->wakes.count)
		return NULL;
	qsort(goroutines->wakes.items, goroutines->wakes.count, sizeof(*goroutines->wakes.items),
	      compare_by_woken);
	qsort(states->by_waker.items, states->by_waker.count, sizeof(*states->by_waker.items),
	      compare_by_waker);
	return NULL;
}

struct mt_slice_sink mt_goroutine_states_sink(struct mt_goroutine_states *states,
					      const struct mt_goroutine *one)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = mt_slice_pass_thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = mt_slice_pass_segment_end,
	};
	const struct mt_goroutines *goroutines = states->goroutines;

	states->of_it = wakes_of(goroutines->wakes.items, goroutines->wakes.count, one, false);
	states->by_it = wakes_of(states->by_waker.items, states->by_waker.count, one, true);
	return (struct mt_slice_sink){&ops, states};
}

void mt_goroutine_states_destroy(struct mt_goroutine_states *states)
{
	if (!states)
		return;
	mt_array_deinit(&states->by_waker);
	mt_array_deinit(&states->open);
	free(states);
}
