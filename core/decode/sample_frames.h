/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what a sample recorded of a stack to its frames: the kernel's by the chain of return
 * addresses, the program's by whichever was recorded of
 *	the memory of its stack and its registers	--call-graph dwarf
 *	calls that the processor kept			--call-graph lbr
 *	a chain of return addresses			--call-graph fp
 * or, without any of these, the one at the sample's address. */
#ifndef MT_DECODE_SAMPLE_FRAMES_H
#define MT_DECODE_SAMPLE_FRAMES_H

#include "base/array.h"
#include "perf/stack_sample.h"
#include "space/space.h"

struct mt_sample_frame {
	uint64_t inside; /* an address within the instruction at which it stands */
	/* Where a call of it returns to; 0: `inside` is the address of the call, or no call is
	 * known. */
	uint64_t returns_to;
};

typedef MT_ARRAY(struct mt_sample_frame) mt_sample_frames;

/* Puts the frames into FRAMES, innermost first; there is one at least.  SPACE is the process's.
 * Errors: NO_MEMORY. */
struct mt_error *mt_sample_frames_read(const struct mt_sideband *record,
				       const struct mt_stack_sample *sample, struct mt_space *space,
				       mt_sample_frames *frames);

#endif
