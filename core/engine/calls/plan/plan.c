/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/plan/private.h"

#include "base/search.h"
#include "elf/data_symbol.h"
#include "x86/insn.h"

#include <string.h>

/* In every file of code that Mono compiled ahead of time.  Mono looks into that code at run time,
 * for the instruction of a call by its return address, and into the code's own table of jumps. */
#define MONO_AOT_SYMBOL "mono_aot_file_info"

const struct mt_plan_range *mt_plan_range_at(struct mt_planner *planner, uint64_t address)
{
	if (planner->latest &&
	    address - planner->latest->start < planner->latest->end - planner->latest->start)
		return planner->latest;
	mt_array_each (range, &planner->ranges) {
		if (address >= range->start && address < range->end) {
			planner->latest = range;
			return range;
		}
	}
	return NULL;
}

void mt_plan_mark_near(struct mt_planner *planner, uint64_t address)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, address);

	if (range)
		range->map[address - range->start] |= MT_MAP_TARGET;
}

void mt_plan_mark(struct mt_planner *planner, uint64_t address)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, address);

	if (!range)
		return;
	range->map[address - range->start] |= MT_MAP_TARGET;
	if (range->bytes[address - range->start] == MT_PLAN_RET &&
	    mt_array_push(&planner->far_returns, address))
		planner->failed = true;
}

void mt_plan_leave(struct mt_planner *planner, uint32_t function, uint64_t address, bool is_return,
		   enum mt_plan_reason reason)
{
	const struct mt_plan_left left = {.address = address,
					  .function = function,
					  .reason = (uint8_t)reason,
					  .is_return = is_return};

	if (mt_array_push(&planner->plan->left, left))
		planner->failed = true;
}

uint32_t mt_plan_function_at(const struct mt_plan *plan, uint64_t address)
{
	const size_t low = mt_partition_point(i, 0, plan->functions.count,
					      plan->functions.items[i].start <= address);
	return low && address < plan->functions.items[low - 1].end ? (uint32_t)(low - 1)
								   : MT_PLAN_NOWHERE;
}

/* A label counts as a function only if unwinders take it for one. */
static bool is_function(const struct mt_symbol *symbol, const struct mt_fde *fde)
{
	bool has_fde = fde && fde->start == symbol->start;

	if (symbol->kind == MT_FUNCTION_FDE)
		return true;
	return symbol->kind == MT_FUNCTION_SYMBOL &&
	       (has_fde || !(symbol->flags & MT_FUNCTION_LABEL));
}

/* Their calling convention may stand behind: "runtime.gogo.abi0". */
static bool is_one_of(const struct mt_symbol *symbol, const char *const *names)
{
	for (; symbol->raw_name && *names; names++) {
		const size_t length = strlen(*names);

		if (strncmp(symbol->raw_name, *names, length) == 0 &&
		    (!symbol->raw_name[length] || symbol->raw_name[length] == '.'))
			return true;
	}
	return false;
}

static const char *const switches[] = {"runtime.gogo", "runtime.mcall", "runtime.ready",
				       "runtime.newproc1", NULL};
/* Their callers use flags from before, and what lies right below the return address: the SSA rules
 * of Go's compiler, AMD64Ops.go. */
static const char *const duffs[] = {"runtime.duffzero", "runtime.duffcopy", NULL};

static int add_function(struct mt_planner *planner, const struct mt_plan_options *options,
			const struct mt_symbol *symbol, uint32_t index)
{
	const struct mt_fde *fde = mt_fdes_find(&planner->fdes, symbol->start);
	struct mt_plan_function function = {
	    .start = symbol->start, .end = symbol->end, .symbol = index};
	uint16_t facts = 0;

	if (!is_function(symbol, fde))
		return 0;
	if (symbol->flags & MT_FUNCTION_COLD || (fde && fde->start == symbol->start && fde->cold))
		function.flags |= MT_PLAN_PART;
	if (is_one_of(symbol, switches))
		function.flags |= MT_PLAN_SWITCH;
	if (is_one_of(symbol, duffs))
		facts |= MT_FACT_FLAGS;
	if (symbol->flags & MT_FUNCTION_SIGNAL_RETURN)
		facts |= MT_FACT_SIGNAL;
	if (symbol->start == mt_objfile_entry(planner->objfile))
		facts |= MT_FACT_START;
	if (options && options->wanted && !options->wanted(options->context, symbol))
		facts |= MT_FACT_CHOSEN;
	return mt_array_push(&planner->plan->functions, function) ||
		       mt_array_push(&planner->facts, facts)
		   ? -1
		   : 0;
}

static int add_functions(struct mt_planner *planner, const struct mt_plan_options *options)
{
	size_t count = 0;
	const struct mt_symbol *symbols = mt_objfile_symbols(planner->objfile, &count);

	if (mt_objfile_fdes(planner->objfile, &planner->fdes))
		return -1;
	for (size_t i = 0; i < count; i++)
		if (add_function(planner, options, &symbols[i], (uint32_t)i))
			return -1;
	return 0;
}

