/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions. */
#include "prompt/prompt.h"

#include "x86/disassemble.h"

#include <string.h>

#define LONGEST_INSTRUCTION 15
#define BYTES_COLUMNS       21 /* of seven bytes; longer ones push the text on */

struct listing {
	bool raw;    /* the bytes too */
	bool source; /* lines too, in the order of the addresses */
	uint64_t start, end;
	uint64_t pc;        /* where the selected frame stands; 0: nowhere */
	const char *name;   /* all of it is one function's, whose name need not be repeated */
	uint32_t last_line; /* whose source was printed */
};

/* What is in memory, or before the program runs in its file. */
static size_t read_code(struct prompt *prompt, uint64_t address, void *bytes, size_t size)
{
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	struct mt_space *space = mt_debugger_space(prompt->debugger);
	pid_t pid = mt_debugger_pid(prompt->debugger);

	if (pid)
		return target->ops->read(target, pid, address, bytes, size);
	return space ? mt_space_read(space, address, bytes, size) : 0;
}

/* " <main+4>", or nothing. */
static void put_symbol(struct prompt *prompt, uint64_t address, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_expr_program *program;
	struct mt_error *error = mt_debugger_expressions(prompt->debugger, &program);

	if (!error)
		mt_expr_format_code(program, address, &text);
	mt_error_destroy(error);
	if (text.text && strchr(text.text, ' '))
		mt_str_append(out, strchr(text.text, ' '));
}

size_t prompt_put_instruction(struct prompt *prompt, uint64_t address, struct mt_str *out)
{
	uint8_t bytes[LONGEST_INSTRUCTION];
	size_t size = read_code(prompt, address, bytes, sizeof(bytes));
	struct mt_insn_text insn;

	if (!size)
		return 0;
	if (mt_insn_disassemble(bytes, size, address, prompt->intel, &insn)) {
		mt_str_append(out, "(bad)");
		return 1;
	}
	mt_str_append(out, insn.text);
	if (insn.target)
		put_symbol(prompt, insn.target, out);
	if (insn.address) {
		mt_str_appendf(out, "        # 0x%llx", (unsigned long long)insn.address);
		put_symbol(prompt, insn.address, out);
	}
	return insn.length;
}

static struct mt_error *parse_address(struct prompt *prompt, const char *text, uint64_t *address)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program;
	struct mt_expr *expr = NULL;
	struct mt_value *value = NULL;
	int64_t number = 0;
	uint64_t place;
	size_t size;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	struct mt_error *error = mt_expr_parse(program, &frame, text, &expr);
	if (!error)
		error = mt_expr_evaluate(expr, &frame, &value);
	if (!error)
		error = mt_value_to_integer(value, &number);
	*address = (uint64_t)number;
	/* A function is its place. */
	if (error && value && mt_value_location(value, &place, &size)) {
		mt_error_destroy(error);
		error = NULL;
		*address = place;
	}
	mt_value_destroy(value);
	mt_expr_destroy(expr);
	return error;
}

static void put_bytes(struct prompt *prompt, uint64_t address, size_t count, struct mt_str *out)
{
	uint8_t bytes[LONGEST_INSTRUCTION];
	size_t size = read_code(prompt, address, bytes, count), began = out->length;

	for (size_t i = 0; i < size; i++)
		mt_str_appendf(out, "%s%02x", i ? " " : "", bytes[i]);
	while (!out->failed && out->length - began < BYTES_COLUMNS - 2)
		mt_str_append(out, " ");
	mt_str_append(out, "\t");
}

/* The line that begins here, when it is another one. */
static void print_source(struct prompt *prompt, struct listing *listing, uint64_t address)
{
	struct mt_debug_place place;

	mt_debugger_place(prompt->debugger, address, &place);
	if (!place.file || !place.source.line || place.source.line == listing->last_line)
		return;
	prompt_printf(listing->last_line ? "\n" : "%s:\n", place.file);
	listing->last_line = place.source.line;
	mt_error_destroy(prompt_print_lines(prompt, place.source.file, place.file,
					    place.source.line, place.source.line));
}

static size_t print_instruction(struct prompt *prompt, struct listing *listing, uint64_t address)
{
	mt_auto(mt_str) struct mt_str text = {0}, place = {0};
	size_t length = prompt_put_instruction(prompt, address, &text);
	mt_auto(mt_str) struct mt_str bytes = {0};
	struct mt_debug_place at;

	if (!length)
		return 0;
	if (listing->source)
		print_source(prompt, listing, address);
	if (listing->raw)
		put_bytes(prompt, address, length, &bytes);
	mt_debugger_place(prompt->debugger, address, &at);
	if (at.function && at.function->kind != MT_FUNCTION_UNKNOWN)
		mt_str_appendf(&place, " <%s+%llu>", listing->name ? "" : at.function->name,
			       (unsigned long long)(address - at.function->start));
	prompt_printf("%s0x%016llx%s:\t%s%s\n", address == listing->pc ? "=> " : "   ",
		      (unsigned long long)address, place.text ? place.text : "",
		      bytes.text ? bytes.text : "", text.text ? text.text : "");
	return length;
}

