/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/event_set.h"

#include "kernel/system.h"

struct mt_error *mt_event_set_add(struct mt_event_set *set, const struct mt_perf_spec *spec,
				  pid_t lwp, int group, uint32_t tag, size_t ring_bytes)
{
	struct mt_event_member member = {.tag = tag};
	struct mt_error *error = NULL;
	int result = 0;

	if (mt_array_reserve(&set->members, set->members.count + 1))
		return mt_error_no_memory();
	mt_try(mt_perf_event_open(spec, lwp, -1, group, &member.fd));
	mt_system_ioctl(member.fd, PERF_EVENT_IOC_ID, (uintptr_t)&member.id);
	if (!set->members.count)
		error = mt_data_ring_map(member.fd, ring_bytes, spec->backward, &set->ring);
	else
		result =
		    mt_system_ioctl(member.fd, PERF_EVENT_IOC_SET_OUTPUT, (uintptr_t)set->ring.fd);
	if (result < 0)
		error = mt_error_at_lwp(
		    mt_error_errno(-result, "cannot redirect %s of thread %d to the thread's ring",
				   spec->what, (int)lwp),
		    lwp);
	if (error)
		mt_system_close(member.fd);
	else
		mt_array_push(&set->members, member);
	return error;
}

void mt_event_set_deinit(struct mt_event_set *set)
{
	mt_data_ring_unmap(&set->ring);
	while (set->members.count)
		mt_system_close(set->members.items[--set->members.count].fd);
	mt_array_deinit(&set->members);
}

void mt_event_set_pause(const struct mt_event_set *set, uint32_t tag, bool paused)
{
	mt_array_each (member, &set->members)
		if (member->tag == tag)
			mt_system_ioctl(member->fd,
					paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

bool mt_event_set_tag(const struct mt_event_set *set, uint64_t id, uint32_t *tag)
{
	mt_array_each (member, &set->members)
		if (member->id == id) {
			*tag = member->tag;
			return true;
		}
	return false;
}
