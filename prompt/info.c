/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info` about the program: lines, libraries, frames. */
#include "prompt/prompt.h"
#include "values/libraries.h"

#include <string.h>

struct mt_error *prompt_info_line(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	mt_auto(mt_str) struct mt_str location = {0}, out = {0};

	if (!*rest && (!frame || !frame->source.line))
		return mt_error_new(MT_ERROR_USAGE, "No line number information available.");
	if (*rest)
		mt_str_append(&location, rest);
	else
		mt_str_appendf(&location, "%u", frame->source.line);
	if (location.failed)
		return mt_error_no_memory();
	mt_try(mt_debugger_info_line(prompt->debugger, location.text, &out));
	prompt_printf("%s", out.text ? out.text : "");
	return NULL;
}

/* ---- Libraries ---- */

struct libraries {
	size_t count, bare;
	bool loader; /* only the dynamic loader is printed, else only the others */
};

static bool print_library(void *context, const struct mt_expr_library *library)
{
	struct libraries *libraries = context;
	bool is_bare = !mt_objfile_debug_path(library->objfile);

	if ((strstr(library->name, "/ld-linux") != NULL) != libraries->loader)
		return true;
	if (!libraries->count++)
		prompt_printf("From                To                  Syms Read   Shared Object "
			      "Library\n");
	prompt_printf("0x%016llx  0x%016llx  %-11s ", (unsigned long long)library->start,
		      (unsigned long long)library->end, is_bare ? "Yes (*)" : "Yes");
	prompt_styled(PROMPT_FILENAME, "%s", library->name);
	prompt_printf("\n");
	libraries->bare += is_bare;
	return true;
}

/* The loader is the first, since it was mapped first. */
struct mt_error *prompt_info_sharedlibrary(struct prompt *prompt, const char *rest)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct libraries libraries = {.loader = true};
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	(void)rest;
	mt_expr_each_library(program, &frame, print_library, &libraries);
	libraries.loader = false;
	mt_expr_each_library(program, &frame, print_library, &libraries);
	if (!libraries.count)
		prompt_printf("No shared libraries loaded at this time.\n");
	else if (libraries.bare)
		prompt_printf("(*): Shared library is missing debugging information.\n");
	return NULL;
}

/* ---- A frame ---- */

/* Where GDB takes the arguments to begin: at the frame pointer, or where it would be. */
static uint64_t arguments_at(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, push_rbp = 0x55;
	static const uint8_t mov[] = {0x48, 0x89, 0xe5}, same_mov[] = {0x48, 0x8b, 0xec};
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	uint64_t rsp = frame->registers.values[MT_REGISTER_RSP], start = frame->function_start;
	uint8_t code[8] = {0};

	size_t size =
	    target->ops->read(target, mt_debugger_pid(prompt->debugger), start, code, sizeof(code));
	size_t at = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	if (size < sizeof(code) || code[at] != push_rbp || frame->pc <= start + at)
		return rsp - 8;
	if (frame->pc <= start + at + 1 || (memcmp(code + at + 1, mov, sizeof(mov)) != 0 &&
					    memcmp(code + at + 1, same_mov, sizeof(same_mov)) != 0))
		return rsp;
	return frame->registers.values[MT_REGISTER_RBP];
}

/* Prints where the function returns to, or the one that it is inlined into. */
static void print_saved_rip(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	uint64_t saved[MT_REGISTER_COUNT] = {0}, rip;

	while (frame && frame->type == MT_DEBUG_INLINE_FRAME)
		frame = mt_debugger_frame(prompt->debugger, frame->level + 1);
	if (!frame || !mt_debugger_saved_registers(prompt->debugger, frame, saved))
		return;
	if (saved[MT_REGISTER_RIP] &&
	    target->ops->read(target, mt_debugger_pid(prompt->debugger), saved[MT_REGISTER_RIP],
			      &rip, sizeof(rip)) == sizeof(rip))
		prompt_printf("; saved rip = 0x%llx", (unsigned long long)rip);
}

static void print_neighbours(struct prompt *prompt, const struct mt_debug_frame *frame,
			     bool has_caller)
{
	const struct mt_debug_frame *caller = mt_debugger_frame(prompt->debugger, frame->level + 1);
	const struct mt_debug_frame *callee =
	    frame->level ? mt_debugger_frame(prompt->debugger, frame->level - 1) : NULL;
	const char *why = mt_debugger_frames_end(prompt->debugger);

	if (caller && frame->type == MT_DEBUG_INLINE_FRAME)
		prompt_printf(" inlined into frame %u", caller->level);
	else if (caller && frame->type == MT_DEBUG_TAIL_CALL_FRAME)
		prompt_printf(" tail call frame");
	else if (caller)
		prompt_printf(" called by frame at 0x%llx", (unsigned long long)caller->cfa);
	else if (!has_caller)
		prompt_printf(" Outermost frame: %s\n", why ? why : "outermost");
	if (callee)
		prompt_printf("%s caller of frame at 0x%llx", caller ? "," : "",
			      (unsigned long long)callee->cfa);
	if (caller || callee)
		prompt_printf("\n");
}

/* SAVED: as of mt_debugger_saved_registers(). */
static void print_saved(const uint64_t *saved)
{
	static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
					    "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
	static const uint8_t numbers[] = {MT_REGISTER_RAX,
					  MT_REGISTER_RBX,
					  MT_REGISTER_RCX,
					  MT_REGISTER_RDX,
					  MT_REGISTER_RSI,
					  MT_REGISTER_RDI,
					  MT_REGISTER_RBP,
					  8,
					  9,
					  10,
					  11,
					  12,
					  13,
					  14,
					  15,
					  MT_REGISTER_RIP};
	bool any = false;

	for (size_t i = 0; i < sizeof(numbers); i++) {
		if (!saved[numbers[i]])
			continue;
		prompt_printf("%s %s at 0x%llx", any ? "," : " Saved registers:\n ", names[i],
			      (unsigned long long)saved[numbers[i]]);
		any = true;
	}
	if (any)
		prompt_printf("\n");
}

static void print_arguments(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	unsigned long long base = arguments_at(prompt, frame), cfa = frame->cfa;
	mt_auto(mt_str) struct mt_str arguments = {0};

	if (frame->type == MT_DEBUG_INLINE_FRAME) {
		prompt_printf(" Arglist at unknown address.\n"
			      " Locals at unknown address, Previous frame's sp is 0x%llx\n",
			      cfa);
		return;
	}
	prompt_list_arguments(prompt, frame, &arguments);
	prompt_printf(" Arglist at 0x%llx, args: %s\n", base,
		      arguments.text && !arguments.failed ? arguments.text : "");
	prompt_printf(" Locals at 0x%llx, Previous frame's sp is 0x%llx\n", base, cfa);
}

struct mt_error *prompt_info_frame(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	mt_auto(mt_str) struct mt_str name = {0};
	uint64_t saved[MT_REGISTER_COUNT] = {0};

	(void)rest;
	if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No stack.");
	bool has_caller = mt_debugger_saved_registers(prompt->debugger, frame, saved);
	prompt_printf("Stack level %u, frame at 0x%llx:\n rip = 0x%llx", frame->level,
		      (unsigned long long)frame->cfa, (unsigned long long)frame->pc);
	prompt_name_function(prompt, frame, &name);
	if (name.text && !name.failed)
		prompt_printf(" in %s", name.text);
	if (frame->file)
		prompt_printf(" (%s:%u)", frame->file, frame->source.line);
	print_saved_rip(prompt, frame);
	prompt_printf("\n");
	print_neighbours(prompt, frame, has_caller);
	if (frame->has_debug) {
		const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);

		prompt_printf(
		    " source language %s.\n",
		    mt_program_language_name(mt_debugger_expressions(prompt->debugger), at.pc));
	}
	print_arguments(prompt, frame);
	print_saved(saved);
	return NULL;
}

/* ---- The source ---- */

struct mt_error *prompt_info_source(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	const char *file = frame ? frame->source.file : prompt->listing.file;

	(void)rest;
	if (!file)
		prompt_printf("No current source file.\n");
	else
		prompt_printf("Current source file is %s\nLocated in %s\n",
			      frame ? frame->file : prompt->listing.name, file);
	return NULL;
}
