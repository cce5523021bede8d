/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why the kernel did not open a perf event.  One errno stands for several reasons there: what we
 * know of the event, of ourselves and of the machine decides which one it was. */
#include "base/str.h"
#include "kernel/event.h"
#include "kernel/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#define PARANOID_PATH    "/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_DEFAULT 2
#define CAP_SYS_ADMIN    21
#define CAP_PERFMON      38
#define SECCOMP_FILTER   2

int mt_perf_paranoid(void)
{
	char text[32];

	if (mt_system_read_file(PARANOID_PATH, text, sizeof(text)) <= 0)
		return PARANOID_DEFAULT;
	return atoi(text);
}

bool mt_perf_kernel_is_at_least(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned our_major = 0, our_minor = 0;

	if (uname(&name) || sscanf(name.release, "%u.%u", &our_major, &our_minor) != 2)
		return false;
	return our_major > major || (our_major == major && our_minor >= minor);
}

/* The number behind "FIELD:" in our /proc/self/status. */
static uint64_t own_status(const char *field, int base)
{
	char text[4096];
	const char *line;

	if (mt_system_read_file("/proc/self/status", text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, field);
	return line ? strtoull(line + strlen(field), NULL, base) : 0;
}

static struct mt_error *refused(const struct perf_event_attr *attr, const char *begun, pid_t pid,
				int errnum)
{
	int paranoid = mt_perf_paranoid();
	uint64_t capabilities = own_status("\nCapEff:", 16);
	bool capable = capabilities & (1ull << CAP_PERFMON | 1ull << CAP_SYS_ADMIN);
	/* The highest perf_event_paranoid that lets everybody open this. */
	int wanted = attr->exclude_kernel ? 2 : 1;
	const char *wanted_text =
	    attr->exclude_kernel ? "any event at all" : "what the kernel does";

	if (attr->type == PERF_TYPE_TRACEPOINT) {
		wanted = -1;
		wanted_text = "tracepoints";
	} else if (pid == -1) {
		wanted = 0;
		wanted_text = "what all threads of a CPU do";
	}

	if (!capable && paranoid > wanted)
		return mt_error_new(MT_ERROR_PERMISSION,
				    "%s: kernel.perf_event_paranoid is %d, which denies %s to "
				    "users without CAP_PERFMON; run as root, or run: "
				    "sudo sysctl kernel.perf_event_paranoid=%d",
				    begun, paranoid, wanted_text, wanted);
	if (errnum == EACCES && pid > 0)
		return mt_error_new(MT_ERROR_PERMISSION,
				    "%s: it is another user's, or it changed its user; run as that "
				    "user or as root",
				    begun);
	if (own_status("\nSeccomp:", 10) == SECCOMP_FILTER)
		return mt_error_new(MT_ERROR_PERMISSION,
				    "%s: a seccomp filter forbids perf_event_open, as those of "
				    "containers do; start the container with --cap-add PERFMON "
				    "(or --security-opt seccomp=unconfined)",
				    begun);
	return mt_error_new(MT_ERROR_PERMISSION,
			    "%s: %s, though kernel.perf_event_paranoid is %d%s; a security module "
			    "or a locked-down kernel may forbid it: see dmesg",
			    begun, strerror(errnum), paranoid,
			    capable ? " and we have CAP_PERFMON" : "");
}

static struct mt_error *too_many_files(const char *begun, int errnum)
{
	struct rlimit limit = {0};

	if (errnum == ENFILE)
		return mt_error_new(MT_ERROR_SYSTEM,
				    "%s: the system's limit of open files is reached; raise it by "
				    "sudo sysctl fs.file-max=…",
				    begun);
	getrlimit(RLIMIT_NOFILE, &limit);
	return mt_error_new(MT_ERROR_SYSTEM,
			    "%s: the limit of %llu open files is reached, and each event of each "
			    "thread takes one; run \"ulimit -n %llu\" and try again",
			    begun, (unsigned long long)limit.rlim_cur,
			    (unsigned long long)limit.rlim_cur * 8);
}

static struct mt_error *taken(const struct perf_event_attr *attr, const char *begun)
{
	if (attr->type == PERF_TYPE_BREAKPOINT)
		return mt_error_new(MT_ERROR_BUSY,
				    "%s: the processor's four debug registers are all in use; "
				    "delete watchpoints and hardware breakpoints of other "
				    "debuggers and of perf",
				    begun);
	return mt_error_new(MT_ERROR_BUSY,
			    "%s: this PMU is in use, and serves one trace at a time; stop the "
			    "other one (perf record, or GDB's `record btrace`: `record "
			    "stop`)",
			    begun);
}

static struct mt_error *unknown(const struct perf_event_attr *attr, const char *begun, int errnum)
{
	struct utsname name = {0};
	bool too_new = errnum == EINVAL || errnum == E2BIG;

	uname(&name);
	if (too_new && attr->type == PERF_TYPE_BREAKPOINT && !mt_perf_acts_on_aux(attr))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s: the kernel rejects this address and length: the address "
				    "must be in user space, and a multiple of the length",
				    begun);
	if (too_new)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s: Linux %s does not know such an event: %s", begun,
				    name.release, strerror(errnum));
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "%s: this machine does not have it (%s); virtual machines often have "
			    "no hardware counters; `perf list` shows what is available",
			    begun, strerror(errnum));
}

static struct mt_error *explain(const struct perf_event_attr *attr, const char *begun, pid_t pid,
				int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return refused(attr, begun, pid, errnum);
	case EMFILE:
	case ENFILE:
		return too_many_files(begun, errnum);
	case EBUSY:
	case ENOSPC:
		return taken(attr, begun);
	case ENOENT:
	case ENODEV:
	case ENXIO:
	case EOPNOTSUPP:
	case EINVAL:
	case E2BIG:
		return unknown(attr, begun, errnum);
	case ENOSYS:
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s: this kernel was built without perf events "
				    "(CONFIG_PERF_EVENTS)",
				    begun);
	case ESRCH:
		return mt_error_new(MT_ERROR_GONE, "%s: it has ended", begun);
	default:
		return mt_error_errno(errnum, "%s", begun);
	}
}

struct mt_error *mt_perf_event_explain(const struct perf_event_attr *attr, const char *what,
				       pid_t pid, int cpu, int errnum)
{
	mt_auto(mt_str) struct mt_str begun = {0};

	mt_str_appendf(&begun, "cannot open %s", what);
	if (pid > 0)
		mt_str_appendf(&begun, " on thread %d", (int)pid);
	else if (pid == 0)
		mt_str_append(&begun, " on ourselves");
	if (cpu >= 0)
		mt_str_appendf(&begun, " on CPU %d", cpu);
	if (begun.failed)
		return mt_error_no_memory();
	return mt_error_at_lwp(explain(attr, begun.text, pid, errnum), pid > 0 ? pid : 0);
}
