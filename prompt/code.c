/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions. */
#include "prompt/prompt.h"

#include "x86/disassemble.h"

#include <string.h>

#define LONGEST_INSTRUCTION 15
#define BYTES_COLUMNS       21 /* of seven bytes; longer ones push the text on */

struct listing {
	bool raw;    /* with the bytes */
	bool source; /* with source lines, in the order of the addresses */
	uint64_t start, end;
	uint64_t pc;        /* of the selected frame; 0: there is none */
	const char *name;   /* of the function that all of it is of; NULL: of several */
	uint32_t last_line; /* that was printed */
};

size_t prompt_read_code(struct prompt *prompt, uint64_t address, void *bytes, size_t size)
{
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	struct mt_space *space = mt_debugger_space(prompt->debugger);
	pid_t pid = mt_debugger_pid(prompt->debugger);

	if (pid)
		return target->ops->read(target, pid, address, bytes, size);
	return mt_space_read(space, address, bytes, size);
}

/* " <main+4>", or nothing. */
static void put_symbol(struct prompt *prompt, uint64_t address, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_expr_format_code(mt_debugger_expressions(prompt->debugger), address, &text);
	if (text.text && strchr(text.text, ' '))
		mt_str_append(out, strchr(text.text, ' '));
}

size_t prompt_put_instruction(struct prompt *prompt, uint64_t address, struct mt_str *out)
{
	uint8_t bytes[LONGEST_INSTRUCTION];
	size_t size = prompt_read_code(prompt, address, bytes, sizeof(bytes));
	struct mt_insn_text insn;

	if (!size)
		return 0;
	if (mt_insn_disassemble(bytes, size, address,
				prompt->settings.syntax == PROMPT_INTEL_SYNTAX, &insn)) {
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

static struct mt_error *no_memory_at(uint64_t address)
{
	return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
			    (unsigned long long)address);
}

static struct mt_error *parse_address(struct prompt *prompt, const char *text, uint64_t *address)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	struct mt_expr *expr = NULL;
	struct mt_value *value = NULL;
	int64_t number = 0;
	uint64_t function;
	size_t size;

	struct mt_error *error = mt_expr_parse(program, &frame, text, &expr);
	if (!error)
		error = mt_expr_evaluate(expr, &frame, &value);
	if (!error)
		error = mt_value_to_integer(value, &number);
	*address = (uint64_t)number;
	/* A function means its address. */
	if (error && value && mt_value_location(value, &function, &size)) {
		mt_error_destroy(error);
		error = NULL;
		*address = function;
	}
	mt_value_destroy(value);
	mt_expr_destroy(expr);
	return error;
}

/* Prints the line that begins at ADDRESS, when it is another one than before. */
static void print_source(struct prompt *prompt, struct listing *listing, uint64_t address)
{
	struct mt_debug_position position;

	mt_debugger_position(prompt->debugger, address, &position);
	if (!position.file || !position.source.line || position.source.line == listing->last_line)
		return;
	prompt_printf(listing->last_line ? "\n" : "%s:\n", position.file);
	listing->last_line = position.source.line;
	mt_error_destroy(prompt_print_lines(prompt, position.source.file, position.file,
					    position.source.line, position.source.line));
}

static size_t print_instruction(struct prompt *prompt, struct listing *listing, uint64_t address)
{
	mt_auto(mt_str) struct mt_str text = {0}, symbol = {0}, bytes = {0};
	uint8_t code[LONGEST_INSTRUCTION];
	size_t length = prompt_put_instruction(prompt, address, &text), size = 0;
	struct mt_debug_position position;

	if (!length)
		return 0;
	if (listing->source)
		print_source(prompt, listing, address);
	if (listing->raw)
		size = prompt_read_code(prompt, address, code, length);
	for (size_t i = 0; i < size; i++)
		mt_str_appendf(&bytes, "%s%02x", i ? " " : "", code[i]);
	mt_debugger_position(prompt->debugger, address, &position);
	if (position.function)
		mt_str_appendf(&symbol, " <%s+%llu>", listing->name ? "" : position.function->name,
			       (unsigned long long)(address - position.function->start));
	prompt_printf("%s0x%016llx%s:\t", address == listing->pc ? "=> " : "   ",
		      (unsigned long long)address, symbol.text ? symbol.text : "");
	if (listing->raw)
		prompt_printf("%-*s\t", BYTES_COLUMNS - 2, bytes.text ? bytes.text : "");
	prompt_printf("%s\n", text.text ? text.text : "");
	return length;
}

static struct mt_error *take_function(struct prompt *prompt, uint64_t address,
				      struct listing *listing)
{
	struct mt_debug_position position;

	mt_debugger_position(prompt->debugger, address, &position);
	if (!position.function)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No function contains %s address.",
				    listing->pc == address ? "program counter for selected frame's"
							   : "specified");
	listing->name = position.function->name;
	listing->start = position.function->start;
	listing->end = position.function->end;
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

static struct mt_error *run_disassemble(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	struct listing listing = {.pc = frame ? frame->pc : 0};

	while (*rest == '/') {
		for (rest++; *rest && !strchr(" \t/", *rest); rest++) {
			if (!strchr("rms", *rest))
				return mt_error_new(MT_ERROR_USAGE,
						    "Invalid disassembly modifier.");
			listing.raw |= *rest == 'r';
			listing.source |= *rest != 'r';
		}
		rest = prompt_skip_blanks(rest);
	}
	if (!*rest && !frame)
		return mt_error_new(MT_ERROR_USAGE, "No frame selected.");
	mt_try(*rest ? take_range(prompt, rest, &listing)
		     : take_function(prompt, frame->pc, &listing));
	if (listing.name)
		prompt_printf("Dump of assembler code for function %s:\n", listing.name);
	else
		prompt_printf("Dump of assembler code from 0x%llx to 0x%llx:\n",
			      (unsigned long long)listing.start, (unsigned long long)listing.end);
	for (uint64_t at = listing.start; at < listing.end && !prompt_out_was_left();) {
		size_t length = print_instruction(prompt, &listing, at);

		if (!length)
			return no_memory_at(at);
		at += length;
	}
	prompt_printf("End of assembler dump.\n");
	return NULL;
}

struct mt_error *prompt_examine_code(struct prompt *prompt, const char *text, int32_t count)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	uint64_t address = prompt->examining.next;

	if (*text)
		mt_try(parse_address(prompt, text, &address));
	if (!count)
		count = prompt->examining.count;
	prompt->examining.count = count;
	for (; count > 0 && !prompt_out_was_left(); count--) {
		mt_auto(mt_str) struct mt_str line = {0};

		mt_str_appendf(&line, "%s0x%llx", frame && frame->pc == address ? "=> " : "   ",
			       (unsigned long long)address);
		put_symbol(prompt, address, &line);
		mt_str_append(&line, ":\t");
		size_t length = prompt_put_instruction(prompt, address, &line);
		prompt_printf("%s%s", line.failed ? "" : line.text, length ? "\n" : "");
		if (!length)
			return no_memory_at(address);
		address += length;
		prompt->examining.next = address;
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
