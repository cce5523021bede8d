/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/target.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/gdb/interpose.h"
#include "process/proc.h"
#include "ptrace/registers.h"
#include "ptrace/syscall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define INT3 0xcc

struct gdb_target {
	struct mt_target base;
	pid_t pid;
	int tasks; /* the folder of its threads, open; -1: it was not asked for */
	uint64_t syscall_pc;
	bool registers_changed; /* GDB does not know yet */
	bool memory_changed;
	const struct mt_gdb_target_hooks *hooks;
	void *context; /* theirs */
	uint64_t loader_address;
	uint8_t loader_byte;    /* the program's own there; INT3: not known */
	PyObject *loader_break; /* the breakpoint where the loader reports libraries; or NULL */
};

static struct gdb_target *target_of(struct mt_target *base)
{
	return (struct gdb_target *)base;
}

/* GDB's own, or one to be closed. */
static int open_memory(pid_t pid)
{
	const int own = mt_interpose_descriptor(pid);
	char path[64];

	if (own >= 0)
		return own;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

static void close_memory(pid_t pid, int descriptor)
{
	if (descriptor >= 0 && descriptor != mt_interpose_descriptor(pid))
		close(descriptor);
}

/* What the program itself may not read is read through the file, and all where that is open. */
static size_t read_memory(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	struct iovec local = {buffer, size};
	struct iovec remote = {(void *)(uintptr_t)address,
			       size}; /* NOLINT(performance-no-int-to-ptr) */
	const bool is_open = mt_interpose_descriptor(pid) >= 0;
	ssize_t done = is_open ? 0 : process_vm_readv(pid, &local, 1, &remote, 1, 0);
	size_t got = done > 0 ? (size_t)done : 0;

	(void)base;
	if (got == size)
		return size;
	int fd = open_memory(pid);
	done = fd < 0 ? -1 : pread(fd, (char *)buffer + got, size - got, (off_t)(address + got));
	close_memory(pid, fd);
	return done > 0 ? got + (size_t)done : got;
}

static struct mt_error *write_memory(struct mt_target *base, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	struct gdb_target *target = target_of(base);
	int fd = open_memory(pid);
	target->memory_changed = true;
	ssize_t done = fd < 0 ? -1 : pwrite(fd, bytes, size, (off_t)address);
	int errnum = done < 0 ? errno : EFAULT;

	close_memory(pid, fd);
	if (done == (ssize_t)size)
		return NULL;
	return mt_error_errno(errnum, "cannot write %zu bytes at 0x%llx of process %d", size,
			      (unsigned long long)address, pid);
}

static size_t read_beneath(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			   size_t size)
{
	/* GDB knows nothing of a child yet. */
	if (pid != target_of(base)->pid)
		return read_memory(base, pid, address, buffer, size);
	PyObject *back;
	mt_auto(mt_error) struct mt_error *elsewhere = mt_gdb_visit(pid, &back);
	if (elsewhere)
		return 0;
	mt_auto(mt_py) PyObject *shown = mt_interpose_read_beneath(address, size);
	const char *bytes = shown ? PyBytes_AsString(shown) : NULL;

	PyErr_Clear(); /* the kernel's page for old system calls */
	mt_gdb_return(back);
	if (!bytes)
		return 0;
	memcpy(buffer, bytes, size);
	return size;
}

static struct mt_error *write_beneath(struct mt_target *base, pid_t pid, uint64_t address,
				      uint8_t byte)
{
	PyObject *back;

	if (pid != target_of(base)->pid)
		return write_memory(base, pid, address, &byte, 1);
	mt_try(mt_gdb_visit(pid, &back));
	struct mt_error *error = mt_gdb_write_memory(address, &byte, 1);
	mt_gdb_return(back);
	return error;
}

static bool masks_reads(struct mt_target *base, pid_t pid)
{
	return pid == target_of(base)->pid && target_of(base)->hooks->masks_reads(pid);
}

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_at_lwp(
	    mt_error_new(MT_ERROR_GONE, "thread %d is gone, or does not stand still", lwp), lwp);
}

static struct mt_error *get_registers(struct mt_target *base, pid_t lwp,
				      struct user_regs_struct *registers)
{
	(void)base;
	return mt_interpose_get_registers(lwp, registers) ? NULL : gone(lwp);
}

/* GDB has copies of them. */
static void note_change(struct gdb_target *target)
{
	target->registers_changed = true;
	mt_interpose_forget_thread();
}

