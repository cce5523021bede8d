/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Headers are read from the bytes that came, and written into a copy with the code behind it; so
 * whatever overlaps what, nothing that was written is believed. */
#include "elf/jit_object.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((uint64_t)4096)

enum {
	MOST_CODE_SECTIONS = 256,
	MOST_CODE_BYTES = 1 << 20, /* of a section; QEMU's is its whole buffer, of gigabytes */
};

struct code {
	uint64_t address;
	uint64_t size;   /* of the section */
	uint64_t bytes;  /* that are kept of it, and of what lies behind */
	uint64_t offset; /* of these in the file */
	unsigned section;
};

struct object {
	const uint8_t *in;
	uint64_t in_size;
	uint8_t *out;
	uint64_t out_size;
	Elf64_Ehdr header;
	struct code code[MOST_CODE_SECTIONS];
	unsigned code_count;
	uint64_t left; /* bytes of tables to be read: those of a sound file do not overlap */
};

static struct mt_error *garbled(const char *why)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "cannot read an object file that the program registered for GDB: %s",
			    why);
}

static bool holds(uint64_t size, uint64_t offset, uint64_t count)
{
	return offset <= size && count <= size - offset;
}

static bool is_relocatable(const struct object *object)
{
	return object->header.e_type == ET_REL;
}

static Elf64_Shdr section_at(const struct object *object, unsigned index)
{
	Elf64_Shdr section;

	memcpy(&section, object->in + object->header.e_shoff + index * sizeof(section),
	       sizeof(section));
	return section;
}

static struct mt_error *read_header(struct object *object)
{
	Elf64_Ehdr *header = &object->header;

	if (object->in_size < sizeof(*header))
		return garbled("it is too short");
	memcpy(header, object->in, sizeof(*header));
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return garbled("it does not start with the ELF magic number");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    header->e_machine != EM_X86_64)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "an object file that the program registered for GDB is not for "
				    "x86-64");
	if (header->e_shentsize != sizeof(Elf64_Shdr) ||
	    !holds(object->in_size, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)))
		return garbled("its section headers are beyond its end");
	return NULL;
}

/* With what lies behind it in its last page. */
static uint64_t kept_bytes(const Elf64_Shdr *section)
{
	const uint64_t end = (section->sh_addr + section->sh_size + PAGE - 1) & ~(PAGE - 1);
	const uint64_t size = end - section->sh_addr;

	return size < MOST_CODE_BYTES ? size : MOST_CODE_BYTES;
}

static bool is_code(const Elf64_Shdr *section)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR, user = (uint64_t)1 << 47;

	return (section->sh_flags & wanted) == wanted && section->sh_addr && section->sh_size &&
	       section->sh_addr < user && section->sh_size < user - section->sh_addr;
}

/* Where it is to lie: each at a page of the file of its own, by which it is found. */
static struct mt_error *find_code(struct object *object)
{
	uint64_t end = (object->in_size + PAGE - 1) & ~(PAGE - 1);

	for (unsigned i = 1; i < object->header.e_shnum; i++) {
		const Elf64_Shdr section = section_at(object, i);

		if (!is_code(&section))
			continue;
		if (object->code_count == MOST_CODE_SECTIONS)
			return garbled("it has too many sections of code");
		object->code[object->code_count++] = (struct code){
		    .address = section.sh_addr,
		    .size = section.sh_size,
		    .bytes = kept_bytes(&section),
		    .offset = end,
		    .section = i,
		};
		end += (kept_bytes(&section) + PAGE - 1) & ~(PAGE - 1);
	}
	object->out_size = end + object->code_count * sizeof(Elf64_Phdr);
	return object->code_count ? NULL : garbled("it does not say where its code is");
}

static void put(struct object *object, uint64_t offset, const void *bytes, uint64_t size)
{
	if (holds(object->out_size, offset, size))
		memcpy(object->out + offset, bytes, size);
}

static void put_code(struct object *object, mt_jit_object_read *read, void *context)
{
	const uint64_t headers = object->out_size - object->code_count * sizeof(Elf64_Phdr);
	Elf64_Ehdr header = object->header;

	for (unsigned i = 0; i < object->code_count; i++) {
		const struct code *code = &object->code[i];
		const unsigned index = code->section;
		Elf64_Shdr section = section_at(object, index);
		const Elf64_Phdr segment = {
		    .p_type = PT_LOAD,
		    .p_flags = PF_R | PF_X,
		    .p_offset = code->offset,
		    .p_vaddr = code->address,
		    .p_filesz = code->bytes,
		    .p_memsz = code->size > code->bytes ? code->size : code->bytes,
		};

		read(context, code->address, object->out + code->offset, code->bytes);
		section.sh_type = SHT_PROGBITS;
		section.sh_offset = code->offset;
		put(object, header.e_shoff + index * sizeof(section), &section, sizeof(section));
		put(object, headers + i * sizeof(segment), &segment, sizeof(segment));
	}
	header.e_type = ET_EXEC;
	header.e_phoff = headers;
	header.e_phnum = (uint16_t)object->code_count;
	header.e_phentsize = sizeof(Elf64_Phdr);
	put(object, 0, &header, sizeof(header));
}

