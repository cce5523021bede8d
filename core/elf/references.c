/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/references.h"

#include "elf/eh_reader.h"
#include "elf/objfile_private.h"
#include "elf/section.h"
#include "elf/symbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#define RELR_SECTION      19 /* SHT_RELR of the System V gABI, which older elf.h lack */
#define RELR_BITMAP_WORDS 63
#define RSEQ_BYTES        32 /* struct rseq_cs */
#define RSEQ_START        8
#define RSEQ_LENGTH       16

struct seer {
	const struct mt_objfile *objfile;
	mt_see_reference *see;
	void *context;
};

int mt_objfile_fdes(const struct mt_objfile *objfile, struct mt_fdes *out)
{
	return mt_eh_frame_read(objfile->main.elf, out);
}

bool mt_objfile_has_sections(const struct mt_objfile *objfile)
{
	size_t count = 0;

	return elf_getshdrnum(objfile->main.elf, &count) == 0 && count > 1;
}

void mt_objfile_each_symbol(struct mt_objfile *objfile, mt_see_reference *see, void *context)
{
	const struct mt_symbol_index *index = mt_symbol_index(objfile);

	for (size_t i = 0; index && i < index->all.count; i++)
		see(context, 0, index->all.items[i].start);
}

static uint64_t symbol_value(Elf_Data *symbols, const Elf64_Rela *entry)
{
	GElf_Sym symbol;

	if (!symbols || !gelf_getsym(symbols, (int)ELF64_R_SYM(entry->r_info), &symbol) ||
	    symbol.st_shndx == SHN_UNDEF)
		return 0;
	return symbol.st_value;
}

/* The addend stands where the address will. */
static void see_word(const struct seer *seer, uint64_t place)
{
	uint64_t value;

	if (mt_objfile_read(seer->objfile, place, &value, sizeof(value)) == sizeof(value))
		seer->see(seer->context, place, value);
}

/* An even entry is the address of a word to relocate, an odd one a bitmap of the 63 behind. */
static void see_relr_section(const struct seer *seer, const Elf_Data *data)
{
	uint64_t next = 0;

	for (size_t at = 0; at + sizeof(uint64_t) <= data->d_size; at += sizeof(uint64_t)) {
		uint64_t entry;

		memcpy(&entry, (const uint8_t *)data->d_buf + at, sizeof(entry));
		if (!(entry & 1)) {
			see_word(seer, entry);
			next = entry + sizeof(uint64_t);
			continue;
		}
		for (int i = 0; i < RELR_BITMAP_WORDS; i++)
			if (entry >> (i + 1) & 1)
				see_word(seer, next + (uint64_t)i * sizeof(uint64_t));
		next += RELR_BITMAP_WORDS * sizeof(uint64_t);
	}
}

void mt_objfile_each_relocation(const struct mt_objfile *objfile, mt_see_reference *see,
				void *context)
{
	const struct seer seer = {objfile, see, context};
	Elf *elf = objfile->main.elf;
	struct mt_section section = {0};

	while (mt_section_next(elf, &section)) {
		unsigned type = section.header.sh_type;

		if (!(section.header.sh_flags & SHF_ALLOC) ||
		    (type != SHT_RELA && type != RELR_SECTION))
			continue;
		/* Raw: an older libelf knows no RELR, and the file has our byte order. */
		Elf_Data *data = elf_rawdata(section.scn, NULL);
		if (!data || !data->d_buf)
			continue;
		if (type == SHT_RELA) {
			Elf_Scn *linked = elf_getscn(elf, section.header.sh_link);
			Elf_Data *symbols = linked ? elf_getdata(linked, NULL) : NULL;

			for (size_t at = 0; at + sizeof(Elf64_Rela) <= data->d_size;
			     at += sizeof(Elf64_Rela)) {
				Elf64_Rela entry;

				memcpy(&entry, (const uint8_t *)data->d_buf + at, sizeof(entry));
				uint64_t addend = (uint64_t)entry.r_addend, value;

				switch (ELF64_R_TYPE(entry.r_info)) {
				case R_X86_64_RELATIVE:
				case R_X86_64_RELATIVE64:
				case R_X86_64_IRELATIVE:
					seer.see(seer.context, entry.r_offset, addend);
					break;
				case R_X86_64_64:
				case R_X86_64_GLOB_DAT:
					value = symbol_value(symbols, &entry);
					if (value)
						seer.see(seer.context, entry.r_offset,
							 value + addend);
					break;
				}
			}
		} else
			see_relr_section(&seer, data);
	}
}

