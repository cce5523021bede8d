/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who asks for no variables is told the same of all else, and the lists of where variables are stay
 * unread. */
#include "dwarf/source.h"
#include "elf/objfile_private.h"
#include "elf/section.h"
#include "unit.h"

#define SELF  "/proc/self/exe"
#define BYTES 0x20000 /* of code, around the entry */

/* The kind of the section of lists; 0: there is none. */
static unsigned int kind_of_lists(const struct mt_objfile *objfile)
{
	struct mt_section section;

	if (mt_section_find(objfile->main.elf, ".debug_loclists", &section) ||
	    mt_section_find(objfile->main.elf, ".debug_loc", &section))
		return section.header.sh_type;
	return 0;
}

static void assert_same_source(struct mt_objfile *one, struct mt_objfile *other, uint64_t address)
{
	struct mt_source source = {0}, others = {0};
	const bool has = mt_objfile_source_at(one, address, &source);

	assert_int_equal(mt_objfile_source_at(other, address, &others), has);
	assert_int_equal(source.line, others.line);
	assert_int_equal(!source.file, !others.file);
	if (source.file)
		assert_string_equal(source.file, others.file);
}

static void assert_same_inlines(struct mt_objfile *one, struct mt_objfile *other, uint64_t address)
{
	struct mt_inline_span span, others;

	mt_objfile_inlines_at(one, address, &span);
	mt_objfile_inlines_at(other, address, &others);
	assert_int_equal(span.start, others.start);
	assert_int_equal(span.end, others.end);
	assert_int_equal(span.depth, others.depth);
	for (size_t i = 0; i < span.depth; i++)
		assert_string_equal(span.chain[i]->function->name, others.chain[i]->function->name);
}

static void test_lines_and_inlined_calls_are_the_same(void **state)
{
	(void)state;
	const struct mt_objfile_options options = {.without_locations = true};
	struct mt_objfile *whole, *less;
	struct mt_source source;

	assert_no_error(mt_objfile_open(SELF, NULL, NULL, &whole));
	assert_no_error(mt_objfile_open(SELF, NULL, &options, &less));
	const uint64_t entry = mt_objfile_entry(whole);

	if (!kind_of_lists(whole))
		print_message("the test has no lists of locations\n");
	for (uint64_t address = entry; address < entry + BYTES; address += 7) {
		assert_same_source(whole, less, address);
		assert_same_inlines(whole, less, address);
	}
	assert_false(mt_objfile_source_at(less, 0, &source));
	assert_int_equal(kind_of_lists(less), kind_of_lists(whole) ? SHT_NOBITS : 0);
	assert_int_not_equal(kind_of_lists(whole), SHT_NOBITS);
	mt_objfile_unref(whole);
	mt_objfile_unref(less);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_and_inlined_calls_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
