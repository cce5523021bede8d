/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locations as they are typed, and source positions of addresses. */
#include "dwarf/source.h"
#include "private.h"

#include <ctype.h>
#include <string.h>

/* The file of a line number alone: the selected frame's, or main's. */
static const char *default_file(struct mt_debugger *debugger)
{
	const struct mt_location_options options = {.quiet_missing = true};
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	struct mt_locations locations = {0};
	const char *file = NULL;

	if (frame && frame->source.file)
		return frame->source.file;
	mt_error_destroy(mt_location_resolve(debugger->code, "main", &options, &locations));
	if (locations.count)
		file = locations.items[0].source.file;
	mt_locations_deinit(&locations);
	return file;
}

static struct mt_location_options options_of(struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);

	return (struct mt_location_options){
	    .file = default_file(debugger),
	    .line = frame ? frame->source.line : 0,
	    .skip_prologue = true,
	};
}

/* 12, +3, -3 */
static bool is_line(const char *text)
{
	if (*text == '+' || *text == '-')
		text++;
	return isdigit((unsigned char)*text) && !text[strspn(text, "0123456789")];
}

bool mt_debug_fix_line(struct mt_debugger *debugger, const char *location, struct mt_str *out)
{
	const struct mt_location_options options = options_of(debugger);
	struct mt_locations locations = {0};

	if (!is_line(location) || !options.file)
		return false;
	mt_error_destroy(mt_location_resolve(debugger->code, location, &options, &locations));
	mt_str_appendf(out, "%s:%u", options.file, locations.line);
	mt_locations_deinit(&locations);
	return true;
}

static int compare(const void *one, const void *other)
{
	const struct mt_location *a = one, *b = other;

	return (a->address > b->address) - (a->address < b->address);
}

/* The address that an expression means: its number, or the address of a function. */
static struct mt_error *evaluate(struct mt_debugger *debugger, const char *text,
				 struct mt_expr_reads *reads, uint64_t *address)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger, NULL);
	struct mt_expr *expr = NULL;
	struct mt_value *value = NULL;
	int64_t number = 0;

	struct mt_error *error = mt_expr_parse(debugger->expressions, &frame, text, &expr);
	if (!error)
		error = mt_expr_evaluate_noting(expr, &frame, reads, &value);
	if (!error && !mt_value_is_function(value, address)) {
		error = mt_value_to_integer(value, &number);
		*address = (uint64_t)number;
	}
	mt_value_destroy(value);
	mt_expr_destroy(expr);
	return error;
}

/* For the core: "*EXPRESSION" becomes the address that it is now. */
static struct mt_error *append_plain(struct mt_debugger *debugger, const char *location,
				     struct mt_str *out)
{
	struct mt_expr_reads reads = {0};
	uint64_t address;

	if (*location != '*') {
		mt_str_append(out, location);
	} else {
		struct mt_error *error = evaluate(debugger, location + 1, &reads, &address);

		mt_expr_reads_deinit(&reads);
		mt_try(error);
		mt_str_appendf(out, "*0x%llx", (unsigned long long)address);
	}
	return out->failed ? mt_error_no_memory() : NULL;
}

bool mt_debug_is_momentary(struct mt_debugger *debugger, const char *location)
{
	struct mt_expr_reads reads = {0};
	uint64_t address;

	if (*location != '*')
		return false;
	struct mt_error *error = evaluate(debugger, location + 1, &reads, &address);
	bool is_momentary = error || reads.registers || reads.memory.count;
	mt_error_destroy(error);
	mt_expr_reads_deinit(&reads);
	return is_momentary;
}

struct mt_error *mt_debugger_locate(struct mt_debugger *debugger, const char *location,
				    struct mt_error *(*found)(void *context,
							      const struct mt_location *location),
				    void *context)
{
	const struct mt_location_options options = options_of(debugger);
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_locations locations = {0};
	struct mt_error *error = NULL;

	if (!mt_space_mapping_count(debugger->code))
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "No symbol table is loaded.  Use the \"file\" command.");
	mt_try(append_plain(debugger, location, &text));
	mt_try(mt_location_resolve(debugger->code, text.text, &options, &locations));
	qsort(locations.items, locations.count, sizeof(*locations.items), compare);
	mt_array_each (one, &locations)
		if (!error)
			error = found(context, one);
	mt_locations_deinit(&locations);
	return error;
}

static void append_address(void *context, uint64_t address, struct mt_str *out)
{
	mt_expr_format_code(context, address, out);
}

struct mt_error *mt_debugger_info_line(struct mt_debugger *debugger, const char *location,
				       struct mt_str *out)
{
	struct mt_location_options options = options_of(debugger);
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_expr_program *program = mt_debugger_expressions(debugger);

	if (!mt_space_mapping_count(debugger->code))
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "No symbol table is loaded.  Use the \"file\" command.");
	options.append_address = append_address;
	options.append_context = program;
	mt_try(append_plain(debugger, location, &text));
	return mt_location_info_line(debugger->code, text.text, &options, out);
}

void mt_debugger_position(struct mt_debugger *debugger, uint64_t address,
			  struct mt_debug_position *out)
{
	struct mt_line_range range;

	*out = (struct mt_debug_position){.address = address};
	mt_debug_see_objects(debugger, address);
	out->function = mt_space_function_at(debugger->code, address);
	if (out->function && out->function->kind == MT_FUNCTION_UNKNOWN)
		out->function = NULL;
	if (!mt_debug_line_at(debugger, address, &range))
		return;
	out->source = range.source;
	out->file = mt_debug_file_name(debugger, address, range.source.file);
}
