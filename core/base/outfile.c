/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUFFER_SIZE 65536
#define TEMPORARY   "tmp"
/* Interruptions in a row of a write that gets nowhere: somebody wants us to stop. */
#define MOST_INTERRUPTIONS 3
#define MOST_UNFINISHED    8

enum kind {
	REPLACING, /* a temporary file that takes the final name */
	BESIDE,    /* a temporary file for good */
	NAMELESS,
	STRAIGHT, /* standard output or a device */
};

struct mt_outfile {
	enum kind kind;
	int fd;     /* -1: closed */
	bool keeps; /* the temporary file stays */
	int errnum;
	char *path;      /* the final name, links resolved, or a name for messages */
	char *temporary; /* NULL: none, or it has its final name */
	uint64_t position;
	size_t buffered;
	uint8_t buffer[BUFFER_SIZE];
};

/* Temporary files that a signal's handler would remove; what finds no place here stays. */
static _Atomic(const char *) unfinished[MOST_UNFINISHED];

static void note_unfinished(const char *temporary)
{
	for (size_t i = 0; i < MOST_UNFINISHED; i++) {
		const char *nothing = NULL;

		if (atomic_compare_exchange_strong(&unfinished[i], &nothing, temporary))
			return;
	}
}

static void forget_unfinished(const struct mt_outfile *file)
{
	for (size_t i = 0; i < MOST_UNFINISHED; i++) {
		const char *own = file->temporary;

		if (own)
			atomic_compare_exchange_strong(&unfinished[i], &own, NULL);
	}
}

/* It is removed, or has its final name. */
static void forget_temporary(struct mt_outfile *file)
{
	forget_unfinished(file);
	free(file->temporary);
	file->temporary = NULL;
}

void mt_outfile_remove_unfinished(void)
{
	for (size_t i = 0; i < MOST_UNFINISHED; i++) {
		const char *temporary = unfinished[i];

		if (temporary)
			unlink(temporary);
	}
}

static struct mt_error *failed(struct mt_outfile *file, int errnum)
{
	file->errnum = errnum;
	if (errnum == ENOSPC || errnum == EDQUOT)
		return mt_error_at_path(
		    mt_error_errno(errnum,
				   "cannot write %s (free some space, or choose "
				   "another disk)",
				   file->path),
		    file->path, (int64_t)file->position);
	return mt_error_at_path(mt_error_errno(errnum, "cannot write %s", file->path), file->path,
				(int64_t)file->position);
}

/* Beside the system's numbers of errors. */
#define PLANTED (-1)

static struct mt_error *cannot_create(const char *path, int errnum)
{
	static const char no_directory[] = "cannot create %s (its directory must exist)";
	static const char not_allowed[] =
	    "cannot create %s (choose a directory that you may write to)";

	static const char planted[] =
	    "cannot create %s (another user's link is there, or file in a directory of all users: "
	    "choose another name)";

	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return mt_error_at_path(mt_error_errno(errnum, no_directory, path), path, -1);
	case PLANTED:
		return mt_error_at_path(mt_error_errno(EPERM, planted, path), path, -1);
	case EACCES:
	case EPERM:
	case EROFS:
		return mt_error_at_path(mt_error_errno(errnum, not_allowed, path), path, -1);
	default:
		return mt_error_at_path(mt_error_errno(errnum, "cannot create %s", path), path, -1);
	}
}

/* THERE, at PATH, is another user's, for us to write into, or through: a link, also in a directory
 * of that user's, or whatever is in a directory in which all may create files, as the kernel has it
 * where fs.protected_regular and its kin are set: proc_sys_fs(5).  *ERRNUM: ENOMEM. */
static bool is_planted(const char *path, const struct stat *there, int *errnum)
{
	const bool is_foreign = there->st_uid != geteuid();
	struct stat directory;

	*errnum = 0;
	if (is_foreign && there->st_uid && S_ISLNK(there->st_mode))
		return true;
	char *copy = strdup(path);

	*errnum = copy ? 0 : ENOMEM;
	const bool is_planted = copy && is_foreign && stat(dirname(copy), &directory) == 0 &&
				directory.st_mode & S_ISVTX && directory.st_mode & S_IWOTH &&
				there->st_uid != directory.st_uid;

	free(copy);
	return is_planted;
}

/* That of the file which is replaced.  Whoever may not give files away keeps them. */
static int take_over(int fd, const struct stat *replaced)
{
	if (fchown(fd, replaced->st_uid, replaced->st_gid) && errno != EPERM)
		return errno;
	return fchmod(fd, replaced->st_mode & 0777) ? errno : 0;
}

