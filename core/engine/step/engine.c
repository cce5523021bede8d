/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step engine: every thread goes an instruction at a time, and what the instruction did is
 * encoded as Intel PT.  Needs ptrace and nothing else; no byte of the program is changed.
 *
 * A system call that blocks is a step that takes long: other threads go on meanwhile.  A call that
 * is to be restarted stands at the instruction behind it with -ERESTART… in rax until no handler
 * turns up (kernel/signal.c). */
#include "engine/step/private.h"
#include "process/inject.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define PSB_PERIOD_BYTES 4096
#define SYSCALL_BYTES    2
#define PROT_EXEC_BIT    4
#define TRAP_FLAG_BYTE   1 /* of a pushed RFLAGS: bit 8 */
#define AUX_ALIGNMENT    8

static struct mt_step_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_step_engine *)base;
}

static struct mt_step_thread *find(struct mt_step_engine *engine, pid_t lwp)
{
	struct mt_step_thread *thread = NULL;

	HASH_FIND_INT(engine->threads, &lwp, thread);
	return thread;
}

static struct mt_error *probe(void)
{
	return NULL;
}

static struct mt_error *create(struct mt_target *target, const struct mt_engine_options *options,
			       struct mt_engine **out)
{
	struct mt_step_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return mt_error_no_memory();
	engine->base.ops = &mt_engine_step;
	engine->target = target;
	engine->options = *options;
	if (!engine->options.ring_bytes)
		engine->options.ring_bytes = MT_ENGINE_DEFAULT_RING_BYTES;
	engine->timing = mt_step_timing(&options->conversion);
	if (options->share_cpu)
		mt_pin_begin(&engine->pin);
	*out = &engine->base;
	return NULL;
}

static void thread_destroy(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	HASH_DEL(engine->threads, thread);
	mt_unpin_thread(&thread->pin, thread->lwp);
	mt_pt_encoder_destroy(thread->encoder);
	free(thread);
}

static void destroy(struct mt_engine *base)
{
	struct mt_step_engine *engine = engine_of(base);

	while (engine->threads)
		thread_destroy(engine, engine->threads);
	mt_pin_end(&engine->pin);
	free(engine);
}

static void describe(const struct mt_engine *base, struct mt_recording_pt *pt)
{
	const struct mt_step_engine *engine = (const struct mt_step_engine *)base;

	*pt = (struct mt_recording_pt){
	    .present = true,
	    .tsc = engine->timing.tsc,
	    .mtc = engine->timing.mtc,
	    .cyc = engine->timing.cyc,
	    .return_compression = true,
	    .mtc_period = engine->timing.mtc_period,
	    .max_nonturbo_ratio = engine->timing.max_nonturbo_ratio,
	    .tsc_ctc_numerator = engine->timing.tsc_ctc_numerator,
	    .tsc_ctc_denominator = engine->timing.tsc_ctc_denominator,
	};
}

static struct mt_error *add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent)
{
	struct mt_step_engine *engine = engine_of(base);
	const struct mt_step_thread *maker = find(engine, parent);
	struct mt_pt_encoder_config config = {
	    .timing = engine->timing,
	    .ring_bytes = engine->options.ring_bytes,
	    .psb_period_bytes = PSB_PERIOD_BYTES,
	};
	struct mt_step_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return mt_error_no_memory();
	struct mt_error *error = mt_pt_encoder_create(&config, &thread->encoder);
	if (error) {
		free(thread);
		return error;
	}
	thread->pid = pid;
	thread->lwp = lwp;
	thread->idx = engine->next_idx++;
	HASH_ADD_INT(engine->threads, lwp, thread);
	if (!find(engine, lwp)) {
		mt_pt_encoder_destroy(thread->encoder);
		free(thread);
		return mt_error_no_memory();
	}
	mt_pin_thread(&engine->pin, &thread->pin, lwp,
		      maker && maker->pin.on ? &maker->pin.allowed : &engine->pin.ours);
	return NULL;
}

static void remove_thread(struct mt_engine *base, pid_t lwp)
{
	struct mt_step_thread *thread = find(engine_of(base), lwp);

	if (thread)
		thread_destroy(engine_of(base), thread);
}

static void rename_thread(struct mt_engine *base, pid_t former, pid_t lwp)
{
	struct mt_step_engine *engine = engine_of(base);
	struct mt_step_thread *thread = find(engine, former);

	if (!thread || former == lwp)
		return;
	remove_thread(base, lwp);
	HASH_DEL(engine->threads, thread);
	thread->lwp = lwp;
	thread->idx = engine->next_idx++;
	thread->stream_offset = 0;
	HASH_ADD_INT(engine->threads, lwp, thread);
}

static bool is_syscall(const struct mt_step_thread *thread)
{
	return thread->insn.class == MT_INSN_SYSCALL;
}

