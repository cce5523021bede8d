/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include <errno.h>

static void test_an_error_says_what_it_was_told(void **state)
{
	(void)state;
	mt_auto(mt_error) struct mt_error *error =
	    mt_error_new(MT_ERROR_FORMAT, "record %d of \"%s\"", 7, "x");

	assert_int_equal(mt_error_code(error), MT_ERROR_FORMAT);
	assert_int_equal(mt_error_errnum(error), 0);
	assert_string_equal(mt_error_message(error), "record 7 of \"x\"");
	assert_null(mt_error_where(error).path);
	assert_int_equal(mt_error_where(error).offset, -1);
	assert_int_equal(mt_error_where(error).lwp, 0);
}

static void test_the_code_follows_from_errno(void **state)
{
	(void)state;
	static const struct {
		int errnum;
		enum mt_error_code code;
	} cases[] = {
	    {EACCES, MT_ERROR_PERMISSION}, {EPERM, MT_ERROR_PERMISSION},
	    {ENOENT, MT_ERROR_NOT_FOUND},  {ESRCH, MT_ERROR_GONE},
	    {ENOMEM, MT_ERROR_NO_MEMORY},  {EBUSY, MT_ERROR_BUSY},
	    {ENOSPC, MT_ERROR_SYSTEM},     {EIO, MT_ERROR_SYSTEM},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		mt_auto(mt_error) struct mt_error *error =
		    mt_error_errno(cases[i].errnum, "opening %s", "f");
		assert_int_equal(mt_error_code(error), cases[i].code);
		assert_int_equal(mt_error_errnum(error), cases[i].errnum);
	}
	assert_error(mt_error_errno(ENOENT, "opening f"), MT_ERROR_NOT_FOUND,
		     "opening f: No such file or directory");
}

static void test_wrap_puts_the_context_before(void **state)
{
	(void)state;
	mt_auto(mt_error) struct mt_error *inner = mt_error_errno(EIO, "reading");
	struct mt_error *outer = mt_error_wrap(inner, "decoding %s", "r.perf");

	assert_ptr_equal(inner, outer);
	assert_string_equal(mt_error_message(outer),
			    "decoding r.perf: reading: Input/output error");
	assert_int_equal(mt_error_errnum(outer), EIO);
	assert_null(mt_error_wrap(NULL, "nothing"));
}

static void test_where_is_kept(void **state)
{
	(void)state;
	char path[] = "/a/b";
	mt_auto(mt_error) struct mt_error *error = mt_error_new(MT_ERROR_FORMAT, "garbled");

	assert_ptr_equal(mt_error_at_path(error, path, 4096), error);
	assert_ptr_equal(mt_error_at_lwp(error, 12), error);
	path[1] = 'x';
	assert_string_equal(mt_error_where(error).path, "/a/b");
	assert_int_equal(mt_error_where(error).offset, 4096);
	assert_int_equal(mt_error_where(error).lwp, 12);
	mt_error_at_path(error, "/c", 0);
	assert_string_equal(mt_error_where(error).path, "/c");
	assert_null(mt_error_at_path(NULL, "/c", 0));
	assert_null(mt_error_at_lwp(NULL, 1));
}

static void test_no_memory_is_static(void **state)
{
	(void)state;
	struct mt_error *error = mt_error_no_memory();

	assert_int_equal(mt_error_code(error), MT_ERROR_NO_MEMORY);
	mt_error_at_path(mt_error_wrap(error, "context"), "/a", 1);
	assert_string_equal(mt_error_message(error), "out of memory");
	assert_null(mt_error_where(error).path);
	mt_error_destroy(error);
	mt_error_destroy(NULL);
	assert_int_equal(mt_error_errnum(mt_error_no_memory()), ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_an_error_says_what_it_was_told),
	    cmocka_unit_test(test_the_code_follows_from_errno),
	    cmocka_unit_test(test_wrap_puts_the_context_before),
	    cmocka_unit_test(test_where_is_kept),
	    cmocka_unit_test(test_no_memory_is_static),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
