/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/probe.h"

#include "elf/objfile_private.h"
#include "elf/section.h"

#include <string.h>

#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3

/* The head of a note: the address, where .stapsdt.base was when it was linked, the semaphore. */
struct head {
	uint64_t place, base, semaphore;
};

static const char *next_string(const char **at, const char *end)
{
	const char *text = *at;
	const char *zero = memchr(text, 0, (size_t)(end - text));

	*at = zero ? zero + 1 : end;
	return zero ? text : NULL;
}

/* BASE: where .stapsdt.base is now, as prelinking may have moved it; 0: not known. */
static bool read_probe(const char *text, size_t size, uint64_t base, struct mt_probe *out)
{
	const char *end = text + size;
	struct head head;

	if (size <= sizeof(head))
		return false;
	memcpy(&head, text, sizeof(head));
	text += sizeof(head);
	out->provider = next_string(&text, end);
	out->name = next_string(&text, end);
	out->arguments = next_string(&text, end);
	out->address = head.place + (base ? base - head.base : 0);
	out->guarded = head.semaphore != 0;
	return out->provider && out->name && out->arguments;
}

static bool is_probe(const GElf_Nhdr *note, const char *name)
{
	return note->n_type == NOTE_TYPE && note->n_namesz == sizeof(NOTE_NAME) &&
	       memcmp(name, NOTE_NAME, sizeof(NOTE_NAME)) == 0;
}

struct mt_error *mt_objfile_each_probe(const struct mt_objfile *objfile,
				       struct mt_error *(*found)(void *context,
								 const struct mt_probe *probe),
				       void *context)
{
	struct mt_section notes, base;
	size_t at = 0, next, name, text;
	GElf_Nhdr note;

	if (!objfile->main.elf || !mt_section_find(objfile->main.elf, ".note.stapsdt", &notes) ||
	    !notes.data->d_buf)
		return NULL;
	if (!mt_section_find(objfile->main.elf, ".stapsdt.base", &base))
		base.header.sh_addr = 0;
	while ((next = gelf_getnote(notes.data, at, &note, &name, &text))) {
		const char *bytes = notes.data->d_buf;
		struct mt_probe probe;

		if (is_probe(&note, bytes + name) &&
		    read_probe(bytes + text, note.n_descsz, base.header.sh_addr, &probe))
			mt_try(found(context, &probe));
		at = next;
	}
	return NULL;
}
