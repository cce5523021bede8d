/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions that are compiled equal their evaluation: generated expressions over the parameters of
 * a function here, run with chosen registers and compared. */
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

#define PAGE        4096u
#define EXPRESSIONS 6000
#define CALLS       4 /* of each */

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
		     double real, float narrow);
__attribute__((noipa, optimize("O0"))) int condition_target(int x, unsigned u, signed char c,
							    unsigned short h, struct subject *s,
							    struct pair pair, long stacked,
							    unsigned char byte, const int *numbers,
							    double real, float narrow)
{
	return (int)real + (int)narrow + x + (int)u + c + h + s->low + pair.first + (int)stacked +
	       byte + *numbers;
}

/* ---- A thread that comes to it ---- */

static uint64_t registers[17] __attribute__((used)),
    after[17] __attribute__((used));              /* by DWARF's numbers */
static uint64_t vectors[2] __attribute__((used)); /* xmm0 and xmm1, their lower halves */
static uint64_t vectors_after[2] __attribute__((used));
static uint64_t outcome __attribute__((used));
static uint64_t own_stack __attribute__((used));
static uint64_t code_address __attribute__((used));
static struct mt_ring_position slot;
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
	"	movq vectors+0(%rip), %xmm0; movq vectors+8(%rip), %xmm1\n"
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
	"	movq %xmm0, vectors_after+0(%rip); movq %xmm1, vectors_after+8(%rip)\n"
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
	if (number == MT_REGISTER_XMM0 || number == MT_REGISTER_XMM0 + 1) {
		memset(bytes, 0, size);
		memcpy(bytes, &vectors[number - MT_REGISTER_XMM0], size < 8 ? size : 8);
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

static struct mt_error *compile(const struct mt_expr *expr, struct mt_condition *out)
{
	const struct mt_condition_place place = {
	    .entry = frame.pc, .alive = (uintptr_t)&alive, .errors = (uintptr_t)&errors};
	uint32_t distance;

	mt_try(mt_condition_compile(expr, &place, out));
	assert_true(out->trampolines.code.count < 7 * PAGE);
	memcpy(code_page, out->trampolines.code.items, out->trampolines.code.count);
	jump_to(code_page + out->trampolines.code.count, (uintptr_t)condition_hit);
	jump_to(code_page + 7 * PAGE, (uintptr_t)condition_miss);
	distance = 7 * PAGE - (out->miss + 4);
	memcpy(code_page + out->miss, &distance, sizeof(distance));
	code_address = (uintptr_t)code_page;
	return NULL;
}

static bool run(void)
{
	const uint64_t before[2] = {vectors[0], vectors[1]};
	const unsigned control = __builtin_ia32_stmxcsr();

	condition_enter();
	assert_memory_equal(vectors_after, before, sizeof(before));
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

static struct subject subjects[4];
static int numbers[8];
static const char name[] = "#name";

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
		};
	for (size_t i = 0; i < 8; i++)
		numbers[i] = (int)number();
	for (size_t i = 0; i < 16; i++)
		registers[i] = number();
	memcpy(&vectors[0], &wide, sizeof(wide));
	vectors[1] = float_bits();
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
}

/* ---- Expressions ---- */

