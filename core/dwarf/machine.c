/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dwarf/machine.h"

#include <dwarf.h>
#include <string.h>

#define MOST_VALUES 128
#define MOST_STEPS  10000

struct machine {
	const struct mt_machine_program *program;
	size_t next; /* operation */
	uint64_t values[MOST_VALUES];
	size_t depth;
	struct mt_pieces *pieces;
	struct mt_piece current; /* what the operations since the last piece say */
	bool has_current;
	struct mt_error *error;
};

struct mt_error *mt_machine_garbled(void)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "invalid DWARF location (the debug information may be damaged)");
}

/* The first error counts; ERROR is taken, NULL is fine. */
static void fail(struct machine *machine, struct mt_error *error)
{
	if (machine->error)
		mt_error_destroy(error);
	else
		machine->error = error;
}

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == MOST_VALUES)
		fail(machine, mt_machine_garbled());
	else
		machine->values[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth)
		return machine->values[--machine->depth];
	fail(machine, mt_machine_garbled());
	return 0;
}

/* 0 is the top. */
static void pick(struct machine *machine, uint64_t index)
{
	if (index < machine->depth)
		push(machine, machine->values[machine->depth - 1 - index]);
	else
		fail(machine, mt_machine_garbled());
}

static void push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	const struct mt_machine_program *program = machine->program;
	uint64_t value = 0;

	fail(machine, program->ops->get_register(program->context, number, &value));
	push(machine, value + offset);
}

static void dereference(struct machine *machine, uint64_t size)
{
	const struct mt_machine_program *program = machine->program;
	uint64_t address = pop(machine), value = 0;

	if (size > sizeof(value))
		fail(machine, mt_machine_garbled());
	else if (!machine->error)
		fail(machine, program->ops->read(program->context, address, &value, size));
	push(machine, value);
}

static uint64_t shift(uint8_t atom, uint64_t value, uint64_t by)
{
	bool negative = atom == DW_OP_shra && value >> 63;

	if (by > 63)
		return negative ? UINT64_MAX : 0;
	if (atom == DW_OP_shl)
		return value << by;
	return value >> by | (negative && by ? UINT64_MAX << (64 - by) : 0);
}

static uint64_t divide(struct machine *machine, uint8_t atom, uint64_t left, uint64_t right)
{
	if (!right) {
		fail(machine, mt_error_new(MT_ERROR_FORMAT, "Division by zero"));
		return 0;
	}
	if (atom == DW_OP_mod)
		return left % right;
	return (int64_t)right == -1 ? -left : (uint64_t)((int64_t)left / (int64_t)right);
}

/* Operations with two operands (2.5.1.4, 2.5.1.5).  False: it is none. */
static bool combine(struct machine *machine, uint8_t atom)
{
	uint64_t right, left;

	if (!((atom >= DW_OP_and && atom <= DW_OP_plus && atom != DW_OP_neg && atom != DW_OP_not) ||
	      (atom >= DW_OP_shl && atom <= DW_OP_xor) || (atom >= DW_OP_eq && atom <= DW_OP_ne)))
		return false;
	right = pop(machine);
	left = pop(machine);
	if (atom == DW_OP_and)
		push(machine, left & right);
	else if (atom == DW_OP_or)
		push(machine, left | right);
	else if (atom == DW_OP_xor)
		push(machine, left ^ right);
	else if (atom == DW_OP_plus)
		push(machine, left + right);
	else if (atom == DW_OP_minus)
		push(machine, left - right);
	else if (atom == DW_OP_mul)
		push(machine, left * right);
	else if (atom == DW_OP_div || atom == DW_OP_mod)
		push(machine, divide(machine, atom, left, right));
	else if (atom == DW_OP_shl || atom == DW_OP_shr || atom == DW_OP_shra)
		push(machine, shift(atom, left, right));
	else if (atom == DW_OP_eq)
		push(machine, left == right);
	else if (atom == DW_OP_ne)
		push(machine, left != right);
	else if (atom == DW_OP_ge)
		push(machine, (int64_t)left >= (int64_t)right);
	else if (atom == DW_OP_gt)
		push(machine, (int64_t)left > (int64_t)right);
	else if (atom == DW_OP_le)
		push(machine, (int64_t)left <= (int64_t)right);
	else
		push(machine, (int64_t)left < (int64_t)right);
	return true;
}

/* Operations with an operand or none that need the stack alone.  False: it is none. */
static bool rearrange(struct machine *machine, const Dwarf_Op *operation)
{
	uint64_t first, second, third;

	switch (operation->atom) {
	case DW_OP_nop:
	case DW_OP_GNU_uninit:
	case DW_OP_reinterpret:
	case DW_OP_GNU_reinterpret:
		break;
	case DW_OP_dup:
		pick(machine, 0);
		break;
	case DW_OP_drop:
		pop(machine);
		break;
	case DW_OP_over:
		pick(machine, 1);
		break;
	case DW_OP_pick:
		pick(machine, operation->number);
		break;
	case DW_OP_swap:
		first = pop(machine);
		second = pop(machine);
		push(machine, first);
		push(machine, second);
		break;
	case DW_OP_rot:
		first = pop(machine);
		second = pop(machine);
		third = pop(machine);
		push(machine, first);
		push(machine, third);
		push(machine, second);
		break;
	case DW_OP_abs:
		first = pop(machine);
		push(machine, first >> 63 ? -first : first);
		break;
	case DW_OP_neg:
		push(machine, -pop(machine));
		break;
	case DW_OP_not:
		push(machine, ~pop(machine));
		break;
	case DW_OP_plus_uconst:
		push(machine, pop(machine) + operation->number);
		break;
	default:
		return combine(machine, operation->atom);
	}
	return true;
}

