/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that go on elsewhere than they would: jump and return. */
#include "private.h"

/* An interrupted system call is not to be made again there. */
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

	if (!registers)
		return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
	/* A breakpoint there is met, also where it stands already. */
	lwp->registers.rip = address;
	mt_try(set_registers(debugger, lwp));
	return mt_debugger_continue(debugger, stop);
}

/* The registers that the selected frame's caller has, also where people are shown none. */
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
	const uint64_t *values = from->values;

	if (from->known >> MT_REGISTER_RBX & 1)
		to->rbx = values[MT_REGISTER_RBX];
	if (from->known >> MT_REGISTER_RBP & 1)
		to->rbp = values[MT_REGISTER_RBP];
	if (from->known >> MT_REGISTER_RSP & 1)
		to->rsp = values[MT_REGISTER_RSP];
	if (from->known >> 12 & 1)
		to->r12 = values[12];
	if (from->known >> 13 & 1)
		to->r13 = values[13];
	if (from->known >> 14 & 1)
		to->r14 = values[14];
	if (from->known >> 15 & 1)
		to->r15 = values[15];
	to->rip = values[MT_REGISTER_RIP];
}

static struct mt_error *evaluate(struct mt_debugger *debugger, const char *text,
				 struct mt_expr_given *given)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);
	const struct mt_debug_frame *selected = mt_debugger_selected_frame(debugger);
	struct mt_expr_program *program = mt_debugger_expressions(debugger);
	struct mt_expr *expr = NULL;

	struct mt_error *error = mt_expr_parse(program, &frame, text, &expr);
	if (!error)
		error = mt_expr_give(expr, selected->inside, &frame, given);
	mt_expr_destroy(expr);
	return error;
}

struct mt_error *mt_debugger_return(struct mt_debugger *debugger, const char *value)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	struct mt_debug_lwp *lwp = debugger->selected;
	struct mt_expr_given given = {0};
	struct mt_registers caller;

	if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No selected frame.");
	if (frame->type == MT_DEBUG_INLINE_FRAME || frame->type == MT_DEBUG_TAIL_CALL_FRAME)
		return mt_error_new(MT_ERROR_USAGE,
				    "Can not force return from an inlined function.");
	if (*value)
		mt_try(evaluate(debugger, value, &given));
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
