/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process/pin.h"

void mt_pin_begin(struct mt_pin *pin)
{
	int cpu = sched_getcpu();

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(pin->ours), &pin->ours))
		return;
	CPU_ZERO(&pin->chosen);
	CPU_SET(cpu, &pin->chosen);
	pin->on = sched_setaffinity(0, sizeof(pin->chosen), &pin->chosen) == 0;
}

void mt_pin_end(struct mt_pin *pin)
{
	if (pin->on)
		sched_setaffinity(0, sizeof(pin->ours), &pin->ours);
	pin->on = false;
}

void mt_pin_thread(const struct mt_pin *pin, struct mt_pin_thread *thread, pid_t lwp,
		   const cpu_set_t *inherited)
{
	cpu_set_t both;

	thread->on = false;
	if (!pin->on || sched_getaffinity(lwp, sizeof(thread->allowed), &thread->allowed))
		return;
	if (inherited)
		thread->allowed = *inherited;
	CPU_AND(&both, &thread->allowed, &pin->chosen);
	if (CPU_COUNT(&both))
		thread->on = sched_setaffinity(lwp, sizeof(pin->chosen), &pin->chosen) == 0;
}

void mt_unpin_thread(struct mt_pin_thread *thread, pid_t lwp)
{
	if (thread->on)
		sched_setaffinity(lwp, sizeof(thread->allowed), &thread->allowed);
	thread->on = false;
}
