/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the decoder: pieces of trace from an array, one image, all events in an array. */
#ifndef MT_TESTS_UNIT_PT_DECODE_H
#define MT_TESTS_UNIT_PT_DECODE_H

#include "unit.h"

#include "base/array.h"
#include "pt/decoder.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct pt_pieces {
	struct mt_pt_piece items[4096];
	size_t count;
	size_t next;
	struct mt_pt_image *image;
	/* The lent bytes live in a block of their own, freed as the contract allows. */
	uint8_t *lent;
};

static inline int pt_next_piece(void *context, struct mt_pt_piece *piece)
{
	struct pt_pieces *pieces = context;

	free(pieces->lent);
	pieces->lent = NULL;
	if (pieces->next == pieces->count)
		return 0;
	*piece = pieces->items[pieces->next++];
	pieces->lent = malloc(piece->size + 1);
	if (piece->size)
		memcpy(pieces->lent, piece->bytes, piece->size);
	piece->bytes = pieces->lent;
	return 1;
}

static inline struct mt_pt_image *pt_image_at(void *context, uint64_t time_ns, void **places)
{
	(void)places;
	(void)time_ns;
	return ((struct pt_pieces *)context)->image;
}

/* A place is as much as is aligned to this. */
#define PT_PLACE_BYTES 256

static inline bool pt_place_at(void *context, void *places, uint64_t address, uint64_t *start,
			       uint64_t *end)
{
	(void)places;
	(void)context;
	*start = address & ~(uint64_t)(PT_PLACE_BYTES - 1);
	*end = *start + PT_PLACE_BYTES;
	return address >> 63 == 0;
}

struct pt_events {
	MT_ARRAY(struct mt_event) events;
	struct mt_pt_decoder_stats stats;
};

static inline void pt_events_free(struct pt_events *events)
{
	mt_array_deinit(&events->events);
}

/* Decode all; asserts what is true of every decode. */
static inline struct pt_events pt_decode_once(struct mt_pt_decoder_config config,
					      struct pt_pieces *pieces, size_t batch,
					      bool with_places)
{
	struct pt_events out = {0};
	struct mt_pt_decoder *decoder;
	struct mt_event *events = NULL;
	size_t count, gaps = 0;
	uint64_t time_ns = 0;

	config.batch_events = batch;
	config.source = (struct mt_pt_source){pt_next_piece, pt_image_at,
					      with_places ? pt_place_at : NULL, NULL, pieces};
	assert_null(mt_pt_decoder_create(&config, &decoder));
	do {
		assert_null(mt_pt_decoder_next(decoder, &events, &count));
		assert_true(count <= batch);
		for (size_t i = 0; i < count; i++) {
			assert_true(events[i].time_ns >= time_ns);
			time_ns = events[i].time_ns;
			gaps += events[i].kind == MT_EVENT_GAP;
			assert_int_equal(mt_array_push(&out.events, events[i]), 0);
		}
	} while (count);
	out.stats = mt_pt_decoder_stats(decoder);
	assert_int_equal(out.stats.events, out.events.count);
	assert_int_equal(out.stats.gaps, gaps);
	mt_pt_decoder_destroy(decoder);
	free(pieces->lent);
	pieces->lent = NULL;
	return out;
}

static inline void pt_print(const struct pt_events *events, size_t from, size_t to);

static inline void pt_assert_same(const struct pt_events *events, const struct pt_events *others)
{
	size_t same = 0, least = events->events.count < others->events.count ? events->events.count
									     : others->events.count;

	while (same < least && !memcmp(&events->events.items[same], &others->events.items[same],
				       sizeof(struct mt_event)))
		same++;
	if (same == events->events.count && same == others->events.count)
		return;
	print_message("ours:\n");
	pt_print(events, same > 3 ? same - 3 : 0, same + 5);
	print_message("by others:\n");
	pt_print(others, same > 3 ? same - 3 : 0, same + 5);
	fail_msg("they differ from event %zu on", same);
}

static inline bool pt_is_in(uint64_t place, uint64_t address)
{
	return place && address - place < PT_PLACE_BYTES;
}

/* FEW are the events without jumps that did not have to be told. */
static inline void pt_assert_skips(const struct pt_events *all, const struct pt_events *few)
{
	const struct mt_event *skipped = NULL, *next = few->events.items;
	const struct mt_event *end = next + few->events.count;
	bool unsettled = false;
	uint64_t place = 0, unused;

	mt_array_each (event, &all->events) {
		bool stays = event->kind == MT_EVENT_JUMP && pt_is_in(place, event->from) &&
			     pt_is_in(place, event->to);

		if (next == end || memcmp(next, event, sizeof(*event)) != 0) {
			bool settles = unsettled && !(event->flags & MT_EVENT_TIME_IS_ESTIMATE);

			if (!stays || settles)
				pt_print(all, (size_t)(event - all->events.items), SIZE_MAX);
			assert_true(stays && !settles);
			/* Rounds of an endless loop are all the same. */
			if (next == few->events.items || memcmp(next - 1, event, sizeof(*event)))
				skipped = event;
			continue;
		}
		/* Control ran on from the last jump to where it leaves the place, or is lost. */
		if (skipped && (event->kind == MT_EVENT_GAP || !pt_is_in(place, event->from)))
			pt_print(all, (size_t)(skipped - all->events.items), SIZE_MAX);
		assert_false(skipped &&
			     (event->kind == MT_EVENT_GAP || !pt_is_in(place, event->from)));
		skipped = NULL;
		next++;
		unsettled = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
		if (event->kind != MT_EVENT_MARK &&
		    !pt_place_at(NULL, NULL, event->to, &place, &unused))
			place = 0;
	}
	assert_ptr_equal(next, end);
}

