/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The vDSO is code without a file.  It goes to ${XDG_CACHE_HOME:-~/.cache}/mtrace/vdso-BUILDID.so,
 * once a kernel; where that cannot be written, to ${TMPDIR:-/tmp}. */
#include "session/private.h"

#include "base/outfile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GREATEST_VDSO_BYTES (1u << 20)

/* Ours or the system's, and nobody else's to change. */
static bool is_there(const char *path, size_t size)
{
	struct stat file;

	return lstat(path, &file) == 0 && S_ISREG(file.st_mode) && (size_t)file.st_size == size &&
	       (file.st_uid == geteuid() || !file.st_uid) && !(file.st_mode & S_IWOTH) &&
	       access(path, R_OK) == 0;
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
	struct mt_outfile *file = NULL;
	struct mt_error *error = mt_outfile_create(path, &file);

	if (!error)
		error = mt_outfile_write(file, bytes, size);
	if (!error)
		error = mt_outfile_commit(file);
	mt_outfile_destroy(file);
	mt_error_destroy(error);
	return !error;
}

/* The directory's path with the file's name behind it, NULL if it cannot be had. */
static char *keep_in(const char *directory, const char *below, const char *id, const void *bytes,
		     size_t size)
{
	struct mt_str path = {0};

	if (!directory || directory[0] != '/')
		return NULL;
	mt_str_append(&path, directory);
	for (const char *part = below; *part; part += strcspn(part + 1, "/") + 1) {
		mt_str_append_bytes(&path, part, strcspn(part + 1, "/") + 1);
		if (!path.failed)
			mkdir(path.text, 0777);
	}
	mt_str_appendf(&path, "/vdso-%s.so", id);
	if (!path.failed && (is_there(path.text, size) || write_file(path.text, bytes, size)))
		return path.text;
	mt_str_deinit(&path);
	return NULL;
}

static char *keep(const char *id, const void *bytes, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME");
	char *path = cache && *cache ? keep_in(cache, "/mtrace", id, bytes, size)
				     : keep_in(getenv("HOME"), "/.cache/mtrace", id, bytes, size);

	if (!path)
		path = keep_in(getenv("TMPDIR"), "", id, bytes, size);
	return path ? path : keep_in("/tmp", "", id, bytes, size);
}

void mt_session_keep_vdso(struct mt_session *session, pid_t pid, const struct mt_map *map,
			  char **path, struct mt_build_id *id)
{
	size_t size = map->end - map->start;
	uint8_t *bytes = size <= GREATEST_VDSO_BYTES ? malloc(size) : NULL;
	struct mt_objfile *objfile = NULL;
	char hex[41];

	*path = NULL;
	if (bytes &&
	    session->target->ops->read(session->target, pid, map->start, bytes, size) == size) {
		mt_error_destroy(mt_objfile_open_memory(map->path, bytes, size, &objfile));
		if (objfile) {
			*id = *mt_objfile_build_id(objfile);
			mt_build_id_format(id, hex);
			*path = keep(hex, bytes, size);
		}
		mt_objfile_unref(objfile);
	}
	free(bytes);
}
