/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the step engine: core/engine/step/. */
#ifndef MT_ENGINE_STEP_PRIVATE_H
#define MT_ENGINE_STEP_PRIVATE_H

#include "engine/engine.h"
#include "process/pin.h"
#include "pt/encoder.h"
#include "x86/insn.h"

#include <uthash.h>

struct mt_step_thread {
	pid_t pid, lwp;
	uint32_t idx; /* of its AUX area */
	struct mt_pt_encoder *encoder;
	struct mt_pin_thread pin;
	uint64_t stream_offset; /* in its AUX area: what was put into the recording, or lost */

	struct user_regs_struct registers; /* of the last stop */
	/* The instruction that runs next, or runs now. */
	uint64_t pc;
	struct mt_insn insn; /* length 0: no bytes there */
	uint8_t code[MT_INSN_MAX_BYTES];
	uint64_t resumed_tsc; /* when it began to run */

	bool in_kernel;  /* stopped within the system call: the instruction is not done yet */
	bool told;       /* the encoder knows of the system call that runs now */
	bool restarting; /* the system call before pc may be done again */
	UT_hash_handle hh;
};

struct mt_step_engine {
	struct mt_engine base;
	struct mt_target *target;
	struct mt_engine_options options;
	struct mt_pt_timing timing;
	struct mt_step_thread *threads;
	uint32_t next_idx;
	struct mt_pin pin;
};

/* encode.c: reports what happened to a thread to its encoder. */

/* Read the instruction at the thread's pc. */
void mt_step_fetch(struct mt_step_engine *engine, struct mt_step_thread *thread);
/* The instruction at pc ran, and next is the one after it. */
void mt_step_ran(struct mt_step_engine *engine, struct mt_step_thread *thread, uint64_t tsc,
		 uint64_t next);
/* The system call at pc was entered, whether it is done or not. */
void mt_step_entered_kernel(struct mt_step_engine *engine, struct mt_step_thread *thread);
/* The instruction at pc did not run: a signal, or the window's end. */
/* The instruction at pc is known to have been begun. */
void mt_step_began(struct mt_step_engine *engine, struct mt_step_thread *thread);
void mt_step_stopped_short(struct mt_step_engine *engine, struct mt_step_thread *thread,
			   uint64_t tsc);

/* affinity.c: ENTERED are the registers with which the system call was entered. */
struct mt_error *mt_step_affinity(struct mt_step_engine *engine, struct mt_step_thread *caller,
				  const struct user_regs_struct *entered);

/* timing.c: which time packets the stream has. */
struct mt_pt_timing mt_step_timing(const struct mt_time_conversion *conversion);

#endif
