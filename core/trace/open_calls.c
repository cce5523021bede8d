/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sinks before the one that a log goes to: one counts the slices' beginnings and keeps which of
 * them have no end, the other gives these their arguments. */
#include "trace/open_calls.h"

#include "trace/sink_ops.h"

struct begun {
	uint64_t number; /* of its beginning */
	const struct mt_function *function;
};

struct naming {
	struct mt_slice_sink sink; /* the next one */
	const struct mt_open_calls *calls;
	uint64_t begins;
	bool is_over;                /* a gap ended all */
	size_t next;                 /* of the calls */
	MT_ARRAY(struct begun) open; /* by depth */
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

	naming->is_over = naming->is_over ||
			  (naming->calls->is_lost && !slice->depth && slice->kind == MT_SLICE_GAP);
	if (naming->is_over)
		return NULL;
	naming->open.count = slice->depth < naming->open.count ? slice->depth : naming->open.count;
	return mt_array_push(&naming->open, ((struct begun){naming->begins++, slice->function}))
		   ? mt_error_no_memory()
		   : NULL;
}

static struct mt_error *note_end(void *self, const struct mt_slice_end *end)
{
	struct naming *naming = self;

	const uint8_t stays = MT_SLICE_END_OPEN | (naming->calls->is_lost ? MT_SLICE_END_LOST : 0);

	if (!(end->flags & stays) && !naming->is_over)
		naming->open.count = end->depth;
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

/* ---- Their arguments ---- */

static struct mt_error *to_begin(void *self, const struct mt_slice *slice)
{
	struct naming *naming = self;
	const struct begun *begun = open_at(naming, slice->depth, naming->begins++);
	const struct mt_open_calls *calls = naming->calls;
	struct mt_slice named = *slice;

	/* What stays open began in the order of its depth. */
	while (begun && naming->next < calls->items.count &&
	       calls->items.items[naming->next].depth < slice->depth)
		naming->next++;
	if (begun && naming->next < calls->items.count) {
		const struct mt_open_call *call = &calls->items.items[naming->next];

		if (call->depth == slice->depth && call->function == begun->function) {
			named.arguments = slice->arguments ? slice->arguments : call->arguments;
			named.call_id = slice->call_id ? slice->call_id : call->call_id;
		}
	}
	return mt_slice_pass_begin(self, &named);
}

static const struct mt_slice_sink_ops giving = {
    .thread = mt_slice_pass_thread,
    .segment_begin = mt_slice_pass_segment_begin,
    .begin = to_begin,
    .end = mt_slice_pass_end,
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
	naming.begins = 0;
	each.sink.ops = &giving;
	if (!error)
		error = mt_segment_log_replay(log, &each);
	mt_array_deinit(&naming.open);
	return error;
}
