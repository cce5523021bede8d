/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers of the languages' libraries, as the pretty printers of libstdc++, Rust and Go show
 * them in GDB: "std::vector of length 2, capacity 2 = {1, 2}".
 *
 * Nothing that is read from the program is trusted: what has no sane shape is shown as the
 * structure that it is, and no walk is longer than the limit of elements, or MT_CONTAINER_MOST. */
#ifndef MT_PRINT_CONTAINER_H
#define MT_PRINT_CONTAINER_H

#include "print/print.h"

#define MT_CONTAINER_MOST (1u << 16)

enum mt_children_hint {
	MT_CHILDREN,       /* {name = value, …} */
	MT_CHILDREN_MAP,   /* {[key] = value, …} */
	MT_CHILDREN_ARRAY, /* {value, …} */
};

/* The elements of a container while they are printed, " = {…}". */
struct mt_children {
	struct mt_print *print;
	uint8_t hint; /* enum mt_children_hint */
	uint64_t count;
	bool is_bare; /* without " = ": nothing stands before them */
	bool is_open, is_over;
};
/* False: no more are shown. */
bool mt_children_next(struct mt_children *children);
/* Prints the value of a child; what cannot be read ends them. */
void mt_children_value(struct mt_children *children, struct mt_value *value);
void mt_children_end(struct mt_children *children);

/* As mt_value_at_path(). */
bool mt_container_field(struct mt_print *print, struct mt_value *value, const char *path,
			struct mt_value *out);
/* The same of a whole number, or of a pointer. */
bool mt_container_number(struct mt_print *print, struct mt_value *value, const char *path,
			 uint64_t *out);
bool mt_container_word(struct mt_print *print, uint64_t address, uint64_t *out);
/* COUNT elements from ADDRESS on, "{1, 2}". */
void mt_container_array(struct mt_print *print, struct mt_type *element, uint64_t address,
			uint64_t count);
/* The text of LENGTH characters; false: it cannot be read. */
bool mt_container_text(struct mt_print *print, struct mt_type *element, uint64_t address,
		       uint64_t length);
/* The type that is the template's argument INDEX; packs count as their arguments.  NULL: none. */
struct mt_type *mt_template_argument(struct mt_type *type, unsigned index);

/* stdcxx_walk.c: the nodes of trees, lists and hash tables.  ELEMENT: what each one holds. */
struct mt_nodes {
	struct mt_type *element;
	uint64_t first, count;
	enum { MT_NODES_TREE, MT_NODES_LIST, MT_NODES_TABLE } kind;
	bool is_map; /* elements are pairs of key and value */
};
void mt_print_nodes(struct mt_print *print, const struct mt_nodes *nodes);

/* stdcxx.c, go.c, others.c: false: it is nothing that they know, and nothing was printed. */
bool mt_print_stdcxx(struct mt_print *print, struct mt_value *value);
bool mt_print_go_map(struct mt_print *print, struct mt_value *value);
bool mt_print_go_interface(struct mt_print *print, struct mt_value *value);
/* Values of the libraries' types are shown as what they are made of. */
static inline bool mt_print_is_raw(const struct mt_print *print)
{
	return print->settings->raw_values || (print->format && print->format->raw);
}
bool mt_print_library_type(struct mt_print *print, struct mt_value *value);

#endif
