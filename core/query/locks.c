/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/locks.h"

#include "base/arena.h"
#include "base/search.h"
#include "output/thread_table.h"
#include "trace/sink_ops.h"

#include <string.h>

struct place {
	const struct mt_function *function;
	struct mt_source source;
};

/* A lock that a thread holds, or held. */
struct hold {
	uint64_t begin_ns, end_ns;
	uint64_t lock; /* 0: not known */
	bool is_taken; /* `place` is where it was taken; else its begin is not known */
	struct place place;
};

struct thread {
	struct mt_thread_entry entry;
	struct mt_thread what;
	MT_ARRAY(struct hold) open;
	struct hold last;  /* that it let go of; zeroed: none */
	uint64_t asked_ns; /* when the first wake that is not placed yet was; UINT64_MAX: none */
};

struct frame {
	const struct mt_function *function; /* NULL: of no function, or on a side track */
	const struct mt_side_event *side;
	struct mt_source call_source;
	uint64_t begin_ns, lock;
	uint8_t act;
};

/* Who can have held a lock. */
struct candidate {
	const struct thread *thread; /* NULL: nobody */
	struct hold hold;
	uint64_t overlap_ns;
};

struct search_wait {
	pid_t pid, tid;
	struct mt_lock_wait *wait;
	struct place where;
	uint64_t holds;
	struct candidate same, other, rival; /* the same lock; one that may be; of another thread */
	struct thread *waker;                /* NULL: not known */
	uint64_t woken_ns;
	struct candidate woken; /* no thread: its calls at that time are not known */
};

struct mt_lock_search {
	MT_ARRAY(struct search_wait) waits; /* in the order of their begins */
	uint64_t longest_ns;
	bool is_sorted;
	bool lets_go; /* a thread did, of a lock, at whatever time */
	struct mt_thread_table threads;
	struct thread *thread;
	MT_ARRAY(struct frame) frames;
	size_t inside; /* a function of a lock: its frame is the one before this; 0: outside */
	struct mt_lock_acts acts;
	struct mt_arena texts;
};

/* ---- Where ---- */

static bool is_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whoever reads it has not written it. */
static bool is_of_library(const struct mt_function *function)
{
	const char *slash = strrchr(function->module, '/');
	const char *module = slash ? slash + 1 : function->module;

	return is_prefix(module, "libc.so") || is_prefix(module, "libpthread") ||
	       is_prefix(module, "libstdc++") || is_prefix(function->name, "std::") ||
	       is_prefix(function->name, "__gthread_");
}

/* The innermost function below COUNT frames that is no library's, and where its call is whose
 * source is SOURCE if none is in between; the innermost one if all are. */
static struct place place_of(const struct mt_lock_search *search, size_t count,
			     struct mt_source source)
{
	struct place innermost = {0};

	for (; count; count--) {
		const struct frame *frame = &search->frames.items[count - 1];
		const struct place place = {frame->function, source};

		if (!frame->function)
			continue;
		if (!is_of_library(frame->function))
			return place;
		if (!innermost.function)
			innermost = place;
		source = frame->call_source;
	}
	return innermost;
}

/* ---- Waits ---- */

static int by_begin(const void *a, const void *b)
{
	const struct search_wait *left = a, *right = b;

	return (left->wait->begin_ns > right->wait->begin_ns) -
	       (left->wait->begin_ns < right->wait->begin_ns);
}

/* The number of those that began until then. */
static size_t begun_by(const struct mt_lock_search *search, uint64_t time_ns)
{
	return mt_partition_point(i, 0, search->waits.count,
				  search->waits.items[i].wait->begin_ns <= time_ns);
}

/* Another thread's wait that was under way at TIME_NS, before the INDEX-th; *INDEX is its. */
static struct search_wait *next_wait(const struct mt_lock_search *search, uint64_t time_ns,
				     size_t *index)
{
	while (*index) {
		struct search_wait *wait = &search->waits.items[--*index];

		if (time_ns - wait->wait->begin_ns > search->longest_ns)
			return NULL;
		if (wait->wait->end_ns >= time_ns && wait->pid == search->thread->what.pid &&
		    wait->tid != search->thread->what.tid)
			return wait;
	}
	return NULL;
}

static void offer(struct search_wait *wait, const struct thread *thread, const struct hold *hold)
{
	const uint64_t from =
	    hold->begin_ns > wait->wait->begin_ns ? hold->begin_ns : wait->wait->begin_ns;
	const struct candidate offered = {thread, *hold, hold->end_ns - from};
	const bool is_known = wait->wait->lock && hold->lock;
	struct candidate *best = is_known ? &wait->same : &wait->other;

	if (is_known && wait->wait->lock != hold->lock)
		return;
	wait->holds += is_known;
	if (!best->thread || offered.overlap_ns > best->overlap_ns) {
		if (best->thread && best->thread != thread && !is_known)
			wait->rival = *best;
		*best = offered;
	} else if (!is_known && best->thread != thread &&
		   offered.overlap_ns > wait->rival.overlap_ns) {
		wait->rival = offered;
	}
}

/* ---- Holds ---- */

