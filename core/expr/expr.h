/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions over DWARF, as a debugger's user types them: `s->len + 1`, `*list@3`, `$rdi`.
 *
 * An expression is parsed once, where its names mean something (a frame's code), and evaluated as
 * often as wanted there: after mt_expr_parse() nothing is looked up in DWARF.
 *
 *	mt_expr_parse(program, &frame, "s->len != 0", &expr);
 *	mt_expr_is_true(expr, &frame, &is_true);       at each hit of a breakpoint
 *
 * Whatever people see is worded as GDB words it, values and errors alike.  Nothing here knows how a
 * process is reached: see struct mt_expr_ops.
 *
 * One thread uses a program, and the space behind it. */
#ifndef MT_EXPR_EXPR_H
#define MT_EXPR_EXPR_H

#include "print/print.h"

struct mt_expr;

/* Errors: USAGE (no expression: "A syntax error in expression, near `+'."); NOT_FOUND ("No symbol
 * \"x\" in current context."); NO_MEMORY; FORMAT (DWARF is garbled). */
struct mt_error *mt_expr_parse(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_expr **out);
void mt_expr_destroy(struct mt_expr *expr); /* NULL is fine */

/* FRAME: at the same code as the one of mt_expr_parse().
 * Errors: NOT_FOUND ("Cannot access memory at address 0x8"); UNSUPPORTED ("value has been optimized
 * out"); USAGE (types that do not go together, division by zero). */
struct mt_error *mt_expr_evaluate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				  struct mt_value **out);
/* As mt_expr_evaluate(); what was read, or could not be, is appended to READS. */
struct mt_error *mt_expr_evaluate_noting(struct mt_expr *expr, const struct mt_expr_frame *frame,
					 struct mt_expr_reads *reads, struct mt_value **out);
/* Of a structure, the expressions of its members, of their members, and of arrays' elements,
 * "p.x,p.inner.y,p.sizes[0]", to OUT; nothing where there are more than MOST, of what else EXPR is,
 * of strings of a library's type, and of what a reference refers to.  Errors: NO_MEMORY. */
struct mt_error *mt_expr_parts(const struct mt_expr *expr, const struct mt_expr_frame *frame,
			       size_t most, struct mt_str *out);
/* Its value never changes: literals, and what is made of them. */
bool mt_expr_is_constant(const struct mt_expr *expr);
/* It means something where there is no debugger: it calls nothing of the program's, assigns
 * nothing, and of $NAMEs it has registers, $_ret, $_duration, $_thread and functions that are known
 * here. Errors: USAGE; those of mt_regex_compile(), of a literal. */
struct mt_error *mt_expr_check_alone(const struct mt_expr *expr);
/* It names something that a frame has of its own. */
bool mt_expr_needs_frame(const struct mt_expr *expr);
/* At other instructions of the frame it has to be parsed anew: its names lie elsewhere there. */
bool mt_expr_is_bound(const struct mt_expr *expr);
/* The object where EXPR lies now, as an expression that means the same everywhere: "* (int *)
 * 0x10". Errors: those of mt_expr_evaluate(); USAGE (it does not lie in memory). */
struct mt_error *mt_expr_locate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				struct mt_str *out);
/* A condition: the fast way, without a value of its own. */
struct mt_error *mt_expr_is_true(struct mt_expr *expr, const struct mt_expr_frame *frame,
				 bool *is_true);
/* The same where FRAME may stand at another instruction of the function. */
struct mt_error *mt_expr_is_true_within(struct mt_expr *expr, const struct mt_expr_frame *frame,
					bool *is_true);
/* Whole commands: what comes out, with its newlines, is appended to OUT.  TEXT: what the user typed
 * behind the command's name, with "/FMT". */
