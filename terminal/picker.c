/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "terminal/picker.h"

#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* fzf's exit statuses: fzf(1). */
enum { FZF_CHOSEN = 0, FZF_NO_MATCH = 1, FZF_LEFT = 130 };

struct fzf {
	pid_t pid;
	FILE *to, *from;
};

static int spawn_fzf(const char *what, int input, int output, pid_t *pid)
{
	char prompt[64];
	char *words[] = {(char *)"fzf",
			 (char *)"--delimiter=\t",
			 (char *)"--with-nth=2..",
			 (char *)"--no-multi",
			 prompt,
			 NULL};
	posix_spawn_file_actions_t actions;

	snprintf(prompt, sizeof(prompt), "--prompt=%s> ", what);
	if (posix_spawn_file_actions_init(&actions))
		return ENOMEM;
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	int failure = posix_spawnp(pid, "fzf", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return failure;
}

/* Returns an errno value, or 0. */
static int start_fzf(struct fzf *fzf, const char *what)
{
	int to[2], from[2], failure;

	if (pipe2(to, O_CLOEXEC))
		return errno;
	if (pipe2(from, O_CLOEXEC)) {
		failure = errno;
		close(to[0]);
		close(to[1]);
		return failure;
	}
	failure = spawn_fzf(what, to[0], from[1], &fzf->pid);
	close(to[0]);
	close(from[1]);
	fzf->to = fdopen(to[1], "w");
	fzf->from = fdopen(from[0], "r");
	return failure;
}

/* Reads the choice and waits for fzf to exit. */
static struct mt_error *read_choice(struct fzf *fzf, const char *what, size_t count, size_t *chosen)
{
	int status = 0;
	bool read = fzf->from && fscanf(fzf->from, "%zu", chosen) == 1;

	if (fzf->from)
		fclose(fzf->from);
	while (waitpid(fzf->pid, &status, 0) < 0 && errno == EINTR)
		;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : FZF_LEFT;
	if (code == FZF_CHOSEN && read && *chosen < count)
		return NULL;
	if (code == FZF_CHOSEN || code == FZF_NO_MATCH || code == FZF_LEFT)
		return mt_error_new(MT_ERROR_INTERRUPTED, "no %s was chosen", what);
	return mt_error_new(MT_ERROR_SYSTEM, "cannot choose a %s: fzf failed with status %d", what,
			    code);
}

static struct mt_error *pick_with_fzf(const char *what, const char *const *items, size_t count,
				      size_t *chosen, bool *absent)
{
	struct fzf fzf = {0};
	int failure = start_fzf(&fzf, what);

	*absent = failure != 0;
	if (!failure) {
		/* fzf may exit before it has read all items. */
		for (size_t i = 0; i < count && fzf.to && !ferror(fzf.to); i++) {
			mt_auto(mt_str) struct mt_str item = {0};

			mt_utf8_append_shown(&item, items[i], SIZE_MAX);
			fprintf(fzf.to, "%zu\t%s\n", i, item.text ? item.text : "");
		}
		if (fzf.to)
			fclose(fzf.to);
		return read_choice(&fzf, what, count, chosen);
	}
	if (fzf.to)
		fclose(fzf.to);
	if (fzf.from)
		fclose(fzf.from);
	return NULL;
}

struct mt_error *pick(void *context, const char *what, const char *const *items, size_t count,
		      size_t *chosen)
{
	bool absent = false;
	int tty = open(_PATH_TTY, O_RDWR | O_CLOEXEC);
	struct mt_error *error;

	(void)context;
	if (tty < 0)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "cannot choose a %s without a terminal: give it on the command line", what);
	if (!count)
		error = mt_error_new(MT_ERROR_USAGE, "there is no %s to choose from", what);
	else
		error = pick_with_fzf(what, items, count, chosen, &absent);
	if (absent)
		error = find_in_terminal(tty, what, items, count, chosen);
	close(tty);
	return error;
}
