/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/sample_frames.h"

#include "space/unwind.h"
#include "trace/event.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

/* More is no honest stack: the most that a record has room for, as return addresses. */
#define MOST_FRAMES (MT_STACK_SAMPLE_BYTES / sizeof(uint64_t))

static struct mt_error *push(mt_sample_frames *frames, uint64_t inside, uint64_t returns_to)
{
	const struct mt_sample_frame frame = {inside, returns_to};

	if (frames->count >= MOST_FRAMES || !inside)
		return NULL;
	return mt_array_push(frames, frame) ? mt_error_no_memory() : NULL;
}

/* ---- Chains of addresses ---- */

enum side {
	NO_SIDE, /* a virtual machine's, a hypervisor's */
	KERNEL_SIDE,
	USER_SIDE,
};

static enum side side_of(uint64_t marker)
{
	switch (marker) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return KERNEL_SIDE;
	case (uint64_t)PERF_CONTEXT_USER:
		return USER_SIDE;
	default:
		return NO_SIDE;
	}
}

/* The first address behind a marker is where the thread stood, the others are where calls return
 * to. */
static struct mt_error *push_chain(const struct mt_sample_words *chain, enum side wanted,
				   mt_sample_frames *frames)
{
	enum side side = NO_SIDE;
	bool is_first = true;

	for (uint64_t i = 0; i < chain->count; i++) {
		uint64_t address = mt_sample_word(chain, i);

		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			side = side_of(address);
			is_first = true;
			continue;
		}
		/* Chains of the first kernels that had them are without markers. */
		if (!i)
			side = mt_address_is_kernel(address) ? KERNEL_SIDE : USER_SIDE;
		/* What a program without frame pointers has in their place leads anywhere. */
		bool is_possible = address && (side != USER_SIDE || !mt_address_is_kernel(address));
		if (side == wanted && is_possible)
			mt_try(
			    push(frames, is_first ? address : address - 1, is_first ? 0 : address));
		is_first = false;
	}
	return NULL;
}

/* Where the program stood, by the chain; 0: it does not say. */
static uint64_t user_address_in(const struct mt_sample_words *chain)
{
	for (uint64_t i = 1; i < chain->count; i++)
		if (mt_sample_word(chain, i - 1) == (uint64_t)PERF_CONTEXT_USER)
			return mt_sample_word(chain, i);
	return 0;
}

/* ---- The processor's calls ---- */

static struct mt_error *push_branches(const struct mt_sideband *record,
				      const struct mt_stack_sample *sample,
				      mt_sample_frames *frames)
{
	uint64_t ip = record->sample.ip;

	if (mt_address_is_kernel(ip))
		ip = user_address_in(&sample->chain);
	if (!ip) /* the entry of the function that was called last */
		ip = mt_sample_word(&sample->branches, 1);
	mt_try(push(frames, ip, 0));
	for (uint64_t i = 0; i < sample->branches.count; i++) {
		uint64_t from = mt_sample_word(&sample->branches, 3 * i);

		if (!mt_address_is_kernel(from))
			mt_try(push(frames, from, 0));
	}
	return NULL;
}

/* ---- The stack's memory ---- */

