/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/rebuild_private.h"

#include <string.h>

enum { CREDIT_PER_EVENT = 8, CREDIT_MAX = 1 << 26 };

static uint8_t table_bits(uint64_t events)
{
	uint8_t bits = MT_REBUILD_MOST_BITS;

	while (events && bits > MT_REBUILD_LEAST_BITS && events >> (bits - 1) == 0)
		bits--;
	return bits;
}

struct mt_error *mt_rebuild_create(const struct mt_rebuild_ops *ops,
				   const struct mt_rebuild_options *options,
				   struct mt_rebuild **out)
{
	struct mt_rebuild *rebuild = calloc(1, ops->size);

	if (!rebuild)
		return mt_error_no_memory();
	rebuild->ops = ops;
	rebuild->options = *options;
	rebuild->symbolizer = &mt_symbolizer_without_names;
	rebuild->table_bits = table_bits(options->events);
	rebuild->functions = calloc(mt_rebuild_places(rebuild), sizeof(*rebuild->functions));
	struct mt_error *error = mt_segment_log_init(&rebuild->log, options->log_memory_bytes);
	if (!error && (!ops->init(rebuild) || !rebuild->functions))
		error = mt_error_no_memory();
	if (error) {
		mt_rebuild_destroy(rebuild);
		return error;
	}
	*out = rebuild;
	return NULL;
}

void mt_rebuild_destroy(struct mt_rebuild *rebuild)
{
	if (!rebuild)
		return;
	rebuild->ops->deinit(rebuild);
	mt_segment_log_deinit(&rebuild->log);
	mt_array_deinit(&rebuild->roots);
	free(rebuild->functions);
	free(rebuild);
}

void mt_rebuild_set_symbolizer(struct mt_rebuild *rebuild, const struct mt_symbolizer *symbolizer)
{
	/* Entries that wait have their call sites' sources from the old one. */
	mt_segment_log_settle(&rebuild->log, rebuild->now_ns);
	rebuild->symbolizer = symbolizer ? symbolizer : &mt_symbolizer_without_names;
	mt_segment_log_set_symbolizer(&rebuild->log, rebuild->symbolizer);
	if (rebuild->is_filled)
		memset(rebuild->functions, 0,
		       mt_rebuild_places(rebuild) * sizeof(*rebuild->functions));
	rebuild->ops->names_changed(rebuild);
	rebuild->is_filled = false;
}

static struct mt_error *take_error(struct mt_rebuild *rebuild)
{
	struct mt_error *error = rebuild->log.error;

	rebuild->log.error = NULL;
	rebuild->failed = error != NULL;
	return error;
}

struct mt_error *mt_rebuild_push(struct mt_rebuild *rebuild, const struct mt_event *events,
				 size_t count)
{
	if (rebuild->failed)
		return NULL;
	rebuild->is_filled = true;
	rebuild->credit +=
	    count < CREDIT_MAX / CREDIT_PER_EVENT ? count * CREDIT_PER_EVENT : CREDIT_MAX;
	if (rebuild->credit > CREDIT_MAX)
		rebuild->credit = CREDIT_MAX;
	rebuild->ops->push(rebuild, events, count);
	return take_error(rebuild);
}

struct mt_error *mt_rebuild_finish(struct mt_rebuild *rebuild)
{
	if (rebuild->failed)
		return NULL;
	rebuild->estimated = false;
	rebuild->is_over = true;
	mt_rebuild_close_segment(rebuild, rebuild->snapshot);
	return take_error(rebuild);
}

void mt_rebuild_out_of_memory(struct mt_rebuild *rebuild)
{
	mt_segment_log_fail(&rebuild->log, mt_error_no_memory());
}

struct mt_source mt_rebuild_source_at(const struct mt_rebuild *rebuild, uint64_t address)
{
	const struct mt_symbolizer *symbolizer = rebuild->symbolizer;
	struct mt_source source = {0};

	if (address && symbolizer->source_at &&
	    symbolizer->source_at(symbolizer->context, address, &source))
		return source;
	return (struct mt_source){0};
}

void mt_rebuild_add_root(struct mt_rebuild *rebuild, const struct mt_slice *root)
{
	if (mt_array_push(&rebuild->roots, *root))
		mt_rebuild_out_of_memory(rebuild);
}

static struct mt_error *show(struct mt_rebuild *rebuild, const struct mt_replay *replay)
{
	struct mt_open_calls calls = {0};
	struct mt_error *error =
	    rebuild->ops->open_calls(rebuild, replay->segment.snapshot, &calls);