static struct mt_error *set_registers(struct mt_target *base, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	note_change(target_of(base));
	return ptrace(PTRACE_SETREGS, lwp, 0, registers) ? gone(lwp) : NULL;
}

static struct mt_error *set_gs_base(struct mt_target *base, pid_t lwp, uint64_t gs_base)
{
	note_change(target_of(base));
	return ptrace(PTRACE_POKEUSER, lwp, offsetof(struct user_regs_struct, gs_base), gs_base)
		   ? gone(lwp)
		   : NULL;
}

static bool dispatches_calls(struct mt_target *base, pid_t lwp)
{
	(void)base;
	return mt_ptrace_dispatches_calls(lwp);
}

bool mt_gdb_target_stands_still(pid_t lwp)
{
	errno = 0;
	return ptrace(PTRACE_PEEKUSER, lwp, offsetof(struct user_regs_struct, rip), 0) != -1 ||
	       !errno;
}

static void close_tasks(struct gdb_target *target)
{
	if (target->tasks >= 0)
		close(target->tasks);
	target->tasks = -1;
}

/* The folder of its threads has two links, and one for each of them.  To find it by its path takes
 * the kernel four times as long. */
static bool is_single(struct gdb_target *target, pid_t pid, const char *tasks)
{
	struct stat status;

	if (pid != target->pid)
		return stat(tasks, &status) == 0 && status.st_nlink == 3;
	if (target->tasks < 0)
		target->tasks = open(tasks, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return target->tasks >= 0 && fstat(target->tasks, &status) == 0 && status.st_nlink == 3;
}

static struct mt_error *each_thread(struct mt_target *base, pid_t pid,
				    struct mt_error *(*found)(void *context, pid_t lwp),
				    void *context)
{
	struct user_regs_struct registers;
	struct mt_error *error = NULL;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (is_single(target_of(base), pid, path) && mt_interpose_get_registers(pid, &registers))
		return found(context, pid);
	tasks = opendir(path);
	if (!tasks)
		return mt_error_new(MT_ERROR_GONE, "process %d is gone", pid);
	for (struct dirent *entry; !error && (entry = readdir(tasks));) {
		pid_t lwp = (pid_t)strtol(entry->d_name, NULL, 10);

		if (lwp > 0 && (mt_gdb_target_stands_still(lwp) || !mt_proc_has_ended(lwp)))
			error = found(context, lwp);
	}
	closedir(tasks);
	return error;
}

static struct mt_error *each_map(struct mt_target *base, pid_t pid,
				 struct mt_error *(*found)(void *context, const struct mt_map *map),
				 void *context)
{
	(void)base;
	return mt_proc_each_map(pid, found, context);
}

static struct mt_error *call_systems(struct mt_target *base, pid_t lwp,
				     struct mt_system_call *calls, size_t count)
{
	struct gdb_target *target = target_of(base);
	int status = 0;

	mt_try(mt_ptrace_find_syscall(base, target->pid, &target->syscall_pc));
	mt_interpose_forget_thread();
	return mt_ptrace_do_syscalls(target->pid, lwp, target->syscall_pc, calls, count, &status);
}

static struct mt_error *run_to(struct mt_target *base, pid_t lwp, uint64_t goal, bool *arrived)
{
	int status = 0;

	note_change(target_of(base));
	return mt_ptrace_run_lwp_to(target_of(base)->pid, lwp, goal, arrived, &status);
}

/* The loader leaves the list of libraries if none of them needs it.  GDB takes it for unloaded
 * then, and forgets that our breakpoint is in its memory: it would take that for the program's own
 * byte, and have the program step to it for ever (breakpoint.c,
 * disable_breakpoints_in_unloaded_shlib()). */
static void lift_forgotten(struct gdb_target *target)
{
	uint8_t there = 0, shown = 0;

	if (target->loader_byte == INT3 ||
	    read_memory(&target->base, target->pid, target->loader_address, &there, 1) != 1 ||
	    there != INT3)
		return;
	if (mt_gdb_read_byte(target->loader_address, &shown) && shown == INT3)
		mt_error_destroy(write_memory(&target->base, target->pid, target->loader_address,
					      &target->loader_byte, 1));
}

static PyObject *library_stop(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct gdb_target *target = mt_py_context(self);

	(void)ignored;
	if (!target)
		return NULL;
	lift_forgotten(target);
	mt_auto(mt_py) PyObject *none =
	    mt_py_report(target->hooks->libraries(target->context, mt_gdb_lwp()));
	(void)none;
	Py_RETURN_FALSE;
}

static void remove_loader_break(struct gdb_target *target)
{
	mt_py_delete_breakpoint(target->loader_break);
	target->loader_break = NULL;
}

static struct mt_error *watch_libraries(struct mt_target *base, pid_t pid, uint64_t address)
{
	struct gdb_target *target = target_of(base);

	static PyMethodDef stop = {"stop", library_stop, METH_NOARGS, NULL};

	/* After exec the loader is where it was, as a rule; GDB is busy with breakpoints then. */
	if (target->loader_break && address == target->loader_address)
		return NULL;
	remove_loader_break(target);
	if (read_beneath(base, pid, address, &target->loader_byte, 1) != 1)
		target->loader_byte = INT3;
	target->loader_break = mt_py_breakpoint(address, &stop, target);
	target->loader_address = address;
	return target->loader_break ? NULL : mt_py_error();
}

static struct mt_error *flush_registers(struct gdb_target *target)
{
	if (!target->registers_changed)
		return NULL;
	target->registers_changed = false;
	mt_try(mt_gdb_execute_at_stop("maintenance flush register-cache"));
	mt_gdb_read_registers();
	return NULL;
}

struct mt_error *mt_gdb_target_flush(struct mt_target *base)
{
	struct gdb_target *target = target_of(base);

	target->memory_changed = false;
	mt_try(mt_gdb_execute_at_stop("maintenance flush dcache"));
	return flush_registers(target);
}

struct mt_error *mt_gdb_target_flush_in_command(struct mt_target *base)
{
	mt_auto(mt_py) PyObject *frame = mt_py_call_gdb("selected_frame", "()");
	struct mt_error *error = mt_gdb_target_flush(base);

	PyErr_Clear(); /* there is none, of a program that runs */
	if (frame && frame != Py_None) {
		mt_auto(mt_py) PyObject *done = PyObject_CallMethod(frame, "select", NULL);

		(void)done;
		PyErr_Clear();
	}
	return error;
}

void mt_gdb_target_goes_on(struct mt_target *base)
{
	target_of(base)->memory_changed = false;
}

struct mt_error *mt_gdb_target_flush_kept(struct mt_target *base, bool may_be_kept)
{
	struct gdb_target *target = target_of(base);

	if (may_be_kept || target->memory_changed)
		return mt_gdb_target_flush(base);
	return flush_registers(target);
}

struct mt_error *mt_gdb_target_moved(struct mt_target *base)
{
	mt_auto(mt_str) struct mt_str ignored = {0};

	target_of(base)->registers_changed = false;
	return mt_gdb_execute("maintenance flush register-cache", &ignored);
}

void mt_gdb_target_withdraw(struct mt_target *base)
{
	remove_loader_break(target_of(base));
}

struct mt_error *mt_gdb_target_restore(struct mt_target *base)
{
	uint64_t address = target_of(base)->loader_address;

	return address ? watch_libraries(base, target_of(base)->pid, address) : NULL;
}

void mt_gdb_target_let_go(struct mt_target *base)
{
	remove_loader_break(target_of(base));
	target_of(base)->loader_address = 0;
	close_tasks(target_of(base));
}

void mt_gdb_target_set_pid(struct mt_target *base, pid_t pid)
{
	close_tasks(target_of(base));
	target_of(base)->pid = pid;
	target_of(base)->syscall_pc = 0;
}

static void destroy(struct mt_target *base)
{
	remove_loader_break(target_of(base));
	close_tasks(target_of(base));
	free(base);
}

static const struct mt_target_ops ops = {
    .destroy = destroy,
    .read = read_memory,
    .write = write_memory,
    .read_beneath = read_beneath,
    .write_beneath = write_beneath,
    .masks_reads = masks_reads,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .set_gs_base = set_gs_base,
    .dispatches_calls = dispatches_calls,
    .each_thread = each_thread,
    .each_map = each_map,
    .call_systems = call_systems,
    .run_to = run_to,
    .watch_libraries = watch_libraries,
};

struct mt_error *mt_gdb_target_create(const struct mt_gdb_target_hooks *hooks, void *context,
				      struct mt_target **out)
{
	struct gdb_target *target = calloc(1, sizeof(*target));

	if (!target)
		return mt_error_no_memory();
	target->base.ops = &ops;
	target->tasks = -1;
	target->hooks = hooks;
	target->context = context;
	*out = &target->base;
	return NULL;
}
