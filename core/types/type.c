/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types from DIEs, shallowly: what a DIE itself says.  Members are in members.c. */
#include "types/program.h"

#include <ctype.h>
#include <dwarf.h>
#include <string.h>

#define MOST_STEPS      64 /* through typedefs and qualifiers */
#define MOST_DIMENSIONS 16

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute)
								 : NULL;
}

static bool flag_of(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr_integrate(die, which, &attribute) &&
	       dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

static bool number_of(Dwarf_Die *die, unsigned which, int64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Sword value;

	if (!dwarf_attr(die, which, &attribute) || dwarf_formsdata(&attribute, &value))
		return false;
	*number = value;
	return true;
}

static enum mt_language language_of(Dwarf_Die *die)
{
	Dwarf_Die unit;

	return dwarf_diecu(die, &unit, NULL, NULL) ? mt_unit_language(&unit) : MT_LANGUAGE_C;
}

static const struct {
	const char *written, *canonical;
} canonical_names[] = {
    {"long long unsigned int", "unsigned long long"},
    {"long unsigned int", "unsigned long"},
    {"short unsigned int", "unsigned short"},
    {"long long int", "long long"},
    {"long int", "long"},
    {"short int", "short"},
};

/* C's and C++'s types are named in one way, also as arguments of templates: "long", where compilers
 * write "long int". */
static const char *canonical(struct mt_type *type, const char *name)
{
	mt_auto(mt_str) struct mt_str out = {0};

	if (!strstr(name, " int"))
		return name;
	for (const char *at = name; *at;) {
		size_t i = 0, count = sizeof(canonical_names) / sizeof(*canonical_names);

		while (i < count && strncmp(at, canonical_names[i].written,
					    strlen(canonical_names[i].written)) != 0)
			i++;
		mt_str_append_bytes(&out, i < count ? canonical_names[i].canonical : at,
				    i < count ? strlen(canonical_names[i].canonical) : 1);
		at += i < count ? strlen(canonical_names[i].written) : 1;
	}
	return out.failed ? name : mt_arena_text(&type->program->arena, out.text, out.length);
}

void mt_type_name_written(const char *name, struct mt_str *out)
{
	int depth = 0;

	for (const char *at = name; *at;) {
		size_t i = 0, count = sizeof(canonical_names) / sizeof(*canonical_names), length;
		bool is_word = at > name && (isalnum((unsigned char)at[-1]) || at[-1] == '_');

		depth += (*at == '<') - (*at == '>');
		for (; i < count; i++) {
			length = strlen(canonical_names[i].canonical);
			if (depth > 0 && !is_word &&
			    strncmp(at, canonical_names[i].canonical, length) == 0 &&
			    !isalnum((unsigned char)at[length]) && at[length] != '_')
				break;
		}
		mt_str_append_bytes(out, i < count ? canonical_names[i].written : at,
				    i < count ? strlen(canonical_names[i].written) : 1);
		at += i < count ? length : 1;
	}
}

static const char *scoped_name(struct mt_type *type)
{
	const char *name = name_of(&type->die), *scope;

	if (name && (type->language == MT_LANGUAGE_CPP || type->language == MT_LANGUAGE_C))
		name = canonical(type, name);

	if (!name || type->language == MT_LANGUAGE_C)
		return name;
	scope = mt_index_scope_of(type->module, &type->die);
	if (!scope)
		return name;
	scope = mt_arena_format(&type->program->arena, "%s::%s", scope, name);
	return scope ? scope : name;
}

static void describe_base(struct mt_type *type)
{
	int64_t encoding = 0;

	number_of(&type->die, DW_AT_encoding, &encoding);
	type->is_signed =
	    encoding == DW_ATE_signed || encoding == DW_ATE_signed_char || encoding == DW_ATE_float;
	switch (encoding) {
	case DW_ATE_boolean:
		type->kind = MT_TYPE_BOOL;
		break;
	case DW_ATE_float:
		type->kind = MT_TYPE_FLOAT;
		break;
	case DW_ATE_complex_float:
		type->kind = MT_TYPE_COMPLEX;
		break;
	case DW_ATE_UTF:
		type->kind = MT_TYPE_CHAR;
		break;
	default:
		type->kind = type->size == 1 || (type->name && strcmp(type->name, "wchar_t") == 0)
				 ? MT_TYPE_CHAR
				 : MT_TYPE_INT;
	}
	if (type->kind == MT_TYPE_INT && type->language == MT_LANGUAGE_RUST)
		return;
	if (type->kind == MT_TYPE_CHAR && type->language == MT_LANGUAGE_RUST &&
	    encoding != DW_ATE_UTF && encoding != DW_ATE_unsigned_char)
		type->kind = MT_TYPE_INT;
}

/* A size or a bound: the forms without a sign of their own have none. */
static bool fixed_number(Dwarf_Die *die, unsigned which, int64_t *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (!dwarf_attr(die, which, &attribute))
		return false;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
		if (dwarf_formudata(&attribute, &number))
			return false;
		*out = (int64_t)number;
		return true;
	default:
		return number_of(die, which, out);
	}
}

