/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An event is a tag of 16 bits, and four fields, each of as many bytes as the tag says: how much
 * later it is than the one before, what its stack pointer and its address differ by, and its word,
 * for an entry where the function returns to, which is near the address before.  A return has no
 * word, a value's address and word stand for themselves.  Lengths come from the tag, and not from
 * the bytes as in LEB128, lest each byte be a branch that nothing predicts. */
#include "perf/call_batch.h"

#include <string.h>

enum {
	CALL_BITS = 3,   /* enum mt_perf_call */
	LENGTH_BITS = 3, /* of each field */
	LENGTH_MASK = (1 << LENGTH_BITS) - 1,
};

enum field { TIME, FROM, TO, WEIGHT };

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

static const uint8_t length_bytes[] = {0, 1, 2, 3, 4, 5, 6, 8};

static inline unsigned length_of(uint64_t value)
{
	const unsigned bytes = value ? (71 - (unsigned)__builtin_clzll(value)) / 8 : 0;

	return bytes < LENGTH_MASK ? bytes : LENGTH_MASK;
}

/* Small numbers of either sign as small ones. */
static inline uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ -(difference >> 63);
}

static inline uint64_t unfold(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

static inline uint8_t *put(uint8_t *at, unsigned *tag, enum field field, uint64_t value)
{
	const unsigned length = length_of(value);

	*tag |= length << (CALL_BITS + field * LENGTH_BITS);
	memcpy(at, &value, sizeof(value));
	return at + length_bytes[length];
}

/* No word has no bytes; a difference of nothing has one. */
static inline uint8_t *put_weight(uint8_t *at, unsigned *tag, uint64_t weight, uint64_t near)
{
	const uint64_t difference = fold(weight - near);

	if (__builtin_expect(!difference && weight, 0)) {
		*tag |= 1u << (CALL_BITS + WEIGHT * LENGTH_BITS);
		*at = 0;
		return at + 1;
	}
	return put(at, tag, WEIGHT, weight ? difference : 0);
}

size_t mt_call_batch_pack(uint8_t *bytes, const struct mt_event *events, size_t count)
{
	struct mt_call_batch head = {
	    .header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER},
	    .ip = events[0].to,
	    .time = events[0].time_ns,
	    .addr = events[0].from,
	};
	uint8_t *const first = bytes + sizeof(head), *const full = bytes + MT_CALL_BATCH_MAX -
								   MT_CALL_BATCH_EVENT_MOST - 8;
	uint64_t time_ns = head.time, from = head.addr, to = head.ip;
	uint8_t *at = first;
	size_t packed = 0;

	for (; packed < count && at < full; packed++) {
		const struct mt_event *event = &events[packed];
		const bool is_value = event->kind == MT_EVENT_VALUE;
		unsigned tag = mt_perf_call_of(event);
		uint8_t *const start = at;

		at = put(at + sizeof(uint16_t), &tag, TIME, event->time_ns - time_ns);
		at = put(at, &tag, FROM, fold(event->from - from));
		at = put(at, &tag, TO, is_value ? event->to : fold(event->to - to));
		at = put_weight(at, &tag, mt_perf_call_weight(event), is_value ? 0 : to);
		memcpy(start, &(uint16_t){(uint16_t)tag}, sizeof(uint16_t));
		time_ns = event->time_ns;
		from = event->from;
		to = is_value ? to : event->to;
	}
	while ((size_t)(at - bytes) % MT_PERF_ALIGNMENT)
		*at++ = 0;
	head.header.size = (uint16_t)(at - bytes);
	head.raw_size = (uint32_t)(at - (first - sizeof(head.count)));
	head.count = (uint32_t)packed;
	memcpy(bytes, &head, sizeof(head));
	return packed;
}