static void write_number(struct mt_str *out, unsigned depth)
{
	static const char *const leaves[] = {
	    "x",
	    "u",
	    "c",
	    "h",
	    "stacked",
	    "byte",
	    "$rdi",
	    "$eax",
	    "s->wide",
	    "s->flags",
	    "s->low",
	    "s->middle",
	    "s->high",
	    "s->inner.tiny",
	    "s->inner.table[1]",
	    "s->next->wide",
	    "s->next->next->flags",
	    "*s->name",
	    "s->name[1]",
	    "s->is_set",
	    "s->colour",
	    "s->number",
	    "s->bytes[2]",
	    "pair.first",
	    "pair.second",
	    "pair.third",
	    "pair.fourth",
	    "numbers[2]",
	    "*numbers",
	    "numbers[x & 7]",
	    "condition_global",
	    "condition_subject.flags",
	    "sizeof(*s)",
	    "RED",
	    "BLUE",
	    "'a'",
	    "(&s->next->flags)[1]",
	    "(long)&s->flags",
	    "*(short *)&s->wide",
	    "s->next - s",
	    "(long)$rsp",
	    "(s + 1) - s",
	    "7",
	    "-1",
	    "0x80000000",
	    "3000000000",
	    "1",
	};
	static const char *const operators[] = {"+", "-",  "*",  "/", "%",  "&",  "|",
						"^", "<<", ">>", "<", "==", "&&", "||"};
	static const char *const casts[] = {
	    "(int)", "(unsigned char)", "(long)", "(short)", "(unsigned)", "-", "~",
	    "!",     "(_Bool)"};

	if (!depth || rand() % 4 == 0) {
		mt_str_append(out, leaves[(size_t)rand() % (sizeof(leaves) / sizeof(*leaves))]);
	} else if (rand() % 4 == 0) {
		mt_str_append(out, casts[(size_t)rand() % (sizeof(casts) / sizeof(*casts))]);
		mt_str_append(out, "(");
		write_number(out, depth - 1);
		mt_str_append(out, ")");
	} else {
		mt_str_append(out, "(");
		write_number(out, depth - 1);
		mt_str_appendf(
		    out, ") %s (",
		    operators[(size_t)rand() % (sizeof(operators) / sizeof(*operators))]);
		write_number(out, depth - 1);
		mt_str_append(out, ")");
	}
}

/* What is computed of floating-point numbers. */
static void write_sum(struct mt_str *out, unsigned depth)
{
	static const char *const leaves[] = {
	    "real", "narrow", "s->weight", "s->share[0]", "s->share[x & 1]",
	    "2.5",  "0.1",    "0.1f",      "1e-45",       "16777217",
	    "3",    "x",      "s->wide",   "s->flags",    "s->next->weight",
	    "h",    "1.5f"};
	static const char *const casts[] = {"-",      "(float)", "(double)", "+",      "(int)",
					    "(long)", "(short)", "(float)",  "(_Bool)"};
	static const char *const operators[] = {"+", "-", "*", "/"};

	if (!depth || rand() % 5 == 0) {
		mt_str_append(out, leaves[(size_t)rand() % (sizeof(leaves) / sizeof(*leaves))]);
	} else if (rand() % 4 == 0) {
		mt_str_append(out, casts[(size_t)rand() % (sizeof(casts) / sizeof(*casts))]);
		mt_str_append(out, "(");
		write_sum(out, depth - 1);
		mt_str_append(out, ")");
	} else if (rand() % 8 == 0) {
		mt_str_append(out, "(x > 3 ? s->weight : real * 2)");
	} else {
		mt_str_append(out, "(");
		write_sum(out, depth - 1);
		mt_str_appendf(out, ") %s (", operators[rand() % 4]);
		write_sum(out, depth - 1);
		mt_str_append(out, ")");
	}
}

/* Comparisons of floating-point numbers. */
static void write_real(struct mt_str *out)
{
	static const char *const leaves[] = {"real",
					     "narrow",
					     "s->weight",
					     "s->share[0]",
					     "s->share[x & 1]",
					     "-real",
					     "-s->share[1]",
					     "s->next->weight",
					     "2.5",
					     "0.1",
					     "0.1f",
					     "-1",
					     "0",
					     "1e-45",
					     "16777217",
					     "h",
					     "c",
					     "*(double *)&s->weight"};
	static const char *const whole[] = {
	    "x",       "u",       "s->flags", "x + 1",     "s->low",
	    "stacked", "s->wide", "s->high",  "s->is_set", "(unsigned long)s->wide"};
	static const char *const reals[] = {"real", "s->weight", "-real",       "1e9",
					    "0.5",  "narrow",    "s->share[0]", "0.1f"};
	static const char *const operators[] = {"<", ">", "<=", ">=", "==", "!="};
	const char *operation = operators[(size_t)rand() % 6];

	if (rand() % 2) {
		write_sum(out, 3);
		mt_str_appendf(out, " %s ", operation);
		write_sum(out, 2);
		return;
	}
	if (rand() % 8 == 0)
		mt_str_appendf(out, "%s%s", rand() % 2 ? "!" : "",
			       rand() % 2 ? "real" : "s->share[0]");
	else if (rand() % 4 == 0)
		mt_str_appendf(out, "%s %s %s", whole[rand() % 10], operation, reals[rand() % 8]);
	else
		mt_str_appendf(out, "%s %s %s", leaves[rand() % 9], operation,
			       leaves[(size_t)rand() % (sizeof(leaves) / sizeof(*leaves))]);
}