/* The same with workers, so that nobody knows what lies before a window. */
static inline void pt_assert_ahead(struct mt_pt_decoder_config config, struct pt_pieces *pieces,
				   size_t batch, const struct pt_events *wanted, unsigned workers)
{
	assert_null(mt_pool_create(workers, 2 * workers, &config.pool));
	config.sharers = 1 + workers % 2;
	struct pt_events ahead = pt_decode_once(config, pieces, batch, true);

	mt_pool_destroy(config.pool);
	pt_assert_same(wanted, &ahead);
	assert_memory_equal(&wanted->stats, &ahead.stats, sizeof(ahead.stats));
	pt_events_free(&ahead);
}

/* The same; and libipt sees the same in the packets, places leave out no more than they may, and
 * WORKERS change nothing. */
static inline struct pt_events pt_decode_windows(struct mt_pt_decoder_config config,
						 struct pt_pieces *pieces, size_t batch,
						 unsigned workers)
{
	size_t first = pieces->next;

	config.by_libipt = true;
	struct pt_events others = pt_decode_once(config, pieces, batch, false);

	pieces->next = first;
	config.by_libipt = false;
	struct pt_events events = pt_decode_once(config, pieces, batch, false);

	pieces->next = first;
	struct pt_events few = pt_decode_once(config, pieces, batch, true);

	pt_assert_same(&events, &others);
	assert_memory_equal(&events.stats, &others.stats, sizeof(events.stats));
	pt_assert_skips(&events, &few);
	pieces->next = first;
	if (workers)
		pt_assert_ahead(config, pieces, batch, &few, workers);
	pt_events_free(&others);
	pt_events_free(&few);
	return events;
}

/* Also cut at each PSB, or at many, another way each time; where a test decodes often, at times. */
static inline struct pt_events pt_decode(struct mt_pt_decoder_config config,
					 struct pt_pieces *pieces, size_t batch)
{
	static const unsigned workers[] = {1, 2, 5, 2};
	static unsigned calls;
	size_t first = pieces->next;

	calls++;
	if (calls < 16 || calls % 64 == 0) {
		config.window_bytes = calls / 4 % 2 ? 700 : 1;
		struct pt_events cut = pt_decode_windows(
		    config, pieces, batch, workers[calls % 16 ? calls % 4 : calls / 64 % 4]);

		pieces->next = first;
		pt_events_free(&cut);
	}
	config.window_bytes = 0;
	return pt_decode_windows(config, pieces, batch, calls < 16 ? workers[calls % 4] : 0);
}

static inline size_t pt_count(const struct pt_events *events, uint8_t kind)
{
	size_t count = 0;

	mt_array_each (event, &events->events)
		count += event->kind == kind;
	return count;
}

static inline const char *pt_kind_name(uint8_t kind)
{
	static const char *const names[] = {
	    [MT_EVENT_CALL] = "call",        [MT_EVENT_RETURN] = "return",
	    [MT_EVENT_JUMP] = "jump",        [MT_EVENT_SYSCALL] = "syscall",
	    [MT_EVENT_SYSRET] = "sysret",    [MT_EVENT_INTERRUPT] = "interrupt",
	    [MT_EVENT_IRET] = "iret",        [MT_EVENT_TRACE_START] = "start",
	    [MT_EVENT_TRACE_END] = "end",    [MT_EVENT_TX_BEGIN] = "tx begin",
	    [MT_EVENT_TX_COMMIT] = "tx end", [MT_EVENT_TX_ABORT] = "tx abort",
	    [MT_EVENT_GAP] = "gap",          [MT_EVENT_SIGNAL] = "signal",
	    [MT_EVENT_MARK] = "mark",
	};

	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "?";
}

static inline void pt_print(const struct pt_events *events, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < events->events.count; i++) {
		const struct mt_event *event = &events->events.items[i];

		print_message("%4zu %12lu%s %-9s %lx -> %lx (%u)\n", i,
			      (unsigned long)event->time_ns, event->flags ? "~" : " ",
			      pt_kind_name(event->kind), (unsigned long)event->from,
			      (unsigned long)event->to, event->detail);
	}
}

/* A whole file; *size 0 and NULL when it is not there. */
static inline uint8_t *pt_read_file(const char *path, size_t *size)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*size = 0;
	if (fd < 0)
		return NULL;
	assert_int_equal(fstat(fd, &status), 0);
	uint8_t *bytes = malloc((size_t)status.st_size + 1);
	assert_int_equal(read(fd, bytes, (size_t)status.st_size), status.st_size);
	close(fd);
	*size = (size_t)status.st_size;
	return bytes;
}

#endif
