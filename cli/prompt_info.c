/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info` about the program: lines, libraries, a frame. */
#include "prompt.h"

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

static void print_caller(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	const struct mt_debug_frame *caller = mt_debugger_frame(prompt->debugger, frame->level + 1);

	if (!caller)
		prompt_printf("\n Outermost frame: %s\n",
			      mt_debugger_frames_end(prompt->debugger)
				  ? mt_debugger_frames_end(prompt->debugger)
				  : "outermost");
	else if (frame->inlined)
		prompt_printf("\n inlined into frame %u\n", caller->level);
	else
		prompt_printf("; saved rip = 0x%llx\n called by frame at 0x%llx\n",
			      (unsigned long long)caller->pc, (unsigned long long)caller->cfa);
}

struct mt_error *prompt_info_frame(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);

	(void)rest;
	if (!frame)
		return mt_error_new(MT_ERROR_USAGE, "No stack.");
	prompt_printf("Stack level %u, frame at 0x%llx:\n rip = 0x%llx", frame->level,
		      (unsigned long long)frame->cfa, (unsigned long long)frame->pc);
	if (frame->function)
		prompt_printf(" in %s", frame->function);
	if (frame->file)
		prompt_printf(" (%s:%u)", frame->file, frame->source.line);
	print_caller(prompt, frame);
	if (frame->level) {
		const struct mt_debug_frame *callee =
		    mt_debugger_frame(prompt->debugger, frame->level - 1);

		prompt_printf(" caller of frame at 0x%llx\n", (unsigned long long)callee->cfa);
	}
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
