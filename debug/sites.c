/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoint instructions, which are in the text only while the program runs. */
#include "private.h"

#include "base/search.h"

static const uint8_t int3 = 0xcc;

static size_t search(const struct mt_debugger *debugger, uint64_t address)
{
	return mt_partition_point(i, 0, debugger->sites.count,
				  debugger->sites.items[i].address < address);
}

static struct mt_debug_site *find(struct mt_debugger *debugger, uint64_t address)
{
	size_t at = search(debugger, address);

	return at < debugger->sites.count && debugger->sites.items[at].address == address
		   ? &debugger->sites.items[at]
		   : NULL;
}

static struct mt_error *want(void *context, uint64_t address)
{
	struct mt_debugger *debugger = context;
	struct mt_debug_site *site = find(debugger, address);
	const struct mt_debug_site added = {.address = address, .wanted = true};
	size_t at = search(debugger, address);

	if (site) {
		site->wanted = true;
		return NULL;
	}
	if (mt_array_push(&debugger->sites, added))
		return mt_error_no_memory();
	for (size_t i = debugger->sites.count - 1; i > at; i--)
		debugger->sites.items[i] = debugger->sites.items[i - 1];
	debugger->sites.items[at] = added;
	return NULL;
}

struct mt_error *mt_debug_each_wanted(struct mt_debugger *debugger,
				      struct mt_error *(*found)(void *context, uint64_t address),
				      void *context)
{
	const uint64_t others[] = {debugger->plan.back, debugger->loader_break,
				   debugger->session_break};

	mt_array_each (at, &debugger->breakpoints) {
		const struct mt_debug_break *one = *at;

		if (one->watched && one->watched->caller)
			mt_try(found(context, one->watched->caller));
		if (!one->public.enabled || one->is_aside || one->public.kind != MT_DEBUG_BREAK)
			continue;
		mt_array_each (location, &one->locations)
			if (location->enabled)
				mt_try(found(context, location->address));
	}
	mt_array_each (location, &debugger->plan.locations)
		mt_try(found(context, location->address));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i])
			mt_try(found(context, others[i]));
	return mt_debug_record_each_missed(debugger, found, context);
}

/* In GDB's words. */
static struct mt_error *cannot_insert(const struct mt_debugger *debugger, uint64_t address)
{
	unsigned number = 0;

	mt_array_each (one, &debugger->breakpoints)
		mt_array_each (location, &(*one)->locations)
			if (location->address == address && !number)
				number = (*one)->public.number;
	return mt_error_new(MT_ERROR_NOT_FOUND,
			    "Warning:\nCannot insert breakpoint %u.\n"
			    "Cannot access memory at address 0x%llx\n",
			    number, (unsigned long long)address);
}

static struct mt_error *insert(struct mt_debugger *debugger, struct mt_debug_site *site)
{
	if (site->inserted)
		return NULL;
	if (!site->passed) {
		if (mt_debug_read(debugger, site->address, &site->original, 1) != 1)
			return cannot_insert(debugger, site->address);
		mt_try(mt_debug_rescue_note(debugger, site));
	}
	site->passed = false;
	mt_try(
	    debugger->target->ops->write(debugger->target, debugger->pid, site->address, &int3, 1));
	site->inserted = true;
	return NULL;
}

/* A library that was unmapped took its breakpoints with it. */
struct mt_error *mt_debug_lift_site(struct mt_debugger *debugger, struct mt_debug_site *site)
{
	struct mt_error *error;
	uint8_t byte;

	if (!site->inserted)
		return NULL;
	site->inserted = false;
	error = debugger->target->ops->write(debugger->target, debugger->pid, site->address,
					     &site->original, 1);
	if (!error || mt_debug_read(debugger, site->address, &byte, 1) == 1)
		return error;
	mt_error_destroy(error);
	return NULL;
}

struct mt_error *mt_debug_insert_sites(struct mt_debugger *debugger)
{
	size_t kept = 0;

	mt_array_each (site, &debugger->sites)
		site->wanted = false;
	mt_try(mt_debug_each_wanted(debugger, want, debugger));
	mt_array_each (site, &debugger->sites)
		mt_try(site->wanted ? insert(debugger, site) : mt_debug_lift_site(debugger, site));
	mt_array_each (site, &debugger->sites)
		if (site->wanted || site->inserted)
			debugger->sites.items[kept++] = *site;
	debugger->sites.count = kept;
	return NULL;
}

struct mt_error *mt_debug_remove_sites(struct mt_debugger *debugger)
{
	struct mt_error *first = NULL;

	mt_array_each (site, &debugger->sites) {
		struct mt_error *error = mt_debug_lift_site(debugger, site);

		if (first)
			mt_error_destroy(error);
		else
			first = error;
	}
	debugger->sites.count = 0;
	return first;
}

void mt_debug_forget_sites(struct mt_debugger *debugger)
{
	debugger->sites.count = 0;
}

struct mt_debug_site *mt_debug_site_at(struct mt_debugger *debugger, uint64_t address)
{
	struct mt_debug_site *site = find(debugger, address);

	return site && site->inserted ? site : NULL;
}

bool mt_debug_is_own_int3(struct mt_debugger *debugger, uint64_t address)
{
	uint8_t byte = 0;

	return mt_debug_site_at(debugger, address) ||
	       mt_debug_read(debugger, address, &byte, 1) != 1 || byte != int3;
}

struct mt_error *mt_debug_clean_child(struct mt_debugger *debugger, pid_t child)
{
	mt_array_each (site, &debugger->sites)
		if (site->inserted)
			mt_try(debugger->target->ops->write(debugger->target, child, site->address,
							    &site->original, 1));
	return NULL;
}
