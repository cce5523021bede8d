/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames for expressions: memory, registers, the caller. */
#include "private.h"
#include "ptrace/registers.h"

#include <stddef.h>
#include <string.h>

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mt_debug_context *at = context;

	return mt_debug_read_cancellably(at->debugger, address, buffer, size);
}

static struct mt_error *write_memory(void *context, uint64_t address, const void *bytes,
				     size_t size)
{
	const struct mt_debug_context *at = context;

	if (!at->debugger->pid)
		return mt_error_new(MT_ERROR_NOT_FOUND, "cannot access memory without a process");
	mt_try(mt_debug_needs_process(at->debugger));
	mt_debug_watch_written(at->debugger, address, size);
	mt_debug_forget_frames(at->lwp);
	struct mt_error *error = at->debugger->target->ops->write(
	    at->debugger->target, at->debugger->pid, address, bytes, size);
	if (!error)
		return NULL;
	mt_error_destroy(error);
	return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
			    (unsigned long long)address);
}

static bool get_register(void *context, unsigned number, void *bytes, size_t size)
{
	const struct mt_debug_context *at = context;
	struct mt_target *target = at->debugger->target;
	const struct user_regs_struct *user =
	    at->lwp ? mt_debug_registers(at->debugger, at->lwp) : NULL;
	const struct mt_debug_frame *frame =
	    user && at->level ? mt_debug_frame_of(at->debugger, at->lwp, at->level) : NULL;
	int offset = mt_register_offset(number);
	struct user_fpregs_struct registers;
	size_t there = sizeof(uint64_t);
	const void *value;

	if (!user || (at->level && !frame))
		return false;
	value = (const char *)user + offset;
	if (offset < 0)
		value = target->ops->get_float_registers(target, at->lwp->thread.lwp, &registers)
			    ? mt_register_in_float(&registers, number, &there)
			    : NULL;
	/* A register that no callee saved is taken as unchanged. */
	else if (frame && number < MT_REGISTER_COUNT && frame->registers.known >> number & 1)
		value = &frame->registers.values[number];
	if (!value)
		return false;
	memset(bytes, 0, size);
	memcpy(bytes, value, size < there ? size : there);
	return true;
}

static struct mt_error *cannot_set(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "Registers can be changed in the innermost frame only.");
}

static struct mt_error *set_register(void *context, unsigned number, const void *bytes, size_t size)
{
	const struct mt_debug_context *at = context;
	int offset = mt_register_offset(number);
	struct user_fpregs_struct registers;
	size_t there;
	void *value;

	mt_try(mt_debug_needs_process(at->debugger));
	if (!at->lwp || at->level || !mt_debug_registers(at->debugger, at->lwp))
		return cannot_set();
	if (offset < 0) {
		if (!mt_ptrace_get_float_registers(at->lwp->thread.lwp, &registers) ||
		    !(value = mt_register_in_float(&registers, number, &there)))
			return cannot_set();
		memcpy(value, bytes, size < there ? size : there);
		return mt_ptrace_set_float_registers(at->lwp->thread.lwp, &registers)
			   ? NULL
			   : cannot_set();
	}
	memcpy((char *)&at->lwp->registers + offset, bytes, size < 8 ? size : 8);
	/* The kernel must not restart a system call that was interrupted before. */
	if (number == MT_REGISTER_RIP)
		at->lwp->registers.orig_rax = (uint64_t)-1;
	struct mt_error *error = at->debugger->target->ops->set_registers(
	    at->debugger->target, at->lwp->thread.lwp, &at->lwp->registers);
	mt_debug_forget_frames(at->lwp);
	return error;
}

static bool get_cfa(void *context, uint64_t *cfa)
{
	const struct mt_debug_context *at = context;
	const struct mt_debug_frame *frame =
	    at->lwp ? mt_debug_frame_of(at->debugger, at->lwp, at->level) : NULL;

	*cfa = frame ? frame->cfa : 0;
	return *cfa != 0;
}

static const struct mt_expr_ops ops;

