/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a variable is: the operations of DWARF 5, sections 2.5 and 2.6. */
#include "values/machine.h"
#include "values/call_site.h"
#include "values/libraries.h"

#include <dwarf.h>
#include <string.h>

#define MOST_STEPS   10000
#define MOST_NESTING 8

static uint64_t register_value(struct mt_machine *machine, uint64_t number)
{
	const struct mt_expr_frame *frame = machine->eval->frame;
	uint64_t value = 0;

	if (!frame->ops || !frame->ops->get_register || number > UINT8_MAX ||
	    !frame->ops->get_register(frame->context, (unsigned)number, &value, sizeof(value)))
		mt_machine_fail(machine, mt_value_optimized_out());
	return value;
}

static void dereference(struct mt_machine *machine, uint64_t size)
{
	const struct mt_expr_frame *frame = machine->eval->frame;
	uint64_t address = mt_machine_pop(machine), value = 0;

	if (machine->error)
		return;
	if (size > sizeof(value))
		mt_machine_fail(machine, mt_machine_garbled());
	else if (!frame->ops || frame->ops->read(frame->context, address, &value, size) != size)
		mt_machine_fail(machine, mt_error_new(MT_ERROR_NOT_FOUND,
						      "Cannot access memory at address 0x%llx",
						      (unsigned long long)address));
	mt_machine_push(machine, value);
}

static void push_cfa(struct mt_machine *machine)
{
	uint64_t cfa = 0;

	if (!mt_frame_cfa(machine->eval, &cfa))
		mt_machine_fail(machine, mt_value_optimized_out());
	mt_machine_push(machine, cfa);
}

/* DW_AT_frame_base gives an address, or a register that holds one. */
static void push_frame_base(struct mt_machine *machine, uint64_t offset)
{
	const struct mt_variable *variable = machine->variable;
	struct mt_pieces *pieces;

	if (!variable || !variable->frame_base || machine->eval->depth >= MOST_NESTING) {
		mt_machine_fail(machine, mt_machine_garbled());
		return;
	}
	if (variable->frame_base_count == 1 &&
	    variable->frame_base[0].atom == DW_OP_call_frame_cfa) {
		push_cfa(machine);
		mt_machine_push(machine, mt_machine_pop(machine) + offset);
		return;
	}
	pieces = mt_arena_zalloc(machine->eval->arena, sizeof(*pieces));
	if (!pieces) {
		mt_machine_fail(machine, mt_error_no_memory());
		return;
	}
	machine->eval->depth++;
	mt_machine_fail(machine, mt_machine_run(machine->eval, variable, variable->frame_base,
						variable->frame_base_count, 0, pieces));
	machine->eval->depth--;
	if (machine->error)
		return;
	if (pieces->count == 1 && pieces->items[0].kind == MT_PIECE_REGISTER)
		mt_machine_push(machine,
				register_value(machine, pieces->items[0].register_number) + offset);
	else if (pieces->count == 1)
		mt_machine_push(machine, pieces->items[0].value + offset);
	else
		mt_machine_fail(machine, mt_machine_garbled());
}

/* Typed stacks: whole numbers are cut to the type's size and get its sign. */
static void convert(struct mt_machine *machine, const Dwarf_Op *operation)
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
		mt_machine_fail(
		    machine,
		    mt_error_new(
			MT_ERROR_UNSUPPORTED,
			"unsupported DWARF location: it computes with a non-integer type"));
		return;
	}
	mt_machine_push(machine,
			mt_extend(mt_machine_pop(machine), (unsigned)size * 8,
				  encoding == DW_ATE_signed || encoding == DW_ATE_signed_char));
}

