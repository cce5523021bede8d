/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What keeps an attached program alive should we be killed while it runs.
 *
 * It has int3s in its text then, and threads that stand for one, or for a step; the kernel delivers
 * those SIGTRAPs as soon as nobody traces the threads.  So before anything of that kind happens,
 * the program gets a handler for SIGTRAP (rescue_code.c), which makes good each of them, and a
 * process is started that takes the int3s out (ptrace/guardian.h).  Every thread has SIGTRAP
 * unblocked, since the kernel drops the handler when an int3 is met by a thread that has it
 * blocked.
 *
 * A launched program dies with us. */
#include "base/clock.h"
#include "private.h"
#include "process/inject.h"
#include "process/proc.h"
#include "ptrace/trap.h"
#include "rescue_code.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define LOOK_AGAIN_NS 100000000u

#define RESTORER_FLAG 0x04000000u /* SA_RESTORER in asm/signal.h */

/* ---- System calls in the program's name ---- */

struct loan {
	struct mt_target *target;
	pid_t pid, lwp;
	struct mt_inject_padding padding;
};

/* A signal that it stands for is sent again when it goes on. */
static struct mt_error *borrow(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
			       struct loan *loan)
{
	*loan =
	    (struct loan){.target = debugger->target, .pid = debugger->pid, .lwp = lwp->thread.lwp};
	mt_try(loan->target->run->clear_pending_stop(loan->target, loan->lwp));
	lwp->reported = 0;
	if (loan->target->ops->has_injected(loan->target, loan->pid))
		return NULL;
	return mt_inject_padding_begin(loan->target, loan->pid, &loan->padding);
}

static void give_back(struct loan *loan)
{
	if (!loan->padding.code)
		return;
	mt_error_destroy(loan->target->ops->set_injected(loan->target, loan->pid, 0, 0));
	mt_error_destroy(mt_inject_padding_end(loan->target, loan->pid, &loan->padding));
}

static struct mt_error *do_call(struct loan *loan, long number, uint64_t one, uint64_t two,
				uint64_t three, uint64_t four, int64_t *result)
{
	const uint64_t arguments[6] = {one, two, three, four, number == SYS_mmap ? (uint64_t)-1 : 0,
				       0};

	mt_try(loan->target->ops->call_system(loan->target, loan->lwp, number, arguments, result));
	if (*result >= 0 || *result < -4095)
		return NULL;
	return mt_error_errno((int)-*result, "system call %ld in process %d failed", number,
			      loan->pid);
}

static bool is_free(const struct mt_debug_lwp *lwp)
{
	return lwp->state == MT_DEBUG_LWP_STOPPED && !lwp->exiting;
}

/* Who stands for nothing that is to be delivered, if there is such a thread. */
static struct mt_debug_lwp *find_lender(const struct mt_debugger *debugger)
{
	struct mt_debug_lwp *found = NULL;

	mt_array_each (lwp, &debugger->lwps)
		if (is_free(*lwp) && (!found || found->signal))
			found = *lwp;
	return found;
}

/* A signal that was not taken yet is sent again by who lets the thread go. */
static struct mt_debug_lwp *find_last_lender(const struct mt_debugger *debugger)
{
	struct mt_debug_lwp *found = find_lender(debugger);

	mt_array_each (lwp, &debugger->lwps)
		if (!found && (*lwp)->state == MT_DEBUG_LWP_PENDING &&
		    (*lwp)->pending.kind == MT_STOP_SIGNAL)
			found = *lwp;
	return found;
}

/* ---- The handler ---- */

static uint64_t data_at(uint64_t page, size_t offset)
{
	return page + MT_RESCUE_DATA_AT + offset;
}

static struct mt_error *set_action(struct loan *loan, uint64_t page, size_t action)
{
	int64_t ignored;

	return do_call(loan, SYS_rt_sigaction, SIGTRAP, data_at(page, action), 0, sizeof(uint64_t),
		       &ignored);
}

/* Into where ACTION is in the program, and to us. */
static struct mt_error *get_action(struct loan *loan, uint64_t page, size_t action,
				   struct mt_rescue_action *out)
{
	int64_t ignored;

	mt_try(do_call(loan, SYS_rt_sigaction, SIGTRAP, 0, data_at(page, action), sizeof(uint64_t),
		       &ignored));
	if (loan->target->ops->read(loan->target, loan->pid, data_at(page, action), out,
				    sizeof(*out)) == sizeof(*out))
		return NULL;
	return mt_error_new(MT_ERROR_GONE, "process %d is gone", loan->pid);
}