static void describe_range(struct mt_type *array, Dwarf_Die *range)
{
	int64_t high;

	array->low = 0;
	array->count = -1;
	fixed_number(range, DW_AT_lower_bound, &array->low);
	if (fixed_number(range, DW_AT_count, &array->count))
		return;
	if (fixed_number(range, DW_AT_upper_bound, &high)) {
		/* An upper bound of all ones is how "no elements" was written once. */
		if (high == (int64_t)UINT32_MAX || high == (int64_t)UINT64_MAX)
			high = -1;
		array->count = high - array->low + 1;
	} else if (dwarf_hasattr(range, DW_AT_upper_bound) || dwarf_hasattr(range, DW_AT_count)) {
		array->count_die = *range;
	}
	if (array->count < -1)
		array->count = -1;
}

/* The dimensions of one DIE become arrays of arrays. */
static bool describe_array(struct mt_type *type)
{
	Dwarf_Die ranges[MOST_DIMENSIONS], child;
	size_t count = 0;
	struct mt_type *inner;

	type->is_vector = flag_of(&type->die, DW_AT_GNU_vector);
	if (dwarf_child(&type->die, &child) == 0) {
		do {
			if (dwarf_tag(&child) == DW_TAG_subrange_type && count < MOST_DIMENSIONS)
				ranges[count++] = child;
		} while (dwarf_siblingof(&child, &child) == 0 && count < MOST_DIMENSIONS);
	}
	type->count = -1;
	if (!count)
		return true;
	describe_range(type, &ranges[0]);
	if (count == 1)
		return true;
	inner = mt_type_of(type->module, &type->die);
	for (size_t i = count - 1; inner && i > 0; i--) {
		struct mt_type *array = mt_type_array_of(inner, 0, 0);

		if (!array)
			return false;
		array->module = type->module;
		describe_range(array, &ranges[i]);
		inner = array;
	}
	type->target = inner;
	type->target_known = true;
	return inner != NULL;
}

static void describe_qualifier(struct mt_type *type, int tag)
{
	type->kind = MT_TYPE_QUALIFIED;
	type->is_const = tag == DW_TAG_const_type;
	type->is_volatile = tag == DW_TAG_volatile_type;
	type->is_restrict = tag == DW_TAG_restrict_type;
	type->is_atomic = tag == DW_TAG_atomic_type;
}