static bool compute(struct mt_machine *machine, const Dwarf_Op *operation)
{
	uint64_t value;

	switch (operation->atom) {
	case DW_OP_abs:
		value = mt_machine_pop(machine);
		mt_machine_push(machine, value >> 63 ? -value : value);
		return true;
	case DW_OP_neg:
		mt_machine_push(machine, -mt_machine_pop(machine));
		return true;
	case DW_OP_not:
		mt_machine_push(machine, ~mt_machine_pop(machine));
		return true;
	case DW_OP_plus_uconst:
		mt_machine_push(machine, mt_machine_pop(machine) + operation->number);
		return true;
	case DW_OP_deref:
		dereference(machine, sizeof(uint64_t));
		return true;
	case DW_OP_deref_size:
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
		mt_machine_push(machine, register_value(machine, operation->number));
		return true;
	default:
		return mt_machine_combine(machine, operation->atom);
	}
}

static void jump(struct mt_machine *machine, const Dwarf_Op *operation)
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

static void set_current(struct mt_machine *machine, struct mt_piece piece)
{
	machine->current = piece;
	machine->has_current = true;
}

static void set_bytes(struct mt_machine *machine)
{
	const Dwarf_Op *operation = &machine->operations[machine->next - 1];
	Dwarf_Attribute attribute = machine->variable->attribute;
	Dwarf_Block block;

	if (dwarf_getlocation_implicit_value(&attribute, operation, &block))
		mt_machine_fail(machine, mt_machine_garbled());
	else
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_BYTES,
						       .bytes = block.data,
						       .byte_count = block.length});
}

static void set_pointer(struct mt_machine *machine, const Dwarf_Op *operation)
{
	struct mt_implicit *implicit = mt_arena_zalloc(machine->eval->arena, sizeof(*implicit));
	Dwarf_Attribute attribute = machine->variable->attribute;

	if (!implicit) {
		mt_machine_fail(machine, mt_error_no_memory());
		return;
	}
	if (dwarf_getlocation_die(&attribute, operation, &implicit->die)) {
		mt_machine_fail(machine, mt_machine_garbled());
		return;
	}
	implicit->offset = (int64_t)operation->number2;
	implicit->variable = *machine->variable;
	set_current(machine, (struct mt_piece){.kind = MT_PIECE_POINTER, .implicit = implicit});
}

static void end_piece(struct mt_machine *machine, uint64_t bit_size, uint64_t bit_offset)
{
	struct mt_piece piece = {.kind = MT_PIECE_NOWHERE};

	if (machine->has_current)
		piece = machine->current;
	else if (machine->depth)
		piece =
		    (struct mt_piece){.kind = MT_PIECE_MEMORY, .value = mt_machine_pop(machine)};
	piece.bit_size = bit_size;
	piece.bit_offset = bit_offset;
	machine->has_current = false;
	if (machine->pieces->count == MT_PIECES_MOST)
		mt_machine_fail(machine, mt_machine_garbled());
	else
		machine->pieces->items[machine->pieces->count++] = piece;
}

static bool is_register(const Dwarf_Op *operation, unsigned *number)
{
	bool is_numbered = operation->atom == DW_OP_regx || operation->atom == DW_OP_regval_type ||
			   operation->atom == DW_OP_GNU_regval_type;

	*number =
	    is_numbered ? (unsigned)operation->number : (unsigned)(operation->atom - DW_OP_reg0);
	return is_numbered || (operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31);
}

static void entry_value(struct mt_machine *machine)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Op *operations;
	size_t count;
	uint64_t value = 0;
	const Dwarf_Op *operation = &machine->operations[machine->next - 1];
	unsigned number;

	if (dwarf_getlocation_attr(&attribute, operation, &inner) ||
	    dwarf_getlocation(&inner, &operations, &count) || count != 1 ||
	    !is_register(&operations[0], &number)) {
		mt_machine_fail(machine, mt_value_optimized_out());
		return;
	}
	mt_machine_fail(machine,
			mt_call_site_register(machine->eval, machine->variable, number, &value));
	mt_machine_push(machine, value);
}

static void push_tls(struct mt_machine *machine)
{
	uint64_t offset = mt_machine_pop(machine), address = 0;

	if (!machine->error)
		mt_machine_fail(machine, mt_tls_address(machine->eval, machine->variable->module,
							offset, &address));
	mt_machine_push(machine, address);
}

