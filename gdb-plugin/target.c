/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "target.h"

#include "gdb.h"
#include "process/proc.h"
#include "ptrace/syscall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

struct gdb_target {
	struct mt_target base;
	pid_t pid;
	uint64_t syscall_pc;
	bool registers_changed; /* GDB does not know yet */
	mt_gdb_libraries_hook *libraries;
	void *context; /* the hook's */
	uint64_t loader_address;
	PyObject *loader_break; /* the breakpoint where the loader reports libraries; or NULL */
};

static struct gdb_target *target_of(struct mt_target *base)
{
	return (struct gdb_target *)base;
}

static int open_memory(pid_t pid, int how)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return open(path, how | O_CLOEXEC);
}

static size_t read_memory(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	int fd = open_memory(pid, O_RDONLY);
	ssize_t done = fd < 0 ? -1 : pread(fd, buffer, size, (off_t)address);

	(void)base;
	if (fd >= 0)
		close(fd);
	return done > 0 ? (size_t)done : 0;
}

static struct mt_error *write_memory(struct mt_target *base, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	int fd = open_memory(pid, O_RDWR);
	ssize_t done = fd < 0 ? -1 : pwrite(fd, bytes, size, (off_t)address);
	int errnum = done < 0 ? errno : EFAULT;

	(void)base;
	if (fd >= 0)
		close(fd);
	if (done == (ssize_t)size)
		return NULL;
	return mt_error_errno(errnum, "cannot write %zu bytes at 0x%llx of process %d", size,
			      (unsigned long long)address, pid);
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
	return ptrace(PTRACE_GETREGS, lwp, 0, registers) ? gone(lwp) : NULL;
}

static struct mt_error *set_registers(struct mt_target *base, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	target_of(base)->registers_changed = true;
	return ptrace(PTRACE_SETREGS, lwp, 0, registers) ? gone(lwp) : NULL;
}

static struct mt_error *each_thread(struct mt_target *base, pid_t pid,
				    struct mt_error *(*found)(void *context, pid_t lwp),
				    void *context)
{
	struct mt_error *error = NULL;
	char path[64];
	DIR *tasks;

	(void)base;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return mt_error_new(MT_ERROR_GONE, "process %d is gone", pid);
	for (struct dirent *entry; !error && (entry = readdir(tasks));) {
		pid_t lwp = (pid_t)strtol(entry->d_name, NULL, 10);

		if (lwp > 0 && !mt_proc_has_ended(lwp))
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

static struct mt_error *call_system(struct mt_target *base, pid_t lwp, long number,
				    const uint64_t arguments[6], int64_t *result)
{
	struct gdb_target *target = target_of(base);
	int status = 0;

	mt_try(mt_ptrace_find_syscall(base, target->pid, &target->syscall_pc));
	return mt_ptrace_do_syscall(target->pid, lwp, target->syscall_pc, number, arguments, result,
				    &status);
}

static struct mt_error *select_thread(pid_t lwp)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *threads =
	    inferior ? PyObject_CallMethod(inferior, "threads", NULL) : NULL;

	for (Py_ssize_t i = 0; threads && i < PyTuple_Size(threads); i++) {
		PyObject *thread = PyTuple_GetItem(threads, i);
		mt_auto(mt_py) PyObject *ptid = PyObject_GetAttrString(thread, "ptid");

		if (!ptid || PyLong_AsLong(PyTuple_GetItem(ptid, 1)) != lwp)
			continue;
		mt_auto(mt_py) PyObject *done = PyObject_CallMethod(thread, "switch", NULL);
		return done ? NULL : mt_py_error();
	}
	PyErr_Clear();
	return mt_error_new(MT_ERROR_GONE, "GDB knows no thread %d", lwp);
}

static struct mt_error *evaluate(const struct mt_target_call *call, uint64_t *result)
{
	char expression[256];

	snprintf(expression, sizeof(expression),
		 "((unsigned long (*)(unsigned long, unsigned long)) 0x%llx)(0x%llx, 0x%llx)",
		 (unsigned long long)call->function, (unsigned long long)call->arguments[0],
		 (unsigned long long)call->arguments[1]);
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parse_and_eval", "(s)", expression);
	mt_auto(mt_py) PyObject *number = value ? PyNumber_Long(value) : NULL;

	if (!number)
		return mt_py_error();
	*result = PyLong_AsUnsignedLongLongMask(number);
	return NULL;
}

static struct mt_error *evaluate_in_c(const struct mt_target_call *call, uint64_t *result)
{
	mt_auto(mt_py) PyObject *language = mt_py_call_gdb("parameter", "(s)", "language");
	char *was = language ? mt_py_text(language) : NULL;
	mt_auto(mt_str) struct mt_str ignored = {0};

	if (!was)
		return mt_py_error();
	mt_error_destroy(mt_gdb_execute("set language c", &ignored));
	struct mt_error *error = evaluate(call, result);
	mt_error_destroy(mt_gdb_executef(&ignored, "set language %s", was));
	free(was);
	return error;
}

/* As GDB's user would call it: GDB lets the other threads run on meanwhile. */
static struct mt_error *call_function(struct mt_target *base, pid_t lwp,
				      const struct mt_target_call *call, uint64_t *result)
{
	pid_t selected = mt_gdb_lwp();

	mt_try(mt_gdb_target_flush(base));
	if (selected != lwp)
		mt_try(select_thread(lwp));
	struct mt_error *error = evaluate_in_c(call, result);
	if (selected != lwp)
		mt_error_destroy(select_thread(selected));
	return error;
}

static PyObject *library_stop(PyObject *self, PyObject *ignored)
{
	struct gdb_target *target = mt_py_context(self);

	(void)ignored;
	if (!target)
		return NULL;
	mt_auto(mt_py) PyObject *none =
	    mt_py_report(target->libraries(target->context, mt_gdb_lwp()));
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

	(void)pid;
	/* After exec the loader is where it was, as a rule; GDB is busy with breakpoints then. */
	if (target->loader_break && address == target->loader_address)
		return NULL;
	remove_loader_break(target);
	target->loader_break = mt_py_breakpoint(address, &stop, target);
	target->loader_address = address;
	return target->loader_break ? NULL : mt_py_error();
}

struct mt_error *mt_gdb_target_flush(struct mt_target *base)
{
	struct gdb_target *target = target_of(base);
	mt_auto(mt_str) struct mt_str ignored = {0};

	mt_try(mt_gdb_execute("maintenance flush dcache", &ignored));
	if (!target->registers_changed)
		return NULL;
	target->registers_changed = false;
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
}

void mt_gdb_target_set_pid(struct mt_target *base, pid_t pid)
{
	target_of(base)->pid = pid;
	target_of(base)->syscall_pc = 0;
}

static void destroy(struct mt_target *base)
{
	remove_loader_break(target_of(base));
	free(base);
}

static const struct mt_target_ops ops = {
    .destroy = destroy,
    .read = read_memory,
    .write = write_memory,
    .get_registers = get_registers,
    .set_registers = set_registers,
    .each_thread = each_thread,
    .each_map = each_map,
    .call_system = call_system,
    .call_function = call_function,
    .watch_libraries = watch_libraries,
};

struct mt_error *mt_gdb_target_create(mt_gdb_libraries_hook *libraries, void *context,
				      struct mt_target **out)
{
	struct gdb_target *target = calloc(1, sizeof(*target));

	if (!target)
		return mt_error_no_memory();
	target->base.ops = &ops;
	target->libraries = libraries;
	target->context = context;
	*out = &target->base;
	return NULL;
}
