/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sinks before the one that a log goes to: one counts the slices' beginnings and keeps which of
 * them have no end, the other gives these their arguments, and puts functions in Python on them. */
#include "trace/open_calls.h"

#include "trace/sink_ops.h"

struct begun {
	uint64_t number; /* of its beginning */
	uint64_t behind; /* of beginnings and ends, the last one before what stays open on it */
	const struct mt_function *function;
};

struct naming {
	struct mt_slice_sink sink; /* the next one */
	const struct mt_open_calls *calls;
	uint64_t begins, events;     /* events: with the ends */
	bool is_over;                /* a gap ended all */
	size_t next;                 /* of the calls */
	MT_ARRAY(struct begun) open; /* by depth */
	/* Functions in Python. */
	size_t next_python;                        /* of the calls: all before it have them on */
	MT_ARRAY(const struct mt_open_call *) put; /* that have them on, and are open */
	uint32_t put_depth;                        /* so many of them are open */
};
MT_SLICE_FILTER(struct naming, sink);

/* The slice that begins as that NUMBER stays open. */
static const struct begun *open_at(const struct naming *naming, uint32_t depth, uint64_t number)
{
	const struct begun *begun = depth < naming->open.count ? &naming->open.items[depth] : NULL;

	return begun && begun->number == number ? begun : NULL;
}

/* ---- Which stay open ---- */

static struct mt_error *note_begin(void *self, const struct mt_slice *slice)
{
	struct naming *naming = self;

	naming->events++;
	naming->is_over = naming->is_over ||
			  (naming->calls->is_lost && !slice->depth && slice->kind == MT_SLICE_GAP);
	if (naming->is_over)
		return NULL;
	naming->open.count = slice->depth < naming->open.count ? slice->depth : naming->open.count;
	const struct begun begun = {naming->begins++, naming->events, slice->function};
	return mt_array_push(&naming->open, begun) ? mt_error_no_memory() : NULL;
}

static struct mt_error *note_end(void *self, const struct mt_slice_end *end)
{
	struct naming *naming = self;

	const uint8_t stays = MT_SLICE_END_OPEN | (naming->calls->is_lost ? MT_SLICE_END_LOST : 0);

	naming->events++;
	if (end->flags & stays || naming->is_over)
		return NULL;
	naming->open.count = end->depth;
	if (end->depth)
		naming->open.items[end->depth - 1].behind = naming->events;
	return NULL;
}

static const struct mt_slice_sink_ops noting = {
    .thread = mt_slice_ignore_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = note_begin,
    .end = note_end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

/* ---- What they ran in Python ---- */

/* An event was passed on, behind which it may be that nothing ends any more on a call. */
static struct mt_error *put_python(struct naming *naming, uint64_t time_ns)
{
	const struct mt_open_calls *calls = naming->calls;

	for (; naming->next_python < calls->items.count; naming->next_python++) {
		const struct mt_open_call *call = &calls->items.items[naming->next_python];
		const struct begun *begun =
		    call->depth < naming->open.count ? &naming->open.items[call->depth] : NULL;

		if (!begun || begun->function != call->function ||
		    (!call->python_count && !call->at.file))
			continue;
		if (begun->behind != naming->events)
			return NULL;
		for (size_t i = 0; i < call->python_count; i++) {
			const struct mt_python_call *python = &call->python[i];
			const struct mt_slice slice = {
			    .time_ns = time_ns,
			    .kind = MT_SLICE_CALL,
			    .flags = MT_SLICE_INFERRED | MT_SLICE_PYTHON | MT_SLICE_TIME_ESTIMATED,
			    .depth = call->depth + 1 + naming->put_depth++,
			    .function = python->function,
			    .call_source = i ? python[-1].at : call->at,
			    .arguments = python->where,
			};
			mt_try(mt_slice_pass_begin(naming, &slice));
		}
		if (mt_array_push(&naming->put, call))
			return mt_error_no_memory();
	}
	return NULL;
}

/* Before END. */
static struct mt_error *end_python(struct naming *naming, const struct mt_slice_end *end)
{
	if (!naming->put.count || (*mt_array_last(&naming->put))->depth != end->depth)
		return NULL;
	for (size_t i = (*mt_array_last(&naming->put))->python_count; i-- > 0;) {
		const struct mt_slice_end python = {.time_ns = end->time_ns,
						    .flags = end->flags,
						    .depth = end->depth + naming->put_depth--};

		mt_try(mt_slice_pass_end(naming, &python));
	}
	naming->put.count--;
	return NULL;
}

/* Where the innermost function stands, if SLICE is the first one on it. */
static struct mt_source called_by_python(const struct naming *naming, const struct mt_slice *slice)
{
	const struct mt_open_call *call = naming->put.count ? *mt_array_last(&naming->put) : NULL;

	if (!call || slice->depth != call->depth + 1)
		return (struct mt_source){0};
	return call->python_count ? call->python[call->python_count - 1].at : call->at;
}

/* ---- Their arguments ---- */

static struct mt_error *to_begin(void *self, const struct mt_slice *slice)
{
	struct naming *naming = self;
	const struct begun *begun = open_at(naming, slice->depth, naming->begins++);
	const struct mt_open_calls *calls = naming->calls;
	struct mt_slice named = *slice;

	if (!slice->call_source.file)
		named.call_source = called_by_python(naming, slice);
	/* What stays open began in the order of its depth. */
	while (begun && naming->next < calls->items.count &&
	       calls->items.items[naming->next].depth < slice->depth)
		naming->next++;
	if (begun && naming->next < calls->items.count) {
		const struct mt_open_call *call = &calls->items.items[naming->next];

		if (call->depth == slice->depth && call->function == begun->function) {
			if (!slice->arguments || (call->arguments && call->at.file))
				named.arguments = call->arguments;
			named.call_id = slice->call_id ? slice->call_id : call->call_id;
		}
	}
	named.depth += naming->put_depth;
	naming->events++;
	mt_try(mt_slice_pass_begin(self, &named));
	return put_python(naming, slice->time_ns);
}

static struct mt_error *to_end(void *self, const struct mt_slice_end *end)
{
	struct naming *naming = self;
	struct mt_slice_end moved = *end;

	mt_try(end_python(naming, end));
	moved.depth += naming->put_depth;
	naming->events++;
	mt_try(mt_slice_pass_end(self, &moved));
	return put_python(naming, end->time_ns);
}

static const struct mt_slice_sink_ops giving = {
    .thread = mt_slice_pass_thread,
    .segment_begin = mt_slice_pass_segment_begin,
    .begin = to_begin,
    .end = to_end,
    .instant = mt_slice_pass_instant,
    .segment_end = mt_slice_pass_segment_end,
};

struct mt_error *mt_open_calls_replay(struct mt_segment_log *log, const struct mt_replay *replay,
				      const struct mt_open_calls *calls)
{
	struct naming naming = {.sink = replay->sink, .calls = calls};
	struct mt_replay each = *replay;

	each.sink = (struct mt_slice_sink){&noting, &naming};
	struct mt_error *error = mt_segment_log_replay(log, &each);
	naming.begins = naming.events = 0;
	each.sink.ops = &giving;
	if (!error)
		error = mt_segment_log_replay(log, &each);
	mt_array_deinit(&naming.open);
	mt_array_deinit(&naming.put);
	return error;
}
