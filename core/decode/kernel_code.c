/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/kernel_code.h"

#include "trace/event.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

bool mt_kernel_is_running(const char *os_release)
{
	struct utsname name;

	return os_release && uname(&name) == 0 && strcmp(name.release, os_release) == 0;
}

static struct mt_error *add_segments(struct mt_pt_image *image, const char *kcore, Elf *elf,
				     const struct mt_space *kernel)
{
	size_t segments = 0;

	if (elf_getphdrnum(elf, &segments))
		return mt_error_new(MT_ERROR_FORMAT, "%s: %s", kcore, elf_errmsg(-1));
	for (size_t i = 0; i < segments; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD)
			continue;
		for (size_t m = 0; m < mt_space_mapping_count(kernel); m++) {
			const struct mt_mapping *mapping = mt_space_mapping(kernel, m);
			uint64_t start = segment.p_vaddr, end = start + segment.p_filesz;

			if (start < mapping->start)
				start = mapping->start;
			if (end > mapping->end)
				end = mapping->end;
			if (start < end)
				mt_try(mt_pt_image_add(image, kcore,
						       segment.p_offset + (start - segment.p_vaddr),
						       end - start, start));
		}
	}
	return NULL;
}

struct mt_error *mt_kernel_code_add(struct mt_pt_image *image, const char *kcore,
				    const struct mt_space *kernel)
{
	int fd = open(kcore, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return mt_error_errno(errno, "cannot read the kernel's code from %s", kcore);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	struct mt_error *error =
	    elf ? add_segments(image, kcore, elf, kernel)
		: mt_error_new(MT_ERROR_FORMAT, "%s: %s", kcore, elf_errmsg(-1));

	elf_end(elf);
	close(fd);
	return error;
}

static size_t mapped_vdso_size(uint64_t address)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t start = 0, end = 0;
	char line[512];
	size_t size = 0;

	while (maps && !size && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start == address)
			size = end - start;
	if (maps)
		fclose(maps);
	return size;
}

static struct mt_error *write_temporary(const void *bytes, size_t size, char **path)
{
	const char *directory = getenv("TMPDIR");
	char *name = NULL;

	if (asprintf(&name, "%s/mtrace-vdso-XXXXXX", directory ? directory : "/tmp") < 0)
		return mt_error_no_memory();
	int fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) {
		struct mt_error *error = mt_error_errno(errno, "cannot write %s", name);

		if (fd >= 0) {
			close(fd);
			unlink(name);
		}
		free(name);
		return error;
	}
	close(fd);
	*path = name;
	return NULL;
}

struct mt_error *mt_vdso_open(struct mt_objfile **objfile, char **path)
{
	uint64_t address = getauxval(AT_SYSINFO_EHDR);
	size_t size = address ? mapped_vdso_size(address) : 0;

	if (!size)
		return mt_error_new(MT_ERROR_NOT_FOUND, "this kernel has no vDSO");

	const void *bytes = (const void *)(uintptr_t)address;

	mt_try(mt_objfile_open_memory("[vdso]", bytes, size, objfile));
	struct mt_error *error = write_temporary(bytes, size, path);
	if (error) {
		mt_objfile_unref(*objfile);
		*objfile = NULL;
	}
	return error;
}
