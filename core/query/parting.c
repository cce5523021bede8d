/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/parting.h"

#define SAME   8u      /* calls that follow tell that it is the same again */
#define CALLS  12u     /* of the same caller are passed at most */
#define WITHIN 100000u /* calls is it looked for */

static bool is_same(struct mt_call_item a, struct mt_call_item b)
{
	return a.name == b.name && mt_call_depth(a) == mt_call_depth(b);
}

bool mt_parting_is_end(const struct mt_call_reader readers[2], const struct mt_parting *parting)
{
	return parting->at[0] == readers[0].thread->count &&
	       parting->at[1] == readers[1].thread->count;
}

struct mt_error *mt_parting_find(struct mt_call_reader readers[2], struct mt_parting *parting)
{
	struct mt_call_item items[2];

	parting->lost |= readers[0].thread->began_before || readers[1].thread->began_before;
	for (;
	     parting->at[0] < readers[0].thread->count && parting->at[1] < readers[1].thread->count;
	     parting->at[0]++, parting->at[1]++) {
		for (unsigned run = 0; run < 2; run++)
			mt_try(mt_call_reader_get(&readers[run], parting->at[run], &items[run]));
		parting->lost |= (items[0].depth | items[1].depth) & MT_CALL_LOST;
		if (!is_same(items[0], items[1]))
			return NULL;
	}
	return NULL;
}

/* Where the calls of a caller begin, from AT on: those at a depth, up to what lies outside of it.
 */
struct siblings {
	uint64_t at[CALLS + 1];
	unsigned count;
};

static struct mt_error *find_siblings(struct mt_call_reader *reader, uint64_t at, uint32_t depth,
				      struct siblings *out)
{
	const uint64_t count = reader->thread->count;
	const uint64_t end = count - at > WITHIN ? at + WITHIN : count;
	struct mt_call_item item;

	out->count = 0;
	for (; at < end && out->count <= CALLS; at++) {
		mt_try(mt_call_reader_get(reader, at, &item));
		if (mt_call_depth(item) <= depth)
			out->at[out->count++] = at;
		if (mt_call_depth(item) < depth)
			return NULL;
	}
	if (at == count && out->count <= CALLS)
		out->at[out->count++] = count;
	return NULL;
}

static struct mt_error *follow_same(struct mt_call_reader readers[2], uint64_t a, uint64_t b,
				    bool *same)
{
	struct mt_call_item items[2];

	*same = false;
	for (unsigned i = 0; i < SAME; i++, a++, b++) {
		if (a == readers[0].thread->count || b == readers[1].thread->count) {
			*same = a == readers[0].thread->count && b == readers[1].thread->count;
			return NULL;
		}
		mt_try(mt_call_reader_get(&readers[0], a, &items[0]));
		mt_try(mt_call_reader_get(&readers[1], b, &items[1]));
		if (!is_same(items[0], items[1]))
			return NULL;
	}
	*same = true;
	return NULL;
}

static struct mt_error *pass_caller(struct mt_call_reader *reader, uint32_t depth, uint64_t *at)
{
	struct mt_call_item item;

	for (; *at < reader->thread->count; ++*at) {
		mt_try(mt_call_reader_get(reader, *at, &item));
		if (mt_call_depth(item) < depth)
			return NULL;
	}
	return NULL;
}

struct mt_error *mt_parting_pass(struct mt_call_reader readers[2], struct mt_parting *parting)
{
	struct siblings siblings[2];
	struct mt_call_item item;
	uint32_t depth = UINT32_MAX;
	bool same = false;

	for (unsigned run = 0; run < 2; run++) {
		if (parting->at[run] == readers[run].thread->count)
			continue;
		mt_try(mt_call_reader_get(&readers[run], parting->at[run], &item));
		if (mt_call_depth(item) < depth)
			depth = mt_call_depth(item);
	}
	for (unsigned run = 0; run < 2; run++)
		mt_try(find_siblings(&readers[run], parting->at[run], depth, &siblings[run]));
	for (unsigned sum = 0; sum <= 2 * CALLS; sum++) {
		for (unsigned i = 0; i <= sum && i < siblings[0].count; i++) {
			if (sum - i >= siblings[1].count)
				continue;
			const uint64_t a = siblings[0].at[i], b = siblings[1].at[sum - i];

			mt_try(follow_same(readers, a, b, &same));
			if (!same)
				continue;
			parting->at[0] = a;
			parting->at[1] = b;
			return NULL;
		}
	}
	for (unsigned run = 0; run < 2; run++)
		mt_try(pass_caller(&readers[run], depth, &parting->at[run]));
	return NULL;
}
