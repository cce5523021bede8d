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

static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	static const uint8_t zeros[MT_INJECT_BYTES];
	struct search *search = context;
	struct mt_inject_padding *found = &search->found;
	uint8_t bytes[MT_INJECT_BYTES];
	uint64_t at = map->end - sizeof(bytes);

	if (found->was_there || !map->executable || map->writable || map->path[0] != '/' ||
	    search->target->ops->read(search->target, search->pid, at, bytes, sizeof(bytes)) !=
		sizeof(bytes))
		return NULL;
	found->was_there = memcmp(bytes, mt_inject_code, sizeof(bytes)) == 0;
	if (found->was_there || (!found->code && memcmp(bytes, zeros, sizeof(bytes)) == 0))
		found->code = at;
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
				    pid, MT_INJECT_BYTES);
	mt_try(target->ops->write(target, pid, out->code, mt_inject_code, MT_INJECT_BYTES));
	return target->ops->set_injected(target, pid, (struct mt_injected){.code = out->code});
}

struct look {
	struct mt_target *target;
	pid_t pid;
	uint64_t code;
	bool inside;
};

static struct mt_error *see_pc(void *context, uint64_t pc)
{
	struct look *look = context;

	look->inside |= pc - look->code < MT_INJECT_BYTES;
	return NULL;
}

static struct mt_error *look_at(void *context, pid_t lwp)
{
	struct look *look = context;
	struct user_regs_struct registers;
	struct mt_error *error = look->target->ops->get_registers(look->target, lwp, &registers);

	if (!error)
		error = see_pc(look, registers.rip);
	if (!error)
		error = mt_interrupted_each(look->target, look->pid, registers.rsp, see_pc, look);
	look->inside |= error != NULL;
	mt_error_destroy(error);
	return NULL;
}

/* A thread whose tracer was killed within a remote call may still be on the way back, or in a
 * signal handler on that way.  All threads stand still, or it is not known. */
static bool is_somebody_inside(struct mt_target *target, pid_t pid, uint64_t code)
{
	struct look look = {target, pid, code, false};

	mt_error_destroy(target->ops->each_thread(target, pid, look_at, &look));
	return look.inside;
}

bool mt_inject_padding_is_there(struct mt_target *target, pid_t pid,
				const struct mt_inject_padding *padding)
{
	uint8_t bytes[MT_INJECT_BYTES];

	return target->ops->read(target, pid, padding->code, bytes, sizeof(bytes)) ==
		   sizeof(bytes) &&
	       memcmp(bytes, mt_inject_code, sizeof(bytes)) == 0;
}

struct mt_error *mt_inject_padding_end(struct mt_target *target, pid_t pid,
				       const struct mt_inject_padding *padding)
{
	static const uint8_t zeros[MT_INJECT_BYTES];

	if (!padding->code || !mt_inject_padding_is_there(target, pid, padding) ||
	    (padding->was_there && is_somebody_inside(target, pid, padding->code)))
		return NULL;
	return target->ops->write(target, pid, padding->code, zeros, MT_INJECT_BYTES);
}
