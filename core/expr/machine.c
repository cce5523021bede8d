/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a variable is: the operations of DWARF 5, sections 2.5 and 2.6. */
#include "expr/scope.h"

#include <dwarf.h>
#include <string.h>

#define MOST_VALUES  128
#define MOST_STEPS   10000
#define MOST_NESTING 8

struct machine {
	struct mt_eval *eval;
	const struct mt_variable *variable;
	const Dwarf_Op *operations;
	size_t count, next;
	uint64_t values[MOST_VALUES];
	size_t depth;
	uint64_t object;
	struct mt_pieces *pieces;
	struct mt_piece current; /* what the operations since the last piece say */
	bool has_current;
	struct mt_error *error;
};

static void fail(struct machine *machine, struct mt_error *error)
{
	if (machine->error)
		mt_error_destroy(error);
	else
		machine->error = error;
}

static struct mt_error *garbled(void)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "the location in DWARF makes no sense (garbled debug information?)");
}

static void push(struct machine *machine, uint64_t value)
{
	if (machine->depth == MOST_VALUES)
		fail(machine, garbled());
	else
		machine->values[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->depth)
		return machine->values[--machine->depth];
	fail(machine, garbled());
	return 0;
}

static void pick(struct machine *machine, uint64_t index)
{
	if (index < machine->depth)
		push(machine, machine->values[machine->depth - 1 - index]);
	else
		fail(machine, garbled());
}

static uint64_t register_value(struct machine *machine, uint64_t number)
{
	const struct mt_expr_frame *frame = machine->eval->frame;
	uint64_t value = 0;

	if (!frame->ops || !frame->ops->get_register || number > UINT8_MAX ||
	    !frame->ops->get_register(frame->context, (unsigned)number, &value, sizeof(value)))
		fail(machine, mt_value_optimized_out());
	return value;
}

static void dereference(struct machine *machine, uint64_t size)
{
	const struct mt_expr_frame *frame = machine->eval->frame;
	uint64_t address = pop(machine), value = 0;

	if (machine->error)
		return;
	if (size > sizeof(value))
		fail(machine, garbled());
	else if (!frame->ops || frame->ops->read(frame->context, address, &value, size) != size)
		fail(machine,
		     mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
				  (unsigned long long)address));
	push(machine, value);
}

static void push_cfa(struct machine *machine)
{
	uint64_t cfa = 0;

	if (!mt_frame_cfa(machine->eval, &cfa))
		fail(machine, mt_value_optimized_out());
	push(machine, cfa);
}

/* DW_AT_frame_base gives an address, or a register that holds one. */
static void push_frame_base(struct machine *machine, uint64_t offset)
{
	const struct mt_variable *variable = machine->variable;
	struct mt_pieces *pieces;

	if (!variable || !variable->frame_base || machine->eval->depth >= MOST_NESTING) {
		fail(machine, garbled());
		return;
	}
	if (variable->frame_base_count == 1 &&
	    variable->frame_base[0].atom == DW_OP_call_frame_cfa) {
		push_cfa(machine);
		push(machine, pop(machine) + offset);
		return;
	}
	pieces = mt_arena_zalloc(machine->eval->arena, sizeof(*pieces));
	if (!pieces) {
		fail(machine, mt_error_no_memory());
		return;
	}
	machine->eval->depth++;
	fail(machine, mt_machine_run(machine->eval, variable, variable->frame_base,
				     variable->frame_base_count, 0, pieces));
	machine->eval->depth--;
	if (machine->error)
		return;
	if (pieces->count == 1 && pieces->items[0].kind == MT_PIECE_REGISTER)
		push(machine, register_value(machine, pieces->items[0].register_number) + offset);
	else if (pieces->count == 1)
		push(machine, pieces->items[0].value + offset);
	else
		fail(machine, garbled());
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

static uint64_t compare(uint8_t atom, int64_t left, int64_t right)
{
	switch (atom) {
	case DW_OP_eq:
		return left == right;
	case DW_OP_ne:
		return left != right;
	case DW_OP_ge:
		return left >= right;
	case DW_OP_gt:
		return left > right;
	case DW_OP_le:
		return left <= right;
	default:
		return left < right;
	}
}

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
	else
		push(machine, compare(atom, (int64_t)left, (int64_t)right));
	return true;
}