bool mt_call_unpacker_init(struct mt_call_unpacker *unpacker, const uint8_t *record, size_t size)
{
	struct mt_call_batch head;

	if (size < sizeof(head))
		return false;
	memcpy(&head, record, sizeof(head));
	*unpacker = (struct mt_call_unpacker){
	    .at = record + sizeof(head),
	    .end = record + size,
	    .left = head.count,
	    .time_ns = head.time,
	    .from = head.addr,
	    .to = head.ip,
	};
	return head.header.size == size &&
	       head.raw_size == size - offsetof(struct mt_call_batch, count) && head.count &&
	       head.count <= (size - sizeof(head)) / MT_CALL_BATCH_EVENT_LEAST;
}

/* By all of a tag's lengths at once: where the next event is must not wait for four additions. */
#define PLUS_LENGTHS(sum)                                                                          \
	(sum) + 0, (sum) + 1, (sum) + 2, (sum) + 3, (sum) + 4, (sum) + 5, (sum) + 6, (sum) + 8
#define PLUS_2(sum)                                                                                \
	PLUS_LENGTHS((sum) + 0), PLUS_LENGTHS((sum) + 1), PLUS_LENGTHS((sum) + 2),                 \
	    PLUS_LENGTHS((sum) + 3), PLUS_LENGTHS((sum) + 4), PLUS_LENGTHS((sum) + 5),             \
	    PLUS_LENGTHS((sum) + 6), PLUS_LENGTHS((sum) + 8)
#define PLUS_3(sum)                                                                                \
	PLUS_2((sum) + 0), PLUS_2((sum) + 1), PLUS_2((sum) + 2), PLUS_2((sum) + 3),                \
	    PLUS_2((sum) + 4), PLUS_2((sum) + 5), PLUS_2((sum) + 6), PLUS_2((sum) + 8)
static const uint8_t event_bytes[] = {PLUS_3(2), PLUS_3(3), PLUS_3(4), PLUS_3(5),
				      PLUS_3(6), PLUS_3(7), PLUS_3(8), PLUS_3(10)};

static inline uint64_t get(const uint8_t **at, unsigned tag, enum field field)
{
	static const uint64_t masks[] = {0,          0xff,         0xffff,         0xffffff,
					 0xffffffff, 0xffffffffff, 0xffffffffffff, UINT64_MAX};
	const unsigned length = tag >> (CALL_BITS + field * LENGTH_BITS) & LENGTH_MASK;
	uint64_t value;

	memcpy(&value, *at, sizeof(value));
	*at += length_bytes[length];
	return value & masks[length];
}

size_t mt_call_unpacker_next(struct mt_call_unpacker *unpacker, struct mt_event *out,
			     size_t capacity)
{
	uint64_t time_ns = unpacker->time_ns, from = unpacker->from, to = unpacker->to;
	const uint8_t *at = unpacker->at;
	size_t count = 0;

	if (capacity > unpacker->left)
		capacity = unpacker->left;
	for (; count < capacity && at < unpacker->end; count++) {
		uint16_t tag;

		memcpy(&tag, at, sizeof(tag));
		const uint8_t *field = at + sizeof(tag);
		at += event_bytes[(tag >> CALL_BITS) % sizeof(event_bytes)];
		const enum mt_perf_call call = tag & ((1 << CALL_BITS) - 1);
		time_ns += get(&field, tag, TIME);
		from += unfold(get(&field, tag, FROM));
		const uint64_t address = get(&field, tag, TO);
		uint64_t weight = get(&field, tag, WEIGHT);
		if (at > unpacker->end || call >= MT_PERF_CALL_BATCH) {
			at = unpacker->end;
			break;
		}
		if (call == MT_PERF_VALUE) {
			weight = unfold(weight);
			out[count] = mt_perf_call_event(call, time_ns, from, address, weight);
			continue;
		}
		const bool has_weight = tag >> (CALL_BITS + WEIGHT * LENGTH_BITS) & LENGTH_MASK;
		weight = has_weight ? to + unfold(weight) : 0;
		to += unfold(address);
		out[count] = mt_perf_call_event(call, time_ns, from, to, weight);
	}
	unpacker->time_ns = time_ns;
	unpacker->from = from;
	unpacker->to = to;
	unpacker->at = at;
	unpacker->left -= (uint32_t)count;
	return count;
}
