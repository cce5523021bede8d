/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
	char directory[64];
	char path[128];
};

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->directory, "/tmp/mt-outfile-XXXXXX");
	if (!mkdtemp(place->directory))
		return -1;
	snprintf(place->path, sizeof(place->path), "%s/file", place->directory);
	*state = place;
	return 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", place->directory);
	int status = system(command);
	free(place);
	return status;
}

static int count_files(const char *directory)
{
	DIR *dir = opendir(directory);
	int count = 0;

	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void check_content(const char *path, const char *wanted)
{
	char content[64] = "";
	FILE *stream = fopen(path, "r");

	assert_non_null(stream);
	size_t size = fread(content, 1, sizeof(content) - 1, stream);
	fclose(stream);
	assert_int_equal(size, strlen(wanted));
	assert_string_equal(content, wanted);
}

static void appears_only_at_commit(void **state)
{
	struct place *place = *state;
	struct mt_outfile *file = NULL;
	struct stat status;

	assert_null(mt_outfile_create(place->path, &file));
	assert_null(mt_outfile_write(file, "hello world", 11));
	assert_int_equal(mt_outfile_position(file), 11);
	assert_int_not_equal(access(place->path, F_OK), 0);
	assert_null(mt_outfile_pwrite(file, "J", 1, 0));
	assert_null(mt_outfile_commit(file));
	check_content(place->path, "Jello world");
	mt_outfile_destroy(file);
	assert_int_equal(count_files(place->directory), 1);
	assert_int_equal(stat(place->path, &status), 0);
	mode_t mask = umask(0);
	umask(mask);
	assert_int_equal(status.st_mode & 0777, 0666 & ~mask);
}

static void leaves_the_old_file_without_commit(void **state)
{
	struct place *place = *state;
	struct mt_outfile *file = NULL;
	FILE *old = fopen(place->path, "w");

	fputs("old", old);
	fclose(old);
	assert_null(mt_outfile_create(place->path, &file));
	assert_null(mt_outfile_write(file, "new", 3));
	mt_outfile_destroy(file);
	check_content(place->path, "old");
	assert_int_equal(count_files(place->directory), 1);
}

static void is_removed_unfinished(void **state)
{
	struct place *place = *state;
	struct mt_outfile *file = NULL, *finished = NULL;
	char other[160];

	snprintf(other, sizeof(other), "%s.other", place->path);
	assert_null(mt_outfile_create(other, &finished));
	assert_null(mt_outfile_commit(finished));
	assert_null(mt_outfile_create(place->path, &file));
	assert_int_equal(count_files(place->directory), 2);
	mt_outfile_remove_unfinished();
	assert_int_equal(count_files(place->directory), 1);
	assert_int_equal(access(other, F_OK), 0);
	mt_outfile_destroy(file);
	mt_outfile_destroy(finished);
}

static void keeps_symbolic_links(void **state)
{
	struct place *place = *state;
	char target[160];
	struct stat status;
	struct mt_outfile *file = NULL;

	snprintf(target, sizeof(target), "%s/target", place->directory);
	fclose(fopen(target, "w"));
	assert_int_equal(symlink(target, place->path), 0);
	assert_null(mt_outfile_create(place->path, &file));
	assert_null(mt_outfile_write(file, "x", 1));
	assert_null(mt_outfile_commit(file));
	mt_outfile_destroy(file);
	assert_int_equal(lstat(place->path, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	check_content(target, "x");
}

static void replace(const char *path)
{
	struct mt_outfile *file = NULL;

	assert_null(mt_outfile_create(path, &file));
	assert_null(mt_outfile_write(file, "x", 1));
	assert_null(mt_outfile_commit(file));
	mt_outfile_destroy(file);
	check_content(path, "x");
}

static void keeps_mode_and_owner(void **state)
{
	struct place *place = *state;
	const uid_t owner = geteuid() ? geteuid() : 1234;
	const gid_t group = geteuid() ? getegid() : 4321;
	struct stat status;

	fclose(fopen(place->path, "w"));
	assert_int_equal(chown(place->path, owner, group), 0);
	assert_int_equal(chmod(place->path, 0604), 0);
	replace(place->path);
	assert_int_equal(stat(place->path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0604);
	assert_int_equal(status.st_uid, owner);
	assert_int_equal(status.st_gid, group);
}

static void check_refused(const char *path, enum mt_error_code code)
{
	struct mt_outfile *file = NULL;
	struct mt_error *error = mt_outfile_create(path, &file);

	assert_non_null(error);
	assert_null(file);
	assert_int_equal(mt_error_code(error), code);
	assert_non_null(strstr(mt_error_message(error), path));
	mt_error_destroy(error);
}

static void refuses_at_once(void **state)
{
	struct place *place = *state;
	char missing[160];

	snprintf(missing, sizeof(missing), "%s/no/file", place->directory);
	check_refused(missing, MT_ERROR_NOT_FOUND);
	check_refused(place->directory, MT_ERROR_SYSTEM);
	check_refused("/proc/file", MT_ERROR_NOT_FOUND);
	if (geteuid() == 0 && seteuid(65534) == 0) {
		check_refused(place->path, MT_ERROR_PERMISSION);
		assert_int_equal(seteuid(0), 0);
	}
}

static void tells_of_a_full_disk(void **state)
{
	static const uint8_t zeros[200000];
	struct mt_outfile *file = NULL;

	(void)state;
	assert_null(mt_outfile_create("/dev/full", &file));
	assert_false(mt_outfile_is_seekable(file));
	assert_false(mt_outfile_is_local(file));
	assert_null(mt_outfile_write(file, "x", 1)); /* buffered */
	struct mt_error *error = mt_outfile_write(file, zeros, sizeof(zeros));
	assert_non_null(error);
	assert_int_equal(mt_error_errnum(error), ENOSPC);
	assert_non_null(strstr(mt_error_message(error), "free some space"));
	mt_error_destroy(error);

	error = mt_outfile_commit(file);
	assert_int_equal(mt_error_errnum(error), ENOSPC);
	mt_error_destroy(error);
	mt_outfile_destroy(file);
}

static void tells_of_a_full_disk_at_commit(void **state)
{
	struct mt_outfile *file = NULL;

	(void)state;
	assert_null(mt_outfile_create("/dev/full", &file));
	assert_null(mt_outfile_write(file, "x", 1));
	struct mt_error *error = mt_outfile_commit(file);
	assert_int_equal(mt_error_errnum(error), ENOSPC);
	mt_error_destroy(error);
	mt_outfile_destroy(file);
}

static void nameless_files_are_read_back(void **state)
{
	struct mt_outfile *file = NULL;
	char content[4] = "";
	int fd = -1;

	(void)state;
	assert_null(mt_outfile_create(NULL, &file));
	assert_null(mt_outfile_write(file, "abc", 3));
	assert_null(mt_outfile_commit(file));
	assert_null(mt_outfile_dup(file, &fd));
	assert_int_equal(pread(fd, content, 3, 0), 3);
	assert_string_equal(content, "abc");
	close(fd);
	mt_outfile_destroy(file);
}

/* In a directory like /tmp: a link, a file, a FIFO, a link to nothing. */
static void leaves_what_another_user_planted(void **state)
{
	struct place *place = *state;
	char target[160];

	if (geteuid())
		skip();
	snprintf(target, sizeof(target), "%s/target", place->directory);
	for (int kind = 0; kind < 4; kind++) {
		FILE *file = fopen(target, "w");

		fputs("old", file);
		fclose(file);
		if (kind == 0)
			assert_int_equal(symlink(target, place->path), 0);
		else if (kind == 1)
			fclose(fopen(place->path, "w"));
		else if (kind == 2)
			assert_int_equal(mkfifo(place->path, 0666), 0);
		else
			assert_int_equal(symlink("/nowhere/at/all", place->path), 0);
		assert_int_equal(chmod(place->directory, 01777), 0);
		assert_int_equal(lchown(place->path, 1234, 1234), 0);
		check_refused(place->path, MT_ERROR_PERMISSION);
		assert_int_equal(count_files(place->directory), 2);
		check_content(target, "old");
		/* The same of ours; a file of another's, where others may not create any. */
		if (kind < 2) {
			assert_int_equal(lchown(place->path, 0, 0), 0);
			replace(place->path);
			assert_int_equal(lchown(place->path, 1234, 1234), 0);
			assert_int_equal(chmod(place->directory, 0755), 0);
			if (kind == 0)
				check_refused(place->path, MT_ERROR_PERMISSION);
			else
				replace(place->path);
		}
		assert_int_equal(unlink(place->path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(appears_only_at_commit, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(leaves_the_old_file_without_commit, make_place,
					    remove_place),
	    cmocka_unit_test_setup_teardown(is_removed_unfinished, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(keeps_symbolic_links, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(keeps_mode_and_owner, make_place, remove_place),
	    cmocka_unit_test_setup_teardown(leaves_what_another_user_planted, make_place,
					    remove_place),
	    cmocka_unit_test_setup_teardown(refuses_at_once, make_place, remove_place),
	    cmocka_unit_test(tells_of_a_full_disk),
	    cmocka_unit_test(tells_of_a_full_disk_at_commit),
	    cmocka_unit_test(nameless_files_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
