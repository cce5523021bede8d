/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens a timeline in the browser.  The page fetches it from a helper (scripts/mtrace-view), which
 * runs on in the background until that is done: a debugger's prompt need not wait for it.
 *
 * --offline needs no network: what is shown is a page in HTML, and the helper serves that itself,
 * since browsers in a sandbox of their own open no files.  That of a recording is made in a
 * directory of our own, and has no name any more when the helper has opened it. */
#include "base/installed.h"
#include "base/str.h"
#include "command/arguments.h"
#include "command/timeline.h"
#include "live/live.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER "mtrace-view"
#define PAGE   ".html"

static const char *const options[] = {"--no-browser", "--offline", NULL};

struct view {
	int no_browser, offline;
};

/* Names of files in this directory that can be shown. */
static const char *const timelines[] = {"*.fxt", "*.pftrace", "*.fxt.gz", "*.pftrace.gz", NULL};
static const char *const pages[] = {"*.perf", "*" PAGE, NULL};

/* Finds the latest one. */
static struct mt_error *find_latest(bool offline, struct mt_str *path)
{
	struct timespec latest = {0};
	struct stat status;
	glob_t found = {0};

	for (const char *const *name = offline ? pages : timelines; *name; name++)
		if (glob(*name, found.gl_pathc ? GLOB_APPEND : 0, NULL, &found) == GLOB_NOSPACE)
			return mt_error_no_memory();
	for (size_t i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &status) < 0 || status.st_mtim.tv_sec < latest.tv_sec ||
		    (status.st_mtim.tv_sec == latest.tv_sec &&
		     status.st_mtim.tv_nsec <= latest.tv_nsec))
			continue;
		latest = status.st_mtim;
		mt_str_clear(path);
		mt_str_append(path, found.gl_pathv[i]);
	}
	globfree(&found);
	if (path->failed)
		return mt_error_no_memory();
	return path->length
		   ? NULL
		   : mt_error_new(MT_ERROR_NOT_FOUND, "no %s in this directory: give a FILE",
				  offline ? "recording (*.perf) or page (*.html)"
					  : "timeline (*.fxt or *.pftrace)");
}