/* One for each frame that was used. */
static struct mt_debug_context *context_of(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
					   unsigned level)
{
	struct mt_debug_context *context;

	mt_array_each (known, &lwp->contexts)
		if ((*known)->level == level)
			return *known;
	context = calloc(1, sizeof(*context));
	if (!context || mt_array_push(&lwp->contexts, context)) {
		free(context);
		return NULL;
	}
	context->debugger = debugger;
	context->lwp = lwp;
	context->level = level;
	context->frame.ops = &ops;
	context->frame.context = context;
	return context;
}

void mt_debug_contexts_deinit(struct mt_debug_lwp *lwp)
{
	mt_array_each (context, &lwp->contexts)
		free(*context);
	mt_array_deinit(&lwp->contexts);
}

const struct mt_expr_frame *mt_debug_expr_frame_of(struct mt_debugger *debugger,
						   struct mt_debug_lwp *lwp, unsigned level)
{
	const struct mt_debug_frame *frame = lwp ? mt_debug_frame_of(debugger, lwp, level) : NULL;
	struct mt_debug_context *context = frame ? context_of(debugger, lwp, level) : NULL;

	if (!context)
		return NULL;
	context->frame.pc = frame->inside;
	context->frame.next_pc = frame->pc;
	context->frame.inner = frame->inner;
	context->frame.at_entry = !frame->level && frame->type != MT_DEBUG_INLINE_FRAME &&
				  frame->pc == frame->function_start;
	return &context->frame;
}

const struct mt_expr_frame *mt_debug_expr_here(struct mt_debugger *debugger,
					       struct mt_debug_lwp *lwp, uint64_t pc, bool at_entry)
{
	struct mt_debug_context *context = context_of(debugger, lwp, 0);

	if (!context)
		return NULL;
	context->frame.pc = context->frame.next_pc = pc;
	context->frame.inner = 0;
	context->frame.at_entry = at_entry;
	return &context->frame;
}

static bool get_caller(void *context, struct mt_expr_frame *caller)
{
	const struct mt_debug_context *at = context;
	const struct mt_debug_frame *frame =
	    at->lwp ? mt_debug_outer_of(at->debugger, at->lwp, at->level) : NULL;
	const struct mt_expr_frame *found =
	    frame ? mt_debug_expr_frame_of(at->debugger, at->lwp, frame->level) : NULL;

	if (found)
		*caller = *found;
	return found;
}

static const struct mt_expr_ops ops = {
    .read = read_memory,
    .write = write_memory,
    .get_register = get_register,
    .set_register = set_register,
    .get_cfa = get_cfa,
    .get_caller = get_caller,
};

struct mt_expr_program *mt_debugger_expressions(const struct mt_debugger *debugger)
{
	return debugger->expressions;
}

/* Without a process: no registers. */
static const struct mt_expr_ops static_ops = {.read = read_memory};

void mt_debug_set_thread_variables(struct mt_debugger *debugger, const struct mt_debug_lwp *lwp)
{
	unsigned number = lwp ? lwp->thread.number : 0;
	const struct mt_debug_known known = {
	    .inferior = mt_debugger_inferior_count(debugger),
	    .thread = number,
	    .any = number ? debugger->births - debugger->last_thread + number : 0,
	};
	const struct mt_debug_known *before = &debugger->known;
	struct mt_expr_program *program = debugger->expressions;

	if (before->inferior == known.inferior && before->thread == known.thread &&
	    before->any == known.any)
		return;
	struct mt_error *error = mt_expr_set_integer(program, "_inferior", known.inferior);
	if (!error)
		error = mt_expr_set_integer(program, "_thread", known.thread);
	if (!error)
		error = mt_expr_set_integer(program, "_gthread", known.any);
	if (!error)
		debugger->known = known;
	mt_error_destroy(error);
}

struct mt_expr_frame mt_debugger_expr_frame(struct mt_debugger *debugger,
					    const struct mt_debug_frame *frame)
{
	unsigned level = frame ? frame->level : debugger->selected_frame;
	const struct mt_expr_frame *found =
	    mt_debug_expr_frame_of(debugger, debugger->selected, level);

	mt_debug_set_thread_variables(debugger, debugger->selected);
	if (found)
		return *found;
	debugger->nowhere.debugger = debugger;
	return (struct mt_expr_frame){.ops = &static_ops, .context = &debugger->nowhere};
}
