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
#include <time.h>
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

	if (!process || !known->stopped || known->has_status)
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

#define RED_ZONE_BYTES 512
#define STACK_ALIGN    16

/* Faults of the function's own are told; everything else waits. */
static uint64_t mask_of_all_but_faults(void)
{
	static const int through[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	uint64_t mask = ~0ull;

	for (size_t i = 0; i < sizeof(through) / sizeof(through[0]); i++)
		mask &= ~(1ull << (through[i] - 1));
	return mask;
}

/* Until it stops; the status is 0 when the time is over. */
static int wait_a_while(pid_t lwp, int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int status = 0;

	for (int i = 0; i < timeout_ms; i++) {
		if (waitpid(lwp, &status, __WALL | WNOHANG) != 0)
			return status;
		nanosleep(&pause, NULL);
	}
	ptrace(PTRACE_INTERRUPT, lwp, 0, 0);
	mt_ptrace_wait_for(lwp, &status);
	return status >> 16 == PTRACE_EVENT_STOP ? 0 : status;
}

static struct mt_error *run_until_return(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
					 const struct mt_target_call *call, uint64_t *result)
{
	struct user_regs_struct registers;
	int status;

	do {
		if (ptrace(PTRACE_CONT, lwp->lwp, 0, 0))
			return gone(lwp->lwp);
		status = wait_a_while(lwp->lwp, call->timeout_ms);
		if (!status)
			return mt_error_new(MT_ERROR_BUSY,
					    "thread %d did not come back from a function within "
					    "%d ms",
					    lwp->lwp, call->timeout_ms);
		if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
			mt_ptrace_keep_status(target, lwp, status);
			return gone(lwp->lwp);
		}
	} while (status >> 16);
	if (ptrace(PTRACE_GETREGS, lwp->lwp, 0, &registers))
		return gone(lwp->lwp);
	*result = registers.rax;
	if (WSTOPSIG(status) == SIGTRAP && registers.rip == call->return_to + 1)
		return NULL;
	return mt_error_new(MT_ERROR_BUSY, "a function called in thread %d got signal %d", lwp->lwp,
			    WSTOPSIG(status));
}

static struct mt_error *enter_function(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				       const struct mt_target_call *call, uint64_t *result)
{
	struct user_regs_struct registers;
	uint64_t mask = 0, during = mask_of_all_but_faults();

	mt_try(target->base.ops->get_registers(&target->base, lwp->lwp, &registers));
	const struct user_regs_struct before = registers;

	registers.rip = call->function;
	registers.rdi = call->arguments[0];
	registers.rsi = call->arguments[1];
	registers.rax = 0;
	registers.orig_rax = (uint64_t)-1;
	registers.eflags &= ~0x400ull; /* the direction flag is clear between functions */
	registers.rsp =
	    ((registers.rsp - RED_ZONE_BYTES) & ~(uint64_t)(STACK_ALIGN - 1)) - sizeof(uint64_t);
	mt_try(target->base.ops->write(&target->base, lwp->pid, registers.rsp, &call->return_to,
				       sizeof(call->return_to)));
	if (ptrace(PTRACE_GETSIGMASK, lwp->lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(during), &during) ||
	    ptrace(PTRACE_SETREGS, lwp->lwp, 0, &registers))
		return gone(lwp->lwp);
	struct mt_error *error = run_until_return(target, lwp, call, result);
	if (error && mt_error_code(error) == MT_ERROR_GONE)
		return error;
	ptrace(PTRACE_SETREGS, lwp->lwp, 0, &before);
	ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(mask), &mask);
	return error;
}

struct mt_error *mt_ptrace_call_function(struct mt_target *base, pid_t lwp,
					 const struct mt_target_call *call, uint64_t *result)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	const uint8_t int3 = 0xcc;
	uint8_t hidden;

	if (!known || !known->stopped || known->has_status ||
	    base->ops->read(base, known->pid, call->return_to, &hidden, 1) != 1)
		return gone(lwp);
	mt_try(base->ops->write(base, known->pid, call->return_to, &int3, 1));
	pid_t pid = known->pid;
	struct mt_error *error = enter_function(target, known, call, result);
	mt_error_destroy(base->ops->write(base, pid, call->return_to, &hidden, 1));
	return error;
}