/* DWARF's number of each register that the kernel records. */
static const uint8_t numbers[] = {
    [PERF_REG_X86_AX] = MT_REGISTER_RAX,   [PERF_REG_X86_BX] = MT_REGISTER_RBX,
    [PERF_REG_X86_CX] = MT_REGISTER_RCX,   [PERF_REG_X86_DX] = MT_REGISTER_RDX,
    [PERF_REG_X86_SI] = MT_REGISTER_RSI,   [PERF_REG_X86_DI] = MT_REGISTER_RDI,
    [PERF_REG_X86_BP] = MT_REGISTER_RBP,   [PERF_REG_X86_SP] = MT_REGISTER_RSP,
    [PERF_REG_X86_IP] = MT_REGISTER_RIP,   [PERF_REG_X86_FLAGS] = MT_REGISTER_COUNT,
    [PERF_REG_X86_CS] = MT_REGISTER_COUNT, [PERF_REG_X86_SS] = MT_REGISTER_COUNT,
    [PERF_REG_X86_DS] = MT_REGISTER_COUNT, [PERF_REG_X86_ES] = MT_REGISTER_COUNT,
    [PERF_REG_X86_FS] = MT_REGISTER_COUNT, [PERF_REG_X86_GS] = MT_REGISTER_COUNT,
    [PERF_REG_X86_R8] = MT_REGISTER_R8,    [PERF_REG_X86_R9] = MT_REGISTER_R9,
    [PERF_REG_X86_R10] = MT_REGISTER_R10,  [PERF_REG_X86_R11] = MT_REGISTER_R11,
    [PERF_REG_X86_R12] = MT_REGISTER_R12,  [PERF_REG_X86_R13] = MT_REGISTER_R13,
    [PERF_REG_X86_R14] = MT_REGISTER_R14,  [PERF_REG_X86_R15] = MT_REGISTER_R15,
};

static struct mt_registers registers_of(const struct mt_stack_sample *sample)
{
	struct mt_registers registers = {0};
	uint64_t next = 0;

	for (unsigned bit = 0; bit < sizeof(numbers); bit++) {
		if (!(sample->registers_mask >> bit & 1))
			continue;
		uint64_t value = mt_sample_word(&sample->registers, next++);

		if (numbers[bit] == MT_REGISTER_COUNT)
			continue;
		registers.values[numbers[bit]] = value;
		registers.known |= 1u << numbers[bit];
	}
	return registers;
}

struct memory {
	const struct mt_stack_sample *sample;
	struct mt_space *space;
	uint64_t sp;
};

/* The stack was recorded; code and constants are in the files. */
static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct memory *memory = context;
	uint64_t offset = address - memory->sp;

	if (offset >= memory->sample->memory_size)
		return mt_space_read(memory->space, address, buffer, size);
	if (size > memory->sample->memory_size - offset)
		size = memory->sample->memory_size - offset;
	memcpy(buffer, memory->sample->memory + offset, size);
	return size;
}

static bool can_unwind(const struct mt_stack_sample *sample)
{
	const uint64_t needed = 1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP;

	return sample->memory_size && sample->registers_abi == PERF_SAMPLE_REGS_ABI_64 &&
	       (sample->registers_mask & needed) == needed;
}

static struct mt_error *push_unwound(const struct mt_stack_sample *sample, struct mt_space *space,
				     mt_sample_frames *frames)
{
	const struct mt_registers registers = registers_of(sample);
	struct memory memory = {sample, space, registers.values[MT_REGISTER_RSP]};
	const struct mt_unwind_source source = {
	    .space = space, .read = read_memory, .context = &memory};
	struct mt_unwinder unwinder;
	struct mt_unwind_frame frame;

	mt_unwind_start(&unwinder, &source, &registers);
	while (frames->count < MOST_FRAMES && mt_unwind_next(&unwinder, &frame))
		mt_try(push(frames, mt_unwind_inside(&frame), frame.exact ? 0 : frame.pc));
	return NULL;
}

/* ---- All ---- */

struct mt_error *mt_sample_frames_read(const struct mt_sideband *record,
				       const struct mt_stack_sample *sample, struct mt_space *space,
				       mt_sample_frames *frames)
{
	frames->count = 0;
	mt_try(push_chain(&sample->chain, KERNEL_SIDE, frames));
	if (can_unwind(sample))
		mt_try(push_unwound(sample, space, frames));
	else if (sample->branches_are_calls && sample->branches.count)
		mt_try(push_branches(record, sample, frames));
	else
		mt_try(push_chain(&sample->chain, USER_SIDE, frames));
	return frames->count ? NULL : push(frames, record->sample.ip ? record->sample.ip : 1, 0);
}
