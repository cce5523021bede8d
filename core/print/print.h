/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values in words, as GDB shows them. */
#ifndef MT_PRINT_PRINT_H
#define MT_PRINT_PRINT_H

#include "values/user.h"

/* "/3xw" behind a command's name. */
struct mt_expr_format {
	char letter;   /* x d u o t c a f s z i; 0: by the type */
	char size;     /* b h w g; 0: not given */
	int32_t count; /* 1 when not given; negative: backward (x) */
	bool raw;      /* /r */
};
/* TEXT: behind the '/', up to a space or its end; *REST: where it ended.
 * Errors: USAGE ("Invalid number \"…\"", "Undefined output format \"q\"."). */
struct mt_error *mt_expr_format_parse(const char *text, struct mt_expr_format *out,
				      const char **rest);

/* The value as `print` shows it, without "$1 = ".  FORMAT may be NULL. */
struct mt_error *mt_value_print(const struct mt_value *value, const struct mt_expr_frame *frame,
				const struct mt_expr_format *format, struct mt_str *out);

#define MT_PRINT_STATICS 16

struct mt_print {
	struct mt_eval *eval;
	const struct mt_expr_settings *settings;
	const struct mt_expr_format *format; /* NULL or letter 0: by the type */
	enum mt_language language;
	struct mt_str *out;
	uint32_t depth;
	uint64_t printed; /* elements, against settings->elements */
	unsigned in_reference, in_interface;
	size_t static_count; /* static members that were shown already, by address */
	uint64_t statics[MT_PRINT_STATICS];
	bool is_base;         /* what is printed next is a base of what is around it */
	size_t virtual_count; /* virtual bases of one object, shown already */
	const struct mt_type *virtuals[MT_PRINT_STATICS];
	bool is_summary; /* arguments of a frame: structures are "..." */
	bool is_bare;    /* strings instead of their addresses */
};

/* As `print` has it, with "(type *) " where that belongs. */
struct mt_error *mt_print_top(struct mt_print *print, struct mt_value *value);
/* The same within something. */
void mt_print_value(struct mt_print *print, struct mt_value *value);
/* "0x401136 <main+4>", as far as the settings want it. */
void mt_print_address(struct mt_print *print, uint64_t address, bool with_symbol);
void mt_print_scalar(struct mt_print *print, struct mt_value *value);
void mt_print_format(struct mt_print *print, struct mt_value *value,
		     const struct mt_expr_format *format);
void mt_print_aggregate(struct mt_print *print, struct mt_value *value);
void mt_print_array(struct mt_print *print, struct mt_value *value);
/* False: it is none of Rust's own shapes. */
bool mt_print_rust(struct mt_print *print, struct mt_value *value);
void mt_print_char(uint64_t code, const struct mt_type *type, char quote, struct mt_str *out);
/* A string that lies at an address.  LENGTH < 0: to its NUL. */
void mt_print_string_at(struct mt_print *print, struct mt_type *element, uint64_t address,
			int64_t length);
/* COUNT characters of WIDTH bytes. */
void mt_print_string(struct mt_print *print, struct mt_type *element, const uint8_t *bytes,
		     uint64_t count, bool cut);
void mt_print_float(const struct mt_type *type, const uint8_t *bytes, struct mt_str *out);
bool mt_type_is_text(struct mt_type *element);
/* "L", "u", "U" before its quote, or "". */
const char *mt_type_text_prefix(struct mt_type *element);

#endif
