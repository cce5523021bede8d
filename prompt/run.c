/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that begin, run and end the program. */
#include "prompt/prompt.h"

#include <string.h>

static bool is_running(struct prompt *prompt)
{
	return mt_debugger_pid(prompt->debugger) != 0;
}

static struct mt_error *go_on(struct prompt *prompt)
{
	struct mt_debug_stop stop;

	mt_try(mt_debugger_continue(prompt->debugger, &stop));
	return prompt_tell_stop(prompt, &stop);
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
	prompt->has_stopped = false;
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

/* A count passes the breakpoint that it stands at so many times. */
static struct mt_error *ignore_hits(struct prompt *prompt, uint64_t count)
{
	unsigned number = prompt->last_hit;

	if (count < 2 || !mt_debugger_find_breakpoint(prompt->debugger, number))
		return NULL;
	mt_try(mt_debugger_ignore(prompt->debugger, number, count - 1));
	prompt_printf("Will ignore next %llu crossings of breakpoint %u.  Continuing.\n",
		      (unsigned long long)(count - 1), number);
	return NULL;
}

static struct mt_error *run_continue(struct prompt *prompt, const char *rest)
{
	uint64_t count;

	if (!is_running(prompt))
		return not_running();
	mt_try(prompt_parse_count(rest, &count));
	mt_try(ignore_hits(prompt, count));
	if (prompt_is_at_terminal(prompt) && count < 2)
		prompt_printf("Continuing.\n");
	return go_on(prompt);
}

static bool is_without_lines(struct prompt *prompt, enum mt_debug_step how)
{
	const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);

	return (how == MT_DEBUG_STEP || how == MT_DEBUG_NEXT) && frame && !frame->has_debug &&
	       frame->function;
}

static struct mt_error *step(struct prompt *prompt, const char *rest, enum mt_debug_step how)
{
	struct mt_debug_stop stop = {.kind = MT_DEBUG_STEPPED};
	uint64_t count;

	if (!is_running(prompt))
		return not_running();
	mt_try(prompt_parse_count(rest, &count));
	for (; count && stop.kind == MT_DEBUG_STEPPED; count--) {
		if (is_without_lines(prompt, how))
			prompt_printf("Single stepping until exit from function %s,\n"
				      "which has no line number information.\n",
				      mt_debugger_frame(prompt->debugger, 0)->function);
		mt_try(mt_debugger_step(prompt->debugger, how, &stop));
	}
	return prompt_tell_stop(prompt, &stop);
}

static struct mt_error *run_step(struct prompt *prompt, const char *rest)
{
	return step(prompt, rest, MT_DEBUG_STEP);
}

static struct mt_error *run_next(struct prompt *prompt, const char *rest)
{
	return step(prompt, rest, MT_DEBUG_NEXT);
}

static struct mt_error *run_stepi(struct prompt *prompt, const char *rest)
{
	return step(prompt, rest, MT_DEBUG_STEPI);
}

static struct mt_error *run_nexti(struct prompt *prompt, const char *rest)
{
	return step(prompt, rest, MT_DEBUG_NEXTI);
}

static struct mt_error *run_finish(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	struct mt_debug_stop stop;

	(void)rest;
	if (!frame)
		return not_running();
	if (!mt_debugger_frame(prompt->debugger, frame->level + 1))
		return mt_error_new(MT_ERROR_USAGE,
				    "\"finish\" not meaningful in the outermost frame.");
	if (prompt_is_at_terminal(prompt)) {
		prompt_printf("Run till exit from ");
		prompt_print_frame(prompt, mt_debugger_selected_frame(prompt->debugger), true);
	}
	mt_try(mt_debugger_finish(prompt->debugger, &stop));
	return prompt_tell_stop(prompt, &stop);
}

static struct mt_error *run_to(struct prompt *prompt, const char *location, bool in_frame)
{
	struct mt_debug_stop stop;

	mt_try(mt_debugger_run_to(prompt->debugger, location, in_frame, &stop));
	return prompt_tell_stop(prompt, &stop);
}

static struct mt_error *run_until(struct prompt *prompt, const char *rest)
{
	if (!is_running(prompt))
		return not_running();
	return *rest ? run_to(prompt, rest, true) : step(prompt, "", MT_DEBUG_UNTIL);
}

static struct mt_error *run_advance(struct prompt *prompt, const char *rest)
{
	if (!is_running(prompt))
		return not_running();
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (a location).");
	return run_to(prompt, rest, false);
}

