/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The unwinder on this process: against libgcc's, by way of backtrace(3); and on stacks that are
 * made up.  tests/elf holds it to GDB. */
#include "space/unwind.h"

#include "unit.h"

#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST 256

static struct mt_space_pool *pool;
static struct mt_space *space;

static int open_space(void **state)
{
	char line[4096], path[4096], execute;
	struct mt_mapping mapping = {.path = path};
	FILE *maps = fopen("/proc/self/maps", "r");

	(void)state;
	assert_no_error(mt_space_pool_create(NULL, &pool));
	assert_no_error(mt_space_create(pool, getpid(), &space));
	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %4095s",
		       &mapping.start, &mapping.end, &execute, &mapping.offset, path);
		if (execute == 'x' && path[0] == '/')
			assert_no_error(mt_space_add(space, &mapping));
	}
	if (maps)
		fclose(maps);
	return 0;
}

static int close_space(void **state)
{
	(void)state;
	mt_space_destroy(space);
	mt_space_pool_destroy(pool);
	return 0;
}

/* By way of the kernel, so that no sanitizer minds. */
static size_t read_own(void *context, uint64_t address, void *buffer, size_t size)
{
	ssize_t got = pread(*(const int *)context, buffer, size, (off_t)address);

	return got > 0 ? (size_t)got : 0;
}

static struct mt_registers registers_of(const ucontext_t *context)
{
	const greg_t *g = context->uc_mcontext.gregs;
	const struct user_regs_struct user = {
	    .rbx = (uint64_t)g[REG_RBX],
	    .rbp = (uint64_t)g[REG_RBP],
	    .rsp = (uint64_t)g[REG_RSP],
	    .r12 = (uint64_t)g[REG_R12],
	    .r13 = (uint64_t)g[REG_R13],
	    .r14 = (uint64_t)g[REG_R14],
	    .r15 = (uint64_t)g[REG_R15],
	    .rip = (uint64_t)g[REG_RIP],
	};

	return mt_registers_of(&user);
}

struct seen {
	uint64_t pcs[MOST];
	size_t count;
	void *truth[MOST];
	int true_count;
	size_t signals;
	uint64_t restorer; /* where the handler returns to */
};

__attribute__((noinline)) static void look(struct seen *seen)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	const struct mt_unwind_source source = {
	    .space = space, .read = read_own, .context = &memory};
	struct mt_unwinder unwinder;
	struct mt_unwind_frame frame;
	ucontext_t context;

	getcontext(&context);
	struct mt_registers registers = registers_of(&context);
	seen->true_count = backtrace(seen->truth, MOST);
	mt_unwind_start(&unwinder, &source, &registers);
	while (seen->count < MOST && mt_unwind_next(&unwinder, &frame)) {
		seen->pcs[seen->count++] = frame.pc;
		seen->signals += frame.signal;
		if (frame.signal)
			seen->restorer = frame.pc;
	}
	close(memory);
	assert_int_equal(unwinder.end, MT_UNWIND_OUTERMOST);
}

/* Both stand in look(), each at a place of its own; a sanitizer's backtrace() is one call deeper.
 */
static void check(const struct seen *seen)
{
	size_t deeper = (size_t)seen->true_count - seen->count;

	assert_in_range(deeper, 0, 1);
	assert_true(seen->count > 2);
	for (size_t i = 1; i < seen->count; i++)
		assert_int_equal(seen->pcs[i], (uintptr_t)seen->truth[i + deeper]);
}

static void as_libgcc_does(void **state)
{
	struct seen seen = {0};

	(void)state;
	look(&seen);
	check(&seen);
	assert_int_equal(seen.signals, 0);
}

static struct seen in_handler;

static void on_signal(int number)
{
	(void)number;
	look(&in_handler);
}

static void out_of_a_signal_handler(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	check(&in_handler);
	assert_int_equal(in_handler.signals, 1);
}

/* A stack that somebody made up: WORDS, from STACK on. */
#define STACK 0x7000000000ull

struct made {
	const uint64_t *words;
	size_t count;
	uint64_t again; /* not 0: the words come again and again */
};

static size_t read_made(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct made *made = context;
	uint64_t at = address - STACK;
	size_t done = 0;

	if (address < STACK || address % 8)
		return 0;
	for (; done + 8 <= size; done += 8, at += 8) {
		if (at / 8 >= made->count && !made->again)
			break;
		memcpy((char *)buffer + done, &made->words[at / 8 % made->count], 8);
	}
	return done;
}

static struct mt_registers standing_at(uint64_t pc)
{
	const struct user_regs_struct user = {.rip = pc, .rsp = STACK, .rbp = STACK};

	return mt_registers_of(&user);
}

static size_t count_frames(struct mt_unwinder *unwinder, const struct made *made, uint64_t pc,
			   size_t most)
{
	const struct mt_unwind_source source = {
	    .space = space, .read = read_made, .context = (void *)made};
	struct mt_registers registers = standing_at(pc);
	struct mt_unwind_frame frame;
	size_t count = 0;

	mt_unwind_start(unwinder, &source, &registers);
	while (count < most && mt_unwind_next(unwinder, &frame))
		count++;
	return count;
}

