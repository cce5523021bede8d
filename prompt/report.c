/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops and frames, in GDB's words and layout. */
#include "prompt/prompt.h"

#include "trace/slice.h"
#include "values/libraries.h"
#include "values/variable.h"

#include <signal.h>
#include <string.h>

#define FIRST_REAL_TIME 32

/* By GDB's names: real-time signals have numbers. */
struct prompt_text prompt_signal_name(int signal)
{
	struct prompt_text name;

	if (signal < FIRST_REAL_TIME)
		snprintf(name.text, sizeof(name.text), "%s", mt_signal_name((uint32_t)signal));
	else
		snprintf(name.text, sizeof(name.text), "SIG%d", signal);
	return name;
}

/* In GDB's words, which are not always strsignal()'s. */
struct prompt_text prompt_signal_words(int signal)
{
	static const char *const words[FIRST_REAL_TIME] = {
	    [SIGHUP] = "Hangup",
	    [SIGINT] = "Interrupt",
	    [SIGQUIT] = "Quit",
	    [SIGILL] = "Illegal instruction",
	    [SIGTRAP] = "Trace/breakpoint trap",
	    [SIGABRT] = "Aborted",
	    [SIGBUS] = "Bus error",
	    [SIGFPE] = "Arithmetic exception",
	    [SIGKILL] = "Killed",
	    [SIGUSR1] = "User defined signal 1",
	    [SIGSEGV] = "Segmentation fault",
	    [SIGUSR2] = "User defined signal 2",
	    [SIGPIPE] = "Broken pipe",
	    [SIGALRM] = "Alarm clock",
	    [SIGTERM] = "Terminated",
	    [SIGCHLD] = "Child status changed",
	    [SIGCONT] = "Continued",
	    [SIGSTOP] = "Stopped (signal)",
	    [SIGTSTP] = "Stopped (user)",
	    [SIGTTIN] = "Stopped (tty input)",
	    [SIGTTOU] = "Stopped (tty output)",
	    [SIGURG] = "Urgent I/O condition",
	    [SIGXCPU] = "CPU time limit exceeded",
	    [SIGXFSZ] = "File size limit exceeded",
	    [SIGVTALRM] = "Virtual timer expired",
	    [SIGPROF] = "Profiling timer expired",
	    [SIGWINCH] = "Window size changed",
	    [SIGIO] = "I/O possible",
	    [SIGPWR] = "Power fail/restart",
	    [SIGSYS] = "Bad system call",
	};

	struct prompt_text text;

	if (signal >= FIRST_REAL_TIME)
		snprintf(text.text, sizeof(text.text), "Real-time event %d", signal);
	else
		snprintf(text.text, sizeof(text.text), "%s",
			 signal > 0 && words[signal] ? words[signal] : "Unknown signal");
	return text;
}

static void note(void *context, uint64_t address, const char *name)
{
	(void)address;
	(void)name;
	*(bool *)context = true;
}

/* A static program has its functions only if it uses them: GDB looks for this variable. */
static bool has_thread_library(struct prompt *prompt)
{
	struct mt_space *space = mt_debugger_space(prompt->debugger);
	const struct mt_mapping *mapping;
	bool found = false;

	for (size_t i = 0; i < mt_space_mapping_count(space); i++) {
		mapping = mt_space_mapping(space, i);
		if (strstr(mapping->path, "/libc.so") || strstr(mapping->path, "/ld-"))
			return true;
		if (mapping->objfile && mapping->path[0] == '/')
			mt_objfile_find_name(mapping->objfile, "nptl_version", note, &found);
	}
	return found;
}

void prompt_name_thread(struct prompt *prompt, const struct mt_debug_thread *thread,
			struct mt_str *out)
{
	struct mt_target *target = mt_debugger_target(prompt->debugger);
	struct user_regs_struct registers = {.fs_base = thread->handle};

	mt_error_destroy(target->ops->get_registers(target, thread->lwp, &registers));
	if (registers.fs_base && has_thread_library(prompt))
		mt_str_appendf(out, "Thread 0x%llx (LWP %d)", (unsigned long long)registers.fs_base,
			       thread->lwp);
	else if (mt_debugger_has_process(prompt->debugger) &&
		 thread->lwp == mt_debugger_pid(prompt->debugger) &&
		 mt_debugger_thread_count(prompt->debugger) == 1)
		mt_str_appendf(out, "process %d", thread->lwp);
	else
		mt_str_appendf(out, "LWP %d", thread->lwp);
}

struct prompt_text prompt_thread_number(const struct prompt *prompt,
					const struct mt_debug_thread *thread)
{
	unsigned inferior = mt_debugger_inferior_count(prompt->debugger);
	struct prompt_text number;

	if (inferior > 1)
		snprintf(number.text, sizeof(number.text), "%u.%u", inferior, thread->number);
	else
		snprintf(number.text, sizeof(number.text), "%u", thread->number);
	return number;
}

