/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/demangle.h"

#include "unit.h"

#include <stdio.h>

static void assert_demangled(const char *raw, const char *full, const char *bare)
{
	struct mt_str text = {0};

	assert_true(mt_demangle(raw, MT_DEMANGLE_FULL, &text));
	assert_string_equal(text.text, full);
	mt_str_clear(&text);
	assert_true(mt_demangle(raw, MT_DEMANGLE_BARE, &text));
	assert_string_equal(text.text, bare);
	mt_str_deinit(&text);
}

static void names_are_for_people(void **state)
{
	(void)state;
	assert_demangled("_ZN2ns1fEi", "ns::f(int)", "ns::f");
	assert_demangled("_ZNK2ns1A3getEv", "ns::A::get() const", "ns::A::get");
	assert_demangled("_ZN2ns2tfIdEET_S1_", "double ns::tf<double>(double)", "ns::tf<double>");
	assert_demangled("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()",
			 "(anonymous namespace)::f");
	assert_demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			 "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt");
	assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo");
}

static void other_names_stay(void **state)
{
	static const char *const names[] = {"main", "", "_", "_Z", "_ZN", "_R", "Z3foov", "_Zzzzz"};
	struct mt_str text = {0};

	(void)state;
	mt_str_append(&text, "before");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_false(mt_demangle(names[i], MT_DEMANGLE_FULL, &text));
		assert_string_equal(text.text, "before");
	}
	mt_str_deinit(&text);
}

static void ocaml_names_are_for_people(void **state)
{
	static const struct {
		const char *raw, *name;
	} pairs[] = {
	    {"camlEx__deep_82", "Ex.deep"},
	    {"camlStdlib__List__iter_261", "Stdlib.List.iter"},
	    {"camlEx__$2b$21_83", "Ex.+!"},
	    {"camlEx__fun_294", "Ex.fun_294"},
	    {"camlEx__entry", "Ex.entry"},
	    {"camlEx__a_1_22", "Ex.a_1"},
	    {"camlEx__f'_22", "Ex.f'"},
	    {"camlEx.deep_271", "Ex.deep"},
	    {"camlEx", "Ex"},
	    {"camlEx__", "Ex__"},
	    {"camlEx__$zz_1", "Ex.$zz"},
	    {"camlEx__$00_1", "Ex.$00"},
	    {"camlEx__f_$", "Ex.f_$"},
	};
	static const char *const others[] = {"caml_alloc", "caml", "camlp4", "", "main", "_camlEx"};
	struct mt_str text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		mt_str_clear(&text);
		assert_true(mt_demangle_ocaml(pairs[i].raw, &text));
		assert_string_equal(text.text, pairs[i].name);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(mt_demangle_ocaml(others[i], &text));
	mt_str_deinit(&text);
}

/* Each argument is a pair of the one before: 34 of them stand for 2^34 names. */
static void what_grows_beyond_measure_is_given_up(void **state)
{
	struct mt_str raw = {0}, text = {0};

	(void)state;
	mt_str_append(&raw, "_Z1f1PIiiE");
	for (int i = 0; i < 34; i++) {
		char id = (char)(i < 10 ? '0' + i : 'A' + i - 10);
		mt_str_appendf(&raw, "S_IS%c_S%c_E", id, id);
	}
	assert_false(mt_demangle(raw.text, MT_DEMANGLE_FULL, &text));
	assert_int_equal(text.length, 0);
	mt_str_deinit(&raw);
	mt_str_deinit(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_for_people),
	    cmocka_unit_test(ocaml_names_are_for_people),
	    cmocka_unit_test(other_names_stay),
	    cmocka_unit_test(what_grows_beyond_measure_is_given_up),
	};

	return cmocka_run_group_tests_name("elf/demangle", tests, NULL, NULL);
}
