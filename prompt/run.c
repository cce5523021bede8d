/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that start, run and end the program. */
#include "prompt/prompt.h"

#include <string.h>

static bool is_running(struct prompt *prompt)
{
	return mt_debugger_has_process(prompt->debugger);
}

static struct mt_error *go_on(struct prompt *prompt)
{
	struct mt_debug_stop stop;

	mt_try(mt_debugger_continue(prompt->debugger, &stop));
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *launch(struct prompt *prompt, const char *arguments)
{
	if (is_running(prompt) && prompt_is_at_terminal(prompt) &&
	    !prompt_confirms(prompt, "The program being debugged has been started already.\n"
				     "Start it from the beginning? (y or n) "))
		return mt_error_new(MT_ERROR_USAGE, "Program not restarted.");
	if (*arguments)
		mt_try(mt_debugger_set_arguments(prompt->debugger, arguments));
	fflush(stdout);
	prompt->last_stop = (struct mt_debug_stop){0};
	return mt_debugger_launch(prompt->debugger);
}

static struct mt_error *run(struct prompt *prompt, const char *rest)
{
	mt_try(launch(prompt, rest));
	return go_on(prompt);
}

static struct mt_error *start(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint at_main = {.location = "main", .temporary = true};

	mt_try(prompt_add_breakpoint(prompt, &at_main));
	return run(prompt, rest);
}

static struct mt_error *starti(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame;

	mt_try(launch(prompt, rest));
	prompt_printf("\nProgram stopped.\n");
	frame = mt_debugger_selected_frame(prompt->debugger);
	if (frame)
		prompt_show_frame(prompt, frame, false);
	return NULL;
}

static struct mt_error *not_running(void)
{
	return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
}

static struct mt_error *run_continue(struct prompt *prompt, const char *rest)
{
	unsigned number = prompt->last_stop.breakpoint;
	uint64_t count;

	if (!is_running(prompt))
		return not_running();
	mt_try(prompt_parse_count(rest, &count));
	/* A count ignores further hits of the breakpoint that the program is stopped at. */
	if (count >= 2 && mt_debugger_find_breakpoint(prompt->debugger, number)) {
		mt_try(mt_debugger_ignore(prompt->debugger, number, count - 1));
		prompt_printf("Will ignore next %llu crossings of breakpoint %u.  Continuing.\n",
			      (unsigned long long)(count - 1), number);
	}
	if (prompt_is_at_terminal(prompt) && count < 2)
		prompt_printf("Continuing.\n");
	return go_on(prompt);
}

static struct mt_error *run_step(struct prompt *prompt, const char *rest, int how)
{
	struct mt_debug_stop stop = {.kind = MT_DEBUG_STEPPED};
	uint64_t count;

	if (!is_running(prompt))
		return not_running();
	mt_try(prompt_parse_count(rest, &count));
	for (; count && stop.kind == MT_DEBUG_STEPPED; count--) {
		const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);