static void write_condition(struct mt_str *out)
{
	static const char *const operators[] = {"<", ">", "<=", ">=", "==", "!=", "&&", "||", "&"};
	static const char *const pointers[] = {
	    "s == s->next",    "s",           "!s",
	    "s->name != 0",    "s < s->next", "s->next && s->next->is_set",
	    "s->name == $r10", "&s->inner"};

	if (rand() % 10 == 0) {
		mt_str_append(out,
			      pointers[(size_t)rand() % (sizeof(pointers) / sizeof(*pointers))]);
		return;
	}
	if (rand() % 5 == 0) {
		write_real(out);
		if (rand() % 2)
			return;
		mt_str_append(out, rand() % 2 ? " && " : " || ");
		write_real(out);
		return;
	}
	if (rand() % 10 == 0) {
		mt_str_append(out, "((");
		write_number(out, 1);
		mt_str_append(out, ") ? x : (int)(");
		write_number(out, 2);
		mt_str_append(out, ")) > ");
		write_number(out, 1);
		return;
	}
	write_number(out, 3);
	mt_str_appendf(out, " %s ",
		       operators[(size_t)rand() % (sizeof(operators) / sizeof(*operators))]);
	write_number(out, 2);
}

static void compare_call(const char *text, struct mt_expr *expr)
{
	bool is_true = false, hit;
	struct mt_error *error;

	fill();
	errors = (struct mt_condition_errors){0};
	memset(slot.pages, 0, sizeof(slot.pages));
	hit = run();
	error = mt_expr_is_true(expr, &frame, &is_true);
	if (error && (hit || errors.reads + errors.divisions != 1))
		fail_msg("%s: %s, and not %s", text, mt_error_message(error),
			 hit ? "true" : "false");
	if (!error && (hit != is_true || errors.reads || errors.divisions))
		fail_msg("%s: %d, and not %d; %u, %u errors", text, hit, is_true, errors.reads,
			 errors.divisions);
	mt_error_destroy(error);
}

/* Whether it could be compiled. */
static bool compare(const char *text)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;
	struct mt_error *error;
	bool is_compiled;

	assert_no_error(mt_expr_parse(program, &frame, text, &expr));
	error = compile(expr, &condition);
	is_compiled = !error;
	for (unsigned i = 0; i < CALLS && is_compiled; i++)
		compare_call(text, expr);
	if (error && mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		fail_msg("%s: %s", text, mt_error_message(error));
	mt_error_destroy(error);
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
	return is_compiled;
}

static void test_equals_evaluation(void **state)
{
	unsigned compiled = 0;

	(void)state;
	srand(13);
	for (unsigned i = 0; i < EXPRESSIONS; i++) {
		mt_auto(mt_str) struct mt_str text = {0};

		write_condition(&text);
		compiled += compare(text.text);
	}
	/* The others are too complex. */
	assert_true(compiled > EXPRESSIONS * 95 / 100);
}

/* Of a number, what a condition of test_rounds_as_c_does() compares it with: as double, float. */
static void round_number(size_t which, uint64_t number)
{
	const double wide = which == 0 ? (double)(int64_t)number : (double)number;
	const float narrow = which == 2   ? (float)(int64_t)number
			     : which == 3 ? (float)number
			     : which == 4 ? (float)(int32_t)number
					  : (float)(uint32_t)number;
	uint32_t bits;

	memcpy(&bits, &narrow, sizeof(bits));
	memcpy(&vectors[0], &wide, sizeof(wide));
	vectors[1] = bits;
}

