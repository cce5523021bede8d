/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/text_table.h"

#include <stdlib.h>
#include <string.h>

int mt_text_table_number(struct mt_text_table *table, const struct mt_str *text, uint32_t *number)
{
	struct mt_text *found = NULL;

	if (text->failed)
		return -1;
	HASH_FIND(hh, table->first, text->text, text->length, found);
	if (found) {
		*number = found->number;
		return 0;
	}
	found = calloc(1, sizeof(*found) + text->length + 1);
	if (!found)
		return -1;
	memcpy(found->text, text->text, text->length);
	found->number = *number = table->count;
	HASH_ADD_KEYPTR(hh, table->first, found->text, text->length, found);
	if (!found->hh.tbl) {
		free(found);
		return -1;
	}
	table->count++;
	table->bytes += text->length;
	return 0;
}

void mt_text_table_clear(struct mt_text_table *table)
{
	struct mt_text *known, *next;

	HASH_ITER (hh, table->first, known, next) {
		HASH_DEL(table->first, known);
		free(known);
	}
	*table = (struct mt_text_table){0};
}