/* Starts the helper with its output to OUTPUT.  Returns an errno value. */
static int spawn(const char *const arguments[], int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	for (int fd = 1; !error && fd <= 2; fd++)
		error = posix_spawn_file_actions_adddup2(&actions, output, fd);
	if (!error)
		error = posix_spawn(pid, arguments[0], &actions, NULL, (char *const *)arguments,
				    environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static void read_all(int input, struct mt_str *answer)
{
	char text[1024];
	ssize_t length;

	while ((length = read(input, text, sizeof(text))) > 0 || (length < 0 && errno == EINTR))
		if (length > 0)
			mt_str_append_bytes(answer, text, (size_t)length);
	if (answer->length && answer->text[answer->length - 1] == '\n')
		answer->text[--answer->length] = '\0';
}

/* Runs the helper, which exits when the file can be fetched and leaves a child behind for that. */
static struct mt_error *ask_helper(const char *const arguments[], struct mt_str *answer)
{
	int ends[2], error, status = 0;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return mt_error_errno(errno, "cannot create a pipe to %s", arguments[0]);
	error = spawn(arguments, ends[1], &pid);
	close(ends[1]);
	if (!error)
		read_all(ends[0], answer);
	close(ends[0]);
	if (error)
		return mt_error_errno(error, "cannot run %s", arguments[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (answer->failed)
		return mt_error_no_memory();
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return mt_error_new(MT_ERROR_SYSTEM, "%s", answer->text ? answer->text : HELPER);
	return NULL;
}

/* Shows the file at PATH, which is called NAME to the user. */
static struct mt_error *show(struct mt_command_context *context, const struct view *view,
			     const char *path, const char *name)
{
	mt_auto(mt_str) struct mt_str answer = {0};
	mt_auto(mt_option) char *helper = mt_installed_find(HELPER);
	const char *arguments[] = {helper, NULL, NULL, NULL, NULL, NULL};
	size_t count = 1;

	if (!helper)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    HELPER
				    " is missing beside %s and in ../lib/mtrace: run \"make\" or "
				    "\"make install\"",
				    context->prefix);
	if (view->no_browser)
		arguments[count++] = "--no-browser";
	if (view->offline)
		arguments[count++] = "--offline";
	arguments[count++] = "--";
	arguments[count] = path;
	mt_try(ask_helper(arguments, &answer));
	mt_command_printf(context, "%s: %s\n", name, answer.text ? answer.text : "");
	return NULL;
}

static struct mt_error *write_page(struct mt_command_context *context, const char *path,
				   const char *page)
{
	const struct mt_timeline timeline = {.path = page, .format = "html"};
	struct mt_recording *recording = NULL;
	struct mt_decode_stats stats = {0};

	struct mt_error *error = mt_recording_open(path, context->progress, &recording);
	if (error && mt_error_code(error) == MT_ERROR_FORMAT)
		return mt_error_wrap(error, "--offline shows recordings and pages (*" PAGE ")");
	mt_try(error);
	error = mt_timeline_write(context->log, context->progress, recording, &timeline, &stats);
	if (!error)
		mt_timeline_log_losses(context, recording, &stats);
	mt_recording_close(recording);
	return error;
}

/* Shows the page of a recording. */
static struct mt_error *show_recording(struct mt_command_context *context, const struct view *view,
				       const char *path)
{
	const char *temporary = secure_getenv("TMPDIR");
	const char *parent = temporary && *temporary ? temporary : "/tmp";
	mt_auto(mt_str) struct mt_str directory = {0}, page = {0}, name = {0};

	mt_try(mt_timeline_default_path(path, "html", &name));
	mt_str_appendf(&directory, "%s/mtrace-view-XXXXXX", parent);
	if (directory.failed)
		return mt_error_no_memory();
	if (!mkdtemp(directory.text))
		return mt_error_errno(errno, "cannot create a directory for the page in %s",
				      parent);
	mt_str_appendf(&page, "%s/%s", directory.text, basename(name.text));
	struct mt_error *error =
	    page.failed ? mt_error_no_memory() : write_page(context, path, page.text);
	if (!error)
		error = show(context, view, page.text, path);
	if (!page.failed)
		unlink(page.text);
	rmdir(directory.text);
	return error;
}

static bool is_page(const char *path)
{
	const size_t length = strlen(path), ending = strlen(PAGE);

	return length >= ending && strcmp(path + length - ending, PAGE) == 0;
}

/* The latest of this session, or else of this directory. */
static struct mt_error *choose(const struct mt_command_context *context, bool offline,
			       struct mt_str *path)
{
	const char *written = context->debugger ? mt_live_last_written(context->debugger) : NULL;

	if (!written || (offline && !is_page(written)))
		return find_latest(offline, path);
	mt_str_append(path, written);
	return NULL;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	struct view view = {0};
	const struct poptOption table[] = {
	    {"no-browser", '\0', POPT_ARG_NONE, &view.no_browser, 0, NULL, NULL},
	    {"offline", '\0', POPT_ARG_NONE, &view.offline, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	mt_auto(mt_str) struct mt_str path = {0};
	struct stat status;

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_view, table, argc, argv, 0, 1));
	if (arguments.count)
		mt_str_append(&path, arguments.words[0]);
	else
		mt_try(choose(context, view.offline, &path));
	if (path.failed)
		return mt_error_no_memory();
	if (view.offline && !is_page(path.text))
		return show_recording(context, &view, path.text);
	if (stat(path.text, &status) < 0 || access(path.text, R_OK) < 0)
		return mt_error_errno(errno, "cannot read %s", path.text);
	if (!S_ISREG(status.st_mode))
		return mt_error_new(MT_ERROR_USAGE, "%s is not a regular file", path.text);
	return show(context, &view, path.text, path.text);
}

const struct mt_command mt_command_view = {
    .name = "view",
    .summary = "Open a timeline in the browser",
    .usage = "[--no-browser] [--offline] [FILE]",
    .help =
	"Open FILE in the Perfetto UI; by default the latest timeline of this session, or else\n"
	"in this directory (*.fxt and *.pftrace, also with .gz behind).  The page comes from\n"
	"ui.perfetto.dev; it fetches the file from port 9001 of 127.0.0.1, once and within five\n"
	"minutes, and sends it nowhere.\n"
	"\n"
	"Options:\n"
	"  --no-browser  only print the address to open\n"
	"  --offline     without a network: show the page that \"decode -o x.html\" writes of\n"
	"                FILE, a recording, or such a page; it comes from 127.0.0.1 (default:\n"
	"                the latest *.perf or *.html in this directory)\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL | MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
