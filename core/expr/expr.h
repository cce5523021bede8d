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

#include "base/array.h"
#include "base/str.h"
#include "space/space.h"

/* Registers by DWARF's numbers (System V ABI for AMD64, figure 3.36): 0 to 16 are those of
 * space/unwind.h; then these, and ours. */
enum {
	MT_EXPR_XMM0 = 17, /* 16 bytes each, to 32 */
	MT_EXPR_ST0 = 33,  /* 10 bytes each, to 40 */
	MT_EXPR_EFLAGS = 49,
	MT_EXPR_ES,
	MT_EXPR_CS,
	MT_EXPR_SS,
	MT_EXPR_DS,
	MT_EXPR_FS,
	MT_EXPR_GS,
	MT_EXPR_FS_BASE = 58,
	MT_EXPR_GS_BASE,
	MT_EXPR_ORIG_RAX = 64,
	MT_EXPR_MXCSR,
};

struct mt_expr_frame;

/* A process and one of its threads: stopped, dumped or made up. */
struct mt_expr_ops {
	/* How many bytes from ADDRESS on could be had, at the most SIZE. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/* NULL: nothing can be written. */
	struct mt_error *(*write)(void *context, uint64_t address, const void *bytes, size_t size);
	/* A register as the selected frame has it: the first SIZE of its bytes.  False: it was not
	 * saved. */
	bool (*get_register)(void *context, unsigned number, void *bytes, size_t size);
	/* NULL: cannot be written. */
	struct mt_error *(*set_register)(void *context, unsigned number, const void *bytes,
					 size_t size);
	/* The selected frame's canonical frame address.  False: not known. */
	bool (*get_cfa)(void *context, uint64_t *cfa);
	/* Where the thread's copy of OBJFILE's thread-local storage begins.  NULL: it is found by
	 * the thread's pointer for the program itself, and by libc's lists for libraries. */
	bool (*get_tls)(void *context, const struct mt_objfile *objfile, uint64_t bias,
			uint64_t *base);
	/* The frame that called the selected one, of which it is known that it did.  Lent until the
	 * next question.  NULL: frames have no callers; values at entry are not known then. */
	bool (*get_caller)(void *context, struct mt_expr_frame *caller);
};

/* Where an expression's names are looked up, and where it is evaluated. */
struct mt_expr_frame {
	const struct mt_expr_ops *ops;
	void *context; /* of ops: the selected frame */
	/* An address within the instruction that the frame stands at: mt_unwind_inside().  0: no
	 * frame is selected; only what is static has a value. */
	uint64_t pc;
	/* Where the frame goes on, which for callers is behind pc; 0: at pc. */
	uint64_t next_pc;
	/* Inlined calls at pc that are inner to the selected frame; 0: it is the innermost. */
	unsigned inner;
	/* pc is a function's very first instruction: its parameters are where the System V ABI puts
	 * them, whatever DWARF says, since that begins to hold behind the prologue. */
	bool at_entry;
};

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
	bool object;          /* false: types as declared, not as the vtable tells */
	bool static_members;  /* true */
	bool vtbl;            /* false */
	uint32_t max_depth;   /* 20 */
	uint8_t output_radix; /* 10 */
	uint8_t input_radix;  /* 10 */
};

/* What is known of a program's types and names, with convenience variables ($x) and the history of
 * values ($1, $$). */
struct mt_expr_program;

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

struct mt_expr;

/* Errors: USAGE (no expression: "A syntax error in expression, near `+'."); NOT_FOUND ("No symbol
 * \"x\" in current context."); NO_MEMORY; FORMAT (DWARF is garbled). */
struct mt_error *mt_expr_parse(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_expr **out);
void mt_expr_destroy(struct mt_expr *expr); /* NULL is fine */

struct mt_value;

/* FRAME: at the same code as the one of mt_expr_parse().
 * Errors: NOT_FOUND ("Cannot access memory at address 0x8"); UNSUPPORTED ("value has been optimized
 * out"); USAGE (types that do not go together, division by zero). */
