/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Encodes what an instruction did, as a processor with Intel PT would have.
 *
 * Tracing is switched on late, by the first instruction that is known to have run: what looks like
 * the next one when a thread goes on may be swept away by a signal or a restarted system call. */
#include "engine/step/private.h"

#define VSYSCALL_PAGE 0xffffffffff600000ull

static void tell(struct mt_step_engine *engine, const struct mt_step_thread *thread,
		 enum mt_seen_kind kind, uint64_t from, uint64_t to)
{
	struct mt_seen seen = {.lwp = thread->lwp, .kind = kind, .from = from, .to = to};

	if (engine->options.seen)
		engine->options.seen(engine->options.seen_context, &seen);
}

static uint64_t return_address(const struct mt_step_thread *thread)
{
	return thread->pc + thread->insn.length;
}

/* Code in the vsyscall page is the kernel's, and emulated: it is as if the call were done when its
 * first instruction is met.  The return address lies on the stack. */
static uint64_t behind_vsyscall(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	uint64_t address = thread->pc;

	if ((thread->pc & ~0xfffull) == VSYSCALL_PAGE)
		engine->target->ops->read(engine->target, thread->pid, thread->registers.rsp,
					  &address, sizeof(address));
	return address;
}

void mt_step_fetch(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	if (thread->pc >> 63)
		thread->pc = behind_vsyscall(engine, thread);
	size_t size = engine->target->ops->read(engine->target, thread->pid, thread->pc,
						thread->code, sizeof(thread->code));
	if (!size || mt_insn_decode(thread->code, size, thread->pc, &thread->insn))
		thread->insn = (struct mt_insn){.class = MT_INSN_OTHER};
}

void mt_step_began(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	if (mt_pt_encoder_is_tracing(thread->encoder))
		return;
	mt_pt_encode_start(thread->encoder, thread->resumed_tsc, thread->pc);
	tell(engine, thread, MT_SEEN_START, 0, thread->pc);
}

void mt_step_stopped_short(struct mt_step_engine *engine, struct mt_step_thread *thread,
			   uint64_t tsc)
{
	if (!mt_pt_encoder_is_tracing(thread->encoder))
		return;
	mt_pt_encode_stop(thread->encoder, tsc, thread->pc);
	tell(engine, thread, MT_SEEN_STOP, thread->pc, 0);
}

void mt_step_entered_kernel(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	if (thread->told)
		return;
	mt_step_began(engine, thread);
	mt_pt_encode_syscall(thread->encoder, thread->resumed_tsc);
	tell(engine, thread, MT_SEEN_SYSCALL, thread->pc, 0);
	thread->told = true;
}

static void ran_branch(struct mt_step_engine *engine, struct mt_step_thread *thread, uint64_t tsc,
		       uint64_t next)
{
	bool taken = next == thread->insn.target;

	mt_pt_encode_branch(thread->encoder, tsc, taken, next);
	if (taken)
		tell(engine, thread, MT_SEEN_JUMP, thread->pc, next);
}

/* True if it can have gone from pc to next: direct branches go to their target, the rest on. */
static bool is_possible(const struct mt_step_thread *thread, uint64_t next)
{
	switch (thread->insn.class) {
	case MT_INSN_CALL:
	case MT_INSN_JUMP:
		return next == thread->insn.target;
	case MT_INSN_BRANCH:
		return next == thread->insn.target || next == return_address(thread);
	case MT_INSN_OTHER:
		return next == return_address(thread);
	default:
		return true;
	}
}

static void encode_ran(struct mt_step_engine *engine, struct mt_step_thread *thread, uint64_t tsc,
		       uint64_t next)
{
	switch (thread->insn.class) {
	case MT_INSN_BRANCH:
		ran_branch(engine, thread, tsc, next);
		break;
	case MT_INSN_CALL:
		mt_pt_encode_from(thread->encoder, tsc, thread->pc, next);
		mt_pt_encode_call(thread->encoder, tsc, return_address(thread), next);
		tell(engine, thread, MT_SEEN_CALL, thread->pc, next);
		break;
	case MT_INSN_CALL_INDIRECT:
		mt_pt_encode_call_indirect(thread->encoder, tsc, return_address(thread), next);
		tell(engine, thread, MT_SEEN_CALL, thread->pc, next);
		break;
	case MT_INSN_JUMP:
		mt_pt_encode_from(thread->encoder, tsc, thread->pc, next);
		mt_pt_encode_jump(thread->encoder, tsc, next);
		tell(engine, thread, MT_SEEN_JUMP, thread->pc, next);
		break;
	case MT_INSN_JUMP_INDIRECT:
		mt_pt_encode_jump_indirect(thread->encoder, tsc, next);
		tell(engine, thread, MT_SEEN_JUMP, thread->pc, next);
		break;
	case MT_INSN_RETURN:
		mt_pt_encode_return(thread->encoder, tsc, next);
		tell(engine, thread, MT_SEEN_RETURN, thread->pc, next);
		break;
	default:
		break;
	}
}

void mt_step_ran(struct mt_step_engine *engine, struct mt_step_thread *thread, uint64_t tsc,
		 uint64_t next)
{
	bool is_vsyscall = next >> 63 != 0;

	if (thread->insn.class == MT_INSN_SYSCALL || thread->insn.class == MT_INSN_FAR) {
		mt_step_entered_kernel(engine, thread);
		return;
	}
	mt_step_began(engine, thread);
	if (next == thread->pc && thread->insn.class == MT_INSN_OTHER)
		return; /* a round of a repeated string instruction */
	if (is_vsyscall || !is_possible(thread, next))
		mt_step_stopped_short(engine, thread, tsc); /* nothing a processor does by itself */
	else
		encode_ran(engine, thread, tsc, next);
}
