/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info line`, in GDB's words. */
#include "base/array.h"
#include "base/str.h"
#include "dwarf/source.h"
#include "space/location.h"

#include <string.h>

static void append_address(struct mt_space *space, const struct mt_location_options *options,
			   uint64_t address, struct mt_str *out)
{
	const struct mt_function *function = mt_space_function_at(space, address);

	if (options->append_address) {
		options->append_address(options->append_context, address, out);
		return;
	}
	mt_str_appendf(out, "0x%llx", (unsigned long long)address);
	if (!function || !function->start || function->kind == MT_FUNCTION_UNKNOWN)
		return;
	mt_str_appendf(out, " <%s", function->name);
	if (address > function->start)
		mt_str_appendf(out, "+%llu", (unsigned long long)(address - function->start));
	mt_str_append(out, ">");
}

/* As it was given to the compiler. */
static const char *shown_name(const struct mt_location *location, const char *file,
			      uint64_t address)
{
	const char *directory = mt_objfile_directory_at(location->mapping->objfile, address);
	size_t length = directory ? strlen(directory) : 0;

	if (length && strncmp(file, directory, length) == 0 && file[length] == '/')
		return file + length + 1;
	return file;
}

static bool find_range(const struct mt_location *location, struct mt_line_range *range)
{
	const struct mt_mapping *mapping = location->mapping;

	if (!mapping || !mapping->objfile ||
	    !mt_objfile_line_at(mapping->objfile, location->address - mapping->bias, range) ||
	    !range->source.file)
		return false;
	range->source.file =
	    shown_name(location, range->source.file, location->address - mapping->bias);
	range->start += mapping->bias;
	range->end += mapping->bias;
	return true;
}

/* LINE: the one that was asked for; 0: none was. */
static void describe(struct mt_space *space, const struct mt_location_options *options,
		     const struct mt_location *location, uint32_t line, struct mt_str *out)
{
	struct mt_line_range range;
	bool is_empty;

	if (!find_range(location, &range)) {
		mt_str_append(out, "No line number information available for address ");
		append_address(space, options, location->address, out);
		mt_str_append(out, "\n");
		return;
	}
	is_empty = line && line != range.source.line;
	mt_str_appendf(out, "Line %u of \"%s\" %s at address ", is_empty ? line : range.source.line,
		       range.source.file, is_empty ? "is" : "starts");
	append_address(space, options, range.start, out);
	if (is_empty) {
		mt_str_append(out, " but contains no code.\n");
		return;
	}
	mt_str_append(out, " and ends at ");
	append_address(space, options, range.end, out);
	mt_str_append(out, ".\n");
}

struct mt_error *mt_location_info_line(struct mt_space *space, const char *text,
				       const struct mt_location_options *options,
				       struct mt_str *out)
{
	struct mt_location_options plain = *options;
	struct mt_locations locations;
	struct mt_error *error;

	plain.skip_prologue = false;
	error = mt_location_resolve(space, text, &plain, &locations);
	if (error) {
		const char *colon = strrchr(text, ':');

		if (mt_error_code(error) != MT_ERROR_NOT_FOUND ||
		    locations.kind != MT_LOCATION_LINE || locations.no_file ||
		    (!colon && !options->file))
			return error;
		mt_error_destroy(error);
		mt_str_appendf(out, "Line number %u is out of range for \"%.*s\".\n",
			       locations.line,
			       (int)(colon ? colon - text : (ptrdiff_t)strlen(options->file)),
			       colon ? text : options->file);
		return NULL;
	}
	mt_array_each (location, &locations)
		describe(space, options, location,
			 locations.kind == MT_LOCATION_LINE ? locations.line : 0, out);
	mt_locations_deinit(&locations);
	return out->failed ? mt_error_no_memory() : NULL;
}
