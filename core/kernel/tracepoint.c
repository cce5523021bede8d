/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/tracepoint.h"

#include "kernel/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

static int read_part(const char *mount, const char *name, const char *part, char *text, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/events/%s/%s", mount, name, part);
	return mt_system_read_file(path, text, size);
}

struct mt_error *mt_tracepoint_find(const char *name, struct mt_tracepoint *out)
{
	int result = -ENOENT;
	char id[32];

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int tried = read_part(mounts[i], name, "id", id, sizeof(id));

		if (tried > 0)
			tried =
			    read_part(mounts[i], name, "format", out->format, sizeof(out->format));
		if (tried > 0) {
			out->id = strtoull(id, NULL, 10);
			return NULL;
		}
		if (result == -ENOENT)
			result = tried;
	}
	if (result == -EACCES || result == -EPERM)
		return mt_error_new(MT_ERROR_PERMISSION,
				    "the tracepoint %s cannot be read: only root may read tracefs; "
				    "run as root, or run: sudo mount -o "
				    "remount,mode=755 /sys/kernel/tracing",
				    name);
	if (read_part(mounts[0], "", "enable", id, sizeof(id)) < 0)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "cannot read the tracepoint %s: tracefs is not mounted; mount it: sudo mount "
		    "-t tracefs nodev /sys/kernel/tracing",
		    name);
	return mt_error_new(MT_ERROR_UNSUPPORTED, "this kernel has no tracepoint %s", name);
}

/* "	field:long id;	offset:8;	size:8;	signed:1;" */
bool mt_tracepoint_field(const struct mt_tracepoint *tracepoint, const char *name,
			 struct mt_tracepoint_field *field)
{
	char key[64];
	const char *at;

	snprintf(key, sizeof(key), " %s;\toffset:", name);
	at = strstr(tracepoint->format, key);
	return at && sscanf(at + strlen(key), "%u;\tsize:%u;", &field->offset, &field->size) == 2;
}

uint64_t mt_tracepoint_number(const struct mt_tracepoint_field *field, const uint8_t *raw,
			      uint32_t raw_size)
{
	uint64_t number = 0;

	if (raw && field->offset <= raw_size && field->size <= raw_size - field->offset)
		memcpy(&number, raw + field->offset,
		       field->size < sizeof(number) ? field->size : sizeof(number));
	return number;
}
