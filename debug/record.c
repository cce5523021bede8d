/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recording of the debugged program (live/live.h), over the debugger's own target.  The debugger
 * lets threads go and waits for them, so the session's target has no run control. */
#include "private.h"

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

/* NULL for a child of the process's too, which is not the debugger's. */
static struct mt_debug_site *site_at(struct mt_target *base, pid_t pid, uint64_t address)
{
	struct mt_debugger *debugger = debugger_of(base);

	return pid == debugger->pid ? mt_debug_site_at(debugger, address) : NULL;
}

static size_t read_beneath(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			   size_t size)
{
	size_t done = read_memory(base, pid, address, buffer, size);

	for (size_t i = 0; i < done; i++) {
		const struct mt_debug_site *site = site_at(base, pid, address + i);

		if (site)
			((uint8_t *)buffer)[i] = site->original;
	}
	return done;
}

static struct mt_error *write_beneath(struct mt_target *base, pid_t pid, uint64_t address,
				      uint8_t byte)
{
	struct mt_debug_site *site = site_at(base, pid, address);

	if (!site)
		return write_memory(base, pid, address, &byte, 1);
	site->original = byte;
	return mt_debug_rescue_note(debugger_of(base), site);
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

static struct mt_error *set_gs_base(struct mt_target *base, pid_t lwp, uint64_t gs_base)
{
	forget_registers(debugger_of(base), lwp);
	return below(base)->ops->set_gs_base(below(base), lwp, gs_base);
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

static struct mt_error *set_injected(struct mt_target *base, pid_t pid, struct mt_injected injected)
{
	return below(base)->ops->set_injected(below(base), pid, injected);
}

/* It runs: a signal that it stood for has to be sent again. */
static void forget_stop(struct mt_debugger *debugger, pid_t number)
{
	struct mt_debug_lwp *lwp = mt_debug_find(debugger, number);

	forget_registers(debugger, number);
	if (lwp)
		lwp->reported = 0;
}

static struct mt_error *call_systems(struct mt_target *base, pid_t lwp,
				     struct mt_system_call *calls, size_t count)
{
	forget_stop(debugger_of(base), lwp);
	return below(base)->ops->call_systems(below(base), lwp, calls, count);
}

static struct mt_error *run_to(struct mt_target *base, pid_t lwp, uint64_t goal, bool *arrived)
{
	forget_registers(debugger_of(base), lwp);
	return below(base)->ops->run_to(below(base), lwp, goal, arrived);
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
    .read_beneath = read_beneath,
    .write_beneath = write_beneath,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .set_gs_base = set_gs_base,
    .each_thread = each_thread,
    .each_map = each_map,
    .set_injected = set_injected,
    .call_systems = call_systems,
    .run_to = run_to,
    .watch_libraries = watch_libraries,
};

/* ---- Its life ---- */

struct mt_live *mt_debugger_live(struct mt_debugger *debugger)
{
	return &debugger->live;
}

static struct mt_error *place(struct mt_debugger *debugger, const struct mt_live_alone *alone)
{
	return debugger->front.places ? debugger->front.places(debugger->front.context, alone)
				      : NULL;
}

static void shown(struct mt_debugger *debugger)
{
	if (debugger->front.shown)
		debugger->front.shown(debugger->front.context);
}

/* FRESH: the process has not run an instruction yet. */
static struct mt_error *begin(struct mt_debugger *debugger, bool fresh)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	if (!proxy)
		return mt_error_no_memory();
	proxy->base.ops = &proxy_ops;
	proxy->debugger = debugger;
	debugger->session_break = 0;
	pid_t lwp = debugger->selected ? debugger->selected->thread.lwp : 0;
	struct mt_error *error =
	    mt_live_begin(&debugger->live, &proxy->base, debugger->pid, lwp, fresh);
	mt_array_each (one, &debugger->lwps)
		forget_registers(debugger, (*one)->thread.lwp);
	if (error)
		debugger->live.state = MT_LIVE_OFF;
	return error;
}

struct mt_error *mt_debugger_record(struct mt_debugger *debugger)
{
	return begin(debugger, false);
}

void mt_debugger_record_stop(struct mt_debugger *debugger)
{
	mt_live_leave(&debugger->live);
	mt_debugger_record_ended(debugger);
}

void mt_debugger_record_ended(struct mt_debugger *debugger)
{
	mt_live_end(&debugger->live);
	debugger->session_break = 0;
}

struct mt_error *mt_debug_record_launched(struct mt_debugger *debugger)
{
	if (debugger->live.state != MT_LIVE_ARMED)
		return NULL;
	mt_try(begin(debugger, true));
	return place(debugger, NULL);
}

/* ---- What happens ---- */

struct mt_error *mt_debug_record_take(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	struct mt_session *session = mt_live_session(&debugger->live);

	return session ? mt_session_take(session, stop) : NULL;
}

struct mt_error *mt_debug_record_loaded(struct mt_debugger *debugger)
{
	if (!mt_live_is_recording(&debugger->live))
		return NULL;
	struct mt_error *error = place(debugger, NULL);
	shown(debugger);
	return error;
}

struct mt_error *mt_debug_record_forked(struct mt_debugger *debugger, pid_t child)
{
	struct mt_session *session = mt_live_session(&debugger->live);

	return session ? mt_session_clean(session, debugger->pid, child) : NULL;
}

struct mt_error *mt_debug_record_followed(struct mt_debugger *debugger, bool shares_memory)
{
	if (!mt_live_is_recording(&debugger->live))
		return NULL;
	mt_debugger_record_ended(debugger);
	if (shares_memory)
		return NULL;
	mt_try(begin(debugger, false));
	return mt_debug_record_show(debugger);
}

void mt_debug_record_tick(struct mt_debugger *debugger)
{
	if (mt_live_is_recording(&debugger->live))
		mt_session_tick(debugger->live.session);
}

/* The functions on the stack of the thread that is stepped past calls. */
static struct mt_error *add_stack(struct mt_live_alone *alone, struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame;

	for (unsigned i = 0; i < MOST_FRAMES; i++) {
		frame = mt_debug_frame_of(debugger, debugger->plan.lwp, i);
		if (!frame)
			return NULL;
		mt_try(mt_live_add_function(alone, frame->inside));
	}
	return NULL;
}

/* See begin_over(): it lets them over the breakpoint. */
static struct mt_error *add_told(struct mt_live_alone *alone, struct mt_debugger *debugger)
{
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->passed)
			mt_try(mt_live_add_told(alone, (*lwp)->thread.lwp));
	return NULL;
}

