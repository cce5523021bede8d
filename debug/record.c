/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording in the debugged program: a live session (session/session.h) over the same target.
 *
 * At stops the text is pristine: what the engine patched in is hidden before anybody looks, and
 * shown again when the program goes on, but for where breakpoints and threads are, and for what is
 * stepped through.  The debugger lets threads go and waits for them, so the session's target has
 * no run control. */
#include "private.h"
#include "process/interrupted.h"
#include "session/session.h"

#include <string.h>

#define MOST_FRAMES 1000

/* ---- The session's target ---- */

struct proxy {
	struct mt_target base;
	struct mt_debugger *debugger;
};

static struct mt_debugger *debugger_of(struct mt_target *base)
{
	return ((struct proxy *)base)->debugger;
}

static struct mt_target *below(struct mt_target *base)
{
	return debugger_of(base)->target;
}

static void destroy(struct mt_target *base)
{
	free(base);
}

static size_t read_memory(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	return below(base)->ops->read(below(base), pid, address, buffer, size);
}

static struct mt_error *write_memory(struct mt_target *base, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	return below(base)->ops->write(below(base), pid, address, bytes, size);
}

static struct mt_error *get_registers(struct mt_target *base, pid_t lwp,
				      struct user_regs_struct *registers)
{
	return below(base)->ops->get_registers(below(base), lwp, registers);
}

static void forget_registers(struct mt_debugger *debugger, pid_t number)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, number);

	if (!lwp)
		return;
	lwp->has_registers = false;
	mt_debug_forget_frames(lwp);
}

static struct mt_error *set_registers(struct mt_target *base, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	forget_registers(debugger_of(base), lwp);
	return below(base)->ops->set_registers(below(base), lwp, registers);
}

static struct mt_error *each_thread(struct mt_target *base, pid_t pid,
				    struct mt_error *(*found)(void *context, pid_t lwp),
				    void *context)
{
	return below(base)->ops->each_thread(below(base), pid, found, context);
}

static struct mt_error *each_map(struct mt_target *base, pid_t pid,
				 struct mt_error *(*found)(void *context, const struct mt_map *map),
				 void *context)
{
	return below(base)->ops->each_map(below(base), pid, found, context);
}

static struct mt_error *set_injected(struct mt_target *base, pid_t pid, uint64_t code,
				     uint64_t stack_top)
{
	return below(base)->ops->set_injected(below(base), pid, code, stack_top);
}

/* It runs: a signal that it stood for has to be sent again. */
static void forget_stop(struct mt_debugger *debugger, pid_t number)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, number);

	forget_registers(debugger, number);
	if (lwp)
		lwp->reported = 0;
}

static struct mt_error *call_system(struct mt_target *base, pid_t lwp, long number,
				    const uint64_t arguments[6], int64_t *result)
{
	forget_stop(debugger_of(base), lwp);
	return below(base)->ops->call_system(below(base), lwp, number, arguments, result);
}

static struct mt_error *call_function(struct mt_target *base, pid_t lwp,
				      const struct mt_target_call *call, uint64_t *result)
{
	forget_stop(debugger_of(base), lwp);
	return below(base)->ops->call_function(below(base), lwp, call, result);
}

static struct mt_error *watch_libraries(struct mt_target *base, pid_t pid, uint64_t address)
{
	(void)pid;
	debugger_of(base)->session_break = address;
	debugger_of(base)->sites_changed = true;
	return NULL;
}

static const struct mt_target_ops proxy_ops = {
    .destroy = destroy,
    .read = read_memory,
    .write = write_memory,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .each_thread = each_thread,
    .each_map = each_map,
    .set_injected = set_injected,
    .call_system = call_system,
    .call_function = call_function,
    .watch_libraries = watch_libraries,
};

/* ---- Its life ---- */

static bool is_recording(const struct mt_debugger *debugger)
{
	return debugger->session && !debugger->session_over;
}

struct mt_session *mt_debugger_session(const struct mt_debugger *debugger)
{
	return debugger->session;
}

bool mt_debugger_is_recording(const struct mt_debugger *debugger)
{
	return is_recording(debugger);
}

bool mt_debugger_is_armed(const struct mt_debugger *debugger)
{
	return debugger->armed;
}

void mt_debug_record_deinit(struct mt_debugger *debugger)
{
	mt_session_destroy(debugger->session);
	debugger->session = NULL;
	debugger->session_over = debugger->session_hidden = false;
	debugger->session_break = 0;
	if (debugger->session_target)
		debugger->session_target->ops->destroy(debugger->session_target);
	debugger->session_target = NULL;
}

static struct mt_error *create(struct mt_debugger *debugger)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	mt_debug_record_deinit(debugger);
	if (!proxy)
		return mt_error_no_memory();
	proxy->base.ops = &proxy_ops;
	proxy->debugger = debugger;
	debugger->session_target = &proxy->base;
	debugger->session_options.engine.live = true;
	return mt_session_create(debugger->session_target, &debugger->session_options, NULL,
				 &debugger->session);
}

/* FRESH: the process has not run an instruction yet. */
static struct mt_error *begin(struct mt_debugger *debugger, bool fresh)
{
	struct mt_error *error = create(debugger);

	if (!error && fresh)
		error = mt_session_begin(debugger->session, debugger->pid);
	else if (!error)
		error = mt_session_attach(debugger->session, debugger->pid);
	debugger->session_hidden = !fresh;
	mt_array_each (lwp, &debugger->lwps)
		forget_registers(debugger, (*lwp)->thread.lwp);
	if (error) {
		mt_debug_record_deinit(debugger);
		debugger->armed = false;
	}
	return error;
}

