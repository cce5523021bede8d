/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Address filters, as `perf record --filter` tells them when it has found the names:
 *
 *	filter 0x1139/0x20@/usr/bin/ls,stop 0xffffffff81000000/0x40
 *
 * Source: linux/tools/perf/util/auxtrace.c, addr_filters__parse_bare_filter(); Intel PT takes no
 * other filters than these: linux/arch/x86/events/intel/pt.c, pt_event_addr_filters_validate(). */
#include "perf/recording_private.h"

#include <errno.h>
#include <stdlib.h>

#define BETWEEN " ,\n"

static bool take_action(char **at, bool *stops)
{
	static const char *const actions[] = {"filter ", "stop ", "tracestop "};

	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
		size_t length = strlen(actions[i]);

		if (strncmp(*at, actions[i], length) != 0)
			continue;
		*at += length;
		*stops = i > 0;
		return true;
	}
	return false;
}

static bool take_number(char **at, uint64_t *number)
{
	*at += strspn(*at, " ");
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, at, 0);
	*at += strspn(*at, " ");
	return !errno;
}

/* PATH gets a NUL behind it. */
static bool take_path(char **at, const char **path)
{
	*path = NULL;
	if (**at != '@')
		return true;
	++*at;
	*at += strspn(*at, " ");
	size_t length = strcspn(*at, BETWEEN);
	*path = *at;
	*at += length;
	if (**at)
		*(*at)++ = '\0';
	return length;
}

static bool take_filter(char **at, struct mt_recording_filter *filter)
{
	return take_action(at, &filter->stops) && take_number(at, &filter->start) &&
	       *(*at)++ == '/' && take_number(at, &filter->size) && filter->size &&
	       filter->size <= UINT64_MAX - filter->start && take_path(at, &filter->path);
}

enum mt_parsed mt_recording_take_filters(struct mt_recording *recording, struct mt_cursor *cursor)
{
	const uint64_t length = recording->pt_info[MT_PERF_PT_FILTER_STR_LEN];
	const uint8_t *bytes = mt_cursor_bytes(cursor, length);
	size_t count = 0;

	recording->filter_count = 0;
	if (!bytes)
		return MT_GARBLED;
	char *at = mt_arena_text(&recording->arena, (const char *)bytes, length);
	if (!at)
		return MT_NO_MEMORY;
	for (at += strspn(at, BETWEEN); *at; at += strspn(at, BETWEEN))
		if (count == MT_PERF_PT_FILTERS || !take_filter(&at, &recording->filters[count++]))
			return MT_GARBLED;
	recording->filter_count = count;
	return MT_PARSED;
}
