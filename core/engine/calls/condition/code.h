/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files that compile conditions:
 *
 *	condition.c  the whole of it
 *	compile.c  trees to code: what names, members and operators mean
 *	bases.c    members of structures, and of virtual bases
 *	binary.c   operators with two operands
 *	floats.c   floating-point numbers
 *	floats_code.S  their arithmetic
 *	widen.c    what becomes a double
 *	extended.c  long doubles
 *	truth.c    what decides: comparisons, logic, and the ways that they lead
 *	operand.c  where values lie, and how they come into registers
 *	variable.c  where variables lie
 *	location.c  where DWARF has that computed
 *	code.c     machine code: the frame, constants, widths, jumps
 *	read.c     memory that may not be there
 *	measure.c  how long calls take
 *	record.c   values into the thread's ring
 *	text.c     the first bytes of strings, likewise
 *	strings.c  $_streq and the like
 *
 * The code works in rax, rcx and rdx, which it saves.  Values in registers are 64 bits wide, with
 * the sign that their type has.  Its frame, from the stack pointer up:
 *
 *	rdi, rsi, r8 to r11	while a page is probed, the system reads, or floats are computed
 *	two iovecs, way back	of a read meanwhile; of that
 *	slots			for values that wait
 *	the flags		at a line: the program's
 *	rcx, rdx, rax		the program's
 *	128 bytes		below its stack pointer, which stay as they are
 *
 * Instruction encodings: Intel SDM vol. 2.  Each is written as it stands in a listing, with the
 * mnemonic beside it. */
#ifndef MT_ENGINE_CALLS_CONDITION_CODE_H
#define MT_ENGINE_CALLS_CONDITION_CODE_H

#include "engine/calls/condition/condition.h"
#include "expr/node.h"

/* Jumps forward that wait for their target. */
struct mt_asm_label {
	MT_ARRAY(uint32_t) jumps; /* offsets of their rel32 */
};

/* A read of memory whose page is not known to be there: its code out of line. */
struct mt_asm_read {
	struct mt_asm_label crosses; /* it may end in another page */
	struct mt_asm_label unknown;
	uint32_t check, back; /* where its check begins; what comes behind it */
	uint8_t size;
};

#define MT_ASM_MOST_SLOTS 22u

/* The way back, in the frame, from what is computed out of line. */
#define MT_ASM_BACK_AT 0x50

/* floats_code.S: of rax, a double, and of the first ones with rdx. */
enum mt_float_routine {
	MT_FLOAT_ADD,
	MT_FLOAT_SUBTRACT,
	MT_FLOAT_MULTIPLY,
	MT_FLOAT_DIVIDE,
	MT_FLOAT_NARROW,    /* to what a float can be */
	MT_FLOAT_TO_SINGLE, /* of that: a float's bits */
	MT_FLOAT_TO_WHOLE,  /* a whole number with a sign */
	MT_FLOAT_ROUTINES,
};

/* A condition while it is compiled.  `failed` (no memory) stays set; it is looked at at the end. */
struct mt_asm {
	struct mt_condition *out;
	struct mt_condition_place place;
	bool failed;
	bool reads;           /* of memory, in this code */
	bool computes;        /* floating-point numbers, likewise */
	unsigned slots, most; /* in use now, and at the most */
	unsigned kept; /* of those in use: the first so many, until strings have their bytes */
	unsigned frame_slots; /* that there is room for */
	bool has_reads;       /* it is known that there are reads */
	bool has_room;        /* and registers to be saved, for these or for floats */
	bool has_entered;     /* the function's entry is in the ring, in the code from here on */
	struct mt_asm_label miss, division, unset, undecided;
	MT_ARRAY(struct mt_asm_read) read_sites;
	struct mt_asm_label floats[MT_FLOAT_ROUTINES];
};

/* As the processor numbers them. */
enum mt_asm_register { MT_ASM_RAX, MT_ASM_RCX, MT_ASM_RDX, MT_ASM_RSP = 4 };