		if ((how == MT_DEBUG_STEP || how == MT_DEBUG_NEXT) && frame && !frame->has_debug &&
		    frame->function)
			prompt_printf("Single stepping until exit from function %s,\n"
				      "which has no line number information.\n",
				      frame->function);
		mt_try(mt_debugger_step(prompt->debugger, (enum mt_debug_step)how, &stop));
	}
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *run_finish(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	struct mt_debug_stop stop;

	(void)rest;
	if (!frame || !is_running(prompt))
		return not_running();
	if (!mt_debugger_frame(prompt->debugger, frame->level + 1))
		return mt_error_new(MT_ERROR_USAGE,
				    "\"finish\" not meaningful in the outermost frame.");
	if (prompt_is_at_terminal(prompt)) {
		prompt_printf("Run till exit from ");
		prompt_print_frame(prompt, mt_debugger_selected_frame(prompt->debugger), true);
	}
	mt_try(mt_debugger_finish(prompt->debugger, &stop));
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *run_until(struct prompt *prompt, const char *rest, int is_advance)
{
	struct mt_debug_stop stop;

	if (!is_running(prompt))
		return not_running();
	if (!*rest && !is_advance)
		return run_step(prompt, "", MT_DEBUG_UNTIL);
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (a location).");
	mt_try(mt_debugger_run_to(prompt->debugger, rest, !is_advance, &stop));
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *run_kill(struct prompt *prompt, const char *rest)
{
	pid_t pid = mt_debugger_pid(prompt->debugger);

	(void)rest;
	if (!is_running(prompt))
		return not_running();
	if (!prompt_confirms(prompt, "Kill the program being debugged? (y or n) "))
		return mt_error_new(MT_ERROR_USAGE, "Not confirmed.");
	mt_try(mt_debugger_kill(prompt->debugger));
	prompt_printf("[Inferior %u (process %d) killed]\n",
		      mt_debugger_inferior_count(prompt->debugger), pid);
	return NULL;
}

struct mt_error *prompt_leave_program(struct prompt *prompt)
{
	/* A process that ran before we attached is not ours to kill, though GDB does. */
	bool is_attached = mt_debugger_is_attached(prompt->debugger);

	if (!is_running(prompt))
		return NULL;
	if (!prompt_confirms(
		prompt, is_attached ? "A program is being debugged already.  Detach it? (y or n) "
				    : "A program is being debugged already.  Kill it? (y or n) "))
		return mt_error_new(MT_ERROR_USAGE, "Not killed.");
	return is_attached ? mt_debugger_detach(prompt->debugger)
			   : mt_debugger_kill(prompt->debugger);
}

struct mt_error *prompt_attach(struct prompt *prompt, const char *text)
{
	uint64_t pid;

	if (!*text)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (process-id to attach).");
	if (strcmp(text, "?") == 0) {
		pid_t chosen;

		mt_try(prompt_choose_process(prompt, &chosen));
		pid = (uint64_t)chosen;
	} else {
		mt_try(mt_parse_number(text, "process", 1, INT32_MAX, &pid));
	}
	mt_try(prompt_leave_program(prompt));
	prompt->last_stop = (struct mt_debug_stop){0};
	const char *path = mt_debugger_path(prompt->debugger);
	if (prompt_is_at_terminal(prompt) && path)
		prompt_printf("Attaching to program: %s, process %d\n", path, (int)pid);
	else if (prompt_is_at_terminal(prompt))
		prompt_printf("Attaching to process %d\n", (int)pid);
	struct mt_error *error = mt_debugger_attach(prompt->debugger, (pid_t)pid);
	if (error)
		return error;
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	if (frame)
		prompt_show_frame(prompt, frame, false);
	return NULL;
}

static struct mt_error *run_detach(struct prompt *prompt, const char *rest)
{
	pid_t pid = mt_debugger_pid(prompt->debugger);
	const char *path = mt_debugger_path(prompt->debugger);

	(void)rest;
	if (mt_debugger_core_path(prompt->debugger))
		return prompt_core_file(prompt, "");
	if (!pid)
		return not_running();
	if (prompt_is_at_terminal(prompt))
		prompt_printf("Detaching from program: %s, process %d\n", path ? path : "", pid);
	mt_try(mt_debugger_detach(prompt->debugger));
	prompt_printf("[Inferior %u (process %d) detached]\n",
		      mt_debugger_inferior_count(prompt->debugger), pid);
	return NULL;
}

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

	if (!is_running(prompt))
		return not_running();
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

const struct prompt_command prompt_run_commands[] = {
    {.name = "run",
     .aliases = "r",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program from its beginning",
     .help = "ARGUMENTS are kept for the next run.  A shell expands them: < and > work.\n",
     .run = run},
    {.name = "start",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program and stop in its main function",
     .run = start},
    {.name = "starti",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program and stop at its first instruction",
     .run = starti},
    {.name = "continue",
     .aliases = "c fg",
     .usage = "[COUNT]",
     .summary = "Continue the program",
     .help = "With COUNT the breakpoint that it stopped at is ignored COUNT - 1 times.\n",
     .repeats = true,
     .run = run_continue},
    {.name = "step",
     .aliases = "s",
     .usage = "[COUNT]",
     .summary = "Step to another source line, into functions that are called",
     .repeats = true,
     .run_variant = run_step,
     .variant = MT_DEBUG_STEP},
    {.name = "next",
     .aliases = "n",
     .usage = "[COUNT]",
     .summary = "Step to another source line, over functions that are called",
     .repeats = true,
     .run_variant = run_step,
     .variant = MT_DEBUG_NEXT},
    {.name = "stepi",
     .aliases = "si",
     .usage = "[COUNT]",
     .summary = "Step one instruction",
     .repeats = true,
     .run_variant = run_step,
     .variant = MT_DEBUG_STEPI},
    {.name = "nexti",
     .aliases = "ni",
     .usage = "[COUNT]",
     .summary = "Step one instruction, over a function that it calls",
     .repeats = true,
     .run_variant = run_step,
     .variant = MT_DEBUG_NEXTI},
    {.name = "finish",
     .aliases = "fin",
     .summary = "Run until the selected frame returns",
     .repeats = true,
     .run = run_finish},
    {.name = "until",
     .aliases = "u",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Run to a later line, or to LOCATION, or until the frame returns",
     .repeats = true,
     .run_variant = run_until},
    {.name = "advance",
     .usage = "LOCATION",
     .takes = PROMPT_LOCATION,
     .summary = "Run to LOCATION, or until the frame returns",
     .run_variant = run_until,
     .variant = true},
    {.name = "kill", .aliases = "k", .summary = "Kill the program", .run = run_kill},
    {.name = "attach",
     .usage = "PID",
     .summary = "Attach to a running process",
     .run = prompt_attach},
    {.name = "detach", .summary = "Detach from the program, which continues", .run = run_detach},
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