/* A call by a pointer that leads nowhere: the caller is known by what the call pushed. */
static void a_wild_call(void **state)
{
	const uint64_t words[] = {(uint64_t)(uintptr_t)as_libgcc_does + 1, 1, 2, 3};
	const struct made made = {words, 4, 0};
	struct mt_unwinder unwinder;

	(void)state;
	assert_in_range(count_frames(&unwinder, &made, 0, MOST), 2, 3);
}

static void nothing_to_read(void **state)
{
	const struct made made = {NULL, 0, 0};
	struct mt_unwinder unwinder;

	(void)state;
	assert_int_equal(count_frames(&unwinder, &made, (uint64_t)(uintptr_t)as_libgcc_does, MOST),
			 1);
	assert_int_equal(unwinder.end, MT_UNWIND_BAD_STACK);
	assert_int_equal(count_frames(&unwinder, &made, 0x1234, MOST), 1);
	assert_int_equal(unwinder.end, MT_UNWIND_NO_TABLE);
}

/* Signal frames may lead anywhere, back to themselves too. */
static void a_ring_of_signal_frames(void **state)
{
	uint64_t words[512], restorer = in_handler.restorer;
	struct made made = {words, 512, 1};
	struct mt_unwinder unwinder;

	(void)state;
	for (size_t i = 0; i < 512; i++)
		words[i] = restorer;
	/* The interrupted stack pointer leads into the same words. */
	words[20] = STACK;
	assert_in_range(count_frames(&unwinder, &made, restorer, 100000), 2, 1100);
	assert_int_equal(unwinder.end, MT_UNWIND_BAD_STACK);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Return addresses into any code, frame pointers to anywhere: it ends. */
static void garbage(void **state)
{
	uint64_t words[1024], seed = 42;
	const struct made made = {words, 1024, 0};
	size_t mappings = mt_space_mapping_count(space);
	struct mt_unwinder unwinder;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 1024; i++) {
			const struct mt_mapping *mapping =
			    mt_space_mapping(space, next_random(&seed) % mappings);
			uint64_t random = next_random(&seed);

			words[i] = random % 8 == 0
				       ? STACK + random % 8192
				       : mapping->start + random % (mapping->end - mapping->start);
		}
		assert_in_range(count_frames(&unwinder, &made, words[0], 100000), 1, 20000);
	}
}

/* The kernel is asked with the return address in a register, and nothing of it on the stack. */
static void out_of_vfork(void **state)
{
	static const uint8_t syscall_bytes[] = {0x0f, 0x05};
	const uint8_t *code = (const uint8_t *)(uintptr_t)vfork;
	const uint8_t *found = memmem(code, 64, syscall_bytes, sizeof(syscall_bytes));
	const uint64_t words[] = {0, 0}, caller = (uint64_t)(uintptr_t)as_libgcc_does + 1;
	const struct made made = {words, 2, 0};
	const struct mt_unwind_source source = {
	    .space = space, .read = read_made, .context = (void *)&made};
	struct mt_registers registers = standing_at((uint64_t)(uintptr_t)found + 2);
	struct mt_unwind_frame frame;
	struct mt_unwinder unwinder;

	(void)state;
	if (!found || code[0] != 0x5f) /* pop %rdi: glibc's */
		skip();
	registers.values[MT_REGISTER_RDI] = caller;
	mt_unwind_start(&unwinder, &source, &registers);
	assert_true(mt_unwind_next(&unwinder, &frame));
	assert_int_equal(frame.cfa, STACK);
	assert_true(mt_unwind_next(&unwinder, &frame));
	assert_int_equal(frame.pc, caller);
	assert_int_equal(frame.registers.values[MT_REGISTER_RSP], STACK);
}

static void mend(void *context, struct mt_registers *registers)
{
	(void)context;
	registers->values[MT_REGISTER_RIP] = 0;
	registers->values[MT_REGISTER_RSP] = STACK + 16;
}

static void registers_are_put_right_first(void **state)
{
	const uint64_t words[] = {0, 0, (uint64_t)(uintptr_t)as_libgcc_does + 1, 0};
	const struct made made = {words, 4, 0};
	const struct mt_unwind_source source = {
	    .space = space, .read = read_made, .mend = mend, .context = (void *)&made};
	struct mt_registers registers = standing_at(0x1234);
	struct mt_unwind_frame frame;
	struct mt_unwinder unwinder;

	(void)state;
	mt_unwind_start(&unwinder, &source, &registers);
	assert_true(mt_unwind_next(&unwinder, &frame));
	assert_int_equal(frame.pc, 0);
	assert_int_equal(frame.cfa, STACK + 24);
	assert_true(mt_unwind_next(&unwinder, &frame));
	assert_int_equal(frame.pc, words[2]);
	assert_false(frame.exact);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(as_libgcc_does),
	    cmocka_unit_test(out_of_a_signal_handler),
	    cmocka_unit_test(a_wild_call),
	    cmocka_unit_test(nothing_to_read),
	    cmocka_unit_test(a_ring_of_signal_frames),
	    cmocka_unit_test(garbage),
	    cmocka_unit_test(out_of_vfork),
	    cmocka_unit_test(registers_are_put_right_first),
	};

	return cmocka_run_group_tests(tests, open_space, close_space);
}
