/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps an attached program alive should we be killed while it runs.
 *
 * It has int3s in its text then, and threads that are about to report one, or a step; the kernel
 * delivers those SIGTRAPs as soon as the threads are not traced any more.  So before the program is
 * resumed, it gets a handler for SIGTRAP (rescue_code.c), which repairs each of them, and a process
 * is started that removes the int3s (ptrace/guardian.h).  SIGTRAP is unblocked in every thread,
 * since the kernel drops the handler when a thread hits an int3 with the signal blocked.
 *
 * A launched program dies with us. */
#include "base/clock.h"
#include "private.h"
#include "process/inject.h"
#include "process/interrupted.h"
#include "process/proc.h"
#include "ptrace/registers.h"
#include "ptrace/trap.h"
#include "rescue_code.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define CHECK_AGAIN_NS 100000000u

#define RESTORER_FLAG 0x04000000u /* SA_RESTORER in asm/signal.h */

/* ---- System calls in the program's name ---- */

/* A stopped thread that executes system calls for us. */
struct injection {
	struct mt_target *target;
	pid_t pid, lwp;
	struct mt_inject_padding padding;
};

static struct mt_error *begin_injection(struct mt_debugger *debugger, pid_t pid, pid_t lwp,
					struct injection *injection)
{
	*injection = (struct injection){.target = debugger->target, .pid = pid, .lwp = lwp};
	mt_try(debugger->target->run->clear_pending_stop(debugger->target, lwp));
	if (debugger->target->ops->has_injected(debugger->target, pid))
		return NULL;
	return mt_inject_padding_begin(debugger->target, pid, &injection->padding);
}

/* The signal that LWP is stopped at is sent again when it is resumed. */
static struct mt_error *inject_into(struct mt_debugger *debugger, struct mt_debug_lwp *lwp,
				    struct injection *injection)
{
	lwp->reported = 0;
	return begin_injection(debugger, debugger->pid, lwp->thread.lwp, injection);
}

static void end_injection(struct injection *injection)
{
	if (!injection->padding.code)
		return;
	mt_error_destroy(injection->target->ops->set_injected(injection->target, injection->pid,
							      (struct mt_injected){0}));
	mt_error_destroy(
	    mt_inject_padding_end(injection->target, injection->pid, &injection->padding));
}

static struct mt_error *do_call(struct injection *injection, long number, uint64_t one,
				uint64_t two, uint64_t three, uint64_t four, int64_t *result)
{
	struct mt_system_call call = {
	    .number = number,
	    .arguments = {one, two, three, four, number == SYS_mmap ? (uint64_t)-1 : 0, 0}};

	mt_try(mt_target_call_system(injection->target, injection->lwp, &call));
	*result = call.result;
	if (*result >= 0 || *result < -4095)
		return NULL;
	return mt_error_errno((int)-*result, "system call %ld in process %d failed", number,
			      injection->pid);
}

static bool is_free(const struct mt_debug_lwp *lwp)
{
	return lwp->state == MT_DEBUG_LWP_STOPPED && !lwp->exiting;
}

/* Preferably one without a signal to be delivered.  NULL: there is none. */
static struct mt_debug_lwp *find_free(const struct mt_debugger *debugger)
{
	struct mt_debug_lwp *found = NULL;

	mt_array_each (lwp, &debugger->lwps)
		if (is_free(*lwp) && !(*lwp)->enters_exec && (!found || found->signal))
			found = *lwp;
	return found;
}

/* ---- The handler ---- */

static uint64_t data_at(uint64_t page, size_t offset)
{
	return page + MT_RESCUE_DATA_AT + offset;
}

static struct mt_error *set_action(struct injection *injection, uint64_t page, size_t action)
{
	int64_t ignored;

	return do_call(injection, SYS_rt_sigaction, SIGTRAP, data_at(page, action), 0,
		       sizeof(uint64_t), &ignored);
}

/* Stores it at ACTION in the program, and in OUT. */
static struct mt_error *get_action(struct injection *injection, uint64_t page, size_t action,
				   struct mt_rescue_action *out)
{
	int64_t ignored;

