/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of a program: made from DWARF when somebody asks, one object a DIE, kept as long as the
 * program.  What a type refers to is made when that is asked for, so that cycles do no harm. */
#ifndef MT_TYPES_TYPE_H
#define MT_TYPES_TYPE_H

#include "base/error.h"
#include "base/str.h"

#include <elfutils/libdw.h>
#include <string.h>

struct mt_expr_program;
struct mt_module;

enum mt_type_kind {
	MT_TYPE_VOID,
	MT_TYPE_INT,
	MT_TYPE_CHAR, /* of one byte or more: printed as characters */
	MT_TYPE_BOOL,
	MT_TYPE_FLOAT,
	MT_TYPE_COMPLEX,
	MT_TYPE_ENUM,
	MT_TYPE_POINTER,
	MT_TYPE_REFERENCE,
	MT_TYPE_RVALUE_REFERENCE,
	MT_TYPE_MEMBER_POINTER,
	MT_TYPE_ARRAY,
	MT_TYPE_STRUCT, /* classes too */
	MT_TYPE_UNION,
	MT_TYPE_FUNCTION,
	MT_TYPE_TYPEDEF,
	MT_TYPE_QUALIFIED, /* const, volatile … of target */
	MT_TYPE_ERROR,     /* DWARF is garbled, or names what we do not know */
};

enum mt_member_kind {
	MT_MEMBER_FIELD,
	MT_MEMBER_BASE,   /* what is inherited */
	MT_MEMBER_STATIC, /* a variable of its own */
};

struct mt_member {
	const char *name; /* NULL: anonymous */
	struct mt_type *type;
	uint64_t offset;     /* bytes into the structure */
	uint8_t bit_offset;  /* from offset's lowest bit */
	uint8_t bit_size;    /* 0: no bit field */
	uint8_t kind;        /* enum mt_member_kind */
	uint8_t access;      /* DW_ACCESS_… */
	bool is_virtual;     /* a base whose offset is in the vtable */
	bool is_artificial;  /* _vptr.Base */
	uint8_t is_constant; /* static, with DW_AT_const_value */
	Dwarf_Die die;
};

struct mt_enumerator {
	const char *name;
	int64_t value;
};

struct mt_type {
	uint8_t kind; /* enum mt_type_kind */
	bool is_signed;
	bool is_const;    /* QUALIFIED */
	bool is_volatile; /* QUALIFIED */
	bool is_restrict;
	bool is_atomic;
	bool is_class;       /* STRUCT: said to be a class */
	bool is_declaration; /* its members are elsewhere */
	bool is_prototyped;  /* FUNCTION */
	bool is_varargs;
	bool is_method;
	bool is_vector;
	bool is_flags; /* ENUM: values are bits */
	bool is_enum_class;
	bool is_builtin;  /* ours, not of DWARF */
	uint8_t language; /* enum mt_language */
	uint8_t expanded; /* members, enumerators or parameters were read */
	uint8_t target_known;
	uint8_t size_known;
	uint64_t size;            /* ask mt_type_size() */
	const char *name;         /* with its namespaces; NULL: none */
	struct mt_module *module; /* NULL: builtin */
	struct mt_expr_program *program;
	Dwarf_Die die; /* addr NULL: none */

	struct mt_type *target;     /* ask mt_type_target() */
	struct mt_type *definition; /* of a declaration, once it was sought */
	struct mt_type *pointer;    /* to it, once somebody asked */
	struct mt_type *containing; /* MEMBER_POINTER: the class */
	int64_t low;                /* ARRAY: the lowest index */
	int64_t count;              /* ARRAY: elements; -1: not known */
	Dwarf_Die
	    count_die; /* ARRAY: the subrange, whose count is an expression; addr NULL: none */

	struct mt_member *members; /* STRUCT, UNION; parameters of a FUNCTION */
	size_t member_count;
	struct mt_enumerator *enumerators;
	size_t enumerator_count;
};

enum mt_language {
	MT_LANGUAGE_C,
	MT_LANGUAGE_CPP,
	MT_LANGUAGE_RUST,
	MT_LANGUAGE_GO,
	MT_LANGUAGE_ASM,
};

enum mt_builtin {
	MT_BUILTIN_VOID,
	MT_BUILTIN_CHAR,
	MT_BUILTIN_SCHAR,
	MT_BUILTIN_UCHAR,
	MT_BUILTIN_SHORT,
	MT_BUILTIN_USHORT,
	MT_BUILTIN_INT,
	MT_BUILTIN_UINT,
	MT_BUILTIN_LONG,
	MT_BUILTIN_ULONG,
	MT_BUILTIN_LLONG,
	MT_BUILTIN_ULLONG,
	MT_BUILTIN_INT128,
	MT_BUILTIN_UINT128,
	MT_BUILTIN_BOOL,
	MT_BUILTIN_FLOAT,
	MT_BUILTIN_DOUBLE,
	MT_BUILTIN_LDOUBLE,
	MT_BUILTIN_HALF,
	MT_BUILTIN_BFLOAT16,
	MT_BUILTIN_WCHAR,
	MT_BUILTIN_CHAR16,
	MT_BUILTIN_CHAR32,
	MT_BUILTIN_INT8, /* int8_t … of registers */
	MT_BUILTIN_UINT8,
	MT_BUILTIN_INT16,
	MT_BUILTIN_UINT16,
	MT_BUILTIN_INT32,
	MT_BUILTIN_UINT32,
	MT_BUILTIN_INT64,
	MT_BUILTIN_UINT64,
	MT_BUILTIN_DATA_POINTER, /* void * */
	MT_BUILTIN_CODE_POINTER, /* void (*)() */
	MT_BUILTIN_NODEBUG_DATA, /* <data variable, no debug info> */
	MT_BUILTIN_NODEBUG_TEXT, /* <text variable, no debug info> */
	MT_BUILTIN_NODEBUG_TLS,
	MT_BUILTIN_ERROR,
	MT_BUILTIN_COUNT,
};

