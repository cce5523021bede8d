/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic of floating-point numbers in whole registers equals that of the processor, bit by bit.
 */
#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ROUNDS 400000

extern const uint8_t mt_float_code[], mt_float_add[], mt_float_subtract[], mt_float_multiply[],
    mt_float_divide[], mt_float_narrow[], mt_float_to_single[], mt_float_to_whole[],
    mt_float_code_end[];

static uint8_t *copy;

/* As conditions do it: the registers in the frame, and the way back. */
uint64_t floats_call(const void *routine, uint64_t left, uint64_t right);
__asm__(".text\n"
	"floats_call:\n"
	"	sub $0x58, %rsp\n"
	"	mov %rsi, %rax; mov %rdi, %r11\n"
	"	movq $1, (%rsp); movq $2, 8(%rsp); movq $3, 16(%rsp); movq $4, 24(%rsp)\n"
	"	movq $5, 32(%rsp); movq $6, 40(%rsp)\n"
	"	lea 1f(%rip), %rcx; mov %rcx, 0x50(%rsp)\n"
	"	jmp *%r11\n"
	/* They are the program's again. */
	"1:	add %rsi, %rdi; add %r8, %rdi; add %r9, %rdi; add %r10, %rdi; add %r11, %rdi\n"
	"	add $0x58, %rsp\n"
	"	cmp $21, %edi; je 2f\n"
	"	ud2\n"
	"2:	ret\n");

static uint64_t call(const uint8_t *routine, uint64_t left, uint64_t right)
{
	return floats_call(copy + (routine - mt_float_code), left, right);
}

static uint64_t random_bits(void)
{
	return (uint64_t)rand() << 42 ^ (uint64_t)rand() << 21 ^ (uint64_t)rand();
}

static uint64_t bits_of(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

static double number_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static uint64_t make(uint64_t exponent, uint64_t fraction)
{
	return (uint64_t)(rand() & 1) << 63 | exponent << 52 | (fraction & ((1ull << 52) - 1));
}

/* Around what is special: ones that are close to each other, to what floats can be, to their ends.
 */
static uint64_t number(void)
{
	static const double edges[] = {0,
				       1,
				       2.5,
				       0.1,
				       1e300,
				       5e-324,
				       1e-310,
				       0x1p-1022,
				       0x1p-126,
				       0x1p-149,
				       0x1p-150,
				       0x1p63,
				       0x1p64,
				       16777217,
				       0x1.fffffep127,
				       0x1.8p-150,
				       0x1.ffffffp127,
				       9007199254740993.0};
	const uint64_t fraction = random_bits();

	switch (rand() % 7) {
	case 0:
		return bits_of(edges[(size_t)rand() % (sizeof(edges) / sizeof(*edges))]) |
		       (uint64_t)(rand() & 1) << 63;
	case 1:
		return make(1022 + (uint64_t)rand() % 4, fraction);
	case 2:
		return make(870 + (uint64_t)rand() % 40, fraction & -(uint64_t)(1u << 29));
	case 3:
		return make(870 + (uint64_t)rand() % 40, fraction);
	case 4:
		return make(0, fraction >> rand() % 64);
	case 5:
		return make(2047, rand() % 2 ? 0 : fraction);
	default:
		return fraction;
	}
}

static void check(const char *what, const uint8_t *routine, uint64_t left, uint64_t right,
		  uint64_t expected)
{
	const uint64_t got = call(routine, left, right);

	/* Of two that are no numbers the compiler chooses the one that stays. */
	if (got != expected && !(isnan(number_of(left)) && isnan(number_of(right))))
		fail_msg("%a %s %a: 0x%llx, and not 0x%llx", number_of(left), what,
			 number_of(right), (unsigned long long)got, (unsigned long long)expected);
}

static void test_sums_and_products(void **state)
{
	(void)state;
	srand(7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t a = number(), b = rand() % 8 ? number() : a ^ (uint64_t)(rand() & 3);
		const double x = number_of(a), y = number_of(b);

		check("+", mt_float_add, a, b, bits_of(x + y));
		check("-", mt_float_subtract, a, b, bits_of(x - y));
		check("*", mt_float_multiply, a, b, bits_of(x * y));
		check("/", mt_float_divide, a, b, bits_of(x / y));
	}
}

static void test_floats_and_whole_numbers(void **state)
{
	(void)state;
	srand(8);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t bits = number();
		const double x = number_of(bits);
		const float narrow = (float)x;
		uint32_t single;

		memcpy(&single, &narrow, sizeof(single));
		if (x == x)
			check("as a float", mt_float_narrow, bits, 0, bits_of((double)narrow));
		check("of float", mt_float_to_single, bits_of((double)narrow), 0, single);
		check("towards 0", mt_float_to_whole, bits, 0,
		      x < -0x1p63  ? 1ull << 63
		      : x < 0x1p63 ? (uint64_t)(int64_t)x
				   : INT64_MAX);
	}
}

static int begin(void **state)
{
	const size_t size = (size_t)(mt_float_code_end - mt_float_code);

	(void)state;
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy, mt_float_code, size);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sums_and_products),
	    cmocka_unit_test(test_floats_and_whole_numbers),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
