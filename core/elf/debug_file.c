/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the debug information of a stripped file is, in the order of GDB's manual, "Debugging
 * Information in Separate Files": by build id under the debug directory; by the name and CRC of
 * .gnu_debuglink beside the file, in .debug/ and under the debug directory; from debuginfod. */
#include "elf/objfile_private.h"

#include "elf/section.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static bool same_build_id(const struct mt_elf_file *file, const struct mt_build_id *wanted)
{
	struct mt_build_id found;

	mt_elf_file_build_id(file, &found);
	return mt_build_id_equal(&found, wanted);
}

/* Takes PATH over.  A file that is not there or not ours is passed by. */
static bool try_build_id(char *path, const struct mt_build_id *wanted, struct mt_elf_file *out)
{
	if (!path)
		return false;
	mt_auto(mt_error) struct mt_error *error = mt_elf_file_open(path, out);
	free(path);
	if (error)
		return false;
	if (same_build_id(out, wanted))
		return true;
	mt_elf_file_close(out);
	return false;
}

static char *join(const char *root, const char *directory, const char *between, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, "%s%s%s%s", root ? root : "", directory, between, name) < 0)
		return NULL;
	return path;
}

static bool find_in_build_id_directory(const struct mt_objfile *objfile,
				       const struct mt_build_id *wanted, const char *suffix,
				       struct mt_elf_file *out)
{
	char hex[41], name[64];

	if (wanted->size < 2)
		return false;
	mt_build_id_format(wanted, hex);
	snprintf(name, sizeof(name), "%.2s/%s%s", hex, hex + 2, suffix);
	const char *directory = objfile->debug_directory;
	return (objfile->sysroot &&
		try_build_id(join(objfile->sysroot, directory, "/.build-id/", name), wanted,
			     out)) ||
	       try_build_id(join(NULL, directory, "/.build-id/", name), wanted, out);
}

static bool file_crc(const char *path, uint32_t *crc)
{
	unsigned char buffer[65536];
	ssize_t count;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	*crc = (uint32_t)crc32(0, NULL, 0);
	while ((count = read(fd, buffer, sizeof(buffer))) > 0)
		*crc = (uint32_t)crc32(*crc, buffer, (uInt)count);
	close(fd);
	return count == 0;
}

/* Takes PATH over. */
static bool try_debuglink(const struct mt_objfile *objfile, char *path, uint32_t wanted,
			  struct mt_elf_file *out)
{
	uint32_t crc;

	if (!path)
		return false;
	if (access(path, R_OK) || !file_crc(path, &crc)) {
		free(path);
		return false;
	}
	if (crc != wanted) {
		mt_log(&objfile->log, MT_LOG_WARNING,
		       "ignoring %s as the debug file of %s: its checksum differs", path,
		       objfile->path);
		free(path);
		return false;
	}
	mt_auto(mt_error) struct mt_error *error = mt_elf_file_open(path, out);
	free(path);
	return !error;
}

static bool find_by_debuglink(const struct mt_objfile *objfile, struct mt_elf_file *out)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(objfile->main.elf, &crc);

	if (!name || !*name || strchr(name, '/'))
		return false;
	/* The directory of the file itself, links followed. */
	char *real = realpath(objfile->main.path, NULL);
	if (!real)
		return false;
	/* A stripped file has the name that its debug file was given. */
	bool is_itself = strcmp(mt_path_name(real), name) == 0;
	real[mt_path_name(real) - real] = '\0';
	bool found =
	    (!is_itself && try_debuglink(objfile, join(NULL, real, "", name), crc, out)) ||
	    try_debuglink(objfile, join(NULL, real, ".debug/", name), crc, out) ||
	    try_debuglink(objfile, join(objfile->debug_directory, real, "", name), crc, out);
	free(real);
	return found;
}

/* libdwfl's call-backs know how to ask debuginfod; they give a file descriptor.  Without a path
 * they go by the build id alone. */
static char *ask_through(Dwfl_Module *module, bool debug)
{
	void *user_data = NULL;
	char *file_name = NULL;
	Elf *elf = NULL;
	int fd = debug ? dwfl_standard_find_debuginfo(module, &user_data, NULL, 0, NULL, NULL, 0,
						      &file_name)
		       : dwfl_build_id_find_elf(module, &user_data, NULL, 0, &file_name, &elf);

	if (elf)
		elf_end(elf);
	free(file_name);
	/* The path of an open file, which is closed. */
	char link[32], path[4096];

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, sizeof(path));
	close(fd);
	return length > 0 && (size_t)length < sizeof(path) ? strndup(path, (size_t)length) : NULL;
}

/* The debug file if DEBUG, else the file itself, as a path in debuginfod's cache. */
static char *ask_debuginfod(const struct mt_build_id *wanted, bool debug)
{
	static const Dwfl_Callbacks callbacks = {
	    .find_elf = dwfl_build_id_find_elf,
	    .find_debuginfo = dwfl_standard_find_debuginfo,
	    .section_address = dwfl_offline_section_address,
	};
	char *path = NULL;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? dwfl_report_module(dwfl, "wanted", 0x1000, 0x2000) : NULL;

	if (module && dwfl_module_report_build_id(module, wanted->bytes, wanted->size, 0) == 0)
		path = ask_through(module, debug);
	dwfl_end(dwfl);
	return path;
}

static bool find_by_debuginfod(const struct mt_objfile *objfile, const struct mt_build_id *wanted,
			       bool debug, struct mt_elf_file *out)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	if (!objfile->debuginfod || !servers || !*servers || wanted->size == 0)
		return false;
	mt_log(&objfile->log, MT_LOG_INFO, "asking debuginfod about %s", objfile->path);
	return try_build_id(ask_debuginfod(wanted, debug), wanted, out);
}

bool mt_objfile_find_by_build_id(struct mt_objfile *objfile, const struct mt_build_id *wanted,
				 struct mt_elf_file *out)
{
	return find_in_build_id_directory(objfile, wanted, "", out) ||
	       find_by_debuginfod(objfile, wanted, false, out);
}

void mt_objfile_seek_debug(struct mt_objfile *objfile)
{
	if (objfile->debug_sought)
		return;
	objfile->debug_sought = true;
	if (mt_section_exists(objfile->main.elf, ".debug_info"))
		return;
	if (!find_in_build_id_directory(objfile, &objfile->build_id, ".debug", &objfile->debug) &&
	    !find_by_debuglink(objfile, &objfile->debug))
		find_by_debuginfod(objfile, &objfile->build_id, true, &objfile->debug);
}

bool mt_objfile_has_debug_info(struct mt_objfile *objfile)
{
	mt_objfile_seek_debug(objfile);
	return mt_section_exists(objfile->main.elf, ".debug_info") ||
	       (objfile->debug.elf && mt_section_exists(objfile->debug.elf, ".debug_info"));
}
