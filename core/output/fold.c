/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What follows the begin of such a call is held back until it ends: then it is known how.  If that
 * is not an end of its kind, all of it is passed on late. */
#include "output/fold.h"

#include "base/array.h"
#include "elf/objfile.h"
#include "trace/sink_ops.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Memory is bounded: who does more than this is not about to end. */
#define MOST_HELD (1u << 20)
/* So few take no more room than the line that stands for them. */
#define FEWEST 3

/* How such a call ends. */
enum kind {
	KIND_NONE,
	KIND_EXIT,    /* open, when the process exits */
	KIND_ABORT,   /* open, when it exits or SIGABRT is raised */
	KIND_THROW,   /* the same, or it was unwound: something was caught */
	KIND_RETURN,  /* in any way: it prints what is known of a panic */
	KIND_RUNTIME, /* it has returned, or was unwound; then what comes until exit is folded */
};

static const struct {
	const char *name; /* without parameters */
	enum kind kind;
} table[] = {
    {"exit", KIND_EXIT},
    {"quick_exit", KIND_EXIT},
    {"__run_exit_handlers", KIND_EXIT}, /* where exit itself is not recorded */
    {"Py_Exit", KIND_EXIT},
    {"abort", KIND_ABORT},
    {"raise", KIND_ABORT},
    {"__assert_fail", KIND_ABORT},
    {"__assert_perror_fail", KIND_ABORT},
    {"__stack_chk_fail", KIND_ABORT},
    {"__fortify_fail", KIND_ABORT},
    {"__chk_fail", KIND_ABORT},
    {"__libc_message", KIND_ABORT},
    {"std::terminate", KIND_ABORT},
    {"__cxa_pure_virtual", KIND_ABORT},
    {"__cxa_throw", KIND_THROW},
    {"__cxa_rethrow", KIND_THROW},
    {"_Unwind_Resume", KIND_THROW},
    {"rust_begin_unwind", KIND_THROW},
    {"__rustc::rust_begin_unwind", KIND_THROW},
    {"std::panicking::begin_panic", KIND_THROW},
    {"rust_panic", KIND_THROW},
    {"__rustc::rust_panic", KIND_THROW},
    {"std::sys_common::backtrace::__rust_begin_short_backtrace", KIND_RUNTIME},
    {"std::sys::backtrace::__rust_begin_short_backtrace", KIND_RUNTIME},
    {"runtime.fatalpanic", KIND_ABORT},
    {"runtime.throw", KIND_ABORT},
    {"runtime.fatal", KIND_ABORT},
    {"runtime.gentraceback", KIND_RETURN},
    {"runtime.preprintpanics", KIND_RETURN},
    {"runtime.fatalpanic.func1", KIND_RETURN},
};

enum event_kind { EVENT_BEGIN, EVENT_END, EVENT_INSTANT };

struct event {
	enum event_kind kind;
	union {
		struct mt_slice slice;
		struct mt_slice_end end;
		struct mt_instant instant;
	};
};

struct open {
	enum kind kind;
	const struct mt_function *function;
};

struct mt_fold {
	struct mt_slice_sink to;
	struct mt_side_event hint;
	MT_ARRAY(struct open) open; /* by depth */
	size_t quiet;               /* deeper than this nothing is folded; 0: no such depth */
	size_t no_exit;             /* the same of EXIT */

	/* What is held back, and of which call. */
	enum kind kind; /* NONE: nothing is */
	const struct mt_function *function;
	size_t floor; /* its depth; of RUNTIME meaningless */
	MT_ARRAY(struct event) held;
	uint64_t calls;
	bool exits, aborts; /* an instant says so */
	bool dies;          /* one before it */
};
MT_SLICE_FILTER(struct mt_fold, to);

/* "f", "f(int)", "f<int>(int)", in Rust also "f::<i32>". */
static enum kind kind_of(const struct mt_slice *slice)
{
	const char *name = slice->function ? slice->function->name : "";

	if (slice->kind != MT_SLICE_CALL && slice->kind != MT_SLICE_INLINED)
		return KIND_NONE;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t length = strlen(table[i].name);

		if (strncmp(name, table[i].name, length) != 0)
			continue;
		if (!name[length] || name[length] == '(' || name[length] == '<' ||
		    strncmp(name + length, "::<", 3) == 0)
			return table[i].kind;
	}
	return KIND_NONE;
}