/* DWARF's own addresses are the file's; so are those of split units' .debug_addr. */
static void push_indexed(struct mt_machine *machine, const Dwarf_Op *operation, bool is_address)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Addr address = 0;
	Dwarf_Word number = 0;

	bool is_there = dwarf_getlocation_attr(&attribute, operation, &inner) == 0;

	if (is_there && is_address && dwarf_formaddr(&inner, &address) == 0)
		mt_machine_push(machine, address + machine->variable->module->bias);
	else if (is_there && !is_address && dwarf_formudata(&inner, &number) == 0)
		mt_machine_push(machine, number);
	else
		mt_machine_fail(machine, mt_machine_garbled());
}

/* A constant's bytes; what they mean its user knows. */
static void push_typed(struct mt_machine *machine, const Dwarf_Op *operation)
{
	Dwarf_Attribute attribute = machine->variable->attribute, inner;
	Dwarf_Block block;
	uint64_t value = 0;

	if (dwarf_getlocation_attr(&attribute, operation, &inner) ||
	    dwarf_formblock(&inner, &block) || block.length > sizeof(value))
		mt_machine_fail(machine, mt_machine_garbled());
	else
		memcpy(&value, block.data, block.length);
	mt_machine_push(machine, value);
}

static void run_other(struct mt_machine *machine, const Dwarf_Op *operation)
{
	switch (operation->atom) {
	case DW_OP_addr:
		mt_machine_push(machine,
				operation->number +
				    (machine->variable ? machine->variable->module->bias : 0));
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
		mt_machine_push(machine,
				register_value(machine, operation->number) + operation->number2);
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
		mt_machine_push(machine, machine->object);
		break;
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		push_tls(machine);
		break;
	case DW_OP_stack_value:
		set_current(machine, (struct mt_piece){.kind = MT_PIECE_VALUE,
						       .value = mt_machine_pop(machine)});
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
		if (mt_machine_pop(machine))
			jump(machine, operation);
		break;
	case DW_OP_GNU_uninit:
		break;
	default:
		mt_machine_fail(machine, mt_error_new(MT_ERROR_UNSUPPORTED,
						      "Unhandled dwarf expression opcode 0x%x",
						      operation->atom));
	}
}

static void run_one(struct mt_machine *machine, const Dwarf_Op *operation)
{
	uint8_t atom = operation->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		mt_machine_push(machine, (uint64_t)(atom - DW_OP_lit0));
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		mt_machine_push(machine, operation->number);
	else if (atom == DW_OP_const_type || atom == DW_OP_GNU_const_type)
		push_typed(machine, operation);
	else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
		mt_machine_push(machine, register_value(machine, (uint64_t)(atom - DW_OP_breg0)) +
					     operation->number);
	else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
		set_current(machine,
			    (struct mt_piece){.kind = MT_PIECE_REGISTER,
					      .register_number = (uint8_t)(atom - DW_OP_reg0)});
	else if (!mt_machine_rearrange(machine, operation) && !compute(machine, operation))
		run_other(machine, operation);
}

struct mt_error *mt_machine_run(struct mt_eval *eval, const struct mt_variable *variable,
				const Dwarf_Op *operations, size_t count, uint64_t object,
				struct mt_pieces *out)
{
	struct mt_machine machine = {.eval = eval,
				     .variable = variable,
				     .operations = operations,
				     .count = count,
				     .object = object,
				     .pieces = out};

	out->count = 0;
	for (size_t steps = 0; machine.next < count && !machine.error; steps++) {
		if (steps == MOST_STEPS) {
			mt_machine_fail(&machine, mt_machine_garbled());
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
		return mt_machine_garbled();
	mt_try(mt_machine_run(eval, &with, operations, count, object, pieces));
	if (pieces->count != 1)
		return mt_machine_garbled();
	if (pieces->items[0].kind == MT_PIECE_REGISTER) {
		struct mt_machine machine = {.eval = eval};

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
