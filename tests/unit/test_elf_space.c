/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This very process, looked at through its own /proc/self/maps. */
#include "space/space.h"

#include "unit.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

struct fixture {
	struct mt_space_pool *pool;
	struct mt_space *space;
};

/* Reads a line of /proc/PID/maps; the path lies in LINE. */
static bool parse_mapping(char *line, struct mt_mapping *out)
{
	char protection[5];
	int path = 0;

	*out = (struct mt_mapping){0};
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &out->start,
		   &out->end, protection, &out->offset, &path) < 4)
		return false;
	out->path = line + path;
	return true;
}

static void add_vdso(struct mt_space *space, const struct mt_mapping *mapping)
{
	struct mt_objfile *vdso;

	assert_no_error(mt_objfile_open_memory("[vdso]", (const void *)(uintptr_t)mapping->start,
					       mapping->end - mapping->start, &vdso));
	assert_no_error(mt_space_add_objfile(space, mapping, vdso));
	mt_objfile_unref(vdso);
}

static void add_maps(struct mt_space *space)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "re");

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		struct mt_mapping mapping;
		assert_true(parse_mapping(line, &mapping));
		if (strcmp(mapping.path, "[vdso]") == 0)
			add_vdso(space, &mapping);
		else
			assert_no_error(mt_space_add(space, &mapping));
	}
	fclose(maps);
}

static int setup(void **state)
{
	static struct fixture fixture;

	assert_no_error(mt_space_pool_create(NULL, &fixture.pool));
	assert_no_error(mt_space_create(fixture.pool, getpid(), &fixture.space));
	add_maps(fixture.space);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	mt_space_destroy(fixture->space);
	mt_space_pool_destroy(fixture->pool);
	return 0;
}

static const struct mt_function *function_of(struct mt_space *space, const void *pointer)
{
	const struct mt_function *function = mt_space_function_at(space, (uintptr_t)pointer);

	assert_non_null(function);
	assert_in_range((uintptr_t)pointer, function->start, function->end - 1);
	return function;
}

static void own_function_has_name_and_line(void **state)
{
	struct fixture *fixture = *state;
	const struct mt_function *function = function_of(fixture->space, (void *)setup);

	assert_string_equal(function->name, "setup");
	assert_int_equal(function->kind, MT_FUNCTION_SYMBOL);
	assert_int_equal(function->start, (uintptr_t)setup);
	assert_non_null(function->source.file);
	assert_non_null(strstr(function->source.file, "/tests/unit/test_elf_space.c"));
	assert_in_range(function->source.line, 1, __LINE__);
	assert_ptr_equal(function_of(fixture->space, (char *)setup + 1), function);
}

static void library_functions_have_the_loader_s_names(void **state)
{
	struct fixture *fixture = *state;
	static const char *const names[] = {"qsort", "fopen", "printf", "getenv"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		/* The C library's own: a sanitizer may stand in front. */
		void *library = dlopen("libc.so.6", RTLD_LAZY);
		void *address = dlsym(library, names[i]);
		assert_string_equal(function_of(fixture->space, address)->name, names[i]);
		dlclose(library);
	}
}

static void vdso_comes_from_memory(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start = getauxval(AT_SYSINFO_EHDR);
	const struct mt_mapping *mapping = start ? mt_space_find(fixture->space, start) : NULL;
	uint64_t address = 0;

	if (!mapping)
		skip();
	assert_string_equal(mapping->path, "[vdso]");
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(mapping->objfile, &count);
	for (size_t i = 0; i < count; i++)
		if (symbols[i].raw_name && strcmp(symbols[i].raw_name, "clock_gettime") == 0)
			address = symbols[i].start + mapping->bias;
	assert_int_not_equal(address, 0);
	assert_string_equal(function_of(fixture->space, (void *)(uintptr_t)address)->name,
			    "clock_gettime");
}

static void nothing_known_is_a_hole(void **state)
{
	struct fixture *fixture = *state;
	const struct mt_function *unmapped = mt_space_function_at(fixture->space, 16);
	const struct mt_function *kernel = mt_space_function_at(fixture->space, ~0xfffULL);
	const struct mt_function *stack =
	    mt_space_function_at(fixture->space, (uintptr_t)&unmapped);

	assert_string_equal(unmapped->name, "[unknown]");
	assert_string_equal(kernel->name, "[kernel]");
	assert_int_equal(stack->kind, MT_FUNCTION_UNKNOWN);
	assert_in_range((uintptr_t)&unmapped, stack->start, stack->end);
	assert_ptr_equal(mt_space_function_at(fixture->space, 17), unmapped);
}