static void jump(struct machine *machine, const Dwarf_Op *operation)
{
	const struct mt_machine_program *program = machine->program;
	/* libdw gives the operand alone: from behind this operation, 3 bytes. */
	uint64_t target = operation->offset + 3 + (uint64_t)(int64_t)(int16_t)operation->number;

	machine->next = 0;
	while (machine->next < program->count &&
	       program->operations[machine->next].offset != target)
		machine->next++;
}

/* Typed stacks: whole numbers are cut to the type's size and get its sign. */
static void convert(struct machine *machine, Dwarf_Attribute *attribute, const Dwarf_Op *operation)
{
	Dwarf_Attribute inner;
	Dwarf_Die type;
	Dwarf_Word size = 0, encoding = 0;

	if (!operation->number)
		return;
	if (dwarf_getlocation_die(attribute, operation, &type) ||
	    !dwarf_attr(&type, DW_AT_byte_size, &inner) || dwarf_formudata(&inner, &size) ||
	    !dwarf_attr(&type, DW_AT_encoding, &inner) || dwarf_formudata(&inner, &encoding) ||
	    encoding == DW_ATE_float || size > 8) {
		fail(machine,
		     mt_error_new(
			 MT_ERROR_UNSUPPORTED,
			 "unsupported DWARF location: it computes with a non-integer type"));
		return;
	}
	push(machine, mt_extend(pop(machine), (unsigned)size * 8,
				encoding == DW_ATE_signed || encoding == DW_ATE_signed_char));
}

static void set_current(struct machine *machine, struct mt_piece piece)
{
	machine->current = piece;
	machine->has_current = true;
}

static void end_piece(struct machine *machine, uint64_t bit_size, uint64_t bit_offset)
{
	struct mt_piece piece = {.kind = MT_PIECE_NOWHERE};

	if (machine->has_current)
		piece = machine->current;
	else if (machine->depth)
		piece = (struct mt_piece){.kind = MT_PIECE_MEMORY, .value = pop(machine)};
	piece.bit_size = bit_size;
	piece.bit_offset = bit_offset;
	machine->has_current = false;
	if (machine->pieces->count == MT_PIECES_MOST)
		fail(machine, mt_machine_garbled());
	else
		machine->pieces->items[machine->pieces->count++] = piece;
}

bool mt_machine_is_register(const Dwarf_Op *operation, unsigned *number)
{
	if (operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31)
		*number = (unsigned)(operation->atom - DW_OP_reg0);
	else if (operation->atom == DW_OP_regx)
		*number = (unsigned)operation->number;
	else
		return false;
	return true;
}

/* Anything but a register becomes the number of one that no call site has. */
static void push_entry_value(struct machine *machine, Dwarf_Attribute *attribute,
			     const Dwarf_Op *operation)
{
	const struct mt_machine_program *program = machine->program;
	Dwarf_Attribute inner;
	Dwarf_Op *operations;
	size_t count;
	uint64_t value = 0;
	unsigned number = UINT32_MAX;

	if (dwarf_getlocation_attr(attribute, operation, &inner) == 0 &&
	    dwarf_getlocation(&inner, &operations, &count) == 0 && count == 1 &&
	    !mt_machine_is_register(&operations[0], &number) &&
	    (operations[0].atom == DW_OP_regval_type ||
	     operations[0].atom == DW_OP_GNU_regval_type))
		number = (unsigned)operations[0].number;
	fail(machine, program->ops->get_entry_value(program->context, number, &value));
	push(machine, value);
}

/* Operations whose operand is another attribute, or stands in a section of its own.  False: it is
 * none. */
