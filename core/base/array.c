/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/array.h"

int mt_array_grow(void **items, size_t *capacity, size_t item_size, size_t wanted)
{
	if (wanted <= *capacity)
		return 0;

	size_t roomy = *capacity ? *capacity * 2 : 8;
	if (roomy < wanted)
		roomy = wanted;

	void *bigger = reallocarray(*items, roomy, item_size);
	if (!bigger)
		return -1;
	*items = bigger;
	*capacity = roomy;
	return 0;
}
