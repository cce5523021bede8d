/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The elements of libstdc++'s containers of nodes: std::map and its kin (_Rb_tree_node), lists,
 * hash tables.  A node begins with its links, and then has the element. */
#include "print/container.h"

#include <string.h>

/* _Rb_tree_node_base: a colour, then these. */
enum { PARENT = 8, LEFT = 16, RIGHT = 24, TREE_NODE = 32 };
#define MOST_HEIGHT 128

static bool leftmost(struct mt_print *print, uint64_t *node)
{
	uint64_t left;

	for (unsigned i = 0; i < MOST_HEIGHT; i++) {
		if (!mt_container_word(print, *node + LEFT, &left))
			return false;
		if (!left)
			return true;
		*node = left;
	}
	return false;
}

/* As _Rb_tree_increment(). */
static bool next_in_tree(struct mt_print *print, uint64_t *node)
{
	uint64_t next, right;

	if (!mt_container_word(print, *node + RIGHT, &next))
		return false;
	if (next) {
		*node = next;
		return leftmost(print, node);
	}
	for (unsigned i = 0; i < MOST_HEIGHT; i++) {
		if (!mt_container_word(print, *node + PARENT, &next) ||
		    !mt_container_word(print, next + RIGHT, &right))
			return false;
		bool was_right = right == *node;
		*node = next;
		if (!was_right)
			return true;
	}
	return false;
}

static uint64_t offset_of_element(const struct mt_nodes *nodes)
{
	uint64_t links = nodes->kind == MT_NODES_TREE   ? TREE_NODE
			 : nodes->kind == MT_NODES_LIST ? 2 * sizeof(uint64_t)
							: sizeof(uint64_t);
	uint64_t align = mt_type_align(nodes->element);

	return align ? (links + align - 1) / align * align : links;
}

/* False: it is too garbled to be shown in parts. */
static void print_pair(struct mt_children *children, struct mt_value *pair)
{
	struct mt_value key, value;

	if (!mt_container_field(children->print, pair, "first", &key) ||
	    !mt_container_field(children->print, pair, "second", &value)) {
		mt_children_value(children, pair);
		return;
	}
	mt_str_append(children->print->out, "[");
	mt_children_value(children, &key);
	if (children->is_over)
		return;
	mt_str_append(children->print->out, "] = ");
	mt_children_value(children, &value);
}

void mt_print_nodes(struct mt_print *print, const struct mt_nodes *nodes)
{
	struct mt_children children = {.print = print,
				       .hint = nodes->is_map ? MT_CHILDREN_MAP : MT_CHILDREN};
	uint64_t node = nodes->first, offset = offset_of_element(nodes), before = 0;

	/* Who leads back to a node from before is garbled (Brent's way to find it). */
	for (uint64_t i = 0; i < nodes->count && node && mt_children_next(&children); i++) {
		struct mt_value value = mt_value_at(nodes->element, node + offset);

		if (nodes->is_map) {
			print_pair(&children, &value);
		} else {
			mt_str_appendf(print->out, "[%llu] = ", (unsigned long long)i);
			mt_children_value(&children, &value);
		}
		if (i + 1 == nodes->count)
			break;
		if (nodes->kind == MT_NODES_TREE ? !next_in_tree(print, &node)
						 : !mt_container_word(print, node, &node))
			children.is_over = true;
		if (node == before)
			break;
		if ((i & (i + 1)) == 0)
			before = node;
	}
	mt_children_end(&children);
}