static bool rearrange(struct machine *machine, const Dwarf_Op *operation)
{
	uint64_t first, second, third;

	switch (operation->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		pick(machine, 0);
		return true;
	case DW_OP_drop:
		pop(machine);
		return true;
	case DW_OP_over:
		pick(machine, 1);
		return true;
	case DW_OP_pick:
		pick(machine, operation->number);
		return true;
	case DW_OP_swap:
		first = pop(machine);
		second = pop(machine);
		push(machine, first);
		push(machine, second);
		return true;
	case DW_OP_rot:
		first = pop(machine);
		second = pop(machine);
		third = pop(machine);
		push(machine, first);
		push(machine, third);
		push(machine, second);
		return true;
	default:
		return false;
	}
}

/* Typed stacks: whole numbers are cut to the type's size and get its sign. */
static void convert(struct machine *machine, const Dwarf_Op *operation)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Die type;
	Dwarf_Word size = 0, encoding = 0;

	if (!operation->number)
		return;
	if (dwarf_getlocation_die(&attribute, operation, &type) ||
	    !dwarf_attr(&type, DW_AT_byte_size, &inner) || dwarf_formudata(&inner, &size) ||
	    !dwarf_attr(&type, DW_AT_encoding, &inner) || dwarf_formudata(&inner, &encoding) ||
	    encoding == DW_ATE_float || size > 8) {
		fail(machine, mt_error_new(MT_ERROR_UNSUPPORTED,
					   "DWARF computes a location by a type that is no whole "
					   "number"));
		return;
	}
	push(machine, mt_extend(pop(machine), (unsigned)size * 8,
				encoding == DW_ATE_signed || encoding == DW_ATE_signed_char));
}

static bool compute(struct machine *machine, const Dwarf_Op *operation)
{
	uint64_t value;

	switch (operation->atom) {
	case DW_OP_abs:
		value = pop(machine);
		push(machine, value >> 63 ? -value : value);
		return true;
	case DW_OP_neg:
		push(machine, -pop(machine));
		return true;
	case DW_OP_not:
		push(machine, ~pop(machine));
		return true;
	case DW_OP_plus_uconst:
		push(machine, pop(machine) + operation->number);
		return true;
	case DW_OP_deref:
		dereference(machine, sizeof(uint64_t));
		return true;
	case DW_OP_deref_size:
		dereference(machine, operation->number);
		return true;
	case DW_OP_deref_type:
	case DW_OP_GNU_deref_type:
		dereference(machine, operation->number);
		return true;
	case DW_OP_convert:
	case DW_OP_GNU_convert:
		convert(machine, operation);
		return true;
	case DW_OP_reinterpret:
	case DW_OP_GNU_reinterpret:
		return true;
	case DW_OP_regval_type:
	case DW_OP_GNU_regval_type:
		push(machine, register_value(machine, operation->number));
		return true;
	default:
		return combine(machine, operation->atom);
	}
}

static void jump(struct machine *machine, const Dwarf_Op *operation)
{
	/* libdw gives the operand alone: from behind this operation, 3 bytes. */
	uint64_t target = operation->offset + 3 + (uint64_t)(int64_t)(int16_t)operation->number;

	for (size_t i = 0; i < machine->count; i++) {
		if (machine->operations[i].offset != target)
			continue;
		machine->next = i;
		return;
	}
	machine->next = machine->count;
}

static void set_current(struct machine *machine, struct mt_piece piece)
{
	machine->current = piece;
	machine->has_current = true;
}