/* PUSHF shows the trap flag that stepping sets: take it back out. */
static struct mt_error *hide_trap_flag(struct mt_step_engine *engine,
				       const struct mt_step_thread *thread)
{
	uint64_t address = thread->registers.rsp + TRAP_FLAG_BYTE;
	size_t opcode = thread->code[0] == 0x66;
	uint8_t byte;

	if (thread->insn.length != opcode + 1 || thread->code[opcode] != 0x9c)
		return NULL;
	if (engine->target->ops->read(engine->target, thread->pid, address, &byte, 1) != 1)
		return NULL;
	byte &= (uint8_t)~1u;
	return engine->target->ops->write(engine->target, thread->pid, address, &byte, 1);
}

/* BEFORE: as it was entered, when the kernel has put its number into orig_rax, or before that. */
static bool maps_executable(const struct user_regs_struct *before)
{
	switch ((long long)before->orig_rax >= 0 ? before->orig_rax : before->rax) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		return before->rdx & PROT_EXEC_BIT;
	case SYS_mremap:
	case SYS_shmat:
		return true;
	default:
		return false;
	}
}

/* The system call at pc is over, or given up for a signal. */
static void finish_syscall(struct mt_step_engine *engine, struct mt_step_thread *thread)
{
	mt_step_entered_kernel(engine, thread);
	thread->told = false;
}

/* An instruction that faults was begun: control was there, also when it had just come back from the
 * kernel.  Codes above 0 are of the kernel's own signals. */
static bool is_fault(const struct mt_step_thread *thread, const struct mt_stop *stop)
{
	if (stop->kind != MT_STOP_SIGNAL || stop->code <= 0 || is_syscall(thread))
		return false;
	return stop->signal == SIGSEGV || stop->signal == SIGBUS || stop->signal == SIGFPE ||
	       stop->signal == SIGILL;
}

static void understand(struct mt_step_engine *engine, struct mt_step_thread *thread,
		       const struct mt_stop *stop, struct mt_engine_news *news, uint64_t tsc,
		       const struct user_regs_struct *before)
{
	uint64_t now = thread->registers.rip;

	thread->in_kernel = false;
	switch (stop->kind) {
	case MT_STOP_SYSCALL_ENTRY:
	case MT_STOP_NEW_THREAD:
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
	case MT_STOP_EXEC:
		mt_step_entered_kernel(engine, thread);
		thread->in_kernel = true;
		news->ordinary = stop->kind == MT_STOP_SYSCALL_ENTRY;
		news->maps_changed = stop->kind == MT_STOP_EXEC;
		return;
	case MT_STOP_SYSCALL:
		if (thread->restarting) {
			/* The instruction before pc was done once more. */
			thread->pc -= SYSCALL_BYTES;
			thread->insn =
			    (struct mt_insn){.length = SYSCALL_BYTES, .class = MT_INSN_SYSCALL};
			finish_syscall(engine, thread);
		} else if (is_syscall(thread)) {
			news->maps_changed = maps_executable(before);
			finish_syscall(engine, thread);
		}
		break;
	case MT_STOP_STEP:
	case MT_STOP_BREAKPOINT:
		mt_step_ran(engine, thread, tsc, now);
		thread->told = false;
		break;
	case MT_STOP_HANDLER:
		break;
	default:
		if (is_fault(thread, stop))
			mt_step_began(engine, thread);
		/* Something came between: did the instruction run before it? */
		if (is_syscall(thread) && (thread->told || now != thread->pc))
			finish_syscall(engine, thread);
		else
			mt_step_stopped_short(engine, thread, tsc);
		break;
	}
	news->ordinary = stop->kind == MT_STOP_STEP || stop->kind == MT_STOP_SYSCALL ||
			 stop->kind == MT_STOP_HANDLER;
	thread->pc = now;
	thread->restarting = mt_inject_is_restarted(&thread->registers);
}

static struct mt_error *stopped(struct mt_engine *base, const struct mt_stop *stop,
				struct mt_engine_news *news)
{
	struct mt_step_engine *engine = engine_of(base);
	struct mt_step_thread *thread = find(engine, stop->lwp);
	struct user_regs_struct before;

	*news = (struct mt_engine_news){0};
	if (!thread || stop->kind == MT_STOP_EXITED)
		return NULL;
	uint64_t tsc = mt_clock_tsc();
	before = thread->registers;
	mt_try(engine->target->ops->get_registers(engine->target, stop->lwp, &thread->registers));
	if (stop->kind == MT_STOP_STEP)
		mt_try(hide_trap_flag(engine, thread));
	understand(engine, thread, stop, news, tsc, &before);
	if ((stop->kind == MT_STOP_FORK || stop->kind == MT_STOP_VFORK) &&
	    !engine->options.follow_forks) {
		struct mt_pin_thread inherited = thread->pin;

		mt_unpin_thread(&inherited, stop->child);
	}
	if (stop->kind == MT_STOP_SYSCALL)
		mt_try(mt_step_affinity(engine, thread, &before));
	news->pc = thread->registers.rip;
	news->time_ns = mt_tsc_to_ns(&engine->options.conversion, tsc);
	return NULL;
}

