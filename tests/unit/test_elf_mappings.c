/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mappings that come, go and overlap; symbols that come as text. */
#include "space/space.h"

#include "unit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
	struct mt_space_pool *pool;
	struct mt_space *space;
	char path[32]; /* of a text that a test wrote */
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	assert_no_error(mt_space_pool_create(NULL, &fixture->pool));
	assert_no_error(mt_space_create(fixture->pool, 1, &fixture->space));
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->path[0])
		unlink(fixture->path);
	mt_space_destroy(fixture->space);
	mt_space_pool_destroy(fixture->pool);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, uint64_t start, uint64_t end, uint64_t offset,
		const char *path)
{
	struct mt_mapping mapping = {.start = start, .end = end, .offset = offset, .path = path};

	assert_no_error(mt_space_add(fixture->space, &mapping));
}

static void assert_mapping(struct fixture *fixture, size_t index, uint64_t start, uint64_t end,
			   uint64_t offset, const char *path)
{
	const struct mt_mapping *mapping = mt_space_mapping(fixture->space, index);

	assert_int_equal(mapping->start, start);
	assert_int_equal(mapping->end, end);
	assert_int_equal(mapping->offset, offset);
	assert_string_equal(mapping->path, path);
}

static const struct mt_function *at(struct fixture *fixture, uint64_t address)
{
	const struct mt_function *function = mt_space_function_at(fixture->space, address);

	assert_non_null(function);
	assert_in_range(address, function->start, function->end - 1);
	return function;
}

static void write_text(struct fixture *fixture, const char *text)
{
	strcpy(fixture->path, "/tmp/mtrace-test-XXXXXX");
	int fd = mkstemp(fixture->path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void a_new_mapping_cuts_the_old(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, 0x9000, 0x100, "//anon");
	add(fixture, 0x3000, 0x5000, 0, "[heap]");
	assert_int_equal(mt_space_mapping_count(fixture->space), 3);
	assert_mapping(fixture, 0, 0x1000, 0x3000, 0x100, "//anon");
	assert_mapping(fixture, 1, 0x3000, 0x5000, 0, "[heap]");
	assert_mapping(fixture, 2, 0x5000, 0x9000, 0x4100, "//anon");
	add(fixture, 0x2000, 0x6000, 7, "[stack]");
	assert_int_equal(mt_space_mapping_count(fixture->space), 3);
	assert_mapping(fixture, 0, 0x1000, 0x2000, 0x100, "//anon");
	assert_mapping(fixture, 1, 0x2000, 0x6000, 7, "[stack]");
	assert_mapping(fixture, 2, 0x6000, 0x9000, 0x5100, "//anon");
	add(fixture, 0, 0x10000, 0, "[all]");
	assert_int_equal(mt_space_mapping_count(fixture->space), 1);
	add(fixture, 0x5000, 0x5000, 0, "empty");
	assert_int_equal(mt_space_mapping_count(fixture->space), 1);
}

static void what_was_found_before_is_forgotten(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, 0x9000, 0, "//anon");
	assert_string_equal(at(fixture, 0x3000)->name, "[anon]");
	add(fixture, 0x3000, 0x4000, 0, "[heap]");
	assert_string_equal(at(fixture, 0x3000)->name, "[heap]");
	assert_string_equal(at(fixture, 0x4000)->name, "[anon]");
	assert_int_equal(at(fixture, 0x4000)->start, 0x4000);
	assert_string_equal(at(fixture, 0x9000)->name, "[unknown]");
	assert_int_equal(at(fixture, 0x9000)->start, 0x9000);
	assert_string_equal(at(fixture, 0)->name, "[unknown]");
	assert_int_equal(at(fixture, 0)->end, 0x1000);
}

static void every_address_has_a_function(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, UINT64_MAX, 0, "//anon");
	for (int shift = 0; shift < 64; shift++)
		at(fixture, (1ULL << shift) - 1);
	assert_non_null(mt_space_function_at(fixture->space, UINT64_MAX));
	assert_int_equal(mt_space_pool_function_count(fixture->pool),
			 mt_space_function_at(fixture->space, UINT64_MAX)->id + 1);
}

