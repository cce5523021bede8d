/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk, and code that has no tables: assembly, JIT compilers' output, files built with
 * -fno-asynchronous-unwind-tables. */
#include "elf/eh_frame.h"
#include "space/unwind_private.h"

#include <string.h>

/* Frames after which the stack may go on anywhere, as it does in a ring, too. */
#define MOST_SIGNALS 64
#define MOST_CALLED  1024
/* A frame that a frame pointer spans is not larger. */
#define MOST_FRAME_BYTES (1u << 20)
#define WORD             sizeof(uint64_t)

struct mt_registers mt_registers_of(const struct user_regs_struct *user)
{
	struct mt_registers registers = {.known = (1u << MT_REGISTER_COUNT) - 1};

	for (unsigned i = 0; i < MT_REGISTER_COUNT; i++)
		memcpy(&registers.values[i], (const char *)user + mt_register_offset(i),
		       sizeof(uint64_t));
	return registers;
}

/* Frames lie upwards of one another, so what is read ahead is wanted next. */
static void move_window(struct mt_unwinder *unwinder, uint64_t address)
{
	unwinder->window_start = address;
	unwinder->window_size = unwinder->source.read(unwinder->source.context, address,
						      unwinder->window, sizeof(unwinder->window));
}

static bool is_in_window(const struct mt_unwinder *unwinder, uint64_t address, size_t size)
{
	uint64_t offset = address - unwinder->window_start;

	return offset < unwinder->window_size && size <= unwinder->window_size - offset;
}

bool mt_unwind_read(struct mt_unwinder *unwinder, uint64_t address, void *buffer, size_t size)
{
	if (!is_in_window(unwinder, address, size))
		move_window(unwinder, address);
	if (!is_in_window(unwinder, address, size))
		return false;
	memcpy(buffer, unwinder->window + (address - unwinder->window_start), size);
	return true;
}

static bool is_code(const struct mt_unwinder *unwinder, uint64_t address)
{
	return mt_space_find(unwinder->source.space, address) != NULL;
}

/* The word at SLOT is where a call of the frame returns to. */
static bool returns_by(struct mt_unwinder *unwinder, uint64_t slot, struct mt_registers *caller,
		       uint64_t *cfa)
{
	uint64_t address;

	if (!mt_unwind_read(unwinder, slot, &address, WORD) || !is_code(unwinder, address - 1))
		return false;
	*cfa = slot + WORD;
	*caller = unwinder->next.registers;
	mt_register_set(caller, MT_REGISTER_RSP, *cfa);
	mt_register_set(caller, MT_REGISTER_RIP, address);
	unwinder->saved_at[MT_REGISTER_RIP] = slot;
	return true;
}

/* How much lies above the return address's slot at PC, by the instructions of a usual prologue and
 * of a return; -1: not known. */
static int pushed_at(struct mt_unwinder *unwinder, uint64_t pc)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa},
			     mov_rbp_rsp[] = {0x48, 0x89, 0xe5};
	uint8_t code[4];

	if (unwinder->source.read(unwinder->source.context, pc, code, sizeof(code)) != sizeof(code))
		return -1;
	if (code[0] == 0x55 || code[0] == 0xc3 || !memcmp(code, endbr64, sizeof(endbr64)))
		return 0;
	return memcmp(code, mov_rbp_rsp, sizeof(mov_rbp_rsp)) == 0 ? 8 : -1;
}

/* A thread that stands where nothing is, by a wild call, or at a function's edge. */
static bool step_at_edge(struct mt_unwinder *unwinder, struct mt_registers *caller, uint64_t *cfa)
{
	const struct mt_unwind_frame *frame = &unwinder->next;
	uint64_t rsp = frame->registers.values[MT_REGISTER_RSP];
	int pushed;

	if (!frame->exact)
		return false;
	pushed = is_code(unwinder, frame->pc) ? pushed_at(unwinder, frame->pc) : 0;
	return pushed >= 0 && returns_by(unwinder, rsp + (uint64_t)pushed, caller, cfa);
}

static bool step_by_frame_pointer(struct mt_unwinder *unwinder, struct mt_registers *caller,
				  uint64_t *cfa)
{
	const struct mt_registers *registers = &unwinder->next.registers;
	uint64_t rbp = registers->values[MT_REGISTER_RBP], saved;

	if (!mt_register_is_known(registers, MT_REGISTER_RBP) || rbp % WORD ||
	    rbp - registers->values[MT_REGISTER_RSP] > MOST_FRAME_BYTES ||
	    !mt_unwind_read(unwinder, rbp, &saved, WORD) ||
	    !returns_by(unwinder, rbp + WORD, caller, cfa))
		return false;
	mt_register_set(caller, MT_REGISTER_RBP, saved);
	unwinder->saved_at[MT_REGISTER_RBP] = rbp;
	return true;
}