static void a_copy_gives_the_same_functions(void **state)
{
	struct fixture *fixture = *state;
	struct mt_space *copy;
	const struct mt_function *function = function_of(fixture->space, (void *)setup);

	assert_no_error(mt_space_copy(fixture->space, &copy));
	assert_ptr_equal(function_of(copy, (void *)setup), function);
	mt_space_destroy(copy);
	assert_string_equal(function->name, "setup");
}

static void bytes_are_the_file_s(void **state)
{
	struct fixture *fixture = *state;
	unsigned char bytes[64];

	assert_int_equal(mt_space_read(fixture->space, (uintptr_t)setup, bytes, sizeof(bytes)),
			 sizeof(bytes));
	assert_memory_equal(bytes, (const void *)(uintptr_t)setup, sizeof(bytes));
	assert_int_equal(mt_space_read(fixture->space, 16, bytes, sizeof(bytes)), 0);
}

enum { PAGES = 400, MAPPED_PAGE = 4096 };

static const struct mt_mapping *mapping_of_page(const struct mt_space *space, uint64_t page)
{
	return mt_space_find(space, (page + 1) * MAPPED_PAGE + 5);
}

/* What every page holds after many mappings over and beside each other, which come from below, from
 * above and anywhere, is what a table of all pages says. */
static void mappings_replace_what_they_cover(void **state)
{
	struct fixture *fixture = *state;
	struct mt_space *space, *copy;
	uint64_t offsets[PAGES] = {0}; /* 0: nothing is mapped */
	uint32_t random = 1;

	assert_no_error(mt_space_create(fixture->pool, getpid(), &space));
	for (uint64_t step = 0; step < 3 * PAGES; step++) {
		random = random * 1664525 + 1013904223;
		uint64_t count = step < 2 * PAGES ? 1 : 1 + (random >> 28);
		uint64_t first = step < PAGES / 2   ? PAGES - 1 - step
				 : step < PAGES     ? step - PAGES / 2
				 : step < 2 * PAGES ? (random >> 8) % PAGES
						    : (random >> 8) % (PAGES - count);
		const struct mt_mapping mapping = {
		    .start = (first + 1) * MAPPED_PAGE,
		    .end = (first + 1 + count) * MAPPED_PAGE,
		    .offset = (step + 1) * 1000 * MAPPED_PAGE,
		    .path = "//anon",
		};

		const bool goes = step > PAGES && step % 8 == 0;

		assert_no_error(goes ? mt_space_remove(space, mapping.start, mapping.end)
				     : mt_space_add(space, &mapping));
		for (uint64_t i = 0; i < count; i++)
			offsets[first + i] = goes ? 0 : mapping.offset + i * MAPPED_PAGE;
		if (step % 50)
			continue;
		for (uint64_t page = 0; page < PAGES; page++) {
			const struct mt_mapping *found = mapping_of_page(space, page);

			assert_int_equal(
			    found ? found->offset + (page + 1) * MAPPED_PAGE - found->start : 0,
			    offsets[page]);
		}
	}
	assert_no_error(mt_space_copy(space, &copy));
	assert_int_equal(mt_space_mapping_count(copy), mt_space_mapping_count(space));
	for (size_t i = 0; i < mt_space_mapping_count(copy); i++)
		assert_memory_equal(mt_space_mapping(copy, i), mt_space_mapping(space, i),
				    sizeof(struct mt_mapping));
	mt_space_destroy(copy);
	mt_space_destroy(space);
}

/* A file that is mapped again and again, each page by itself, by falling addresses: each mapping
 * has the bias of those beside it. */
