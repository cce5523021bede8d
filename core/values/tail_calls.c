/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that left no trace on the stack, since they ended in a jump to another one (DWARF 5,
 * section 3.4): between a call and the function that runs now there may have been some.  Where the
 * call sites allow of one way only, or agree on a part of all ways, those functions are known. */
#include "values/call_site.h"

#include <dwarf.h>
#include <string.h>

enum { DEEPEST = 64, MOST_VISITS = 2000 };

static bool is_origin_of(Dwarf_Die *origin, Dwarf_Die *function)
{
	Dwarf_Attribute attribute;
	Dwarf_Die of;

	return dwarf_attr(function, DW_AT_abstract_origin, &attribute) &&
	       dwarf_formref_die(&attribute, &of) && of.addr == origin->addr;
}

/* The copies that were made of a function. */
static bool add_copies(struct mt_module *module, Dwarf_Die *origin, struct mt_call_targets *out)
{
	Dwarf_Die unit, die;
	size_t budget = 1 << 20;
	uint64_t entry;

	if (!dwarf_diecu(origin, &unit, NULL, NULL) || dwarf_child(&unit, &die))
		return false;
	do
		if (dwarf_tag(&die) == DW_TAG_subprogram && is_origin_of(origin, &die) &&
		    mt_die_entry(&die, &entry) && out->count < MT_CALL_TARGETS_MOST)
			out->items[out->count++] = entry + module->bias;
	while (--budget && dwarf_siblingof(&die, &die) == 0);
	return out->count > 0;
}

bool mt_call_site_targets(struct mt_module *module, Dwarf_Die *site, struct mt_call_targets *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die target;
	uint64_t entry;

	out->count = 0;
	if (dwarf_hasattr(site, DW_AT_call_target) ||
	    dwarf_hasattr(site, DW_AT_GNU_call_site_target))
		return false;
	if ((!dwarf_attr(site, DW_AT_call_origin, &attribute) &&
	     !dwarf_attr(site, DW_AT_abstract_origin, &attribute)) ||
	    !dwarf_formref_die(&attribute, &target))
		return false;
	if (dwarf_hasattr(&target, DW_AT_declaration)) {
		const char *linked = mt_die_linkage_name(&target);
		const char *name = linked ? linked : dwarf_diename(&target);

		mt_array_each (other, &module->program->modules) {
			const struct mt_msymbol *symbol =
			    name && (*other)->is_mapped
				? mt_msymbol_named(*other, name, strlen(name))
				: NULL;
			if (!symbol || !symbol->is_code || !symbol->address)
				continue;
			out->items[out->count++] = symbol->address + (*other)->bias;
			return true;
		}
		return false;
	}
	if (!mt_die_entry(&target, &entry))
		return add_copies(module, &target, out);
	out->items[out->count++] = entry + module->bias;
	return true;
}

static bool has_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr(die, name, &attribute) && dwarf_formflag(&attribute, &is_set) == 0 &&
	       is_set;
}

/* DWARF lists all of the function's tail calls. */
static bool tells_all(Dwarf_Die *function)
{
	return has_flag(function, DW_AT_call_all_calls) ||
	       has_flag(function, DW_AT_call_all_tail_calls) ||
	       has_flag(function, DW_AT_GNU_all_call_sites) ||
	       has_flag(function, DW_AT_GNU_all_tail_call_sites);
}

struct tail_call {
	uint64_t pc; /* behind the jump */
	bool is_known;
	struct mt_call_targets targets;
};

struct tail_caller {
	uint64_t start;
	MT_ARRAY(struct tail_call) calls;
};

struct search {
	struct mt_expr_program *program;
	MT_ARRAY(struct tail_caller *) callers; /* that were looked at */
	uint64_t wanted;
	const struct tail_call *way[DEEPEST];
	size_t length, visits;
	/* The beginning and the end that all ways so far share. */
	const struct tail_call *common[DEEPEST];
	size_t common_length, from_caller, from_callee;
	bool any;
};

static int add_calls(struct mt_module *module, Dwarf_Die *block, unsigned depth,
		     struct tail_caller *out)
{
	Dwarf_Die child;
	size_t budget = 1 << 20;

	if (depth > MT_SCOPE_MOST || dwarf_child(block, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);
		struct tail_call call = {0};

		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    add_calls(module, &child, depth + 1, out))
			return -1;
		if ((!has_flag(&child, DW_AT_call_tail_call) &&
		     !has_flag(&child, DW_AT_GNU_tail_call)) ||
		    !mt_call_site_pc(&child, &call.pc))
			continue;
		call.pc += module->bias;
		call.is_known = mt_call_site_targets(module, &child, &call.targets);
		if (mt_array_push(&out->calls, call))
			return -1;
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
	return 0;
}

