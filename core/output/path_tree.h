/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paths of calls, as a tree: a node for each function below another.  There are at most
 * MT_PATH_TREE_MOST of them, MT_PATH_TREE_DEPTH deep, so its memory is bounded: what is more counts
 * for the path above. */
#ifndef MT_OUTPUT_PATH_TREE_H
#define MT_OUTPUT_PATH_TREE_H

#include "base/str.h"
#include "trace/slice.h"

#define MT_PATH_TREE_MOST  65536u
#define MT_PATH_TREE_DEPTH 200u

/* Nodes begin with it; the rest of them is zeroed at first. */
struct mt_path {
	const struct mt_function *function; /* NULL: only a name */
	const char *name;                   /* lent */
	struct mt_path *parent;             /* NULL: the root */
	struct mt_path *child, *sibling;
	struct mt_path *next; /* of all */
};

/* Zeroed but for `node_bytes` it is empty. */
struct mt_path_tree {
	size_t node_bytes;
	size_t count;
	struct mt_path *nodes;
};

/* Frees the nodes, but not what they point to. */
void mt_path_tree_deinit(struct mt_path_tree *tree);
/* The node of FUNCTION, or of a NAME alone, below PARENT, which stands DEPTH deep, made if it is
 * new; PARENT itself where there are too many.  NULL: no memory. */
struct mt_path *mt_path_tree_child(struct mt_path_tree *tree, struct mt_path *parent, size_t depth,
				   const struct mt_function *function, const char *name);
/* Appends the names below the root, each passed to PUT, with SEPARATOR in between. */
void mt_path_append(const struct mt_path *path, const char *separator,
		    void (*put)(struct mt_str *out, const char *name), struct mt_str *out);

#endif
