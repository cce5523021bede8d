/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random expressions over the parameters of test_calls_condition.c's function, and what they point
 * to: by rand(3), so that srand() chooses which. */
#ifndef MT_TESTS_CONDITION_EXPRESSIONS_H
#define MT_TESTS_CONDITION_EXPRESSIONS_H

#include "base/str.h"

#include <stdlib.h>

/* A whole number; DEPTH: of operators. */
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
	    "$xmm0.v4_int32[3]",
	    "$xmm1.v16_int8[13]",
	    "$xmm9.v2_int64[1]",
	    "$xmm14.v8_int16[2]",
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
	static const char *const leaves[] = {"real",
					     "narrow",
					     "s->weight",
					     "s->share[0]",
					     "s->share[x & 1]",
					     "2.5",
					     "0.1",
					     "0.1f",
					     "1e-45",
					     "16777217",
					     "3",
					     "x",
					     "s->wide",
					     "s->flags",
					     "s->next->weight",
					     "h",
					     "1.5f",
					     "$xmm0.v2_double[0]",
					     "$xmm9.v2_double[1]",
					     "$xmm7.v4_float[3]"};
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
					     "*(double *)&s->weight",
					     "$xmm9.v2_double[1]",
					     "$xmm12.v4_float[2]"};
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

/* Comparisons of long doubles. */
static void write_extended(struct mt_str *out)
{
	static const char *const wide[] = {"passed",
					   "s->exact",
					   "s->next->exact",
					   "(long double)real",
					   "(long double)s->wide",
					   "(long double)u"};
	static const char *const others[] = {"real",        "narrow",  "s->weight",
					     "s->share[1]", "s->wide", "(unsigned long)s->wide",
					     "x",           "u",       "c",
					     "stacked",     "s->high", "s->is_set",
					     "2.5",         "0.1",     "0.1f",
					     "0.1l",        "-1",      "0",
					     "1e-45",       "-2.5l",   "1e4000l",
					     "real * 2",    "x + 1",   "$xmm7.v4_float[3]",
					     "5e-324",      "1.0l",    "$xmm9.v2_double[1]"};
	static const char *const operators[] = {"<", ">", "<=", ">=", "==", "!="};
	const char *left = wide[(size_t)rand() % (sizeof(wide) / sizeof(*wide))];
	const char *right = rand() % 3 ? others[(size_t)rand() % (sizeof(others) / sizeof(*others))]
				       : wide[(size_t)rand() % (sizeof(wide) / sizeof(*wide))];

	if (rand() % 8 == 0)
		mt_str_appendf(out, "%s%s", rand() % 2 ? "!" : "", left);
	else if (rand() % 2)
		mt_str_appendf(out, "%s %s %s", left, operators[rand() % 6], right);
	else
		mt_str_appendf(out, "%s %s %s", right, operators[rand() % 6], left);
}

/* What decides. */
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
	if (rand() % 8 == 0) {
		write_extended(out);
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

#endif
