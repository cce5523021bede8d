/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What came of a session. */
#ifndef MT_SESSION_STATE_RESULT_H
#define MT_SESSION_STATE_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mt_session_result {
	pid_t pid;  /* of the first process */
	bool ended; /* wait_status is its end, as waitpid(2) gives it */
	int wait_status;
	uint32_t snapshots; /* how many were taken */
	uint32_t hits;      /* of triggers */
	int fatal_signal;   /* whose delivery was seen to kill it; 0: none */
	pid_t fatal_lwp;
	const char *death; /* why it dies, as its language's runtime says it; NULL: not known */
	pid_t death_lwp;
	uint64_t death_goroutine; /* 0: it is none of Go's, or none of them is to blame */
	const char *engine;       /* its name */
	bool untraced;            /* it is a 32-bit program, or became one */
};

#endif