static void set_bytes(struct machine *machine)
{
	const Dwarf_Op *operation = &machine->operations[machine->next - 1];
	Dwarf_Attribute attribute = machine->variable->attribute;
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(&attribute, operation, &block))
		fail(machine, garbled());
	else
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_BYTES,
						       .bytes = block.data,
						       .byte_count = block.length});
}

static void set_pointer(struct machine *machine, const Dwarf_Op *operation)
{
	struct mt_implicit *implicit = mt_arena_zalloc(machine->eval->arena, sizeof(*implicit));
	Dwarf_Attribute attribute = machine->variable->attribute;

	if (!implicit) {
		fail(machine, mt_error_no_memory());
		return;
	}
	if (dwarf_getlocation_die(&attribute, operation, &implicit->die)) {
		fail(machine, garbled());
		return;
	}
	implicit->offset = (int64_t)operation->number2;
	implicit->variable = *machine->variable;
	set_current(machine, (struct mt_piece){.kind = MT_PIECE_POINTER, .implicit = implicit});
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
		fail(machine, garbled());
	else
		machine->pieces->items[machine->pieces->count++] = piece;
}

static void entry_value(struct machine *machine)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Op *operations;
	size_t count;
	uint64_t value = 0;
	const Dwarf_Op *operation = &machine->operations[machine->next - 1];

	if (dwarf_getlocation_attr(&attribute, operation, &inner) ||
	    dwarf_getlocation(&inner, &operations, &count) || count != 1 ||
	    operations[0].atom < DW_OP_reg0 || operations[0].atom > DW_OP_regx) {
		fail(machine, mt_value_optimized_out());
		return;
	}
	fail(machine, mt_call_site_register(machine->eval, machine->variable,
					    operations[0].atom == DW_OP_regx
						? (unsigned)operations[0].number
						: (unsigned)(operations[0].atom - DW_OP_reg0),
					    &value));
	push(machine, value);
}

static void push_tls(struct machine *machine)
{
	uint64_t offset = pop(machine), address = 0;

	if (!machine->error)
		fail(machine,
		     mt_tls_address(machine->eval, machine->variable->module, offset, &address));
	push(machine, address);
}

/* DWARF's own addresses are the file's; so are those of split units' .debug_addr. */
static void push_indexed(struct machine *machine, const Dwarf_Op *operation, bool is_address)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Addr address = 0;
	Dwarf_Word number = 0;

	if (dwarf_getlocation_attr(&attribute, operation, &inner))
		fail(machine, garbled());
	else if (is_address && dwarf_formaddr(&inner, &address) == 0)
		push(machine, address + machine->variable->module->bias);
	else if (!is_address && dwarf_formudata(&inner, &number) == 0)
		push(machine, number);
	else
		fail(machine, garbled());
}

/* A constant's bytes; what they mean its user knows. */
static void push_typed(struct machine *machine, const Dwarf_Op *operation)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Block block;
	uint64_t value = 0;

	if (dwarf_getlocation_attr(&attribute, operation, &inner) ||
	    dwarf_formblock(&inner, &block) || block.length > sizeof(value))
		fail(machine, garbled());
	else
		memcpy(&value, block.data, block.length);
	push(machine, value);
}