/* REPLACED NULL: it is a new one, with the mode of any. */
static int open_temporary(struct mt_outfile *file, const struct stat *replaced, const char *ending)
{
	const mode_t mode = replaced ? 0600 : 0666;
	uint64_t salt;

	for (int try = 0; try < 100; try++) {
		if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
			return errno;
		if (asprintf(&file->temporary, "%s.%016" PRIx64 ".%s", file->path, salt, ending) <
		    0) {
			file->temporary = NULL;
			return ENOMEM;
		}
		file->fd =
		    open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (file->fd >= 0) {
			note_unfinished(file->temporary);
			return replaced ? take_over(file->fd, replaced) : 0;
		}

		int errnum = errno;
		free(file->temporary);
		file->temporary = NULL;
		if (errnum != EEXIST)
			return errnum;
	}
	return EEXIST;
}

static int open_nameless(struct mt_outfile *file)
{
	const char *directory = getenv("TMPDIR");
	char *name = NULL;

	if (!directory || !*directory)
		directory = "/tmp";
	if (asprintf(&name, "%s/mtrace-XXXXXX", directory) < 0)
		return ENOMEM;
	file->fd = mkostemp(name, O_CLOEXEC);
	int errnum = file->fd < 0 ? errno : 0;
	if (file->fd >= 0)
		unlink(name);
	free(file->path);
	file->path = name;
	return errnum;
}

static int open_path(struct mt_outfile *file, const char *path)
{
	struct stat status;
	int errnum;

	if (!path) {
		file->kind = NAMELESS;
		return open_nameless(file);
	}
	if (strcmp(path, "-") == 0) {
		file->kind = STRAIGHT;
		file->path = strdup("standard output");
		if (!file->path)
			return ENOMEM;
		file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return file->fd < 0 ? errno : 0;
	}
	file->kind = REPLACING;
	file->path = strdup(path);
	if (!file->path)
		return ENOMEM;
	if (lstat(path, &status)) /* what comes there meanwhile is replaced, not followed */
		return open_temporary(file, NULL, TEMPORARY);
	if (is_planted(path, &status, &errnum))
		return PLANTED;
	if (errnum)
		return errnum;
	if (S_ISLNK(status.st_mode)) {
		/* The file that will be replaced, behind any links. */
		char *real = realpath(path, NULL);

		if (real) {
			free(file->path);
			file->path = real;
		}
		if (stat(file->path, &status))
			return open_temporary(file, NULL, TEMPORARY);
	}
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	if (S_ISREG(status.st_mode))
		return access(file->path, W_OK) ? errno : open_temporary(file, &status, TEMPORARY);
	file->kind = STRAIGHT;
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
	return file->fd < 0 ? errno : 0;
}

static int open_beside(struct mt_outfile *file, const char *path, const char *ending)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
		return open_path(file, NULL);
	file->kind = BESIDE;
	file->path = strdup(path);
	int errnum = file->path ? open_temporary(file, NULL, ending) : ENOMEM;
	char *name = errnum ? NULL : strdup(file->temporary);

	if (!errnum && !name)
		return ENOMEM;
	free(name ? file->path : NULL);
	file->path = name ? name : file->path;
	return errnum;
}

/* ENDING NULL: not beside it. */
static struct mt_error *create(const char *path, const char *ending, struct mt_outfile **out)
{
	struct mt_outfile *file = malloc(sizeof(*file));

	*out = NULL;
	if (!file)
		return mt_error_no_memory();
	memset(file, 0, offsetof(struct mt_outfile, buffer));
	file->fd = -1;
	int errnum = ending ? open_beside(file, path, ending) : open_path(file, path);
	if (errnum) {
		struct mt_error *error = cannot_create(path         ? path
						       : file->path ? file->path
								    : "a file",
						       errnum);
		mt_outfile_destroy(file);
		return error;
	}
	*out = file;
	return NULL;
}

struct mt_error *mt_outfile_create(const char *path, struct mt_outfile **out)
{
	return create(path, NULL, out);
}

struct mt_error *mt_outfile_create_beside(const char *path, const char *ending,
					  struct mt_outfile **out)
{
	return create(path, ending, out);
}

void mt_outfile_keep(struct mt_outfile *file)
{
	file->keeps = true;
	forget_unfinished(file);
}

void mt_outfile_drop(struct mt_outfile *file)
{
	file->keeps = false;
}

void mt_outfile_destroy(struct mt_outfile *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	if (file->temporary && !file->keeps)
		unlink(file->temporary);
	forget_temporary(file);
	free(file->path);
	free(file);
}