/* Around halves between what a float, and a double, can be. */
static void compare_rounded(size_t which, unsigned shift, uint64_t low)
{
	const uint64_t high = (low & 1 ? UINT64_MAX : 1ull << 63) >> shift;
	const uint64_t half = shift < 39 ? 1ull << (low & 2      ? 39 - shift
						    : shift < 10 ? 10 - shift
								 : 0)
					 : 0;
	const uint64_t number =
	    (high ^ (low & 4 ? half : 0) ^ (low & 8 ? half << 1 : 0)) + (low >> 4) - 1;

	fill();
	registers[MT_REGISTER_R8 + 2] = low & 1 ? -number : number;
	round_number(which, registers[MT_REGISTER_R8 + 2]);
	if (!run())
		fail_msg("%zu: %#llx", which, (unsigned long long)registers[MT_REGISTER_R8 + 2]);
	vectors[which > 1]++;
	assert_false(run());
}

/* What a whole number becomes is what the compiler of C makes of it. */
static void test_rounds_as_c_does(void **state)
{
	static const char *const texts[] = {"(long)$r10 == real",   "(unsigned long)$r10 == real",
					    "(long)$r10 == narrow", "(unsigned long)$r10 == narrow",
					    "(int)$r10 == narrow",  "(unsigned)$r10 == narrow"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct mt_condition condition;
		struct mt_expr *expr = NULL;

		assert_no_error(mt_expr_parse(program, &frame, texts[i], &expr));
		assert_no_error(compile(expr, &condition));
		for (unsigned shift = 0; shift < 64; shift++)
			for (uint64_t low = 0; low < 64; low++)
				compare_rounded(i, shift, low);
		mt_condition_deinit(&condition);
		mt_expr_destroy(expr);
	}
}

static void refuse(const char *text, enum mt_error_code code, const char *why)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	assert_no_error(mt_expr_parse(program, &frame, text, &expr));
	assert_error(compile(expr, &condition), code, why);
	mt_expr_destroy(expr);
}

static void test_says_why_not(void **state)
{
	(void)state;
	refuse("real + 1 > 1.5l", MT_ERROR_UNSUPPORTED,
	       "it computes with floating-point numbers of 16 bytes");
	refuse("(long double)real > 1", MT_ERROR_UNSUPPORTED,
	       "it casts to floating-point numbers of 16 bytes");
	refuse("real % 2 == 1", MT_ERROR_USAGE, "Integer-only operation on floating point number.");
	refuse("~real == 1", MT_ERROR_USAGE,
	       "Argument to complement operation not an integer, boolean.");
	refuse("condition_target(1)", MT_ERROR_UNSUPPORTED, "it calls a function");
	refuse("x = 3", MT_ERROR_UNSUPPORTED, "it changes the program");
	refuse("$count > 3", MT_ERROR_UNSUPPORTED, "$count is a variable of the debugger");
	refuse("s->nosuch", MT_ERROR_NOT_FOUND, "There is no member named nosuch.");
	refuse("x->low", MT_ERROR_USAGE, "not a structure pointer");
	refuse("*s", MT_ERROR_USAGE, "can't be converted to integer");
}

/* What was there a moment ago is read without a question; when nobody reads the rings any more,
 * nothing is. */
static void test_reads_nothing_when_nobody_listens(void **state)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	(void)state;
	assert_no_error(mt_expr_parse(program, &frame, "*(char *)$rdi == 'x'", &expr));
	assert_no_error(compile(expr, &condition));
	fill();
	edge[-1] = 'x';
	registers[MT_REGISTER_RDI] = (uintptr_t)edge - 1;
	assert_true(run());
	alive = 0;
	assert_false(run());
	registers[MT_REGISTER_RDI] = 8;
	assert_false(run());
	alive = 1;
	errors = (struct mt_condition_errors){0};
	assert_false(run());
	assert_int_equal(errors.reads, 1);
	assert_int_equal(errors.address, 8);
	/* A null pointer is no reason to mistrust others. */
	assert_int_equal(errors.trust, 0);
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
}