static void the_same_contents_are_no_conflict(void **state)
{
	struct fixture *fixture = *state;
	struct mt_mapping again = {
	    .start = 0x3000, .end = 0x5000, .offset = 0x2000, .path = "/absent/libx.so"};

	add(fixture, 0x1000, 0x9000, 0, "/absent/libx.so");
	assert_false(mt_space_conflicts(fixture->space, &again));
	again.offset = 0;
	assert_true(mt_space_conflicts(fixture->space, &again));
	again.offset = 0x2000;
	again.path = "/absent/liby.so";
	assert_true(mt_space_conflicts(fixture->space, &again));
	again.start = 0x9000;
	again.end = 0xa000;
	assert_false(mt_space_conflicts(fixture->space, &again));
	again.start = 0x8fff;
	assert_true(mt_space_conflicts(fixture->space, &again));
}

static void a_file_that_is_not_there_is_a_problem(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, 0x9000, 0, "/absent/libx.so");
	const struct mt_mapping *mapping = mt_space_find(fixture->space, 0x1000);
	assert_null(mapping->objfile);
	assert_non_null(strstr(mapping->problem, "/absent/libx.so"));
	assert_non_null(strstr(mapping->problem, "No such file"));
	assert_string_equal(at(fixture, 0x2000)->name, "[libx.so]");
	assert_string_equal(at(fixture, 0x2000)->module, "/absent/libx.so");
}

static void a_deleted_file_needs_its_build_id(void **state)
{
	struct fixture *fixture = *state;
	struct mt_objfile *self;

	add(fixture, 0x10000, 0x20000, 0, "/bin/true (deleted)");
	assert_non_null(strstr(mt_space_find(fixture->space, 0x10000)->problem, "deleted"));
	assert_no_error(mt_objfile_open("/bin/true", NULL, NULL, &self));
	struct mt_mapping mapping = {
	    .start = 0x10000,
	    .end = 0x20000,
	    .path = "/bin/true (deleted)",
	    .build_id = *mt_objfile_build_id(self),
	};
	mt_objfile_unref(self);
	assert_no_error(mt_space_add(fixture->space, &mapping));
	assert_non_null(mt_space_find(fixture->space, 0x10000)->objfile);
	mapping.build_id.bytes[3] ^= 1;
	assert_no_error(mt_space_add(fixture->space, &mapping));
	assert_non_null(strstr(mt_space_find(fixture->space, 0x10000)->problem, "has changed"));
}

static void a_file_is_open_once(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x100000, 0x200000, 0, "/bin/true");
	add(fixture, 0x300000, 0x400000, 0, "/bin/true");
	assert_ptr_equal(mt_space_find(fixture->space, 0x100000)->objfile,
			 mt_space_find(fixture->space, 0x300000)->objfile);
	assert_ptr_not_equal(at(fixture, 0x102000), at(fixture, 0x302000));
}

static void jit_code_goes_by_the_perf_map(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, 0x9000, 0, "//anon");
	write_text(fixture, "2000 100 first\n"
			    "not a line\n"
			    "2050 20 inside first\n"
			    "3000 0 empty\n"
			    "ffffffffffffff00 1000 wraps\n"
			    "4000 80 old\n"
			    "3ff0 100 new one\n"
			    "6000 10");
	assert_no_error(mt_space_add_made_file(fixture->space, fixture->path));
	assert_string_equal(at(fixture, 0x2000)->name, "first");
	assert_int_equal(at(fixture, 0x2000)->end, 0x2050);
	assert_string_equal(at(fixture, 0x2060)->name, "inside first");
	assert_string_equal(at(fixture, 0x4010)->name, "new one");
	assert_string_equal(at(fixture, 0x40e0)->name, "new one");
	assert_string_equal(at(fixture, 0x3000)->name, "[anon]");
	assert_int_equal(at(fixture, 0x3000)->start, 0x2070);
	assert_int_equal(at(fixture, 0x3000)->end, 0x3ff0);
	assert_ptr_equal(at(fixture, 0x4010), at(fixture, 0x40e0));
}