struct mt_error *mt_debugger_record(struct mt_debugger *debugger,
				    const struct mt_session_options *options)
{
	if (is_recording(debugger))
		return mt_error_new(MT_ERROR_USAGE, "process %d is recorded already",
				    debugger->pid);
	debugger->session_options = *options;
	debugger->armed = true;
	return debugger->pid ? begin(debugger, false) : NULL;
}

struct mt_error *mt_debugger_record_stop(struct mt_debugger *debugger)
{
	if (!debugger->armed)
		return mt_error_new(MT_ERROR_USAGE,
				    "nothing is recorded (\"mtrace start\" begins)");
	debugger->armed = false;
	debugger->session_over = true;
	debugger->session_break = 0;
	return NULL;
}

struct mt_error *mt_debug_record_launched(struct mt_debugger *debugger)
{
	return debugger->armed ? begin(debugger, true) : NULL;
}

/* ---- What happens ---- */

struct mt_error *mt_debug_record_take(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	if (!is_recording(debugger))
		return NULL;
	return mt_session_take(debugger->session, stop);
}

struct mt_error *mt_debug_record_forked(struct mt_debugger *debugger, pid_t child)
{
	if (!is_recording(debugger))
		return NULL;
	return mt_session_clean(debugger->session, debugger->pid, child);
}

struct mt_error *mt_debug_record_followed(struct mt_debugger *debugger, bool shares_memory)
{
	if (!is_recording(debugger))
		return NULL;
	mt_debug_record_ended(debugger);
	if (shares_memory)
		return NULL;
	mt_try(begin(debugger, false));
	return mt_debug_record_show(debugger);
}

struct mt_error *mt_debug_record_executed(struct mt_debugger *debugger)
{
	return debugger->armed && !is_recording(debugger) ? begin(debugger, true) : NULL;
}

void mt_debug_record_tick(struct mt_debugger *debugger)
{
	if (is_recording(debugger))
		mt_session_tick(debugger->session);
}

/* Before anybody looks. */
struct mt_error *mt_debug_record_hide(struct mt_debugger *debugger)
{
	if (!is_recording(debugger) || debugger->session_hidden)
		return NULL;
	debugger->session_hidden = true;
	mt_try(mt_session_reap(debugger->session));
	return mt_session_hide(debugger->session, debugger->pid);
}

typedef MT_ARRAY(uint64_t) addresses;

struct alone {
	struct mt_debugger *debugger;
	addresses places, functions;
};

static struct mt_error *add_place(void *context, uint64_t pc)
{
	struct alone *alone = context;

	return mt_array_push(&alone->places, pc) ? mt_error_no_memory() : NULL;
}

/* Where a thread stands, and where its handlers return to. */
static struct mt_error *add_thread(struct alone *alone, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(alone->debugger, lwp);

	if (!registers)
		return NULL;
	mt_try(add_place(alone, registers->rip));
	return mt_interrupted_each(alone->debugger->target, alone->debugger->pid, registers->rsp,
				   add_place, alone);
}

/* What is on the stack of the thread that is stepped past calls. */
static struct mt_error *add_stack(struct alone *alone, struct mt_debug_lwp *lwp)
{
	const struct mt_debug_frame *frame;

	for (unsigned i = 0; i < MOST_FRAMES; i++) {
		frame = mt_debug_frame_of(alone->debugger, lwp, i);
		if (!frame)
			return NULL;
		if (mt_array_push(&alone->functions, frame->inside))
			return mt_error_no_memory();
	}
	return NULL;
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static void sort(addresses *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(list->items[0]), compare);
}

static struct mt_error *find_alone(struct alone *alone)
{
	struct mt_debugger *debugger = alone->debugger;
	enum mt_debug_plan_kind kind = debugger->plan.kind;

	mt_try(mt_debug_each_wanted(debugger, add_place, alone));
	mt_array_each (lwp, &debugger->lwps)
		mt_try(add_thread(alone, *lwp));
	if (kind == MT_DEBUG_PLAN_NEXT || kind == MT_DEBUG_PLAN_NEXTI ||
	    kind == MT_DEBUG_PLAN_UNTIL)
		mt_try(add_stack(alone, debugger->plan.lwp));
	sort(&alone->places);
	sort(&alone->functions);
	return NULL;
}

/* The program goes on by its plan.  What steps go into is left alone as a whole. */
struct mt_error *mt_debug_record_show(struct mt_debugger *debugger)
{
	enum mt_debug_plan_kind kind = debugger->plan.kind;
	struct alone alone = {.debugger = debugger};

	if (!is_recording(debugger) || !debugger->session_hidden || kind == MT_DEBUG_PLAN_STEP ||
	    kind == MT_DEBUG_PLAN_STEPI)
		return NULL;
	struct mt_error *error = find_alone(&alone);
	const struct mt_engine_alone what = {alone.places.items, alone.places.count,
					     alone.functions.items, alone.functions.count};
	if (!error) {
		debugger->session_hidden = false;
		error = mt_session_show(debugger->session, debugger->pid, &what);
	}
	mt_array_deinit(&alone.places);
	mt_array_deinit(&alone.functions);
	return error;
}

/* The process is gone, or let go.  What was recorded stays to be looked at. */
void mt_debug_record_ended(struct mt_debugger *debugger)
{
	debugger->session_over = true;
	debugger->session_break = 0;
}
