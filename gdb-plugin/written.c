/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "written.h"

#include "base/array.h"
#include "base/str.h"
#include "gdb.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A trigger may take them by the thousand. */
#define MOST_SHOWN 10u

static MT_ARRAY(struct {
	uint32_t number;
	char *path;
	char *whole; /* for when the directory has changed */
}) written;

static char *whole_path(const char *path)
{
	mt_auto(mt_str) struct mt_str whole = {0};
	char *directory = *path == '/' ? NULL : getcwd(NULL, 0);

	if (directory)
		mt_str_appendf(&whole, "%s/", directory);
	mt_str_append(&whole, path);
	free(directory);
	return whole.failed ? NULL : strdup(whole.text);
}

void mt_written_add(uint32_t number, const char *path)
{
	__typeof__(*written.items) one = {number, strdup(path), whole_path(path)};

	mt_gdb_set_convenience("_mtrace_snapshots", number);
	if (one.path && one.whole && !mt_array_push(&written, one))
		return;
	free(one.path);
	free(one.whole);
}

const char *mt_written_last(void)
{
	return written.count ? mt_array_last(&written)->whole : NULL;
}

void mt_written_print(void)
{
	size_t first = written.count > MOST_SHOWN ? written.count - MOST_SHOWN : 0;

	if (first)
		mt_gdb_printf("  ... %zu before\n", first);
	for (size_t i = first; i < written.count; i++)
		mt_gdb_printf("  %-4u %s\n", written.items[i].number, written.items[i].path);
}