void prompt_name_function(struct prompt *prompt, const struct mt_debug_frame *frame,
			  struct mt_str *out)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	uint64_t low_pc;

	if (!mt_expr_frame_function(program, &at, out, &low_pc) && frame->function)
		mt_str_append(out, frame->function);
}

void prompt_list_arguments(struct prompt *prompt, const struct mt_debug_frame *frame,
			   struct mt_str *out)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);

	mt_error_destroy(
	    mt_expr_frame_arguments(mt_debugger_expressions(prompt->debugger), &at, out));
}

static void print_module(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);
	const char *program = mt_debugger_path(prompt->debugger);
	mt_auto(mt_str) struct mt_str name = {0};

	if (!frame->module || frame->module[0] != '/' ||
	    (program && strcmp(program, frame->module) == 0))
		return;
	mt_expr_file_at(mt_debugger_expressions(prompt->debugger), &at, frame->pc, &name);
	prompt_printf(" from ");
	prompt_styled(PROMPT_FILENAME, "%s", name.length ? name.text : frame->module);
}

void prompt_print_frame(struct prompt *prompt, const struct mt_debug_frame *frame, bool level)
{
	mt_auto(mt_str) struct mt_str name = {0}, arguments = {0};

	if (level)
		prompt_printf("#%-2u ", frame->level);
	if (frame->type == MT_DEBUG_SIGNAL_FRAME) {
		prompt_printf("<signal handler called>\n");
		return;
	}
	if (frame->shows_pc) {
		prompt_styled(PROMPT_ADDRESS, "0x%016llx", (unsigned long long)frame->pc);
		prompt_printf(" in ");
	}
	prompt_name_function(prompt, frame, &name);
	prompt_list_arguments(prompt, frame, &arguments);
	prompt_styled(PROMPT_FUNCTION, "%s", name.text && !name.failed ? name.text : "??");
	prompt_printf(" (%s)", arguments.text && !arguments.failed ? arguments.text : "");
	if (frame->file) {
		prompt_printf(" at ");
		prompt_styled(PROMPT_FILENAME, "%s", frame->file);
		prompt_printf(":%u", frame->source.line);
	} else {
		print_module(prompt, frame);
	}
	prompt_printf("\n");
}

void prompt_show_line(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	if (!frame->file || !frame->source.line)
		return;
	mt_error_destroy(prompt_print_lines(prompt, frame->source.file, frame->file,
					    frame->source.line, frame->source.line));
	prompt_list_around(prompt, frame->source.line);
}

void prompt_show_frame(struct prompt *prompt, const struct mt_debug_frame *frame, bool level)
{
	prompt_print_frame(prompt, frame, level);
	prompt_show_line(prompt, frame);
}

/* PROGRAM, or which of several threads; returns whether there are several. */
static bool print_who(struct prompt *prompt, const char *program)
{
	const struct mt_debug_thread *thread = mt_debugger_selected(prompt->debugger);
	bool are_several = mt_debugger_births(prompt->debugger) > 1;

	if (thread && are_several)
		prompt_printf("Thread %s \"%s\" ", prompt_thread_number(prompt, thread).text,
			      thread->name);
	else
		prompt_printf("%s", program);
	return are_several;
}

static void print_seen(struct prompt *prompt, const struct mt_debug_seen *seen)
{
	const struct mt_debug_breakpoint *one =
	    mt_debugger_find_breakpoint(prompt->debugger, seen->breakpoint);

	if (seen->left) {
		prompt_printf("\nWatchpoint %u deleted because the program has left the block in\n"
			      "which its expression is valid.\n",
			      seen->breakpoint);
		mt_error_destroy(mt_debugger_delete(prompt->debugger, seen->breakpoint));
		return;
	}
	if (!one || prompt_commands_are_silent(prompt, seen->breakpoint))
		return;
	prompt_printf("\n");
	prompt_printf("%s%s %u: %s\n\n", print_who(prompt, "") ? "hit " : "",
		      prompt_watch_words(one), one->number, one->text);
	if (seen->before && one->kind != MT_DEBUG_RWATCH)
		prompt_printf("Old value = %s\nNew value = %s\n", seen->before, seen->after);
	else
		prompt_printf("Value = %s\n", seen->after);
}

