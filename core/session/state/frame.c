/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where expressions of triggers are evaluated: a thread that stands still, or a place alone. */
#include "values/frame.h"
#include "session/state/state.h"
#include "space/unwind.h"

#include <string.h>

size_t mt_session_read(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mt_session_here *here = context;

	return mt_session_target_ops(here->session)
	    ->read(here->session->target, here->pid, address, buffer, size);
}

static bool get_float_register(const struct mt_session_here *here, unsigned number, void *bytes,
			       size_t size)
{
	const struct mt_target_ops *ops = mt_session_target_ops(here->session);
	struct user_fpregs_struct registers;
	size_t there = 0;

	if (!ops->get_float_registers ||
	    !ops->get_float_registers(here->session->target, here->lwp, &registers))
		return false;
	const void *value = mt_register_in_float(&registers, number, &there);
	if (!value || size > there)
		return false;
	memcpy(bytes, value, size);
	return true;
}

static bool get_register(void *context, unsigned number, void *bytes, size_t size)
{
	const struct mt_session_here *here = context;
	const struct mt_target_ops *ops = mt_session_target_ops(here->session);
	int offset = mt_register_offset(number);
	struct user_regs_struct registers;

	if (!here->lwp)
		return false;
	if (offset < 0)
		return get_float_register(here, number, bytes, size);
	if (size > sizeof(uint64_t))
		return false;
	struct mt_error *error = ops->get_registers(here->session->target, here->lwp, &registers);
	if (error) {
		mt_error_destroy(error);
		return false;
	}
	registers.rip = here->pc; /* it may be in code of ours */
	memcpy(bytes, (const char *)&registers + offset, size);
	return true;
}

static bool get_cfa(void *context, uint64_t *cfa)
{
	const struct mt_session_here *here = context;
	const struct mt_session_process *process =
	    mt_session_find_process(here->session, here->pid);
	unsigned number;
	int64_t offset;

	if (!process || !process->code ||
	    !mt_unwind_cfa_rule(process->code, here->pc, &number, &offset) ||
	    !get_register(context, number, cfa, sizeof(*cfa)))
		return false;
	*cfa += (uint64_t)offset;
	return true;
}

static const struct mt_expr_ops ops = {
    .read = mt_session_read, .get_register = get_register, .get_cfa = get_cfa};

struct mt_expr_frame mt_session_frame_of(struct mt_session_here *here, bool is_entry,
					 bool at_return)
{
	return (struct mt_expr_frame){.ops = &ops,
				      .context = here,
				      .pc = here->pc,
				      .next_pc = here->pc,
				      .at_entry = is_entry,
				      .at_return = at_return};
}