/* The program goes on by its plan.  What steps go into is left alone as a whole. */
struct mt_error *mt_debug_record_show(struct mt_debugger *debugger)
{
	enum mt_debug_plan_kind kind = debugger->plan.kind;
	struct mt_live_alone alone = {0};

	if (debugger->live.state != MT_LIVE_HIDDEN)
		return NULL;
	debugger->live.has_news = true;
	if (kind == MT_DEBUG_PLAN_STEP || kind == MT_DEBUG_PLAN_STEPI)
		return NULL;
	struct mt_error *error = NULL;
	if (kind == MT_DEBUG_PLAN_NEXT || kind == MT_DEBUG_PLAN_NEXTI ||
	    kind == MT_DEBUG_PLAN_UNTIL)
		error = add_stack(&alone, debugger);
	if (!error)
		error = add_told(&alone, debugger);
	if (!error)
		error = place(debugger, &alone);
	if (!error)
		error = mt_debug_each_wanted(debugger, mt_live_add_place, &alone);
	if (!error)
		error = mt_live_show(&debugger->live, &alone);
	shown(debugger);
	mt_live_alone_deinit(&alone);
	return error;
}

struct mt_error *mt_debug_record_each_missed(struct mt_debugger *debugger,
					     struct mt_error *(*found)(void *context,
								       uint64_t address),
					     void *context)
{
	struct mt_session *session = mt_live_session(&debugger->live);
	size_t count = 0;
	const uint64_t *missed = session ? mt_session_missed(session, debugger->pid, &count) : NULL;

	for (size_t i = 0; i < count; i++)
		mt_try(found(context, missed[i]));
	return NULL;
}

struct mt_error *mt_debug_record_came(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_session *session = mt_live_session(&debugger->live);

	return session ? mt_session_record_missed(session, lwp->thread.lwp) : NULL;
}

bool mt_debug_record_mends(struct mt_debugger *debugger, const struct mt_stop *stop)
{
	bool is_mended = false;

	if (stop->signal != SIGSEGV || stop->code <= 0 || !mt_live_is_recording(&debugger->live))
		return false;
	mt_error_destroy(
	    mt_session_mend_copy(debugger->live.session, stop->lwp, stop->address, &is_mended));
	return is_mended;
}

bool mt_debug_record_passes(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			    unsigned *breakpoint)
{
	struct mt_debug_lwp *selected = debugger->selected;
	unsigned level = debugger->selected_frame;

	if (!mt_live_is_recording(&debugger->live) || !debugger->front.passes)
		return false;
	debugger->selected = lwp;
	debugger->selected_frame = 0;
	bool passes = debugger->front.passes(debugger->front.context, breakpoint);
	debugger->selected = selected;
	debugger->selected_frame = level;
	return passes;
}
