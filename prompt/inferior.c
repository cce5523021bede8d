/* SPDX-License-Identifier: GPL-3.0-or-later */
/* info inferiors, info program: which processes are debugged, and why the program is stopped. */
#include "prompt/prompt.h"

#include <stdio.h>

static void print_inferior(struct prompt *prompt, unsigned number, unsigned last)
{
	const struct mt_debug_inferior one = mt_debugger_inferior(prompt->debugger, number);
	bool is_vfork = mt_debugger_is_vfork_child(prompt->debugger);
	char name[32] = "<null>", connection[32] = "";

	if (one.pid) {
		snprintf(name, sizeof(name), "process %d", one.pid);
		snprintf(connection, sizeof(connection), "%u (native)",
			 mt_debugger_beginnings(prompt->debugger));
	}
	prompt_printf("%c %-4u %-17s %-20s %-17s \n", number == last ? '*' : ' ', number, name,
		      connection, one.path ? one.path : "");
	if (is_vfork && number + 1 == last)
		prompt_printf("\tis vfork parent of inferior %u\n", last);
	if (is_vfork && number == last)
		prompt_printf("\tis vfork child of inferior %u\n", last - 1);
}

struct mt_error *prompt_info_inferiors(struct prompt *prompt, const char *rest)
{
	unsigned count = mt_debugger_inferior_count(prompt->debugger);

	(void)rest;
	prompt_printf("  %-4s %-17s %-20s %-17s \n", "Num", "Description", "Connection",
		      "Executable");
	for (unsigned number = 1; number <= count; number++)
		print_inferior(prompt, number, count);
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
	if (!thread) {
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
