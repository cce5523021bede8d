/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The world of test_calls_condition.c: a function whose code is never run, the memory that its
 * parameters lead to, and a thread that comes to its entry with chosen registers, by way of a
 * compiled condition. */
#ifndef MT_TESTS_CONDITION_WORLD_H
#define MT_TESTS_CONDITION_WORLD_H

#include "unit.h"

#include "engine/calls/condition/condition.h"
#include "process/proc.h"
#include "values/user.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096u

/* ---- The function, and what it takes ---- */

enum colour { RED = -1, GREEN, BLUE = 7 };

struct inner {
	int8_t tiny;
	uint16_t table[3];
};

struct subject {
	int64_t wide;
	uint32_t flags;
	int low : 3;
	unsigned middle : 13;
	int64_t high : 33;
	struct inner inner;
	struct subject *next;
	const char *name;
	_Bool is_set;
	enum colour colour;
	union {
		int number;
		uint8_t bytes[4];
	};
	double weight;
	float share[2];
	long double exact;
};

struct pair {
	int first;
	short second, third;
	unsigned char fourth;
};

int condition_global = 5;
struct subject condition_subject = {.wide = 12, .flags = 3};

/* Its code is never run. */
int condition_target(int x, unsigned u, signed char c, unsigned short h, struct subject *s,
		     struct pair pair, long stacked, unsigned char byte, const int *numbers,
		     double real, float narrow, long double passed);
__attribute__((noipa, optimize("O0"))) int
condition_target(int x, unsigned u, signed char c, unsigned short h, struct subject *s,
		 struct pair pair, long stacked, unsigned char byte, const int *numbers,
		 double real, float narrow, long double passed)
{
	return (int)real + (int)narrow + (int)passed + x + (int)u + c + h + s->low + pair.first +
	       (int)stacked + byte + *numbers;
}

/* ---- A thread that comes to it ---- */

static uint64_t registers[17] __attribute__((used)),
    after[17] __attribute__((used)); /* by DWARF's numbers */
static uint64_t vectors[16][2] __attribute__((used)), vectors_after[16][2] __attribute__((used));
static uint64_t outcome __attribute__((used));
static uint64_t own_stack __attribute__((used));
static uint64_t code_address __attribute__((used));
static uint64_t pages[MT_CONDITION_PAGES];
static struct mt_ring_position slot = {.pages = (uintptr_t)pages};
static struct mt_condition_errors errors;
static uint32_t alive = 1;

void condition_enter(void);
void condition_hit(void);
void condition_miss(void);
__asm__(".text\n"
	".globl condition_enter, condition_hit, condition_miss\n"
	"condition_enter:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	mov %rsp, own_stack(%rip)\n"
	"	mov registers+0(%rip), %rax; mov registers+8(%rip), %rdx\n"
	"	mov registers+16(%rip), %rcx; mov registers+24(%rip), %rbx\n"
	"	mov registers+32(%rip), %rsi; mov registers+40(%rip), %rdi\n"
	"	mov registers+48(%rip), %rbp; mov registers+56(%rip), %rsp\n"
	"	mov registers+64(%rip), %r8; mov registers+72(%rip), %r9\n"
	"	mov registers+80(%rip), %r10; mov registers+88(%rip), %r11\n"
	"	mov registers+96(%rip), %r12; mov registers+104(%rip), %r13\n"
	"	mov registers+112(%rip), %r14; mov registers+120(%rip), %r15\n"
	"	movups vectors+0(%rip), %xmm0; movups vectors+16(%rip), %xmm1\n"
	"	movups vectors+32(%rip), %xmm2; movups vectors+48(%rip), %xmm3\n"
	"	movups vectors+64(%rip), %xmm4; movups vectors+80(%rip), %xmm5\n"
	"	movups vectors+96(%rip), %xmm6; movups vectors+112(%rip), %xmm7\n"
	"	movups vectors+128(%rip), %xmm8; movups vectors+144(%rip), %xmm9\n"
	"	movups vectors+160(%rip), %xmm10; movups vectors+176(%rip), %xmm11\n"
	"	movups vectors+192(%rip), %xmm12; movups vectors+208(%rip), %xmm13\n"
	"	movups vectors+224(%rip), %xmm14; movups vectors+240(%rip), %xmm15\n"
	"	jmp *code_address(%rip)\n"
	"condition_hit:\n"
	"	movq $1, outcome(%rip)\n"
	"	jmp 1f\n"
	"condition_miss:\n"
	"	movq $0, outcome(%rip)\n"
	"1:	mov %rax, after+0(%rip); mov %rdx, after+8(%rip)\n"
	"	mov %rcx, after+16(%rip); mov %rbx, after+24(%rip)\n"
	"	mov %rsi, after+32(%rip); mov %rdi, after+40(%rip)\n"
	"	mov %rbp, after+48(%rip); mov %rsp, after+56(%rip)\n"
	"	mov %r8, after+64(%rip); mov %r9, after+72(%rip)\n"
	"	mov %r10, after+80(%rip); mov %r11, after+88(%rip)\n"
	"	mov %r12, after+96(%rip); mov %r13, after+104(%rip)\n"
	"	mov %r14, after+112(%rip); mov %r15, after+120(%rip)\n"
	"	movups %xmm0, vectors_after+0(%rip); movups %xmm1, vectors_after+16(%rip)\n"
	"	movups %xmm2, vectors_after+32(%rip); movups %xmm3, vectors_after+48(%rip)\n"
	"	movups %xmm4, vectors_after+64(%rip); movups %xmm5, vectors_after+80(%rip)\n"
	"	movups %xmm6, vectors_after+96(%rip); movups %xmm7, vectors_after+112(%rip)\n"
	"	movups %xmm8, vectors_after+128(%rip); movups %xmm9, vectors_after+144(%rip)\n"
	"	movups %xmm10, vectors_after+160(%rip); movups %xmm11, vectors_after+176(%rip)\n"
	"	movups %xmm12, vectors_after+192(%rip); movups %xmm13, vectors_after+208(%rip)\n"
	"	movups %xmm14, vectors_after+224(%rip); movups %xmm15, vectors_after+240(%rip)\n"
	"	mov own_stack(%rip), %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n");