/* `print`, and `set variable` with SILENT. */
struct mt_error *mt_expr_print(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, bool silent, struct mt_str *out);
/* `output`: the same without "$1 = " and a newline, and without a number in the history. */
struct mt_error *mt_expr_output(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out);
/* `x`: goes on where the last one ended when TEXT is empty. */
struct mt_error *mt_expr_examine(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				 const char *text, struct mt_str *out);
/* `whatis` and `ptype`: of an expression or of a type. */
struct mt_error *mt_expr_whatis(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out);
struct mt_error *mt_expr_ptype(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_str *out);
/* `printf "…", …` */
struct mt_error *mt_expr_printf(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out);
/* `info locals` and `info args`: "x = 5\n" each; "No locals.\n". */
struct mt_error *mt_expr_locals(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				struct mt_str *out);
struct mt_error *mt_expr_args(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			      struct mt_str *out);
/* The names of the parameters of the frame's function, "name, count".  Errors: NOT_FOUND (no DWARF
 * knows it). */
struct mt_error *mt_expr_parameters(struct mt_expr_program *program,
				    const struct mt_expr_frame *frame, struct mt_str *out);
/* A frame's arguments as `backtrace` shows them: "n=3, s=0x4006b4 \"x\"", structures as "...".
 * Nothing without DWARF. */
struct mt_error *mt_expr_frame_arguments(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame, struct mt_str *out);
/* The same as recorded calls have them, "n=3, s=\"x\"": those that are known, now or at least at
 * the call, and of what containers hold the beginning. */
struct mt_error *mt_expr_known_arguments(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame, struct mt_str *out);
/* The selected frame's function (inlined ones count), with its language's name for it.  False: no
 * DWARF knows it. */
bool mt_expr_frame_function(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			    struct mt_str *name, uint64_t *low_pc);
/* `info symbol ADDRESS-EXPRESSION`: "main + 4 in section .text\n". */
struct mt_error *mt_expr_info_symbol(struct mt_expr_program *program,
				     const struct mt_expr_frame *frame, const char *text,
				     struct mt_str *out);
/* A row of `info registers`.  Errors: USAGE ("Invalid register `x'"). */
struct mt_error *mt_expr_info_register(struct mt_expr_program *program,
				       const struct mt_expr_frame *frame, const char *name,
				       struct mt_str *out);
enum mt_expr_list { MT_EXPR_FUNCTIONS, MT_EXPR_VARIABLES, MT_EXPR_TYPES };
/* `info functions`, `info variables`, `info types`: those that the regular expression PATTERN fits;
 * "": all. Errors: USAGE; NO_MEMORY. */
struct mt_error *mt_expr_info_list(struct mt_expr_program *program, enum mt_expr_list what,
				   const char *pattern, struct mt_str *out);
struct mt_expr_function {
	const char *file; /* as the compiler was given it; NULL: no DWARF knows the function */
	const char *name;
	const char *text; /* its declaration, with a semicolon */
};
/* `rbreak`: calls FOUND for each function that the regular expression PATTERN fits ("": all), in
 * the order of `info functions`, but for stubs of the PLT.  FILE: only of files of this name; NULL:
 * of all.  Errors: USAGE; NO_MEMORY; FOUND's. */
struct mt_error *
mt_expr_each_function(struct mt_expr_program *program, const char *file, const char *pattern,
		      struct mt_error *(*found)(void *context, const struct mt_expr_function *),
		      void *context);
/* `info scope LOCATION` at its address. */
struct mt_error *mt_expr_info_scope(struct mt_expr_program *program, const char *location,
				    uint64_t address, struct mt_str *out);

/* A value as a function returns it: in rax, rdx, xmm0, xmm1. */
struct mt_expr_given {
	size_t count;
	struct {
		unsigned number; /* of a register */
		uint8_t bytes[8];
	} parts[2];
};
/* The value of EXPR in FRAME, as the function at an address within it returns that; nothing of one
 * that returns nothing.  Errors: those of mt_expr_evaluate(); USAGE (the function's type is not
 * known, and EXPR is no cast); UNSUPPORTED (it is returned in memory, or by the x87). */
struct mt_error *mt_expr_give(struct mt_expr *expr, uint64_t function,
			      const struct mt_expr_frame *frame, struct mt_expr_given *out);

#endif
