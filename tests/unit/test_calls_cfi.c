/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The truth is the function itself, single-stepped before it is patched: what registers it has at
 * each of its instructions.  Then it is patched and stepped again, and at each instruction within
 * the trampoline libdw unwinds by our tables to one of those states, none left out; from what
 * trampolines share by way of the one that called it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <ucontext.h>

#include "engine/calls/trampoline/cfi.h"
#include "trampoline_world.h"

#define MOST_STATES 4096
#define REGISTERS   17

/* By DWARF's numbers; the last one is the PC. */
static const int greg_of[REGISTERS] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
};

struct state {
	uint64_t registers[REGISTERS];
	uint64_t saved[32]; /* the top of the stack, and what lies below it, for what was pushed */
};

#define BELOW 16

static struct state states[MOST_STATES];
static volatile size_t state_count;
static uint64_t pages_start, pages_end;

static void on_step(int signal, siginfo_t *info, void *context)
{
	const greg_t *gregs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (pc < pages_start || pc >= pages_end || state_count == MOST_STATES)
		return;
	struct state *state = &states[state_count++];
	for (int i = 0; i < REGISTERS; i++)
		state->registers[i] = (uint64_t)gregs[greg_of[i]];
	memcpy(state->saved, (const void *)(uintptr_t)(gregs[REG_RSP] - BELOW),
	       sizeof(state->saved));
}

