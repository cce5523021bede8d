/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mtrace …` at mtdb's prompt: the table of commands (command/command.h), and the prompt's side of
 * recording (live/live.h), over mtdb's debugger. */
#include "command/command.h"
#include "elf/code.h"
#include "prompt/prompt.h"
#include "screen/screen.h"
#include "values/user.h"
#include "values/variable.h"

#include <string.h>
#include <unistd.h>

#define MOST_COMMANDS 24

static void print(void *context, const char *text)
{
	(void)context;
	prompt_print_made(text);
}

/* ---- The debugger of live/live.h ---- */

static struct mt_debugger *debugger_of(void *context)
{
	return ((struct prompt *)context)->debugger;
}

static struct mt_live *selected(void *context, bool make)
{
	(void)make;
	return mt_debugger_live(debugger_of(context));
}

static pid_t pid_of(void *context)
{
	return mt_debugger_has_process(debugger_of(context)) ? mt_debugger_pid(debugger_of(context))
							     : 0;
}

static pid_t lwp_of(void *context)
{
	const struct mt_debug_thread *thread = mt_debugger_selected(debugger_of(context));

	return thread ? thread->lwp : 0;
}

static void each_thread(void *context, mt_live_thread_found *found, void *found_context)
{
	for (size_t i = 0; i < mt_debugger_thread_count(debugger_of(context)); i++) {
		const struct mt_debug_thread *one = mt_debugger_thread(debugger_of(context), i);
		const struct mt_live_thread thread = {one->number, one->lwp, one->name};

		found(found_context, &thread);
	}
}

static char *kept(void *context)
{
	mt_auto(mt_str) struct mt_str path = {0};

	return prompt_core_recording(context, &path) && !path.failed && access(path.text, F_OK) == 0
		   ? strdup(path.text)
		   : NULL;
}

static struct mt_error *explain_nothing(void *context)
{
	mt_auto(mt_str) struct mt_str path = {0};
	char *found = kept(context);

	if (!prompt_core_recording(context, &path))
		return NULL;
	struct mt_error *error =
	    found ? mt_error_new(MT_ERROR_USAGE,
				 "a core file is looked at, whose recording is in a file already: "
				 "%s (\"mtdb decode\" converts it)",
				 found)
		  : mt_error_new(MT_ERROR_NOT_FOUND,
				 "there is no recording of the core file: %s does not exist "
				 "(\"mtdb --recording FILE PROGRAM CORE\" names another file)",
				 path.failed ? "" : path.text);
	free(found);
	return error;
}

static struct mt_error *begin(void *context, struct mt_live *live)
{
	(void)live;
	return mt_debugger_record(debugger_of(context));
}

static void ended(void *context, struct mt_live *live)
{
	(void)live;
	mt_debugger_record_stop(debugger_of(context));
}

static struct mt_error *set_breakpoint(void *context, struct mt_live_trigger *trigger,
				       struct mt_str *said)
{
	const struct prompt *prompt = context;
	const bool is_pending =
	    trigger->spec.is_pending || prompt->settings.pending == PROMPT_PENDING_ON;
	unsigned number = 0;
	char *chosen;

	mt_try(prompt_choose_function(context, trigger->spec.location, &chosen));
	free(trigger->spec.location);
	trigger->spec.location = chosen;
	const struct mt_debug_new_breakpoint what = {.location = trigger->spec.location,
						     .condition = trigger->spec.condition,
						     .silent = true,
						     .pending = is_pending};
	mt_try(mt_debugger_break(debugger_of(context), &what, &number));
	trigger->breakpoint = (void *)(uintptr_t)number;
	(void)said;
	return NULL;
}

static unsigned number_of(const struct mt_live_trigger *trigger)
{
	return (unsigned)(uintptr_t)trigger->breakpoint;
}

static void delete_breakpoint(void *context, struct mt_live_trigger *trigger)
{
	mt_error_destroy(mt_debugger_delete(debugger_of(context), number_of(trigger)));
}

static bool has_breakpoint(void *context, const struct mt_live_trigger *trigger)
{
	return mt_debugger_find_breakpoint(debugger_of(context), number_of(trigger));
}

/* Whoever waits for TRIGGER may be stopped by ONE first, or the other way round. */
static bool concerns(const struct prompt *prompt, const struct mt_live_trigger *trigger,
		     const struct mt_debug_breakpoint *one)
{
	if (!one->silent)
		return true;
	mt_array_each (other, &prompt->live.triggers)
		if (*other != trigger && number_of(*other) == one->number)
			return mt_live_may_stop(trigger) || mt_live_may_stop(*other);
	return false;
}

/* A thread that stops at it is to have been asked by then. */
static bool has_another(void *context, const struct mt_live_trigger *trigger, uint64_t address)
{
	const struct mt_debugger *debugger = debugger_of(context);

	for (size_t i = 0; i < mt_debugger_breakpoint_count(debugger); i++) {
		const struct mt_debug_breakpoint *one = mt_debugger_breakpoint(debugger, i);

		for (size_t at = 0; one->enabled && at < one->location_count; at++)
			if (one->locations[at].address == address &&
			    concerns(context, trigger, one))
				return true;
	}
	return false;
}

static struct mt_error *each_location(void *context, const struct mt_live_trigger *trigger,
				      mt_live_location_found *found, void *found_context)
{
	const struct mt_debug_breakpoint *one =
	    mt_debugger_find_breakpoint(debugger_of(context), number_of(trigger));

	if (!one || !one->enabled || !one->location_count)
		return mt_error_new(MT_ERROR_NOT_FOUND, "it is nowhere in the program yet");
	if (one->ignore)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "its breakpoint has an ignore count");
	for (size_t i = 0; i < one->location_count; i++) {
		if (mt_live_is_asked_at_entry(trigger) &&
		    has_another(context, trigger, one->locations[i].address))
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "another breakpoint is at the same place");
		mt_try(found(found_context, one->locations[i].address));
	}
	return NULL;
}

static size_t read_code(void *context, uint64_t address, void *bytes, size_t size)
{
	return prompt_read_code(context, address, bytes, size);
}

static bool has_code(void *context, uint64_t address)
{
	struct mt_space *space = mt_debugger_space(debugger_of(context));
	const struct mt_mapping *mapping = space ? mt_space_find(space, address) : NULL;
	struct mt_code code = {0};

	if (!mapping || !mapping->objfile || mt_code_read(mapping->objfile, &code))
		return mapping;
	const bool is_code = mt_code_at(&code, address - mapping->bias);
	mt_array_deinit(&code);
	return is_code;
}

static uint64_t function_start(void *context, uint64_t address)
{
	struct mt_space *space = mt_debugger_space(debugger_of(context));
	const struct mt_function *function = space ? mt_space_function_at(space, address) : NULL;

	return function ? function->start : 0;
}

static void set_aside(void *context, const struct mt_live_trigger *trigger, bool aside)
{
	mt_debugger_set_aside(debugger_of(context), number_of(trigger), aside);
}

static struct mt_error *evaluate(void *context, const char *expression, struct mt_str *out)
{
	struct mt_expr_program *program = mt_debugger_expressions(debugger_of(context));
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger_of(context), NULL);
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_value *value = NULL;
	struct mt_expr *expr = NULL;
	struct mt_error *error = mt_expr_parse(program, &frame, expression, &expr);

	if (!error)
		error = mt_expr_evaluate(expr, &frame, &value);
	if (!error)
		error = mt_value_print(value, &frame, NULL, &text);
	if (!error)
		mt_str_appendf(out, "%s = %s", expression, text.text ? text.text : "");
	mt_value_destroy(value);
	mt_expr_destroy(expr);
	return error;
}

static struct mt_error *arguments(void *context, struct mt_str *out)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger_of(context), NULL);

	return mt_expr_args(mt_debugger_expressions(debugger_of(context)), &frame, out);
}

static void set_variable(void *context, const char *name, uint64_t value)
{
	mt_error_destroy(
	    mt_expr_set_integer(mt_debugger_expressions(debugger_of(context)), name, value));
}

static void set_result(void *context)
{
	struct mt_expr_program *program = mt_debugger_expressions(debugger_of(context));
	const struct mt_expr_frame frame = mt_debugger_expr_frame(debugger_of(context), NULL);
	const struct mt_value nothing = {.type = mt_type_builtin(program, MT_BUILTIN_VOID)};
	struct mt_value *value = NULL;

	mt_error_destroy(mt_expr_returned(program, frame.pc, &frame, &value));
	mt_error_destroy(mt_convenience_set(program, "_ret", value ? value : &nothing));
	mt_value_destroy(value);
}

static const char *const engines[] = {"auto", "calls", "sample", NULL};

static const struct mt_live_debugger_ops ops = {
    .engines = engines,
    .selected = selected,
    .pid = pid_of,
    .lwp = lwp_of,
    .each_thread = each_thread,
    .kept = kept,
    .explain_nothing = explain_nothing,
    .begin = begin,
    .ended = ended,
    .set_breakpoint = set_breakpoint,
    .delete_breakpoint = delete_breakpoint,
    .has_breakpoint = has_breakpoint,
    .each_location = each_location,
    .read_code = read_code,
    .has_code = has_code,
    .function_start = function_start,
    .set_aside = set_aside,
    .cost = "about 100 us a call",
    .name = "mtdb",
    .evaluate = evaluate,
    .arguments = arguments,
    .set_variable = set_variable,
    .set_result = set_result,
};

/* ---- What happens ---- */

static void warn(const struct prompt *prompt, struct mt_error *error)
{
	if (error)
		prompt->terminal->log.line(prompt->terminal, MT_LOG_WARNING,
					   mt_error_message(error));
	mt_error_destroy(error);
}

static struct mt_live_trigger *trigger_of(const struct prompt *prompt, unsigned breakpoint)
{
	mt_array_each (trigger, &prompt->live.triggers)
		if (number_of(*trigger) == breakpoint)
			return *trigger;
	return NULL;
}

bool prompt_trigger_hit(struct prompt *prompt, unsigned breakpoint)
{
	struct mt_live_trigger *trigger = trigger_of(prompt, breakpoint);
	bool stops = false;

	if (trigger)
		warn(prompt, mt_live_fire(&prompt->live, trigger, &stops));
	return stops;
}

bool prompt_trigger_failed(struct prompt *prompt, unsigned breakpoint, const char *why)
{
	struct mt_live_trigger *trigger = trigger_of(prompt, breakpoint);

	if (trigger)
		mt_live_note_problem(trigger, why);
	return trigger;
}

bool prompt_trigger_passes(struct prompt *prompt, unsigned *breakpoint)
{
	struct mt_live_passed passed;

	if (!mt_live_pass_gate(&prompt->live, mt_debugger_live(prompt->debugger), &passed))
		return false;
	warn(prompt, passed.error);
	*breakpoint = passed.stops ? number_of(passed.trigger) : 0;
	return true;
}

void prompt_record_stopped(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	struct mt_live *live = mt_debugger_live(prompt->debugger);

	mt_live_stop_triggers(&prompt->live);
	if (stop->kind == MT_DEBUG_KILLED || stop->kind == MT_DEBUG_EXITED)
		warn(prompt,
		     mt_live_ended(&prompt->live, live,
				   stop->kind == MT_DEBUG_KILLED ? stop->signal : 0, false));
	else
		warn(prompt, mt_live_stopped(&prompt->live, live,
					     stop->kind == MT_DEBUG_SIGNAL ? stop->signal : 0));
}

/* ---- Commands ---- */

struct mt_error *prompt_run_mtrace(struct prompt *prompt, const struct mt_command *command,
				   const char *rest)
{
	bool is_typed = prompt->source == PROMPT_FROM_TERMINAL && !prompt->script &&
			prompt->state == PROMPT_AT_LINE;
	struct mt_command_context context = {
	    .print = print,
	    .report = terminal_report,
	    .context = prompt->terminal,
	    .log = &prompt->terminal->log,
	    .progress = &prompt->progress,
	    .debugger = &prompt->live,
	    .screen = is_typed ? &screen_of_terminal : NULL,
	    .columns = terminal_columns(),
	    .prefix = "mtrace",
	    .help = "help mtrace",
	    .print_colour = prompt->terminal->print_colour,
	    .report_colour = prompt->terminal->report_colour,
	};

	return mt_command_run_line(&context, command, rest);
}

static struct prompt_command mtrace_commands[MOST_COMMANDS + 1];

const struct prompt_command prompt_record_commands[] = {
    {.name = "mtrace",
     .usage = "COMMAND",
     .summary = "Record the program's function calls, and look back",
     .sub = mtrace_commands},
    {0},
};

void prompt_record_init(struct prompt *prompt)
{
	static const uint8_t takes[] = {
	    [MT_COMMAND_TAKES_FILE] = PROMPT_FILE,
	    [MT_COMMAND_TAKES_LOCATION] = PROMPT_LOCATION,
	    [MT_COMMAND_TAKES_TRIGGER] = PROMPT_ANYTHING,
	};
	size_t count = 0;

	prompt->live = (struct mt_live_debugger){
	    .ops = &ops,
	    .context = prompt,
	    .printer = {print, prompt},
	    .colour = prompt->terminal->print_colour,
	    .log = &prompt->terminal->log,
	    .progress = &prompt->progress,
	};
	for (const struct mt_command *const *one = mt_commands; *one; one++)
		if ((*one)->where & MT_COMMAND_IN_DEBUGGER && count < MOST_COMMANDS)
			mtrace_commands[count++] =
			    (struct prompt_command){.name = (*one)->name,
						    .usage = *(*one)->usage ? (*one)->usage : NULL,
						    .summary = (*one)->summary,
						    .help = (*one)->help,
						    .takes = takes[(*one)->takes],
						    .command = *one};
}