/* As the program's own handler would be called, should it be. */
static struct mt_rescue_action action_like(const struct mt_rescue_action *former, uint64_t page)
{
	struct mt_rescue_action action = {
	    .handler = page,
	    .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | RESTORER_FLAG,
	    .restorer = page + (uint64_t)(mt_rescue_restorer - mt_rescue_code),
	};

	if (former->handler > 1) {
		action.flags |= former->flags & ~(uint64_t)SA_RESETHAND;
		action.mask = former->mask;
		action.restorer = former->restorer;
	}
	return action;
}

static struct mt_error *write_code(struct loan *loan, uint64_t page)
{
	struct mt_rescue_data data = {.memory = "/proc/self/mem", .pause = {0, 1000000}};

	mt_try(loan->target->ops->write(loan->target, loan->pid, page, mt_rescue_code,
					(size_t)(mt_rescue_code_end - mt_rescue_code)));
	return loan->target->ops->write(loan->target, loan->pid, data_at(page, 0), &data,
					offsetof(struct mt_rescue_data, sites));
}

static struct mt_error *install(struct loan *loan, uint64_t *out)
{
	struct mt_rescue_action former, action;
	int64_t page = 0, ignored;

	mt_try(do_call(loan, SYS_mmap, 0, MT_RESCUE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, &page));
	*out = (uint64_t)page;
	mt_try(write_code(loan, *out));
	mt_try(do_call(loan, SYS_mprotect, *out, MT_RESCUE_DATA_AT, PROT_READ | PROT_EXEC, 0,
		       &ignored));
	mt_try(get_action(loan, *out, offsetof(struct mt_rescue_data, former), &former));
	action = action_like(&former, *out);
	mt_try(loan->target->ops->write(loan->target, loan->pid,
					data_at(*out, offsetof(struct mt_rescue_data, action)),
					&action, sizeof(action)));
	return set_action(loan, *out, offsetof(struct mt_rescue_data, action));
}

/* What the program set meanwhile stays. */
static struct mt_error *uninstall(struct loan *loan, uint64_t page)
{
	struct mt_rescue_action now;
	int64_t ignored;

	mt_try(get_action(loan, page, offsetof(struct mt_rescue_data, action), &now));
	if (now.handler == page)
		mt_try(set_action(loan, page, offsetof(struct mt_rescue_data, former)));
	return do_call(loan, SYS_munmap, page, MT_RESCUE_BYTES, 0, 0, &ignored);
}

/* Of the places that it was not told of yet. */
static struct mt_error *tell_handler(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	const mt_guardian_site *sites;
	uint64_t count = rescue->guardian ? mt_guardian_sites(rescue->guardian, &sites) : 0;
	uint64_t at = data_at(rescue->page, offsetof(struct mt_rescue_data, sites) +
						rescue->known * sizeof(*sites));

	if (!rescue->page || count <= rescue->known)
		return NULL;
	mt_try(debugger->target->ops->write(debugger->target, debugger->pid, at,
					    sites + rescue->known,
					    (count - rescue->known) * sizeof(*sites)));
	rescue->known = count;
	at = data_at(rescue->page, offsetof(struct mt_rescue_data, count));
	return debugger->target->ops->write(debugger->target, debugger->pid, at, &count,
					    sizeof(count));
}

/* ---- Its life ---- */

static void warn(struct mt_debugger *debugger, const char *why)
{
	mt_auto(mt_str) struct mt_str text = {0};

	debugger->rescue.refused = true;
	mt_str_appendf(&text,
		       "%s.\nShould mtdb be killed while process %d runs, a breakpoint or a step "
		       "may end the process.",
		       why, debugger->pid);
	if (debugger->front.warned && !text.failed)
		debugger->front.warned(debugger->front.context, text.text);
}

static void install_handler(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	struct mt_debug_lwp *lender = find_lender(debugger);
	struct loan loan;

	if (rescue->page || rescue->refused || !lender)
		return;
	if (mt_proc_is_sandboxed(lender->thread.lwp)) {
		warn(debugger, "The program is in a sandbox (seccomp)");
		return;
	}
	struct mt_error *error = borrow(debugger, lender, &loan);
	if (!error)
		error = install(&loan, &rescue->page);
	give_back(&loan);
	if (!error)
		error = tell_handler(debugger);
	if (!error)
		return;
	if (mt_error_code(error) != MT_ERROR_GONE) /* else with another one, next time */
		warn(debugger, mt_error_message(error));
	mt_error_destroy(error);
	rescue->page = 0;
}

static void start_guardian(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	struct mt_error *error =
	    rescue->guardian ? NULL : mt_guardian_create(debugger->pid, &rescue->guardian);

	if (error)
		warn(debugger, mt_error_message(error));
	mt_error_destroy(error);
}

