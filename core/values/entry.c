/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters at a function's very first instruction, and what a function returned: where the System
 * V ABI for AMD64 (section 3.2.3) puts them by their types.  DWARF's locations hold only behind the
 * prologue. */
#include "space/unwind.h"
#include "values/variable.h"

#include <dwarf.h>
#include <string.h>

static const uint8_t integer_registers[] = {5, 4, 1, 2, 8, 9}; /* rdi rsi rdx rcx r8 r9 */

#define SSE_REGISTERS 8
#define X87_BYTES     10
#define MOST_DEPTH    8

/* Classes of eightbytes: what is not a float alone is an integer. */
struct classes {
	bool is_integer[2];
	bool is_used[2];
	bool in_memory;
};

static void classify(struct mt_type *type, uint64_t offset, unsigned depth,
		     struct classes *classes);

static void classify(struct mt_type *type, uint64_t offset, unsigned depth, struct classes *classes)
{
	uint64_t size;

	type = mt_type_strip(type);
	size = mt_type_size(type);
	if (depth > MOST_DEPTH || offset + size > 16 || type->kind == MT_TYPE_ERROR) {
		classes->in_memory = true;
		return;
	}
	if (mt_type_is_aggregate(type)) {
		mt_type_expand(type);
		for (size_t i = 0; i < type->member_count && !classes->in_memory; i++) {
			const struct mt_member *member = &type->members[i];

			if (member->kind == MT_MEMBER_STATIC)
				continue;
			classes->in_memory |= member->is_virtual || member->is_artificial;
			classify(member->type, offset + member->offset, depth + 1, classes);
		}
		return;
	}
	if (type->kind == MT_TYPE_ARRAY) {
		uint64_t element = mt_type_size(mt_type_target(type));

		for (int64_t i = 0; element && i < type->count && !classes->in_memory; i++)
			classify(mt_type_target(type), offset + (uint64_t)i * element, depth + 1,
				 classes);
		return;
	}
	if ((type->kind == MT_TYPE_FLOAT || type->kind == MT_TYPE_COMPLEX) && size > 8 &&
	    !(type->kind == MT_TYPE_COMPLEX && size == 16)) {
		classes->in_memory = true; /* x87 */
		return;
	}
	for (uint64_t at = offset / 8; at <= (offset + size - (size > 0)) / 8 && at < 2; at++) {
		classes->is_used[at] = true;
		if (type->kind != MT_TYPE_FLOAT && type->kind != MT_TYPE_COMPLEX)
			classes->is_integer[at] = true;
	}
}

bool mt_entry_classes(struct mt_type *type, bool is_sse[2], size_t *count)
{
	struct classes classes = {0};

	classify(type, 0, 0, &classes);
	*count = (size_t)classes.is_used[0] + classes.is_used[1];
	if (classes.in_memory || (classes.is_used[1] && !classes.is_used[0]))
		return false;
	is_sse[0] = !classes.is_integer[0];
	is_sse[1] = !classes.is_integer[1];
	return true;
}

struct walk {
	size_t integers, floats;
	uint64_t stack;
};

static void take_stack(struct walk *walk, struct mt_type *type, struct mt_entry_location *out)
{
	uint64_t size = mt_type_size(type);
	struct mt_type *stripped = mt_type_strip(type);

	if (stripped->kind == MT_TYPE_FLOAT && size == 16)
		walk->stack = (walk->stack - 8 + 15) / 16 * 16 + 8;
	*out = (struct mt_entry_location){.stack = walk->stack};
	walk->stack += (size + 7) / 8 * 8;
}

static void take(struct walk *walk, struct mt_type *type, struct mt_entry_location *out)
{
	bool is_sse[2];
	size_t count = 0, floats = 0;

	*out = (struct mt_entry_location){0};
	if (!mt_entry_classes(type, is_sse, &count)) {
		take_stack(walk, type, out);
		return;
	}
	for (size_t i = 0; i < count; i++)
		floats += is_sse[i];
	if (walk->integers + count - floats > sizeof(integer_registers) ||
	    walk->floats + floats > SSE_REGISTERS) {
		take_stack(walk, type, out);
		return;
	}
	out->piece_count = (uint8_t)count;
	for (size_t i = 0; i < count; i++)
		out->registers[i] = is_sse[i] ? (uint8_t)(MT_REGISTER_XMM0 + walk->floats++)
					      : integer_registers[walk->integers++];
}

