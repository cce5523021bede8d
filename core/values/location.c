/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The location of a variable: DWARF's operations, run over a frame. */
#include "values/call_site.h"
#include "values/libraries.h"

#include <dwarf.h>

#define MOST_NESTING 8

struct input {
	struct mt_eval *eval;
	const struct mt_variable *variable;
};

static const struct mt_machine_ops machine_ops;

static struct mt_error *read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct mt_expr_frame *frame = ((struct input *)context)->eval->frame;

	if (frame->ops && frame->ops->read(frame->context, address, buffer, size) == size)
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
			    (unsigned long long)address);
}

static struct mt_error *get_register(void *context, uint64_t number, uint64_t *value)
{
	const struct mt_expr_frame *frame = ((struct input *)context)->eval->frame;

	if (frame->ops && frame->ops->get_register && number <= UINT8_MAX &&
	    frame->ops->get_register(frame->context, (unsigned)number, value, sizeof(*value)))
		return NULL;
	return mt_value_optimized_out();
}

static struct mt_error *get_cfa(void *context, uint64_t *cfa)
{
	struct input *input = context;

	return mt_frame_cfa(input->eval, cfa) ? NULL : mt_value_optimized_out();
}

static struct mt_error *get_tls(void *context, uint64_t offset, uint64_t *address)
{
	struct input *input = context;

	return mt_tls_address(input->eval, input->variable->module, offset, address);
}

static struct mt_error *get_entry_value(void *context, unsigned number, uint64_t *value)
{
	struct input *input = context;

	return mt_call_site_register(input->eval, input->variable, number, value);
}

/* DW_AT_frame_base gives an address, or a register that holds one. */
static struct mt_error *get_frame_base(void *context, uint64_t *base)
{
	struct input *input = context;
	const struct mt_variable *variable = input->variable;
	struct mt_machine_program program;
	struct mt_error *error;

	if (!variable->frame_base || input->eval->depth >= MOST_NESTING)
		return mt_machine_garbled();
	if (variable->frame_base_count == 1 && variable->frame_base[0].atom == DW_OP_call_frame_cfa)
		return get_cfa(context, base);
	program = (struct mt_machine_program){.ops = &machine_ops,
					      .context = input,
					      .operations = variable->frame_base,
					      .count = variable->frame_base_count,
					      .attribute = &variable->frame_base_attribute,
					      .bias = variable->module->bias};
	input->eval->depth++;
	error = mt_machine_number(&program, base);
	input->eval->depth--;
	return error;
}

static const struct mt_machine_ops machine_ops = {
    .read = read_memory,
    .get_register = get_register,
    .get_cfa = get_cfa,
    .get_frame_base = get_frame_base,
    .get_tls = get_tls,
    .get_entry_value = get_entry_value,
};

struct mt_error *mt_variable_location(struct mt_eval *eval, const struct mt_variable *variable,
				      struct mt_pieces *out)
{
	struct input input = {eval, variable};
	struct mt_machine_program program = {.ops = &machine_ops,
					     .context = &input,
					     .operations = variable->operations,
					     .count = variable->count,
					     .attribute = &variable->attribute,
					     .bias = variable->module->bias};

	return mt_machine_run(&program, out);
}

struct mt_error *mt_variable_attribute(struct mt_eval *eval, const struct mt_variable *variable,
				       Dwarf_Attribute *attribute, uint64_t *number)
{
	struct input input = {eval, variable};
	struct mt_machine_program program = {.ops = &machine_ops,
					     .context = &input,
					     .attribute = attribute,
					     .bias = variable->module->bias};
	Dwarf_Op *operations;

	if (dwarf_getlocation(attribute, &operations, &program.count))
		return mt_machine_garbled();
	program.operations = operations;
	return mt_machine_number(&program, number);
}
