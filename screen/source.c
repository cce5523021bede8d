/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"
#include "screen/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES  (16l << 20)
#define TAB_COLUMNS 8

static const char no_memory[] = "out of memory";

/* Returns why not. */
static const char *read_text(struct screen_source *source, int fd)
{
	struct stat status;
	size_t length = 0;
	ssize_t got;

	if (fstat(fd, &status))
		return strerrordesc_np(errno);
	if (!S_ISREG(status.st_mode))
		return "not a regular file";
	if (status.st_size > MOST_BYTES)
		return "too large to be shown";
	source->text = calloc(1, (size_t)status.st_size + 1);
	if (!source->text)
		return no_memory;
	while (length < (size_t)status.st_size &&
	       (got = read(fd, source->text + length, (size_t)status.st_size - length)) != 0) {
		if (got > 0)
			length += (size_t)got;
		else if (errno != EINTR)
			return strerrordesc_np(errno);
	}
	for (size_t at = 0; at < length; at++)
		if ((!at || source->text[at - 1] == '\n') && mt_array_push(&source->starts, at))
			return no_memory;
	return NULL;
}

/* The name is the recorded program's: it may be that of anything. */
void screen_source_read(struct screen_source *source, const char *file)
{
	if (source->file && strcmp(source->file, file) == 0)
		return;
	screen_source_deinit(source);
	source->file = strdup(file);
	int fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		source->why = strerrordesc_np(errno);
		return;
	}
	source->why = source->file ? read_text(source, fd) : no_memory;
	close(fd);
}

void screen_source_line(const struct screen_source *source, size_t number, size_t columns,
			struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str line = {0};

	if (!number || number > source->starts.count)
		return;
	/* A line may be the whole of a large file. */
	const char *at = source->text + source->starts.items[number - 1];
	for (; line.length < columns * 4 && *at && *at != '\n'; at++) {
		if (*at == '\t')
			mt_str_appendf(&line, "%*s",
				       (int)(TAB_COLUMNS -
					     mt_utf8_columns(line.text, line.length) % TAB_COLUMNS),
				       "");
		else if (*at != '\r' || at[1] != '\n')
			mt_str_append_bytes(&line, at, 1);
	}
	if (line.text && !line.failed)
		mt_utf8_append_columns(out, line.text, 0, columns);
}

void screen_source_deinit(struct screen_source *source)
{
	free(source->file);
	free(source->text);
	mt_array_deinit(&source->starts);
	*source = (struct screen_source){0};
}
