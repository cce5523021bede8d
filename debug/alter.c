/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jump and return: threads continue at another address. */
#include "private.h"

/* An interrupted system call must not be restarted there. */
static struct mt_error *set_registers(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	lwp->registers.orig_rax = (uint64_t)-1;
	lwp->passed = lwp->again = 0;
	lwp->entered = 0;
	mt_debug_forget_frames(lwp);
	return debugger->target->ops->set_registers(debugger->target, lwp->thread.lwp,
						    &lwp->registers);
}

struct mt_error *mt_debugger_jump(struct mt_debugger *debugger, uint64_t address,
				  struct mt_debug_stop *stop)
{
	struct mt_debug_lwp *lwp = debugger->selected;
	const struct user_regs_struct *registers = lwp ? mt_debug_registers(debugger, lwp) : NULL;

	if (!registers || !mt_debugger_has_process(debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
	/* A breakpoint there is hit, also if the thread is there already. */
	lwp->registers.rip = address;
	mt_try(set_registers(debugger, lwp));
	return mt_debugger_continue(debugger, stop);
}

/* The registers of the selected frame's caller, also of main's, which is not shown. */
static struct mt_error *find_caller(struct mt_debugger *debugger, struct mt_registers *out)
{
	struct mt_debug_lwp *lwp = debugger->selected;
	const struct mt_debug_frame *caller =
	    mt_debug_caller_of(debugger, lwp, debugger->selected_frame);
	struct mt_unwinder unwinder = lwp->unwinder;
	struct mt_unwind_frame unwound;

	unwinder.end = MT_UNWIND_GOES_ON;
	if (caller)
		*out = caller->registers;
	else if (lwp->unwinder.end == MT_UNWIND_OUTERMOST && mt_unwind_next(&unwinder, &unwound))
		*out = unwound.registers;
	else
		return mt_error_new(MT_ERROR_USAGE, "Can not force return from the last frame.");
	return NULL;
}

static void put_registers(const struct mt_registers *from, struct user_regs_struct *to)
{
	unsigned long long *const members[MT_REGISTER_COUNT] = {[MT_REGISTER_RBX] = &to->rbx,
								[MT_REGISTER_RBP] = &to->rbp,
								[MT_REGISTER_RSP] = &to->rsp,
								[12] = &to->r12,
								[13] = &to->r13,
								[14] = &to->r14,
								[15] = &to->r15};

	for (unsigned i = 0; i < MT_REGISTER_COUNT; i++)
		if (members[i] && from->known >> i & 1)
			*members[i] = from->values[i];
	to->rip = from->values[MT_REGISTER_RIP];
}

struct mt_error *mt_debugger_return(struct mt_debugger *debugger, const char *value)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	struct mt_debug_lwp *lwp = debugger->selected;
	struct mt_expr_given given = {0};
	struct mt_registers caller;

	if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No selected frame.");
	mt_try(mt_debug_needs_process(debugger));
	if (frame->type == MT_DEBUG_INLINE_FRAME || frame->type == MT_DEBUG_TAIL_CALL_FRAME)
		return mt_error_new(MT_ERROR_USAGE,
				    "Can not force return from an inlined function.");
	if (*value) {
		const struct mt_expr_frame outer = mt_debugger_expr_frame(debugger, NULL);
		struct mt_expr *expr = NULL;
		struct mt_error *error = mt_expr_parse(debugger->expressions, &outer, value, &expr);

		if (!error)
			error = mt_expr_give(expr, frame->inside, &outer, &given);
		mt_expr_destroy(expr);
		mt_try(error);
	}
	mt_try(find_caller(debugger, &caller));
	put_registers(&caller, &lwp->registers);
	mt_try(set_registers(debugger, lwp));
	debugger->selected_frame = 0;
	const struct mt_expr_frame inner = mt_debugger_expr_frame(debugger, NULL);
	for (size_t i = 0; i < given.count; i++)
		mt_try(inner.ops->set_register(inner.context, given.parts[i].number,
					       given.parts[i].bytes, sizeof(given.parts[i].bytes)));
	return NULL;
}