struct mt_error *mt_expr_evaluate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				  struct mt_value **out);
/* What a value comes from: memory that was read for it and was no part of a place, and registers.
 */
struct mt_expr_read {
	uint64_t address;
	uint64_t size;
};
struct mt_expr_reads {
	MT_ARRAY(struct mt_expr_read) memory;
	bool registers; /* some of it lies in registers */
};
void mt_expr_reads_deinit(struct mt_expr_reads *reads);
/* As mt_expr_evaluate(); what was read, or could not be, is appended to READS. */
struct mt_error *mt_expr_evaluate_noting(struct mt_expr *expr, const struct mt_expr_frame *frame,
					 struct mt_expr_reads *reads, struct mt_value **out);
/* Its value never changes: literals, and what is made of them. */
bool mt_expr_is_constant(const struct mt_expr *expr);
/* It names something that a frame has of its own. */
bool mt_expr_needs_frame(const struct mt_expr *expr);
/* At other instructions of the frame it has to be parsed anew: its names lie elsewhere there. */
bool mt_expr_is_bound(const struct mt_expr *expr);
/* What lies where EXPR does now, as an expression that means the same everywhere: "* (int *) 0x10".
 * Errors: those of mt_expr_evaluate(); USAGE (it does not lie in memory). */
struct mt_error *mt_expr_locate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				struct mt_str *out);
/* A condition: the fast way, without a value of its own. */
struct mt_error *mt_expr_is_true(struct mt_expr *expr, const struct mt_expr_frame *frame,
				 bool *is_true);
/* The same where FRAME may stand at another instruction of the function. */
struct mt_error *mt_expr_is_true_within(struct mt_expr *expr, const struct mt_expr_frame *frame,
					bool *is_true);
void mt_value_destroy(struct mt_value *value); /* NULL is fine */

/* The value of a whole number, a pointer, a bool: with its sign extended.  Errors: USAGE. */
struct mt_error *mt_value_to_integer(const struct mt_value *value, int64_t *out);
/* It is a function: *ADDRESS is where that begins. */
bool mt_value_is_function(const struct mt_value *value, uint64_t *address);
/* Where it lies in memory, if it does: for watchpoints.  False: in registers, or nowhere. */
bool mt_value_location(const struct mt_value *value, uint64_t *address, size_t *size);
/* Both have the same type's size and the same bytes. */
bool mt_value_equal(const struct mt_value *a, const struct mt_value *b);

/* "/3xw" behind a command's name. */
struct mt_expr_format {
	char letter;   /* x d u o t c a f s z i; 0: by the type */
	char size;     /* b h w g; 0: not told */
	int32_t count; /* 1 when not told; negative: backward (x) */
	bool raw;      /* /r */
};
/* TEXT: behind the '/', up to a space or its end; *REST: where it ended.
 * Errors: USAGE ("Invalid number \"…\"", "Undefined output format \"q\"."). */
struct mt_error *mt_expr_format_parse(const char *text, struct mt_expr_format *out,
				      const char **rest);

/* The value as `print` shows it, without "$1 = ".  FORMAT may be NULL. */
struct mt_error *mt_value_print(const struct mt_value *value, const struct mt_expr_frame *frame,
				const struct mt_expr_format *format, struct mt_str *out);
/* Number the value in the history: $NUMBER.  The program keeps a copy. */
struct mt_error *mt_expr_record(struct mt_expr_program *program, const struct mt_value *value,
				unsigned *number);

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
/* A frame's arguments as `backtrace` shows them: "n=3, s=0x4006b4 \"x\"", structures as "...".
 * Nothing without DWARF. */
struct mt_error *mt_expr_frame_arguments(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame, struct mt_str *out);
/* The selected frame's function (inlined ones count), with its language's name for it.  False: no
 * DWARF knows it. */
