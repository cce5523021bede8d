/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An object file itself: its path, build id and segments. */
#include "elf/objfile_private.h"

#include "base/large.h"

#include <gelf.h>
#include <stdio.h>
#include <string.h>

#define PAGE            4096ull
#define MOST_READ_WHOLE (16u << 20) /* of code, when a piece of it is asked for */

bool mt_build_id_equal(const struct mt_build_id *a, const struct mt_build_id *b)
{
	return a->size == b->size && a->size <= sizeof(a->bytes) &&
	       memcmp(a->bytes, b->bytes, a->size) == 0;
}

void mt_build_id_format(const struct mt_build_id *id, char text[41])
{
	text[0] = '\0';
	for (size_t i = 0; i < id->size && i < sizeof(id->bytes); i++)
		sprintf(text + 2 * i, "%02x", id->bytes[i]);
}

const char *mt_path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void destroy(struct mt_objfile *objfile)
{
	mt_symbol_index_destroy(objfile->symbols);
	mt_array_deinit(&objfile->sought);
	if (objfile->dwarf.data)
		objfile->dwarf.destroy(objfile->dwarf.data);
	if (objfile->cfi.data)
		objfile->cfi.destroy(objfile->cfi.data);
	if (objfile->go.data)
		objfile->go.destroy(objfile->go.data);
	mt_elf_file_close(&objfile->mini);
	mt_elf_file_close(&objfile->debug);
	mt_elf_file_close(&objfile->main);
	for (size_t i = 0; i < objfile->segment_count; i++)
		free(objfile->segments[i].pages);
	free(objfile->segments);
	mt_arena_deinit(&objfile->arena);
	free(objfile->sysroot);
	free(objfile->debug_directory);
	free(objfile->path);
	free(objfile);
}

static char *copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		*failed = true;
	return copy;
}

static struct mt_objfile *create(const char *path, const struct mt_objfile_options *options)
{
	static const struct mt_objfile_options none;
	struct mt_objfile *objfile = calloc(1, sizeof(*objfile));
	bool failed = false;

	if (!objfile)
		return NULL;
	if (!options)
		options = &none;
	objfile->references = 1;
	objfile->main.fd = objfile->debug.fd = objfile->mini.fd = -1;
	objfile->function_count = &objfile->own_function_count;
	objfile->path = copy_text(path, &failed);
	objfile->sysroot = copy_text(options->sysroot, &failed);
	objfile->debug_directory = copy_text(
	    options->debug_directory ? options->debug_directory : "/usr/lib/debug", &failed);
	objfile->debuginfod = options->debuginfod;
	objfile->without_locations = options->without_locations;
	if (options->log)
		objfile->log = *options->log;
	if (failed) {
		destroy(objfile);
		return NULL;
	}
	return objfile;
}

static int compare_segments(const void *left, const void *right)
{
	const struct mt_load_segment *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static struct mt_error *load_segments(struct mt_objfile *objfile)
{
	size_t count = 0;

	if (elf_getphdrnum(objfile->main.elf, &count) || count == 0)
		return NULL;
	objfile->segments = calloc(count, sizeof(*objfile->segments));
	if (!objfile->segments)
		return mt_error_no_memory();
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (!gelf_getphdr(objfile->main.elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    header.p_filesz > header.p_memsz ||
		    header.p_vaddr + header.p_memsz < header.p_vaddr)
			continue;
		objfile->segments[objfile->segment_count++] = (struct mt_load_segment){
		    .offset = header.p_offset,
		    .file_size = header.p_filesz,
		    .address = header.p_vaddr,
		    .size = header.p_memsz,
		    .executable = header.p_flags & PF_X,
		};
	}
	qsort(objfile->segments, objfile->segment_count, sizeof(*objfile->segments),
	      compare_segments);
	return NULL;
}

static struct mt_error *load_header(struct mt_objfile *objfile)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(objfile->main.elf, &header))
		return mt_error_new(MT_ERROR_FORMAT, "the ELF header of %s is damaged",
				    objfile->path);
	objfile->is_pie = header.e_type == ET_DYN;
	objfile->entry = header.e_entry;
	mt_elf_file_build_id(&objfile->main, &objfile->build_id);
	mt_try(mt_elf_file_check_segments(&objfile->main));
	return load_segments(objfile);
}

static struct mt_error *open_in_sysroot(struct mt_objfile *objfile, struct mt_elf_file *out)
{
	char *path = NULL;

	if (objfile->sysroot) {
		if (asprintf(&path, "%s/%s", objfile->sysroot, objfile->path) < 0)
			return mt_error_no_memory();
		mt_auto(mt_error) struct mt_error *ignored = mt_elf_file_open(path, out);
		free(path);
		if (!ignored)
			return NULL;
	}
	return mt_elf_file_open(objfile->path, out);
}