/* A reader of what stands at an address, up to the end of its segment. */
static struct mt_eh_reader reader_at(const struct mt_objfile *objfile, uint64_t address)
{
	size_t size = 0;
	const uint8_t *bytes = mt_objfile_bytes(objfile, address, &size);

	return (struct mt_eh_reader){bytes, bytes + size, !bytes};
}

static void see_call_sites(const struct seer *seer, struct mt_eh_reader reader, uint64_t base,
			   unsigned encoding, uint64_t place)
{
	while (reader.at < reader.end && !reader.failed) {
		mt_eh_read_format(&reader, encoding);
		mt_eh_read_format(&reader, encoding);
		uint64_t pad = mt_eh_read_format(&reader, encoding);
		mt_eh_read_leb(&reader, false);
		if (pad && !reader.failed)
			seer->see(seer->context, place, base + pad);
	}
}

static void see_lsda(const struct seer *seer, const struct mt_fde *fde)
{
	struct mt_eh_reader reader = reader_at(seer->objfile, fde->lsda);
	const uint8_t *begin = reader.at;
	uint64_t base = fde->start;
	unsigned encoding = (unsigned)mt_eh_read_bytes(&reader, 1);

	if (encoding != DW_EH_PE_omit &&
	    !mt_eh_read_pointer(&reader, encoding, fde->lsda + (uint64_t)(reader.at - begin),
				&base))
		return;
	if (mt_eh_read_bytes(&reader, 1) != DW_EH_PE_omit)
		mt_eh_read_leb(&reader, false);
	encoding = (unsigned)mt_eh_read_bytes(&reader, 1);
	uint64_t size = mt_eh_read_leb(&reader, false);
	if (reader.failed || size > (uint64_t)(reader.end - reader.at))
		return;
	reader.end = reader.at + size;
	see_call_sites(seer, reader, base, encoding, fde->lsda);
}

void mt_objfile_each_landing_pad(const struct mt_objfile *objfile, const struct mt_fdes *fdes,
				 mt_see_reference *see, void *context)
{
	const struct seer seer = {objfile, see, context};

	mt_array_each (fde, fdes)
		if (fde->lsda)
			see_lsda(&seer, fde);
}

void mt_objfile_each_word(const struct mt_objfile *objfile, mt_see_reference *see, void *context)
{
	const struct seer seer = {objfile, see, context};

	for (size_t i = 0; i < objfile->segment_count; i++) {
		size_t size = 0;
		uint64_t start = (objfile->segments[i].address + 7) & ~7ULL;
		const uint8_t *bytes = mt_objfile_bytes(seer.objfile, start, &size);

		for (size_t at = 0; bytes && at + sizeof(uint64_t) <= size;
		     at += sizeof(uint64_t)) {
			uint64_t value;

			memcpy(&value, bytes + at, sizeof(value));
			seer.see(seer.context, start + at, value);
		}
	}
}

struct restartable {
	const struct mt_objfile *objfile;
	uint64_t start, size; /* of the section */
	mt_see_reference *see;
	void *context;
};

static void see_restartable(void *context, uint64_t place, uint64_t address)
{
	const struct restartable *all = context;
	uint64_t length;

	if (place - all->start < all->size && (place - all->start) % RSEQ_BYTES == RSEQ_START &&
	    mt_objfile_read(all->objfile, place - RSEQ_START + RSEQ_LENGTH, &length,
			    sizeof(length)) == sizeof(length))
		all->see(all->context, address, address + length);
}

void mt_objfile_each_restartable(const struct mt_objfile *objfile, mt_see_reference *see,
				 void *context)
{
	struct mt_section section;

	if (!mt_section_find(objfile->main.elf, "__rseq_cs", &section) || !section.data->d_buf)
		return;
	struct restartable all = {objfile, section.header.sh_addr, section.header.sh_size, see,
				  context};
	for (uint64_t at = RSEQ_START; at < all.size; at += RSEQ_BYTES) {
		const struct seer seer = {objfile, see_restartable, &all};

		see_word(&seer, all.start + at);
	}
	mt_objfile_each_relocation(objfile, see_restartable, &all);
}