/* NULL: nobody knows what it calls. */
static const struct tail_caller *caller_at(struct search *search, uint64_t start)
{
	struct mt_module *module = mt_program_module_at(search->program, start);
	struct tail_caller *caller;
	Dwarf_Die die;
	uint64_t entry;

	mt_array_each (known, &search->callers)
		if ((*known)->start == start)
			return *known;
	if (!module || !mt_scope_function(module, start - module->bias, &die) ||
	    !mt_die_entry(&die, &entry) || entry + module->bias != start)
		return NULL;
	caller = calloc(1, sizeof(*caller));
	if (!caller || mt_array_push(&search->callers, caller)) {
		free(caller);
		return NULL;
	}
	caller->start = start;
	return tells_all(&die) && add_calls(module, &die, 0, caller) ? NULL : caller;
}

static void search_end(struct search *search)
{
	mt_array_each (caller, &search->callers) {
		mt_array_deinit(&(*caller)->calls);
		free(*caller);
	}
	mt_array_deinit(&search->callers);
}

/* A way was found.  False: it has nothing in common with those before. */
static bool found_way(struct search *search)
{
	size_t length = search->length, same = 0;

	if (!search->any) {
		search->any = true;
		memcpy(search->common, search->way, length * sizeof(search->way[0]));
		search->common_length = search->from_caller = search->from_callee = length;
		return true;
	}
	while (same < length && same < search->from_caller &&
	       search->common[same] == search->way[same])
		same++;
	search->from_caller = same;
	for (same = 0;
	     same < length && same < search->from_callee &&
	     search->common[search->common_length - 1 - same] == search->way[length - 1 - same];)
		same++;
	search->from_callee = same;
	return search->from_caller || search->from_callee;
}

static bool is_on_way(const struct search *search, const struct tail_call *call)
{
	for (size_t i = 0; i < search->length; i++)
		if (search->way[i] == call)
			return true;
	return false;
}

/* All ways on from a call.  False: not all of them are known. */
static bool visit(struct search *search, const struct mt_call_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		const struct tail_caller *caller;

		if (targets->items[i] == search->wanted) {
			if (!found_way(search))
				return false;
			continue;
		}
		caller = caller_at(search, targets->items[i]);
		if (!caller)
			return false;
		mt_array_each (call, &caller->calls) {
			if (is_on_way(search, call))
				continue;
			if (!call->is_known || search->length == DEEPEST ||
			    ++search->visits > MOST_VISITS)
				return false;
			search->way[search->length++] = call;
			bool is_told = visit(search, &call->targets);
			search->length--;
			if (!is_told)
				return false;
		}
	}
	return true;
}

static size_t take_common(const struct search *search, uint64_t *pcs, size_t most)
{
	bool is_whole = search->from_caller == search->common_length;
	size_t count = 0;

	for (size_t i = 0; i < search->from_callee && count < most; i++)
		pcs[count++] = search->common[search->common_length - 1 - i]->pc;
	for (size_t i = search->from_caller; !is_whole && i-- > 0 && count < most;)
		pcs[count++] = search->common[i]->pc;
	return count;
}

size_t mt_expr_tail_calls(struct mt_expr_program *program, uint64_t return_pc, uint64_t function,
			  uint64_t *pcs, size_t most)
{
	struct search search = {.program = program, .wanted = function};
	struct mt_module *module = mt_program_module_at(program, return_pc - 1);
	struct mt_call_targets targets;
	Dwarf_Die caller, site;
	size_t count = 0;

	if (!module || !mt_scope_function(module, return_pc - 1 - module->bias, &caller) ||
	    !mt_call_site_find(&caller, return_pc - module->bias, &site) ||
	    !mt_call_site_targets(module, &site, &targets))
		return 0;
	if (visit(&search, &targets) && search.any)
		count = take_common(&search, pcs, most);
	search_end(&search);
	return count;
}

bool mt_tail_calls_itself(struct mt_expr_program *program, uint64_t function)
{
	struct search search = {.program = program, .wanted = function};
	bool is_known = caller_at(&search, function) != NULL, is_self = false;

	for (size_t i = 0; is_known && !is_self && i < search.callers.count; i++) {
		const struct tail_caller *caller = search.callers.items[i];

		mt_array_each (call, &caller->calls) {
			is_known &= call->is_known && i < MOST_VISITS;
			for (size_t k = 0; is_known && k < call->targets.count; k++) {
				is_self |= call->targets.items[k] == function;
				is_known = caller_at(&search, call->targets.items[k]) != NULL;
			}
		}
	}
	search_end(&search);
	return !is_known || is_self;
}
