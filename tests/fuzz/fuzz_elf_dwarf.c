/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as DWARF: line tables and inlined functions.  The bytes become the debug sections of a
 * small, sound ELF file, so that nothing of the fuzzer's work goes into headers.  A section begins
 * with a byte that says which one it is and two that say how long.
 *
 * It is opened from memory, where libdw has all of it, and as a file, of which is read what is
 * asked for: they tell the same. */
#include "dwarf/source.h"
#include "elf/objfile.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool holds)
{
	if (!holds)
		abort();
}

static const char *const names[] = {
    "",
    ".text",
    ".debug_info",
    ".debug_abbrev",
    ".debug_line",
    ".debug_str",
    ".debug_ranges",
    ".debug_rnglists",
    ".debug_line_str",
    ".debug_addr",
    ".debug_str_offsets",
    ".shstrtab",
};

enum {
	SECTION_COUNT = sizeof(names) / sizeof(*names),
	FIRST_DEBUG = 2,
	NAMES = SECTION_COUNT - 1,
	TEXT = 0x1000,
	TEXT_SIZE = 0x1000,
	LARGEST = 1 << 20,
};

struct image {
	unsigned char *bytes;
	size_t size;
	Elf64_Shdr sections[SECTION_COUNT];
};

static void append(struct image *image, const void *bytes, size_t size)
{
	memcpy(image->bytes + image->size, bytes, size);
	image->size += size;
}

static void add_section(struct image *image, size_t index, const uint8_t *bytes, size_t size)
{
	image->sections[index].sh_type = SHT_PROGBITS;
	image->sections[index].sh_offset = image->size;
	image->sections[index].sh_size = size;
	image->sections[index].sh_addralign = 1;
	append(image, bytes, size);
	append(image, "", 1); /* as behind the sections that are read by libdw */
}

static void add_debug_sections(struct image *image, const uint8_t *bytes, size_t size)
{
	while (size >= 3) {
		size_t index = FIRST_DEBUG + bytes[0] % (NAMES - FIRST_DEBUG);
		size_t length = bytes[1] | (size_t)bytes[2] << 8;

		bytes += 3;
		size -= 3;
		length = length < size ? length : size;
		add_section(image, index, bytes, length);
		bytes += length;
		size -= length;
	}
}

static void add_names(struct image *image)
{
	size_t start = image->size;

	for (size_t i = 0; i < SECTION_COUNT; i++) {
		image->sections[i].sh_name = (Elf64_Word)(image->size - start);
		append(image, names[i], strlen(names[i]) + 1);
	}
	image->sections[NAMES].sh_type = SHT_STRTAB;
	image->sections[NAMES].sh_offset = start;
	image->sections[NAMES].sh_size = image->size - start;
}

static void finish(struct image *image)
{
	Elf64_Ehdr header = {
	    .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phoff = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 1,
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = SECTION_COUNT,
	    .e_shstrndx = NAMES,
	};
	Elf64_Phdr segment = {
	    .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = TEXT, .p_memsz = TEXT_SIZE};

	header.e_shoff = (image->size + 7) & ~7ULL;
	image->size = header.e_shoff;
	append(image, image->sections, sizeof(image->sections));
	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + sizeof(header), &segment, sizeof(segment));
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same_source(const struct mt_source *a, const struct mt_source *b)
{
	check(a->line == b->line && a->column == b->column && is_same_text(a->file, b->file));
}

static void check_spans(struct mt_objfile *whole, struct mt_objfile *file, uint64_t address)
{
	struct mt_inline_span span, other;

	mt_objfile_inlines_at(whole, address, &span);
	mt_objfile_inlines_at(file, address, &other);
	check(span.start <= address && address < span.end);
	check(span.start == other.start && span.end == other.end && span.depth == other.depth);
	for (size_t i = 0; i < span.depth; i++) {
		const struct mt_function *a = span.chain[i]->function;
		const struct mt_function *b = other.chain[i]->function;

		check(strlen(a->name) > 0 && strcmp(a->name, b->name) == 0);
		check_same_source(&a->source, &b->source);
		check_same_source(&span.chain[i]->call, &other.chain[i]->call);
	}
}

struct found {
	size_t count;
	uint64_t addresses[TEXT_SIZE];
};

static void note_line(void *context, uint64_t address, uint32_t line)
{
	struct found *found = context;

	check(address >= TEXT && address < TEXT + TEXT_SIZE && line >= 1);
	if (found->count < TEXT_SIZE)
		found->addresses[found->count++] = address;
}

static void look(struct mt_objfile *whole, struct mt_objfile *file)
{
	static struct found found, other;

	for (uint64_t address = TEXT; address < TEXT + TEXT_SIZE; address += 5) {
		struct mt_source source, same;

		check(mt_objfile_source_at(whole, address, &source) ==
		      mt_objfile_source_at(file, address, &same));
		check_same_source(&source, &same);
		check_spans(whole, file, address);
		check(is_same_text(mt_objfile_own_name_at(whole, address),
				   mt_objfile_own_name_at(file, address)));
		check(mt_objfile_skip_prologue(whole, address) ==
		      mt_objfile_skip_prologue(file, address));
	}
	found.count = other.count = 0;
	mt_objfile_find_line(whole, "a.c", 1, note_line, &found);
	mt_objfile_find_line(file, "a.c", 1, note_line, &other);
	check(found.count == other.count && memcmp(found.addresses, other.addresses,
						   found.count * sizeof(*found.addresses)) == 0);
}

static struct mt_objfile *open_file(const struct image *image)
{
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct mt_objfile *objfile = NULL;
	char path[32];

	check(fd >= 0 && write(fd, image->bytes, image->size) == (ssize_t)image->size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(!mt_objfile_open(path, NULL, NULL, &objfile));
	close(fd);
	return objfile;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct image image = {.bytes = calloc(1, 2 * size + 8192)};
	struct mt_objfile *whole, *file;

	if (!image.bytes || size > LARGEST) {
		free(image.bytes);
		return 0;
	}
	image.size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	image.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
					 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					 .sh_addr = TEXT,
					 .sh_size = TEXT_SIZE};
	add_debug_sections(&image, bytes, size);
	add_names(&image);
	finish(&image);
	check(!mt_objfile_open_memory("fuzz", image.bytes, image.size, &whole));
	file = open_file(&image);
	free(image.bytes);
	look(whole, file);
	mt_objfile_unref(whole);
	mt_objfile_unref(file);
	return 0;
}
