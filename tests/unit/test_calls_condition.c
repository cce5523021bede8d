/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions that are compiled equal their evaluation: generated expressions over the parameters of
 * a function here, run with chosen registers and compared. */
#include "unit.h"

#include "base/hash.h"
#include "condition_expressions.h"
#include "condition_world.h"
#include "expr/regex.h"
#include "runtime/python_text.h"

#define EXPRESSIONS 6000
#define CALLS       4 /* of each */

/* ---- Comparisons ---- */

static void compare_call(const char *text, struct mt_expr *expr)
{
	bool is_true = false, hit;
	struct mt_error *error;

	fill();
	errors = (struct mt_condition_errors){0};
	memset(pages, 0, sizeof(pages));
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
	memcpy(vectors[0], &wide, sizeof(wide));
	vectors[1][0] = bits;
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
	vectors[which > 1][0]++;
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

static bool holds(size_t relation, long double a, long double b)
{
	const bool results[] = {a<b, a> b, a <= b, a >= b, a == b, a != b};

	return results[relation];
}

struct relation {
	struct mt_condition condition;
	struct mt_expr *expr;
};

/* LEFT, and the parameter that is a long double. */
static void begin_relation(struct relation *one, const char *left, size_t relation)
{
	static const char *const relations[] = {"<", ">", "<=", ">=", "==", "!="};
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_appendf(&text, "%s %s passed", left, relations[relation]);
	*one = (struct relation){0};
	assert_no_error(mt_expr_parse(program, &frame, text.text, &one->expr));
	assert_no_error(compile(one->expr, &one->condition));
	fill();
}

static void end_relation(struct relation *one)
{
	mt_condition_deinit(&one->condition);
	mt_expr_destroy(one->expr);
}

static void compare_extended(size_t relation, const char *what, long double left, long double right)
{
	pass(right);
	if (run() != holds(relation, left, right))
		fail_msg("%s: %zu: %La, %La", what, relation, left, right);
}

/* Each with each, as the compiler of C has them, which leaves it to x87. */
static void test_long_doubles(void **state)
{
	struct relation one;

	(void)state;
	for (size_t relation = 0; relation < 6; relation++) {
		begin_relation(&one, "s->exact", relation);
		registers[MT_REGISTER_R8] = (uintptr_t)subjects;
		for (size_t i = 0; i < EXTENDED_EDGES * EXTENDED_EDGES; i++) {
			subjects[0].exact = extended_edge(i / EXTENDED_EDGES);
			compare_extended(relation, "edges", subjects[0].exact,
					 extended_edge(i % EXTENDED_EDGES));
		}
		end_relation(&one);
	}
}

/* The one behind it, further from 0. */
static long double neighbour(long double value)
{
	uint64_t mantissa;

	memcpy(&mantissa, &value, sizeof(mantissa));
	mantissa++;
	memcpy(&value, &mantissa, sizeof(mantissa));
	return value;
}

/* A double, and whole numbers with a sign, and without one. */
static long double choose_other(size_t kind)
{
	const double wide = real();
	const uint64_t bits = number();

	memcpy(vectors[0], &wide, sizeof(wide));
	registers[MT_REGISTER_R10] = bits;
	return kind == 0   ? (long double)wide
	       : kind == 1 ? (long double)(int64_t)bits
			   : (long double)bits;
}

/* What other numbers become is exact. */
static void test_long_doubles_and_others(void **state)
{
	static const char *const others[] = {"real", "(long)$r10", "(unsigned long)$r10"};
	struct relation one;

	(void)state;
	srand(80);
	for (size_t relation = 0; relation < 6; relation++)
		for (size_t kind = 0; kind < sizeof(others) / sizeof(*others); kind++) {
			begin_relation(&one, others[kind], relation);
			for (unsigned i = 0; i < 2000; i++) {
				const long double other = choose_other(kind);

				compare_extended(relation, others[kind], other, other);
				compare_extended(relation, others[kind], other, neighbour(other));
			}
			end_relation(&one);
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
	refuse("real + 1.5l > 1", MT_ERROR_UNSUPPORTED,
	       "it computes with floating-point numbers of 16 bytes");
	refuse("(long double)real * 2 > 1", MT_ERROR_UNSUPPORTED,
	       "it casts to floating-point numbers of 16 bytes");
	refuse("(double)passed > 1", MT_ERROR_UNSUPPORTED,
	       "it computes with floating-point numbers of 16 bytes");
	refuse("real % 2 == 1", MT_ERROR_USAGE, "Integer-only operation on floating point number.");
	refuse("~real == 1", MT_ERROR_USAGE,
	       "Argument to complement operation not an integer, boolean.");
	refuse("$xmm0.v4_int32[x] == 1", MT_ERROR_UNSUPPORTED,
	       "it needs the address of what lies in a register");
	refuse("$xmm0.v4_int32[4] == 1", MT_ERROR_UNSUPPORTED, "it is behind the end of an array");
	refuse("$xmm0.uint128 == 1", MT_ERROR_UNSUPPORTED, "it computes with integers of 16 bytes");
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

/* ---- Patterns ---- */

static const char *one_of(const char *const *texts, size_t count)
{
	return texts[(size_t)rand() % count];
}

static void write_pattern(struct mt_str *out, unsigned depth)
{
	static const char *const atoms[] = {"a", "b", ".", "[ab]", "[^a]", "\\w", "\xc3\xa9", "\n"};
	static const char *const behind[] = {"", "", "", "*", "+", "?", "{2}", "$", "|"};

	for (int i = rand() % 5; i >= 0; i--) {
		if (depth && rand() % 4 == 0) {
			mt_str_append(out, "(");
			write_pattern(out, depth - 1);
			mt_str_append(out, ")");
		} else {
			mt_str_append(out, one_of(atoms, sizeof(atoms) / sizeof(*atoms)));
		}
		mt_str_append(out, one_of(behind, sizeof(behind) / sizeof(*behind)));
	}
}

/* Behind its NUL nothing can be read. */
static const char *write_text(void)
{
	static const char *const parts[] = {"a", "b", "ab", "\n", "\xc3\xa9", "-"};
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_append(&text, "");
	for (int i = rand() % 6; i > 0; i--)
		mt_str_append(&text, one_of(parts, sizeof(parts) / sizeof(*parts)));
	memcpy(edge - text.length - 1, text.text, text.length + 1);
	return (const char *)edge - text.length - 1;
}

static bool compile_pattern(const char *pattern, struct mt_condition *condition)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_expr *expr = NULL;

	mt_str_append(&text, "$_regex((char *)$rdi, \"");
	for (const char *at = pattern; *at; at++)
		mt_str_appendf(&text, "\\%03o", (unsigned char)*at);
	mt_str_append(&text, "\")");
	assert_no_error(mt_expr_parse(program, &frame, text.text, &expr));
	struct mt_error *error = compile(expr, condition);
	if (error && mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		fail_msg("%s: %s", pattern, mt_error_message(error));
	mt_error_destroy(error);
	mt_expr_destroy(expr);
	return !error;
}

static void compare_texts(const char *pattern)
{
	mt_auto(mt_regex) struct mt_regex regex = {0};

	assert_no_error(mt_regex_compile(pattern, &regex));
	for (unsigned i = 0; i < 4 * CALLS; i++) {
		fill();
		errors = (struct mt_condition_errors){0};
		const char *text = write_text();
		const enum mt_regex_answer answer = mt_regex_match(&regex, text);
		const bool hit = run_at((const uint8_t *)text);

		if (hit != (answer == MT_REGEX_YES) || errors.reads ||
		    errors.undecided != (answer == MT_REGEX_UNDECIDED))
			fail_msg("%s: %s: %d, and not %d; %u, %u errors", pattern, text, hit,
				 answer, errors.reads, errors.undecided);
	}
}

static void test_patterns(void **state)
{
	struct mt_condition condition;
	unsigned compiled = 0;

	(void)state;
	srand(6);
	map_edge();
	for (unsigned i = 0; i < 1000; i++) {
		mt_auto(mt_str) struct mt_str pattern = {0};

		write_pattern(&pattern, 2);
		/* "a$*" is an error. */
		for (char *at = pattern.text; (at = strchr(at, '$')); at++)
			if (at[1] && strchr("*+?{", at[1]))
				*at = 'a';
		if (compile_pattern(pattern.text, &condition)) {
			compiled++;
			compare_texts(pattern.text);
		}
		mt_condition_deinit(&condition);
	}
	assert_true(compiled > 900);
}

/* A str of Python's, right in front of what cannot be read. */
static uint64_t write_python_text(unsigned kind, unsigned characters, bool is_ascii)
{
	const unsigned size = kind * characters;
	const uint64_t length = characters;
	uint8_t *text = edge - size - (is_ascii ? MT_PYTHON_TEXT_ASCII : MT_PYTHON_TEXT_OTHER);

	for (uint8_t *at = edge - PAGE; at < edge; at++)
		*at = (uint8_t)rand();
	memcpy(text + MT_PYTHON_TEXT_LENGTH, &length, sizeof(length));
	text[MT_PYTHON_TEXT_STATE] = (uint8_t)((uint8_t)rand() & 0x83) |
				     (uint8_t)(kind << MT_PYTHON_TEXT_KIND_BIT) |
				     (uint8_t)(is_ascii << MT_PYTHON_TEXT_ASCII_BIT);
	registers[MT_REGISTER_RDI] = (uintptr_t)text;
	return mt_text_hash(edge - size, size);
}

/* As evaluation does. */
static void test_python_hashes(void **state)
{
	static const unsigned lengths[] = {0, 1, 7, 8, 9, 15, 16, 500, 1000};
	struct mt_condition condition;
	struct mt_expr *expr = NULL;

	(void)state;
	map_edge();
	assert_no_error(mt_expr_parse(program, &frame,
				      "$_mtrace_python_hash($rdi) == (unsigned long) $r12", &expr));
	assert_no_error(compile(expr, &condition));
	for (unsigned i = 0; i < 6 * sizeof(lengths) / sizeof(*lengths); i++) {
		const unsigned kind = 1u << i % 3, length = lengths[i / 6];
		bool is_true = false;

		fill();
		errors = (struct mt_condition_errors){0};
		if (kind * length + MT_PYTHON_TEXT_OTHER > PAGE)
			continue;
		registers[MT_REGISTER_R12] = write_python_text(kind, length, i / 3 % 2);
		assert_true(run());
		assert_no_error(mt_expr_is_true(expr, &frame, &is_true));
		assert_true(is_true);
		registers[MT_REGISTER_R12]++;
		assert_false(run());
		assert_int_equal(errors.reads, 0);
	}
	mt_condition_deinit(&condition);
	mt_expr_destroy(expr);
}

/* Nothing is read behind what decides. */
static void test_patterns_without_an_end(void **state)
{
	static const char bytes[] = {'a', 'a', 'b'};
	struct mt_condition condition;

	(void)state;
	map_edge();
	fill();
	memcpy(edge - sizeof(bytes), bytes, sizeof(bytes));
	errors = (struct mt_condition_errors){0};
	assert_true(compile_pattern("a*b", &condition));
	assert_true(run_at(edge - 3));
	assert_int_equal(errors.reads, 0);
	mt_condition_deinit(&condition);
	assert_true(compile_pattern("a*c", &condition));
	assert_false(run_at(edge - 3));
	assert_int_equal(errors.reads, 0);
	mt_condition_deinit(&condition);
	assert_true(compile_pattern("a*bc?$", &condition));
	assert_false(run_at(edge - 3));
	assert_int_equal(errors.reads, 1);
	assert_int_equal(errors.address, (uintptr_t)edge);
	mt_condition_deinit(&condition);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equals_evaluation),
	    cmocka_unit_test(test_rounds_as_c_does),
	    cmocka_unit_test(test_long_doubles),
	    cmocka_unit_test(test_long_doubles_and_others),
	    cmocka_unit_test(test_says_why_not),
	    cmocka_unit_test(test_rows_cover_all_of_it),
	    cmocka_unit_test(test_reads_nothing_when_nobody_listens),
	    cmocka_unit_test(test_memory_that_goes),
	    cmocka_unit_test(test_trust_is_earned),
	    cmocka_unit_test(test_patterns),
	    cmocka_unit_test(test_python_hashes),
	    cmocka_unit_test(test_patterns_without_an_end),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
