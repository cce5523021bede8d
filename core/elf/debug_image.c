/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/debug_image.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/large.h"
#include "elf/section.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	ALIGNMENT = 16,
	PAGE = 4096,
	MOST_RATIO = 1032, /* of deflate: https://zlib.net/zlib_tech.html */
};

#define PREFIX     ".debug_"
#define OLD_PREFIX ".zdebug_" /* of sections that old assemblers compressed */

enum { ABBREVIATIONS = MT_DEBUG_PART_COUNT };

/* What is behind the prefix. */
static const char *const source_names[] = {
    [MT_DEBUG_INFO] = "info",
    [MT_DEBUG_LINE] = "line",
    [MT_DEBUG_LOC] = "loc",
    [MT_DEBUG_LOCLISTS] = "loclists",
    [ABBREVIATIONS] = "abbrev",
    "addr",
    "line_str",
    "ranges",
    "rnglists",
    "str",
    "str_offsets",
    "types",
    NULL,
};
static const char *const frame_names[] = {"frame", NULL};

/* Of the file that is made: its header, the sections, their headers. */
struct plan {
	const struct mt_elf_file *file;
	struct mt_debug_image *image;
	const char *const *names;
	unsigned seen; /* of them, as bits */
	MT_ARRAY(Elf64_Shdr) headers;
	uint64_t part_at[MT_DEBUG_PART_COUNT]; /* in the image; 0: nowhere */
	uint64_t abbreviations_at;
	uint64_t read_size;   /* of what is read for it, at once or later */
	uint64_t packed_size; /* of the largest section that is compressed */
	uint8_t *packed;      /* room for it */
	struct inflate_state *state;
};