	if (!error)
		error = calls.items.count ? mt_open_calls_replay(&rebuild->log, replay, &calls)
					  : mt_segment_log_replay(&rebuild->log, replay);
	mt_array_deinit(&calls.items);
	return error;
}

void mt_rebuild_close_segment(struct mt_rebuild *rebuild, uint32_t snapshot)
{
	if (!rebuild->segment_open)
		return;
	rebuild->ops->settle(rebuild);
	rebuild->segment.end_ns = rebuild->now_ns;
	rebuild->segment.snapshot = snapshot;
	if (!rebuild->log.error) {
		const struct mt_replay replay = {
		    .sink = rebuild->options.sink,
		    .thread = &rebuild->options.thread,
		    .segment = rebuild->segment,
		    .roots = rebuild->roots.items,
		    .root_count = rebuild->roots.count,
		};

		mt_segment_log_fail(&rebuild->log, show(rebuild, &replay));
	}
	mt_segment_log_clear(&rebuild->log);
	rebuild->roots.count = 0;
	rebuild->segment_open = false;
	rebuild->segment.number++;
	rebuild->signal = 0;
	rebuild->snapshot = 0;
	rebuild->ops->forget(rebuild);
	rebuild->is_over = false;
}

void mt_rebuild_instant(struct mt_rebuild *rebuild, enum mt_instant_kind kind, uint32_t detail,
			uint64_t value, uint64_t address)
{
	struct mt_instant instant = {
	    .time_ns = rebuild->now_ns,
	    .kind = (uint8_t)kind,
	    .estimated = rebuild->estimated,
	    .detail = detail,
	    .value = value,
	    .address = address,
	    .source = mt_rebuild_source_at(rebuild, address),
	};

	mt_rebuild_open_segment(rebuild);
	if (address)
		instant.function = mt_rebuild_function_at(rebuild, address);
	mt_segment_log_instant(&rebuild->log, &instant);
}

void mt_rebuild_signal(struct mt_rebuild *rebuild, const struct mt_event *event)
{
	mt_rebuild_instant(rebuild, MT_INSTANT_SIGNAL, event->detail, event->to, event->from);
	rebuild->signal = event->detail;
}

void mt_rebuild_pass_snapshot(struct mt_rebuild *rebuild, const struct mt_event *event)
{
	const uint32_t number = rebuild->snapshot;

	rebuild->snapshot = 0;
	if (event->kind == MT_EVENT_GAP) {
		mt_rebuild_close_segment(rebuild, number);
		return;
	}
	rebuild->estimated = false;
	mt_rebuild_instant(rebuild, MT_INSTANT_SNAPSHOT, number, number, 0);
}

void mt_rebuild_mark(struct mt_rebuild *rebuild, const struct mt_event *event)
{
	uint32_t number = (uint32_t)event->to;

	switch (event->detail) {
	case MT_MARK_TRIGGER:
		mt_rebuild_instant(rebuild, MT_INSTANT_TRIGGER, number, event->to, event->from);
		break;
	case MT_MARK_SNAPSHOT:
		if (rebuild->segment_open && rebuild->ops->runs_on(rebuild, event))
			rebuild->snapshot = number;
		else
			mt_rebuild_close_segment(rebuild, number);
		break;
	case MT_MARK_EXIT:
		mt_rebuild_instant(rebuild, MT_INSTANT_EXIT, 0, event->to, event->from);
		rebuild->is_over = true;
		break;
	case MT_MARK_THROTTLE:
		mt_rebuild_instant(rebuild, MT_INSTANT_THROTTLE, 0, 0, event->from);
		break;
	case MT_MARK_EXEC:
		mt_rebuild_instant(rebuild, MT_INSTANT_EXEC, 0, event->to, event->from);
		rebuild->is_over = true;
		mt_rebuild_close_segment(rebuild, 0);
		break;
	}
}

void mt_rebuild_gap(struct mt_rebuild *rebuild, uint32_t cause, uint64_t bytes, uint64_t begin_ns,
		    bool is_more)
{
	if (!is_more) {
		rebuild->gap_begin_ns = begin_ns;
		rebuild->gap_cause = cause;
		rebuild->gap_bytes = 0;
	}
	mt_rebuild_open_segment(rebuild);
	rebuild->gap_bytes += bytes;
	mt_segment_log_instant(&rebuild->log, &(struct mt_instant){.time_ns = rebuild->gap_begin_ns,
								   .kind = MT_INSTANT_GAP,
								   .detail = cause,
								   .value = bytes});
}