enum mt_asm_jump {
	MT_ASM_ABOVE_EQUAL = 0x83,
	MT_ASM_BELOW = 0x82,
	MT_ASM_EQUAL = 0x84,
	MT_ASM_NOT_EQUAL = 0x85,
	MT_ASM_BELOW_EQUAL = 0x86,
	MT_ASM_ABOVE = 0x87,
	MT_ASM_NOT_SIGN = 0x89,
	MT_ASM_LESS = 0x8c,
	MT_ASM_GREATER_EQUAL = 0x8d,
	MT_ASM_LESS_EQUAL = 0x8e,
	MT_ASM_GREATER = 0x8f,
	MT_ASM_ALWAYS = 0xe9,
};

void mt_asm_bytes(struct mt_asm *to, const void *bytes, size_t count);
#define mt_asm(to, ...)                                                                            \
	mt_asm_bytes((to), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))
void mt_asm_imm32(struct mt_asm *to, uint32_t value);
void mt_asm_imm64(struct mt_asm *to, uint64_t value);
static inline uint32_t mt_asm_here(const struct mt_asm *to)
{
	return (uint32_t)to->out->trampolines.code.count;
}

/* code.c */
/* The rel32 at AT leads to TARGET. */
void mt_asm_link(struct mt_asm *to, uint32_t at, uint32_t target);
void mt_asm_jump(struct mt_asm *to, enum mt_asm_jump when, struct mt_asm_label *label);
void mt_asm_jump_back(struct mt_asm *to, enum mt_asm_jump when, uint32_t target);
/* Here is the target; the label can be used anew. */
void mt_asm_bind(struct mt_asm *to, struct mt_asm_label *label);
/* The frame is as it was left by this one, from here on too: behind a leave(). */
void mt_asm_go_on(struct mt_asm *to);
void mt_asm_enter(struct mt_asm *to);
/* The program's registers and stack. */
void mt_asm_leave(struct mt_asm *to);
void mt_asm_set(struct mt_asm *to, enum mt_asm_register reg, uint64_t value);
/* RAX or RCX, of which the lowest SIZE bytes count. */
void mt_asm_extend(struct mt_asm *to, enum mt_asm_register reg, uint64_t size, bool is_signed);
/* The same of rax, and bits. */
void mt_asm_extract(struct mt_asm *to, unsigned bit_offset, unsigned bit_size, bool is_signed);
/* A slot of the frame: rax into it, and out of it.  Errors: UNSUPPORTED (there are no more). */
struct mt_error *mt_asm_save(struct mt_asm *to, unsigned *slot);
/* Into one that is in use. */
void mt_asm_keep(struct mt_asm *to, unsigned slot);
void mt_asm_restore(struct mt_asm *to, enum mt_asm_register reg, unsigned slot);
/* The same, and the slot stays in use. */
void mt_asm_peek(struct mt_asm *to, enum mt_asm_register reg, unsigned slot);
/* What is in it becomes one more. */
void mt_asm_increment(struct mt_asm *to, unsigned slot);
/* The upper eight bytes of a vector register, whose number itself stands for the lower ones. */
#define MT_ASM_UPPER 0x80
/* A register of the program, numbered as DWARF does, to RAX or RCX. */
void mt_asm_get_register(struct mt_asm *to, enum mt_asm_register reg, unsigned number);
/* OFFSET bytes above the program's stack pointer: the address, to rax. */
void mt_asm_stack_address(struct mt_asm *to, uint64_t offset);

/* At a function's entry: where it returns to. */
void mt_asm_get_return_address(struct mt_asm *to, enum mt_asm_register reg);

/* rax: $_thread. */
void mt_asm_thread_number(struct mt_asm *to);

/* rdx: the time stamp counter; rax goes. */
void mt_asm_read_time(struct mt_asm *to);
/* Likewise, without the time in which the tracer had the thread stopped; flags go, too. */
void mt_asm_read_own_time(struct mt_asm *to);
/* The thread may not read it. */
void mt_asm_jump_if_stampless(struct mt_asm *to, struct mt_asm_label *label);

/* read.c */
/* rax becomes what lies at rax: the lowest SIZE bytes (1 to 8) of it; TRUSTED: the memory is there.
 */
