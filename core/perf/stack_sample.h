/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of stacks: what `perf record -g`, `--call-graph dwarf` and `--call-graph lbr` recorded of
 * where a thread stood.  Source: perf_event_open(2), PERF_RECORD_SAMPLE.
 *
 * The sideband has them with their times and threads, in order; what they say of the stack is read
 * from the file, one at a time. */
#ifndef MT_PERF_STACK_SAMPLE_H
#define MT_PERF_STACK_SAMPLE_H

#include "perf/recording.h"

#include <string.h>

/* In a sample: 64 bits each, not aligned. */
struct mt_sample_words {
	const uint8_t *at;
	uint64_t count;
};

static inline uint64_t mt_sample_word(const struct mt_sample_words *words, uint64_t index)
{
	uint64_t word;

	memcpy(&word, words->at + index * sizeof(word), sizeof(word));
	return word;
}

struct mt_stack_sample {
	/* PERF_SAMPLE_CALLCHAIN: addresses, innermost first, among them PERF_CONTEXT_…. */
	struct mt_sample_words chain;
	/* PERF_SAMPLE_BRANCH_STACK, the latest first; `count` of three words: from, to, flags. */
	struct mt_sample_words branches;
	bool branches_are_calls; /* that have not returned: PERF_SAMPLE_BRANCH_CALL_STACK */
	/* PERF_SAMPLE_REGS_USER: of each bit in the mask one word, the lowest bit's first. */
	uint64_t registers_abi; /* PERF_SAMPLE_REGS_ABI_… */
	uint64_t registers_mask;
	struct mt_sample_words registers;
	/* PERF_SAMPLE_STACK_USER: the memory from the stack pointer on. */
	const uint8_t *memory;
	uint64_t memory_size;
};

#define MT_STACK_SAMPLE_BYTES 65536

/* It has samples of stacks, and no trace of calls. */
bool mt_recording_is_of_samples(const struct mt_recording *recording);
/* Some event of it samples stacks, also when there are none. */
bool mt_recording_was_sampled(const struct mt_recording *recording);
/* Its samples are of threads that were stopped by us: they stand for no time. */
bool mt_recording_event_is_stop(const struct mt_recording *recording, uint32_t index);
/* How much time the event was to let pass from sample to sample; 0: it does not count time. */
uint64_t mt_recording_event_period_ns(const struct mt_recording *recording, uint32_t index);
/* Of a RECORD with `sample.stack.size`.  What is in OUT is lent by BUFFER and by the recording.
 * Errors: SYSTEM; FORMAT (the file was changed while it was read). */
struct mt_error *mt_stack_sample_read(struct mt_recording *recording,
				      const struct mt_sideband *record,
				      uint8_t buffer[MT_STACK_SAMPLE_BYTES],
				      struct mt_stack_sample *out);

#endif
