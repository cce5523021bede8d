/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info registers`: the groups of registers, in GDB's order. */
#include "prompt/prompt.h"

#include <string.h>

static const char *const general[] = {
    "rax", "rbx", "rcx", "rdx", "rsi",    "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
    "r13", "r14", "r15", "rip", "eflags", "cs",  "ss",  "ds",  "es", "fs", "gs",  NULL,
};
static const char *const x87[] = {
    "st0", "st1", "st2", "st3", "st4", "st5", "st6", "st7", NULL,
};
static const char *const vector[] = {
    "xmm0", "xmm1",  "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",  "xmm8",
    "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "mxcsr", NULL,
};
static const char *const rest_of_all[] = {"fs_base", "gs_base", NULL};

static const struct group {
	const char *name;
	const char *const *registers;
} groups[] = {
    {"general", general}, {"float", x87}, {"vector", vector}, {"sse", vector}, {0},
};

static struct mt_error *print_one(struct prompt *prompt, const char *name)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	mt_try(mt_expr_info_register(program, &frame, name, &out));
	if (out.failed)
		return mt_error_no_memory();
	prompt_printf("%s", out.text);
	return NULL;
}

static struct mt_error *print_all(struct prompt *prompt, const char *const *names)
{
	for (; *names; names++)
		mt_try(print_one(prompt, *names));
	return NULL;
}

/* WORDS: registers, or groups of them, with or without "$". */
static struct mt_error *print_words(struct prompt *prompt, const char *words)
{
	mt_auto(mt_str) struct mt_str name = {0};

	while (*words) {
		words += *words == '$';
		size_t length = strcspn(words, " \t");
		const struct group *group = groups;

		mt_str_clear(&name);
		mt_str_append_bytes(&name, words, length);
		if (name.failed)
			return mt_error_no_memory();
		while (group->name && strcmp(group->name, name.text) != 0)
			group++;
		mt_try(group->name ? print_all(prompt, group->registers)
				   : print_one(prompt, name.text));
		words = prompt_skip_blanks(words + length);
	}
	return NULL;
}

struct mt_error *prompt_info_registers(struct prompt *prompt, const char *rest, int all)
{
	if (!mt_debugger_selected_frame(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program has no registers now.");
	if (*rest)
		return print_words(prompt, rest);
	mt_try(print_all(prompt, general));
	if (!all)
		return NULL;
	mt_try(print_all(prompt, rest_of_all));
	mt_try(print_all(prompt, x87));
	return print_all(prompt, vector);
}
