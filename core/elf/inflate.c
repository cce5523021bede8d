/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/inflate.h"

#include "base/array.h"
#include "elf/section.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALIGNMENT = 16,
	MOST_RATIO = 1032, /* of deflate: https://zlib.net/zlib_tech.html */
};

/* Of the file that is made: its header, the sections, their headers. */
struct image {
	const struct mt_elf_file *file;
	MT_ARRAY(Elf64_Shdr) headers;
	uint8_t *bytes;
	uint64_t size;
	uint64_t read_size; /* of what is read for it */
	uint8_t *packed;    /* room for the largest section that is compressed */
	uint64_t packed_size;
	struct inflate_state *state;
};

static bool refers_to_others(const char *name)
{
	return strcmp(name, ".gnu_debugaltlink") == 0 || strcmp(name, ".debug_addr") == 0;
}

/* False: it cannot be inflated. */
static bool plan_inflated(struct image *image, const Elf64_Shdr *from, Elf64_Shdr *to)
{
	Elf64_Chdr head;

	if (from->sh_size < sizeof(head) || from->sh_size > UINT32_MAX ||
	    mt_elf_file_read(image->file, from->sh_offset, &head, sizeof(head)) != sizeof(head) ||
	    head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > UINT32_MAX ||
	    head.ch_size / MOST_RATIO > from->sh_size)
		return false;
	to->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	to->sh_size = head.ch_size;
	to->sh_addralign = head.ch_addralign;
	if (from->sh_size > image->packed_size)
		image->packed_size = from->sh_size;
	return true;
}

/* Where each section goes.  False: none is compressed, or the file is not to be inflated. */
static bool plan(struct image *image)
{
	Elf *elf = image->file->elf;
	struct mt_section section = {0};
	size_t names;

	image->size = sizeof(Elf64_Ehdr);
	if (elf_getshdrstrndx(elf, &names) || mt_array_push(&image->headers, (Elf64_Shdr){0}))
		return false;
	while (mt_section_next(elf, &section)) {
		const Elf64_Shdr *from = elf64_getshdr(section.scn);
		const size_t index = image->headers.count;
		Elf64_Shdr to;

		if (!from || elf_ndxscn(section.scn) != index || refers_to_others(section.name))
			return false;
		to = *from;
		if (index != names && !strstr(section.name, "debug_"))
			to.sh_type = SHT_NOBITS;
		if (to.sh_type != SHT_NOBITS) {
			if (from->sh_flags & SHF_COMPRESSED && !plan_inflated(image, from, &to))
				return false;
			/* Else sections overlap, and what they inflate to has no bound. */
			image->read_size += from->sh_size;
			if (from->sh_size > UINT32_MAX ||
			    image->read_size > (uint64_t)image->file->status.st_size)
				return false;
			to.sh_offset = image->size;
			image->size =
			    (image->size + to.sh_size + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
		}
		if (mt_array_push(&image->headers, to))
			return false;
	}
	return image->packed_size && image->headers.count == elf64_getehdr(elf)->e_shnum;
}

static bool inflate_section(struct image *image, const Elf64_Shdr *from, const Elf64_Shdr *to)
{
	struct inflate_state *state = image->state;

	if (mt_elf_file_read(image->file, from->sh_offset, image->packed, from->sh_size) !=
	    from->sh_size)
		return false;
	isal_inflate_init(state);
	state->crc_flag = ISAL_ZLIB;
	state->next_in = image->packed + sizeof(Elf64_Chdr);
	state->avail_in = (uint32_t)(from->sh_size - sizeof(Elf64_Chdr));
	state->next_out = image->bytes + to->sh_offset;
	state->avail_out = (uint32_t)to->sh_size;
	return isal_inflate_stateless(state) == ISAL_DECOMP_OK && state->avail_out == 0;
}

static bool fill_section(struct image *image, const Elf64_Shdr *from, const Elf64_Shdr *to)
{
	if (to->sh_type == SHT_NOBITS)
		return true;
	if (from->sh_flags & SHF_COMPRESSED)
		return inflate_section(image, from, to);
	return mt_elf_file_read(image->file, from->sh_offset, image->bytes + to->sh_offset,
				to->sh_size) == to->sh_size;
}

static bool fill(struct image *image)
{
	const size_t headers_size = image->headers.count * sizeof(image->headers.items[0]);
	Elf *elf = image->file->elf;
	Elf64_Ehdr header = *elf64_getehdr(elf);
	Elf_Scn *scn = NULL;

	image->bytes = malloc(image->size + headers_size);
	image->packed = malloc(image->packed_size);
	image->state = malloc(sizeof(*image->state));
	if (!image->bytes || !image->packed || !image->state)
		return false;
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = image->size;
	memcpy(image->bytes, &header, sizeof(header));
	memcpy(image->bytes + image->size, image->headers.items, headers_size);
	while ((scn = elf_nextscn(elf, scn)))
		if (!fill_section(image, elf64_getshdr(scn),
				  &image->headers.items[elf_ndxscn(scn)]))
			return false;
	image->size += headers_size;
	return true;
}

bool mt_inflate_debug(const struct mt_elf_file *file, struct mt_elf_file *out)
{
	struct image image = {.file = file};
	bool is_inflated = false;

	*out = (struct mt_elf_file){.fd = -1};
	if (file->fd >= 0 && elf64_getehdr(file->elf) && plan(&image) && fill(&image)) {
		mt_auto(mt_error) struct mt_error *error =
		    mt_elf_file_take_memory(file->path, image.bytes, image.size, out);
		image.bytes = NULL;
		is_inflated = !error;
	}
	mt_array_deinit(&image.headers);
	free(image.bytes);
	free(image.packed);
	free(image.state);
	return is_inflated;
}