static struct mt_error *run_kill(struct prompt *prompt, const char *rest)
{
	pid_t pid = mt_debugger_pid(prompt->debugger);

	(void)rest;
	if (!pid)
		return not_running();
	if (!prompt_confirms(prompt, "Kill the program being debugged? (y or n) "))
		return mt_error_new(MT_ERROR_USAGE, "Not confirmed.");
	mt_try(mt_debugger_kill(prompt->debugger));
	prompt_printf("[Inferior %u (process %d) killed]\n",
		      mt_debugger_inferior_count(prompt->debugger), pid);
	return NULL;
}

/* What was running before we came is not ours to kill, though GDB does. */
static const char *may_be_left(struct prompt *prompt)
{
	return mt_debugger_is_attached(prompt->debugger)
		   ? "A program is being debugged already.  Detach it? (y or n) "
		   : "A program is being debugged already.  Kill it? (y or n) ";
}

static void tell_attaching(struct prompt *prompt, pid_t pid)
{
	const char *path = mt_debugger_path(prompt->debugger);

	if (path)
		prompt_printf("Attaching to program: %s, process %d\n", path, pid);
	else
		prompt_printf("Attaching to process %d\n", pid);
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
	if (is_running(prompt) && !prompt_confirms(prompt, may_be_left(prompt)))
		return mt_error_new(MT_ERROR_USAGE, "Not killed.");
	if (is_running(prompt))
		mt_try(mt_debugger_is_attached(prompt->debugger)
			   ? mt_debugger_detach(prompt->debugger)
			   : mt_debugger_kill(prompt->debugger));
	prompt->has_stopped = false;
	if (prompt_is_at_terminal(prompt))
		tell_attaching(prompt, (pid_t)pid);
	struct mt_error *error = mt_debugger_attach(prompt->debugger, (pid_t)pid);
	prompt_release_signals();
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
	if (!pid)
		return not_running();
	if (prompt_is_at_terminal(prompt))
		prompt_printf("Detaching from program: %s, process %d\n", path ? path : "", pid);
	mt_try(mt_debugger_detach(prompt->debugger));
	prompt_printf("[Inferior %u (process %d) detached]\n",
		      mt_debugger_inferior_count(prompt->debugger), pid);
	return NULL;
}

const struct prompt_command prompt_run_commands[] = {
    {.name = "run",
     .aliases = "r",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program from its beginning",
     .help = "ARGUMENTS are kept for the next time; a shell reads them, so that < and > work.\n",
     .run = run},
    {.name = "start",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program, and stop at its main function",
     .run = start},
    {.name = "starti",
     .usage = "[ARGUMENTS]",
     .summary = "Start the program, and stop at its first instruction",
     .run = starti},
    {.name = "continue",
     .aliases = "c fg",
     .usage = "[COUNT]",
     .summary = "Let the program go on",
     .help = "With COUNT the breakpoint that it stands at is passed so many times, less one.\n",
     .repeats = true,
     .run = run_continue},
    {.name = "step",
     .aliases = "s",
     .usage = "[COUNT]",
     .summary = "Go on to another line, also in a function that is called",
     .repeats = true,
     .run = run_step},
    {.name = "next",
     .aliases = "n",
     .usage = "[COUNT]",
     .summary = "Go on to another line, past functions that are called",
     .repeats = true,
     .run = run_next},
    {.name = "stepi",
     .aliases = "si",
     .usage = "[COUNT]",
     .summary = "Do an instruction",
     .repeats = true,
     .run = run_stepi},
    {.name = "nexti",
     .aliases = "ni",
     .usage = "[COUNT]",
     .summary = "Do an instruction, past a function that it calls",
     .repeats = true,
     .run = run_nexti},
    {.name = "finish",
     .aliases = "fin",
     .summary = "Go on until the selected frame returns",
     .repeats = true,
     .run = run_finish},
    {.name = "until",
     .aliases = "u",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Go on to a line behind this one, or to LOCATION, or out of the frame",
     .repeats = true,
     .run = run_until},
    {.name = "advance",
     .usage = "LOCATION",
     .takes = PROMPT_LOCATION,
     .summary = "Go on to LOCATION, or out of the frame",
     .run = run_advance},
    {.name = "kill", .aliases = "k", .summary = "End the program", .run = run_kill},
    {.name = "attach",
     .usage = "PID",
     .summary = "Take hold of a process that runs",
     .run = prompt_attach},
    {.name = "detach", .summary = "Let go of the program, which runs on", .run = run_detach},
    {0},
};
