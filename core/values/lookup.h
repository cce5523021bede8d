/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of names at an address in the code. */
#ifndef MT_VALUES_LOOKUP_H
#define MT_VALUES_LOOKUP_H

#include "values/variable.h"

enum mt_found_kind {
	MT_FOUND_NOTHING,
	MT_FOUND_VARIABLE,
	MT_FOUND_TYPE,
	MT_FOUND_FUNCTION, /* address */
	MT_FOUND_ENUMERATOR,
	MT_FOUND_NAMESPACE,
	MT_FOUND_MEMBER, /* of *this */
};

struct mt_found {
	uint8_t kind;
	struct mt_type *type;
	uint64_t address; /* of the process */
	int64_t value;
	struct mt_variable variable; /* of MEMBER: `this` */
};

struct mt_lookup {
	struct mt_expr_program *program;
	const struct mt_expr_frame *frame;
	bool has_scope;
	struct mt_scope scope;
	enum mt_language language;
};

struct mt_error *mt_lookup_init(struct mt_lookup *lookup, struct mt_expr_program *program,
				const struct mt_expr_frame *frame);
/* NAME may be qualified: "ns::x".  Variables, functions, enumerators, types. */
void mt_lookup_name(struct mt_lookup *lookup, const char *name, struct mt_found *out);
/* NAME as the source file FILE has it: the end of a path at a slash.  False: no name is known to be
 * of such a file; true with OUT empty: that name is not. */
bool mt_lookup_in_file(struct mt_lookup *lookup, const char *file, const char *name,
		       struct mt_found *out);
/* "struct NAME": WHICH is MT_NAME_STRUCT or MT_NAME_ENUM.  NULL: none. */
struct mt_type *mt_lookup_tag(struct mt_lookup *lookup, const char *name, enum mt_name_kind which);
/* What a name of the index means; of one that has no place OUT is left as it is. */
void mt_found_name(struct mt_lookup *lookup, struct mt_module *module, struct mt_name *name,
		   struct mt_found *out);
/* "a::b::c" -> scope "a::b", the caller's to free, and "c"; "::c" -> scope "".  *SCOPE NULL: no
 * memory. */
const char *mt_lookup_split(const char *name, char **scope);
/* A static member of a class, by its name. */
bool mt_lookup_static_member(struct mt_expr_program *program, struct mt_type *type,
			     const struct mt_member *member, struct mt_found *out);

static inline struct mt_error *mt_no_symbol(const char *name)
{
	return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol \"%s\" in current context.", name);
}

#endif