	mt_try(do_call(injection, SYS_rt_sigaction, SIGTRAP, 0, data_at(page, action),
		       sizeof(uint64_t), &ignored));
	if (injection->target->ops->read(injection->target, injection->pid, data_at(page, action),
					 out, sizeof(*out)) == sizeof(*out))
		return NULL;
	return mt_error_new(MT_ERROR_GONE, "process %d is gone", injection->pid);
}

/* With the flags and the mask of the program's own handler, which ours may have to call. */
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

static bool has_sites(const struct mt_debugger *debugger)
{
	const mt_guardian_site *sites;

	return debugger->rescue.guardian && mt_guardian_sites(debugger->rescue.guardian, &sites);
}

/* Of a session that was killed, and made by this program. */
static bool is_handler(const struct injection *injection, uint64_t page)
{
	const size_t size = (size_t)(mt_rescue_code_end - mt_rescue_code);
	uint8_t code[MT_RESCUE_DATA_AT];

	return page > 1 &&
	       injection->target->ops->read(injection->target, injection->pid, page, code, size) ==
		   size &&
	       memcmp(code, mt_rescue_code, size) == 0;
}

/* The handler of a session that was killed becomes ours, with all that it knows: threads may have
 * been interrupted in it, or be about to come to it, and what they write into the text must be what
 * lies beneath our own int3. */
static struct mt_error *take_over(struct mt_debugger *debugger, const struct injection *injection,
				  uint64_t page)
{
	const struct mt_target_ops *ops = injection->target->ops;
	uint64_t count = 0, at = data_at(page, offsetof(struct mt_rescue_data, sites));
	mt_guardian_site site;

	ops->read(injection->target, injection->pid,
		  data_at(page, offsetof(struct mt_rescue_data, count)), &count, sizeof(count));
	for (uint64_t i = 0; debugger->rescue.guardian && i < count; i++) {
		if (ops->read(injection->target, injection->pid, at + i * sizeof(site), &site,
			      sizeof(site)) != sizeof(site) ||
		    mt_guardian_note(debugger->rescue.guardian, mt_guardian_address(site),
				     mt_guardian_original(site)) != (ssize_t)i)
			return mt_error_new(MT_ERROR_USAGE,
					    "the SIGTRAP handler of a killed mtdb in process %d is "
					    "damaged",
					    injection->pid);
		debugger->rescue.known = debugger->rescue.inherited = i + 1;
	}
	return NULL;
}

static struct mt_error *install(struct mt_debugger *debugger, struct injection *injection,
				uint64_t *out)
{
	struct mt_rescue_data data = {.memory = "/proc/self/mem", .pause = {0, 1000000}};
	struct mt_rescue_action former, action;
	int64_t page = 0, ignored;

	mt_try(do_call(injection, SYS_mmap, 0, MT_RESCUE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, &page));
	*out = (uint64_t)page;
	mt_try(injection->target->ops->write(injection->target, injection->pid, *out,
					     mt_rescue_code,
					     (size_t)(mt_rescue_code_end - mt_rescue_code)));
	mt_try(injection->target->ops->write(injection->target, injection->pid, data_at(*out, 0),
					     &data, offsetof(struct mt_rescue_data, sites)));
	mt_try(do_call(injection, SYS_mprotect, *out, MT_RESCUE_DATA_AT, PROT_READ | PROT_EXEC, 0,
		       &ignored));
	mt_try(get_action(injection, *out, offsetof(struct mt_rescue_data, former), &former));
	if (is_handler(injection, former.handler) && !has_sites(debugger)) {
		mt_try(do_call(injection, SYS_munmap, *out, MT_RESCUE_BYTES, 0, 0, &ignored));
		*out = former.handler;
		return take_over(debugger, injection, *out);
	}
	action = action_like(&former, *out);
	mt_try(injection->target->ops->write(injection->target, injection->pid,
					     data_at(*out, offsetof(struct mt_rescue_data, action)),
					     &action, sizeof(action)));
	return set_action(injection, *out, offsetof(struct mt_rescue_data, action));
}

/* A handler that the program installed meanwhile stays; and so does the memory of ours, if a thread
 * is in it, be it for a SIGTRAP of the program's. */
