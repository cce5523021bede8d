/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that the engine is to record: each is an expression with a name. */
#include "expr/expr.h"
#include "session/state/state.h"

#include <stdlib.h>
#include <string.h>

struct mt_error *mt_session_parse_value(const struct mt_session_process *process,
					const struct mt_expr_frame *frame, const char *name,
					const char *text, struct mt_session_value_list *out)
{
	struct mt_engine_value *values = realloc(out->items, (out->count + 1) * sizeof(*values));
	char *copy = strdup(name);
	struct mt_expr *expr = NULL;

	if (values)
		out->items = values;
	struct mt_error *error = copy && values
				     ? mt_expr_parse(process->program, frame, text, &expr)
				     : mt_error_no_memory();
	if (error)
		free(copy);
	else
		values[out->count++] = (struct mt_engine_value){expr, copy};
	return error;
}

void mt_session_forget_values(struct mt_session_value_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		mt_expr_destroy((struct mt_expr *)list->items[i].expr);
		free((char *)list->items[i].name);
	}
	free(list->items);
	*list = (struct mt_session_value_list){0};
}
