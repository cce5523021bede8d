/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/inferior/refuse.h"

#include "gdb-plugin/gdb/gdb.h"
#include "process/proc.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

static struct mt_error *refuse_connection(const char *type)
{
	if (!type || strcmp(type, "native") == 0)
		return NULL;
	if (strcmp(type, "core") == 0)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "a core file does not run, so nothing can be recorded (record the "
		    "program itself: \"run\" it, or mtdb run)");
	return mt_error_new(
	    MT_ERROR_UNSUPPORTED,
	    "cannot record a program that is reached by the target \"%s\", only "
	    "native ones (on its machine, \"mtdb run --record FILE\" records it, and "
	    "\"mtrace decode FILE\" reads that here)",
	    type);
}

struct mt_error *mt_refuse_looking_back(void)
{
	char *connection = mt_gdb_connection();
	bool is_core = connection && strcmp(connection, "core") == 0;
	struct mt_error *error = is_core ? NULL : refuse_connection(connection);

	free(connection);
	if (!is_core)
		return error;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "a core file contains no history of calls, only those that were open "
			    "(\"backtrace\"): record the program itself, and \"mtrace save\" it");
}

/* Its exe(5) is one for 32 bits: GDB knows the program, but not every attached one. */
static bool has_32_bits(pid_t pid)
{
	unsigned char ident[EI_NIDENT] = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_read = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident);
	if (fd >= 0)
		close(fd);
	return is_read && memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

struct mt_error *mt_refuse(pid_t pid)
{
	char *connection = mt_gdb_connection();
	struct mt_error *error = refuse_connection(connection);

	free(connection);
	if (!error && mt_gdb_parameter("non-stop"))
		error = mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "cannot record in non-stop mode: the text would change under running threads "
		    "(set non-stop off, and run again)");
	if (!error && mt_gdb_is_recording())
		error = mt_error_new(MT_ERROR_UNSUPPORTED,
				     "GDB records the program itself, and would record the patches "
				     "too (\"record stop\" ends that)");
	if (!error && pid && mt_proc_has_ended(pid))
		error = mt_error_new(MT_ERROR_UNSUPPORTED,
				     "process %d does not run on this machine", pid);
	if (!error && pid && has_32_bits(pid))
		error = mt_error_new(MT_ERROR_UNSUPPORTED,
				     "cannot record process %d: its program is one of 32 bits, and "
				     "only those for x86-64 can be recorded",
				     pid);
	return error;
}

bool mt_is_fresh(pid_t pid)
{
	struct user_regs_struct registers;
	Elf64_Ehdr header;
	const uint64_t base = mt_proc_loader(pid);
	uint64_t entry = mt_proc_entry(pid);
	char path[64];

	if (ptrace(PTRACE_GETREGS, pid, 0, &registers))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (base && pread(fd, &header, sizeof(header), (off_t)base) == sizeof(header))
		entry = base + header.e_entry;
	if (fd >= 0)
		close(fd);
	return registers.rip == entry;
}