static int compare_drafts(const void *left, const void *right)
{
	const struct mt_plan_draft *a = left, *b = right;

	return a->patch.address < b->patch.address ? -1 : a->patch.address > b->patch.address;
}

static int compare_left(const void *left, const void *right)
{
	const struct mt_plan_left *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->is_return - b->is_return;
}

static int add_site(struct mt_plan *plan, struct mt_plan_site site)
{
	return mt_array_push(&plan->sites, site);
}

/* Not a ret: a jump to where the stack pointer was set. */
static bool is_landing(struct mt_planner *planner, uint64_t address)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, address);
	size_t at = address - range->start;
	struct mt_insn insn;

	return mt_insn_decode(range->bytes + at, range->end - address, address, &insn) == 0 &&
	       insn.class == MT_INSN_JUMP_INDIRECT;
}

static int add_patch(struct mt_planner *planner, const struct mt_plan_draft *draft)
{
	struct mt_plan *plan = planner->plan;
	struct mt_patch patch = draft->patch;
	const struct mt_plan_function *function = &plan->functions.items[patch.function];

	patch.site = (uint32_t)plan->sites.count;
	if (patch.flags && function->flags & (MT_PLAN_KERNEL | MT_PLAN_SWITCH))
		patch.flags |= MT_PATCH_STAMP;
	if (patch.flags & MT_PATCH_ENTRY &&
	    add_site(plan,
		     (struct mt_plan_site){.address = function->start, .function = patch.function}))
		return -1;
	if (patch.flags & MT_PATCH_RETURN &&
	    add_site(plan, (struct mt_plan_site){.address = draft->return_address,
						 .function = patch.function,
						 .is_return = true,
						 .is_landing =
						     is_landing(planner, draft->return_address)}))
		return -1;
	if (patch.flags & MT_PATCH_REDIRECT &&
	    add_site(plan, (struct mt_plan_site){.address = patch.redirect,
						 .function = patch.function,
						 .is_return = !(patch.flags & MT_PATCH_AGAIN),
						 .is_again = patch.flags & MT_PATCH_AGAIN}))
		return -1;
	return mt_array_push(&plan->patches, patch);
}

static int finish(struct mt_planner *planner)
{
	struct mt_plan *plan = planner->plan;
	struct mt_drafts *drafts = &planner->drafts;

	mt_array_each (draft, &planner->late)
		if (mt_array_push(drafts, *draft))
			return -1;
	if (planner->late.count)
		qsort(drafts->items, drafts->count, sizeof(*drafts->items), compare_drafts);
	mt_array_each (draft, drafts)
		if (!draft->dropped && add_patch(planner, draft))
			return -1;
	if (plan->left.count)
		qsort(plan->left.items, plan->left.count, sizeof(*plan->left.items), compare_left);
	return 0;
}

static struct mt_error *check_cancelled(const struct mt_plan_options *options)
{
	if (!options || !options->cancelled || !options->cancelled(options->cancelled_context))
		return NULL;
	return mt_error_new(MT_ERROR_INTERRUPTED, "planning was interrupted");
}

struct mt_error *mt_plan_read(struct mt_planner *planner, const struct mt_plan_options *options)
{
	if (add_functions(planner, options) || mt_plan_read_text(planner))
		return mt_error_no_memory();
	mt_try(check_cancelled(options));
	mt_plan_find_fences(planner);
	mt_plan_mark_reach(planner);
	return NULL;
}

static struct mt_error *make(struct mt_planner *planner, const struct mt_plan_options *options)
{
	struct mt_data_symbol mono;

	if (!mt_objfile_has_sections(planner->objfile))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "it has no section table, so its jump targets are unknown; "
				    "exclude it, or use another engine");
	if (mt_objfile_find_data_symbol(planner->objfile, MONO_AOT_SYMBOL, &mono))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "Mono compiled it ahead of time, and reads its machine code at "
				    "run time");
	mt_try(mt_plan_read(planner, options));
	mt_plan_decide_gs(planner);
	mt_plan_decide_flags(planner);
	mt_try(check_cancelled(options));
	if (planner->relocated_code)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "it has relocations in its code, which therefore differs from the file at run "
		    "time; exclude it, or build it with -fPIC");
	mt_plan_find_room(planner);
	mt_try(check_cancelled(options));
	mt_plan_find_holes(planner);
	mt_plan_lead_loops(planner);
	mt_plan_redirect(planner);
	return planner->failed || finish(planner) ? mt_error_no_memory() : NULL;
}

