/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers at "*ADDRESS": an instruction begins there, or they would change what another one does,
 * or keep the program from running. */
#include "live/live.h"
#include "x86/insn.h"

struct checking {
	const struct mt_live_debugger *debugger;
	const char *location;
	struct mt_error *error;
};

static struct mt_error *check(const struct checking *checking, uint64_t address)
{
	const struct mt_live_debugger *debugger = checking->debugger;
	uint64_t at = debugger->ops->function_start(debugger->context, address);
	uint8_t bytes[MT_INSN_MAX_BYTES];
	struct mt_insn insn;

	if (!debugger->ops->has_code(debugger->context, address))
		return mt_error_new(MT_ERROR_USAGE, "%s: no code is at 0x%llx", checking->location,
				    (unsigned long long)address);
	for (; at && at < address; at += insn.length) {
		const size_t size =
		    debugger->ops->read_code(debugger->context, at, bytes, sizeof(bytes));

		if (mt_insn_decode(bytes, size, at, &insn))
			return NULL; /* data among the code */
		if (address - at < insn.length)
			return mt_error_new(
			    MT_ERROR_USAGE,
			    "%s: 0x%llx is in the middle of the instruction at 0x%llx",
			    checking->location, (unsigned long long)address,
			    (unsigned long long)at);
	}
	return NULL;
}

static struct mt_error *found(void *context, uint64_t address)
{
	struct checking *checking = context;

	if (!checking->error)
		checking->error = check(checking, address);
	return NULL;
}

struct mt_error *mt_live_check_address(const struct mt_live_debugger *debugger,
				       const struct mt_live_trigger *trigger)
{
	struct checking checking = {debugger, trigger->spec.location, NULL};

	if (trigger->spec.location[0] != '*' || !debugger->ops->read_code)
		return NULL;
	mt_error_destroy(
	    debugger->ops->each_location(debugger->context, trigger, found, &checking));
	return checking.error;
}
