/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls in the name of a thread that stands still: its registers are borrowed for one step
 * over a system call instruction that some executable mapping has anyway, so no byte is written.
 * Signals are held back meanwhile; what cannot be held back is sent again. */
#include "ptrace_lwp.h"
#include "target/proc.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t instruction[] = {0x0f, 0x05};
#define CHUNK 16384

struct search {
	struct mt_target *target;
	pid_t pid;
	uint64_t found;
};

static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	struct search *search = context;
	uint8_t chunk[CHUNK];

	if (search->found || !map->executable || map->start >> 63)
		return NULL;
	for (uint64_t at = map->start; at < map->end; at += CHUNK - 1) {
		uint64_t left = map->end - at;
		size_t size = search->target->ops->read(search->target, search->pid, at, chunk,
							left < CHUNK ? left : CHUNK);
		const uint8_t *there = memmem(chunk, size, instruction, sizeof(instruction));

		if (there) {
			search->found = at + (uint64_t)(there - chunk);
			return NULL;
		}
		if (size < CHUNK)
			break;
	}
	return NULL;
}

/* Text comes and goes: what was found once is looked at again. */
static struct mt_error *find_instruction(struct mt_target *base, struct mt_ptrace_process *process)
{
	struct search search = {.target = base, .pid = process->pid};
	uint8_t bytes[sizeof(instruction)];

	if (process->syscall_pc &&
	    base->ops->read(base, process->pid, process->syscall_pc, bytes, sizeof(bytes)) ==
		sizeof(bytes) &&
	    memcmp(bytes, instruction, sizeof(bytes)) == 0)
		return NULL;
	mt_try(mt_proc_each_map(process->pid, look_in, &search));
	process->syscall_pc = search.found;
	if (search.found)
		return NULL;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "process %d holds no system call instruction that could be borrowed",
			    process->pid);
}

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_new(MT_ERROR_GONE, "thread %d ended within a system call", lwp);
}

/* Step until the instruction is done.  *held: a signal that could not be held back; 0: none. */
static struct mt_error *step_over(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				  uint64_t pc, struct user_regs_struct *registers, int *held)
{
	int status = 0;

	do {
		if (ptrace(PTRACE_SINGLESTEP, lwp->lwp, 0, 0) ||
		    mt_ptrace_wait_for(lwp->lwp, &status) < 0)
			return gone(lwp->lwp);
		if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
			mt_ptrace_keep_status(target, lwp, status);
			return gone(lwp->lwp);
		}
		if (WSTOPSIG(status) != SIGTRAP)
			*held = WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, lwp->lwp, 0, registers))
			return gone(lwp->lwp);
	} while (registers->rip == pc);
	return NULL;
}

static struct mt_error *call(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
			     struct user_regs_struct registers, int64_t *result, int *held)
{
	const uint64_t all_but_trap = ~(1ull << (SIGTRAP - 1));
	uint64_t pc = registers.rip, mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, lwp->lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(all_but_trap), &all_but_trap) ||
	    ptrace(PTRACE_SETREGS, lwp->lwp, 0, &registers))
		return gone(lwp->lwp);
	mt_try(step_over(target, lwp, pc, &registers, held));
	*result = (int64_t)registers.rax;
	ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(mask), &mask);
	return NULL;
}

struct mt_error *mt_ptrace_call_system(struct mt_target *base, pid_t lwp, long number,
				       const uint64_t arguments[6], int64_t *result)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	struct mt_ptrace_process *process =
	    known ? mt_ptrace_find_process(target, known->pid) : NULL;
	struct user_regs_struct before, registers;
	int held = 0;

	if (!process)
		return gone(lwp);
	mt_try(find_instruction(base, process));
	mt_try(base->ops->get_registers(base, lwp, &before));
	registers = before;
	registers.rip = process->syscall_pc;
	registers.rax = (uint64_t)number;
	registers.orig_rax = (uint64_t)-1;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	mt_try(call(target, known, registers, result, &held));
	mt_try(base->ops->set_registers(base, lwp, &before));
	if (held)
		syscall(SYS_tgkill, known->pid, lwp, held);
	return NULL;
}
