/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/files.h"

#include <stdlib.h>
#include <unistd.h>

struct mt_error *mt_decode_files_create(const struct mt_objfile_options *options,
					struct mt_decode_files **out)
{
	struct mt_decode_files *files = calloc(1, sizeof(*files));

	if (!files)
		return mt_error_no_memory();
	struct mt_objfile_options own = *options;
	own.with_i386 = true; /* Intel PT of 32-bit programs comes from perf record. */
	own.without_locations = true;
	struct mt_error *error = mt_space_pool_create(&own, &files->pool);
	if (error)
		free(files);
	else
		*out = files;
	return error;
}

void mt_decode_files_destroy(struct mt_decode_files *files)
{
	if (!files)
		return;
	mt_space_pool_destroy(files->pool);
	mt_objfile_unref(files->vdso);
	if (files->vdso_path)
		unlink(files->vdso_path);
	free(files->vdso_path);
	free(files);
}