static enum mt_unwind_step step(struct mt_unwinder *unwinder, struct mt_registers *caller,
				uint64_t *cfa, bool *signal)
{
	enum mt_unwind_step result = mt_unwind_by_cfi(unwinder, caller, cfa, signal);

	if (result == MT_STEP_NO_RULE)
		result = mt_unwind_by_go(unwinder, caller, cfa);
	if (result != MT_STEP_NO_RULE)
		return result;
	return step_at_edge(unwinder, caller, cfa) || step_by_frame_pointer(unwinder, caller, cfa)
		   ? MT_STEP_DONE
		   : MT_STEP_NO_RULE;
}

/* An interrupted frame may be anywhere, but a caller lies above. */
static enum mt_unwind_end judge(struct mt_unwinder *unwinder, const struct mt_unwind_frame *frame,
				const struct mt_registers *caller, bool is_anywhere)
{
	uint64_t pc = caller->values[MT_REGISTER_RIP];

	if (is_anywhere)
		return ++unwinder->anywhere > (frame->signal ? MOST_SIGNALS : MOST_CALLED)
			   ? MT_UNWIND_BAD_STACK
			   : MT_UNWIND_GOES_ON;
	if (!pc)
		return MT_UNWIND_OUTERMOST;
	uint64_t rsp = frame->registers.values[MT_REGISTER_RSP];
	/* vfork() has its return address in a register while it is in the kernel. */
	bool is_above = caller->values[MT_REGISTER_RSP] > rsp ||
			(frame->exact && caller->values[MT_REGISTER_RSP] == rsp);
	if (!is_above || !is_code(unwinder, pc - 1))
		return MT_UNWIND_BAD_STACK;
	return MT_UNWIND_GOES_ON;
}

/* Where the code cannot be read, the tables' mark is believed. */
static bool is_made_by_kernel(const struct mt_unwinder *unwinder,
			      const struct mt_unwind_frame *frame)
{
	const struct mt_unwind_source *source = &unwinder->source;
	uint8_t code[MT_RESTORER_BYTES];
	const size_t size = source->read(source->context, frame->pc, code, sizeof(code));

	return !size || mt_code_returns_from_signal(code, size);
}

static enum mt_unwind_end go_outwards(struct mt_unwinder *unwinder, struct mt_unwind_frame *frame)
{
	struct mt_registers caller = {0};
	bool is_marked = false;

	switch (step(unwinder, &caller, &frame->cfa, &is_marked)) {
	case MT_STEP_NO_RULE:
		return MT_UNWIND_NO_TABLE;
	case MT_STEP_OUTERMOST:
		return MT_UNWIND_OUTERMOST;
	case MT_STEP_UNREADABLE:
		return MT_UNWIND_BAD_STACK;
	case MT_STEP_DONE:
		break;
	}
	frame->signal = is_marked && is_made_by_kernel(unwinder, frame);
	unwinder->next = (struct mt_unwind_frame){
	    .registers = caller, .pc = caller.values[MT_REGISTER_RIP], .exact = frame->signal};
	return judge(unwinder, frame, &caller, is_marked);
}

void mt_unwind_start(struct mt_unwinder *unwinder, const struct mt_unwind_source *source,
		     const struct mt_registers *registers)
{
	unwinder->source = *source;
	unwinder->next = (struct mt_unwind_frame){
	    .registers = *registers, .pc = registers->values[MT_REGISTER_RIP], .exact = true};
	unwinder->end = MT_UNWIND_GOES_ON;
	unwinder->anywhere = 0;
	memset(unwinder->saved_at, 0, sizeof(unwinder->saved_at));
	unwinder->window_start = 0;
	unwinder->window_size = 0;
}

bool mt_unwind_next(struct mt_unwinder *unwinder, struct mt_unwind_frame *frame)
{
	if (unwinder->end != MT_UNWIND_GOES_ON)
		return false;
	if (unwinder->next.exact && unwinder->source.mend) {
		unwinder->source.mend(unwinder->source.context, &unwinder->next.registers);
		unwinder->next.pc = unwinder->next.registers.values[MT_REGISTER_RIP];
	}
	*frame = unwinder->next;
	unwinder->end = go_outwards(unwinder, frame);
	return true;
}