void mt_asm_read(struct mt_asm *to, uint8_t size, bool trusted);
/* The page of the address in rax is not known to be there; rcx and rdx go. */
void mt_asm_jump_unless_noted(struct mt_asm *to, struct mt_asm_label *label);
/* What was put off. */
void mt_asm_read_out_of_line(struct mt_asm *to);
/* rdi, rsi, and r8 to r11 into the frame. */
void mt_asm_save_registers(struct mt_asm *to);

/* code.c: from here on so many slots of the ring are reserved, and not filled; 0: none are. */
void mt_asm_reserved(struct mt_asm *to, unsigned slots, enum mt_slot_place place);

/* measure.c */
/* What comes here begins; who cannot be measured goes to `miss`. */
void mt_asm_note_begin(struct mt_asm *to);
/* What comes here ends: straight on if it took long enough, which is noted in the thread's slot. */
void mt_asm_find_begin(struct mt_asm *to);
/* The same of a span: it begins for the thread; it ends, if it did. */
void mt_asm_begin_span(struct mt_asm *to);
void mt_asm_end_span(struct mt_asm *to);
/* rax: how many ns it took. */
void mt_asm_duration(struct mt_asm *to);

/* limit.c */
/* A hit: straight on if the place's limits let it count. */
void mt_asm_limit(struct mt_asm *to);

/* variable.c, operand.c */
enum mt_operand_kind {
	MT_OPERAND_CONSTANT,  /* value's bytes */
	MT_OPERAND_RAX,       /* of a floating-point number: a double's bits, whatever its type */
	MT_OPERAND_REGISTERS, /* at byte value.address of them */
	MT_OPERAND_MEMORY,    /* at value.address, from a base on */
};

enum mt_operand_base { MT_BASE_NONE, MT_BASE_STACK, MT_BASE_RAX };

/* What a part of the expression is; its code so far left RAX so, if that is meant. */
struct mt_operand {
	enum mt_operand_kind kind;
	enum mt_operand_base base;
	struct mt_value value; /* its type, and where it lies */
	uint8_t registers[4];  /* as DWARF numbers them, or with MT_ASM_UPPER */
	uint8_t register_count;
};

/* Whose place stands in the vtable of an object. */
struct mt_virtual_base {
	struct mt_type *type;
	uint64_t object; /* where that was found: bases.c */
	int64_t at;      /* so many bytes in front of where its first word leads */
};
#define MT_MOST_VIRTUAL_BASES 16u

/* What waits in a slot of the frame for its place in the ring. */
struct mt_asm_recorded {
	uint32_t site;
	unsigned slot;
};
#define MT_ASM_MOST_TOGETHER 7u /* 14 slots of the ring: rows count up to 15 */
#define MT_ASM_MOST_WAITING  (MT_ASM_MOST_TOGETHER - 1)

struct mt_compiler {
	struct mt_asm code;
	struct mt_eval eval;
	struct mt_asm_recorded waiting[MT_ASM_MOST_WAITING]; /* slots one behind the other */
	unsigned waiting_count;
	/* Whose bytes, and pointer, may be recorded with the function's entry; NULL: none. */
	const struct mt_condition_value *last_string;
	/* Those that a member was found by. */
	struct mt_virtual_base bases[MT_MOST_VIRTUAL_BASES];
	unsigned base_count;
};

