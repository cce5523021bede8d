/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking events: time, the short way for what is common, and the long way for the rest. */
#include "trace/callstack.h"

#include "trace/callstack_internal.h"

enum {
	CREDIT_PER_EVENT = 8,
	CREDIT_MAX = 1 << 26,
	NEXT_CALL_BYTES = 5, /* call rel32 */
};

static bool allocate(struct mt_callstack *cs)
{
	cs->functions = calloc(MT_CS_FUNCTIONS, sizeof(*cs->functions));
	if (cs->options.inlines) {
		cs->spans = calloc(MT_CS_SPANS, sizeof(*cs->spans));
		cs->span_addresses = calloc(MT_CS_SPANS, sizeof(*cs->span_addresses));
	}
	return cs->functions && (!cs->options.inlines || (cs->spans && cs->span_addresses));
}

struct mt_error *mt_callstack_create(const struct mt_callstack_options *options,
				     struct mt_callstack **out)
{
	struct mt_callstack *cs = calloc(1, sizeof(*cs));
	struct mt_error *error;

	if (!cs)
		return mt_error_no_memory();
	cs->options = *options;
	cs->symbolizer = &mt_symbolizer_without_names;
	error = mt_segment_log_init(&cs->log, options->log_memory_bytes);
	if (!error && !allocate(cs))
		error = mt_error_no_memory();
	if (error) {
		mt_callstack_destroy(cs);
		return error;
	}
	*out = cs;
	return NULL;
}

void mt_callstack_destroy(struct mt_callstack *cs)
{
	if (!cs)
		return;
	mt_segment_log_deinit(&cs->log);
	mt_array_deinit(&cs->frames);
	mt_array_deinit(&cs->roots);
	mt_array_deinit(&cs->saved);
	mt_array_deinit(&cs->carried);
	mt_cs_forget_parked(cs);
	free(cs->functions);
	free(cs->spans);
	free(cs->span_addresses);
	free(cs);
}

void mt_cs_fail(struct mt_callstack *cs, struct mt_error *error)
{
	if (cs->log.error)
		mt_error_destroy(error);
	else
		cs->log.error = error;
}

void mt_callstack_set_symbolizer(struct mt_callstack *cs, const struct mt_symbolizer *symbolizer)
{
	/* What waits has its call sites' sources from the old one. */
	mt_segment_log_settle(&cs->log, cs->now_ns);
	cs->symbolizer = symbolizer ? symbolizer : &mt_symbolizer_without_names;
	cs->log.symbolizer = cs->symbolizer;
	cs->inlines = cs->options.inlines && cs->symbolizer->inlines_at;
	mt_cs_forget_names(cs);
}

/* "call next; pop" asks for the instruction pointer: PT calls it a call, nothing returns. */
static bool is_no_call(const struct mt_function *function, uint64_t from, uint64_t to)
{
	return to - from == NEXT_CALL_BYTES && to != function->start;
}

static void call(struct mt_callstack *cs, uint64_t from, uint64_t to)
{
	const struct mt_function *function = mt_cs_function_at(cs, to);

	if (!is_no_call(function, from, to))
		mt_cs_enter(cs, &(struct mt_entry){.function = function,
						   .address = to,
						   .call_site = from,
						   .return_site = from});
	mt_cs_arrive(cs, to);
}

static bool return_as_called(struct mt_callstack *cs, uint64_t to)
{
	const struct mt_frame *top = mt_cs_top(cs);

	if (cs->frames.count < 2 || !top->return_site || top->flags & MT_FRAME_ENTRY ||
	    !mt_is_next_of(to, top->return_site))
		return false;
	mt_cs_pop(cs, 0);
	mt_cs_arrive(cs, to);
	return true;
}