static bool describe(struct mt_type *type)
{
	int tag = dwarf_tag(&type->die);

	switch (tag) {
	case DW_TAG_base_type:
		describe_base(type);
		break;
	case DW_TAG_unspecified_type:
		type->kind = MT_TYPE_VOID;
		type->size = 1;
		break;
	case DW_TAG_pointer_type:
		type->kind = MT_TYPE_POINTER;
		type->size = 8;
		break;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		type->kind =
		    tag == DW_TAG_reference_type ? MT_TYPE_REFERENCE : MT_TYPE_RVALUE_REFERENCE;
		type->size = 8;
		break;
	case DW_TAG_ptr_to_member_type:
		type->kind = MT_TYPE_MEMBER_POINTER;
		break;
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		describe_qualifier(type, tag);
		break;
	case DW_TAG_typedef:
	case DW_TAG_template_alias:
		type->kind = MT_TYPE_TYPEDEF;
		break;
	case DW_TAG_array_type:
		type->kind = MT_TYPE_ARRAY;
		return describe_array(type);
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_interface_type:
		type->kind = MT_TYPE_STRUCT;
		type->is_class = tag == DW_TAG_class_type;
		break;
	case DW_TAG_union_type:
		type->kind = MT_TYPE_UNION;
		break;
	case DW_TAG_enumeration_type:
		type->kind = MT_TYPE_ENUM;
		type->is_enum_class = flag_of(&type->die, DW_AT_enum_class);
		break;
	case DW_TAG_subroutine_type:
	case DW_TAG_subprogram:
		type->kind = MT_TYPE_FUNCTION;
		type->size = 1;
		type->is_prototyped = flag_of(&type->die, DW_AT_prototyped);
		if (tag == DW_TAG_subprogram)
			type->name = NULL;
		break;
	default:
		type->kind = MT_TYPE_ERROR;
	}
	return true;
}

static struct mt_type *make(struct mt_module *module, Dwarf_Die *die)
{
	struct mt_type *type = mt_arena_zalloc(&module->program->arena, sizeof(*type));
	int64_t size = 0;

	if (!type)
		return NULL;
	type->program = module->program;
	type->module = module;
	type->die = *die;
	type->language = language_of(die);
	type->name = scoped_name(type);
	type->is_declaration = flag_of(die, DW_AT_declaration);
	fixed_number(die, DW_AT_byte_size, &size);
	type->size = size > 0 ? (uint64_t)size : 0;
	type->size_known = size > 0;
	if (!describe(type))
		return NULL;
	return type;
}

static struct mt_known_type *know(struct mt_expr_program *program, const void *die,
				  struct mt_type *type)
{
	struct mt_known_type *known = mt_arena_zalloc(&program->arena, sizeof(*known));

	if (!known)
		return NULL;
	known->die = die;
	known->type = type;
	HASH_ADD_PTR(program->types, die, known);
	return known;
}

/* A type may stand in a unit of its own, which its number leads to. */
static Dwarf_Die in_type_unit(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die found;

	if (dwarf_attr(die, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &found))
		return found;
	return *die;
}

struct mt_type *mt_type_of_die(struct mt_module *module, Dwarf_Die *given)
{
	struct mt_expr_program *program = module->program;
	Dwarf_Die found = in_type_unit(given), *die = &found;
	struct mt_known_type *known;
	struct mt_type *type;

	HASH_FIND_PTR(program->types, &die->addr, known);
	if (known)
		return known->type;
	if (dwarf_tag(die) == DW_TAG_unspecified_type && name_of(die) &&
	    strcmp(name_of(die), "decltype(nullptr)") == 0)
		return program->builtins[MT_BUILTIN_INT];
	/* Until it is made: whoever comes back here meanwhile describes itself. */
	known = know(program, die->addr, program->builtins[MT_BUILTIN_ERROR]);
	type = known ? make(module, die) : NULL;
	if (type)
		known->type = type;
	return type;
}

struct mt_type *mt_type_of(struct mt_module *module, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die target;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute))
		return module->program->builtins[MT_BUILTIN_VOID];
	if (!dwarf_formref_die(&attribute, &target))
		return module->program->builtins[MT_BUILTIN_ERROR];
	return mt_type_of_die(module, &target);
}

struct mt_type *mt_type_target(struct mt_type *type)
{
	struct mt_type *error = type->program->builtins[MT_BUILTIN_ERROR];