/* Where a symbol lies in the process.  Those of no section keep their value. */
static uint64_t value_of(const struct object *object, const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= object->header.e_shnum)
		return symbol->st_value;
	return section_at(object, symbol->st_shndx).sh_addr + symbol->st_value;
}

/* The bytes of a section lie in the file. */
static bool has_bytes(const struct object *object, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS &&
	       holds(object->in_size, section->sh_offset, section->sh_size);
}

static void place_symbols(struct object *object, const Elf64_Shdr *table)
{
	Elf64_Sym symbol;

	for (uint64_t at = 0; at + sizeof(symbol) <= table->sh_size; at += sizeof(symbol)) {
		memcpy(&symbol, object->in + table->sh_offset + at, sizeof(symbol));
		symbol.st_value = value_of(object, &symbol);
		put(object, table->sh_offset + at, &symbol, sizeof(symbol));
	}
}

/* One relocation of TARGET, as tables of addresses and of lines have them (System V ABI, AMD64
 * supplement, "Relocation Types"); others are left alone. */
static void relocate(struct object *object, const Elf64_Shdr *target, const Elf64_Rela *how,
		     uint64_t symbol)
{
	const uint64_t value = symbol + (uint64_t)how->r_addend;
	const uint64_t place = target->sh_addr + how->r_offset;
	const uint64_t relative = value - place;
	size_t size = 0;

	switch (ELF64_R_TYPE(how->r_info)) {
	case R_X86_64_64:
	case R_X86_64_PC64:
		size = 8;
		break;
	case R_X86_64_32:
	case R_X86_64_32S:
	case R_X86_64_PC32:
		size = 4;
		break;
	default:
		return;
	}
	const bool is_relative = ELF64_R_TYPE(how->r_info) == R_X86_64_PC32 ||
				 ELF64_R_TYPE(how->r_info) == R_X86_64_PC64;
	if (holds(target->sh_size, how->r_offset, size))
		put(object, target->sh_offset + how->r_offset, is_relative ? &relative : &value,
		    size);
}

static void relocate_section(struct object *object, const Elf64_Shdr *table)
{
	Elf64_Rela how;
	Elf64_Sym symbol;

	if (table->sh_info >= object->header.e_shnum || table->sh_link >= object->header.e_shnum)
		return;
	const Elf64_Shdr target = section_at(object, table->sh_info);
	const Elf64_Shdr symbols = section_at(object, table->sh_link);
	if (!has_bytes(object, &target) || !has_bytes(object, &symbols) ||
	    symbols.sh_type != SHT_SYMTAB || (target.sh_flags & SHF_EXECINSTR))
		return;
	for (uint64_t at = 0; at + sizeof(how) <= table->sh_size; at += sizeof(how)) {
		memcpy(&how, object->in + table->sh_offset + at, sizeof(how));
		const uint64_t index = ELF64_R_SYM(how.r_info);
		if (index >= symbols.sh_size / sizeof(symbol))
			continue;
		memcpy(&symbol, object->in + symbols.sh_offset + index * sizeof(symbol),
		       sizeof(symbol));
		relocate(object, &target, &how, value_of(object, &symbol));
	}
}

static void place(struct object *object)
{
	for (unsigned i = 1; i < object->header.e_shnum; i++) {
		const Elf64_Shdr section = section_at(object, i);

		if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_RELA) ||
		    !has_bytes(object, &section) || section.sh_size > object->left)
			continue;
		object->left -= section.sh_size;
		if (section.sh_type == SHT_SYMTAB)
			place_symbols(object, &section);
		else
			relocate_section(object, &section);
	}
}

struct mt_error *mt_jit_object_settle(const uint8_t *bytes, size_t size, mt_jit_object_read *read,
				      void *context, uint8_t **out, size_t *out_size)
{
	struct object object = {.in = bytes, .in_size = size, .left = size};

	mt_try(read_header(&object));
	mt_try(find_code(&object));
	object.out = calloc(1, object.out_size);
	if (!object.out)
		return mt_error_no_memory();
	memcpy(object.out, bytes, size);
	if (is_relocatable(&object))
		place(&object);
	put_code(&object, read, context);
	*out = object.out;
	*out_size = object.out_size;
	return NULL;
}