static void print_reason(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	const struct mt_debug_breakpoint *one =
	    mt_debugger_find_breakpoint(prompt->debugger, stop->breakpoint);
	const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);
	size_t locations = one && frame && one->location_count > 1 ? one->location_count : 0;

	for (size_t i = 0; i < stop->seen_count; i++)
		print_seen(prompt, &stop->seen[i]);
	if (stop->breakpoint) { /* "Breakpoint 2, ", or "Breakpoint 2.1, " */
		prompt_printf("\n");
		prompt_printf("%s%s %u", print_who(prompt, "") ? "hit " : "",
			      stop->temporary ? "Temporary breakpoint" : "Breakpoint",
			      stop->breakpoint);
		for (size_t i = 0; i < locations; i++)
			if (one->locations[i].address == frame->pc)
				prompt_printf(".%zu", i + 1);
		prompt_printf(", ");
	} else if (stop->kind == MT_DEBUG_SIGNAL) {
		prompt_printf("\n");
		print_who(prompt, "Program ");
		if (stop->signal)
			prompt_printf("received signal %s, %s.\n",
				      prompt_signal_name(stop->signal).text,
				      prompt_signal_words(stop->signal).text);
		else
			prompt_printf("stopped.\n");
	}
}

static void report_end(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	unsigned inferior = mt_debugger_inferior_count(prompt->debugger);

	if (stop->kind == MT_DEBUG_KILLED)
		prompt_printf("\nProgram terminated with signal %s, %s.\n"
			      "The program no longer exists.\n",
			      prompt_signal_name(stop->signal).text,
			      prompt_signal_words(stop->signal).text);
	else if (stop->status)
		prompt_printf("[Inferior %u (process %d) exited with code 0%o]\n", inferior,
			      stop->pid, (unsigned)stop->status);
	else
		prompt_printf("[Inferior %u (process %d) exited normally]\n", inferior, stop->pid);
	prompt_drop_breakpoints_of(prompt, 0);
	mt_error_destroy(stop->kind == MT_DEBUG_KILLED
			     ? mt_expr_set_integer(program, "_exitsignal", stop->signal)
			     : mt_expr_set_integer(program, "_exitcode", stop->status));
}

static void report_switch(struct prompt *prompt)
{
	mt_auto(mt_str) struct mt_str name = {0};

	prompt_name_thread(prompt, mt_debugger_selected(prompt->debugger), &name);
	if (!name.failed)
		prompt_printf("[Switching to %s]\n", name.text);
}

static struct mt_error *report_returned(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_value *value = NULL;
	unsigned number = 0;

	mt_try(mt_expr_returned(program, stop->returned_from, &frame, &value));
	if (!value)
		return NULL;
	struct mt_error *error = mt_expr_record(program, value, &number);
	if (!error)
		error = mt_value_print(value, &frame, NULL, &text);
	if (!error && !text.failed)
		prompt_printf("Value returned is $%u = %s\n", number, text.text);
	mt_value_destroy(value);
	return error;
}

/* Queues the `commands` of what was hit; returns whether all of them begin with "silent". */
static bool queue_commands(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	bool is_silent = stop->seen_count || stop->breakpoint;

	prompt->to_do.count = 0;
	for (size_t i = 0; i <= stop->seen_count; i++) {
		bool left = i < stop->seen_count && stop->seen[i].left;
		unsigned number =
		    i < stop->seen_count ? stop->seen[i].breakpoint : stop->breakpoint;

		if (!number)
			continue;
		is_silent &= !left && prompt_commands_are_silent(prompt, number);
		if (mt_array_push(&prompt->to_do, number))
			break;
	}
	return is_silent;
}

struct mt_error *prompt_report_stop(struct prompt *prompt, const struct mt_debug_stop *stop)
{
	const struct mt_debug_frame *frame;
	bool is_silent = queue_commands(prompt, stop);

	prompt->stops++;
	prompt->last_stop = *stop;
	if (stop->kind == MT_DEBUG_EXITED || stop->kind == MT_DEBUG_KILLED) {
		report_end(prompt, stop);
		prompt_record_stopped(prompt, stop);
		return NULL;
	}
	/* A signal is reported when it comes, the thread when all are stopped. */
	if (!is_silent && stop->switched && stop->kind != MT_DEBUG_SIGNAL)
		report_switch(prompt);
	if (!is_silent)
		print_reason(prompt, stop);
	if (stop->temporary)
		mt_error_destroy(mt_debugger_delete(prompt->debugger, stop->breakpoint));
	if (is_silent)
		return NULL;
	if (stop->switched && stop->kind == MT_DEBUG_SIGNAL)
		report_switch(prompt);
	frame = mt_debugger_selected_frame(prompt->debugger);
	prompt_record_stopped(prompt, stop);
	if (!frame)
		return NULL;
	if (!stop->same_frame || !frame->file) {
		prompt_show_frame(prompt, frame, false);
	} else {
		if (frame->shows_pc)
			prompt_printf("0x%016llx\t", (unsigned long long)frame->pc);
		prompt_show_line(prompt, frame);
	}
	prompt_show_displays(prompt);
	return stop->kind == MT_DEBUG_FINISHED ? report_returned(prompt, stop) : NULL;
}
