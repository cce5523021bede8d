/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that change where the program continues. */
#include "prompt/prompt.h"

#include <string.h>

/* The address that a location means, if it means one. */
struct target {
	uint64_t address;
	size_t count;
};

static struct mt_error *note_target(void *context, const struct mt_location *location)
{
	struct target *target = context;

	target->address = location->address;
	target->count++;
	return NULL;
}

static struct mt_error *run_jump(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);
	mt_auto(mt_str) struct mt_str question = {0};
	struct mt_debug_position position;
	struct target target = {0};
	struct mt_debug_stop stop;

	if (!mt_debugger_pid(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (starting address).");
	mt_try(mt_debugger_locate(prompt->debugger, rest, note_target, &target));
	if (target.count != 1)
		return mt_error_new(MT_ERROR_USAGE, "Unreasonable jump request");
	/* The code of another function would find this one's stack. */
	mt_debugger_position(prompt->debugger, target.address, &position);
	if (frame && frame->function &&
	    (!position.function || position.function->start != frame->function_start)) {
		mt_str_appendf(&question, "Line %u is not in `%s'.  Jump anyway? (y or n) ",
			       position.source.line, frame->function);
		if (question.failed || !prompt_confirms(prompt, question.text))
			return mt_error_new(MT_ERROR_USAGE, "Not confirmed.");
	}
	if (prompt_is_at_terminal(prompt))
		prompt_printf("Continuing at 0x%llx.\n", (unsigned long long)target.address);
	mt_try(mt_debugger_jump(prompt->debugger, target.address, &stop));
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *run_return(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	mt_auto(mt_str) struct mt_str question = {0};

	mt_str_appendf(&question, "Make %s return now? (y or n) ",
		       frame && frame->function ? frame->function : "selected stack frame");
	if (question.failed)
		return mt_error_no_memory();
	if (frame && prompt_is_at_terminal(prompt) && !prompt_confirms(prompt, question.text))
		return mt_error_new(MT_ERROR_USAGE, "Not confirmed");
	mt_try(mt_debugger_return(prompt->debugger, rest));
	frame = mt_debugger_selected_frame(prompt->debugger);
	if (frame && prompt_is_at_terminal(prompt))
		prompt_show_frame(prompt, frame, true);
	return NULL;
}

const struct prompt_command prompt_alter_commands[] = {
    {.name = "jump",
     .aliases = "j",
     .usage = "LOCATION",
     .takes = PROMPT_LOCATION,
     .summary = "Continue the program at LOCATION",
     .help = "The stack is not changed, so LOCATION should be in the same function.\n",
     .run = run_jump},
    {.name = "return",
     .usage = "[EXPRESSION]",
     .summary = "Make the selected frame return to its caller",
     .help = "EXPRESSION is the value that it returns.  The program is not continued.\n",
     .run = run_return},
    {0},
};
