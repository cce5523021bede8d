/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/levels.h"

enum mt_level mt_levels_begin_deeper(struct mt_levels *levels, uint64_t time_ns)
{
	levels->end_ns = time_ns;
	if (levels->depth > levels->deepest)
		levels->deepest = levels->depth;
	return levels->left_out++ ? MT_LEVEL_DEEPER : MT_LEVEL_FIRST_DEEPER;
}

bool mt_levels_leave(struct mt_levels *levels, uint64_t *end_ns, struct mt_args *args)
{
	args->count = 0;
	if (!levels->left_out)
		return false;
	mt_args_add(args, MT_ARG_LEFT_OUT, MT_ARG_TYPE_INTEGER, levels->left_out, NULL);
	mt_args_add(args, MT_ARG_DEEPEST, MT_ARG_TYPE_INTEGER, levels->deepest, NULL);
	*end_ns = levels->end_ns;
	*levels = (struct mt_levels){.depth = levels->depth};
	return true;
}