static void map_edge(void)
{
	assert_int_equal(mprotect(edge - PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	memset(edge - PAGE, 'x', PAGE);
}

static bool run_at(const uint8_t *address)
{
	registers[MT_REGISTER_RDI] = (uintptr_t)address;
	return run();
}

/* A page that comes and goes, without room for other mappings meanwhile: nothing is believed to be
 * there before it was asked for often, and, from the first time on that it was not, the system
 * reads. */
static void test_memory_that_goes(void **state)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	(void)state;
	assert_no_error(
	    mt_expr_parse(program, &frame, "*(long *)$rdi == 0x7878787878787878", &expr));
	assert_no_error(compile(expr, &condition));
	fill();
	for (unsigned i = 0; i < 2; i++) {
		errors = (struct mt_condition_errors){0};
		map_edge();
		assert_true(run_at(edge - 8));
		mprotect(edge - PAGE, PAGE, PROT_NONE);
		assert_false(run_at(edge - 8));
		assert_int_equal(errors.reads, 1);
		assert_int_equal(errors.trust, MT_CONDITION_WILD);
		/* What was noted meanwhile does not count, with a filter of seccomp(2) either. */
		if (i)
			errors.trust |= MT_CONDITION_SANDBOXED;
		map_edge();
		assert_true(run_at(edge - 8));
		mprotect(edge - PAGE, PAGE, PROT_NONE);
		assert_false(run_at(edge - 8));
		assert_int_equal(errors.reads, 2);
		assert_int_equal(errors.address, (uintptr_t)edge - 8);
	}
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
}

static void test_trust_is_earned(void **state)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	(void)state;
	assert_no_error(mt_expr_parse(program, &frame, "*(int *)$rdi == 0x78787878", &expr));
	assert_no_error(compile(expr, &condition));
	fill();
	errors = (struct mt_condition_errors){0};
	map_edge();
	for (unsigned i = 0; i < MT_CONDITION_PROOFS; i++) {
		assert_int_equal(errors.trust, 0);
		assert_true(run_at(edge - 4));
	}
	assert_int_equal(errors.trust, MT_CONDITION_TRUST);
	for (unsigned i = 0; i < 10; i++)
		assert_true(run_at(edge - 4));
	assert_int_equal(errors.proved, MT_CONDITION_PROOFS);
	/* Across the end of what is mapped. */
	assert_false(run_at(edge - 2));
	assert_int_equal(errors.trust, MT_CONDITION_TRUST | MT_CONDITION_WILD);
	assert_true(run_at(edge - 6));
	assert_false(run_at(edge - 3));
	mprotect(edge - PAGE, PAGE, PROT_NONE);
	assert_false(run_at(edge - 4));
	assert_int_equal(errors.reads, 3);
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
}

/* Wherever a thread stands in the code, its row tells where its registers are. */
static void test_rows_cover_all_of_it(void **state)
{
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	(void)state;
	assert_no_error(mt_expr_parse(program, &frame, "s->next->wide / x > 3", &expr));
	assert_no_error(compile(expr, &condition));
	assert_true(condition.reads);
	assert_true(condition.trampolines.rows.count > 10);
	assert_int_equal(condition.trampolines.rows.items[0].offset, 0);
	assert_int_equal(condition.trampolines.rows.items[0].below, 0);
	assert_int_equal(mt_array_last(&condition.trampolines.rows)->offset,
			 condition.trampolines.code.count);
	assert_int_equal(mt_array_last(&condition.trampolines.rows)->below, 0);
	for (size_t i = 1; i < condition.trampolines.rows.count; i++)
		assert_true(condition.trampolines.rows.items[i].offset >=
			    condition.trampolines.rows.items[i - 1].offset);
	assert_true(condition.probe_begin < condition.probe_end);
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equals_evaluation),
	    cmocka_unit_test(test_rounds_as_c_does),
	    cmocka_unit_test(test_says_why_not),
	    cmocka_unit_test(test_rows_cover_all_of_it),
	    cmocka_unit_test(test_reads_nothing_when_nobody_listens),
	    cmocka_unit_test(test_memory_that_goes),
	    cmocka_unit_test(test_trust_is_earned),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