/* ---- What is held back ---- */

static void hold(struct mt_fold *fold, const struct open *of, size_t depth)
{
	fold->kind = of->kind;
	fold->function = of->function;
	fold->floor = depth;
	fold->held.count = 0;
	fold->calls = 0;
	fold->exits = false;
	fold->aborts = fold->dies;
}

static struct mt_error *keep(struct mt_fold *fold, const struct event *event)
{
	return mt_array_push(&fold->held, *event) ? mt_error_no_memory() : NULL;
}

static struct mt_error *pass(const struct mt_fold *fold, const struct event *event)
{
	const struct mt_slice_sink *to = &fold->to;

	switch (event->kind) {
	case EVENT_BEGIN:
		return to->ops->begin(to->self, &event->slice);
	case EVENT_END:
		return to->ops->end(to->self, &event->end);
	default:
		return to->ops->instant(to->self, &event->instant);
	}
}

static struct mt_error *pass_all(struct mt_fold *fold)
{
	fold->kind = KIND_NONE;
	mt_array_each (event, &fold->held)
		mt_try(pass(fold, event));
	fold->held.count = 0;
	return NULL;
}

/* It is no end, and what goes on below is none either. */
static struct mt_error *give_up(struct mt_fold *fold)
{
	fold->quiet = fold->kind == KIND_RUNTIME ? 0 : fold->floor + 1;
	return pass_all(fold);
}

static struct mt_error *pass_folded(struct mt_fold *fold)
{
	const struct event *first = fold->held.items;
	const struct mt_instant instant = {
	    .time_ns = first->kind == EVENT_BEGIN ? first->slice.time_ns
		       : first->kind == EVENT_END ? first->end.time_ns
						  : first->instant.time_ns,
	    .kind = MT_INSTANT_FOLDED,
	    .value = fold->calls,
	    .detail = fold->kind == KIND_RUNTIME,
	    .function = fold->function,
	    .side = &fold->hint,
	};
	size_t depth = 0;

	if (fold->calls < FEWEST)
		return pass_all(fold);
	fold->kind = KIND_NONE;
	mt_try(fold->to.ops->instant(fold->to.self, &instant));
	mt_array_each (event, &fold->held) {
		/* Callers may end meanwhile. */
		if (event->kind == EVENT_INSTANT || (event->kind == EVENT_END && !depth))
			mt_try(pass(fold, event));
		else
			depth += event->kind == EVENT_BEGIN ? 1 : (size_t)-1;
	}
	fold->held.count = 0;
	return NULL;
}

/* The call ends. */
static struct mt_error *conclude(struct mt_fold *fold, uint8_t flags)
{
	bool is_last = flags & MT_SLICE_END_OPEN && (fold->exits || fold->aborts);
	bool folds = fold->kind == KIND_RETURN || is_last ||
		     (fold->kind == KIND_THROW && flags & MT_SLICE_END_UNWOUND);

	return folds ? pass_folded(fold) : pass_all(fold);
}

/* ---- The sink ---- */

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_fold *fold = self;
	const struct event event = {.kind = EVENT_BEGIN, .slice = *slice};
	const struct open open = {kind_of(slice), slice->function};
	size_t depth = fold->open.count;

	if (mt_array_push(&fold->open, open))
		return mt_error_no_memory();
	if (fold->kind == KIND_RUNTIME && open.kind == KIND_EXIT)
		mt_try(pass_folded(fold));
	else if (fold->kind &&
		 (slice->kind == MT_SLICE_GAP || slice->flags & MT_SLICE_HANDLER ||
		  fold->held.count >= MOST_HELD || (fold->kind == KIND_RUNTIME && open.kind)))
		mt_try(give_up(fold));
	if (fold->kind) {
		fold->calls += slice->kind == MT_SLICE_CALL || slice->kind == MT_SLICE_INLINED;
		return keep(fold, &event);
	}
	mt_try(pass(fold, &event));
	if (open.kind && open.kind != KIND_RUNTIME && !fold->quiet &&
	    !(open.kind == KIND_EXIT && fold->no_exit))
		hold(fold, &open, depth);
	return NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_fold *fold = self;
	const struct event event = {.kind = EVENT_END, .end = *what};

	if (!fold->open.count)
		return NULL;
	const struct open open = fold->open.items[--fold->open.count];
	size_t depth = fold->open.count;

	if (fold->quiet > depth)
		fold->quiet = 0;
	if (fold->no_exit > depth)
		fold->no_exit = 0;
	if (fold->kind && fold->kind != KIND_RUNTIME && depth == fold->floor)
		mt_try(conclude(fold, what->flags));
	if (fold->kind)
		return keep(fold, &event);
	mt_try(pass(fold, &event));
	if (open.kind == KIND_RUNTIME && !(what->flags & MT_SLICE_END_OPEN))
		hold(fold, &open, depth);
	return NULL;
}