static void run_other(struct machine *machine, const Dwarf_Op *operation)
{
	switch (operation->atom) {
	case DW_OP_addr:
		push(machine,
		     operation->number + (machine->variable ? machine->variable->module->bias : 0));
		break;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		push_indexed(machine, operation, true);
		break;
	case DW_OP_constx:
	case DW_OP_GNU_const_index:
		push_indexed(machine, operation, false);
		break;
	case DW_OP_fbreg:
		push_frame_base(machine, operation->number);
		break;
	case DW_OP_bregx:
		push(machine, register_value(machine, operation->number) + operation->number2);
		break;
	case DW_OP_regx:
		set_current(machine,
			    (struct mt_piece){.kind = MT_PIECE_REGISTER,
					      .register_number = (uint8_t)operation->number});
		break;
	case DW_OP_call_frame_cfa:
		push_cfa(machine);
		break;
	case DW_OP_push_object_address:
		push(machine, machine->object);
		break;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		push_tls(machine);
		break;
	case DW_OP_stack_value:
		set_current(machine,
			    (struct mt_piece){.kind = MT_PIECE_VALUE, .value = pop(machine)});
		break;
	case DW_OP_implicit_value:
		set_bytes(machine);
		break;
	case DW_OP_implicit_pointer:
	case DW_OP_GNU_implicit_pointer:
		set_pointer(machine, operation);
		break;
	case DW_OP_piece:
		end_piece(machine, operation->number * 8, 0);
		break;
	case DW_OP_bit_piece:
		end_piece(machine, operation->number, operation->number2);
		break;
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		entry_value(machine);
		break;
	case DW_OP_skip:
		jump(machine, operation);
		break;
	case DW_OP_bra:
		if (pop(machine))
			jump(machine, operation);
		break;
	case DW_OP_GNU_uninit:
		break;
	default:
		fail(machine,
		     mt_error_new(MT_ERROR_UNSUPPORTED, "Unhandled dwarf expression opcode 0x%x",
				  operation->atom));
	}
}

static void run_one(struct machine *machine, const Dwarf_Op *operation)
{
	uint8_t atom = operation->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		push(machine, (uint64_t)(atom - DW_OP_lit0));
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		push(machine, operation->number);
	else if (atom == DW_OP_const_type || atom == DW_OP_GNU_const_type)
		push_typed(machine, operation);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		push(machine,
		     register_value(machine, (uint64_t)(atom - DW_OP_breg0)) + operation->number);
	else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		set_current(machine,
			    (struct mt_piece){.kind = MT_PIECE_REGISTER,
					      .register_number = (uint8_t)(atom - DW_OP_reg0)});
	else if (!rearrange(machine, operation) && !compute(machine, operation))
		run_other(machine, operation);
}

struct mt_error *mt_machine_run(struct mt_eval *eval, const struct mt_variable *variable,
				const Dwarf_Op *operations, size_t count, uint64_t object,
				struct mt_pieces *out)
{
	struct machine machine = {.eval = eval,
				  .variable = variable,
				  .operations = operations,
				  .count = count,
				  .object = object,
				  .pieces = out};

	out->count = 0;
	for (size_t steps = 0; machine.next < count && !machine.error; steps++) {
		if (steps == MOST_STEPS) {
			fail(&machine, garbled());
			break;
		}
		machine.next++;
		run_one(&machine, &operations[machine.next - 1]);
	}
	if (!machine.error && !out->count)
		end_piece(&machine, 0, 0);
	return machine.error;
}

struct mt_error *mt_machine_number(struct mt_eval *eval, const struct mt_variable *variable,
				   Dwarf_Attribute *attribute, uint64_t object, uint64_t *number)
{
	struct mt_variable with = *variable;
	struct mt_pieces *pieces = mt_arena_zalloc(eval->arena, sizeof(*pieces));
	Dwarf_Op *operations;
	size_t count;

	if (!pieces)
		return mt_error_no_memory();
	with.attribute = *attribute;
	if (dwarf_getlocation(attribute, &operations, &count))
		return garbled();
	mt_try(mt_machine_run(eval, &with, operations, count, object, pieces));
	if (pieces->count != 1)
		return garbled();
	if (pieces->items[0].kind == MT_PIECE_REGISTER) {
		struct machine machine = {.eval = eval};

		*number = register_value(&machine, pieces->items[0].register_number);
		return machine.error;
	}
	*number = pieces->items[0].value;
	if (pieces->items[0].kind == MT_PIECE_BYTES) {
		*number = 0;
		memcpy(number, pieces->items[0].bytes,
		       pieces->items[0].byte_count < 8 ? pieces->items[0].byte_count : 8);
	}
	return NULL;
}
