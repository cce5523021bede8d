/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints what the engine `calls` can record of a file, what it leaves out, and why. */
#include "engine/calls/plan/plan.h"
#include "base/str.h"
#include "command/arguments.h"

#include <string.h>

static const char *const options[] = {"--patches", "--verbose", NULL};

struct view {
	struct mt_command_context *context;
	struct mt_objfile *objfile;
	struct mt_plan *plan;
	const struct mt_symbol *symbols;
};

static void print_count(const struct view *view, const char *before, const char *what, size_t count)
{
	if (count)
		mt_command_printf(view->context, "  %s%-*s %8zu\n", before,
				  (int)(50 - strlen(before)), what, count);
}

static void print_coverage(const struct view *view, const char *what,
			   const struct mt_plan_coverage *coverage)
{
	double share = coverage->all ? 100.0 * (double)coverage->done / (double)coverage->all : 100;

	mt_command_printf(view->context, "%-9s %8zu of %zu (%.2f %%)\n", what, coverage->done,
			  coverage->all, share);
	for (unsigned i = 0; i < MT_TACTIC_COUNT; i++)
		print_count(view, "", mt_plan_tactic_name(i), coverage->by_tactic[i]);
	for (unsigned i = 0; i < MT_LEFT_REASONS; i++)
		print_count(view, "left out: ", mt_plan_reason_name(i), coverage->by_reason[i]);
}

static void print_summary(const struct view *view)
{
	struct mt_plan_coverage entries, returns;
	size_t hosts = 0;

	mt_plan_count(view->plan, &entries, &returns);
	mt_array_each (patch, &view->plan->patches)
		hosts += patch->tactic == MT_TACTIC_HOLE;
	print_coverage(view, "entries", &entries);
	print_coverage(view, "returns", &returns);
	mt_command_printf(view->context, "%-9s %8zu, %zu of them only to make room for others\n",
			  "patches", view->plan->patches.count, hosts);
}

/* A function's name, or func@ADDRESS where the file names none. */
static struct mt_error *name_of(const struct view *view, uint32_t function, struct mt_str *out)
{
	const struct mt_plan_function *of = &view->plan->functions.items[function];
	const struct mt_symbol *symbol = &view->symbols[of->symbol];

	mt_str_clear(out);
	if (symbol->raw_name)
		mt_str_append(out, mt_objfile_symbol_name(view->objfile, symbol));
	else
		mt_str_appendf(out, "func@%#jx", (uintmax_t)of->start);
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *print_left(const struct view *view)
{
	mt_auto(mt_str) struct mt_str name = {0};

	mt_array_each (left, &view->plan->left) {
		mt_try(name_of(view, left->function, &name));
		mt_command_printf(view->context, "%#12jx %-6s %s: %s\n", (uintmax_t)left->address,
				  left->is_return ? "return" : "entry", name.text,
				  mt_plan_reason_name(left->reason));
	}
	return NULL;
}

static void describe(const struct view *view, const struct mt_patch *patch, struct mt_str *out)
{
	mt_str_clear(out);
	if (patch->flags & MT_PATCH_ENTRY)
		mt_str_append(out, " entry");
	if (patch->flags & MT_PATCH_RETURN) {
		const struct mt_plan_site *site = &view->plan->sites.items[patch->site];

		mt_str_appendf(out, " return@%#jx",
			       (uintmax_t)site[patch->flags & MT_PATCH_ENTRY ? 1 : 0].address);
	}
	if (patch->hole)
		mt_str_appendf(out, " hole@%#jx", (uintmax_t)patch->hole);
	if (patch->redirect)
		mt_str_appendf(out,
			       patch->flags & MT_PATCH_AGAIN ? " again@%#jx" : " redirect@%#jx",
			       (uintmax_t)patch->redirect);
	if (patch->flags & MT_PATCH_STAMP)
		mt_str_append(out, " stamp");
}

static struct mt_error *print_patches(const struct view *view)
{
	mt_auto(mt_str) struct mt_str name = {0};
	mt_auto(mt_str) struct mt_str what = {0};

	mt_array_each (patch, &view->plan->patches) {
		mt_try(name_of(view, patch->function, &name));
		describe(view, patch, &what);
		if (what.failed)
			return mt_error_no_memory();
		mt_command_printf(view->context, "%#12jx %2u bytes%s %s: %s\n",
				  (uintmax_t)patch->address, patch->length,
				  what.text ? what.text : "", name.text,
				  mt_plan_tactic_name(patch->tactic));
	}
	return NULL;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	int patches = 0;
	int verbose = 0;
	const struct poptOption table[] = {
	    {"patches", 'p', POPT_ARG_NONE, &patches, 0, NULL, NULL},
	    {"verbose", 'v', POPT_ARG_NONE, &verbose, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct view view = {.context = context};
	size_t count;

	mt_try(mt_arguments_parse(&arguments, context, &mt_command_plan, table, argc, argv, 1, 1));
	mt_try(mt_objfile_open(arguments.words[0], NULL, NULL, &view.objfile));
	struct mt_error *error = mt_plan_create(view.objfile, NULL, &view.plan);
	if (error)
		error = mt_error_wrap(error, "cannot patch %s", arguments.words[0]);
	if (!error) {
		view.symbols = mt_objfile_symbols(view.objfile, &count);
		print_summary(&view);
		if (verbose)
			error = print_left(&view);
	}
	if (!error && patches)
		error = print_patches(&view);
	mt_plan_destroy(view.plan);
	mt_objfile_unref(view.objfile);
	return error;
}

const struct mt_command mt_command_plan = {
    .name = "plan",
    .summary = "Show which calls of a file the engine calls can record",
    .usage = "[--patches] [--verbose] FILE",
    .help = "Count the function entries and returns in FILE, a program or a shared library, that\n"
	    "the engine calls can patch, by the way it makes room for the jump to its recorder,\n"
	    "and those that it leaves out, by reason.\n"
	    "\n"
	    "Options:\n"
	    "  -p, --patches  list each patch\n"
	    "  -v, --verbose  list each entry and return that is left out\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL | MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
