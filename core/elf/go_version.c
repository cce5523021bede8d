/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/go_version.h"

#include "elf/objfile_private.h"
#include "elf/section.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "\xff Go buildinf:"

/* The header: the magic number, the size of a pointer, flags; from Go 1.18 on the version follows
 * it, behind its length, which takes one byte. */
enum { FLAGS_AT = 15, IN_PLACE = 0x2, LENGTH_AT = 32, MOST = 32 };

static bool find(const struct mt_objfile *objfile, struct mt_section *info)
{
	return objfile->main.elf && mt_section_find(objfile->main.elf, ".go.buildinfo", info) &&
	       info->data->d_buf && info->data->d_size > LENGTH_AT &&
	       memcmp(info->data->d_buf, MAGIC, sizeof(MAGIC) - 1) == 0;
}

bool mt_objfile_is_go(const struct mt_objfile *objfile)
{
	struct mt_section info;

	return find(objfile, &info);
}

unsigned mt_objfile_go_minor(const struct mt_objfile *objfile)
{
	static const char major[] = "go1.";
	struct mt_section info;
	char text[MOST + 1] = {0};

	if (!find(objfile, &info))
		return 0;
	const uint8_t *bytes = info.data->d_buf;
	const size_t length = bytes[LENGTH_AT];
	if (!(bytes[FLAGS_AT] & IN_PLACE) || length > MOST ||
	    info.data->d_size - LENGTH_AT - 1 < length)
		return 0;
	memcpy(text, bytes + LENGTH_AT + 1, length);
	if (strncmp(text, major, sizeof(major) - 1) != 0)
		return 0;
	char *end;
	const unsigned minor = (unsigned)strtoul(text + sizeof(major) - 1, &end, 10);
	/* "go1.25-20250209-RC00 …" is made from what became Go 1.25 later. */
	return *end == '-' ? 0 : minor;
}
