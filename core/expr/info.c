/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info symbol` and `info scope`. */
#include "elf/demangle.h"
#include "expr/node.h"
#include "values/libraries.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

struct mt_error *mt_expr_info_symbol(struct mt_expr_program *program,
				     const struct mt_expr_frame *frame, const char *text,
				     struct mt_str *out)
{
	struct mt_module *module;
	const struct mt_msymbol *symbol;
	const char *section;
	uint64_t address;
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = program, .frame = frame, .arena = &arena};
	struct mt_expr *expr = NULL;
	struct mt_value value;
	struct mt_error *error;

	mt_try(mt_expr_parse(program, frame, text, &expr));
	error = expr->root ? mt_eval(&eval, expr->root, &value)
			   : mt_error_new(MT_ERROR_USAGE, "Argument required (address).");
	if (!error)
		error = mt_value_decay(&eval, &value);
	if (!error)
		error = mt_value_get(&eval, &value, &address);
	mt_arena_deinit(&arena);
	mt_expr_destroy(expr);
	mt_try(error);
	module = mt_program_module_at(program, address);
	symbol = module ? mt_msymbol_at(module, address - module->bias) : NULL;
	section = module ? mt_module_section(module, address - module->bias) : NULL;
	if (!symbol || !section) {
		mt_str_appendf(out, "No symbol matches %s.\n", text);
		return NULL;
	}
	if (!mt_demangle(symbol->name, MT_DEMANGLE_FULL, out))
		mt_str_appendf(out, "%.*s", (int)strcspn(symbol->name, "@"), symbol->name);
	if (address - module->bias != symbol->address)
		mt_str_appendf(out, " + %llu",
			       (unsigned long long)(address - module->bias - symbol->address));
	mt_str_appendf(out, " in section %s", section);
	/* As soon as there is another file that it could be of. */
	if (program->modules.count > 1 || mt_objfile_debug_path(module->objfile)) {
		mt_str_append(out, " of ");
		mt_expr_file_at(program, frame, address, out);
	}
	mt_str_append(out, "\n");
	return out->failed ? mt_error_no_memory() : NULL;
}

static void describe_location(const struct mt_variable *variable, struct mt_str *out)
{
	const Dwarf_Op *first = variable->count ? &variable->operations[0] : NULL;

	if (variable->kind == MT_VARIABLE_BYTES)
		mt_str_append(out, "constant");
	else if (variable->kind == MT_VARIABLE_OPTIMIZED_OUT || !first)
		mt_str_append(out, "optimized out");
	else if (variable->count == 1 && first->atom == DW_OP_addr)
		mt_str_appendf(out, "in static storage at address 0x%" PRIx64,
			       (uint64_t)first->number + variable->module->bias);
	else if (variable->count == 1 && first->atom == DW_OP_fbreg)
		mt_str_appendf(out, "a complex DWARF expression:\n     0: DW_OP_fbreg %lld\n",
			       (long long)first->number);
	else if (variable->count == 1 && first->atom >= DW_OP_reg0 && first->atom <= DW_OP_regx)
		mt_str_append(out, "a variable in a register");
	else
		mt_str_append(out, "a complex DWARF expression");
}

struct mt_error *mt_expr_info_scope(struct mt_expr_program *program, const char *location,
				    uint64_t address, struct mt_str *out)
{
	struct mt_expr_frame frame = {.pc = address};
	struct mt_lookup lookup;
	bool any = false;

	mt_try(mt_lookup_init(&lookup, program, &frame));
	for (size_t i = 0; lookup.has_scope && i < lookup.scope.count; i++) {
		mt_dies dies = {0};

		if (mt_block_variables(&lookup.scope.blocks[i], &dies) == 0)
			mt_array_each (die, &dies) {
				struct mt_variable variable;

				mt_variable_bind(lookup.scope.module, &lookup.scope, &frame, die,
						 &variable);
				if (!variable.name)
					continue;
				if (!any)
					mt_str_appendf(out, "Scope for %s:\n", location);
				any = true;
				mt_str_appendf(out, "Symbol %s is ", variable.name);
				describe_location(&variable, out);
				mt_str_appendf(out, ", length %llu.\n",
					       (unsigned long long)mt_type_size(variable.type));
			}
		mt_array_deinit(&dies);
	}
	if (!any)
		mt_str_appendf(out, "Symbol table for `%s' has no locals.\n", location);
	return out->failed ? mt_error_no_memory() : NULL;
}
