/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *spill_directory(void)
{
	const char *directory = secure_getenv("TMPDIR");

	return directory && *directory ? directory : "/tmp";
}

static struct mt_error *spill_error(int errnum)
{
	return mt_error_errno(
	    errnum, "cannot write temporary data to %s (set TMPDIR to a directory with more space)",
	    spill_directory());
}

static struct mt_error *spill_open(struct mt_spill *spill)
{
	const char *directory = spill_directory();
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	char path[4096];

	/* For file systems that know no O_TMPFILE. */
	if (fd < 0) {
		int length = snprintf(path, sizeof(path), "%s/mtrace-XXXXXX", directory);

		if (length < 0 || (size_t)length >= sizeof(path))
			return spill_error(ENAMETOOLONG);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		return spill_error(errno);
	spill->fd = fd;
	spill->is_open = true;
	return NULL;
}

struct mt_error *mt_spill_write(struct mt_spill *spill, uint64_t offset, const void *bytes,
				size_t count)
{
	const char *at = bytes;

	if (!spill->is_open)
		mt_try(spill_open(spill));
	while (count > 0) {
		ssize_t written = pwrite(spill->fd, at, count, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return spill_error(written < 0 ? errno : ENOSPC);
		at += written;
		offset += (uint64_t)written;
		count -= (size_t)written;
	}
	return NULL;
}

struct mt_error *mt_spill_read(struct mt_spill *spill, uint64_t offset, void *bytes, size_t count)
{
	char *at = bytes;

	while (count > 0) {
		ssize_t got = spill->is_open ? pread(spill->fd, at, count, (off_t)offset) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return mt_error_errno(got < 0 ? errno : EIO,
					      "cannot read temporary data back from %s",
					      spill_directory());
		at += got;
		offset += (uint64_t)got;
		count -= (size_t)got;
	}
	return NULL;
}

void mt_spill_deinit(struct mt_spill *spill)
{
	if (spill->is_open)
		close(spill->fd);
	spill->is_open = false;
}
