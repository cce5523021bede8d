/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a type: members and base classes, parameters, enumerators. */
#include "types/program.h"

#include <dwarf.h>
#include <string.h>

#define MOST_MEMBERS 100000

struct members {
	struct mt_type *type;
	MT_ARRAY(struct mt_member) list;
	MT_ARRAY(struct mt_enumerator) enumerators;
};

static bool unsigned_of(Dwarf_Die *die, unsigned which, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, which, &attribute) || dwarf_formudata(&attribute, &value))
		return false;
	*number = value;
	return true;
}

static bool flag_of(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr_integrate(die, which, &attribute) &&
	       dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

/* A number, or the expression that old compilers wrote for one. */
static uint64_t offset_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	Dwarf_Word number;
	size_t count;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attribute))
		return 0;
	if (dwarf_formudata(&attribute, &number) == 0)
		return number;
	if (dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 &&
	    (operations[0].atom == DW_OP_plus_uconst || operations[0].atom == DW_OP_constu))
		return operations[0].number;
	return 0;
}

/* DWARF 5, 5.7.6; and the way of DWARF 3, which counts from the storage unit's highest bit. */
static void place_bits(struct mt_member *member)
{
	uint64_t size = 0, offset = 0, storage = 0, bits;

	if (!unsigned_of(&member->die, DW_AT_bit_size, &size) || !size || size > 64)
		return;
	member->bit_size = (uint8_t)size;
	if (unsigned_of(&member->die, DW_AT_data_bit_offset, &offset)) {
		bits = offset;
	} else if (unsigned_of(&member->die, DW_AT_bit_offset, &offset)) {
		if (!unsigned_of(&member->die, DW_AT_byte_size, &storage))
			storage = mt_type_size(member->type);
		bits = storage * 8 - offset - size;
	} else {
		return;
	}
	member->offset += bits / 8;
	member->bit_offset = bits % 8;
}

static uint8_t access_of(const struct mt_type *type, Dwarf_Die *die)
{
	uint64_t access;

	if (unsigned_of(die, DW_AT_accessibility, &access))
		return (uint8_t)access;
	return type->is_class ? DW_ACCESS_private : DW_ACCESS_public;
}

static void add_member(struct members *members, Dwarf_Die *die, int tag)
{
	struct mt_type *type = members->type;
	Dwarf_Attribute attribute;
	uint64_t virtuality = 0;
	struct mt_member member = {.die = *die, .access = access_of(type, die)};

	member.type = mt_type_of(type->module, die);
	if (!member.type)
		return;
	if (dwarf_attr_integrate(die, DW_AT_name, &attribute))
		member.name = dwarf_formstring(&attribute);
	member.is_artificial = flag_of(die, DW_AT_artificial);
	if (tag == DW_TAG_inheritance) {
		member.kind = MT_MEMBER_BASE;
		unsigned_of(die, DW_AT_virtuality, &virtuality);
		member.is_virtual = virtuality == DW_VIRTUALITY_virtual;
		member.name = mt_type_strip(member.type)->name;
	} else if (tag == DW_TAG_variable || flag_of(die, DW_AT_declaration) ||
		   flag_of(die, DW_AT_external)) {
		member.kind = MT_MEMBER_STATIC;
	}
	member.offset = offset_of(die);
	if (member.kind == MT_MEMBER_FIELD)
		place_bits(&member);
	(void)mt_array_push(&members->list, member);
}

static void add_parameter(struct members *members, Dwarf_Die *die)
{
	struct mt_member member = {.die = *die};
	Dwarf_Attribute attribute;

	member.type = mt_type_of(members->type->module, die);
	member.is_artificial = flag_of(die, DW_AT_artificial);
	if (dwarf_attr_integrate(die, DW_AT_name, &attribute))
		member.name = dwarf_formstring(&attribute);
	if (!member.type)
		return;
	if (member.is_artificial && !members->list.count) {
		members->type->is_method = true;
		if (member.type->kind != MT_TYPE_QUALIFIED)
			member.type = mt_type_qualify(member.type, true, false);
		if (!member.type)
			return;
	}
	(void)mt_array_push(&members->list, member);
}

