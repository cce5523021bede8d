/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people type, and the names that they mean by it. */
#include "elf/objfile.h"

#include "unit.h"

static const char ring[] = "Ring<int, 4>::push(int const&)";
static const char lambda[] = "main::{lambda(int)#1}::operator()(int) const";
static const char shift[] = "std::ostream& std::operator<< <char>(std::ostream&, char const*)";

static void test_matches(void **state)
{
	static const struct {
		const char *name, *wanted;
	} pairs[] = {
	    {"ns::f(int)", "f"},
	    {"ns::f(int)", "ns::f"},
	    {"ns::f(int)", "f(int)"},
	    {"ns::f(int)", "::ns::f"},
	    {"ns::f(char const*)", "f(char const *)"},
	    {"ns::f[abi:cxx11](int)", "ns::f"},
	    {"ns::f[abi:cxx11](int)", "f[abi:cxx11](int)"},
	    {ring, "push"},
	    {ring, "Ring::push"},
	    {ring, "Ring<int,4>::push"},
	    {ring, "Ring<int, 4>::push(int const &)"},
	    {"int twice<int>(int)", "twice"},
	    {"int twice<int>(int)", "twice<int>"},
	    {"int twice<int>(int)", "twice<int>(int)"},
	    {"geo::Square::area() const", "Square::area"},
	    {"geo::Square::area() const", "Square::area()"},
	    {"geo::Square::area() const", "Square::area() const"},
	    {"geo::Square::~Square()", "Square::~Square"},
	    {"geo::(anonymous namespace)::hidden(int)", "geo::(anonymous namespace)::hidden"},
	    {lambda, "main::{lambda(int)#1}::operator()"},
	    {lambda, "operator()"},
	    {"Outer::operator()(int)", "Outer::operator()"},
	    {shift, "operator<<"},
	    {"ns::operator->(int)", "operator->"},
	    {"Ring<int>::operator<(int)", "Ring::operator<"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (!mt_name_matches(pairs[i].name, pairs[i].wanted))
			fail_msg("%s is not %s", pairs[i].wanted, pairs[i].name);
}

static void test_does_not_match(void **state)
{
	static const struct {
		const char *name, *wanted;
	} pairs[] = {
	    {"ns::f(int)", "::f"},
	    {"ns::f(int)", "f(long)"},
	    {"ns::of(int)", "f"},
	    {"f::g(int)", "f"},
	    {ring, "Ring<int>::push"},
	    {ring, "Ring<double, 2>::push"},
	    {"int twice<int>(int)", "twice<long>"},
	    {"g(f)", "f"},
	    {shift, "operator<"},
	    {"", "f"},
	    {"f", ""},
	    {"f(", "g("},
	    {")", "f)"},
	    {"<>>", "a<>>"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (mt_name_matches(pairs[i].name, pairs[i].wanted))
			fail_msg("%s is %s", pairs[i].wanted, pairs[i].name);
}

static void test_cold_parts(void **state)
{
	(void)state;
	assert_int_equal(mt_name_without_cold("f.cold"), 1);
	assert_int_equal(mt_name_without_cold("f(int) [clone .cold]"), 6);
	assert_int_equal(mt_name_without_cold("f(int) (.cold)"), 6);
	assert_int_equal(mt_name_without_cold("f(int)"), 6);
	assert_int_equal(mt_name_without_cold(".cold"), 5);
}

static void test_clones(void **state)
{
	static const struct {
		const char *name;
		size_t length;
	} clones[] = {
	    {"f.cold", 1},
	    {"f.part.0", 1},
	    {"f.constprop.0.isra.0.cold", 1},
	    {"f.lto_priv.12", 1},
	    {"f.llvm.123456", 1},
	    {"f(int) [clone .part.0] [clone .cold]", 6},
	    {"f(int) (.llvm.1)", 6},
	    {"f(int)", 6},
	    {"f.0", 3},
	    {"main.f", 6},
	    {"main.f.func1", 12},
	    {"main.f.func1.2", 14},
	    {"main.(*T).cold", 9}, /* as it might be */
	    {"main.apply[...]", 15},
	    {".cold", 5},
	    {"12", 2},
	    {"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(clones) / sizeof(*clones); i++)
		assert_int_equal(mt_name_without_clone(clones[i].name), clones[i].length);
}

static void test_functions_in_python(void **state)
{
	struct mt_function function = {.kind = MT_FUNCTION_PYTHON,
				       .name = "Store.make.<locals>.load"};

	(void)state;
	assert_true(mt_function_matches(&function, "load"));
	assert_true(mt_function_matches(&function, "make.<locals>.load"));
	assert_true(mt_function_matches(&function, "Store.make.<locals>.load"));
	assert_true(mt_function_matches(&function, "Store.*"));
	assert_false(mt_function_matches(&function, "oad"));
	assert_false(mt_function_matches(&function, "Store"));
	assert_false(mt_function_matches(&function, "Store.make"));
	function.kind = MT_FUNCTION_SYMBOL;
	assert_false(mt_function_matches(&function, "load"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_clones),
	    cmocka_unit_test(test_cold_parts),
	    cmocka_unit_test(test_matches),
	    cmocka_unit_test(test_does_not_match),
	    cmocka_unit_test(test_functions_in_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
