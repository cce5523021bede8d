/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object file in memory, made of a page of text, a page of data, and symbols. */
#ifndef MT_TESTS_MADE_ELF_H
#define MT_TESTS_MADE_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MADE_TEXT       0x1000 /* offset and address */
#define MADE_DATA       0x2000
#define MADE_NON_PIE    0x400000 /* raised by so much when it is not relocated */
#define MADE_PAGE       0x1000
#define MADE_NAMES      64
#define MADE_SYMBOLS    16
#define MADE_RELOCATION 8

struct made_symbol {
	uint64_t offset; /* in the text */
	uint64_t size;
	uint8_t type;
};

struct made_elf {
	uint8_t text[MADE_PAGE];
	size_t text_size;
	uint8_t data[MADE_PAGE];
	size_t data_size;
	struct made_symbol symbols[MADE_SYMBOLS];
	size_t symbol_count;
	uint64_t relocations[MADE_RELOCATION]; /* text offsets that R_X86_64_RELATIVE gives */
	size_t relocation_count;
	uint64_t entry; /* address */
	bool is_fixed;  /* ET_EXEC */
};

enum {
	MADE_SECTION_TEXT = 1,
	MADE_SECTION_DATA,
	MADE_SECTION_RELA,
	MADE_SECTION_SYMTAB,
	MADE_SECTION_STRTAB,
	MADE_SECTION_COUNT
};

struct made_file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[MADE_SECTION_COUNT];
	Elf64_Sym symbols[1 + MADE_SYMBOLS];
	Elf64_Rela relocations[MADE_RELOCATION];
	char names[MADE_NAMES];
	uint8_t up_to_text[MADE_TEXT - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr) -
			   MADE_SECTION_COUNT * sizeof(Elf64_Shdr) -
			   (1 + MADE_SYMBOLS) * sizeof(Elf64_Sym) -
			   MADE_RELOCATION * sizeof(Elf64_Rela) - MADE_NAMES];
	uint8_t text[MADE_PAGE];
	uint8_t data[MADE_PAGE];
};

static inline uint64_t made_base(const struct made_elf *from)
{
	return from->is_fixed ? MADE_NON_PIE : 0;
}

static inline void made_sections(struct made_file *file, const struct made_elf *from)
{
	uint64_t base = made_base(from);

	file->sections[MADE_SECTION_TEXT] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
							 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
							 .sh_addr = base + MADE_TEXT,
							 .sh_offset = MADE_TEXT,
							 .sh_size = from->text_size};
	file->sections[MADE_SECTION_DATA] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
							 .sh_flags = SHF_ALLOC | SHF_WRITE,
							 .sh_addr = base + MADE_DATA,
							 .sh_offset = MADE_DATA,
							 .sh_size = from->data_size};
	file->sections[MADE_SECTION_RELA] =
	    (Elf64_Shdr){.sh_type = SHT_RELA,
			 .sh_flags = SHF_ALLOC,
			 .sh_offset = offsetof(struct made_file, relocations),
			 .sh_size = from->relocation_count * sizeof(Elf64_Rela),
			 .sh_entsize = sizeof(Elf64_Rela)};
	file->sections[MADE_SECTION_SYMTAB] =
	    (Elf64_Shdr){.sh_type = SHT_SYMTAB,
			 .sh_offset = offsetof(struct made_file, symbols),
			 .sh_size = (1 + from->symbol_count) * sizeof(Elf64_Sym),
			 .sh_link = MADE_SECTION_STRTAB,
			 .sh_info = 1,
			 .sh_entsize = sizeof(Elf64_Sym)};
	file->sections[MADE_SECTION_STRTAB] =
	    (Elf64_Shdr){.sh_type = SHT_STRTAB,
			 .sh_offset = offsetof(struct made_file, names),
			 .sh_size = MADE_NAMES};
}

static inline void made_contents(struct made_file *file, const struct made_elf *from)
{
	uint64_t base = made_base(from);

	/* Names are "a", "b", … */
	for (size_t i = 0; i < from->symbol_count; i++) {
		file->names[1 + 2 * i] = (char)('a' + i);
		file->symbols[1 + i] = (Elf64_Sym){
		    .st_name = (uint32_t)(1 + 2 * i),
		    .st_info = ELF64_ST_INFO(STB_GLOBAL, from->symbols[i].type),
		    .st_shndx = MADE_SECTION_TEXT,
		    .st_value = base + MADE_TEXT + from->symbols[i].offset,
		    .st_size = from->symbols[i].size,
		};
	}
	for (size_t i = 0; i < from->relocation_count; i++)
		file->relocations[i] = (Elf64_Rela){
		    .r_offset = base + MADE_DATA + 8 * i,
		    .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		    .r_addend = (int64_t)(base + MADE_TEXT + from->relocations[i]),
		};
	memcpy(file->text, from->text, from->text_size);
	memcpy(file->data, from->data, from->data_size);
}

/* The caller frees it; its size is that of the struct. */
static inline struct made_file *made_elf_file(const struct made_elf *from)
{
	struct made_file *file = calloc(1, sizeof(*file));
	uint64_t base = made_base(from);

	if (!file)
		return NULL;
	file->header = (Elf64_Ehdr){
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = from->is_fixed ? ET_EXEC : ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_entry = from->entry,
	    .e_phoff = offsetof(struct made_file, segments),
	    .e_shoff = offsetof(struct made_file, sections),
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 2,
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = MADE_SECTION_COUNT,
	    .e_shstrndx = MADE_SECTION_STRTAB,
	};
	for (int i = 0; i < 2; i++)
		file->segments[i] = (Elf64_Phdr){.p_type = PT_LOAD,
						 .p_flags = PF_R | (i ? PF_W : PF_X),
						 .p_offset = i ? MADE_DATA : MADE_TEXT,
						 .p_vaddr = base + (i ? MADE_DATA : MADE_TEXT),
						 .p_filesz = MADE_PAGE,
						 .p_memsz = MADE_PAGE};
	made_sections(file, from);
	made_contents(file, from);
	return file;
}

#endif
