/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The user's own state: convenience variables ($x), the history of values ($1, $$), how
 * values are shown. */
#ifndef MT_VALUES_USER_H
#define MT_VALUES_USER_H

#include "values/value.h"

/* How values are shown: GDB's `set print`.  mt_expr_program_create() sets GDB's defaults. */
struct mt_expr_settings {
	uint32_t elements;    /* 200; 0: no limit */
	uint32_t repeats;     /* 10: longer runs are "<repeats N times>"; 0: no such thing */
	bool pretty;          /* false: a structure in one line */
	bool symbol;          /* true: <symbol> behind pointers */
	bool address;         /* true */
	bool unions;          /* true: unions within structures */
	bool null_stop;       /* false: char arrays to their ends */
	bool array;           /* false: arrays in one line */
	bool array_indexes;   /* false */
	bool object;          /* false: types as declared, not as the vtable has them */
	bool static_members;  /* true */
	bool vtbl;            /* false */
	bool raw_values;      /* false: std::string and its like as what they are to people */
	uint32_t max_depth;   /* 20 */
	uint8_t output_radix; /* 10 */
	uint8_t input_radix;  /* 10 */
};

struct mt_convenience {
	char *name;
	struct mt_value value;
	bool is_void;
	UT_hash_handle hh;
};

/* Where `x` goes on. */
struct mt_examine_state {
	uint64_t next;
	char letter;
	char size;
	struct mt_type *type; /* of the last value */
	struct mt_value last;
	bool any;
};

struct mt_expr_user {
	struct mt_expr_settings settings;
	struct mt_convenience *conveniences;
	MT_ARRAY(struct mt_value) history;
	struct mt_examine_state examine;
	char last_letter;                        /* of print/FMT */
	struct mt_type *vector, *eflags, *mxcsr; /* of registers; NULL: not asked for yet */
};

/* SPACE (lent) holds the program's mappings and may grow.  Errors: NO_MEMORY. */
struct mt_error *mt_expr_program_create(struct mt_space *space, struct mt_expr_program **out);
/* After its expressions and values.  NULL is fine. */
void mt_expr_program_destroy(struct mt_expr_program *program);
/* Another space, after exec, or a run anew.  Its pool must be the same, or live as long.
 * Expressions must be parsed anew; values and convenience variables stay. */
void mt_expr_program_set_space(struct mt_expr_program *program, struct mt_space *space);
struct mt_expr_settings *mt_expr_program_settings(struct mt_expr_program *program);

/* Convenience variables from outside: "_exitcode".  Errors: NO_MEMORY. */
struct mt_error *mt_expr_set_integer(struct mt_expr_program *program, const char *name,
				     int64_t value);

/* Number the value in the history: $NUMBER.  The program keeps a copy. */
struct mt_error *mt_expr_record(struct mt_expr_program *program, const struct mt_value *value,
				unsigned *number);

struct mt_error *mt_convenience_set(struct mt_expr_program *program, const char *name,
				    const struct mt_value *value);
/* NULL: there is none, which is void. */
const struct mt_convenience *mt_convenience_get(struct mt_expr_program *program, const char *name);
/* $N; $$N counts from the last (ABSOLUTE false).  Errors: NOT_FOUND. */
struct mt_error *mt_history_get(struct mt_expr_program *program, bool absolute, int64_t number,
				struct mt_value *out);

#endif