/* What stands for all of it; memory of no file that grows is no other memory. */
static void made_code_is_in_no_file(void **state)
{
	struct fixture *fixture = *state;
	struct mt_mapping grown = {.start = 0x5000, .end = 0x7000, .path = "//anon"};

	add(fixture, 0x1000, 0x2000, 0, "/bin/true");
	add(fixture, 0x3000, 0x4000, 0, "/absent (deleted)");
	add(fixture, 0x4000, 0x6000, 0, "//anon");
	const struct mt_function *made = mt_space_made_at(fixture->space, 0x4000);
	assert_string_equal(made->name, "[JIT: true]");
	assert_false(mt_space_conflicts(fixture->space, &grown));
	add(fixture, grown.start, grown.end, 0, grown.path);
	assert_ptr_equal(mt_space_made_at(fixture->space, 0x6fff), made);
	assert_null(mt_space_made_at(fixture->space, 0x1000));
	assert_null(mt_space_made_at(fixture->space, 0x3000));
	assert_null(mt_space_made_at(fixture->space, 0x7000));
}

static void the_newest_of_many_at_one_place_counts(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, 0x1000, 0x9000, 0, "//anon");
	write_text(fixture, "2010 80 oldest\n"
			    "2020 10 within\n"
			    "2030 100 long\n"
			    "2000 40 newest\n");
	assert_no_error(mt_space_add_made_file(fixture->space, fixture->path));
	assert_string_equal(at(fixture, 0x2000)->name, "newest");
	assert_string_equal(at(fixture, 0x203f)->name, "newest");
	assert_string_equal(at(fixture, 0x2040)->name, "long");
	assert_string_equal(at(fixture, 0x212f)->name, "long");
	assert_string_equal(at(fixture, 0x2130)->name, "[anon]");
}

/* A program goes on telling what it makes: one snapshot after another reads it. */
static void a_perf_map_that_grows_names_the_same_functions(void **state)
{
	struct fixture *fixture = *state;
	struct mt_space *later;

	write_text(fixture, "2000 100 first\n3000 100 old\n");
	assert_no_error(mt_space_add_made_file(fixture->space, fixture->path));
	const struct mt_function *first = at(fixture, 0x2000), *old = at(fixture, 0x3000);
	const uint32_t count = mt_space_pool_function_count(fixture->pool);
	FILE *file = fopen(fixture->path, "a");
	assert_non_null(file);
	fputs("3000 80 new\n", file);
	assert_int_equal(fclose(file), 0);
	for (int i = 0; i < 100; i++) {
		assert_no_error(mt_space_create(fixture->pool, 1, &later));
		assert_no_error(mt_space_add_made_file(later, fixture->path));
		assert_ptr_equal(mt_space_function_at(later, 0x2080), first);
		assert_string_equal(mt_space_function_at(later, 0x3000)->name, "new");
		mt_space_destroy(later);
	}
	assert_int_equal(mt_space_pool_function_count(fixture->pool), count + 1);
	/* Who was there before keeps what was true for it. */
	assert_ptr_equal(at(fixture, 0x3000), old);
	assert_int_equal(unlink(fixture->path), 0);
	assert_string_equal(old->name, "old");
}

static void a_missing_perf_map_is_fine(void **state)
{
	struct fixture *fixture = *state;

	assert_no_error(mt_space_add_made_file(fixture->space, "/absent/perf.map"));
	write_text(fixture, "not a line\n");
	assert_no_error(mt_space_add_made_file(fixture->space, fixture->path));
	assert_error(mt_space_add_kallsyms(fixture->space, "/absent/kallsyms"), MT_ERROR_NOT_FOUND,
		     "/absent/kallsyms");
	assert_string_equal(at(fixture, 0x2000)->name, "[unknown]");
}

