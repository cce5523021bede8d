/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event is a word: its place, that is what is called from where or returns; how much later it is
 * than the one before, and what its stack pointer differs by.  What has no room in the word follows
 * it as a word of its own, and so does a place that is new.  Nothing in the common case has to be
 * looked at bit by bit, where each would be a branch that nothing predicts. */
#include "perf/call_batch.h"

#include <string.h>

enum form {
	SHORT, /* of a place that is known, soon and near by */
	LONG,  /* the time's difference, and the stack pointer, follow in 64 bits each */
	NEW, /* and the address, and the word that goes with it, of a place which is next by number
	      */
	FORM_MASK = 3,
};

/* The word's fields, above the form. */
enum {
	PLACE_SHIFT = 2,
	TIME_SHIFT = PLACE_SHIFT + MT_CALL_BATCH_PLACES_BITS, /* NEW: enum mt_perf_call */
	TIME_BITS = 9,
	STACK_SHIFT = TIME_SHIFT + TIME_BITS, /* the rest, with a sign, in units: */
	STACK_UNIT = 8,
	STACK_FAR = STACK_UNIT << (31 - STACK_SHIFT),
};

_Static_assert(sizeof(struct mt_event) ==
		   offsetof(struct mt_event, to) + sizeof(struct mt_call_place),
	       "a place is not an event's second half");

enum mt_perf_call mt_perf_call_of(const struct mt_event *event)
{
	static const uint8_t calls[] = {
	    [0] = MT_PERF_CALL,
	    [MT_EVENT_LEAVE - MT_EVENT_ENTRY] = MT_PERF_RETURN,
	    [MT_EVENT_FRAME - MT_EVENT_ENTRY] = MT_PERF_FRAME,
	    [MT_EVENT_AGAIN - MT_EVENT_ENTRY] = MT_PERF_AGAIN,
	    [MT_EVENT_VALUE - MT_EVENT_ENTRY] = MT_PERF_VALUE,
	};
	const unsigned kind = event->kind - MT_EVENT_ENTRY;
	const bool may_be_estimated = kind <= MT_EVENT_LEAVE - MT_EVENT_ENTRY;

	return calls[kind < sizeof(calls) ? kind : MT_EVENT_FRAME - MT_EVENT_ENTRY] +
	       (may_be_estimated & (event->flags & MT_EVENT_TIME_IS_ESTIMATE));
}

static struct mt_call_place place_of(const struct mt_event *event)
{
	struct mt_call_place place;

	memcpy(&place, &event->to, sizeof(place));
	return place;
}

static inline bool is_at(const struct mt_call_packer *packer, unsigned index,
			 struct mt_call_place place)
{
	return index < packer->defined && packer->places[index].to == place.to &&
	       packer->places[index].rest == place.rest;
}

/* Returns the place's number, if it has one; else it has none below MT_CALL_BATCH_PLACES.  A slot
 * is believed only where the place that it leads to is the right one, so none is ever cleared. */
static unsigned find_place(struct mt_call_packer *packer, struct mt_call_place place)
{
	const uint64_t mixed = (place.to ^ place.rest * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
	uint16_t *slot = &packer->slots[mixed >> (64 - MT_CALL_BATCH_SLOTS_BITS)];
	uint16_t *other = &packer->slots[(slot - packer->slots) ^ 1];

	if (__builtin_expect(is_at(packer, *slot, place), 1))
		return *slot;
	if (is_at(packer, *other, place))
		return *other;
	*other = *slot;
	*slot = (uint16_t)(packer->defined % MT_CALL_BATCH_PLACES);
	return MT_CALL_BATCH_PLACES;
}

static uint8_t *put_word(uint8_t *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
	return at + sizeof(word);
}

static uint8_t *put_form(uint8_t *at, enum form form, unsigned place, uint64_t time,
			 uint64_t distance)
{
	const uint32_t word = (uint32_t)form | place << PLACE_SHIFT | (uint32_t)time << TIME_SHIFT |
			      (uint32_t)(distance / STACK_UNIT) << STACK_SHIFT;

	memcpy(at, &word, sizeof(word));
	return at + sizeof(word);
}

/* An event that does not fit into a word. */
static uint8_t *put_long(struct mt_call_packer *packer, uint8_t *at, const struct mt_event *event,
			 unsigned place, uint64_t time)
{
	if (place < MT_CALL_BATCH_PLACES) {
		at = put_word(put_form(at, LONG, place, 0, 0), time);
		return put_word(at, event->from);
	}
	place = packer->defined++ % MT_CALL_BATCH_PLACES;
	packer->places[place] = place_of(event);
	at = put_word(put_form(at, NEW, place, mt_perf_call_of(event), 0), time);
	at = put_word(put_word(at, event->from), event->to);
	return put_word(at, mt_perf_call_weight(event));
}

size_t mt_call_batch_pack(struct mt_call_packer *packer, uint8_t *bytes,
			  const struct mt_event *events, size_t count)
{
	struct mt_call_batch head = {
	    .header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER},
	    .ip = events[0].to,
	    .time = events[0].time_ns,
	    .addr = events[0].from,
	};
	uint8_t *const first = bytes + sizeof(head), *const full = bytes + MT_CALL_BATCH_MAX -
								   MT_CALL_BATCH_EVENT_MOST - 8;
	uint64_t time_ns = head.time, from = head.addr;
	uint8_t *at = first;
	size_t packed = 0;

	packer->defined = 0;
	for (; packed < count && at < full; packed++) {
		const struct mt_event *event = &events[packed];
		const unsigned place = find_place(packer, place_of(event));
		const uint64_t time = event->time_ns - time_ns, distance = event->from - from;
		const bool fits = place < MT_CALL_BATCH_PLACES && time < 1u << TIME_BITS &&
				  distance + STACK_FAR < 2 * STACK_FAR &&
				  distance % STACK_UNIT == 0;

		if (__builtin_expect(fits, 1))
			at = put_form(at, SHORT, place, time, distance);
		else
			at = put_long(packer, at, event, place, time);
		time_ns = event->time_ns;
		from = event->from;
	}
	while ((size_t)(at - bytes) % MT_PERF_ALIGNMENT)
		*at++ = 0;
	head.header.size = (uint16_t)(at - bytes);
	head.raw_size = (uint32_t)(at - (first - sizeof(head.count)));
	head.count = (uint32_t)packed;
	memcpy(bytes, &head, sizeof(head));
	return packed;
}