struct mt_error *mt_cannot_compile(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct mt_operand mt_operand_in_rax(struct mt_type *type);
struct mt_operand mt_operand_at_rax(struct mt_type *type);
struct mt_error *mt_operand_of_variable(struct mt_compiler *compiler,
					const struct mt_variable *variable, struct mt_operand *out);
struct mt_error *mt_operand_of_register(const struct mt_register_name *reg, struct mt_value *value,
					struct mt_operand *out);
/* At a line: the register that the base of its function's frame lies OFFSET bytes from.  False: it
 * takes more than that. */
bool mt_frame_base(const struct mt_compiler *compiler, const struct mt_variable *variable,
		   unsigned *number, int64_t *offset);
/* location.c: runs the operations of VARIABLE's location.  Errors: UNSUPPORTED. */
struct mt_error *mt_compile_location(struct mt_compiler *compiler,
				     const struct mt_variable *variable, struct mt_operand *out);
/* A whole number, a pointer: into a register. */
struct mt_error *mt_operand_load(struct mt_compiler *compiler, const struct mt_operand *operand,
				 enum mt_asm_register reg);
/* Its address into rax. */
void mt_operand_address(struct mt_compiler *compiler, const struct mt_operand *operand);
/* A reference is what it refers to. */
struct mt_error *mt_operand_unreference(struct mt_compiler *compiler, struct mt_operand *operand);
/* Arrays and functions become pointers; references what they refer to. */
struct mt_error *mt_operand_decay(struct mt_compiler *compiler, struct mt_operand *operand);
/* OPERAND comes into a register without rax, rcx or rdx being changed besides. */
bool mt_operand_is_at_hand(const struct mt_operand *operand);

/* compile.c */
struct mt_error *mt_compile_node(struct mt_compiler *compiler, const struct mt_node *node,
				 struct mt_operand *out);
/* The same, decayed. */
struct mt_error *mt_compile_value(struct mt_compiler *compiler, const struct mt_node *node,
				  struct mt_operand *out);
struct mt_error *mt_too_complex(void);

/* bases.c */
/* rax, a pointer to an object of the class FROM, becomes one to its part, or its whole, of the
 * class TO. */
struct mt_error *mt_compile_class_move(struct mt_compiler *compiler, struct mt_type *from,
				       struct mt_type *to);
/* The member of *WHOLE, a structure, that NODE names. */
struct mt_error *mt_compile_member_of(struct mt_compiler *compiler, const struct mt_node *node,
				      struct mt_operand *whole, struct mt_operand *out);

/* binary.c */
struct mt_error *mt_compile_binary(struct mt_compiler *compiler, const struct mt_node *node,
				   struct mt_operand *out);
/* What OP makes of rax and rcx, of which one at least is a pointer. */
struct mt_error *mt_compile_pointers(struct mt_compiler *compiler, int op, struct mt_operand *left,
				     struct mt_operand *right, struct mt_operand *out);
/* The operands of a node with two, decayed: *LEFT and *RIGHT have their types, and their values
 * are in rax and rcx. */
struct mt_error *mt_compile_two(struct mt_compiler *compiler, const struct mt_node *node,
				struct mt_operand *left, struct mt_operand *right);

/* widen.c */
#define MT_FLOAT_DIGITS  24
#define MT_DOUBLE_DIGITS 53
/* rax, a whole number of TYPE, becomes a double; it is rounded to DIGITS bits where it has more. */
struct mt_error *mt_asm_widen_whole(struct mt_asm *code, struct mt_type *type, unsigned digits);
/* eax, a float, becomes a double. */
void mt_asm_widen_float(struct mt_asm *code);

/* floats.c */
static inline bool mt_is_float_type(struct mt_type *type)
{
	return mt_type_strip(type)->kind == MT_TYPE_FLOAT;
}
/* NODE's value is a floating-point number. */
bool mt_is_float(const struct mt_compiler *compiler, const struct mt_node *node);
/* A number, which is at hand, as a double in rax; a whole one as if it were of TYPE first. */
struct mt_error *mt_operand_to_double(struct mt_compiler *compiler, struct mt_operand *operand,
				      struct mt_type *type);
/* Two numbers, of which one has a floating-point type: OP of them. */
struct mt_error *mt_compile_float_binary(struct mt_compiler *compiler, const struct mt_node *node,
					 struct mt_operand *out);
/* The sign or the complement of such a number. */
struct mt_error *mt_compile_float_sign(struct mt_compiler *compiler, const struct mt_node *node,
				       struct mt_operand *out);
/* OPERAND becomes one of the floating-point type TO. */
struct mt_error *mt_cast_to_float(struct mt_compiler *compiler, struct mt_operand *operand,
				  struct mt_type *to);
/* OPERAND, a floating-point number, becomes a whole one in rax, as GDB casts them. */
struct mt_error *mt_cast_from_float(struct mt_compiler *compiler, struct mt_operand *operand);
/* OPERAND, of a floating-point type, becomes a whole number in rax: the bits that it has. */
struct mt_error *mt_operand_to_bits(struct mt_compiler *compiler, struct mt_operand *operand);
/* What was put off: behind that of reads. */
void mt_asm_floats_out_of_line(struct mt_asm *to);
/* A comparison with one at least: JUMP is the one for signed whole numbers, of which WANTED is. */
struct mt_error *mt_compile_floats(struct mt_compiler *compiler, const struct mt_node *node,
				   enum mt_asm_jump jump, bool wanted, struct mt_asm_label *label);
struct mt_error *mt_compile_float_truth(struct mt_compiler *compiler, const struct mt_node *node,
					bool wanted, struct mt_asm_label *label);

/* extended.c */
/* It is x87's long double. */
bool mt_is_extended(struct mt_type *type);
/* The same as mt_compile_floats(), of two numbers of which one is such a one. */
struct mt_error *mt_compile_extended(struct mt_compiler *compiler, const struct mt_node *node,
				     enum mt_asm_jump jump, bool wanted,
				     struct mt_asm_label *label);
struct mt_error *mt_compile_extended_truth(struct mt_compiler *compiler, const struct mt_node *node,
					   bool wanted, struct mt_asm_label *label);

/* record.c */
/* A value, as 64 bits, which may wait for others.  Errors: as mt_compile_node(); UNSUPPORTED (a
 * structure, an array). */
struct mt_error *mt_compile_recorded(struct mt_compiler *compiler,
				     struct mt_condition_value *value);
/* Those that wait. */
void mt_compile_waiting(struct mt_compiler *compiler);
/* The same, and the function's entry if that is to be recorded here: then what comes next is for a
 * trampoline that records nothing. */
void mt_compile_entry(struct mt_compiler *compiler);
/* The entry is not to be recorded here. */
void mt_asm_jump_unless_recording(struct mt_asm *to, struct mt_asm_label *label);
/* COUNT values, with the entry up to MT_ASM_MOST_TOGETHER, in one reservation. */
void mt_asm_record_with_entry(struct mt_asm *to, const struct mt_asm_recorded *values,
			      unsigned count);
/* Behind that: to the trampoline, behind its recording.  What comes next is for one that records
 * nothing. */
void mt_asm_go_behind(struct mt_asm *to);
/* rax, which rcx has afterwards, becomes the value of SITE's. */
struct mt_error *mt_asm_record(struct mt_asm *to, uint32_t site);

/* text.c */
/* OPERAND is a string of a library's type, or a pointer to one: VALUE says so from here on, and
 * rax has its address, or that of its characters. */
struct mt_error *mt_compile_text(struct mt_compiler *compiler, struct mt_operand *operand,
				 struct mt_condition_value *value);
/* The bytes of a value that is a string. */
struct mt_error *mt_compile_string(struct mt_compiler *compiler,
				   const struct mt_condition_value *value);
/* The same of the last one, and of what waits; where that can be, with the function's entry. */
struct mt_error *mt_compile_last_string(struct mt_compiler *compiler,
					const struct mt_condition_value *value);

/* strings.c */
/* A call of $_strlen, or of $_mtrace_python_hash. */
struct mt_error *mt_compile_number_of(struct mt_compiler *compiler, const struct mt_node *call,
				      struct mt_operand *out);
/* As mt_compile_truth(), of a call of $_streq, $_memeq or $_regex. */
struct mt_error *mt_compile_function(struct mt_compiler *compiler, const struct mt_node *node,
				     bool wanted, struct mt_asm_label *label);

/* truth.c */
bool mt_is_logic(const struct mt_node *node);
/* Code that jumps to LABEL if NODE is as WANTED, and else goes on. */
struct mt_error *mt_compile_truth(struct mt_compiler *compiler, const struct mt_node *node,
				  bool wanted, struct mt_asm_label *label);

#endif
