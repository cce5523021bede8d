/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in which arrays are kept that were computed from an object file.  What is read is believed
 * only if it was made from the same code by the same sources, is whole, and could have been
 * computed, which the reader checks, who knows what it means.
 *
 * A file is a head of a page, and then the bytes of each part.  All of it is looked at when the
 * file is read for the first time since the system started, and then its time of modification is
 * set to one that nobody else gives it: as long as it has that, it is as it was. */
#ifndef MT_ELF_KEPT_H
#define MT_ELF_KEPT_H

#include "elf/objfile.h"

/* What a file must have been made for. */
struct mt_kept_key {
	uint8_t build_id[20];
	uint32_t build_id_size;
	uint32_t unused[2]; /* 0: no byte is left undefined */
	uint64_t planner;   /* of what computed it: another one has another number */
	uint64_t code;    /* a checksum of the code and the section headers, or of the file's inode
			   * and times; and of the name of the file with the symbols */
	uint64_t variant; /* how it was computed; 0 unless the user of the key sets it */
};
/* Returns 0, or -1 without memory. */
int mt_kept_key(struct mt_objfile *objfile, uint64_t planner, struct mt_kept_key *key);

/* The same for a file whose times show that nothing was written into it since it was opened,
 * without reading its code.  False: it is too new for that. */
bool mt_kept_key_of_file(struct mt_objfile *objfile, uint64_t planner, struct mt_kept_key *key);

struct mt_kept_part {
	void *items;
	uint64_t count;
	uint32_t size; /* of an item */
};

#define MT_KEPT_MOST_PARTS 16
/* Where the first part begins. */
#define MT_KEPT_HEAD_BYTES 4096u

/* Errors: as writing a file. */
struct mt_error *mt_kept_store(const struct mt_kept_key *key, const struct mt_kept_part *parts,
			       size_t count, const char *path);
/* A file that is mapped privately: to read it costs what is looked at. */
struct mt_kept_map {
	uint8_t *memory; /* NULL: none */
	size_t size;
	int fd; /* of the file, if there is memory; -1: closed */
};
/* Whether the parts could have been computed; it is asked once for what is not known to be. */
struct mt_kept_check {
	bool (*is_sound)(const void *context, const struct mt_kept_part *parts);
	const void *context;
};
/* The items of the parts, of which the sizes are given: they lie in the mapping, one part right
 * behind the other, and may be written to.  False: there is no such file that could be believed,
 * which must be our own user's. */
bool mt_kept_map(const struct mt_kept_key *key, struct mt_kept_part *parts, size_t count,
		 const char *path, const struct mt_kept_check *check, struct mt_kept_map *map);
void mt_kept_unmap(struct mt_kept_map *map);
/* Copies SIZE bytes of what is mapped at FROM, as they are in the file: as long as that is open, no
 * page of the mapping is touched, each of which costs a fault. */
void mt_kept_copy(const struct mt_kept_map *map, const uint8_t *from, void *to, size_t size);
/* Who has copied all that there is to copy needs the file no more. */
void mt_kept_close(struct mt_kept_map *map);
/* A file of one part with one item, which is copied.  ITEM is undefined where it returns false. */
bool mt_kept_read(const struct mt_kept_key *key, const char *path, void *item, uint32_t size);

#endif