/* The place of a section's name; -1: nobody asks for it, or libdw would pass it by. */
static int kind_of(const struct plan *plan, const char *name, const Elf64_Shdr *header)
{
	if (header->sh_type == SHT_NOBITS || header->sh_flags & SHF_GROUP || !header->sh_size ||
	    strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return -1;
	for (int i = 0; plan->names[i]; i++)
		if (strcmp(name + strlen(PREFIX), plan->names[i]) == 0)
			return i;
	return -1;
}

/* libdw finds another file from where this one is, and inflates what is of the old kind. */
static bool is_left_to_libdw(const struct plan *plan, const char *name)
{
	return strncmp(name, OLD_PREFIX, strlen(OLD_PREFIX)) == 0 ||
	       (plan->names == source_names && strcmp(name, ".gnu_debugaltlink") == 0);
}

/* False: it cannot be inflated. */
static bool plan_inflated(struct plan *plan, const Elf64_Shdr *from, Elf64_Shdr *to)
{
	Elf64_Chdr head;

	if (from->sh_size < sizeof(head) || from->sh_size > UINT32_MAX ||
	    mt_elf_file_read(plan->file, from->sh_offset, &head, sizeof(head)) != sizeof(head) ||
	    head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > UINT32_MAX ||
	    head.ch_size / MOST_RATIO > from->sh_size)
		return false;
	to->sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
	to->sh_size = head.ch_size;
	to->sh_addralign = head.ch_addralign;
	if (from->sh_size > plan->packed_size)
		plan->packed_size = from->sh_size;
	return true;
}

static uint64_t align(uint64_t size, uint64_t alignment)
{
	return (size + alignment - 1) & ~(alignment - 1);
}

static bool plan_part(struct plan *plan, const Elf64_Shdr *from, int kind)
{
	struct mt_debug_section *part = &plan->image->parts[kind];

	part->offset = from->sh_offset;
	part->size = from->sh_size;
	part->is_read = calloc(1, from->sh_size / PAGE + 1);
	plan->part_at[kind] = plan->image->size = align(plan->image->size, PAGE);
	return part->is_read != NULL;
}

/* Behind each section is a zero at least, since a text at its end may have none. */
static bool plan_section(struct plan *plan, const Elf64_Shdr *from, int kind, Elf64_Shdr *to)
{
	struct mt_debug_image *image = plan->image;
	const uint64_t file_size = (uint64_t)image->status.st_size;
	const bool is_packed = from->sh_flags & SHF_COMPRESSED;
	const bool is_part =
	    plan->names == source_names && kind >= 0 && kind < MT_DEBUG_PART_COUNT && !is_packed;

	if (is_packed && !plan_inflated(plan, from, to))
		return false;
	/* Else sections overlap, and what they inflate to has no bound. */
	if (from->sh_size > file_size - plan->read_size ||
	    from->sh_offset > file_size - from->sh_size)
		return false;
	plan->read_size += from->sh_size;
	if (is_part && !plan_part(plan, from, kind))
		return false;
	if (plan->names == source_names && kind == ABBREVIATIONS) {
		plan->abbreviations_at = image->size;
		image->abbreviations_size = to->sh_size;
	}
	to->sh_offset = image->size;
	image->size = align(image->size + to->sh_size + 1, is_part ? PAGE : ALIGNMENT);
	return true;
}

/* Where each section goes.  False: the file is not for an image. */
static bool make_plan(struct plan *plan)
{
	Elf *elf = plan->file->elf;
	struct mt_section section = {0};
	size_t names;

	plan->image->size = sizeof(Elf64_Ehdr);
	if (elf_getshdrstrndx(elf, &names) || mt_array_push(&plan->headers, (Elf64_Shdr){0}))
		return false;
	while (mt_section_next(elf, &section)) {
		const Elf64_Shdr *from = elf64_getshdr(section.scn);
		const size_t index = plan->headers.count;

		if (!from || elf_ndxscn(section.scn) != index ||
		    is_left_to_libdw(plan, section.name))
			return false;
		const int kind = kind_of(plan, section.name, from);
		const unsigned bit = kind < 0 ? 0 : 1u << kind;
		Elf64_Shdr to = *from;

		if (plan->seen & bit)
			return false;
		plan->seen |= bit;
		if (kind < 0 && index != names && from->sh_type != SHT_NOTE)
			to.sh_type = SHT_NOBITS;
		else if (from->sh_type != SHT_NOBITS && !plan_section(plan, from, kind, &to))
			return false;
		if (mt_array_push(&plan->headers, to))
			return false;
	}
	return plan->seen && plan->headers.count == elf64_getehdr(elf)->e_shnum;
}

static bool inflate_section(struct plan *plan, const Elf64_Shdr *from, const Elf64_Shdr *to)
{
	struct inflate_state *state = plan->state;

	if (mt_elf_file_read(plan->file, from->sh_offset, plan->packed, from->sh_size) !=
	    from->sh_size)
		return false;
	isal_inflate_init(state);
	state->crc_flag = ISAL_ZLIB;
	state->next_in = plan->packed + sizeof(Elf64_Chdr);
	state->avail_in = (uint32_t)(from->sh_size - sizeof(Elf64_Chdr));
	state->next_out = plan->image->memory + to->sh_offset;
	state->avail_out = (uint32_t)to->sh_size;
	return isal_inflate_stateless(state) == ISAL_DECOMP_OK && state->avail_out == 0;
}

static bool is_part_of(const struct mt_debug_image *image, uint64_t offset)
{
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		if (image->parts[i].bytes == image->memory + offset)
			return true;
	return false;
}

static bool fill_section(struct plan *plan, const Elf64_Shdr *from, const Elf64_Shdr *to)
{
	if (to->sh_type == SHT_NOBITS || is_part_of(plan->image, to->sh_offset))
		return true;
	if (from->sh_flags & SHF_COMPRESSED)
		return inflate_section(plan, from, to);
	return mt_elf_file_read(plan->file, from->sh_offset, plan->image->memory + to->sh_offset,
				to->sh_size) == to->sh_size;
}

/* Of the whole image, so that untouched pages of parts cost nothing. */
static bool map(struct plan *plan)
{
	struct mt_debug_image *image = plan->image;
	const size_t headers_size = plan->headers.count * sizeof(plan->headers.items[0]);
	Elf64_Ehdr header = *elf64_getehdr(plan->file->elf);

	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = image->size;
	image->size += headers_size;
	image->memory = mt_large_map(image->size);
	if (!image->memory)
		return false;
	memcpy(image->memory, &header, sizeof(header));
	memcpy(image->memory + header.e_shoff, plan->headers.items, headers_size);
	image->abbreviations = image->memory + plan->abbreviations_at;
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++) {
		struct mt_debug_section *part = &image->parts[i];

		if (!part->is_read)
			continue;
		part->bytes = image->memory + plan->part_at[i];
		/* Of a huge page little may be asked for. */
		madvise(part->bytes, part->size, MADV_NOHUGEPAGE);
	}
	return true;
}

static bool fill(struct plan *plan)
{
	Elf_Scn *scn = NULL;
	bool is_filled = true;

	if (plan->packed_size) {
		plan->packed = mt_large_alloc(plan->packed_size);
		plan->state = malloc(sizeof(*plan->state));
		is_filled = plan->packed && plan->state;
	}
	while (is_filled && (scn = elf_nextscn(plan->file->elf, scn)))
		is_filled =
		    fill_section(plan, elf64_getshdr(scn), &plan->headers.items[elf_ndxscn(scn)]);
	free(plan->packed);
	free(plan->state);
	return is_filled;
}

