/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool mt_path_is_runnable(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

bool mt_path_find(const char *name, struct mt_str *found)
{
	const char *at = getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin";

	for (;; at++) {
		size_t length = strcspn(at, ":");

		mt_str_clear(found);
		mt_str_append_bytes(found, length ? at : ".", length ? length : 1);
		mt_str_appendf(found, "/%s", name);
		if (found->failed)
			return false;
		if (mt_path_is_runnable(found->text))
			return true;
		at += length;
		if (!*at)
			return false;
	}
}