static void add_enumerator(struct members *members, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword value = 0;
	Dwarf_Word bits;
	struct mt_enumerator enumerator = {.name = dwarf_diename(die)};

	if (!enumerator.name || !dwarf_attr(die, DW_AT_const_value, &attribute))
		return;
	/* A fixed size says nothing of the sign: 0x80 in a byte may be 128. */
	if (dwarf_whatform(&attribute) == DW_FORM_sdata ||
		    dwarf_whatform(&attribute) == DW_FORM_implicit_const
		? dwarf_formsdata(&attribute, &value) == 0
		: false)
		enumerator.value = value;
	else if (dwarf_formudata(&attribute, &bits) == 0)
		enumerator.value = (int64_t)bits;
	if (members->type->language != MT_LANGUAGE_C) {
		const char *scope =
		    members->type->is_enum_class
			? members->type->name
			: mt_index_scope_of(members->type->module, &members->type->die);
		char *full = scope ? mt_arena_format(&members->type->program->arena, "%s::%s",
						     scope, enumerator.name)
				   : NULL;
		enumerator.name = full ? full : enumerator.name;
	}
	(void)mt_array_push(&members->enumerators, enumerator);
}

static void add_child(struct members *members, Dwarf_Die *child)
{
	struct mt_type *type = members->type;
	int tag = dwarf_tag(child);

	if (type->kind == MT_TYPE_ENUM && tag == DW_TAG_enumerator)
		add_enumerator(members, child);
	else if (type->kind == MT_TYPE_FUNCTION && tag == DW_TAG_formal_parameter)
		add_parameter(members, child);
	else if (type->kind == MT_TYPE_FUNCTION && tag == DW_TAG_unspecified_parameters)
		type->is_varargs = true;
	else if (mt_type_is_aggregate(type) &&
		 (tag == DW_TAG_member || tag == DW_TAG_inheritance || tag == DW_TAG_variable))
		add_member(members, child, tag);
}

/* An instance's abstract origin or specification has the parameters' types. */
static Dwarf_Die members_of(struct mt_type *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die = type->die, origin;

	for (unsigned i = 0; i < 4 && type->kind == MT_TYPE_FUNCTION; i++) {
		if (!(dwarf_attr(&die, DW_AT_abstract_origin, &attribute)) ||
		    !dwarf_formref_die(&attribute, &origin))
			break;
		die = origin;
	}
	return die;
}

void mt_type_expand(struct mt_type *type)
{
	struct members members = {.type = type};
	Dwarf_Die child, die;
	size_t budget = MOST_MEMBERS;

	if (type->expanded)
		return;
	type->expanded = true;
	die = members_of(type);
	if (dwarf_child(&die, &child) == 0)
		do
			add_child(&members, &child);
		while (--budget && dwarf_siblingof(&child, &child) == 0);
	type->members = mt_arena_copy(&type->program->arena, members.list.items,
				      members.list.count * sizeof(*members.list.items));
	type->member_count = type->members ? members.list.count : 0;
	type->enumerators =
	    mt_arena_copy(&type->program->arena, members.enumerators.items,
			  members.enumerators.count * sizeof(*members.enumerators.items));
	type->enumerator_count = type->enumerators ? members.enumerators.count : 0;
	mt_array_deinit(&members.list);
	mt_array_deinit(&members.enumerators);
	if (type->kind == MT_TYPE_ENUM) {
		/* A set of flags: no negative value, each one's bits lie side by side, and are of
		 * no other. */
		uint64_t seen = 0;

		type->is_flags = type->enumerator_count > 0;
		for (size_t i = 0; i < type->enumerator_count; i++) {
			int64_t value = type->enumerators[i].value;

			if (value < 0) {
				type->is_signed = true;
				type->is_flags = false;
			} else if (value) {
				uint64_t bits = (uint64_t)value >> __builtin_ctzll((uint64_t)value);
				if (bits & (bits + 1) || seen & (uint64_t)value)
					type->is_flags = false;
				seen |= (uint64_t)value;
			}
		}
	}
}