/* Calls with TF set, from one place, so that the stack is the same each time. */
__attribute__((noinline)) static long stepped(const struct world *world, uint64_t function, long a,
					      long b)
{
	long result;

	state_count = 0;
	pages_start = (uintptr_t)world->text;
	pages_end = pages_start + 4 * PAGE;
	__asm__ volatile("lea -512(%%rsp), %%rsp\n"
			 "push %%rbp\n"
			 "xor %%ebp, %%ebp\n"
			 "xor %%eax, %%eax\n"
			 "xor %%ecx, %%ecx\n"
			 "xor %%edx, %%edx\n"
			 "pushfq\n"
			 "orl $0x100, (%%rsp)\n"
			 "popfq\n"
			 "call *%[function]\n"
			 "pushfq\n"
			 "andl $~0x100, (%%rsp)\n"
			 "popfq\n"
			 "pop %%rbp\n"
			 "lea 512(%%rsp), %%rsp\n"
			 : "=a"(result), "+D"(a), "+S"(b)
			 : [function] "b"(in_memory(world, function))
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

/* The operations of which our CFI is made. */
static uint64_t evaluate(const Dwarf_Op *ops, size_t count, const struct state *state, uint64_t cfa)
{
	uint64_t value = 0;
	bool is_value = false;

	for (size_t i = 0; i < count; i++) {
		switch (ops[i].atom) {
		case DW_OP_bregx:
			assert_in_range(ops[i].number, 0, REGISTERS - 1);
			value = state->registers[ops[i].number] + ops[i].number2;
			is_value = true;
			break;
		case DW_OP_call_frame_cfa:
			value = cfa;
			break;
		case DW_OP_plus_uconst:
			value += ops[i].number;
			break;
		case DW_OP_addr:
			value = ops[i].number;
			break;
		case DW_OP_stack_value:
			is_value = true;
			break;
		default:
			fail_msg("operation %#x", ops[i].atom);
		}
	}
	if (is_value)
		return value;
	uint64_t lowest = state->registers[7] - BELOW;
	assert_in_range(value, lowest, lowest + sizeof(state->saved) - sizeof(value));
	return state->saved[(value - lowest) / sizeof(value)];
}

/* The bytes of the stack that were seen with it are those of STATE. */
static struct state caller_state(const struct state *state, const uint64_t caller[REGISTERS])
{
	struct state out = *state;
	const uint64_t more = (caller[7] - state->registers[7]) / sizeof(out.saved[0]);

	memcpy(out.registers, caller, sizeof(out.registers));
	assert_true(more < sizeof(out.saved) / sizeof(out.saved[0]));
	memmove(out.saved, state->saved + more, sizeof(out.saved) - more * sizeof(out.saved[0]));
	return out;
}

static void unwind(Dwarf_CFI *cfi, const struct state *state, uint64_t caller[REGISTERS])
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op memory[3], *ops;
	size_t count;
	bool is_signal = false;

	assert_int_equal(dwarf_cfi_addrframe(cfi, state->registers[16], &frame), 0);
	assert_int_equal(dwarf_frame_info(frame, NULL, NULL, &is_signal), 16);
	assert_true(is_signal);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	uint64_t cfa = evaluate(ops, count, state, 0);
	for (int i = 0; i < REGISTERS; i++) {
		assert_int_equal(dwarf_frame_register(frame, i, memory, &ops, &count), 0);
		caller[i] = state->registers[i];
		if (i == 7)
			caller[i] = cfa;
		else if (count)
			caller[i] = evaluate(ops, count, state, cfa);
	}
	free(frame);
}

/* r8 to r15 are left alone by all that runs here. */
static bool is_same(const uint64_t *one, const uint64_t *other)
{
	return memcmp(one, other, 8 * sizeof(*one)) == 0 && one[16] == other[16];
}

struct build {
	struct world *world;
	uint32_t parts[8];
	size_t count;
};

static struct mt_cfi_image build_image(const struct build *build)
{
	const struct mt_cfi_hole holes[] = {{pages_start + 3 * PAGE - 64, pages_start + 78},
					    {pages_start + 3 * PAGE, pages_start + 77}};
	struct mt_cfi_config config = {
	    .code = build->world->config.address,
	    .address = build->world->config.address + 0x100000,
	    .parts = build->parts,
	    .part_count = build->count,
	    .holes = holes,
	    .hole_count = 2,
	};
	struct mt_cfi_image image;

	assert_int_equal(mt_cfi_build(&build->world->trampolines, &config, &image), 0);
	if (config.code > holes[0].address)
		mt_cfi_holes_first(image.bytes.items, config.part_count, config.hole_count);
	return image;
}

/* An object file whose only segment is the image, for libdw. */
struct object {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	uint8_t image[1 << 16];
};

static struct object *make_object(const struct build *build, const struct mt_cfi_image *image)
{
	struct object *object = calloc(1, sizeof(*object));

	assert_non_null(object);
	assert_true(image->bytes.count <= sizeof(object->image));
	object->header = (Elf64_Ehdr){
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_EXEC,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_phoff = offsetof(struct object, segment),
	    .e_ehsize = sizeof(object->header),
	    .e_phentsize = sizeof(object->segment),
	    .e_phnum = 1,
	};
	object->segment = (Elf64_Phdr){
	    .p_type = PT_GNU_EH_FRAME,
	    .p_offset = offsetof(struct object, image),
	    .p_vaddr = build->world->config.address + 0x100000,
	    .p_filesz = image->bytes.count,
	    .p_memsz = image->bytes.count,
	};
	memcpy(object->image, image->bytes.items, image->bytes.count);
	return object;
}

static void add_part(struct build *build, uint64_t address, uint8_t length, uint8_t flags)
{
	if (!build->count && build->world->trampolines.code.count)
		build->parts[build->count++] = 0; /* what is shared */
	build->parts[build->count++] = (uint32_t)build->world->trampolines.code.count;
	patch(build->world, address, length, flags, 1);
}

static void check_holes(Dwarf_CFI *cfi)
{
	struct state state = {0};
	uint64_t caller[REGISTERS];

	state.registers[16] = pages_start + 3 * PAGE;
	state.registers[7] = 0x1230;
	unwind(cfi, &state, caller);
	assert_int_equal(caller[16], pages_start + 77);
	assert_int_equal(caller[7], 0x1230);
	state.registers[16] -= 64;
	unwind(cfi, &state, caller);
	assert_int_equal(caller[16], pages_start + 78);
}

/* The states that the text itself shows, and those that are unwound to, are all of the truth, in
 * its order. */
static size_t compare(const struct build *build, const struct state *truth, size_t truth_count,
		      size_t *shared)
{
	struct mt_cfi_image image = build_image(build);
	struct object *object = make_object(build, &image);
	Elf *elf = elf_memory((char *)object, sizeof(*object));
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	size_t at = 0, inside = 0;

	assert_non_null(cfi);
	check_holes(cfi);
	for (size_t i = 0; i < state_count; i++) {
		uint64_t caller[REGISTERS];
		uint64_t offset = states[i].registers[16] - build->world->config.address;

		memcpy(caller, states[i].registers, sizeof(caller));
		if (offset < build->world->trampolines.code.count) {
			unwind(cfi, &states[i], caller);
			inside++;
		}
		if (mt_trampoline_row_at(&build->world->trampolines, 0)->phase == MT_PHASE_SHARED &&
		    offset < build->parts[1]) {
			const struct state called = caller_state(&states[i], caller);

			assert_in_range(caller[16], build->world->config.address + build->parts[1],
					build->world->config.address +
					    build->world->trampolines.code.count - 1);
			unwind(cfi, &called, caller);
			*shared += 1;
		}
		while (at < truth_count && !is_same(caller, truth[at].registers))
			at++;
		if (at == truth_count)
			fail_msg("instruction %zu, at trampoline + %#lx, gives pc %#lx", i,
				 (unsigned long)offset, (unsigned long)caller[16]);
	}
	assert_int_equal(at, truth_count - 1);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	free(object);
	mt_cfi_image_deinit(&image);
	return inside;
}

/* push rbp; mov rbp, rsp; mov edx, 3; test edi, edi; jz over; loop: sub edi, 1; jrcxz over; jnz
 * loop; over: lea rax, [rsi+rdx]; mov rcx, rax; pop rbp; ret */
#define BODY                                                                                       \
	0x55, 0x48, 0x89, 0xe5, 0xba, 3, 0, 0, 0, 0x85, 0xff, 0x74, 0x07, 0x83, 0xef, 1, 0xe3,     \
	    0x02, 0x75, 0xf9, 0x48, 0x8d, 0x04, 0x16, 0x48, 0x89, 0xc1, 0x5d, 0xc3

static void step_patched(enum mt_ring_stamps stamps, uint8_t flags, uint64_t written,
			 size_t *shared)
{
	struct world world = world_make(stamps);
	struct build build = {.world = &world};
	uint64_t f = function(&world, BODY);
	static struct state truth[MOST_STATES];

	assert_int_equal(stepped(&world, f, 2, 30), 33);
	size_t truth_count = state_count;
	memcpy(truth, states, truth_count * sizeof(*truth));
	assert_in_range(truth_count, 10, 30);

	add_part(&build, f, 9, (uint8_t)(MT_PATCH_ENTRY | flags));
	add_part(&build, f + 13, 7, 0);
	add_part(&build, f + 20, 9, (uint8_t)(MT_PATCH_RETURN | flags));
	position.written = written;
	assert_int_equal(stepped(&world, f, 2, 30), 33);
	assert_true(compare(&build, truth, truth_count, shared) > 20);
	world_end(&world);
}

static void test_every_instruction(void **state)
{
	size_t shared = 0;

	(void)state;
	for (uint64_t written = 0; written < MT_RING_LINE_BYTES; written += 8) {
		step_patched(MT_RING_SAMPLED, 0, written, &shared);
		step_patched(MT_RING_SAMPLED, MT_PATCH_STAMP, written, &shared);
	}
	assert_true(shared > 100);
	step_patched(MT_RING_FULL, 0, 0, &shared);
}

/* A displaced call: its return address lies on the stack already when the jump comes. */
static void test_calls(void **state)
{
	struct world world = world_make(MT_RING_SAMPLED);
	struct build build = {.world = &world};
	uint64_t callee = function(&world, 0x48, 0x8d, 0x47, 0x01, 0xc3);
	uint64_t f = function(&world, 0x90, 0xe8, 0, 0, 0, 0, 0xc3);
	int32_t distance = (int32_t)(callee - (f + 6));
	static struct state truth[MOST_STATES];
	size_t shared = 0;

	(void)state;
	memcpy(in_memory(&world, f) + 2, &distance, sizeof(distance));
	assert_int_equal(stepped(&world, f, 6, 0), 7);
	size_t truth_count = state_count;
	memcpy(truth, states, truth_count * sizeof(*truth));
	add_part(&build, f, 6, MT_PATCH_ENTRY);
	assert_int_equal(stepped(&world, f, 6, 0), 7);
	assert_true(compare(&build, truth, truth_count, &shared) > 5);
	world_end(&world);
}

static void test_nothing_to_tell(void **state)
{
	struct mt_trampolines none = {0};
	struct mt_cfi_config config = {.code = 0x1000, .address = 0x2000};
	struct mt_cfi_image image;

	(void)state;
	assert_int_equal(mt_cfi_build(&none, &config, &image), 0);
	mt_cfi_image_deinit(&image);
}

static void test_too_far(void **state)
{
	struct mt_trampolines none = {0};
	const struct mt_cfi_hole hole = {0x4000, 0x5000};
	struct mt_cfi_config config = {
	    .code = 0x1000, .address = 1ull << 33, .holes = &hole, .hole_count = 1};
	struct mt_cfi_image image;

	(void)state;
	assert_int_equal(mt_cfi_build(&none, &config, &image), -1);
	assert_null(image.bytes.items);
}

static int set_up(void **state)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	(void)state;
	elf_version(EV_CURRENT);
	return sigaction(SIGTRAP, &action, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_instruction),
	    cmocka_unit_test(test_calls),
	    cmocka_unit_test(test_nothing_to_tell),
	    cmocka_unit_test(test_too_far),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