bool mt_expr_frame_function(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			    struct mt_str *name, uint64_t *low_pc);
/* A call that returns to RETURN_PC led to FUNCTION (where it begins) by tail calls: where each of
 * them jumped from (behind the jump), the last one first.  Returns how many are known, at the most
 * MOST. */
size_t mt_expr_tail_calls(struct mt_expr_program *program, uint64_t return_pc, uint64_t function,
			  uint64_t *pcs, size_t most);
/* `info symbol ADDRESS-EXPRESSION`: "main + 4 in section .text\n". */
struct mt_error *mt_expr_info_symbol(struct mt_expr_program *program,
				     const struct mt_expr_frame *frame, const char *text,
				     struct mt_str *out);
/* The language of the frame's code: "c", "c++", "rust", "go", "asm". */
const char *mt_expr_language(struct mt_expr_program *program, const struct mt_expr_frame *frame);
/* A row of `info registers`.  Errors: USAGE ("Invalid register `x'"). */
struct mt_error *mt_expr_info_register(struct mt_expr_program *program,
				       const struct mt_expr_frame *frame, const char *name,
				       struct mt_str *out);
/* `info functions` (else `info variables`): those that the regular expression PATTERN fits; "":
 * all. Errors: USAGE; NO_MEMORY. */
struct mt_error *mt_expr_info_list(struct mt_expr_program *program, bool functions,
				   const char *pattern, struct mt_str *out);
/* A library as the dynamic loader knows it. */
struct mt_expr_library {
	const char *name; /* until the callback returns */
	struct mt_objfile *objfile;
	uint64_t start, end; /* of its section .text */
};
/* Calls FOUND for each, in the loader's order, until it returns false.  False: there is no list, or
 * it cannot be read. */
bool mt_expr_each_library(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			  bool (*found)(void *context, const struct mt_expr_library *library),
			  void *context);
/* The name of the file that an address is of: the loader's, else the kernel's. */
void mt_expr_file_at(struct mt_expr_program *program, const struct mt_expr_frame *frame,
		     uint64_t address, struct mt_str *out);
/* `info scope LOCATION` at its address. */
struct mt_error *mt_expr_info_scope(struct mt_expr_program *program, const char *location,
				    uint64_t address, struct mt_str *out);

/* What a function returned, right after it did (FRAME is the caller's, its registers are now):
 * FUNCTION is an address within it.  *OUT NULL: it returns nothing, or nobody knows. */
struct mt_error *mt_expr_returned(struct mt_expr_program *program, uint64_t function,
				  const struct mt_expr_frame *frame, struct mt_value **out);

/* A value as a function returns it: in rax, rdx, xmm0, xmm1. */
struct mt_expr_given {
	size_t count;
	struct {
		unsigned number; /* of a register */
		uint8_t bytes[8];
	} parts[2];
};
/* What EXPR is in FRAME, as the function at an address within it returns that; nothing of one that
 * returns nothing.  Errors: those of mt_expr_evaluate(); USAGE (the function's type is not known,
 * and EXPR is no cast); UNSUPPORTED (it is returned in memory, or by the x87). */
struct mt_error *mt_expr_give(struct mt_expr *expr, uint64_t function,
			      const struct mt_expr_frame *frame, struct mt_expr_given *out);

/* "0x401136 <main+4>" or "0x7ffe…", as addresses are shown everywhere. */
void mt_expr_format_address(struct mt_expr_program *program, uint64_t address, struct mt_str *out);
/* The same with the linker's names, "<_ZN2ns1fEi+4>", as GDB has it around code. */
void mt_expr_format_code(struct mt_expr_program *program, uint64_t address, struct mt_str *out);
/* The function at an address (inlined ones do not count), in full: "ns::f<int>(int)".  False: no
 * DWARF knows it. */
bool mt_expr_function_at(struct mt_expr_program *program, uint64_t address, struct mt_str *out);

#endif
