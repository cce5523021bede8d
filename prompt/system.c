/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about the system around the program: its process, a shell, directories. */
#include "prompt/prompt.h"
#include "terminal/ending.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- info proc ---- */

static void print_link(pid_t pid, const char *name)
{
	char path[64], target[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	if (length >= 0)
		prompt_printf("%s = '%.*s'\n", name, (int)length, target);
}

static FILE *open_file(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

static void print_command(pid_t pid)
{
	FILE *file = open_file(pid, "cmdline");
	char *word = NULL;
	size_t size = 0;

	prompt_printf("cmdline = '");
	for (bool first = true; file && getdelim(&word, &size, 0, file) > 0; first = false)
		prompt_printf("%s%s", first ? "" : " ", word);
	prompt_printf("'\n");
	free(word);
	if (file)
		fclose(file);
}

/* A line of /proc/PID/maps: proc(5). */
static void print_mapping(const char *line)
{
	unsigned long long start, end, offset;
	char permissions[5], from[24];
	int path = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, permissions, &offset,
		   &path) < 4)
		return;
	snprintf(from, sizeof(from), "0x%llx", offset);
	prompt_printf("  %#18llx %#18llx %#10llx %10s  %s   %s%s", start, end, end - start, from,
		      permissions, line + path, line[path] ? "" : "\n");
}

/* PRINT NULL: as it is. */
static void each_line(pid_t pid, const char *name, void (*print)(const char *line))
{
	FILE *file = open_file(pid, name);
	char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		if (print)
			print(line);
		else
			prompt_printf("%s", line);
	}
	free(line);
	if (file)
		fclose(file);
}

struct mt_error *prompt_info_proc(struct prompt *prompt, const char *rest)
{
	static const char *const facts[] = {"cmdline", "cwd", "exe", "mappings", "status"};
	pid_t pid = mt_debugger_pid(prompt->debugger);
	bool known = !*rest, all = !*rest;

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		known |= strcmp(facts[i], rest) == 0;
	if (!known)
		return mt_error_new(MT_ERROR_USAGE, "Too many parameters: %s", rest);
	if (mt_debugger_core_path(prompt->debugger))
		return prompt_info_proc_of_core(prompt, rest);
	if (!pid)
		return mt_error_new(MT_ERROR_USAGE, "No current process: you must name one.");
	prompt_printf("process %d\n", pid);
	if (all || strcmp(rest, "cmdline") == 0)
		print_command(pid);
	if (all || strcmp(rest, "cwd") == 0)
		print_link(pid, "cwd");
	if (all || strcmp(rest, "exe") == 0)
		print_link(pid, "exe");
	if (strcmp(rest, "status") == 0)
		each_line(pid, "status", NULL);
	if (strcmp(rest, "mappings") == 0) {
		prompt_printf("Mapped address spaces:\n\n"
			      "  %18s %18s %10s %10s  Perms  objfile\n",
			      "Start Addr", "End Addr", "Size", "Offset");
		each_line(pid, "maps", print_mapping);
	}
	return NULL;
}

/* ---- A shell, and directories ---- */

static struct mt_error *run_in_shell(const char *command, int *status)
{
	const char *shell = getenv("SHELL") ? getenv("SHELL") : "/bin/sh";
	char *words[] = {(char *)basename(shell), (char *)(*command ? "-c" : NULL), (char *)command,
			 NULL};
	sigset_t none;
	posix_spawnattr_t attributes;
	pid_t pid;

	sigemptyset(&none);
	if (posix_spawnattr_init(&attributes))
		return mt_error_no_memory();
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	int failure = posix_spawn(&pid, shell, NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	if (failure)
		return mt_error_errno(failure, "cannot run the shell %s", shell);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		if (ending_signal())
			return mt_error_new(MT_ERROR_INTERRUPTED, "The shell runs on.");
	return NULL;
}

static struct mt_error *run_shell(struct prompt *prompt, const char *rest)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	int status = 0;

	prompt_out_unpaged();
	terminal_flush(prompt->terminal);
	mt_try(run_in_shell(rest, &status));
	prompt_take_interrupt(); /* a Ctrl-C was the shell's */
	if (WIFSIGNALED(status))
		return mt_expr_set_integer(program, "_shell_exitsignal", WTERMSIG(status));
	return mt_expr_set_integer(program, "_shell_exitcode", WEXITSTATUS(status));
}

static struct mt_error *run_pwd(struct prompt *prompt, const char *rest)
{
	char path[PATH_MAX];

	(void)prompt;
	(void)rest;
	if (!getcwd(path, sizeof(path)))
		return mt_error_errno(errno, "cannot get the working directory");
	prompt_printf("Working directory %s.\n", path);
	return NULL;
}

static struct mt_error *run_cd(struct prompt *prompt, const char *rest)
{
	const char *home = getenv("HOME") ? getenv("HOME") : "/";
	mt_auto(mt_str) struct mt_str path = {0};

	if (!*rest || (rest[0] == '~' && (!rest[1] || rest[1] == '/')))
		mt_str_appendf(&path, "%s%s", home, *rest ? rest + 1 : "");
	else
		mt_str_append(&path, rest);
	if (path.failed)
		return mt_error_no_memory();
	if (chdir(path.text))
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s: %s.", rest, strerrordesc_np(errno));
	return prompt_is_at_terminal(prompt) ? run_pwd(prompt, "") : NULL;
}

const struct prompt_command prompt_system_commands[] = {
    {.name = "shell",
     .aliases = "!",
     .usage = "[COMMAND]",
     .summary = "Run a command of the shell, or a shell",
     .help = "Its status is in $_shell_exitcode.\n",
     .run = run_shell},
    {.name = "pwd", .summary = "Print the working directory", .run = run_pwd},
    {.name = "cd",
     .usage = "[DIRECTORY]",
     .takes = PROMPT_FILE,
     .summary = "Change the working directory of mtdb and of programs that it starts",
     .run = run_cd},
    {0},
};