static struct mt_error *instant(void *self, const struct mt_instant *what);

/* An assertion failed in an exit handler, or the like: that is the call that led there. */
static struct mt_error *feed_again(struct mt_fold *fold)
{
	struct mt_fold now = *fold;
	struct mt_error *error = NULL;

	fold->kind = KIND_NONE;
	fold->no_exit = now.floor + 1;
	fold->open.count = now.floor + 1;
	memset(&fold->held, 0, sizeof(fold->held));
	for (size_t i = 0; i < now.held.count && !error; i++) {
		const struct event *event = &now.held.items[i];

		error = event->kind == EVENT_BEGIN ? begin(fold, &event->slice)
			: event->kind == EVENT_END ? end(fold, &event->end)
						   : instant(fold, &event->instant);
	}
	mt_array_deinit(&now.held);
	return error;
}

static bool is_by(const struct mt_instant *what, int signal)
{
	int status = (int)what->value;

	return what->kind == MT_INSTANT_SIGNAL
		   ? what->detail == (uint32_t)signal
		   : what->kind == MT_INSTANT_EXIT && WIFSIGNALED(status) &&
			 WTERMSIG(status) == signal;
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_fold *fold = self;
	const struct event event = {.kind = EVENT_INSTANT, .instant = *what};
	bool aborts = is_by(what, SIGABRT);
	bool exits = what->kind == MT_INSTANT_EXIT && WIFEXITED((int)what->value);
	bool dies = what->kind == MT_INSTANT_TRIGGER && what->side && what->side->is_death;

	fold->dies |= dies;
	if (fold->kind == KIND_EXIT && aborts)
		mt_try(feed_again(fold));
	if (fold->kind && !exits && !dies && (!aborts || fold->kind == KIND_RUNTIME) &&
	    (what->kind == MT_INSTANT_SIGNAL || what->kind == MT_INSTANT_EXIT ||
	     what->kind == MT_INSTANT_GAP || what->kind == MT_INSTANT_TRIGGER ||
	     what->kind == MT_INSTANT_EXEC))
		mt_try(give_up(fold));
	if (!fold->kind)
		return pass(fold, &event);
	fold->exits |= exits;
	fold->aborts |= aborts || dies;
	return keep(fold, &event);
}

static void forget(struct mt_fold *fold)
{
	fold->open.count = 0;
	fold->quiet = fold->no_exit = 0;
	fold->dies = false;
}

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	forget(self);
	return mt_slice_pass_thread(self, which);
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	forget(self);
	return mt_slice_pass_segment_begin(self, segment);
}

static struct mt_error *segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct mt_fold *fold = self;

	if (fold->kind)
		mt_try(pass_all(fold));
	return mt_slice_pass_segment_end(self, segment);
}

struct mt_slice_sink mt_fold_sink(struct mt_fold *fold)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = segment_end,
	    .finish = mt_slice_pass_finish,
	};

	return (struct mt_slice_sink){&ops, fold};
}

struct mt_error *mt_fold_create(const char *hint, struct mt_slice_sink to, struct mt_fold **out)
{
	struct mt_fold *fold = calloc(1, sizeof(*fold));

	*out = fold;
	if (!fold)
		return mt_error_no_memory();
	fold->hint.reason = hint;
	fold->to = to;
	return NULL;
}

void mt_fold_destroy(struct mt_fold *fold)
{
	if (!fold)
		return;
	mt_array_deinit(&fold->open);
	mt_array_deinit(&fold->held);
	free(fold);
}