static void the_kernel_goes_by_kallsyms(void **state)
{
	struct fixture *fixture = *state;

	write_text(fixture, "ffffffff81000000 T _text\n"
			    "ffffffff81000000 T startup_64\n"
			    "ffffffff81000100 t helper\n"
			    "ffffffff81000180 D data\n"
			    "ffffffffc0000000 t ext4_read\t[ext4]\n"
			    "0000000000000000 T hidden\n");
	assert_no_error(mt_space_add_kallsyms(fixture->space, fixture->path));
	assert_string_equal(at(fixture, 0xffffffff81000010)->name, "_text");
	assert_string_equal(at(fixture, 0xffffffff81000180)->name, "helper");
	assert_string_equal(at(fixture, 0xffffffffc0000000)->name, "ext4_read");
	assert_string_equal(at(fixture, 0xffffffffc0000000)->module, "[ext4]");
	assert_string_equal(at(fixture, 0xffffffff80ffffff)->name, "[kernel]");
	assert_int_equal(at(fixture, 0xffffffff80ffffff)->end, 0xffffffff81000000);
}

#define TEXT_SIZE 0x1800
#define DATA      0x2900 /* offset; the page that it begins in is the text's last one, too */
#define BASE      0x70000000ull

static void open_two_segments(struct mt_objfile **out)
{
	static struct {
		Elf64_Ehdr header;
		Elf64_Phdr segments[2];
		uint8_t rest[DATA];
	} file = {.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_phoff = sizeof(Elf64_Ehdr),
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 2},
		  .segments = {{.p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = 0x1000,
				.p_vaddr = 0x1000,
				.p_filesz = TEXT_SIZE,
				.p_memsz = TEXT_SIZE},
			       {.p_type = PT_LOAD,
				.p_flags = PF_R | PF_W,
				.p_offset = DATA,
				.p_vaddr = DATA + 0x1000,
				.p_filesz = 0x10,
				.p_memsz = 0x10}}};

	assert_no_error(mt_objfile_open_memory("two", &file, sizeof(file), out));
}

static void a_page_that_two_segments_share_is_told_apart(void **state)
{
	struct fixture *fixture = *state;
	const struct mt_mapping mappings[] = {
	    {.start = BASE + 0x1000, .end = BASE + 0x2000, .offset = 0x1000, .path = "two"},
	    /* split off by mprotect(2) */
	    {.start = BASE + 0x2000, .end = BASE + 0x3000, .offset = 0x2000, .path = "two"},
	    {.start = BASE + 0x3000, .end = BASE + 0x4000, .offset = 0x2000, .path = "two"},
	};
	struct mt_objfile *objfile;

	open_two_segments(&objfile);
	for (size_t i = 0; i < 3; i++)
		assert_no_error(mt_space_add_objfile(fixture->space, &mappings[i], objfile));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mt_space_mapping(fixture->space, i)->bias, BASE);
	mt_objfile_unref(objfile);
}

static void a_copy_is_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct mt_space *copy;

	add(fixture, 0x1000, 0x9000, 0, "//anon");
	assert_no_error(mt_space_copy(fixture->space, &copy));
	add(fixture, 0x1000, 0x9000, 0, "[heap]");
	assert_string_equal(mt_space_find(copy, 0x1000)->path, "//anon");
	mt_space_destroy(copy);
}

