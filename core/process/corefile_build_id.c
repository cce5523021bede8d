/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Build IDs of the mapped files: their headers and notes are in the first pages, which are dumped
 * (core(5), bit 4 of the filter). */
#include "process/corefile_private.h"

#include <elf.h>
#include <string.h>

#define MOST_HEADERS       256
#define GREATEST_NOTE_SIZE 4096u

static size_t read_core(struct mt_core_target *target, uint64_t address, void *buffer, size_t size)
{
	uint64_t end;

	return mt_core_read_dumped(target, address, buffer, size, &end);
}

/* NT_GNU_BUILD_ID among the notes at ADDRESS. */
static bool find_build_id(struct mt_core_target *target, uint64_t address, uint64_t size,
			  struct mt_build_id *out)
{
	uint8_t notes[GREATEST_NOTE_SIZE];
	size_t have =
	    read_core(target, address, notes, size < sizeof(notes) ? (size_t)size : sizeof(notes));
	Elf64_Nhdr note;

	for (size_t at = 0; have - at >= sizeof(note);) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		uint64_t name = (note.n_namesz + UINT64_C(3)) & ~UINT64_C(3);
		uint64_t content = (note.n_descsz + UINT64_C(3)) & ~UINT64_C(3);
		if (name + content > have - at)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    memcmp(notes + at, "GNU", sizeof("GNU")) == 0 && note.n_descsz &&
		    note.n_descsz <= sizeof(out->bytes)) {
			out->size = (uint8_t)note.n_descsz;
			memcpy(out->bytes, notes + at + name, note.n_descsz);
			return true;
		}
		at += (size_t)(name + content);
	}
	return false;
}

/* Where the file begins that ADDRESS is of: its header was dumped, usually.  0: not known. */
static uint64_t beginning_of(const struct mt_core_target *target, uint64_t address)
{
	const struct mt_core_mapping *mapping = mt_core_mapping_at(target, address);
	uint64_t start = 0;

	/* It may be mapped several times: the last one before. */
	mt_array_each (other, &target->mappings)
		if (mapping && other->start <= mapping->start && !other->offset &&
		    strcmp(target->files.items[other->file].path,
			   target->files.items[mapping->file].path) == 0)
			start = other->start;
	return start;
}

struct mt_build_id mt_corefile_build_id(struct mt_target *base, uint64_t address)
{
	struct mt_core_target *target = (struct mt_core_target *)base;
	uint64_t start = beginning_of(target, address);
	struct mt_build_id id = {0};
	Elf64_Ehdr file;
	Elf64_Phdr header;

	if (!start || read_core(target, start, &file, sizeof(file)) != sizeof(file) ||
	    memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_phentsize != sizeof(header))
		return id;
	for (uint64_t i = 0; i < file.e_phnum && i < MOST_HEADERS; i++) {
		if (read_core(target, start + file.e_phoff + i * sizeof(header), &header,
			      sizeof(header)) != sizeof(header))
			break;
		/* The file is mapped as it is up to there. */
		if (header.p_type == PT_NOTE &&
		    find_build_id(target, start + header.p_offset, header.p_filesz, &id))
			break;
	}
	return id;
}
