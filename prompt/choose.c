/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "?" for a function or a process: it is chosen in the terminal, which has no other reader while a
 * command runs. */
#include "command/choose.h"
#include "prompt/prompt.h"
#include "terminal/picker.h"

#include <string.h>

static struct mt_command_context context_of(const struct prompt *prompt)
{
	return (struct mt_command_context){.choose = prompt_is_at_terminal(prompt) ? pick : NULL};
}

struct mt_error *prompt_choose_function(struct prompt *prompt, const char *text, char **out)
{
	const struct mt_command_context context = context_of(prompt);
	const char *path = mt_debugger_path(prompt->debugger);

	*out = NULL;
	if (!mt_choose_is_asked(text)) {
		*out = strdup(text);
		return *out ? NULL : mt_error_no_memory();
	}
	if (!path)
		return mt_error_new(MT_ERROR_USAGE,
				    "No symbol table is loaded.  Use the \"file\" command.");
	return mt_choose_function(&context, path, out);
}

struct mt_error *prompt_choose_process(struct prompt *prompt, pid_t *pid)
{
	const struct mt_command_context context = context_of(prompt);

	return mt_choose_process(&context, pid);
}
