/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libdw reads of a file is in its image: what was compressed inflated, what was not once it
 * was read; what cannot be so is left to libdw. */
#include "elf/debug_image.h"

#include "elf/section.h"
#include "unit.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

struct made {
	char path[32], whole_path[32];
	struct mt_elf_file whole, packed;
	struct mt_debug_image image;
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
	strcpy(made->path, "/tmp/test_debug_image.XXXXXX");
	strcpy(made->whole_path, "/tmp/test_debug_image.XXXXXX");
	copy_self(made->path);
	copy_self(made->whole_path);
	pack(made->path);
	assert_no_error(mt_elf_file_open(made->whole_path, &made->whole));
	assert_no_error(mt_elf_file_open(made->path, &made->packed));
	*state = made;
	return 0;
}

static int unmake(void **state)
{
	struct made *made = *state;

	mt_debug_image_close(&made->image);
	mt_elf_file_close(&made->whole);
	mt_elf_file_close(&made->packed);
	unlink(made->path);
	unlink(made->whole_path);
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

static void read_all(struct mt_debug_image *image)
{
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		mt_debug_image_read(image, (enum mt_debug_part)i, 0, UINT64_MAX);
}

/* Those of the image that are not left out; returns how many. */
static size_t assert_same_sections(Elf *whole, Elf *image)
{
	struct mt_section section = {0}, other;
	size_t count = 0;

	while (mt_section_next(whole, &section)) {
		if (!is_debug(&section))
			continue;
		assert_true(mt_section_find(image, section.name, &other));
		if (other.header.sh_type == SHT_NOBITS)
			continue;
		section.data = elf_getdata(section.scn, NULL);
		assert_int_equal(elf_ndxscn(other.scn), elf_ndxscn(section.scn));
		assert_false(other.header.sh_flags & SHF_COMPRESSED);
		assert_int_equal(other.header.sh_addralign, section.header.sh_addralign);
		assert_int_equal(other.data->d_size, section.data->d_size);
		assert_memory_equal(other.data->d_buf, section.data->d_buf, section.data->d_size);
		assert_int_equal(((const uint8_t *)other.data->d_buf)[other.data->d_size], 0);
		count++;
	}
	return count;
}

static void test_compressed_sections_are_inflated(void **state)
{
	struct made *made = *state;
	struct mt_section section = {0};
	size_t compressed = 0;

	info_of(made->whole.elf);
	while (mt_section_next(made->packed.elf, &section))
		compressed += is_debug(&section) && section.header.sh_flags & SHF_COMPRESSED;
	assert_true(compressed > 1);
	assert_true(mt_debug_image_open(&made->packed, &made->image));
	read_all(&made->image);
	assert_true(assert_same_sections(made->whole.elf, made->image.file.elf) > 3);
}

static void test_sections_are_read_by_and_by(void **state)
{
	struct made *made = *state;

	info_of(made->whole.elf);
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	read_all(&made->image);
	assert_true(assert_same_sections(made->whole.elf, made->image.file.elf) > 3);
}

static void test_sections_that_nobody_asks_for(void **state)
{
	struct made *made = *state;
	struct mt_section section;

	info_of(made->whole.elf);
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	if (!mt_section_find(made->image.file.elf, ".debug_aranges", &section))
		skip();
	assert_int_equal(section.header.sh_type, SHT_NOBITS);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Whole pages around what was asked for, and no other. */
static void test_only_what_is_asked_for_is_read(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->whole.elf);
	const uint8_t *truth = info.data->d_buf;

	assert_true(mt_debug_image_open(&made->whole, &made->image));
	const struct mt_debug_section *part = &made->image.parts[MT_DEBUG_INFO];
	assert_int_equal(part->size, info.data->d_size);
	if (part->size <= 28672)
		skip(); /* built with little debug information, as with a sanitizer */
	assert_true(is_zero(part->bytes, part->size));
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 8000, 8200);
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 20480, 20480);
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, UINT64_MAX - 1, UINT64_MAX);
	assert_true(is_zero(part->bytes, 4096));
	assert_memory_equal(part->bytes + 4096, truth + 4096, 8192);
	assert_true(is_zero(part->bytes + 12288, part->size - 12288));
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 4095, 20481);
	assert_memory_equal(part->bytes, truth, 24576);
	assert_true(is_zero(part->bytes + 24576, part->size - 24576));
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, part->size - 1, UINT64_MAX);
	assert_int_equal(part->bytes[part->size - 1], truth[part->size - 1]);
}

/* What was seen stays as it was, and what was not is not taken from another file. */
static void test_a_file_that_is_written_to(void **state)
{
	struct made *made = *state;
	const struct mt_section info = info_of(made->whole.elf);
	const uint8_t *truth = info.data->d_buf;
	char garbled[12288];

	memset(garbled, 0xff, sizeof(garbled));
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 0, 1);
	const int fd = open(made->whole_path, O_WRONLY | O_CLOEXEC);
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
	assert_int_equal(pwrite(fd, garbled, sizeof(garbled), (off_t)info.header.sh_offset),
			 sizeof(garbled));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	const uint8_t *bytes = made->image.parts[MT_DEBUG_INFO].bytes;
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 0, 8192);
	assert_memory_equal(bytes, truth, 4096);
	assert_true(is_zero(bytes + 4096, 4096));
}

static void touch(const struct made *made, time_t when)
{
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = when}};

	assert_int_equal(utimensat(AT_FDCWD, made->whole_path, times, 0), 0);
}

static void test_a_file_that_is_touched(void **state)
{
	struct made *made = *state;

	info_of(made->whole.elf);
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 0, 1);
	touch(made, 1);
	mt_debug_image_read(&made->image, MT_DEBUG_INFO, 0, 8192);
	touch(made, 2);
	read_all(&made->image);
	assert_true(assert_same_sections(made->whole.elf, made->image.file.elf) > 3);
}