static void a_file_may_be_mapped_many_times(void **state)
{
	enum { TIMES = 50 };
	const uint64_t apart = 1ull << 32;
	const uint64_t code = (uintptr_t)mappings_replace_what_they_cover;
	struct fixture *fixture = *state;
	const struct mt_mapping *text = mt_space_find(fixture->space, code);
	struct mt_space *space;

	assert_non_null(text);
	const uint64_t pages = (text->end - text->start) / MAPPED_PAGE;
	assert_no_error(mt_space_create(fixture->pool, getpid(), &space));
	for (uint64_t time = TIMES; time > 0; time--)
		for (uint64_t page = pages; page-- > 0;) {
			const uint64_t at = time * apart + page * MAPPED_PAGE;
			const struct mt_mapping mapping = {.start = at,
							   .end = at + MAPPED_PAGE,
							   .offset =
							       text->offset + page * MAPPED_PAGE,
							   .path = text->path};

			assert_no_error(mt_space_add(space, &mapping));
			assert_int_equal(mt_space_find(space, at)->bias,
					 text->bias + time * apart - text->start);
		}
	assert_int_equal(mt_space_mapping_count(space), TIMES * pages);
	mt_space_destroy(space);
}

/* By its path, and then as the file with its build ID, which the path may not be any more. */
static void a_file_is_opened_once(void **state)
{
	const struct fixture *fixture = *state;
	const struct mt_mapping *here =
	    mt_space_find(fixture->space, (uint64_t)(uintptr_t)a_file_is_opened_once);
	struct mt_space *space;

	assert_non_null(here);
	for (int other = 0; other < 2; other++) {
		struct mt_mapping mapping = {.start = here->start,
					     .end = here->end,
					     .offset = here->offset,
					     .path = here->path,
					     .build_id = *mt_objfile_build_id(here->objfile)};

		assert_true(mapping.build_id.size);
		mapping.build_id.bytes[0] ^= other;
		assert_no_error(mt_space_create(fixture->pool, getpid(), &space));
		assert_no_error(mt_space_add(space, &mapping));
		assert_ptr_equal(mt_space_mapping(space, 0)->objfile, other ? NULL : here->objfile);
		mt_space_destroy(space);
	}
}

/* Of this program, under another inode than any that is open. */
static void copy_self(const char *path)
{
	char bytes[65536];
	FILE *from = fopen("/proc/self/exe", "re"), *to = fopen(path, "we");
	size_t size;

	assert_non_null(from);
	assert_non_null(to);
	while ((size = fread(bytes, 1, sizeof(bytes), from)))
		assert_int_equal(fwrite(bytes, 1, size, to), size);
	fclose(from);
	assert_int_equal(fclose(to), 0);
}

static void what_is_offered_is_taken_while_it_lies_there(void **state)
{
	char directory[] = "/tmp/mtrace-test-XXXXXX", path[64];
	struct mt_space_pool *pool;
	struct mt_objfile *offered, *open;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	copy_self(path);
	assert_no_error(mt_objfile_open(path, NULL, NULL, &offered));
	assert_no_error(mt_space_pool_create(NULL, &pool));
	for (int i = 0; i < 2; i++) {
		assert_no_error(mt_space_pool_offer(pool, path, offered));
		assert_no_error(mt_space_pool_open(pool, path, &open));
		assert_ptr_equal(open, offered);
	}
	/* Another file takes its place. */
	assert_int_equal(unlink(path), 0);
	copy_self(path);
	for (int i = 0; i < 2; i++) {
		assert_no_error(mt_space_pool_open(pool, path, &open));
		assert_non_null(open);
		assert_ptr_not_equal(open, offered);
		assert_no_error(mt_space_pool_offer(pool, path, offered));
	}
	unlink(path);
	rmdir(directory);
	mt_space_pool_destroy(pool);
	assert_string_equal(mt_objfile_path(offered), path);
	mt_objfile_unref(offered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_function_has_name_and_line),
	    cmocka_unit_test(library_functions_have_the_loader_s_names),
	    cmocka_unit_test(vdso_comes_from_memory),
	    cmocka_unit_test(nothing_known_is_a_hole),
	    cmocka_unit_test(a_copy_gives_the_same_functions),
	    cmocka_unit_test(bytes_are_the_file_s),
	    cmocka_unit_test(mappings_replace_what_they_cover),
	    cmocka_unit_test(a_file_may_be_mapped_many_times),
	    cmocka_unit_test(a_file_is_opened_once),
	    cmocka_unit_test(what_is_offered_is_taken_while_it_lies_there),
	};

	return cmocka_run_group_tests_name("elf/space", tests, setup, teardown);
}
