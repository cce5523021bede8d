/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events while the program runs, and who has the terminal meanwhile.
 *
 * The program has a process group of its own, which is in the foreground while it runs: Ctrl-C goes
 * to the program, and it finds the terminal modes as it left them. */
#include "prompt/prompt.h"
#include "terminal/ending.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

static struct {
	bool is_ours;     /* standard input is our terminal */
	bool has_program; /* PROGRAM was saved */
	struct termios own, program;
	volatile sig_atomic_t interrupted;
} state;

static void on_interrupt(int signal)
{
	(void)signal;
	state.interrupted = 1;
}

void prompt_take_interrupts(void)
{
	struct sigaction action = {.sa_handler = on_interrupt};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
}

static bool ended(void *context)
{
	(void)context;
	return ending_signal();
}

/* In the background a process is stopped that changes the terminal, unless it ignores that.  MODES
 * NULL: as they are; GROUP 0: the foreground stays. */
static void set_terminal(const struct termios *modes, pid_t group)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

	sigemptyset(&ignore.sa_mask);
	sigaction(SIGTTOU, &ignore, &before);
	if (group)
		tcsetpgrp(STDIN_FILENO, group);
	if (modes)
		tcsetattr(STDIN_FILENO, TCSADRAIN, modes);
	sigaction(SIGTTOU, &before, NULL);
}

static void runs(void *context, pid_t pid)
{
	struct prompt *prompt = context;

	state.interrupted = 0;
	prompt_out_unpaged();
	fflush(stdout);
	state.is_ours = !mt_debugger_is_attached(prompt->debugger) && isatty(STDIN_FILENO) &&
			tcgetpgrp(STDIN_FILENO) == getpgrp() &&
			tcgetattr(STDIN_FILENO, &state.own) == 0;
	if (!state.is_ours)
		return;
	/* A child that was followed is of its parent's group. */
	set_terminal(state.has_program ? &state.program : NULL, getpgid(pid));
}

static void stopped(void *context, pid_t pid)
{
	struct prompt *prompt = context;

	(void)pid;
	if (ending_signal())
		prompt->state = PROMPT_OVER;
	if (!state.is_ours)
		return;
	set_terminal(NULL, getpgrp());
	state.has_program = tcgetattr(STDIN_FILENO, &state.program) == 0;
	set_terminal(&state.own, 0);
}

bool prompt_is_interrupted(void)
{
	return state.interrupted;
}

bool prompt_take_interrupt(void)
{
	bool was = state.interrupted;

	state.interrupted = 0;
	return was;
}

static bool cancelled(void *context)
{
	(void)context;
	return prompt_is_interrupted();
}

static bool interrupted(void *context)
{
	(void)context;
	return prompt_take_interrupt();
}

static void thread_born(void *context, const struct mt_debug_thread *thread)
{
	mt_auto(mt_str) struct mt_str name = {0};

	if (mt_debugger_core_path(((struct prompt *)context)->debugger))
		mt_str_appendf(&name, "LWP %d", thread->lwp);
	else
		prompt_name_thread(context, thread, &name);
	if (!name.failed)
		prompt_printf("[New %s]\n", name.text);
}

static void thread_ended(void *context, const struct mt_debug_thread *thread)
{
	mt_auto(mt_str) struct mt_str name = {0};

	prompt_name_thread(context, thread, &name);
	if (!name.failed)
		prompt_printf("[%s exited]\n", name.text);
	prompt_drop_breakpoints_of(context, thread->number);
}