/* A write may take less than all, or be interrupted, without having failed. */
static struct mt_error *write_all(struct mt_outfile *file, const uint8_t *bytes, size_t size)
{
	int interruptions = 0;

	while (size) {
		ssize_t count = write(file->fd, bytes, size);

		if (count < 0 && errno == EINTR && ++interruptions < MOST_INTERRUPTIONS)
			continue;
		if (count <= 0)
			return failed(file, count ? errno : EIO);
		interruptions = 0;
		bytes += count;
		size -= (size_t)count;
	}
	return NULL;
}

struct mt_error *mt_outfile_flush(struct mt_outfile *file)
{
	size_t buffered = file->buffered;

	if (file->errnum)
		return failed(file, file->errnum);
	file->buffered = 0;
	return write_all(file, file->buffer, buffered);
}

struct mt_error *mt_outfile_write(struct mt_outfile *file, const void *bytes, size_t size)
{
	if (file->errnum)
		return failed(file, file->errnum);
	if (size > BUFFER_SIZE - file->buffered)
		mt_try(mt_outfile_flush(file));
	if (size >= BUFFER_SIZE) {
		mt_try(write_all(file, bytes, size));
	} else if (size) {
		memcpy(file->buffer + file->buffered, bytes, size);
		file->buffered += size;
	}
	file->position += size;
	return NULL;
}

uint64_t mt_outfile_position(const struct mt_outfile *file)
{
	return file->position;
}

struct mt_error *mt_outfile_free_bytes(const struct mt_outfile *file, uint64_t *free_bytes)
{
	struct statvfs system;

	if (fstatvfs(file->fd, &system))
		return mt_error_errno(errno, "cannot find how much space is left at %s",
				      file->path);
	*free_bytes = (uint64_t)system.f_bavail * system.f_frsize;
	return NULL;
}

bool mt_outfile_is_seekable(const struct mt_outfile *file)
{
	return file->kind != STRAIGHT;
}

bool mt_outfile_is_local(const struct mt_outfile *file)
{
	static const uint32_t locals[] = {EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,
					  BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
					  F2FS_SUPER_MAGIC,  OVERLAYFS_SUPER_MAGIC};
	struct statfs system;

	if (!mt_outfile_is_seekable(file) || fstatfs(file->fd, &system))
		return false;
	for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		if ((uint32_t)system.f_type == locals[i])
			return true;
	return false;
}

static struct mt_error *not_seekable(const struct mt_outfile *file)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "cannot write %s out of order: give a regular file", file->path);
}

struct mt_error *mt_outfile_pwrite(struct mt_outfile *file, const void *bytes, size_t size,
				   uint64_t offset)
{
	const uint8_t *next = bytes;

	if (!mt_outfile_is_seekable(file))
		return not_seekable(file);
	mt_try(mt_outfile_flush(file));
	while (size) {
		ssize_t count = pwrite(file->fd, next, size, (off_t)offset);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return failed(file, count ? errno : EIO);
		next += count;
		offset += (uint64_t)count;
		size -= (size_t)count;
	}
	return NULL;
}

struct mt_error *mt_outfile_commit(struct mt_outfile *file)
{
	mt_try(mt_outfile_flush(file));
	if (file->kind == NAMELESS || file->kind == BESIDE)
		return NULL;

	/* Some file systems report a full disk only here. */
	int fd = file->fd;
	file->fd = -1;
	if (close(fd) && errno != EINTR)
		return failed(file, errno);
	if (file->kind == STRAIGHT)
		return NULL;
	if (rename(file->temporary, file->path))
		return failed(file, errno);
	forget_temporary(file);
	return NULL;
}

struct mt_error *mt_outfile_dup(struct mt_outfile *file, int *fd)
{
	if (!mt_outfile_is_seekable(file))
		return not_seekable(file);
	if (file->fd >= 0) {
		mt_try(mt_outfile_flush(file));
		*fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);
	} else {
		*fd = open(file->path, O_RDONLY | O_CLOEXEC);
	}
	if (*fd < 0)
		return mt_error_at_path(mt_error_errno(errno, "cannot open %s", file->path),
					file->path, -1);
	return NULL;
}

bool mt_outfile_has_failed(const struct mt_outfile *file)
{
	return file->errnum;
}

const char *mt_outfile_place(const struct mt_outfile *file)
{
	return file->temporary ? file->temporary : file->kind == REPLACING ? file->path : NULL;
}

const char *mt_outfile_path(const struct mt_outfile *file)
{
	return file->path;
}