static bool is_for_image(const struct mt_elf_file *file)
{
	const Elf64_Ehdr *header = file->fd >= 0 ? elf64_getehdr(file->elf) : NULL;

	return header && header->e_ident[EI_DATA] == ELFDATA2LSB;
}

static bool open_image(const struct mt_elf_file *from, const char *const *names,
		       struct mt_debug_image *out)
{
	struct plan plan = {.file = from, .image = out, .names = names};
	bool is_open = false;

	*out = (struct mt_debug_image){.file = {.fd = -1}, .from = from};
	if (is_for_image(from) && fstat(from->fd, &out->status) == 0 && make_plan(&plan) &&
	    map(&plan) && fill(&plan)) {
		mt_auto(mt_error) struct mt_error *error =
		    mt_elf_file_lend_memory(from->path, out->memory, out->size, &out->file);
		is_open = !error;
	}
	mt_array_deinit(&plan.headers);
	if (!is_open)
		mt_debug_image_close(out);
	return is_open;
}

bool mt_debug_image_open(const struct mt_elf_file *from, struct mt_debug_image *out)
{
	return open_image(from, source_names, out);
}

bool mt_debug_image_open_frames(const struct mt_elf_file *from, struct mt_debug_image *out)
{
	return open_image(from, frame_names, out);
}

void mt_debug_image_close(struct mt_debug_image *image)
{
	mt_elf_file_close(&image->file);
	if (image->memory)
		munmap(image->memory, image->size);
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		free(image->parts[i].is_read);
	*image = (struct mt_debug_image){.file = {.fd = -1}};
}

static bool is_there(const struct mt_elf_file *file, uint64_t offset, const uint8_t *bytes,
		     uint64_t size)
{
	uint8_t found[4 * PAGE];

	for (uint64_t at = 0; at < size; at += sizeof(found)) {
		const size_t count = size - at < sizeof(found) ? size - at : sizeof(found);

		if (mt_elf_file_read(file, offset + at, found, count) != count ||
		    memcmp(found, bytes + at, count) != 0)
			return false;
	}
	return true;
}

static bool is_part_there(const struct mt_debug_image *image, const struct mt_debug_section *part)
{
	for (uint64_t at = 0; part->bytes && at < part->size; at += PAGE)
		if (part->is_read[at / PAGE] &&
		    !is_there(image->from, part->offset + at, part->bytes + at,
			      part->size - at < PAGE ? part->size - at : PAGE))
			return false;
	return true;
}

/* Of what was read.  A build ID, which differs with anything, stands in a note. */
static bool is_all_there(const struct mt_debug_image *image)
{
	Elf_Scn *from = NULL, *to = NULL;

	while ((from = elf_nextscn(image->from->elf, from)) &&
	       (to = elf_nextscn(image->file.elf, to))) {
		const Elf64_Shdr *source = elf64_getshdr(from), *own = elf64_getshdr(to);

		if (own->sh_type != SHT_NOBITS && !(source->sh_flags & SHF_COMPRESSED) &&
		    !is_part_of(image, own->sh_offset) &&
		    !is_there(image->from, source->sh_offset, image->memory + own->sh_offset,
			      own->sh_size))
			return false;
	}
	for (int i = 0; i < MT_DEBUG_PART_COUNT; i++)
		if (!is_part_there(image, &image->parts[i]))
			return false;
	return true;
}

/* One that was touched, as make and installers do, is. */
static bool is_still(struct mt_debug_image *image)
{
	struct stat now;

	if (fstat(image->from->fd, &now) || now.st_size != image->status.st_size)
		return false;
	if (mt_is_same_time(&now.st_mtim, &image->status.st_mtim))
		return true;
	if (!is_all_there(image))
		return false;
	image->status = now;
	return true;
}

static void read_pages(struct mt_debug_image *image, struct mt_debug_section *part, size_t first,
		       size_t count)
{
	const uint64_t at = (uint64_t)first * PAGE;
	const uint64_t left = part->size - at, size = (uint64_t)count * PAGE;

	if (is_still(image))
		mt_elf_file_read(image->from, part->offset + at, part->bytes + at,
				 size < left ? size : left);
	memset(part->is_read + first, true, count);
}

void mt_debug_image_read(struct mt_debug_image *image, enum mt_debug_part which, uint64_t start,
			 uint64_t end)
{
	struct mt_debug_section *part = &image->parts[which];

	if (end > part->size)
		end = part->size;
	if (!part->bytes || start >= end)
		return;
	const size_t behind = (end - 1) / PAGE + 1;
	for (size_t i = start / PAGE; i < behind; i++) {
		size_t count = 0;

		while (i + count < behind && !part->is_read[i + count])
			count++;
		if (count)
			read_pages(image, part, i, count);
		i += count;
	}
}