uint32_t mt_call_batch_count(const uint8_t *record, size_t size)
{
	struct mt_call_batch head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, record, sizeof(head));
	return head.header.size == size &&
		       head.raw_size == size - offsetof(struct mt_call_batch, count) &&
		       head.count <= (size - sizeof(head)) / MT_CALL_BATCH_EVENT_LEAST
		   ? head.count
		   : 0;
}

bool mt_call_unpacker_init(struct mt_call_unpacker *unpacker, const uint8_t *record, size_t size)
{
	struct mt_call_batch head;

	unpacker->left = mt_call_batch_count(record, size);
	if (!unpacker->left)
		return false;
	memcpy(&head, record, sizeof(head));
	unpacker->at = record + sizeof(head);
	unpacker->end = record + size;
	unpacker->time_ns = head.time;
	unpacker->from = head.addr;
	unpacker->defined = 0;
	return true;
}

static uint64_t get_word(const uint8_t **at)
{
	uint64_t word;

	memcpy(&word, *at, sizeof(word));
	*at += sizeof(word);
	return word;
}

/* What is AT behind the WORD of an event that is not SHORT.  False: there is no such event. */
static bool take_long(struct mt_call_unpacker *unpacker, uint32_t word, const uint8_t **at,
		      uint64_t *time_ns, uint64_t *from)
{
	const enum form form = word & FORM_MASK;
	const unsigned call = word >> TIME_SHIFT & ((1 << TIME_BITS) - 1);

	*time_ns += get_word(at);
	*from = get_word(at);
	if (form == LONG)
		return true;
	if (form != NEW || call >= MT_PERF_CALL_BATCH)
		return false;
	const uint64_t to = get_word(at), weight = get_word(at);
	const struct mt_event event = mt_perf_call_event(call, 0, 0, to, weight);

	unpacker->places[unpacker->defined++ % MT_CALL_BATCH_PLACES] = place_of(&event);
	return true;
}

size_t mt_call_unpacker_next(struct mt_call_unpacker *unpacker, struct mt_event *out,
			     size_t capacity)
{
	const uint8_t *at = unpacker->at, *const end = unpacker->end;
	uint64_t time_ns = unpacker->time_ns, from = unpacker->from;
	size_t count = 0;

	if (capacity > unpacker->left)
		capacity = unpacker->left;
	for (; count < capacity && at < end; count++) {
		uint32_t word;

		memcpy(&word, at, sizeof(word));
		at += sizeof(word);
		const uint32_t place = word >> PLACE_SHIFT & (MT_CALL_BATCH_PLACES - 1);
		if (__builtin_expect((word & FORM_MASK) == SHORT, 1)) {
			time_ns += word >> TIME_SHIFT & ((1 << TIME_BITS) - 1);
			from += (uint64_t)((int64_t)((int32_t)word >> STACK_SHIFT) * STACK_UNIT);
		} else if (!take_long(unpacker, word, &at, &time_ns, &from)) {
			break;
		}
		if (at > end || place >= unpacker->defined)
			break;
		out[count].time_ns = time_ns;
		out[count].from = from;
		memcpy(&out[count].to, &unpacker->places[place], sizeof(struct mt_call_place));
	}
	unpacker->time_ns = time_ns;
	unpacker->from = from;
	unpacker->at = count < capacity ? end : at;
	unpacker->left -= (uint32_t)count;
	return count;
}