static int take(struct mt_lock_search *search, const struct frame *frame, uint64_t time_ns)
{
	const struct hold hold = {
	    .begin_ns = time_ns,
	    .lock = frame->lock,
	    .is_taken = true,
	    .place = place_of(search, search->frames.count, frame->call_source),
	};

	return mt_array_push(&search->thread->open, hold);
}

static void leave(struct mt_lock_search *search, const struct frame *frame)
{
	struct thread *thread = search->thread;
	const uint64_t time_ns = frame->begin_ns;
	struct hold hold = {.lock = frame->lock};
	size_t at = thread->open.count, index = begun_by(search, time_ns);
	struct search_wait *wait;

	while (at && frame->lock && thread->open.items[at - 1].lock &&
	       thread->open.items[at - 1].lock != frame->lock)
		at--;
	if (at) {
		hold = thread->open.items[at - 1];
		thread->open.count--;
		memmove(&thread->open.items[at - 1], &thread->open.items[at],
			(thread->open.count - (at - 1)) * sizeof(hold));
		hold.lock = hold.lock ? hold.lock : frame->lock;
	} else {
		hold.place = place_of(search, search->frames.count, frame->call_source);
	}
	hold.end_ns = time_ns;
	search->lets_go = true;
	thread->last = hold;
	while ((wait = next_wait(search, time_ns, &index)))
		if (wait->wait->is_lock)
			offer(wait, thread, &hold);
}

/* ---- Wakes ---- */

static void note_wake(struct mt_lock_search *search, const struct mt_side_event *syscall,
		      uint64_t time_ns)
{
	bool is_wake;
	const uint64_t word = mt_lock_futex(syscall, &is_wake);
	size_t index = begun_by(search, time_ns);
	struct search_wait *wait;

	while (word && is_wake && (wait = next_wait(search, time_ns, &index))) {
		if (wait->wait->futex != word || (wait->waker && wait->woken_ns > time_ns))
			continue;
		wait->waker = search->thread;
		wait->woken_ns = time_ns;
	}
}

static void ask_for_wakes(struct mt_lock_search *search)
{
	search->thread->asked_ns = UINT64_MAX;
	mt_array_each (wait, &search->waits)
		if (wait->waker == search->thread && !wait->woken.thread &&
		    wait->woken_ns < search->thread->asked_ns)
			search->thread->asked_ns = wait->woken_ns;
}

/* The thread is about to do something else: where it stood until then it woke others. */
static void place_wakes(struct mt_lock_search *search, uint64_t time_ns)
{
	struct thread *thread = search->thread;

	mt_array_each (wait, &search->waits) {
		if (wait->waker != thread || wait->woken.thread || wait->woken_ns >= time_ns)
			continue;
		wait->woken.thread = thread;
		if (wait->wait->is_lock && thread->last.end_ns)
			wait->woken.hold = thread->last;
		else
			wait->woken.hold.place =
			    place_of(search, search->frames.count, (struct mt_source){0});
	}
	ask_for_wakes(search);
}

/* ---- The sink ---- */

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct mt_lock_search *search = self;
	const bool is_track = mt_tid_is_track(what->tid);
	const pid_t tid = is_track ? what->tid & (MT_TID_LIMIT - 1) : what->tid;
	struct thread *known =
	    mt_thread_table_get(&search->threads, what->pid, tid, sizeof(*known));

	if (!search->is_sorted && search->waits.count)
		qsort(search->waits.items, search->waits.count, sizeof(*search->waits.items),
		      by_begin);
	search->is_sorted = true;
	search->thread = known;
	search->frames.count = search->inside = 0;
	if (!known)
		return mt_error_no_memory();
	if (!is_track || !known->what.tid)
		known->what = *what;
	known->what.tid = tid;
	if (!is_track)
		ask_for_wakes(search);
	else
		known->asked_ns = UINT64_MAX;
	return NULL;
}

static void forget_holds(struct mt_lock_search *search)
{
	search->thread->open.count = 0;
	search->thread->last = (struct hold){0};
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_lock_search *search = self;

	(void)segment;
	search->frames.count = search->inside = 0;
	forget_holds(search);
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_lock_search *search = self;
	struct frame frame = {.function = slice->function,
			      .side = slice->side,
			      .call_source = slice->call_source,
			      .begin_ns = slice->time_ns};

	if (slice->time_ns > search->thread->asked_ns)
		place_wakes(search, slice->time_ns);
	if (slice->kind == MT_SLICE_GAP)
		forget_holds(search);
	if (frame.function && !search->inside)
		frame.act = (uint8_t)mt_lock_act(&search->acts, frame.function);
	if (frame.act != MT_LOCK_NOTHING) {
		search->inside = search->frames.count + 1;
		frame.lock = mt_lock_of_arguments(frame.act, slice->arguments);
	}
	if (frame.act == MT_LOCK_LEAVE || frame.act == MT_LOCK_PASS)
		leave(search, &frame);
	return mt_array_push(&search->frames, frame) ? mt_error_no_memory() : NULL;
}

