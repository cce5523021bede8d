/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info` about the program: lines, libraries, a frame. */
#include "prompt/prompt.h"
#include "values/libraries.h"

#include <string.h>

struct mt_error *prompt_info_line(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	mt_auto(mt_str) struct mt_str place = {0}, out = {0};

	if (!*rest && (!frame || !frame->source.line))
		return mt_error_new(MT_ERROR_USAGE, "No line number information available.");
	if (*rest)
		mt_str_append(&place, rest);
	else
		mt_str_appendf(&place, "%u", frame->source.line);
	if (place.failed)
		return mt_error_no_memory();
	mt_try(mt_debugger_info_line(prompt->debugger, place.text, &out));
	prompt_printf("%s", out.text ? out.text : "");
	return NULL;
}

/* ---- Libraries ---- */

struct libraries {
	size_t count, bare;
	bool loader; /* the dynamic loader is told now, else the others */
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

/* The loader was there first. */
struct mt_error *prompt_info_sharedlibrary(struct prompt *prompt, const char *rest)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct libraries libraries = {.loader = true};
	struct mt_expr_program *program;

	(void)rest;
	mt_try(mt_debugger_expressions(prompt->debugger, &program));
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

static bool moves_stack_pointer(const uint8_t code[3])
{
	static const uint8_t one[] = {0x48, 0x89, 0xe5}, other[] = {0x48, 0x8b, 0xec};

	return memcmp(code, one, sizeof(one)) == 0 || memcmp(code, other, sizeof(other)) == 0;
}

/* Where GDB takes the arguments to begin: at the frame pointer, or where it would be. */
static uint64_t arguments_at(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, push_rbp = 0x55;
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	uint64_t rsp = frame->registers.values[MT_REGISTER_RSP], start = frame->function_start;
	uint8_t code[8] = {0};

	size_t size =
	    target->ops->read(target, mt_debugger_pid(prompt->debugger), start, code, sizeof(code));
	size_t at = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
	if (size < sizeof(code) || code[at] != push_rbp || frame->pc <= start + at)
		return rsp - 8;
	if (frame->pc <= start + at + 1 || !moves_stack_pointer(code + at + 1))
		return rsp;
	return frame->registers.values[MT_REGISTER_RBP];
}

/* Where the function returns to, or the one that it is inlined into. */
static void print_saved_rip(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	uint64_t places[MT_REGISTER_COUNT] = {0}, place, rip;

	while (frame && frame->inlined)
		frame = mt_debugger_frame(prompt->debugger, frame->level + 1);
	if (!frame || !mt_debugger_saved_registers(prompt->debugger, frame, places))
		return;
	place = places[MT_REGISTER_RIP];
	if (place && target->ops->read(target, mt_debugger_pid(prompt->debugger), place, &rip,
				       sizeof(rip)) == sizeof(rip))
		prompt_printf("; saved rip = 0x%llx", (unsigned long long)rip);
}

static void print_neighbours(struct prompt *prompt, const struct mt_debug_frame *frame,
			     bool has_caller)
{
	const struct mt_debug_frame *caller = mt_debugger_frame(prompt->debugger, frame->level + 1);
	const struct mt_debug_frame *callee =
	    frame->level ? mt_debugger_frame(prompt->debugger, frame->level - 1) : NULL;
	const char *why = mt_debugger_frames_end(prompt->debugger);

	if (caller && frame->inlined)
		prompt_printf(" inlined into frame %u", caller->level);
	else if (caller && frame->tail)
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

static void print_saved(const uint64_t *places)
{
	static const struct {
		const char *name;
		unsigned number;
	} order[] = {
	    {"rax", MT_REGISTER_RAX},
	    {"rbx", MT_REGISTER_RBX},
	    {"rcx", MT_REGISTER_RCX},
	    {"rdx", MT_REGISTER_RDX},
	    {"rsi", MT_REGISTER_RSI},
	    {"rdi", MT_REGISTER_RDI},
	    {"rbp", MT_REGISTER_RBP},
	    {"r8", 8},
	    {"r9", 9},
	    {"r10", 10},
	    {"r11", 11},
	    {"r12", 12},
	    {"r13", 13},
	    {"r14", 14},
	    {"r15", 15},
	    {"rip", MT_REGISTER_RIP},
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if (!places[order[i].number])
			continue;
		prompt_printf("%s %s at 0x%llx", any ? "," : " Saved registers:\n ", order[i].name,
			      (unsigned long long)places[order[i].number]);
		any = true;
	}
	if (any)
		prompt_printf("\n");
}

static void print_arguments(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	unsigned long long base = arguments_at(prompt, frame), cfa = frame->cfa;
	mt_auto(mt_str) struct mt_str arguments = {0};

	if (frame->inlined) {
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

static void print_language(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);
	struct mt_expr_program *program;
	struct mt_error *error = mt_debugger_expressions(prompt->debugger, &program);

	if (!error && frame->has_debug)
		prompt_printf(" source language %s.\n", mt_program_language_name(program, at.pc));
	mt_error_destroy(error);
}

struct mt_error *prompt_info_frame(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	mt_auto(mt_str) struct mt_str name = {0};
	uint64_t places[MT_REGISTER_COUNT] = {0};

	(void)rest;
	if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No stack.");
	bool has_caller = mt_debugger_saved_registers(prompt->debugger, frame, places);
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
	print_language(prompt, frame);
	print_arguments(prompt, frame);
	print_saved(places);
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