static uint8_t *code_page, *stack, *edge; /* edge: behind it nothing is mapped */

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	static int memory = -1;

	(void)context;
	if (memory < 0)
		memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t got = pread(memory, buffer, size, (off_t)address);
	return got > 0 ? (size_t)got : 0;
}

static bool get_register(void *context, unsigned number, void *bytes, size_t size)
{
	(void)context;
	if (number >= MT_REGISTER_XMM0 && number < MT_REGISTER_XMM0 + 16) {
		assert_true(size <= sizeof(*vectors));
		memcpy(bytes, vectors[number - MT_REGISTER_XMM0], size);
		return true;
	}
	if (number >= 17)
		return false;
	memcpy(bytes, &registers[number], size);
	return true;
}

static const struct mt_expr_ops ops = {.read = read_memory, .get_register = get_register};
static struct mt_space_pool *pool;
static struct mt_space *space;
static struct mt_expr_program *program;
static struct mt_expr_frame frame = {.ops = &ops, .at_entry = true};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	const struct mt_mapping mapping = {
	    .start = map->start, .end = map->end, .offset = map->offset, .path = map->path};

	(void)context;
	return map->executable && map->path[0] == '/' ? mt_space_add(space, &mapping) : NULL;
}

static void jump_to(uint8_t *at, uint64_t target)
{
	static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp [rip] */

	memcpy(at, jump, sizeof(jump));
	memcpy(at + sizeof(jump), &target, sizeof(target));
}

static int begin(void **state)
{
	(void)state;
	code_page = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code_page == MAP_FAILED || stack == MAP_FAILED || edge == MAP_FAILED)
		return -1;
	munmap(edge + PAGE, PAGE);
	edge += PAGE;
	frame.pc = frame.next_pc = (uintptr_t)condition_target;
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, &slot), 0);
	assert_no_error(mt_space_pool_create(NULL, &pool));
	assert_no_error(mt_space_create(pool, getpid(), &space));
	assert_no_error(mt_proc_each_map(getpid(), see_map, NULL));
	assert_no_error(mt_expr_program_create(space, &program));
	return 0;
}

static int end(void **state)
{
	(void)state;
	mt_expr_program_destroy(program);
	mt_space_destroy(space);
	mt_space_pool_destroy(pool);
	return 0;
}

/* What is no code, behind all of it. */
#define TRAMPOLINE (7 * PAGE + 64)

/* To where run() comes.  Behind the recording of an entry is where the condition holds. */
static void place_code(const struct mt_condition *code)
{
	const uint32_t distance = 7 * PAGE - (code->miss + 4);
	const uint32_t size = (uint32_t)code->trampolines.code.count;
	const uint32_t behind = size - (code->behind + 4);
	const uint32_t recording = TRAMPOLINE - (code->recording + 5);

	assert_true(size < 7 * PAGE);
	memcpy(code_page, code->trampolines.code.items, size);
	jump_to(code_page + size, (uintptr_t)condition_hit);
	jump_to(code_page + 7 * PAGE, (uintptr_t)condition_miss);
	memcpy(code_page + code->miss, &distance, sizeof(distance));
	if (code->behind) {
		memcpy(code_page + code->behind, &behind, sizeof(behind));
		memcpy(code_page + code->recording, &recording, sizeof(recording));
	}
	code_address = (uintptr_t)code_page;
}

static inline struct mt_error *compile(const struct mt_expr *expr, struct mt_condition *out)
{
	const struct mt_condition_place place = {
	    .entry = frame.pc, .alive = (uintptr_t)&alive, .errors = (uintptr_t)&errors};

	mt_try(mt_condition_compile(expr, &place, out));
	place_code(out);
	return NULL;
}

