/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping is four times faster when the program and we share one CPU: waking a sleeper on another
 * one costs an interrupt each way.  So the threads of a program that would die with us are kept on
 * our CPU while they are stepped.  The affinity that they set and see is as it would be without:
 * see the calls of the step engine. */
#ifndef MT_PROCESS_PIN_H
#define MT_PROCESS_PIN_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct mt_pin {
	bool on;
	cpu_set_t ours;   /* where we were allowed to run */
	cpu_set_t chosen; /* the one CPU */
};

struct mt_pin_thread {
	bool on;
	cpu_set_t allowed; /* where the program may run, as it knows */
};

/* Stay on the CPU that we are on. */
void mt_pin_begin(struct mt_pin *pin);
void mt_pin_end(struct mt_pin *pin);

/* Take a thread to our CPU, and remember where it was allowed to run: as INHERITED from somebody
 * who was taken there before; NULL: as the system says. */
void mt_pin_thread(const struct mt_pin *pin, struct mt_pin_thread *thread, pid_t lwp,
		   const cpu_set_t *inherited);
/* Let it run where it may. */
void mt_unpin_thread(struct mt_pin_thread *thread, pid_t lwp);

#endif
