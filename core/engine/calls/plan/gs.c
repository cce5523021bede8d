/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for functions that use the GS register, by which trampolines find their ring: those with
 * such an instruction, and those that ask the kernel to set its base.  Data must not count: it is
 * looked for in functions alone, and as there may be some between their instructions too (Haskell's
 * info tables), the flow of control has to come there from what is known to be jumped to.
 *
 * arch_prctl(ARCH_SET_GS) is a system call in the function itself, syscall(), or a call of a
 * wrapper: one of the name, or a function of this file that makes the system call.  Such wrappers
 * are in every libc, and most of the programs that call one want ARCH_SET_FS: the constant has to
 * be there, and right before the call.
 *
 * Source: arch_prctl(2); System V ABI for x86-64, 3.2.3 (arguments) and A.2.1 (system calls). */
#include "engine/calls/plan/private.h"

#include <asm/prctl.h>
#include <string.h>
#include <sys/syscall.h>

#define WRAPPER "arch_prctl"
/* Registers by their numbers in opcodes. */
#define RSI 6
#define RDI 7

/* False: no `mov reg32, imm32`, nor `mov reg64, imm32`. */
static bool takes_constant(const uint8_t *bytes, const struct mt_insn *insn, unsigned *reg,
			   uint32_t *value)
{
	bool is_short = insn->length == 5 && (bytes[0] & 0xf8) == 0xb8;
	bool is_long =
	    insn->length == 7 && bytes[0] == 0x48 && bytes[1] == 0xc7 && (bytes[2] & 0xf8) == 0xc0;

	if (!is_short && !is_long)
		return false;
	*reg = bytes[is_short ? 0 : 2] & 7;
	memcpy(value, bytes + insn->length - sizeof(*value), sizeof(*value));
	return true;
}

/* A jump within the function is none. */
static bool is_call(const struct mt_plan_function *function, const struct mt_insn *insn)
{
	if (insn->class == MT_INSN_JUMP)
		return insn->target - function->start >= function->end - function->start;
	return insn->class == MT_INSN_CALL || insn->class == MT_INSN_CALL_INDIRECT;
}

static void note_call(struct mt_planner *planner, struct mt_plan_place place, uint64_t target)
{
	const struct mt_plan_arguments *with = &planner->arguments;

	if (with->first == SYS_arch_prctl && with->second == ARCH_SET_GS)
		planner->plan->gs_user = place.address;
	place.address = target;
	if (with->first == ARCH_SET_GS && target && mt_array_push(&planner->gs_calls, place))
		planner->failed = true;
	planner->arguments = (struct mt_plan_arguments){0};
}

void mt_plan_see_gs(struct mt_planner *planner, struct mt_plan_place place, const uint8_t *bytes,
		    const struct mt_insn *insn)
{
	uint16_t *facts = &planner->facts.items[place.function];
	uint32_t value;
	unsigned reg;

	if (insn->flags & MT_INSN_GS && mt_array_push(&planner->gs_users, place))
		planner->failed = true;
	if (insn->class == MT_INSN_OTHER && takes_constant(bytes, insn, &reg, &value)) {
		if (value == SYS_arch_prctl)
			*facts |= MT_FACT_ARCH;
		else if (value == ARCH_SET_GS)
			*facts |= MT_FACT_SET_GS;
		if (reg == RDI)
			planner->arguments.first = value;
		else if (reg == RSI)
			planner->arguments.second = value;
	} else if (is_call(&planner->plan->functions.items[place.function], insn)) {
		note_call(planner, place, insn->target);
	} else if (insn->class == MT_INSN_RETURN) {
		planner->arguments = (struct mt_plan_arguments){0};
	}
}

/* From the last instruction before it that is jumped to, or from the function's first one. */
static bool is_reached(struct mt_planner *planner, const struct mt_plan_place *place)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, place->address);
	uint64_t at = place->address, start = planner->plan->functions.items[place->function].start;
	struct mt_insn insn;

	while (at > start && !(range->map[at - range->start] & MT_MAP_TARGET))
		at--;
	while (at < place->address) {
		if (mt_insn_decode(range->bytes + (at - range->start), range->end - at, at,
				   &insn) ||
		    insn.class == MT_INSN_JUMP || insn.class == MT_INSN_JUMP_INDIRECT ||
		    insn.class == MT_INSN_RETURN)
			return false;
		at += insn.length;
	}
	return at == place->address;
}

static bool is_wrapper(const struct mt_planner *planner, uint64_t address)
{
	const struct mt_symbol *symbol = mt_objfile_symbol_at(planner->objfile, address);
	uint32_t function = mt_plan_function_at(planner->plan, address);

	if (symbol && symbol->start == address && symbol->raw_name &&
	    strncmp(symbol->raw_name, WRAPPER, strlen(WRAPPER)) == 0)
		return true;
	return function != MT_PLAN_NOWHERE &&
	       planner->plan->functions.items[function].start == address &&
	       planner->facts.items[function] & MT_FACT_ARCH &&
	       planner->plan->functions.items[function].flags & MT_PLAN_KERNEL;
}

void mt_plan_decide_gs(struct mt_planner *planner)
{
	struct mt_plan *plan = planner->plan;

	mt_array_each (user, &planner->gs_users)
		if (is_reached(planner, user))
			plan->gs_user = user->address;
	for (size_t i = 0; i < plan->functions.count; i++)
		if (planner->facts.items[i] & MT_FACT_ARCH &&
		    planner->facts.items[i] & MT_FACT_SET_GS &&
		    plan->functions.items[i].flags & MT_PLAN_KERNEL)
			plan->gs_user = plan->functions.items[i].start;
	mt_array_each (call, &planner->gs_calls)
		if (is_wrapper(planner, call->address))
			plan->gs_user = plan->functions.items[call->function].start;
}
