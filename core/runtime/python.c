/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "runtime/python.h"

#include "elf/data_symbol.h"

#include <string.h>

#define RUNTIME "_PyRuntime"

bool mt_python_is_in(struct mt_objfile *objfile)
{
	struct mt_data_symbol symbol;

	return mt_objfile_find_data_symbol(objfile, RUNTIME, &symbol) && !symbol.thread_local;
}

bool mt_python_is_loop(const struct mt_function *function)
{
	const size_t length = sizeof(MT_PYTHON_LOOP) - 1;

	return function && function->name && strncmp(function->name, MT_PYTHON_LOOP, length) == 0 &&
	       (!function->name[length] || function->name[length] == '.');
}

/* 0: it has none. */
static uint64_t address_in(const struct mt_mapping *mapping, const char *name)
{
	struct mt_data_symbol symbol;

	return mapping->objfile && mt_objfile_find_data_symbol(mapping->objfile, name, &symbol) &&
		       !symbol.thread_local
		   ? symbol.address + mapping->bias
		   : 0;
}

/* The program: kernel and loader put it below all other files.  NULL: it is not there. */
static const struct mt_mapping *program_of(const struct mt_space *code)
{
	for (size_t i = 0; i < mt_space_mapping_count(code); i++)
		if (mt_space_mapping(code, i)->objfile)
			return mt_space_mapping(code, i);
	return NULL;
}

/* A program that refers to a library's variable may have it instead (a copy relocation). */
static uint64_t address_of(const struct mt_space *code, const struct mt_mapping *mapping,
			   const char *name)
{
	const struct mt_mapping *program = program_of(code);
	const uint64_t address = address_in(mapping, name);
	const uint64_t copied = address && program && program->objfile != mapping->objfile
				    ? address_in(program, name)
				    : 0;

	return copied ? copied : address;
}

bool mt_python_find(const struct mt_space *code, uint64_t pc, struct mt_python_memory *out,
		    uint64_t *version)
{
	const struct mt_mapping *mapping = mt_space_find(code, pc);

	*version = 0;
	if (!mapping)
		return false;
	out->runtime = address_of(code, mapping, RUNTIME);
	out->code_type = address_of(code, mapping, "PyCode_Type");
	out->unicode_type = address_of(code, mapping, "PyUnicode_Type");
	out->bytes_type = address_of(code, mapping, "PyBytes_Type");
	const uint64_t version_at = address_of(code, mapping, "Py_Version");
	return out->runtime && out->code_type && out->unicode_type && out->bytes_type &&
	       (!version_at ||
		out->read(out->context, version_at, version, sizeof(*version)) == sizeof(*version));
}

const struct mt_python_loop *mt_python_loop_in(const struct mt_python_stack *stack, uint64_t low,
					       uint64_t high)
{
	mt_array_each (loop, &stack->loops)
		if (loop->at >= low && loop->at < high)
			return loop;
	return NULL;
}