/* A class with a destructor or a copy constructor of its own is passed by reference (Itanium C++
 * ABI, 3.1.1). */
static bool is_nontrivial(struct mt_type *type)
{
	Dwarf_Die child;
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	type = mt_type_strip(type);
	if (!mt_type_is_aggregate(type) || !type->die.addr)
		return false;
	if (dwarf_attr(&type->die, DW_AT_calling_convention, &attribute) &&
	    dwarf_formudata(&attribute, &convention) == 0)
		return convention == DW_CC_pass_by_reference;
	if (dwarf_child(&type->die, &child))
		return false;
	do {
		const char *name =
		    dwarf_tag(&child) == DW_TAG_subprogram ? mt_die_name(&child) : NULL;

		if (name && name[0] == '~' && !mt_die_flag(&child, DW_AT_artificial))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool returns_in_memory(struct mt_module *module, Dwarf_Die *function)
{
	struct mt_type *type = mt_type_of(module, function);
	bool is_sse[2];
	size_t count;

	if (!type)
		return false;
	type = mt_type_strip(type);
	return mt_type_is_aggregate(type) &&
	       (is_nontrivial(type) || !mt_entry_classes(type, is_sse, &count));
}

/* By rules of its own: an optimizer took parameters, or the result, away (LLVM says so). */
static bool is_of_no_abi(Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	return dwarf_attr(function, DW_AT_calling_convention, &attribute) &&
	       dwarf_formudata(&attribute, &convention) == 0 && convention == DW_CC_nocall;
}

bool mt_entry_location(struct mt_module *module, Dwarf_Die *function, Dwarf_Die *parameter,
		       struct mt_entry_location *out)
{
	struct walk walk = {.integers = returns_in_memory(module, function), .stack = 8};
	enum mt_language language;
	Dwarf_Die child, unit;

	if (dwarf_child(function, &child) || !dwarf_diecu(function, &unit, NULL, NULL))
		return false;
	language = mt_unit_language(&unit);
	/* Go has an ABI of its own, which its DWARF describes at the entry, too. */
	if (language == MT_LANGUAGE_GO || is_of_no_abi(function))
		return false;
	do {
		struct mt_type *type;
		bool by_reference;

		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		type = mt_type_of(module, &child);
		if (type && language == MT_LANGUAGE_RUST && !mt_entry_is_as_in_c(type))
			return false;
		by_reference =
		    type && (is_nontrivial(type) || (language == MT_LANGUAGE_RUST &&
						     mt_type_is_aggregate(mt_type_strip(type)) &&
						     mt_type_size(type) > 16));
		if (by_reference)
			type = module->program->builtins[MT_BUILTIN_ULONG];
		if (!type)
			return false;
		take(&walk, type, out);
		out->by_reference = by_reference;
		if (child.addr == parameter->addr)
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool get_register(struct mt_eval *eval, unsigned number, void *bytes, size_t size)
{
	const struct mt_expr_frame *frame = eval->frame;

	return frame->ops && frame->ops->get_register &&
	       frame->ops->get_register(frame->context, number, bytes, size);
}

static struct mt_error *from_registers(struct mt_eval *eval, const uint8_t *registers, size_t count,
				       struct mt_value *out)
{
	uint64_t size = mt_type_size(out->type);

	mt_try(mt_value_room(eval, out, size));
	for (size_t i = 0; i < count && i * 8 < size; i++) {
		size_t part = size - i * 8 < 8 ? (size_t)(size - i * 8) : 8;

		if (registers[i] >= MT_REGISTER_ST0)
			part = X87_BYTES;
		if (!get_register(eval, registers[i], mt_value_bytes(out) + i * 8, part))
			out->is_optimized_out = true;
	}
	if (count == 1) {
		out->lval = MT_LVAL_REGISTER;
		out->register_number = registers[0];
	}
	return NULL;
}

struct mt_error *mt_entry_value(struct mt_eval *eval, const struct mt_variable *variable,
				struct mt_value *out)
{
	const struct mt_entry_location *place = &variable->entry;
	uint64_t address = 0;

	*out = mt_value_zero(variable->type);
	if (place->by_reference && place->piece_count == 1) {
		if (!get_register(eval, place->registers[0], &address, sizeof(address)))
			return mt_value_optimized_out();
		*out = mt_value_at(variable->type, address);
		return NULL;
	}
	if (place->piece_count)
		return from_registers(eval, place->registers, place->piece_count, out);
	if (!get_register(eval, MT_REGISTER_RSP, &address, sizeof(address)))
		return mt_value_optimized_out();
	*out = mt_value_at(variable->type, address + place->stack);
	return NULL;
}

/* rax and rdx, xmm0 and xmm1, st0, or the address in rax. */
static struct mt_error *returned(struct mt_eval *eval, struct mt_type *type, struct mt_value *out)
{
	struct mt_type *stripped = mt_type_strip(type);
	uint8_t registers[2] = {0};
	bool is_sse[2] = {false};
	size_t count = 0, integers = 0, floats = 0;
	uint64_t address;

	*out = mt_value_zero(type);
	if (stripped->kind == MT_TYPE_FLOAT && mt_type_size(stripped) == 16) {
		mt_try(mt_value_room(eval, out, 16));
		if (!get_register(eval, MT_REGISTER_ST0, mt_value_bytes(out), X87_BYTES))
			return mt_value_optimized_out();
		return NULL;
	}
	if (is_nontrivial(type) || !mt_entry_classes(type, is_sse, &count)) {
		if (!get_register(eval, MT_REGISTER_RAX, &address, sizeof(address)))
			return mt_value_optimized_out();
		*out = mt_value_at(type, address);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		registers[i] = is_sse[i] ? (uint8_t)(MT_REGISTER_XMM0 + floats++)
					 : (uint8_t)(MT_REGISTER_RAX + integers++);
	return from_registers(eval, registers, count, out);
}

struct go_walk {
	size_t integers, floats;
	struct mt_entry_location *out;
	bool is_lost; /* its words do not lie in registers of their own */
};

/* Go's ABIInternal: each scalar in the next register of its kind.  False: there is none left, or it
 * is on the stack whatever is left. */
static bool take_go(struct go_walk *walk, struct mt_type *type, uint64_t offset, unsigned depth)
{
	static const uint8_t integers[] = {0, 3, 2, 5, 4, 8, 9, 10, 11}; /* rax rbx rcx rdi … */
	enum { FLOATS = 15 };
	struct mt_entry_location *out = walk->out;

	type = mt_type_strip(type);
	if (depth > MOST_DEPTH)
		return false;
	if (type->kind == MT_TYPE_ARRAY)
		return type->count == 0 ||
		       (type->count == 1 && take_go(walk, mt_type_target(type), offset, depth + 1));
	if (mt_type_is_aggregate(type)) {
		mt_type_expand(type);
		for (size_t i = 0; i < type->member_count; i++)
			if (!take_go(walk, type->members[i].type, offset + type->members[i].offset,
				     depth + 1))
				return false;
		return true;
	}
	const bool is_float = type->kind == MT_TYPE_FLOAT;
	if (is_float ? walk->floats == FLOATS : walk->integers == sizeof(integers))
		return false;
	const uint8_t number =
	    is_float ? (uint8_t)(MT_REGISTER_XMM0 + walk->floats++) : integers[walk->integers++];
	walk->is_lost |= offset != out->piece_count * sizeof(uint64_t) ||
			 out->piece_count == sizeof(out->registers) ||
			 mt_type_size(type) > sizeof(uint64_t);
	if (!walk->is_lost)
		out->registers[out->piece_count++] = number;
	return true;
}

/* Go's results are parameters of the function.  False: there is none of that NUMBER. */
static bool go_result(struct mt_module *module, Dwarf_Die *function, size_t number, Dwarf_Die *out)
{
	Dwarf_Die child;

	if (dwarf_child(function, &child))
		return false;
	do {
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    mt_die_flag(&child, DW_AT_variable_parameter) && mt_type_of(module, &child) &&
		    !number--) {
			*out = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* NUMBER -1: the only one. */
static struct mt_error *returned_by_go(struct mt_variable *out, int number)
{
	const size_t wanted = number < 0 ? 0 : (size_t)number;
	struct go_walk walk = {0};
	Dwarf_Die result;

	if (!go_result(out->module, &out->die, wanted, &result))
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    number < 0 ? "The function returns nothing."
					       : "It does not return so many results.");
	if (number < 0 && go_result(out->module, &out->die, 1, &result))
		return mt_error_new(MT_ERROR_NOT_FOUND, "The function returns several results: "
							"$_ret0 is the first one.");
	for (size_t i = 0; i <= wanted; i++) {
		const struct go_walk before = walk;

		go_result(out->module, &out->die, i, &result);
		out->type = mt_type_of(out->module, &result);
		out->entry = (struct mt_entry_location){0};
		walk.out = &out->entry;
		walk.is_lost = false;
		if (!take_go(&walk, out->type, 0, 0)) {
			walk = before; /* on the stack */
			walk.is_lost = true;
		}
	}
	return walk.is_lost || !out->entry.piece_count
		   ? mt_error_new(
			 MT_ERROR_UNSUPPORTED,
			 "Of Go's results only what lies in registers by whole words can be "
			 "read there.")
		   : NULL;
}

struct mt_error *mt_expr_results(struct mt_expr_program *program, uint64_t function,
				 struct mt_str *out)
{
	struct mt_module *module;
	Dwarf_Die die, unit, result;
	size_t count = 0;

	mt_try(mt_program_update(program));
	module = mt_program_module_at(program, function);
	if (!module || !mt_scope_function(module, function - module->bias, &die) ||
	    !dwarf_diecu(&die, &unit, NULL, NULL) || mt_unit_language(&unit) != MT_LANGUAGE_GO)
		return NULL;
	for (; go_result(module, &die, count, &result); count++) {
		const char *name = mt_die_name(&result);
		mt_str_appendf(out, "%s%s", count ? "," : "", name ? name : "_");
	}
	if (count < 2)
		out->length = 0;
	return out->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_returned_variable(struct mt_expr_program *program, uint64_t address, int number,
				      struct mt_variable *out)
{
	struct mt_module *module = mt_program_module_at(program, address);
	bool is_sse[2] = {false};
	size_t count = 0, floats = 0;
	Dwarf_Die die, unit;

	*out = (struct mt_variable){.name = "$_ret", .module = module, .kind = MT_VARIABLE_ABI};
	if (module && mt_scope_function(module, address - module->bias, &die)) {
		out->type = mt_type_of(module, &die);
		out->die = die;
		if (dwarf_diecu(&die, &unit, NULL, NULL) &&
		    mt_unit_language(&unit) == MT_LANGUAGE_GO)
			return returned_by_go(out, number);
	}
	if (number >= 0)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "The function has one result, which is $_ret.");
	if (!out->type)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "The type of what the function returns is not known.");
	const struct mt_type *type = mt_type_strip(out->type);
	if (type->kind == MT_TYPE_VOID)
		return mt_error_new(MT_ERROR_NOT_FOUND, "The function returns nothing.");
	if (is_of_no_abi(&out->die))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "The optimizer changed what the function returns.");
	out->entry.piece_count = 1;
	out->entry.registers[0] = MT_REGISTER_RAX;
	out->entry.by_reference =
	    is_nontrivial(out->type) || !mt_entry_classes(out->type, is_sse, &count);
	if (type->kind == MT_TYPE_FLOAT && mt_type_size(out->type) > sizeof(double)) {
		if (!mt_type_is_x87(mt_type_strip(out->type)))
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "Where the function returns its number is not known.");
		out->entry.by_reference = false;
		out->entry.registers[0] = MT_REGISTER_ST0;
		return NULL;
	}
	if (out->entry.by_reference)
		return NULL;
	out->entry.piece_count = (uint8_t)count;
	for (size_t i = 0; i < count; i++)
		out->entry.registers[i] = is_sse[i] ? (uint8_t)(MT_REGISTER_XMM0 + floats++)
						    : (uint8_t)(MT_REGISTER_RAX + i - floats);
	return NULL;
}

struct mt_error *mt_expr_returned(struct mt_expr_program *program, uint64_t function,
				  const struct mt_expr_frame *frame, struct mt_value **out)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = program, .frame = frame, .arena = &arena};
	struct mt_module *module;
	Dwarf_Die die;
	struct mt_type *type;
	struct mt_value value;
	struct mt_error *error;

	*out = NULL;
	mt_try(mt_program_update(program));
	module = mt_program_module_at(program, function);
	if (!module || !mt_scope_function(module, function - module->bias, &die))
		return NULL;
	type = mt_type_of(module, &die);
	if (!type || mt_type_strip(type)->kind == MT_TYPE_VOID)
		return NULL;
	error = returned(&eval, type, &value);
	if (!error)
		error = mt_value_fetch(&eval, &value);
	if (!error)
		error = mt_value_hand_out(&value, out);
	mt_arena_deinit(&arena);
	return error;
}