static void forked(void *context, enum mt_debug_child what, const struct mt_debug_thread *thread,
		   pid_t child, bool is_vfork)
{
	struct prompt *prompt = context;
	const char *call = is_vfork ? "vfork" : "fork";
	unsigned number = mt_debugger_inferior_count(prompt->debugger);
	pid_t parent = mt_debugger_pid(prompt->debugger);
	mt_auto(mt_str) struct mt_str name = {0};

	if (what == MT_DEBUG_CHILD_DETACHED) {
		prompt_printf("[Detaching after %s from child process %d]\n", call, child);
		return;
	}
	prompt_name_thread(prompt, thread, &name);
	prompt_printf("[Attaching after %s %s to child process %d]\n", name.failed ? "" : name.text,
		      call, child);
	prompt_printf("[New inferior %u (process %d)]\n", number, child);
	if (!is_vfork)
		prompt_printf("[Detaching after fork from parent process %d]\n"
			      "[Inferior %u (process %d) detached]\n",
			      parent, number - 1, parent);
}

static void parent_detached(void *context, pid_t parent, enum mt_debug_release why)
{
	static const char *const words[] = {[MT_DEBUG_BY_EXEC] = " after child exec",
					    [MT_DEBUG_BY_EXIT] = " after child exit",
					    [MT_DEBUG_BY_DETACH] = ""};
	struct prompt *prompt = context;

	prompt_printf(
	    "[Detaching vfork parent process %d%s]\n[Inferior %u (process %d) detached]\n", parent,
	    words[why], mt_debugger_inferior_count(prompt->debugger) - 1, parent);
}

static void executes(void *context, pid_t pid, const char *path)
{
	struct prompt *prompt = context;

	prompt_printf("process %d is executing new program: %s\n", pid, path);
	if (mt_debugger_settings(prompt->debugger)->follow_exec == MT_DEBUG_EXEC_NEW)
		prompt_printf("[New inferior %u]\n", mt_debugger_inferior_count(prompt->debugger));
}

static void signalled(void *context, const struct mt_debug_thread *thread, int signal)
{
	struct prompt *prompt = context;

	prompt_printf("\n");
	if (mt_debugger_births(prompt->debugger) > 1)
		prompt_printf("Thread %s \"%s\" ", prompt_thread_number(prompt, thread).text,
			      thread->name);
	else
		prompt_printf("Program ");
	prompt_printf("received signal %s, %s.\n", prompt_signal_name(signal).text,
		      prompt_signal_words(signal).text);
}

static void condition_failed(void *context, unsigned breakpoint, const char *why)
{
	if (!prompt_trigger_failed(context, breakpoint, why))
		prompt_report("Error in testing breakpoint condition:\n%s\n", why);
}

static void unresolved(void *context, unsigned breakpoint, const char *why)
{
	(void)context;
	prompt_report("Error in re-setting breakpoint %u: %s\n", breakpoint, why);
}

static void warned(void *context, const char *text)
{
	(void)context;
	prompt_report("warning: %s\n", text);
}

static bool hit(void *context, unsigned breakpoint)
{
	return prompt_trigger_hit(context, breakpoint);
}

static struct mt_error *places(void *context, const struct mt_live_alone *alone)
{
	struct prompt *prompt = context;

	return mt_live_place_triggers(&prompt->live, mt_debugger_live(prompt->debugger), alone);
}

static void shown(void *context)
{
	struct prompt *prompt = context;

	mt_live_check_triggers(&prompt->live, mt_debugger_live(prompt->debugger));
}

static bool passes(void *context, unsigned *breakpoint)
{
	return prompt_trigger_passes(context, breakpoint);
}

struct mt_debug_front prompt_front(struct prompt *prompt)
{
	return (struct mt_debug_front){
	    .context = prompt,
	    .thread_born = thread_born,
	    .thread_ended = thread_ended,
	    .forked = forked,
	    .parent_detached = parent_detached,
	    .executes = executes,
	    .signalled = signalled,
	    .hit = hit,
	    .places = places,
	    .shown = shown,
	    .passes = passes,
	    .unresolved = unresolved,
	    .condition_failed = condition_failed,
	    .warned = warned,
	    .runs = runs,
	    .stopped = stopped,
	    .cancelled = cancelled,
	    .interrupted = interrupted,
	    .ended = ended,
	};
}
