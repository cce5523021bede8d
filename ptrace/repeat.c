/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Some system calls fail with EINTR when their thread is stopped, even though no signal comes; the
 * program would never see that without us, and may not expect it.  They are made again.  What did
 * a part of its work does not fail, so nothing is done twice; a time limit begins anew.
 *
 * Source: signal(7), "Interruption of system calls and library functions by stop signals". */
#include "ptrace/lwp.h"

#include "process/proc.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#define SYSCALL_BYTES 2

static bool is_repeatable(long number)
{
	switch (number) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	/* Sockets with a time limit. */
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

void mt_ptrace_repeat_call(pid_t lwp)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, lwp, 0, &registers) || (int64_t)registers.rax != -EINTR ||
	    !is_repeatable((long)registers.orig_rax) || mt_proc_has_signal(lwp))
		return;
	registers.rax = registers.orig_rax;
	registers.rip -= SYSCALL_BYTES;
	registers.orig_rax = (uint64_t)-1;
	ptrace(PTRACE_SETREGS, lwp, 0, &registers);
}
