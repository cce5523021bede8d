/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who held the locks that some calls waited for: a sink of slices, for a second look at a recording
 * when the waits are known.  Its memory grows with the waits, the threads and the depth of calls.
 *
 * What it knows, the surest first:
 * - A thread that woke the waiting one: FUTEX_WAKE of the word at which that one waited, where
 *   system calls were recorded.  If it was letting go of a lock, it had held that.
 * - Calls of pthread_mutex_lock() and the like with the lock as a recorded argument: whoever let go
 *   of the same lock before the wait ended, after it began.
 * - Such calls without arguments.  A thread that holds a lock when the wait ends, or let go of it
 *   before it began, held another one.  If of the others one thread alone held a lock for at least
 *   half of the wait, it was that; a lock is taken to be let go of in the reverse order. */
#ifndef MT_QUERY_LOCKS_H
#define MT_QUERY_LOCKS_H

#include "base/array.h"
#include "trace/slice.h"

/* What calling a function does to a lock. */
enum mt_lock_act {
	MT_LOCK_NOTHING,
	MT_LOCK_TAKE,  /* when it returns */
	MT_LOCK_LEAVE, /* when it begins */
	MT_LOCK_PASS,  /* that, and then it takes it again: pthread_cond_wait() */
};
/* Remembers what a function does.  Zeroed storage is empty. */
struct mt_lock_acts {
	MT_ARRAY(uint8_t) known; /* by a function's id: 0 not asked, else plus 1 */
};
enum mt_lock_act mt_lock_act(struct mt_lock_acts *acts, const struct mt_function *function);
/* The address of the lock among a call's recorded arguments; 0: not known. */
uint64_t mt_lock_of_arguments(enum mt_lock_act act, const char *arguments);
/* The word that a futex(2) waits for, or (IS_WAKE) of which it woke threads; 0: neither. */
uint64_t mt_lock_futex(const struct mt_side_event *syscall, bool *is_wake);

enum mt_lock_answer {
	MT_LOCK_NOT_RECORDED, /* nobody let go of a lock, or woke the thread, as far as is known */
	MT_LOCK_AMBIGUOUS,    /* several threads may have held it */
	MT_LOCK_ESTIMATED,    /* times do not tell, since they are estimates */
	MT_LOCK_BY_TIME,      /* one alone can have held it */
	MT_LOCK_HELD,         /* it held this lock */
	MT_LOCK_WOKEN,        /* it woke the thread; not by letting go of a lock that is known of */
};

struct mt_lock_place {
	const char *function; /* NULL: not known */
	const char *file;     /* of the call in it; NULL: not known */
	uint32_t line;
};

struct mt_lock_wait {
	uint64_t begin_ns, end_ns;
	uint64_t lock;     /* its address; 0: not known */
	uint64_t futex;    /* the word that futex(2) waited for; 0: not known */
	bool is_lock;      /* for a lock; else in futex(2), for whatever that stands for */
	bool is_estimated; /* a time is */
	/* What was found. */
	enum mt_lock_answer answer;
	struct mt_lock_place where; /* it waited */
	pid_t holder_tid;           /* from BY_TIME on */
	const char *holder;         /* NULL: it has no name */
	struct mt_lock_place held;  /* where it took the lock, let go of it, or woke the thread */
	bool is_taken;              /* `held` is where it took it */
	uint64_t held_ns;           /* from then till it let go; 0: not known */
	uint64_t holds;             /* HELD: how many there were while it waited, one by one */
};

struct mt_lock_search;
/* Errors: NO_MEMORY. */
struct mt_error *mt_lock_search_create(struct mt_lock_search **out);
void mt_lock_search_destroy(struct mt_lock_search *search); /* NULL is fine */
/* WAIT, of thread TID of process PID, is the caller's and filled in when the slices are over; its
 * texts live as long as SEARCH.  Before any slice.  Errors: NO_MEMORY. */
struct mt_error *mt_lock_search_add(struct mt_lock_search *search, pid_t pid, pid_t tid,
				    struct mt_lock_wait *wait);
bool mt_lock_search_is_empty(const struct mt_lock_search *search);
/* Errors of the sink: NO_MEMORY. */
struct mt_slice_sink mt_lock_search_sink(struct mt_lock_search *search);

#endif
