/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object files out of memory become programs at the process's addresses. */
#include "elf/jit_object.h"

#include "made_jit.h"
#include "space/space.h"
#include "unit.h"

#include <stdlib.h>

#define ADDRESS 0x7f0000001020ull

/* The process's code, which is none of the object's own copy: each byte is its address's lowest. */
static size_t read_code(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)buffer)[i] = (uint8_t)(address + i);
	return size;
}

static struct mt_objfile *settled(const struct made_jit *made)
{
	struct mt_objfile *objfile = NULL;
	uint8_t *bytes = NULL;
	size_t size = 0;

	assert_no_error(mt_jit_object_settle((const uint8_t *)made, sizeof(*made), read_code, NULL,
					     &bytes, &size));
	assert_no_error(mt_objfile_open_memory(MT_JIT_OBJECT_PATH, bytes, size, &objfile));
	free(bytes);
	return objfile;
}

static void check_names(struct mt_objfile *objfile)
{
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &count);

	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(symbols[i].raw_name, i ? "second" : "first");
		assert_int_equal(symbols[i].start, ADDRESS + i * JIT_FUNCTION_BYTES);
		assert_int_equal(symbols[i].end, symbols[i].start + JIT_FUNCTION_BYTES);
	}
}

static void test_a_relocatable_object(void **state)
{
	(void)state;
	const struct made_jit made = made_jit(ADDRESS);
	struct mt_objfile *objfile = settled(&made);
	uint8_t code[4];

	check_names(objfile);
	assert_int_equal(mt_objfile_read(objfile, ADDRESS + 5, code, sizeof(code)), sizeof(code));
	assert_int_equal(code[0], 0x25);
	/* Stubs lie behind it. */
	assert_int_equal(mt_objfile_read(objfile, ADDRESS + 0xfdf, code, sizeof(code)), 1);
	assert_int_equal(code[0], 0xff);
	mt_objfile_unref(objfile);
}

/* QEMU and LuaJIT register one whose code is not in the file; QEMU's is no relocatable one. */
static void test_a_program_without_bytes(void **state)
{
	(void)state;
	struct made_jit made = made_jit(ADDRESS);

	made.header.e_type = ET_EXEC;
	made.sections[JIT_TEXT].sh_type = SHT_NOBITS;
	for (unsigned i = 1; i < 3; i++)
		made.symbols[i].st_value += ADDRESS;
	struct mt_objfile *objfile = settled(&made);
	check_names(objfile);
	mt_objfile_unref(objfile);
}

static void test_relocates_tables(void **state)
{
	(void)state;
	const struct made_jit made = made_jit(ADDRESS);
	uint8_t *bytes = NULL;
	size_t size = 0;

	assert_no_error(mt_jit_object_settle((const uint8_t *)&made, sizeof(made), read_code, NULL,
					     &bytes, &size));
	const struct made_jit *settled = (const void *)bytes;
	assert_int_equal(settled->data, ADDRESS + JIT_FUNCTION_BYTES + 3);
	free(bytes);
}

static void refuse(const struct made_jit *made, size_t size, enum mt_error_code code,
		   const char *why)
{
	uint8_t *bytes = NULL;

	assert_error(
	    mt_jit_object_settle((const uint8_t *)made, size, read_code, NULL, &bytes, &size), code,
	    why);
	assert_null(bytes);
}

static void test_refuses_what_is_garbled(void **state)
{
	(void)state;
	struct made_jit made = made_jit(ADDRESS);

	refuse(&made, 10, MT_ERROR_FORMAT, "too short");
	refuse(&made, sizeof(made.header), MT_ERROR_FORMAT, "beyond its end");
	made.header.e_shoff = UINT64_MAX - 8;
	refuse(&made, sizeof(made), MT_ERROR_FORMAT, "beyond its end");
	made = made_jit(ADDRESS);
	made.header.e_ident[0] = 0;
	refuse(&made, sizeof(made), MT_ERROR_FORMAT, "magic number");
	made = made_jit(ADDRESS);
	made.header.e_machine = EM_AARCH64;
	refuse(&made, sizeof(made), MT_ERROR_UNSUPPORTED, "x86-64");
	made = made_jit(0);
	refuse(&made, sizeof(made), MT_ERROR_FORMAT, "where its code is");
	made = made_jit(ADDRESS);
	made.sections[JIT_TEXT].sh_size = UINT64_MAX - 4096;
	refuse(&made, sizeof(made), MT_ERROR_FORMAT, "where its code is");
}

/* Tables that lead out of the file do no harm. */
static void test_passes_over_wild_tables(void **state)
{
	(void)state;
	struct made_jit made = made_jit(ADDRESS);

	made.relocation.r_offset = UINT64_MAX - 3;
	made.sections[JIT_STRTAB].sh_offset = UINT64_MAX;
	mt_objfile_unref(settled(&made));
	made.relocation.r_info = ELF64_R_INFO(UINT32_MAX, R_X86_64_64);
	made.sections[JIT_SYMTAB].sh_size = UINT64_MAX;
	mt_objfile_unref(settled(&made));
	made.sections[JIT_RELA].sh_info = 1000;
	mt_objfile_unref(settled(&made));
}

static const char *name_at(struct mt_space *space, uint64_t address)
{
	return mt_space_function_at(space, address)->name;
}

static void test_an_object_has_no_code_of_a_file(void **state)
{
	(void)state;
	const struct mt_mapping program = {.start = ADDRESS & ~0xfffull,
					   .end = (ADDRESS & ~0xfffull) + 0x1000,
					   .path = "/proc/self/exe"};
	const struct made_jit made = made_jit(ADDRESS);
	struct mt_space_pool *pool;
	struct mt_space *spaces[2];
	uint8_t *bytes = NULL;
	size_t size = 0;

	assert_no_error(mt_jit_object_settle((const uint8_t *)&made, sizeof(made), read_code, NULL,
					     &bytes, &size));
	assert_no_error(mt_space_pool_create(NULL, &pool));
	for (unsigned i = 0; i < 2; i++) {
		assert_no_error(mt_space_create(pool, 1, &spaces[i]));
		if (i)
			assert_no_error(mt_space_add(spaces[i], &program));
		assert_no_error(mt_space_add_object(spaces[i], bytes, size));
	}
	assert_string_equal(name_at(spaces[0], ADDRESS), "first");
	assert_string_not_equal(name_at(spaces[1], ADDRESS), "first");
	/* It goes, and comes again as the same functions. */
	const struct mt_function *first = mt_space_function_at(spaces[0], ADDRESS);
	mt_space_drop_objects(spaces[0]);
	assert_string_equal(name_at(spaces[0], ADDRESS), "[unknown]");
	assert_no_error(mt_space_add_object(spaces[0], bytes, size));
	assert_ptr_equal(mt_space_function_at(spaces[0], ADDRESS), first);
	mt_space_destroy(spaces[0]);
	mt_space_destroy(spaces[1]);
	mt_space_pool_destroy(pool);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_relocatable_object),
	    cmocka_unit_test(test_a_program_without_bytes),
	    cmocka_unit_test(test_relocates_tables),
	    cmocka_unit_test(test_refuses_what_is_garbled),
	    cmocka_unit_test(test_passes_over_wild_tables),
	    cmocka_unit_test(test_an_object_has_no_code_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