static struct mt_error *uninstall(struct injection *injection, uint64_t page)
{
	struct mt_rescue_action now;
	int64_t ignored;

	mt_try(get_action(injection, page, offsetof(struct mt_rescue_data, action), &now));
	if (now.handler == page)
		mt_try(set_action(injection, page, offsetof(struct mt_rescue_data, former)));
	if (mt_interrupted_is_inside(injection->target, injection->pid, page, MT_RESCUE_DATA_AT))
		return NULL;
	return do_call(injection, SYS_munmap, page, MT_RESCUE_BYTES, 0, 0, &ignored);
}

static struct mt_error *write_count(struct mt_debugger *debugger, uint64_t count)
{
	return debugger->target->ops->write(
	    debugger->target, debugger->pid,
	    data_at(debugger->rescue.page, offsetof(struct mt_rescue_data, count)), &count,
	    sizeof(count));
}

/* Writes the sites that the handler does not have yet. */
static struct mt_error *update_handler(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	const mt_guardian_site *sites;
	uint64_t count = rescue->guardian ? mt_guardian_sites(rescue->guardian, &sites) : 0;
	uint64_t at = data_at(rescue->page, offsetof(struct mt_rescue_data, sites) +
						rescue->known * sizeof(*sites));

	if (!rescue->page || count <= rescue->known)
		return NULL;
	/* Without those of the last time: no address is there twice, should we be killed. */
	if (rescue->known == rescue->inherited)
		mt_try(write_count(debugger, rescue->inherited));
	mt_try(debugger->target->ops->write(debugger->target, debugger->pid, at,
					    sites + rescue->known,
					    (count - rescue->known) * sizeof(*sites)));
	rescue->known = count;
	return write_count(debugger, count);
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
	struct mt_debug_lwp *free_lwp = find_free(debugger);
	struct injection injection;

	if (rescue->page || rescue->refused || !free_lwp)
		return;
	if (mt_proc_is_sandboxed(free_lwp->thread.lwp)) {
		warn(debugger, "The program is in a sandbox (seccomp)");
		return;
	}
	if (mt_ptrace_dispatches_calls(free_lwp->thread.lwp)) {
		warn(debugger, "The program catches its system calls "
			       "(PR_SET_SYSCALL_USER_DISPATCH)");
		return;
	}
	struct mt_error *error = inject_into(debugger, free_lwp, &injection);
	if (!error)
		error = install(debugger, &injection, &rescue->page);
	end_injection(&injection);
	if (!error)
		error = update_handler(debugger);
	if (!error)
		return;
	if (mt_error_code(error) != MT_ERROR_GONE) /* else another thread is used next time */
		warn(debugger, mt_error_message(error));
	mt_error_destroy(error);
	rescue->page = 0;
}

/* Also of those that were removed while a thread was about to report them. */
static bool is_own_trap(void *context, uint64_t address)
{
	struct mt_debugger *debugger = context;
	const struct mt_guardian *guardian = debugger->rescue.guardian;

	return mt_debug_site_at(debugger, address) ||
	       (guardian && mt_guardian_knows(guardian, address));
}

static struct mt_error *see_interrupted(void *context, uint64_t pc)
{
	(void)pc;
	*(bool *)context = true;
	return NULL;
}

/* Then it may be the handler that has SIGTRAP blocked, and its return that ends that: to block it
 * again later would have the program's next int3 end it. */
static bool is_in_handler(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	const struct user_regs_struct *registers = mt_debug_registers(debugger, lwp);
	bool found = false;

	if (registers)
		mt_error_destroy(mt_interrupted_each(debugger->target, debugger->pid,
						     registers->rsp, see_interrupted, &found));
	return found;
}

void mt_debug_rescue_begin(struct mt_debugger *debugger)
{
	if (debugger->process != MT_DEBUG_ATTACHED || !debugger->pid)
		return;
	if (!debugger->rescue.guardian) {
		struct mt_error *error =
		    mt_guardian_create(debugger->pid, &debugger->rescue.guardian);

		if (error)
			warn(debugger, mt_error_message(error));
		mt_error_destroy(error);
	}
	install_handler(debugger);
	debugger->target->run->own_traps(debugger->target, debugger->pid, is_own_trap, debugger);
	mt_array_each (lwp, &debugger->lwps) {
		if (!is_free(*lwp) || (*lwp)->rescue.trap_open)
			continue;
		(*lwp)->rescue.trap_open = true;
		if (mt_ptrace_block_trap((*lwp)->thread.lwp, false))
			(*lwp)->rescue.trap_blocked |= !is_in_handler(debugger, *lwp);
	}
}

