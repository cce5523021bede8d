/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts by number, each once, in the order in which they first came.  Zeroed storage is empty. */
#ifndef MT_OUTPUT_TEXT_TABLE_H
#define MT_OUTPUT_TEXT_TABLE_H

#include "base/str.h"

#include <uthash.h>

struct mt_text {
	UT_hash_handle hh;
	uint32_t number;
	char text[];
};

struct mt_text_table {
	struct mt_text *first;
	uint32_t count;
	size_t bytes; /* of all texts */
};

/* The number of TEXT, which is copied when it is new.  Returns 0, or -1 without memory. */
int mt_text_table_number(struct mt_text_table *table, const struct mt_str *text, uint32_t *number);
void mt_text_table_clear(struct mt_text_table *table);

#define mt_text_table_next(known) ((const struct mt_text *)(known)->hh.next)

#endif
