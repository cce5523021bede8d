/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a debugger sees of the program, and its own breakpoints in it. */
#ifndef MT_ENGINE_CALLS_DEBUGGERS_H
#define MT_ENGINE_CALLS_DEBUGGERS_H

#include "engine/calls/state/types.h"

/* hide.c */
struct mt_error *mt_calls_hide(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* The text of a forked child, whose thread stands in no trampoline. */
struct mt_error *mt_calls_clean(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				pid_t child);
struct mt_error *mt_calls_show(struct mt_calls_engine *engine, struct mt_calls_space *space,
			       const struct mt_engine_alone *alone);

/* give_way.c: see give_way() in engine/engine.h. */
struct mt_error *mt_calls_give_way(struct mt_engine *base, pid_t pid, uint64_t address);

/* step_through.c: see step_through() there. */
struct mt_error *mt_calls_step_through(struct mt_engine *base, pid_t lwp);

/* gate.c */
extern const struct mt_engine_gate_ops mt_calls_gates;

/* missed.c */
/* See missed() in engine/engine.h. */
const uint64_t *mt_calls_missed(struct mt_engine *base, pid_t pid, size_t *count);
struct mt_error *mt_calls_record_missed(struct mt_engine *base, pid_t lwp);
/* Whether it stands at the entry yet whose call was recorded so. */
bool mt_calls_has_entered(const struct mt_calls_thread *thread,
			  const struct user_regs_struct *registers);
/* As mt_calls_leave_trampoline(), in a text that is clean; past a breakpoint that it was let over.
 */
struct mt_error *mt_calls_leave_covered(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread);

#endif
