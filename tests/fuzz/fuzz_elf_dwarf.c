/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as DWARF: line tables and inlined functions.  The bytes become the debug sections of a
 * small, sound ELF file, so that nothing of the fuzzer's work goes into headers.  A section begins
 * with a byte that says which one it is and two that say how long. */
#include "dwarf/source.h"
#include "elf/objfile.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

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

static void check_span(struct mt_objfile *objfile, uint64_t address)
{
	struct mt_inline_span span;

	mt_objfile_inlines_at(objfile, address, &span);
	check(span.start <= address && address < span.end);
	for (size_t i = 0; i < span.depth; i++)
		check(strlen(span.chain[i]->function->name) > 0);
}

static void check_line(void *context, uint64_t address, uint32_t line)
{
	(void)context;
	check(address >= TEXT && address < TEXT + TEXT_SIZE && line >= 1);
}

static void look(struct mt_objfile *objfile)
{
	for (uint64_t address = TEXT; address < TEXT + TEXT_SIZE; address += 5) {
		struct mt_source source;
		mt_objfile_source_at(objfile, address, &source);
		check_span(objfile, address);
	}
	mt_objfile_find_line(objfile, "a.c", 1, check_line, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct image image = {.bytes = calloc(1, size + 8192)};
	struct mt_objfile *objfile;

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
	struct mt_error *error = mt_objfile_open_memory("fuzz", image.bytes, image.size, &objfile);
	free(image.bytes);
	check(!error);
	look(objfile);
	mt_objfile_unref(objfile);
	return 0;
}
