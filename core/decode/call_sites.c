/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/call_sites.h"

#include "base/array.h"
#include "x86/insn.h"

#include <string.h>
#include <uthash.h>

#define MOST_CODE_BYTES (4u << 20) /* of one function */
#define PLT_SUFFIX      "@plt"

struct site {
	uint64_t address, end;
	const struct mt_function *target; /* NULL: an indirect call's */
	bool is_call;
};

/* A function's calls, and direct jumps out of itself. */
struct caller {
	uint32_t id;
	bool known; /* all of its code */
	MT_ARRAY(struct site) sites;
	UT_hash_handle hh;
};

struct mt_call_sites {
	struct caller *callers; /* by id */
};

struct mt_call_sites *mt_call_sites_create(void)
{
	return calloc(1, sizeof(struct mt_call_sites));
}

void mt_call_sites_destroy(struct mt_call_sites *sites)
{
	struct caller *caller, *next;

	if (!sites)
		return;
	HASH_ITER (hh, sites->callers, caller, next) {
		HASH_DEL(sites->callers, caller);
		mt_array_deinit(&caller->sites);
		free(caller);
	}
	free(sites);
}

static bool leaves(const struct mt_insn *insn, const struct mt_function *function)
{
	switch (insn->class) {
	case MT_INSN_CALL: /* itself too */
	case MT_INSN_CALL_INDIRECT:
		return true;
	case MT_INSN_JUMP:
	case MT_INSN_BRANCH:
		return insn->target < function->start || insn->target >= function->end;
	default:
		return false;
	}
}

static bool scan(struct caller *caller, struct mt_space *space, const struct mt_function *function);

/* The function's cold part belongs to it. */
static bool add(struct caller *caller, struct mt_space *space, uint64_t address,
		const struct mt_insn *insn, bool in_cold_part)
{
	bool is_indirect = insn->class == MT_INSN_CALL_INDIRECT;
	struct site site = {
	    .address = address,
	    .end = address + insn->length,
	    .target = is_indirect ? NULL : mt_space_function_at(space, insn->target),
	    .is_call = is_indirect || insn->class == MT_INSN_CALL,
	};

	if (site.is_call || !(site.target->flags & MT_FUNCTION_COLD))
		return mt_array_push(&caller->sites, site) == 0;
	mt_array_each (known, &caller->sites)
		if (known->target == site.target)
			return true;
	return mt_array_push(&caller->sites, site) == 0 &&
	       (in_cold_part || scan(caller, space, site.target));
}

static bool scan_bytes(struct caller *caller, struct mt_space *space,
		       const struct mt_function *function, const uint8_t *bytes)
{
	uint64_t size = function->end - function->start;
	struct mt_insn insn;

	for (uint64_t at = 0; at < size; at += insn.length) {
		uint64_t address = function->start + at;

		if (mt_insn_decode(bytes + at, size - at, address, &insn) < 0)
			return false;
		if (leaves(&insn, function) &&
		    !add(caller, space, address, &insn, function->flags & MT_FUNCTION_COLD))
			return false;
	}
	return true;
}

/* False: not all of it can be known. */
static bool scan(struct caller *caller, struct mt_space *space, const struct mt_function *function)
{
	uint64_t size = function->end - function->start;
	uint8_t *bytes =
	    function->end > function->start && size <= MOST_CODE_BYTES ? malloc(size) : NULL;
	bool ok = bytes && mt_space_read(space, function->start, bytes, size) == size &&
		  scan_bytes(caller, space, function, bytes);

	free(bytes);
	return ok;
}

static const struct caller *find_caller(struct mt_call_sites *sites, struct mt_space *space,
					const struct mt_function *function)
{
	struct caller *caller = NULL;

	HASH_FIND(hh, sites->callers, &function->id, sizeof(function->id), caller);
	if (caller)
		return caller;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return NULL;
	caller->id = function->id;
	caller->known = scan(caller, space, function);
	if (!caller->known)
		mt_array_deinit(&caller->sites);
	HASH_ADD(hh, sites->callers, id, sizeof(caller->id), caller);
	if (!caller->hh.tbl) {
		mt_array_deinit(&caller->sites);
		free(caller);
		return NULL;
	}
	return caller;
}

/* "strcmp@plt" leads to strcmp, or to what was chosen for this processor: "__strcmp_evex". */
static bool stub_leads_to(const char *stub, const char *name)
{
	size_t length = strlen(stub);
	size_t suffix = sizeof(PLT_SUFFIX) - 1;

	if (length <= suffix || strcmp(stub + length - suffix, PLT_SUFFIX) != 0)
		return false;
	length -= suffix;
	if (strncmp(name, stub, length) == 0 && name[length] == '\0')
		return true;
	return strncmp(name, "__", 2) == 0 && memmem(name, strlen(name), stub, length);
}

/* The line of the function itself, not of what is inlined into it. */
static struct mt_source line_at(struct mt_space *space, uint64_t address)
{
	struct mt_inline_span span = {0};
	struct mt_source source = {0};

	mt_space_inlines_at(space, address, &span);
	if (span.depth)
		return span.chain[0]->call;
	mt_space_source_at(space, address, &source);
	return source;
}

uint64_t mt_call_sites_find(struct mt_call_sites *sites, struct mt_space *space,
			    const struct mt_function *caller, const struct mt_function *callee,
			    bool is_jump)
{
	const struct caller *known = find_caller(sites, space, caller);
	struct mt_source found_line = {0};
	uint64_t found = 0;

	if (!known)
		return 0;
	mt_array_each (site, &known->sites) {
		const struct mt_function *target = site->target;

		if (!target || (is_jump && site->is_call))
			continue;
		if (target != callee &&
		    (target->kind != MT_FUNCTION_PLT || !stub_leads_to(target->name, callee->name)))
			continue;
		if (!found) {
			found = site->address;
			continue;
		}
		struct mt_source line = line_at(space, site->address);
		if (!found_line.line)
			found_line = line_at(space, found);
		if (!line.line || line.line != found_line.line || !line.file || !found_line.file ||
		    strcmp(line.file, found_line.file) != 0)
			return 0;
	}
	return found;
}

/* Data between instructions may have hidden it: are the bytes before the address those of a call
 * (Intel SDM vol. 2, CALL: E8 and four bytes, FF /2 and up to five)? */
static bool may_follow_call(struct mt_space *space, uint64_t address)
{
	uint8_t bytes[7];

	if (mt_space_read(space, address - sizeof(bytes), bytes, sizeof(bytes)) != sizeof(bytes))
		return true;
	if (bytes[2] == 0xe8)
		return true;
	for (size_t i = 0; i + 1 < sizeof(bytes); i++)
		if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

struct mt_call_before mt_call_sites_before(struct mt_call_sites *sites, struct mt_space *space,
					   uint64_t return_address)
{
	const struct mt_function *function = mt_space_function_at(space, return_address - 1);
	const struct caller *known = find_caller(sites, space, function);

	if (known && known->known) {
		mt_array_each (site, &known->sites)
			if (site->end == return_address && site->is_call)
				return (struct mt_call_before){site->address, site->target};
		return (struct mt_call_before){
		    .address = may_follow_call(space, return_address) ? return_address - 1 : 0};
	}
	return (struct mt_call_before){
	    .address = function->kind == MT_FUNCTION_UNKNOWN ? 0 : return_address - 1};
}
