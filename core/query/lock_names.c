/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/locks.h"

#include <linux/futex.h>
#include <string.h>

static enum mt_lock_act act_of(const struct mt_function *function)
{
	static const struct {
		const char *name;
		enum mt_lock_act act;
	} names[] = {
	    {"pthread_mutex_lock", MT_LOCK_TAKE},
	    {"pthread_mutex_timedlock", MT_LOCK_TAKE},
	    {"pthread_mutex_clocklock", MT_LOCK_TAKE},
	    {"pthread_mutex_unlock", MT_LOCK_LEAVE},
	    {"pthread_rwlock_rdlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_wrlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_timedrdlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_timedwrlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_clockrdlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_clockwrlock", MT_LOCK_TAKE},
	    {"pthread_rwlock_unlock", MT_LOCK_LEAVE},
	    {"pthread_spin_lock", MT_LOCK_TAKE},
	    {"pthread_spin_unlock", MT_LOCK_LEAVE},
	    {"pthread_cond_wait", MT_LOCK_PASS},
	    {"pthread_cond_timedwait", MT_LOCK_PASS},
	    {"pthread_cond_clockwait", MT_LOCK_PASS},
	};
	/* glibc has each under some names: "___pthread_mutex_lock". */
	const char *name = function->name + strspn(function->name, "_");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i].name) == 0)
			return names[i].act;
	return MT_LOCK_NOTHING;
}

enum mt_lock_act mt_lock_act(struct mt_lock_acts *acts, const struct mt_function *function)
{
	while (acts->known.count <= function->id)
		if (mt_array_push(&acts->known, (uint8_t)0))
			return act_of(function);
	uint8_t *known = &acts->known.items[function->id];
	if (!*known)
		*known = (uint8_t)(act_of(function) + 1);
	return *known - 1;
}

uint64_t mt_lock_of_arguments(enum mt_lock_act act, const char *arguments)
{
	/* pthread_cond_wait() has its lock behind the condition. */
	unsigned before = act == MT_LOCK_PASS;
	const char *at = arguments;

	while (at && (at = strstr(at, "=0x"))) {
		if (!before--)
			return strtoull(at + 1, NULL, 16);
		at++;
	}
	return 0;
}

uint64_t mt_lock_futex(const struct mt_side_event *syscall, bool *is_wake)
{
	char *end;

	if (strcmp(syscall->name, "futex") != 0 || !syscall->arguments)
		return 0;
	const uint64_t word = strtoull(syscall->arguments, &end, 0);
	if (*end != ',')
		return 0;
	switch (strtoull(end + 1, NULL, 0) & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
		*is_wake = false;
		return word;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
		*is_wake = true;
		return syscall->result && strcmp(syscall->result, "0") != 0 ? word : 0;
	default:
		return 0;
	}
}