void mt_planner_deinit(struct mt_planner *planner)
{
	mt_array_each (range, &planner->ranges)
		free(range->map);
	mt_array_deinit(&planner->ranges);
	mt_array_deinit(&planner->fdes);
	mt_array_deinit(&planner->facts);
	mt_array_deinit(&planner->tables);
	mt_array_deinit(&planner->jumps);
	mt_array_deinit(&planner->loops);
	mt_array_deinit(&planner->drafts);
	mt_array_deinit(&planner->late);
	mt_array_deinit(&planner->lone);
	mt_array_deinit(&planner->far_returns);
	mt_array_deinit(&planner->gs_users);
	mt_array_deinit(&planner->gs_calls);
	mt_array_deinit(&planner->flag_readers);
}

struct mt_error *mt_plan_create(struct mt_objfile *objfile, const struct mt_plan_options *options,
				struct mt_plan **out)
{
	struct mt_planner planner = {.objfile = objfile, .plan = calloc(1, sizeof(struct mt_plan))};
	struct mt_error *error;

	if (!planner.plan)
		return mt_error_no_memory();
	error = make(&planner, options);
	mt_planner_deinit(&planner);
	if (error)
		mt_plan_destroy(planner.plan);
	else
		*out = planner.plan;
	return error;
}

void mt_plan_destroy(struct mt_plan *plan)
{
	if (!plan)
		return;
	if (!plan->kept.memory) {
		mt_array_deinit(&plan->patches);
		mt_array_deinit(&plan->functions);
		mt_array_deinit(&plan->sites);
		mt_array_deinit(&plan->left);
	}
	mt_kept_unmap(&plan->kept);
	free(plan);
}

/* The first patch that lies behind ADDRESS. */
static size_t first_behind(const struct mt_plan *plan, uint64_t address)
{
	return mt_partition_point(i, 0, plan->patches.count,
				  plan->patches.items[i].address <= address);
}

const struct mt_patch *mt_plan_patch_at(const struct mt_plan *plan, uint64_t address)
{
	size_t behind = first_behind(plan, address);

	if (!behind)
		return NULL;
	const struct mt_patch *patch = &plan->patches.items[behind - 1];
	return address - patch->address < patch->length ? patch : NULL;
}

bool mt_patch_depends(const struct mt_patch *one, const struct mt_patch *other)
{
	if (one->hole && one->hole + MT_PATCH_JUMP_BYTES > other->address &&
	    one->hole < other->address + other->length)
		return true;
	/* Whoever goes on in another's trampoline needs that, and would be recorded again without.
	 */
	if (one->flags & MT_PATCH_AGAIN && one != other && one->redirect == other->address)
		return true;
	if (other->flags & MT_PATCH_AGAIN)
		return one != other && other->redirect == one->address;
	return other->redirect > one->address && other->redirect < one->address + one->length;
}

/* How far a short jump's place lies from that of a hole's first byte, at the most. */
#define SHORT_REACH (128 + MT_PATCH_SHORT_BYTES)

void mt_plan_each_dependent(const struct mt_plan *plan, size_t patch,
			    void (*found)(void *context, size_t dependent), void *context)
{
	const struct mt_patch *patches = plan->patches.items, *other = &patches[patch];
	uint64_t around = SHORT_REACH + MT_PATCH_JUMP_BYTES;
	const struct mt_patch *displaces = mt_plan_patch_at(plan, other->redirect);
	uint64_t from = other->address > around ? other->address - around : 0;
	uint64_t to = other->address + other->length + around;
	uint64_t end = plan->functions.items[other->function].end;

	/* Branches back to an entry stand anywhere in its function. */
	if (other->flags & MT_PATCH_ENTRY && end > to)
		to = end;
	for (size_t i = first_behind(plan, from);
	     i < plan->patches.count && patches[i].address < to; i++)
		if (&patches[i] != displaces && mt_patch_depends(&patches[i], other))
			found(context, i);
	if (displaces && mt_patch_depends(displaces, other))
		found(context, (size_t)(displaces - patches));
}

void mt_plan_count(const struct mt_plan *plan, struct mt_plan_coverage *entries,
		   struct mt_plan_coverage *returns)
{
	*entries = *returns = (struct mt_plan_coverage){0};
	mt_array_each (patch, &plan->patches) {
		if (patch->flags & MT_PATCH_ENTRY)
			entries->done++, entries->by_tactic[patch->tactic]++;
		if (patch->flags & MT_PATCH_RETURN)
			returns->done++, returns->by_tactic[patch->tactic]++;
	}
	mt_array_each (left, &plan->left) {
		struct mt_plan_coverage *coverage = left->is_return ? returns : entries;

		coverage->by_reason[left->reason]++;
		coverage->all++;
	}
	returns->by_tactic[MT_TACTIC_REDIRECT] += plan->redirected;
	returns->done += plan->redirected;
	entries->all += entries->done;
	returns->all += returns->done;
}
