/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int mt_system_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int mt_system_close(int fd)
{
	return close(fd) ? -errno : 0;
}

int mt_system_ioctl(int fd, unsigned long request, uintptr_t argument)
{
	int result = ioctl(fd, request, argument);

	return result < 0 ? -errno : result;
}

int mt_system_signal(int fd, pid_t lwp, int signal)
{
	const struct f_owner_ex owner = {F_OWNER_TID, lwp};

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, signal) ||
	    fcntl(fd, F_SETFL, O_ASYNC))
		return -errno;
	return 0;
}

int mt_system_read(int fd, void *bytes, size_t size)
{
	ssize_t count;

	do
		count = read(fd, bytes, size);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : (int)count;
}

int mt_system_map(int fd, uint64_t offset, size_t size, int protection, void **out)
{
	void *address = mmap(NULL, size, protection, MAP_SHARED, fd, (off_t)offset);

	if (address == MAP_FAILED)
		return -errno;
	*out = address;
	return 0;
}

void mt_system_unmap(void *address, size_t size)
{
	munmap(address, size);
}

int mt_system_read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int count;

	if (fd < 0)
		return -errno;
	count = mt_system_read(fd, text, size - 1);
	close(fd);
	text[count < 0 ? 0 : count] = 0;
	return count;
}