static bool is_wanted(const struct mt_elf_file *file, const struct mt_build_id *wanted)
{
	struct mt_build_id found;

	if (!wanted || wanted->size == 0)
		return true;
	mt_elf_file_build_id(file, &found);
	return mt_build_id_equal(&found, wanted);
}

static struct mt_error *changed_since(const char *path, const struct mt_build_id *wanted)
{
	char text[41];

	mt_build_id_format(wanted, text);
	return mt_error_at_path(
	    mt_error_new(
		MT_ERROR_NOT_FOUND,
		"%s has changed: its build ID is no longer %s; restore the old file, or put it "
		"into the debug directory as .build-id/%.2s/%s",
		path, text, text, text + 2),
	    path, -1);
}

static struct mt_error *open_main(struct mt_objfile *objfile, const struct mt_build_id *wanted)
{
	struct mt_error *error = open_in_sysroot(objfile, &objfile->main);
	struct mt_elf_file other = {.fd = -1};

	if (!error && is_wanted(&objfile->main, wanted))
		return NULL;
	if (wanted && wanted->size && mt_objfile_find_by_build_id(objfile, wanted, &other)) {
		mt_error_destroy(error);
		mt_elf_file_close(&objfile->main);
		objfile->main = other;
		return NULL;
	}
	return error ? error : changed_since(objfile->path, wanted);
}

struct mt_error *mt_objfile_open(const char *path, const struct mt_build_id *wanted,
				 const struct mt_objfile_options *options, struct mt_objfile **out)
{
	struct mt_objfile *objfile = create(path, options);

	if (!objfile)
		return mt_error_no_memory();
	struct mt_error *error = open_main(objfile, wanted);
	if (!error && objfile->main.is_i386 && !(options && options->with_i386))
		error = mt_elf_file_refuse(&objfile->main);
	if (!error)
		error = load_header(objfile);
	if (error) {
		destroy(objfile);
		return error;
	}
	*out = objfile;
	return NULL;
}

struct mt_error *mt_objfile_open_memory(const char *name, const void *bytes, size_t size,
					struct mt_objfile **out)
{
	struct mt_objfile *objfile = create(name, NULL);

	if (!objfile)
		return mt_error_no_memory();
	objfile->debug_sought = true;
	struct mt_error *error = mt_elf_file_open_memory(name, bytes, size, &objfile->main);
	if (!error && objfile->main.is_i386)
		error = mt_elf_file_refuse(&objfile->main);
	if (!error)
		error = load_header(objfile);
	if (error) {
		destroy(objfile);
		return error;
	}
	*out = objfile;
	return NULL;
}

struct mt_objfile *mt_objfile_ref(struct mt_objfile *objfile)
{
	objfile->references++;
	return objfile;
}

void mt_objfile_unref(struct mt_objfile *objfile)
{
	if (objfile && --objfile->references == 0)
		destroy(objfile);
}

const char *mt_objfile_path(const struct mt_objfile *objfile)
{
	return objfile->path;
}

const char *mt_objfile_code_path(const struct mt_objfile *objfile)
{
	return objfile->main.fd >= 0 ? objfile->main.path : NULL;
}

const char *mt_objfile_debug_path(struct mt_objfile *objfile)
{
	mt_objfile_seek_debug(objfile);
	return objfile->debug.path;
}

const struct mt_build_id *mt_objfile_build_id(const struct mt_objfile *objfile)
{
	return &objfile->build_id;
}

bool mt_objfile_is_pie(const struct mt_objfile *objfile)
{
	return objfile->is_pie;
}

uint64_t mt_objfile_entry(const struct mt_objfile *objfile)
{
	return objfile->entry;
}

void mt_objfile_number_by(struct mt_objfile *objfile, uint32_t *count)
{
	objfile->function_count = count ? count : &objfile->own_function_count;
}

/* How well a segment answers for a file offset; 0: not at all.  A mapping begins at the page in
 * which its segment begins, and two segments may share a page of the file; of those, code is what
 * is asked for. */
static int rank_segment(const struct mt_load_segment *segment, uint64_t offset)
{
	uint64_t page = segment->offset & ~0xfffULL;

	if (segment->file_size == 0 || offset < page ||
	    offset >= segment->offset + segment->file_size)
		return 0;
	return 1 + segment->executable + 2 * (offset == page);
}

bool mt_objfile_load(const struct mt_objfile *objfile, size_t index, struct mt_load *out)
{
	if (index >= objfile->segment_count)
		return false;
	const struct mt_load_segment *segment = &objfile->segments[index];
	*out = (struct mt_load){segment->address, segment->size, segment->offset};
	return true;
}

bool mt_objfile_offset_to_address(const struct mt_objfile *objfile, uint64_t offset,
				  uint64_t *address)
{
	int best = 0;

	for (size_t i = 0; i < objfile->segment_count; i++) {
		const struct mt_load_segment *segment = &objfile->segments[i];
		int rank = rank_segment(segment, offset);

		if (rank > best) {
			best = rank;
			*address = segment->address + (offset - segment->offset);
		}
	}
	return best > 0;
}

