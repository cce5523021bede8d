/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object file in memory, of a page of text and a section of Go's, of any bytes. */
#ifndef MT_TESTS_MADE_GO_H
#define MT_TESTS_MADE_GO_H

#include "elf/objfile.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MADE_GO_TEXT      0x1000 /* address */
#define MADE_GO_TEXT_SIZE 0x1000
#define MADE_GO_TABLE     0x4000 /* address */
#define MADE_GO_SIZE      0x4000 /* of the table, at the most */

struct made_go_file {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Shdr sections[4];
	char names[32];
	uint8_t table[MADE_GO_SIZE];
};

/* NULL: no memory. */
static inline struct mt_objfile *made_go_open(const char *section, const void *table, size_t size)
{
	static const char text[] = ".text", names[] = ".shstrtab";
	const size_t section_at = 1 + sizeof(text), names_at = section_at + strlen(section) + 1;
	struct made_go_file *file = calloc(1, sizeof(*file));
	struct mt_objfile *objfile = NULL;

	if (!file)
		return NULL;
	file->header = (Elf64_Ehdr){
	    .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_EXEC,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phoff = offsetof(struct made_go_file, segments),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = 2,
	    .e_shoff = offsetof(struct made_go_file, sections),
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = 4,
	    .e_shstrndx = 3,
	};
	file->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R | PF_X,
					 .p_vaddr = MADE_GO_TEXT,
					 .p_memsz = MADE_GO_TEXT_SIZE};
	file->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R,
					 .p_offset = offsetof(struct made_go_file, table),
					 .p_vaddr = MADE_GO_TABLE,
					 .p_filesz = size,
					 .p_memsz = size};
	if (names_at + sizeof(names) > sizeof(file->names)) {
		free(file);
		return NULL;
	}
	memcpy(file->names + 1, text, sizeof(text));
	memcpy(file->names + section_at, section, strlen(section));
	memcpy(file->names + names_at, names, sizeof(names));
	file->sections[1] = (Elf64_Shdr){.sh_name = 1,
					 .sh_type = SHT_NOBITS,
					 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					 .sh_addr = MADE_GO_TEXT,
					 .sh_size = MADE_GO_TEXT_SIZE};
	file->sections[2] = (Elf64_Shdr){.sh_name = (Elf64_Word)section_at,
					 .sh_type = SHT_PROGBITS,
					 .sh_flags = SHF_ALLOC,
					 .sh_addr = MADE_GO_TABLE,
					 .sh_offset = offsetof(struct made_go_file, table),
					 .sh_size = size};
	file->sections[3] = (Elf64_Shdr){.sh_name = (Elf64_Word)names_at,
					 .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct made_go_file, names),
					 .sh_size = sizeof(file->names)};
	memcpy(file->table, table, size);
	mt_error_destroy(mt_objfile_open_memory("made", file, sizeof(*file), &objfile));
	free(file);
	return objfile;
}

#endif
