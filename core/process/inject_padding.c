/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A place for the code of remote calls while no memory is mapped for it: the end of a file's code,
 * up to the page's end, is full of zeros that nobody runs. */
#include "process/inject.h"
#include "process/interrupted.h"
#include "process/maps.h"

#include <string.h>

struct search {
	struct mt_target *target;
	pid_t pid;
	struct mt_inject_padding found;
};

static struct mt_injected injected_of(const struct mt_inject_padding *padding)
{
	return (struct mt_injected){.code = padding->code, .frame = padding->frame};
}

static size_t size_of(const struct mt_inject_padding *padding)
{
	return padding->frame ? MT_INJECT_WITH_FRAME : MT_INJECT_STACK_BYTES;
}

/* A thread whose tracer was killed within a remote call may still be on the way back, or in a
 * signal handler on that way. */
static bool is_somebody_inside(struct mt_target *target, pid_t pid,
			       const struct mt_inject_padding *padding)
{
	return mt_interrupted_is_inside(target, pid, padding->code, size_of(padding));
}

bool mt_inject_padding_is_there(struct mt_target *target, pid_t pid,
				const struct mt_inject_padding *padding)
{
	const struct mt_injected injected = injected_of(padding);
	uint8_t bytes[MT_INJECT_BYTES];
	size_t size = 0;
	const uint8_t *code = mt_inject_code_of(&injected, &size);

	return target->ops->read(target, pid, padding->code, bytes, size) == size &&
	       memcmp(bytes, code, size) == 0;
}

static bool is_free(const struct search *search, uint64_t at, size_t size)
{
	static const uint8_t zeros[MT_INJECT_WITH_FRAME];
	uint8_t bytes[MT_INJECT_WITH_FRAME];

	return search->target->ops->read(search->target, search->pid, at, bytes, size) == size &&
	       memcmp(bytes, zeros, size) == 0;
}

/* The first with room for the frame, too, or else the first one. */
static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	struct search *search = context;
	struct mt_inject_padding *found = &search->found;

	if (found->was_there || !map->executable || map->writable || map->path[0] != '/')
		return NULL;
	for (int with_frame = 1; with_frame >= 0; with_frame--) {
		struct mt_inject_padding here = {.frame = with_frame};

		here.code = map->end - size_of(&here);
		here.frame = with_frame ? here.code + MT_INJECT_FRAME_AT : 0;
		here.was_there = mt_inject_padding_is_there(search->target, search->pid, &here);
		/* The frame is that of who is in it. */
		if (here.was_there && with_frame &&
		    is_somebody_inside(search->target, search->pid, &here))
			return NULL;
		if (here.was_there || ((!found->code || (!found->frame && with_frame)) &&
				       is_free(search, here.code, size_of(&here))))
			*found = here;
	}
	return NULL;
}

struct mt_error *mt_inject_padding_begin(struct mt_target *target, pid_t pid,
					 struct mt_inject_padding *out)
{
	struct search search = {.target = target, .pid = pid};

	mt_try(mt_target_each_map(target, pid, look_in, &search));
	*out = search.found;
	if (!out->code)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "process %d has no room for the code of remote calls: no "
				    "file's code ends %d bytes before a page does",
				    pid, MT_INJECT_STACK_BYTES);
	const struct mt_injected injected = injected_of(out);
	size_t size = 0;
	const uint8_t *code = mt_inject_code_of(&injected, &size);
	mt_try(target->ops->write(target, pid, out->code, code, size));
	return target->ops->set_injected(target, pid, injected);
}

struct mt_error *mt_inject_padding_end(struct mt_target *target, pid_t pid,
				       const struct mt_inject_padding *padding)
{
	static const uint8_t zeros[MT_INJECT_WITH_FRAME];

	if (!padding->code || !mt_inject_padding_is_there(target, pid, padding) ||
	    (padding->was_there && is_somebody_inside(target, pid, padding)))
		return NULL;
	return target->ops->write(target, pid, padding->code, zeros, size_of(padding));
}