static void note_where(struct mt_lock_search *search, const struct frame *frame)
{
	for (size_t i = begun_by(search, frame->begin_ns); i-- > 0;) {
		struct search_wait *wait = &search->waits.items[i];

		if (wait->wait->begin_ns != frame->begin_ns)
			return;
		if (wait->tid == search->thread->what.tid && wait->pid == search->thread->what.pid)
			wait->where = place_of(search, search->frames.count, frame->call_source);
	}
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_lock_search *search = self;

	if (!search->frames.count)
		return NULL;
	if (what->time_ns > search->thread->asked_ns)
		place_wakes(search, what->time_ns);
	const struct frame frame = search->frames.items[--search->frames.count];
	if (search->frames.count < search->inside)
		search->inside = 0;
	if (frame.side && strcmp(frame.side->category, "syscall") == 0)
		note_wake(search, frame.side, frame.begin_ns);
	if (frame.act == MT_LOCK_TAKE)
		note_where(search, &frame);
	if ((frame.act == MT_LOCK_TAKE || frame.act == MT_LOCK_PASS) &&
	    take(search, &frame, what->time_ns))
		return mt_error_no_memory();
	return NULL;
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_lock_search *search = self;

	if (what->kind == MT_INSTANT_GAP)
		forget_holds(search);
	return NULL;
}

/* ---- What came out ---- */

static int keep(struct mt_lock_search *search, const char *text, const char **out)
{
	*out = text ? mt_arena_text(&search->texts, text, SIZE_MAX) : NULL;
	return text && !*out;
}

static int keep_place(struct mt_lock_search *search, const struct place *place,
		      struct mt_lock_place *out)
{
	out->line = place->source.line;
	return keep(search, place->function ? place->function->name : NULL, &out->function) |
	       keep(search, place->source.file, &out->file);
}

static enum mt_lock_answer answer(const struct mt_lock_search *search,
				  const struct search_wait *found, const struct candidate **who)
{
	const uint64_t half_ns = (found->wait->end_ns - found->wait->begin_ns) / 2;

	*who = &found->woken;
	if (found->waker)
		return found->woken.thread && found->woken.hold.end_ns ? MT_LOCK_HELD
								       : MT_LOCK_WOKEN;
	*who = &found->same;
	if (found->same.thread)
		return MT_LOCK_HELD;
	*who = &found->other;
	/* Estimates neither place a holder in the wait nor out of it. */
	if (found->wait->is_estimated && search->lets_go)
		return MT_LOCK_ESTIMATED;
	if (!found->other.thread || found->other.overlap_ns < half_ns)
		return MT_LOCK_NOT_RECORDED;
	return found->rival.thread && found->rival.overlap_ns >= half_ns ? MT_LOCK_AMBIGUOUS
									 : MT_LOCK_BY_TIME;
}

static int tell(struct mt_lock_search *search, const struct search_wait *found)
{
	struct mt_lock_wait *wait = found->wait;
	const struct candidate *who;

	wait->answer = answer(search, found, &who);
	wait->holds = found->holds;
	int failed = keep_place(search, &found->where, &wait->where);
	if (wait->answer < MT_LOCK_BY_TIME)
		return failed;
	const struct thread *thread = wait->answer == MT_LOCK_WOKEN ? found->waker : who->thread;
	wait->holder_tid = thread->what.tid;
	wait->is_taken = who->hold.is_taken;
	wait->held_ns = who->hold.is_taken ? who->hold.end_ns - who->hold.begin_ns : 0;
	return failed | keep(search, thread->what.name, &wait->holder) |
	       keep_place(search, &who->hold.place, &wait->held);
}

static struct mt_error *finish(void *self)
{
	struct mt_lock_search *search = self;
	int failed = 0;

	mt_array_each (wait, &search->waits)
		failed |= tell(search, wait);
	return failed ? mt_error_no_memory() : NULL;
}

struct mt_slice_sink mt_lock_search_sink(struct mt_lock_search *search)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = mt_slice_ignore_segment,
	    .finish = finish,
	};

	return (struct mt_slice_sink){&ops, search};
}

struct mt_error *mt_lock_search_create(struct mt_lock_search **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? NULL : mt_error_no_memory();
}

struct mt_error *mt_lock_search_add(struct mt_lock_search *search, pid_t pid, pid_t tid,
				    struct mt_lock_wait *wait)
{
	const struct search_wait added = {.pid = pid, .tid = tid, .wait = wait};

	if (wait->end_ns - wait->begin_ns > search->longest_ns)
		search->longest_ns = wait->end_ns - wait->begin_ns;
	return mt_array_push(&search->waits, added) ? mt_error_no_memory() : NULL;
}

bool mt_lock_search_is_empty(const struct mt_lock_search *search)
{
	return !search->waits.count;
}

void mt_lock_search_destroy(struct mt_lock_search *search)
{
	if (!search)
		return;
	for (struct mt_thread_entry *one = search->threads.first; one;
	     one = mt_thread_table_next(one))
		mt_array_deinit(&((struct thread *)one)->open);
	mt_thread_table_deinit(&search->threads);
	mt_array_deinit(&search->waits);
	mt_array_deinit(&search->frames);
	mt_array_deinit(&search->acts.known);
	mt_arena_deinit(&search->texts);
	free(search);
}
