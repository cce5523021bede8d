/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/installed.h"

#include "base/str.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file that this code is in: of a program the dynamic loader knows only the name by which it
 * was called. */
static bool own_path(char path[PATH_MAX])
{
	Dl_info info;
	ssize_t length;

	if (dladdr((void *)own_path, &info) && info.dli_fname && strstr(info.dli_fname, ".so"))
		return realpath(info.dli_fname, path);
	length = readlink("/proc/self/exe", path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
	return length > 0;
}

char *mt_installed_find(const char *name)
{
	/* In a build directory's bench/ or tests/ too, where programs of the core's own stand. */
	static const char *const places[] = {"/", "/../lib/mtrace/", "/../"};
	char own[PATH_MAX], *found = NULL;
	bool is_denied = false;

	if (!own_path(own))
		return NULL;
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; !found && i < sizeof(places) / sizeof(places[0]); i++) {
		mt_auto(mt_str) struct mt_str path = {0};

		mt_str_appendf(&path, "%s%s%s", own, places[i], name);
		if (!path.failed)
			found = realpath(path.text, NULL);
		is_denied = is_denied || (!found && errno == EACCES);
	}
	if (!found && is_denied)
		errno = EACCES;
	return found;
}