/* Built anew in place: what had been read may be the same by chance, but for the build ID. */
static void test_a_file_with_another_build_id(void **state)
{
	struct made *made = *state;
	struct mt_section note;

	info_of(made->whole.elf);
	if (!mt_section_find(made->whole.elf, ".note.gnu.build-id", &note))
		skip();
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	const int fd = open(made->whole_path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(
	    pwrite(fd, "!", 1, (off_t)(note.header.sh_offset + note.header.sh_size - 1)), 1);
	close(fd);
	touch(made, 1);
	read_all(&made->image);
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		assert_true(is_zero(made->image.parts[i].bytes, made->image.parts[i].size));
}

static void test_a_file_that_is_cut_short(void **state)
{
	struct made *made = *state;

	info_of(made->whole.elf);
	assert_true(mt_debug_image_open(&made->whole, &made->image));
	assert_int_equal(truncate(made->whole_path, 1000), 0);
	read_all(&made->image);
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		assert_true(is_zero(made->image.parts[i].bytes, made->image.parts[i].size));
}

static void rename_section(struct made *made, const char *name, const char *other)
{
	struct mt_section section;
	struct mt_section names = {0};
	size_t index;

	assert_int_equal(elf_getshdrstrndx(made->whole.elf, &index), 0);
	names.scn = elf_getscn(made->whole.elf, index);
	assert_non_null(gelf_getshdr(names.scn, &names.header));
	if (!mt_section_find(made->whole.elf, name, &section))
		skip();
	const int fd = open(made->whole_path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, other, strlen(other) + 1,
				(off_t)(names.header.sh_offset + section.header.sh_name)),
			 strlen(other) + 1);
	close(fd);
	mt_elf_file_close(&made->whole);
	assert_no_error(mt_elf_file_open(made->whole_path, &made->whole));
}

static void assert_left_to_libdw(struct made *made, const char *name, const char *other)
{
	info_of(made->whole.elf);
	rename_section(made, name, other);
	assert_false(mt_debug_image_open(&made->whole, &made->image));
	assert_null(made->image.file.elf);
	assert_null(made->image.memory);
}

static void test_a_file_that_refers_to_another(void **state)
{
	assert_left_to_libdw(*state, ".note.gnu.build-id", ".gnu_debugaltlink");
}

static void test_a_section_that_libdw_inflates(void **state)
{
	assert_left_to_libdw(*state, ".debug_aranges", ".zdebug_lines");
}

static void test_a_section_twice(void **state)
{
	assert_left_to_libdw(*state, ".debug_aranges", ".debug_line");
}

static void test_frames_alone(void **state)
{
	struct made *made = *state;
	struct mt_section section;

	info_of(made->whole.elf);
	assert_false(mt_debug_image_open_frames(&made->whole, &made->image));
	rename_section(made, ".debug_aranges", ".debug_frame");
	assert_true(mt_debug_image_open_frames(&made->whole, &made->image));
	assert_int_equal(assert_same_sections(made->whole.elf, made->image.file.elf), 1);
	assert_true(mt_section_find(made->image.file.elf, ".debug_info", &section));
	assert_int_equal(section.header.sh_type, SHT_NOBITS);
}

static void overwrite(struct made *made, uint64_t offset, const void *bytes, size_t size)
{
	const int fd = open(made->path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, size, (off_t)offset), size);
	close(fd);
	assert_false(mt_debug_image_open(&made->packed, &made->image));
	assert_null(made->image.file.elf);
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

/* Each is nearly all of the file. */
static void test_sections_that_overlap(void **state)
{
	struct made *made = *state;
	const uint64_t place[] = {sizeof(Elf64_Ehdr),
				  (uint64_t)made->whole.status.st_size - sizeof(Elf64_Ehdr)};
	struct mt_section section = {0};
	Elf64_Ehdr header;

	info_of(made->whole.elf);
	assert_int_equal(mt_elf_file_read(&made->whole, 0, &header, sizeof(header)),
			 sizeof(header));
	const int fd = open(made->whole_path, O_WRONLY | O_CLOEXEC);
	while (mt_section_next(made->whole.elf, &section))
		if (is_debug(&section))
			assert_int_equal(
			    pwrite(fd, place, sizeof(place),
				   (off_t)(header.e_shoff +
					   elf_ndxscn(section.scn) * sizeof(Elf64_Shdr) +
					   offsetof(Elf64_Shdr, sh_offset))),
			    sizeof(place));
	close(fd);
	mt_elf_file_close(&made->whole);
	assert_no_error(mt_elf_file_open(made->whole_path, &made->whole));
	assert_false(mt_debug_image_open(&made->whole, &made->image));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
	const struct CMUnitTest tests[] = {
	    TEST(test_compressed_sections_are_inflated),
	    TEST(test_sections_are_read_by_and_by),
	    TEST(test_sections_that_nobody_asks_for),
	    TEST(test_only_what_is_asked_for_is_read),
	    TEST(test_a_file_that_is_written_to),
	    TEST(test_a_file_that_is_touched),
	    TEST(test_a_file_with_another_build_id),
	    TEST(test_a_file_that_is_cut_short),
	    TEST(test_a_file_that_refers_to_another),
	    TEST(test_a_section_that_libdw_inflates),
	    TEST(test_a_section_twice),
	    TEST(test_frames_alone),
	    TEST(test_garbled_contents),
	    TEST(test_a_size_that_lies),
	    TEST(test_another_way_of_compression),
	    TEST(test_sections_that_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