static struct mt_error *print_listing(struct prompt *prompt, struct listing *listing)
{
	if (listing->name)
		prompt_printf("Dump of assembler code for function %s:\n", listing->name);
	else
		prompt_printf("Dump of assembler code from 0x%llx to 0x%llx:\n",
			      (unsigned long long)listing->start, (unsigned long long)listing->end);
	for (uint64_t at = listing->start; at < listing->end && !prompt_out_was_left();) {
		size_t length = print_instruction(prompt, listing, at);

		if (!length)
			return mt_error_new(MT_ERROR_NOT_FOUND,
					    "Cannot access memory at address 0x%llx",
					    (unsigned long long)at);
		at += length;
	}
	prompt_printf("End of assembler dump.\n");
	return NULL;
}

static struct mt_error *take_function(struct prompt *prompt, uint64_t address,
				      struct listing *listing)
{
	struct mt_debug_place place;

	mt_debugger_place(prompt->debugger, address, &place);
	if (!place.function || place.function->kind == MT_FUNCTION_UNKNOWN)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No function contains %s address.",
				    listing->pc == address ? "program counter for selected frame's"
							   : "specified");
	listing->name = place.function->name;
	listing->start = place.function->start;
	listing->end = place.function->end;
	return NULL;
}

/* "A,B", "A,+LENGTH", or an address in a function. */
static struct mt_error *take_range(struct prompt *prompt, const char *text, struct listing *listing)
{
	mt_auto(mt_str) struct mt_str first = {0};
	const char *comma = strchr(text, ',');
	uint64_t address;

	mt_str_append_bytes(&first, text, comma ? (size_t)(comma - text) : strlen(text));
	if (first.failed)
		return mt_error_no_memory();
	mt_try(parse_address(prompt, first.text, &address));
	if (!comma)
		return take_function(prompt, address, listing);
	const char *behind = prompt_skip_blanks(comma + 1);
	listing->start = address;
	mt_try(parse_address(prompt, *behind == '+' ? behind + 1 : behind, &listing->end));
	listing->end += *behind == '+' ? address : 0;
	return NULL;
}

static struct mt_error *parse_modifiers(const char **rest, struct listing *listing)
{
	while (**rest == '/') {
		for (++*rest; **rest && !strchr(" \t/", **rest); ++*rest) {
			if (!strchr("rms", **rest))
				return mt_error_new(MT_ERROR_USAGE,
						    "Invalid disassembly modifier.");
			listing->raw |= **rest == 'r';
			listing->source |= **rest != 'r';
		}
		*rest = prompt_skip_blanks(*rest);
	}
	return NULL;
}

static struct mt_error *run_disassemble(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	struct listing listing = {.pc = frame ? frame->pc : 0};

	mt_try(parse_modifiers(&rest, &listing));
	if (*rest)
		mt_try(take_range(prompt, rest, &listing));
	else if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No frame selected.");
	else
		mt_try(take_function(prompt, frame->pc, &listing));
	return print_listing(prompt, &listing);
}

struct mt_error *prompt_examine_code(struct prompt *prompt, const char *text, int32_t count)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	uint64_t address = prompt->next_instruction;

	if (*text)
		mt_try(parse_address(prompt, text, &address));
	if (!count)
		count = prompt->examined;
	prompt->examined = count;
	for (; count > 0 && !prompt_out_was_left(); count--) {
		mt_auto(mt_str) struct mt_str line = {0};

		mt_str_appendf(&line, "%s0x%llx", frame && frame->pc == address ? "=> " : "   ",
			       (unsigned long long)address);
		put_symbol(prompt, address, &line);
		mt_str_append(&line, ":\t");
		size_t length = prompt_put_instruction(prompt, address, &line);
		prompt_printf("%s%s", line.failed ? "" : line.text, length ? "\n" : "");
		if (!length)
			return mt_error_new(MT_ERROR_NOT_FOUND,
					    "Cannot access memory at address 0x%llx",
					    (unsigned long long)address);
		address += length;
		prompt->next_instruction = address;
	}
	return NULL;
}

const struct prompt_command prompt_code_commands[] = {
    {.name = "disassemble",
     .usage = "[/r] [/s] [FUNCTION | ADDRESS | FIRST,BEYOND | FIRST,+LENGTH]",
     .takes = PROMPT_LOCATION,
     .summary = "Print the instructions of a function",
     .help =
	 "Without an argument: of the one that the selected frame is in.  With /r the bytes are\n"
	 "printed too, with /s the source lines.\n",
     .repeats = true,
     .run = run_disassemble},
    {0},
};