/* Those, too, that were taken out while a thread was about to tell of them. */
static bool is_own_trap(void *context, uint64_t address)
{
	struct mt_debugger *debugger = context;
	const struct mt_guardian *guardian = debugger->rescue.guardian;

	return mt_debug_site_at(debugger, address) ||
	       (guardian && mt_guardian_knows(guardian, address));
}

void mt_debug_rescue_begin(struct mt_debugger *debugger)
{
	if (debugger->process != MT_DEBUG_ATTACHED || !debugger->pid)
		return;
	install_handler(debugger);
	start_guardian(debugger);
	debugger->target->run->own_traps(debugger->target, debugger->pid, is_own_trap, debugger);
	mt_array_each (lwp, &debugger->lwps) {
		if (!is_free(*lwp) || (*lwp)->rescue.trap_open)
			continue;
		(*lwp)->rescue.trap_open = true;
		(*lwp)->rescue.trap_blocked |= mt_ptrace_block_trap((*lwp)->thread.lwp, false);
	}
}

static struct mt_error *withdraw(struct mt_debugger *debugger)
{
	struct mt_debug_lwp *lender = find_last_lender(debugger);
	struct loan loan;

	if (!debugger->rescue.page || !lender)
		return NULL;
	struct mt_error *error = borrow(debugger, lender, &loan);
	if (!error)
		error = uninstall(&loan, debugger->rescue.page);
	give_back(&loan);
	return error;
}

void mt_debug_rescue_end(struct mt_debugger *debugger)
{
	/* What vfork() made is in memory that the other one needs as it is. */
	if (debugger->vfork_parent)
		return;
	mt_error_destroy(withdraw(debugger));
	mt_array_each (lwp, &debugger->lwps)
		if ((*lwp)->rescue.trap_blocked && is_free(*lwp))
			mt_ptrace_block_trap((*lwp)->thread.lwp, true);
	mt_debug_rescue_forget(debugger);
}

void mt_debug_rescue_forget(struct mt_debugger *debugger)
{
	if (debugger->pid)
		debugger->target->run->own_traps(debugger->target, debugger->pid, NULL, NULL);
	mt_guardian_destroy(debugger->rescue.guardian);
	debugger->rescue = (struct mt_debug_rescue){0};
}

struct mt_error *mt_debug_rescue_leave_child(struct mt_debugger *debugger, pid_t child)
{
	struct loan loan = {.target = debugger->target, .pid = child, .lwp = child};
	uint64_t page = debugger->rescue.page;

	if (!page)
		return NULL;
	mt_try(loan.target->run->clear_pending_stop(loan.target, child));
	struct mt_error *error = loan.target->ops->has_injected(loan.target, child)
				     ? NULL
				     : mt_inject_padding_begin(loan.target, child, &loan.padding);
	if (!error)
		error = uninstall(&loan, page);
	give_back(&loan);
	return error;
}

/* ---- While the program runs ---- */

struct mt_error *mt_debug_rescue_note(struct mt_debugger *debugger,
				      const struct mt_debug_site *site)
{
	struct mt_guardian *guardian = debugger->rescue.guardian;

	if (!guardian)
		return NULL;
	if (mt_guardian_note(guardian, site->address, site->original))
		return mt_error_new(MT_ERROR_USAGE,
				    "Cannot insert breakpoint: more than %d are in the program.",
				    MT_GUARDIAN_SITES);
	return tell_handler(debugger);
}

/* A thread met an int3 with SIGTRAP blocked, and the kernel dropped the handler. */
static void look_again(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	uint64_t now_ns = mt_clock_monotonic_ns();
	struct loan loan;

	if (!rescue->page || (lwp->rescue.checked && now_ns - rescue->checked_ns < LOOK_AGAIN_NS))
		return;
	lwp->rescue.checked = true;
	rescue->checked_ns = now_ns;
	if (mt_proc_signal_action(debugger->pid, SIGTRAP) != MT_SIGNAL_DEFAULT)
		return;
	struct mt_error *error = borrow(debugger, lwp, &loan);
	if (!error)
		error = set_action(&loan, rescue->page, offsetof(struct mt_rescue_data, action));
	give_back(&loan);
	mt_error_destroy(error);
}

void mt_debug_rescue_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (debugger->process != MT_DEBUG_ATTACHED)
		return;
	install_handler(debugger);
	look_again(debugger, lwp);
}

void mt_debug_rescue_rest(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;

	mt_array_each (lwp, &debugger->lwps)
		(*lwp)->rescue.trap_open = (*lwp)->rescue.checked = false;
	if (rescue->guardian)
		mt_guardian_clear(rescue->guardian);
	rescue->known = 0;
}