bool mt_objfile_load_address(const struct mt_objfile *objfile, size_t index, uint64_t offset,
			     uint64_t *address)
{
	const struct mt_load_segment *segment = objfile->segments + index;

	if (index >= objfile->segment_count || !rank_segment(segment, offset))
		return false;
	*address = segment->address + (offset - segment->offset);
	return true;
}

struct mt_load_segment *mt_objfile_segment_at(const struct mt_objfile *objfile, uint64_t address)
{
	for (size_t i = 0; i < objfile->segment_count; i++) {
		struct mt_load_segment *segment = &objfile->segments[i];

		if (address >= segment->address && address - segment->address < segment->size)
			return segment;
	}
	return NULL;
}

bool mt_objfile_address_to_offset(const struct mt_objfile *objfile, uint64_t address,
				  uint64_t *offset)
{
	const struct mt_load_segment *segment = mt_objfile_segment_at(objfile, address);

	if (!segment || address - segment->address >= segment->file_size)
		return false;
	*offset = segment->offset + (address - segment->address);
	return true;
}

bool mt_objfile_is_still(const struct mt_objfile *objfile, uint64_t device, uint64_t inode)
{
	return mt_elf_file_is_still(&objfile->main, device, inode);
}

/* The decoder asks for the same code again and again: keep it. */
static bool load_bytes(const struct mt_objfile *objfile, struct mt_load_segment *segment)
{
	if (segment->bytes)
		return true;
	size_t before = segment->address % PAGE, size = segment->file_size;
	size_t pages = (before + size + PAGE - 1) & ~(PAGE - 1);
	segment->pages = mt_large_alloc(pages);
	if (!segment->pages)
		return false;
	segment->bytes = segment->pages + before;
	/* Bytes that were cut off meanwhile are lost. */
	size = mt_elf_file_read(&objfile->main, segment->offset, segment->bytes, size);
	memset(segment->pages, 0, before);
	memset(segment->bytes + size, 0, pages - before - size);
	segment->file_size = size;
	return true;
}

const uint8_t *mt_objfile_bytes(const struct mt_objfile *objfile, uint64_t address, size_t *size)
{
	struct mt_load_segment *segment = mt_objfile_segment_at(objfile, address);

	if (!segment || address - segment->address >= segment->file_size ||
	    !load_bytes(objfile, segment))
		return NULL;
	uint64_t skip = address - segment->address;
	if (skip >= segment->file_size)
		return NULL;
	*size = segment->file_size - skip;
	return segment->bytes + skip;
}

/* That of code to whose pages [address, address + size) belongs; NULL: there is none. */
static struct mt_load_segment *segment_of_pages(const struct mt_objfile *objfile, uint64_t address,
						size_t size)
{
	for (size_t i = 0; i < objfile->segment_count; i++) {
		struct mt_load_segment *segment = &objfile->segments[i];
		uint64_t start = segment->address & ~(PAGE - 1);
		uint64_t end = (segment->address + segment->file_size + PAGE - 1) & ~(PAGE - 1);

		if (segment->executable && address >= start && address < end &&
		    size <= end - address)
			return segment;
	}
	return NULL;
}

const uint8_t *mt_objfile_pages(const struct mt_objfile *objfile, uint64_t address, size_t size)
{
	struct mt_load_segment *segment = segment_of_pages(objfile, address, size);

	return segment && load_bytes(objfile, segment)
		   ? segment->pages + (address - (segment->address & ~(PAGE - 1)))
		   : NULL;
}

bool mt_objfile_read_pages(const struct mt_objfile *objfile, uint64_t address, void *buffer,
			   size_t size)
{
	const struct mt_load_segment *segment = segment_of_pages(objfile, address, size);

	if (!segment)
		return false;
	size_t got = mt_elf_file_read(&objfile->main,
				      segment->offset + (address - segment->address), buffer, size);
	memset((uint8_t *)buffer + got, 0, size - got);
	return true;
}

/* Of a large program little is read, as a rule: a function here and there. */
static bool is_read_piecemeal(const struct mt_load_segment *segment)
{
	return segment->executable && !segment->bytes && segment->file_size > MOST_READ_WHOLE;
}

size_t mt_objfile_read(const struct mt_objfile *objfile, uint64_t address, void *buffer,
		       size_t size)
{
	const struct mt_load_segment *segment = mt_objfile_segment_at(objfile, address);
	size_t there = 0;

	if (segment && is_read_piecemeal(segment)) {
		const uint64_t skip = address - segment->address;

		if (skip >= segment->file_size)
			return 0;
		there = segment->file_size - skip;
		return mt_elf_file_read(&objfile->main, segment->offset + skip, buffer,
					size < there ? size : there);
	}
	const uint8_t *bytes = mt_objfile_bytes(objfile, address, &there);

	if (!bytes)
		return 0;
	size = size < there ? size : there;
	memcpy(buffer, bytes, size);
	return size;
}
