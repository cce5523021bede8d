/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/breakpoint.h"

#include "kernel/data_ring.h"
#include "kernel/system.h"

#include <asm/perf_regs.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

#define REGISTER(name) (1ull << PERF_REG_X86_##name)
/* All but the segments' selectors, which say nothing here. */
#define REGISTERS                                                                                  \
	(REGISTER(AX) | REGISTER(BX) | REGISTER(CX) | REGISTER(DX) | REGISTER(SI) | REGISTER(DI) | \
	 REGISTER(BP) | REGISTER(SP) | REGISTER(IP) | REGISTER(FLAGS) | REGISTER(R8) |             \
	 REGISTER(R9) | REGISTER(R10) | REGISTER(R11) | REGISTER(R12) | REGISTER(R13) |            \
	 REGISTER(R14) | REGISTER(R15))
#define SAMPLE_TYPE                                                                                \
	(MT_RING_SAMPLE_TYPE | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_USER)

#define MOST_TRIES 100

/* In the order of the numbers, in which a sample has them.  Where the thread was is shown apart. */
static const char *const register_names[] = {
    "rax",    "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", NULL,
    "eflags", "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};

#define REGISTER_COUNT (sizeof(register_names) / sizeof(register_names[0]))
_Static_assert(REGISTER_COUNT == __builtin_popcountll(REGISTERS), "a name for each register");

struct mt_perf_spec mt_breakpoint_spec(const struct mt_breakpoint *breakpoint, const char *what)
{
	static const uint8_t types[] = {
	    [MT_ACCESS_WRITE] = HW_BREAKPOINT_W,
	    [MT_ACCESS_READ_WRITE] = HW_BREAKPOINT_RW,
	    [MT_ACCESS_EXECUTE] = HW_BREAKPOINT_X,
	};

	return (struct mt_perf_spec){
	    .what = what,
	    .type = PERF_TYPE_BREAKPOINT,
	    .breakpoint = types[breakpoint->access],
	    .config1 = breakpoint->address,
	    .config2 = breakpoint->length,
	    .period = 1,
	    .sample_type = SAMPLE_TYPE,
	    .registers = REGISTERS,
	    .trap = true,
	};
}

/* Where a machine is short of processors, a virtual one misses a hit now and then. */
static struct mt_error *try_hits(int fd, volatile uint64_t *variable)
{
	uint64_t hits = 0;

	for (int i = 0; i < MOST_TRIES; i++) {
		(*variable)++;
		/* Who cannot tell is believed. */
		if (mt_system_read(fd, &hits, sizeof(hits)) != sizeof(hits) || hits)
			return NULL;
	}
	return mt_error_new(MT_ERROR_UNSUPPORTED, MT_BREAKPOINT_NEVER_HIT);
}

struct mt_error *mt_breakpoint_probe(size_t ring_bytes)
{
	volatile uint64_t variable = 0;
	const struct mt_breakpoint breakpoint = {.address = (uint64_t)(uintptr_t)&variable,
						 .length = sizeof(variable)};
	const struct mt_perf_spec spec = mt_breakpoint_spec(&breakpoint, "a watchpoint");
	struct mt_data_ring ring = {0};
	int fd = -1;

	mt_try(mt_perf_event_open(&spec, 0, -1, -1, &fd));
	struct mt_error *error = ring_bytes ? mt_data_ring_map(fd, ring_bytes, false, &ring) : NULL;
	if (!error)
		error = try_hits(fd, &variable);
	mt_data_ring_unmap(&ring);
	mt_system_close(fd);
	return error;
}

bool mt_breakpoint_sample(const struct perf_event_header *record, struct mt_ring_sample *sample)
{
	return record->type == PERF_RECORD_SAMPLE &&
	       mt_ring_sample_parse(record, SAMPLE_TYPE, REGISTERS, sample);
}

static void append(const uint64_t values[REGISTER_COUNT], struct mt_str *out)
{
	const char *separator = "";

	for (size_t i = 0; i < REGISTER_COUNT; i++) {
		if (!register_names[i])
			continue;
		mt_str_appendf(out, "%s%s=%#llx", separator, register_names[i],
			       (unsigned long long)values[i]);
		separator = " ";
	}
}

void mt_breakpoint_registers(const struct mt_ring_sample *sample, struct mt_str *out)
{
	uint64_t values[REGISTER_COUNT];

	if (!sample->registers)
		return;
	memcpy(values, sample->registers, sizeof(values));
	append(values, out);
}

void mt_breakpoint_registers_of(const struct user_regs_struct *registers, struct mt_str *out)
{
	const uint64_t values[REGISTER_COUNT] = {
	    registers->rax, registers->rbx, registers->rcx, registers->rdx, registers->rsi,
	    registers->rdi, registers->rbp, registers->rsp, registers->rip, registers->eflags,
	    registers->r8,  registers->r9,  registers->r10, registers->r11, registers->r12,
	    registers->r13, registers->r14, registers->r15,
	};

	append(values, out);
}