void mt_debug_rescue_end(struct mt_debugger *debugger)
{
	struct mt_debug_lwp *user = find_free(debugger);
	struct injection injection = {0};

	/* The child of vfork() shares memory that the parent needs as it is. */
	if (debugger->vfork_parent)
		return;
	/* The caller sends a signal again that was not handled yet. */
	mt_array_each (lwp, &debugger->lwps)
		if (!user && (*lwp)->state == MT_DEBUG_LWP_PENDING &&
		    (*lwp)->pending.kind == MT_STOP_SIGNAL)
			user = *lwp;
	if (debugger->rescue.page && user) {
		/* If they cannot be taken, the handler stays. */
		struct mt_error *error =
		    debugger->target->run->take_traps(debugger->target, debugger->pid);

		if (!error)
			error = inject_into(debugger, user, &injection);
		if (!error)
			error = uninstall(&injection, debugger->rescue.page);
		end_injection(&injection);
		mt_error_destroy(error);
	}
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
	struct injection injection;
	uint64_t page = debugger->rescue.page;

	if (!page)
		return NULL;
	struct mt_error *error = begin_injection(debugger, child, child, &injection);
	if (!error)
		error = uninstall(&injection, page);
	end_injection(&injection);
	return error;
}

/* ---- While the program runs ---- */

struct mt_error *mt_debug_rescue_note(struct mt_debugger *debugger,
				      const struct mt_debug_site *site)
{
	const struct mt_debug_rescue *rescue = &debugger->rescue;
	const mt_guardian_site *sites;

	if (!rescue->guardian)
		return NULL;
	ssize_t at = mt_guardian_note(rescue->guardian, site->address, site->original);
	if (at < 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "Cannot insert breakpoint: more than %d are in the program.",
				    MT_GUARDIAN_SITES);
	if (!rescue->page || (uint64_t)at >= rescue->known)
		return update_handler(debugger);
	mt_guardian_sites(rescue->guardian, &sites);
	return debugger->target->ops->write(
	    debugger->target, debugger->pid,
	    data_at(rescue->page, offsetof(struct mt_rescue_data, sites) + at * sizeof(*sites)),
	    &sites[at], sizeof(*sites));
}

/* Installs the handler again if a thread hit an int3 with SIGTRAP blocked: the kernel dropped it.
 */
static void reinstall(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;
	uint64_t now_ns = mt_clock_monotonic_ns();
	struct injection injection;

	if (!rescue->page || (lwp->rescue.checked && now_ns - rescue->checked_ns < CHECK_AGAIN_NS))
		return;
	lwp->rescue.checked = true;
	rescue->checked_ns = now_ns;
	if (mt_proc_signal_action(debugger->pid, SIGTRAP) != MT_SIGNAL_DEFAULT)
		return;
	struct mt_error *error = inject_into(debugger, lwp, &injection);
	if (!error)
		error =
		    set_action(&injection, rescue->page, offsetof(struct mt_rescue_data, action));
	end_injection(&injection);
	mt_error_destroy(error);
}

void mt_debug_rescue_hit(struct mt_debugger *debugger, struct mt_debug_lwp *lwp)
{
	if (debugger->process != MT_DEBUG_ATTACHED)
		return;
	install_handler(debugger);
	reinstall(debugger, lwp);
}

void mt_debug_rescue_rest(struct mt_debugger *debugger)
{
	struct mt_debug_rescue *rescue = &debugger->rescue;

	mt_array_each (lwp, &debugger->lwps)
		(*lwp)->rescue.trap_open = (*lwp)->rescue.checked = false;
	if (rescue->guardian)
		mt_guardian_keep(rescue->guardian, rescue->inherited);
	rescue->known = rescue->inherited;
}
