/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a goroutine does while it has no thread: a slice in runtime.mcall(), by which it left, says
 * why it waits, as Go's own reports of goroutines do, or that it could run.  That is known by who
 * called runtime.gopark(): of its own argument there are but numbers, other ones in each version.
 */
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

struct mt_goroutine_states {
	struct mt_slice_sink to;
	MT_ARRAY(const struct mt_function *) open; /* the outermost first */
	bool is_away;                              /* a slice in the innermost one says why */
};
MT_SLICE_FILTER(struct mt_goroutine_states, to);

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

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_goroutine_states *states = self;
	const struct mt_side_event *state =
	    is_called(slice->function, MT_GOROUTINE_LEAVE) ? state_of(states) : NULL;
	const struct mt_slice away = {.kind = MT_SLICE_SIDE,
				      .time_ns = slice->time_ns,
				      .depth = slice->depth + 1,
				      .side = state};

	if (mt_array_push(&states->open, slice->function))
		return mt_error_no_memory();
	mt_try(mt_slice_pass_begin(self, slice));
	states->is_away = state != NULL;
	return state ? mt_slice_pass_begin(self, &away) : NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_goroutine_states *states = self;
	struct mt_slice_end back = {
	    .time_ns = what->time_ns, .depth = what->depth + 1, .flags = what->flags};

	if (states->is_away)
		mt_try(mt_slice_pass_end(self, &back));
	states->is_away = false;
	states->open.count -= states->open.count != 0;
	return mt_slice_pass_end(self, what);
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_goroutine_states *states = self;

	states->open.count = 0;
	states->is_away = false;
	return mt_slice_pass_segment_begin(self, segment);
}

struct mt_error *mt_goroutine_states_create(struct mt_slice_sink to,
					    struct mt_goroutine_states **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->to = to;
	return NULL;
}

struct mt_slice_sink mt_goroutine_states_sink(struct mt_goroutine_states *states)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = mt_slice_pass_thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = mt_slice_pass_instant,
	    .segment_end = mt_slice_pass_segment_end,
	};

	return (struct mt_slice_sink){&ops, states};
}

void mt_goroutine_states_destroy(struct mt_goroutine_states *states)
{
	if (!states)
		return;
	mt_array_deinit(&states->open);
	free(states);
}