	if (!type->target_known) {
		type->target_known = true;
		type->target = mt_type_of(type->module, &type->die);
	}
	return type->target ? type->target : error;
}

struct mt_type *mt_type_containing(struct mt_type *type)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die;

	if (!type->containing && type->die.addr &&
	    dwarf_attr(&type->die, DW_AT_containing_type, &attribute) &&
	    dwarf_formref_die(&attribute, &die))
		type->containing = mt_type_of_die(type->module, &die);
	return type->containing ? type->containing : type->program->builtins[MT_BUILTIN_ERROR];
}

struct mt_type *mt_type_unqualified(struct mt_type *type)
{
	for (unsigned i = 0; i < MOST_STEPS && type->kind == MT_TYPE_QUALIFIED; i++)
		type = mt_type_target(type);
	return type->kind == MT_TYPE_QUALIFIED ? type->program->builtins[MT_BUILTIN_ERROR] : type;
}

const char *mt_name_last_part(const char *name, size_t *scope_length)
{
	const char *part = name;
	int depth = 0;

	for (const char *c = name; *c; c++) {
		depth += (*c == '<') - (*c == '>');
		if (depth <= 0 && c[0] == ':' && c[1] == ':')
			part = c + 2;
	}
	*scope_length = part > name ? (size_t)(part - name) - 2 : 0;
	return part;
}

static struct mt_type *find_definition(struct mt_type *type)
{
	struct mt_expr_program *program = type->program;
	size_t scope_length;
	const char *part = mt_name_last_part(type->name, &scope_length);
	char *scope = strndup(type->name, scope_length);
	struct mt_type *found = NULL;

	for (size_t i = 0; scope && !found && i < program->modules.count; i++) {
		struct mt_module *module = program->modules.items[i];
		unsigned accept = 1u
				  << (type->kind == MT_TYPE_ENUM ? MT_NAME_ENUM : MT_NAME_STRUCT);
		struct mt_name *name = mt_index_find(module, scope, part, strlen(part), accept);

		while (name && name->is_declaration)
			name = mt_index_next(name, accept);
		found = name ? mt_type_of_die(module, &name->die) : NULL;
	}
	free(scope);
	return found && found->kind == type->kind ? found : NULL;
}

static struct mt_type *define(struct mt_type *type)
{
	if (!type->is_declaration || !type->name)
		return type;
	if (!type->definition) {
		type->definition = find_definition(type);
		if (!type->definition)
			type->definition = type;
	}
	return type->definition;
}

struct mt_type *mt_type_strip(struct mt_type *type)
{
	for (unsigned i = 0; i < MOST_STEPS; i++) {
		if (type->kind != MT_TYPE_TYPEDEF && type->kind != MT_TYPE_QUALIFIED)
			return define(type);
		type = mt_type_target(type);
	}
	return type->program->builtins[MT_BUILTIN_ERROR];
}

static uint64_t array_size(struct mt_type *type, unsigned depth);

static uint64_t size_of(struct mt_type *type, unsigned depth)
{
	type = mt_type_strip(type);
	if (type->size_known || depth > MOST_STEPS)
		return type->size;
	if (type->kind == MT_TYPE_ARRAY)
		return array_size(type, depth);
	if (type->kind == MT_TYPE_MEMBER_POINTER)
		return mt_type_strip(mt_type_target(type))->kind == MT_TYPE_FUNCTION ? 16 : 8;
	return type->kind == MT_TYPE_ENUM ? size_of(mt_type_target(type), depth + 1) : type->size;
}

static uint64_t array_size(struct mt_type *type, unsigned depth)
{
	uint64_t element = size_of(mt_type_target(type), depth + 1);

	if (type->count <= 0 || !element)
		return 0;
	return (uint64_t)type->count > UINT64_MAX / element ? UINT64_MAX
							    : (uint64_t)type->count * element;
}

uint64_t mt_type_size(struct mt_type *type)
{
	return size_of(type, 0);
}
