/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info` about the program: lines, libraries, frames, registers, processes. */
#include "prompt/prompt.h"
#include "values/libraries.h"

#include <stdio.h>
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
	enum { ALL_LIBRARIES, THE_LOADER, ALL_BUT_THE_LOADER } which;
};

static bool print_library(void *context, const struct mt_expr_library *library)
{
	struct libraries *libraries = context;
	bool is_bare = !mt_objfile_debug_path(library->objfile);

	bool is_loader = strstr(library->name, "/ld-linux") != NULL;

	if (libraries->which == (is_loader ? ALL_BUT_THE_LOADER : THE_LOADER))
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

/* The loader is the first, since it was mapped first; but for those who come later. */
struct mt_error *prompt_info_sharedlibrary(struct prompt *prompt, const char *rest)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	bool is_core = mt_debugger_core_path(prompt->debugger);
	struct libraries libraries = {.which = is_core ? ALL_LIBRARIES : THE_LOADER};
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	(void)rest;
	mt_expr_each_library(program, &frame, print_library, &libraries);
	libraries.which = ALL_BUT_THE_LOADER;
	if (!is_core)
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

/* ---- Registers ---- */

static const char *const general[] = {
    "rax", "rbx", "rcx", "rdx", "rsi",    "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
    "r13", "r14", "r15", "rip", "eflags", "cs",  "ss",  "ds",  "es", "fs", "gs",  NULL,
};
static const char *const x87[] = {
    "st0", "st1", "st2", "st3", "st4", "st5", "st6", "st7", NULL,
};
static const char *const vector[] = {
    "xmm0", "xmm1",  "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",  "xmm8",
    "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "mxcsr", NULL,
};
static const char *const rest_of_all[] = {"fs_base", "gs_base", NULL};

static const struct group {
	const char *name;
	const char *const *registers;
} groups[] = {
    {"general", general}, {"float", x87}, {"vector", vector}, {"sse", vector}, {0},
};

static struct mt_error *print_one(struct prompt *prompt, const char *name)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	mt_try(mt_expr_info_register(program, &frame, name, &out));
	if (out.failed)
		return mt_error_no_memory();
	prompt_printf("%s", out.text);
	return NULL;
}

static struct mt_error *print_all(struct prompt *prompt, const char *const *names)
{
	for (; *names; names++)
		mt_try(print_one(prompt, *names));
	return NULL;
}

/* WORDS: registers, or groups of them, with or without "$". */
static struct mt_error *print_words(struct prompt *prompt, const char *words)
{
	mt_auto(mt_str) struct mt_str name = {0};

	while (*words) {
		words += *words == '$';
		size_t length = strcspn(words, " \t");
		const struct group *group = groups;

		mt_str_clear(&name);
		mt_str_append_bytes(&name, words, length);
		if (name.failed)
			return mt_error_no_memory();
		while (group->name && strcmp(group->name, name.text) != 0)
			group++;
		mt_try(group->name ? print_all(prompt, group->registers)
				   : print_one(prompt, name.text));
		words = prompt_skip_blanks(words + length);
	}
	return NULL;
}

struct mt_error *prompt_info_registers(struct prompt *prompt, const char *rest, int all)
{
	if (!mt_debugger_selected_frame(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program has no registers now.");
	if (*rest)
		return print_words(prompt, rest);
	mt_try(print_all(prompt, general));
	if (!all)
		return NULL;
	mt_try(print_all(prompt, rest_of_all));
	mt_try(print_all(prompt, x87));
	return print_all(prompt, vector);
}

/* ---- Inferiors ---- */

struct mt_error *prompt_info_inferiors(struct prompt *prompt, const char *rest)
{
	unsigned last = mt_debugger_inferior_count(prompt->debugger);
	bool is_vfork = mt_debugger_is_vfork_child(prompt->debugger);

	(void)rest;
	prompt_printf("  %-4s %-17s %-20s %-17s \n", "Num", "Description", "Connection",
		      "Executable");
	for (unsigned number = 1; number <= last; number++) {
		const struct mt_debug_inferior one = mt_debugger_inferior(prompt->debugger, number);
		char name[32] = "<null>", connection[32] = "";

		if (one.pid) {
			snprintf(name, sizeof(name), "process %d", one.pid);
			snprintf(connection, sizeof(connection), "%u (%s)",
				 mt_debugger_beginnings(prompt->debugger),
				 mt_debugger_core_path(prompt->debugger) ? "core" : "native");
		}
		prompt_printf("%c %-4u %-17s %-20s %-17s \n", number == last ? '*' : ' ', number,
			      name, connection, one.path ? one.path : "");
		if (is_vfork && number + 1 == last)
			prompt_printf("\tis vfork parent of inferior %u\n", last);
		if (is_vfork && number == last)
			prompt_printf("\tis vfork child of inferior %u\n", last - 1);
	}
	return NULL;
}

static void print_reason(struct prompt *prompt)
{
	const struct mt_debug_stop *stop = &prompt->last_stop;
	unsigned number = stop->seen_count ? stop->seen[0].breakpoint : stop->breakpoint;

	if (stop->kind == MT_DEBUG_STEPPED)
		prompt_printf("It stopped after being stepped.\n");
	else if (number && mt_debugger_find_breakpoint(prompt->debugger, number))
		prompt_printf("It stopped at breakpoint %u.\n", number);
	else if (number)
		prompt_printf("It stopped at a breakpoint that has since been deleted.\n");
	else if (stop->kind == MT_DEBUG_SIGNAL && stop->signal)
		prompt_printf("It stopped with signal %s, %s.\n",
			      prompt_signal_name(stop->signal).text,
			      prompt_signal_words(stop->signal).text);
}

struct mt_error *prompt_info_program(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_thread *thread = mt_debugger_selected(prompt->debugger);
	const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);
	mt_auto(mt_str) struct mt_str name = {0};

	(void)rest;
	if (!thread || !mt_debugger_has_process(prompt->debugger)) {
		prompt_printf("The program being debugged is not being run.\n");
		return NULL;
	}
	prompt_name_thread(prompt, thread, &name);
	if (name.failed)
		return mt_error_no_memory();
	prompt_printf("\tUsing the running image of %s %s.\n",
		      mt_debugger_is_attached(prompt->debugger) ? "attached" : "child", name.text);
	if (frame)
		prompt_printf("Program stopped at 0x%llx.\n", (unsigned long long)frame->pc);
	if (prompt->last_stop.pid)
		print_reason(prompt);
	return NULL;
}
