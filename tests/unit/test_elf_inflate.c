/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compressed debug sections of a file are inflated to what they were before; what cannot be is
 * left to libdw. */
#include "elf/inflate.h"

#include "elf/section.h"
#include "unit.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

struct made {
	char path[32];
	struct mt_elf_file whole, packed, inflated;
};

static void copy_self(char *path)
{
	const int from = open(SELF, O_RDONLY | O_CLOEXEC), to = mkstemp(path);
	char buffer[65536];
	ssize_t count;

	assert_true(from >= 0 && to >= 0);
	while ((count = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)count), count);
	close(from);
	close(to);
}

static bool is_debug(const struct mt_section *section)
{
	return strncmp(section->name, ".debug_", 7) == 0;
}

static void pack(const char *path)
{
	const int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_RDWR, NULL);
	struct mt_section section = {0};

	assert_non_null(elf);
	while (mt_section_next(elf, &section))
		if (is_debug(&section))
			assert_true(elf_compress(section.scn, ELFCOMPRESS_ZLIB, 0) >= 0);
	assert_true(elf_update(elf, ELF_C_WRITE) > 0);
	elf_end(elf);
	close(fd);
}

static int make(void **state)
{
	struct made *made = calloc(1, sizeof(*made));

	elf_version(EV_CURRENT);
	strcpy(made->path, "/tmp/test_elf_inflate.XXXXXX");
	copy_self(made->path);
	pack(made->path);
	assert_no_error(mt_elf_file_open(SELF, &made->whole));
	assert_no_error(mt_elf_file_open(made->path, &made->packed));
	*state = made;
	return 0;
}

static int unmake(void **state)
{
	struct made *made = *state;

	mt_elf_file_close(&made->whole);
	mt_elf_file_close(&made->packed);
	mt_elf_file_close(&made->inflated);
	unlink(made->path);
	free(made);
	return 0;
}

static struct mt_section info_of(Elf *elf)
{
	struct mt_section section;

	if (!mt_section_find(elf, ".debug_info", &section))
		skip();
	return section;
}

static void test_sections_are_what_they_were(void **state)
{
	struct made *made = *state;
	struct mt_section section = {0}, inflated;
	size_t compressed = 0;

	info_of(made->whole.elf);
	assert_true(mt_inflate_debug(&made->packed, &made->inflated));
	while (mt_section_next(made->packed.elf, &section))
		compressed += is_debug(&section) && section.header.sh_flags & SHF_COMPRESSED;
	assert_true(compressed > 1);
	section = (struct mt_section){0};
	while (mt_section_next(made->whole.elf, &section)) {
		if (!is_debug(&section))
			continue;
		section.data = elf_getdata(section.scn, NULL);
		assert_true(mt_section_find(made->inflated.elf, section.name, &inflated));
		assert_false(inflated.header.sh_flags & SHF_COMPRESSED);
		assert_int_equal(inflated.header.sh_addralign, section.header.sh_addralign);
		assert_int_equal(inflated.data->d_size, section.data->d_size);
		assert_memory_equal(inflated.data->d_buf, section.data->d_buf,
				    section.data->d_size);
	}
}

static void test_nothing_is_compressed(void **state)
{
	struct made *made = *state;

	info_of(made->whole.elf);
	assert_false(mt_inflate_debug(&made->whole, &made->inflated));
	assert_null(made->inflated.elf);
}

static void overwrite(struct made *made, uint64_t offset, const void *bytes, size_t size)
{
	const int fd = open(made->path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
	close(fd);
	assert_false(mt_inflate_debug(&made->packed, &made->inflated));
	assert_null(made->inflated.elf);
}

static void test_garbled_contents(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->packed.elf);

	overwrite(made, info.header.sh_offset + info.header.sh_size / 2, "garbled", 7);
}

static void test_a_size_that_lies(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->packed.elf);
	const uint64_t at = info.header.sh_offset + offsetof(Elf64_Chdr, ch_size);
	uint64_t size;

	assert_int_equal(mt_elf_file_read(&made->packed, at, &size, sizeof(size)), sizeof(size));
	overwrite(made, at, &(uint64_t){size + 1}, sizeof(size));
	overwrite(made, at, &(uint64_t){size - 1}, sizeof(size));
	overwrite(made, at, &(uint64_t){UINT64_MAX}, sizeof(size));
}

static void test_another_way_of_compression(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->packed.elf);

	overwrite(made, info.header.sh_offset + offsetof(Elf64_Chdr, ch_type), &(uint32_t){2},
		  sizeof(uint32_t));
}

static void test_sections_that_overlap(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->packed.elf);
	struct mt_section section = {0};
	Elf64_Ehdr header;

	assert_int_equal(mt_elf_file_read(&made->packed, 0, &header, sizeof(header)),
			 sizeof(header));
	const int fd = open(made->path, O_WRONLY | O_CLOEXEC);
	while (mt_section_next(made->packed.elf, &section))
		if (is_debug(&section))
			assert_int_equal(
			    pwrite(fd, (uint64_t[]){info.header.sh_offset, info.header.sh_size},
				   2 * sizeof(uint64_t),
				   (off_t)(header.e_shoff +
					   elf_ndxscn(section.scn) * sizeof(Elf64_Shdr) +
					   offsetof(Elf64_Shdr, sh_offset))),
			    2 * sizeof(uint64_t));
	close(fd);
	mt_elf_file_close(&made->packed);
	assert_no_error(mt_elf_file_open(made->path, &made->packed));
	made->packed.status.st_size = (off_t)(2 * info.header.sh_size);
	assert_false(mt_inflate_debug(&made->packed, &made->inflated));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
	    TEST(test_sections_are_what_they_were),
	    TEST(test_nothing_is_compressed),
	    TEST(test_garbled_contents),
	    TEST(test_a_size_that_lies),
	    TEST(test_another_way_of_compression),
	    TEST(test_sections_that_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