/* System calls are not stepped: see the masks of signals in the target over ptrace.  But a signal
 * that goes with it may lead into a handler instead, whose first instruction wants to be seen. */
static enum mt_resume way_of(const struct mt_step_thread *thread, int signal)
{
	bool enters = thread->code[0] == 0x0f && thread->code[1] == 0x05 && is_syscall(thread) &&
		      !thread->restarting && !signal;

	return thread->in_kernel || enters ? MT_RESUME_SYSCALL : MT_RESUME_STEP;
}

static struct mt_error *resume(struct mt_engine *base, pid_t lwp, int signal)
{
	struct mt_step_engine *engine = engine_of(base);
	struct mt_step_thread *thread = find(engine, lwp);

	if (!thread)
		return mt_target_resume(engine->target, lwp, MT_RESUME_CONTINUE, signal);
	if (!thread->resumed_tsc) {
		/* The first time: nothing is known of the thread yet. */
		mt_try(engine->target->ops->get_registers(engine->target, thread->lwp,
							  &thread->registers));
		thread->pc = thread->registers.rip;
		thread->restarting = mt_inject_is_restarted(&thread->registers);
	}
	if (!thread->in_kernel) {
		mt_step_fetch(engine, thread);
		thread->resumed_tsc = mt_clock_tsc();
	}
	return mt_target_resume(engine->target, lwp, way_of(thread, signal), signal);
}

/* An AUX record and the bytes it speaks of. */
static struct mt_error *put_piece(struct mt_step_engine *engine,
				  const struct mt_step_thread *thread,
				  const struct mt_auxtrace *piece, const uint8_t *bytes,
				  struct mt_recording_writer *writer)
{
	struct mt_sideband aux = {
	    .time_ns = mt_tsc_to_ns(&engine->options.conversion, piece->reference),
	    .kind = MT_SIDEBAND_AUX,
	    .pid = thread->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .aux = {.offset = piece->offset, .size = piece->size},
	};

	mt_try(mt_recording_writer_put(writer, &aux));
	return mt_recording_writer_put_aux(writer, piece, bytes);
}

static struct mt_error *put_ring(struct mt_step_engine *engine, struct mt_step_thread *thread,
				 uint32_t number, uint64_t tsc, struct mt_recording_writer *writer)
{
	uint8_t *bytes = NULL;
	size_t size = 0;
	uint64_t lost = 0;

	if (mt_pt_encoder_failed(thread->encoder))
		return mt_error_no_memory();
	mt_try(mt_pt_encoder_snapshot(thread->encoder, &bytes, &size, &lost));
	mt_pt_encoder_clear(thread->encoder);
	if (!size)
		return NULL;

	struct mt_auxtrace piece = {
	    .size = (size + AUX_ALIGNMENT - 1) & ~(size_t)(AUX_ALIGNMENT - 1),
	    .offset = thread->stream_offset + lost,
	    .reference = tsc,
	    .idx = thread->idx,
	    .tid = thread->lwp,
	    .cpu = -1,
	};
	thread->stream_offset = piece.offset + piece.size;
	piece.size = size;
	struct mt_error *error = put_piece(engine, thread, &piece, bytes, writer);
	free(bytes);
	if (error)
		return error;
	return mt_engine_put_snapshot(writer, thread->pid, thread->lwp, thread->pc, number,
				      mt_tsc_to_ns(&engine->options.conversion, tsc));
}

static struct mt_error *snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				 struct mt_recording_writer *writer)
{
	struct mt_step_engine *engine = engine_of(base);

	for (struct mt_step_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (!lwp || thread->lwp == lwp) {
			uint64_t tsc = mt_clock_tsc();

			mt_step_stopped_short(engine, thread,
					      tsc); /* nothing, within a system call */
			mt_try(put_ring(engine, thread, number, tsc, writer));
			/* What runs now belongs to the next window, and so must its beginning. */
			if (thread->resumed_tsc)
				thread->resumed_tsc = mt_clock_tsc();
		}
	return NULL;
}

const struct mt_engine_ops mt_engine_step = {
    .name = "step",
    .summary = "single-steps the program: exact, and thousands of times slower",
    .automatic = false,
    .probe = probe,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .add_thread = add_thread,
    .remove_thread = remove_thread,
    .rename_thread = rename_thread,
    .stopped = stopped,
    .resume = resume,
    .snapshot = snapshot,
};