/* Languages' words for them; UNSIGNED with it.  NULL: no such type. */
struct mt_type *mt_type_builtin(struct mt_expr_program *program, enum mt_builtin which);
struct mt_error *mt_type_init_builtins(struct mt_expr_program *program);

/* The type that a DIE describes; NULL: no memory. */
struct mt_type *mt_type_of_die(struct mt_module *module, Dwarf_Die *die);
/* The type of what a DIE describes (DW_AT_type): void where there is none. */
struct mt_type *mt_type_of(struct mt_module *module, Dwarf_Die *die);
/* The type that it points to, consists of, returns or stands for.  Never NULL. */
struct mt_type *mt_type_target(struct mt_type *type);
/* MEMBER_POINTER: the class. */
struct mt_type *mt_type_containing(struct mt_type *type);
/* Without typedefs and qualifiers, declarations replaced by what they declare. */
struct mt_type *mt_type_strip(struct mt_type *type);
/* Without qualifiers only. */
struct mt_type *mt_type_unqualified(struct mt_type *type);
uint64_t mt_type_size(struct mt_type *type);
uint64_t mt_type_align(struct mt_type *type);
/* Read members, parameters, enumerators.  Without memory there are fewer. */
void mt_type_expand(struct mt_type *type);

/* Made on demand; NULL: no memory. */
struct mt_type *mt_type_pointer_to(struct mt_type *type);
struct mt_type *mt_type_reference_to(struct mt_type *type, bool rvalue);
struct mt_type *mt_type_array_of(struct mt_type *type, int64_t low, int64_t count);
struct mt_type *mt_type_vector_of(struct mt_type *type, int64_t count, const char *name);
struct mt_type *mt_type_qualify(struct mt_type *type, bool is_const, bool is_volatile);
struct mt_type *mt_type_function_returning(struct mt_type *type);
struct mt_type *mt_type_new(struct mt_expr_program *program, uint8_t kind, uint64_t size,
			    const char *name);

static inline bool mt_type_is_integer_kind(const struct mt_type *type)
{
	return type->kind == MT_TYPE_INT || type->kind == MT_TYPE_CHAR ||
	       type->kind == MT_TYPE_BOOL || type->kind == MT_TYPE_ENUM;
}
/* A long double of x87's. */
static inline bool mt_type_is_x87(struct mt_type *type)
{
	return type->kind == MT_TYPE_FLOAT && mt_type_size(type) == 16 && type->name &&
	       strcmp(type->name, "long double") == 0;
}
static inline bool mt_type_is_reference(const struct mt_type *type)
{
	return type->kind == MT_TYPE_REFERENCE || type->kind == MT_TYPE_RVALUE_REFERENCE;
}
static inline bool mt_type_is_aggregate(const struct mt_type *type)
{
	return type->kind == MT_TYPE_STRUCT || type->kind == MT_TYPE_UNION;
}
/* Same shape: for casts and comparisons. */
bool mt_type_same(struct mt_type *a, struct mt_type *b);

/* The last part of a qualified name, "f" of "ns::A<ns::B>::f"; *SCOPE_LENGTH: of what stands before
 * its "::", 0: nothing. */
const char *mt_name_last_part(const char *name, size_t *scope_length);
/* "vec<long int>" of "vec<long>": as gcc writes the arguments of templates in DWARF. */
void mt_type_name_written(const char *name, struct mt_str *out);
/* name.c: "struct node *", and with VARIABLE "struct node *next". */
void mt_type_name(struct mt_type *type, const char *variable, struct mt_str *out);
/* What `ptype/FLAGS` asks for. */
struct mt_type_flags {
	bool offsets; /* o: where members lie, in structures within too */
	bool hex;     /* x: … in hexadecimal */
	bool no_methods;
	bool no_typedefs; /* those defined in a class */
};
/* describe.c: with the members of the outermost structure. */
void mt_type_describe(struct mt_type *type, struct mt_type_flags flags, struct mt_str *out);
void mt_type_describe_rust(struct mt_type *type, struct mt_str *out); /* describe_rust.c */
void mt_type_describe_enum(struct mt_type *type, struct mt_str *out); /* describe_enum.c */
/* What the description of CLASS calls TYPE: its typedefs have no scope, and the arguments of its
 * template are called as the template calls them.  NULL: as everywhere. */
const char *mt_type_inner_name(struct mt_type *class, struct mt_type *type);
/* Between what comes before and behind a variable's name; what name.c and describe.c share. */
struct mt_type *mt_type_innermost(struct mt_type *type);
void mt_type_qualifiers(const struct mt_type *type, bool space_before, bool space_behind,
			struct mt_str *out);
void mt_type_declarator(struct mt_type *type, const char *variable, struct mt_str *out);
/* "(int, char)" */
void mt_type_parameters(struct mt_type *type, bool skip_this, struct mt_str *out);

#endif