static bool run_attribute(struct machine *machine, const Dwarf_Op *operation)
{
	Dwarf_Attribute attribute = {0}, inner = {0};
	bool is_found = machine->program->attribute != NULL;
	Dwarf_Block block = {0};
	Dwarf_Addr address = 0;
	Dwarf_Word number = 0;
	uint64_t value = 0;

	if (is_found)
		attribute = *machine->program->attribute;
	switch (operation->atom) {
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		if (is_found)
			convert(machine, &attribute, operation);
		break;
	case DW_OP_implicit_value:
		is_found =
		    is_found && !dwarf_getlocation_implicit_value(&attribute, operation, &block);
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_BYTES,
						       .bytes = block.data,
						       .byte_count = block.length});
		break;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_POINTER,
						       .value = operation->number2});
		is_found = is_found &&
			   !dwarf_getlocation_die(&attribute, operation, &machine->current.die);
		break;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		is_found = is_found && !dwarf_getlocation_attr(&attribute, operation, &inner) &&
			   !dwarf_formaddr(&inner, &address);
		push(machine, address + machine->program->bias);
		break;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		is_found = is_found && !dwarf_getlocation_attr(&attribute, operation, &inner) &&
			   !dwarf_formudata(&inner, &number);
		push(machine, number);
		break;
	case DW_OP_const_type: /* a constant's bytes; what they mean its user knows */
	case DW_OP_GNU_const_type:
		is_found = is_found && !dwarf_getlocation_attr(&attribute, operation, &inner) &&
			   !dwarf_formblock(&inner, &block) && block.length <= sizeof(value);
		if (is_found)
			memcpy(&value, block.data, block.length);
		push(machine, value);
		break;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		is_found = is_found && machine->program->ops->get_entry_value;
		if (is_found)
			push_entry_value(machine, &attribute, operation);
		break;
	default:
		return false;
	}
	if (!is_found)
		fail(machine, mt_machine_garbled());
	return true;
}

/* Operations about the frame and the thread.  False: it is none. */
static bool run_frame(struct machine *machine, const Dwarf_Op *operation)
{
	const struct mt_machine_ops *ops = machine->program->ops;
	void *context = machine->program->context;
	uint64_t value = 0;
	unsigned number;

	if (mt_machine_is_register(operation, &number)) {
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_REGISTER,
						       .register_number = (uint8_t)number});
		return true;
	}
	switch (operation->atom) {
	case DW_OP_breg0 ... DW_OP_breg31:
		push_register(machine, (uint64_t)(operation->atom - DW_OP_breg0),
			      operation->number);
		break;
	case DW_OP_bregx:
		push_register(machine, operation->number, operation->number2);
		break;
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		push_register(machine, operation->number, 0);
		break;
	case DW_OP_deref:
		dereference(machine, sizeof(uint64_t));
		break;
	case DW_OP_deref_size:
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		dereference(machine, operation->number);
		break;
	case DW_OP_fbreg:
		fail(machine, ops->get_frame_base ? ops->get_frame_base(context, &value)
						  : mt_machine_garbled());
		push(machine, value + operation->number);
		break;
	case DW_OP_call_frame_cfa:
		fail(machine, ops->get_cfa(context, &value));
		push(machine, value);
		break;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		value = pop(machine);
		if (!machine->error)
			fail(machine, ops->get_tls ? ops->get_tls(context, value, &value)
						   : mt_machine_garbled());
		push(machine, value);
		break;
	default:
		return false;
	}
	return true;
}

static void run_one(struct machine *machine, const Dwarf_Op *operation)
{
	if (rearrange(machine, operation) || run_frame(machine, operation) ||
	    run_attribute(machine, operation))
		return;
	switch (operation->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		push(machine, (uint64_t)(operation->atom - DW_OP_lit0));
		break;
	case DW_OP_const1u ... DW_OP_consts:
		push(machine, operation->number);
		break;
	case DW_OP_addr:
		push(machine, operation->number + machine->program->bias);
		break;
	case DW_OP_stack_value:
		set_current(machine,
			    (struct mt_piece){.kind = MT_PIECE_VALUE, .value = pop(machine)});
		break;
	case DW_OP_piece:
		end_piece(machine, operation->number * 8, 0);
		break;
	case DW_OP_bit_piece:
		end_piece(machine, operation->number, operation->number2);
		break;
	case DW_OP_skip:
		jump(machine, operation);
		break;
	case DW_OP_bra:
		if (pop(machine))
			jump(machine, operation);
		break;
	default:
		fail(machine,
		     mt_error_new(MT_ERROR_UNSUPPORTED, "Unhandled dwarf expression opcode 0x%x",
				  operation->atom));
	}
}

struct mt_error *mt_machine_run(const struct mt_machine_program *program, struct mt_pieces *out)
{
	struct machine machine; /* not cleared: unwinders run many */

	machine.program = program;
	machine.next = machine.depth = 0;
	machine.pieces = out;
	machine.has_current = false;
	machine.error = NULL;
	out->count = 0;
	for (size_t steps = 0; machine.next < program->count && !machine.error; steps++) {
		if (steps == MOST_STEPS)
			fail(&machine, mt_machine_garbled());
		else
			run_one(&machine, &program->operations[machine.next++]);
	}
	if (!machine.error && !out->count)
		end_piece(&machine, 0, 0);
	return machine.error;
}

struct mt_error *mt_machine_number(const struct mt_machine_program *program, uint64_t *number)
{
	struct mt_pieces pieces;
	const struct mt_piece *piece = &pieces.items[0];

	mt_try(mt_machine_run(program, &pieces));
	if (pieces.count != 1)
		return mt_machine_garbled();
	if (piece->kind == MT_PIECE_REGISTER)
		return program->ops->get_register(program->context, piece->register_number, number);
	*number = piece->value;
	if (piece->kind == MT_PIECE_BYTES) {
		*number = 0;
		memcpy(number, piece->bytes, piece->byte_count < 8 ? piece->byte_count : 8);
	}
	return NULL;
}
