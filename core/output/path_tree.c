/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/path_tree.h"

#include <stdlib.h>
#include <string.h>

void mt_path_tree_deinit(struct mt_path_tree *tree)
{
	for (struct mt_path *path = tree->nodes, *next; path; path = next) {
		next = path->next;
		free(path);
	}
	tree->nodes = NULL;
	tree->count = 0;
}

struct mt_path *mt_path_tree_child(struct mt_path_tree *tree, struct mt_path *parent, size_t depth,
				   const struct mt_function *function, const char *name)
{
	for (struct mt_path **at = &parent->child; *at; at = &(*at)->sibling) {
		struct mt_path *found = *at;

		if (found->function != function || (!function && strcmp(found->name, name) != 0))
			continue;
		*at = found->sibling; /* to the front: it often comes again */
		found->sibling = parent->child;
		parent->child = found;
		return found;
	}
	if (depth >= MT_PATH_TREE_DEPTH || tree->count >= MT_PATH_TREE_MOST)
		return parent;
	struct mt_path *path = calloc(1, tree->node_bytes);
	if (!path)
		return NULL;
	*path = (struct mt_path){.function = function,
				 .name = name,
				 .parent = parent,
				 .sibling = parent->child,
				 .next = tree->nodes};
	parent->child = tree->nodes = path;
	tree->count++;
	return path;
}

void mt_path_append(const struct mt_path *path, const char *separator,
		    void (*put)(struct mt_str *out, const char *name), struct mt_str *out)
{
	const struct mt_path *above[MT_PATH_TREE_DEPTH + 1];
	size_t depth = 0;

	for (; path->parent && depth < MT_PATH_TREE_DEPTH + 1; path = path->parent)
		above[depth++] = path;
	while (depth-- > 0) {
		put(out, above[depth]->name);
		mt_str_append(out, depth ? separator : "");
	}
}