static bool run(void)
{
	const unsigned control = __builtin_ia32_stmxcsr();

	condition_enter();
	assert_memory_equal(vectors_after, vectors, sizeof(vectors));
	assert_int_equal(__builtin_ia32_stmxcsr(), control);
	for (size_t i = 0; i < 16; i++)
		if (registers[i] != after[i])
			fail_msg("register %zu is 0x%llx and not 0x%llx", i,
				 (unsigned long long)after[i], (unsigned long long)registers[i]);
	return outcome;
}

/* ---- Values ---- */

static uint64_t number(void)
{
	static const uint64_t edges[] = {0,          1,          2,   5,   (uint64_t)-1, 0x7fffffff,
					 0x80000000, 0xffffffff, 127, 128, 255,          INT64_MIN};

	return rand() % 3 ? edges[(size_t)rand() % (sizeof(edges) / sizeof(*edges))]
			  : (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
}

static double real(void)
{
	static const double edges[] = {
	    0,        -0.0,           1,        2.5,       -7,     0.1,
	    -1e300,   1e-310,         5e-324,   1e-40,     -1e-45, 0x1p-126,
	    16777217, 0x1.fffffep127, INFINITY, -INFINITY, NAN,    2147483647};
	double number = edges[(size_t)rand() % (sizeof(edges) / sizeof(*edges))];
	uint64_t bits;

	if (rand() % 4 == 0) {
		bits = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
		memcpy(&number, &bits, sizeof(number));
	}
	return number;
}

static uint32_t float_bits(void)
{
	const float value = (float)real();
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return rand() % 4 ? bits : (uint32_t)rand();
}

/* Bits of long doubles, among which are what is no number in many ways. */
#define EXTENDED_EDGES 96u
static long double extended_edge(size_t index)
{
	static const uint16_t exponents[] = {0, 1, 0x3bcd, 0x3c00, 0x3fff, 0x4000, 0x403e, 0x7fff};
	static const uint64_t mantissas[] = {0, 1, 1ull << 63, 3ull << 62, 5ull << 61, UINT64_MAX};
	const uint16_t exponent = exponents[index / 2 / 6] | (uint16_t)(index % 2 << 15);
	long double value = 0;

	memcpy(&value, &mantissas[index / 2 % 6], sizeof(*mantissas));
	memcpy((uint8_t *)&value + sizeof(*mantissas), &exponent, sizeof(exponent));
	return value;
}

static long double extended(void)
{
	switch (rand() % 4) {
	case 0:
		return real();
	case 1:
		return (long double)(int64_t)number();
	default:
		return extended_edge((size_t)rand() % EXTENDED_EDGES);
	}
}

static struct subject subjects[4];
static int numbers[8];
static const char name[] = "#name";

/* The long double, on the stack. */
static void pass(long double value)
{
	memcpy((uint8_t *)registers[MT_REGISTER_RSP] + 40, &value, 10);
}

static void fill(void)
{
	struct pair pair = {.first = (int)number(),
			    .second = (short)number(),
			    .third = (short)number(),
			    .fourth = (unsigned char)number()};
	uint64_t parts[2] = {0}, pointer;
	const double wide = real();

	for (size_t i = 0; i < 4; i++)
		subjects[i] = (struct subject){
		    .wide = (int64_t)number(),
		    .flags = (uint32_t)number(),
		    .low = (int)number() & 3,
		    .middle = (unsigned)number() & 0x1fff,
		    .high = (int64_t)number() >> 32,
		    .inner = {(int8_t)number(), {(uint16_t)number(), (uint16_t)number(), 3}},
		    .next = rand() % 3 ? &subjects[rand() % 4] : NULL,
		    .name = rand() % 3 ? name : (char *)edge,
		    .is_set = rand() % 2,
		    .colour = rand() % 2 ? RED : BLUE,
		    .number = (int)number(),
		    .weight = real(),
		    .share = {(float)real(), (float)real()},
		    .exact = extended(),
		};
	for (size_t i = 0; i < 8; i++)
		numbers[i] = (int)number();
	for (size_t i = 0; i < 16; i++)
		registers[i] = number();
	for (size_t i = 0; i < 16; i++) {
		vectors[i][0] = number();
		vectors[i][1] = (uint64_t)float_bits() << 32 | float_bits();
	}
	memcpy(vectors[0], &wide, sizeof(wide));
	memcpy(&vectors[9][1], &wide, sizeof(wide));
	vectors[1][0] = float_bits();
	memcpy(parts, &pair, sizeof(pair));
	registers[MT_REGISTER_RSP] = (uintptr_t)stack + 12 * PAGE + 8;
	pointer = rand() % 8   ? (uintptr_t)&subjects[rand() % 4]
		  : rand() % 2 ? 0
			       : (uintptr_t)edge - 16;
	registers[MT_REGISTER_R8] = pointer; /* s */
	/* pair needs two registers, and there is one: */
	uint64_t *above = (uint64_t *)registers[MT_REGISTER_RSP];
	above[1] = parts[0];
	above[2] = parts[1];
	registers[MT_REGISTER_R9] = number(); /* stacked */
	above[3] = number();                  /* byte */
	above[4] = (uintptr_t)numbers;
	pass(extended());
}

#endif