static void spans_stay_in_their_mapping(void **state)
{
	struct fixture *fixture = *state;
	struct mt_inline_span span;

	add(fixture, 0x100000, 0x200000, 0, "/bin/true");
	add(fixture, 0x300000, 0x400000, 0, "//anon");
	mt_space_inlines_at(fixture->space, 0x150000, &span);
	assert_in_range(0x150000, span.start, span.end - 1);
	assert_true(span.start >= 0x100000 && span.end <= 0x200000);
	mt_space_inlines_at(fixture->space, 0x350000, &span);
	assert_int_equal(span.start, 0x300000);
	assert_int_equal(span.end, 0x400000);
	mt_space_inlines_at(fixture->space, 0x250000, &span);
	assert_int_equal(span.start, 0x200000);
	assert_int_equal(span.end, 0x300000);
	assert_int_equal(span.depth, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

enum { LARGE_CODE = 17 << 20, CODE_START = 0x400000 };

/* A program of one segment of code, whose 64-bit words count. */
static void write_large_program(struct fixture *fixture)
{
	const Elf64_Ehdr header = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_EXEC,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_phoff = sizeof(header),
	    .e_ehsize = sizeof(header),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1,
	};
	const Elf64_Phdr segment = {
	    .p_type = PT_LOAD,
	    .p_flags = PF_R | PF_X,
	    .p_vaddr = CODE_START,
	    .p_filesz = LARGE_CODE,
	    .p_memsz = LARGE_CODE,
	    .p_align = 4096,
	};
	uint64_t *words = malloc(LARGE_CODE);
	int fd;

	assert_non_null(words);
	for (uint64_t i = 0; i < LARGE_CODE / sizeof(*words); i++)
		words[i] = i;
	memcpy(words, &header, sizeof(header));
	memcpy((char *)words + sizeof(header), &segment, sizeof(segment));
	strcpy(fixture->path, "/tmp/mtrace-large-XXXXXX");
	fd = mkstemp(fixture->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, words, LARGE_CODE), LARGE_CODE);
	close(fd);
	free(words);
}

/* Pieces of it are read alone, as long as nobody wants all of it: they are the same. */
static void pieces_of_large_code_are_the_file_s(void **state)
{
	struct fixture *fixture = *state;
	struct mt_objfile *objfile;
	uint64_t word = 0;
	size_t size = 0;

	write_large_program(fixture);
	assert_no_error(mt_objfile_open(fixture->path, NULL, NULL, &objfile));
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		const uint64_t last = LARGE_CODE / sizeof(word) - 1;
		const uint64_t places[] = {100, LARGE_CODE / sizeof(word) / 2, last};

		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			const uint64_t address = CODE_START + places[i] * sizeof(word);

			assert_int_equal(mt_objfile_read(objfile, address, &word, sizeof(word)),
					 sizeof(word));
			assert_int_equal(word, places[i]);
		}
		/* No more than there is. */
		assert_int_equal(
		    mt_objfile_read(objfile, CODE_START + LARGE_CODE - 3, &word, sizeof(word)), 3);
		assert_int_equal(mt_objfile_read(objfile, CODE_START + LARGE_CODE, &word, 1), 0);
		assert_int_equal(mt_objfile_read(objfile, CODE_START - 1, &word, 1), 0);
		assert_non_null(mt_objfile_bytes(objfile, CODE_START, &size));
		assert_int_equal(size, LARGE_CODE);
	}
	mt_objfile_unref(objfile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_new_mapping_cuts_the_old),
	    TEST(pieces_of_large_code_are_the_file_s),
	    TEST(what_was_found_before_is_forgotten),
	    TEST(every_address_has_a_function),
	    TEST(the_same_contents_are_no_conflict),
	    TEST(a_file_that_is_not_there_is_a_problem),
	    TEST(a_deleted_file_needs_its_build_id),
	    TEST(a_file_is_open_once),
	    TEST(jit_code_goes_by_the_perf_map),
	    TEST(made_code_is_in_no_file),
	    TEST(the_newest_of_many_at_one_place_counts),
	    TEST(a_perf_map_that_grows_names_the_same_functions),
	    TEST(a_missing_perf_map_is_fine),
	    TEST(the_kernel_goes_by_kallsyms),
	    TEST(a_page_that_two_segments_share_is_told_apart),
	    TEST(a_copy_is_its_own),
	    TEST(spans_stay_in_their_mapping),
	};

	return cmocka_run_group_tests_name("elf/mappings", tests, NULL, NULL);
}