/* Control is in the program's code at `from`, and known. */
static void flow(struct mt_callstack *cs, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_CALL:
		call(cs, event->from, event->to);
		break;
	case MT_EVENT_RETURN:
		if (!return_as_called(cs, event->to))
			mt_cs_return(cs, event);
		break;
	case MT_EVENT_JUMP:
		mt_cs_jump(cs, event->from, event->to);
		break;
	case MT_EVENT_SYSCALL:
	case MT_EVENT_INTERRUPT:
		mt_cs_kernel_entry(cs, event);
		break;
	case MT_EVENT_SYSRET:
	case MT_EVENT_IRET:
		mt_cs_kernel_exit(cs, event);
		break;
	case MT_EVENT_TRACE_END:
		mt_cs_trace_end(cs, event);
		break;
	default:
		mt_cs_transaction(cs, event);
	}
}

/* An aborted transaction did not run: what led to `from` is not to be shown. */
static void reach(struct mt_callstack *cs, const struct mt_event *event)
{
	if (event->kind == MT_EVENT_TX_ABORT && cs->segment_open && cs->mode != MT_CS_LOST)
		return;
	if (cs->mode != MT_CS_RUNNING)
		mt_cs_trace_start(cs, event->from);
	if (event->from && !mt_cs_in_range(cs, event->from))
		mt_cs_sync(cs, event->from);
}

static void handle(struct mt_callstack *cs, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_TRACE_START:
		mt_cs_trace_start(cs, event->to);
		break;
	case MT_EVENT_GAP:
		mt_cs_gap(cs, event);
		break;
	case MT_EVENT_SIGNAL:
		mt_cs_signal(cs, event);
		break;
	case MT_EVENT_MARK:
		mt_cs_mark(cs, event);
		break;
	default:
		if (event->kind > MT_EVENT_MARK)
			break;
		reach(cs, event);
		if (!cs->log.error)
			flow(cs, event);
	}
}

/* What waits is spread up to now; but what waits before a gap happened before it. */
static void settle(struct mt_callstack *cs, const struct mt_event *event)
{
	uint64_t base_ns = mt_array_last(&cs->log.pending)->time_ns;

	if (event->kind == MT_EVENT_GAP)
		mt_segment_log_settle(&cs->log, cs->before_ns);
	else if (cs->now_ns > base_ns || !(event->flags & MT_EVENT_TIME_IS_ESTIMATE))
		mt_segment_log_settle(&cs->log, cs->now_ns);
}

static inline void advance(struct mt_callstack *cs, const struct mt_event *event)
{
	cs->before_ns = cs->now_ns;
	/* Beyond 63 bits it is no time but garbage, and formats do not take it. */
	if ((int64_t)event->time_ns > (int64_t)cs->now_ns)
		cs->now_ns = event->time_ns;
	cs->time_ns = cs->now_ns;
	cs->estimated = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
}

static struct mt_error *take_error(struct mt_callstack *cs)
{
	struct mt_error *error = cs->log.error;

	cs->log.error = NULL;
	cs->failed = true;
	return error;
}

static void earn(struct mt_callstack *cs, size_t events)
{
	cs->credit +=
	    events < CREDIT_MAX / CREDIT_PER_EVENT ? events * CREDIT_PER_EVENT : CREDIT_MAX;
	if (cs->credit > CREDIT_MAX)
		cs->credit = CREDIT_MAX;
}

struct mt_error *mt_callstack_push(struct mt_callstack *cs, const struct mt_event *events,
				   size_t count)
{
	if (cs->failed)
		return NULL;
	earn(cs, count);
	for (const struct mt_event *event = events; event < events + count; event++) {
		advance(cs, event);
		if (cs->log.pending.count)
			settle(cs, event);
		if (event->kind == MT_EVENT_JUMP && mt_cs_in_range(cs, event->from) &&
		    mt_cs_in_range(cs, event->to)) {
			cs->ip = event->to;
			continue;
		}
		handle(cs, event);
		if (cs->log.error)
			return take_error(cs);
	}
	return NULL;
}

struct mt_error *mt_callstack_finish(struct mt_callstack *cs)
{
	if (cs->failed)
		return NULL;
	cs->time_ns = cs->now_ns;
	cs->estimated = false;
	mt_cs_close_segment(cs, 0);
	return cs->log.error ? take_error(cs) : NULL;
}
