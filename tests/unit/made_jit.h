/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A relocatable object file as a JIT compiler registers it: two functions of 16 bytes in a section
 * whose address is filled in, and a section of data with a relocation. */
#ifndef MT_TESTS_MADE_JIT_H
#define MT_TESTS_MADE_JIT_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	JIT_TEXT = 1,
	JIT_DATA,
	JIT_RELA,
	JIT_SYMTAB,
	JIT_STRTAB,
	JIT_SECTIONS,
	JIT_FUNCTION_BYTES = 16,
};

struct made_jit {
	Elf64_Ehdr header;
	Elf64_Shdr sections[JIT_SECTIONS];
	uint8_t text[2 * JIT_FUNCTION_BYTES];
	uint64_t data;
	Elf64_Rela relocation; /* data is where the second function lies, and 3 more */
	Elf64_Sym symbols[3];
	char names[16];
};

static inline struct made_jit made_jit(uint64_t address)
{
	struct made_jit made = {
	    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				   EV_CURRENT},
		       .e_type = ET_REL,
		       .e_machine = EM_X86_64,
		       .e_version = EV_CURRENT,
		       .e_ehsize = sizeof(Elf64_Ehdr),
		       .e_shoff = offsetof(struct made_jit, sections),
		       .e_shentsize = sizeof(Elf64_Shdr),
		       .e_shnum = JIT_SECTIONS},
	    .relocation = {.r_info = ELF64_R_INFO(2, R_X86_64_64), .r_addend = 3},
	    .names = "\0first\0second",
	};

	made.sections[JIT_TEXT] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					       .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					       .sh_addr = address,
					       .sh_offset = offsetof(struct made_jit, text),
					       .sh_size = sizeof(made.text)};
	made.sections[JIT_DATA] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					       .sh_offset = offsetof(struct made_jit, data),
					       .sh_size = sizeof(made.data)};
	made.sections[JIT_RELA] = (Elf64_Shdr){.sh_type = SHT_RELA,
					       .sh_offset = offsetof(struct made_jit, relocation),
					       .sh_size = sizeof(made.relocation),
					       .sh_entsize = sizeof(Elf64_Rela),
					       .sh_link = JIT_SYMTAB,
					       .sh_info = JIT_DATA};
	made.sections[JIT_SYMTAB] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
						 .sh_offset = offsetof(struct made_jit, symbols),
						 .sh_size = sizeof(made.symbols),
						 .sh_entsize = sizeof(Elf64_Sym),
						 .sh_link = JIT_STRTAB,
						 .sh_info = 1};
	made.sections[JIT_STRTAB] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
						 .sh_offset = offsetof(struct made_jit, names),
						 .sh_size = sizeof(made.names)};
	for (unsigned i = 0; i < 2; i++)
		made.symbols[1 + i] = (Elf64_Sym){.st_name = i ? 7 : 1,
						  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						  .st_shndx = JIT_TEXT,
						  .st_value = (uint64_t)i * JIT_FUNCTION_BYTES,
						  .st_size = JIT_FUNCTION_BYTES};
	return made;
}

#endif
