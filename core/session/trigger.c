/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where triggers stand: FUNCTION, FILE:LINE, *ADDRESS, *FUNCTION+OFFSET.  A name that no mapping
 * has is looked for in every mapping that comes: a library may bring it. */
#include "elf/data_symbol.h"
#include "session/languages/words.h"
#include "session/private.h"
#include "space/location.h"
#include "x86/insn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parse_address(const char *text, uint64_t *address)
{
	char *end = NULL;

	errno = 0;
	*address = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && end != text && !*end && !errno;
}

static struct mt_error *check(const char *text)
{
	uint64_t address;

	if (!*text || (text[0] == '*' && !text[1]) ||
	    (text[0] == '*' && text[1] >= '0' && text[1] <= '9' &&
	     !parse_address(text + 1, &address)))
		return mt_error_new(
		    MT_ERROR_TRIGGER,
		    "invalid location \"%s\" for a trigger: must be FUNCTION, FILE:LINE, "
		    "*ADDRESS or *FUNCTION+OFFSET",
		    text);
	return NULL;
}

static struct mt_error *add_trigger(struct mt_session *session, const char *text)
{
	struct mt_session_trigger trigger = {.text = text};
	struct mt_error *error = mt_trigger_spec_parse(text, false, &trigger.spec);

	if (!error)
		error = check(trigger.spec.location);
	if (!error && trigger.spec.begin)
		error = check(trigger.spec.begin);
	if (!error && mt_array_push(&session->triggers, trigger))
		error = mt_error_no_memory();
	if (error)
		mt_session_trigger_deinit(&trigger);
	return error;
}

struct mt_error *mt_session_add_triggers(struct mt_session *session)
{
	const char *const *text = session->options->triggers;

	for (; text && *text; text++)
		mt_try(add_trigger(session, *text));
	mt_try(mt_session_add_values(session));
	if (!mt_tracks_want_marks(session->options->events))
		return NULL;
	mt_try(add_trigger(session, MT_SESSION_MARK_FUNCTION));
	mt_array_last(&session->triggers)->mark = true;
	return NULL;
}

struct mt_error *mt_session_check_engine(const struct mt_session *session)
{
	const struct mt_engine_ops *engine = mt_session_engine_ops(session);

	if (session->options->python_calls && !(engine->breaks && engine->breaks->measures))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "the engine %s does not record calls in Python (--engine calls "
				    "does)",
				    engine->name);
	mt_array_each (trigger, &session->triggers) {
		mt_auto(mt_str) struct mt_str name = {0};

		if ((!trigger->spec.slower_ns && !trigger->spec.at_return &&
		     !trigger->spec.span_ns && !trigger->values) ||
		    (engine->breaks && engine->breaks->measures))
			continue;
		mt_session_name_trigger(trigger, &name);
		if (name.failed)
			return mt_error_no_memory();
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "the engine %s does not %s, as %s needs (--engine calls does)", engine->name,
		    trigger->spec.span_ns ? "measure times" : "follow calls", name.text);
	}
	return NULL;
}

struct search {
	struct mt_session *session;
	struct mt_session_process *process;
	struct mt_space *space;           /* of one mapping */
	const struct mt_mapping *mapping; /* of the space, with its objfile */
	uint32_t number;
	bool is_begin; /* of its span */
	struct mt_error *error;
};

static void add_site(struct search *search, uint64_t address, bool is_entry)
{
	struct mt_session_trigger *trigger = &search->session->triggers.items[search->number - 1];
	const struct mt_engine_break_ops *breaks = search->session->engine->ops->breaks;
	struct mt_session_site site = {.address = address,
				       .trigger = search->number,
				       .is_entry = is_entry,
				       .is_begin = search->is_begin};

	mt_array_each (known, &search->process->sites) {
		if (known->address != address || known->trigger != site.trigger)
			continue;
		if (known->is_begin != site.is_begin)
			search->error = mt_error_new(
			    MT_ERROR_TRIGGER,
			    "the trigger \"%s\": both places are the same (try \"%s after TIME\")",
			    trigger->text, trigger->spec.location);
		return;
	}
	*(search->is_begin ? &trigger->begin_found : &trigger->found) = true;
	if (mt_session_breaks_in_registers(search->session) &&
	    !mt_session_has_site(search->process, address) &&
	    !mt_session_take_register(search->session, search->process, trigger->text, address))
		return;
	if (mt_array_push(&search->process->sites, site))
		search->error = mt_error_no_memory();
	else if (breaks && !mt_session_is_bound_late(trigger))
		search->error =
		    breaks->set(search->session->engine, search->process->pid, address, NULL);
	if (!search->error)
		mt_log(search->session->options->engine.log, MT_LOG_DEBUG,
		       "trigger %u: %s at 0x%llx", search->number, trigger->text,
		       (unsigned long long)address);
}

struct mt_error *mt_session_add_mark(struct mt_session *session, struct mt_session_process *process,
				     uint64_t address)
{
	struct search search = {.session = session, .process = process};

	mt_array_each (trigger, &session->triggers)
		if (trigger->mark)
			search.number = (uint32_t)(trigger - session->triggers.items) + 1;
	add_site(&search, address, true);
	return search.error;
}

/* The function's instructions, from its first one on, lead to the place: a breakpoint inside of one
 * would change it into another. */
static struct mt_error *check_instruction(const struct search *search,
					  const struct mt_location *location, const char *text)
{
	const struct mt_mapping *mapping = search->mapping;
	uint64_t at = location->entry, before = at;
	struct mt_insn insn;
	size_t size = 0;
	const uint8_t *bytes = at && at != location->address && mapping && mapping->objfile
				   ? mt_objfile_bytes(mapping->objfile, at - mapping->bias, &size)
				   : NULL;

	for (; bytes && at < location->address && size; at += insn.length) {
		if (mt_insn_decode(bytes, size, at, &insn) || insn.length > size)
			return NULL;
		before = at;
		bytes += insn.length;
		size -= insn.length;
	}
	if (!bytes || at <= location->address)
		return NULL;
	return mt_error_new(MT_ERROR_TRIGGER,
			    "invalid location \"%s\" for a trigger: 0x%llx is in the middle of the "
			    "instruction at 0x%llx (*%s+%llu)",
			    text, (unsigned long long)location->address, (unsigned long long)before,
			    location->function, (unsigned long long)(before - location->entry));
}

/* A compiler's code that leads to a virtual function, "virtual thunk to D::f(int)", where the name
 * of that was asked for: each call would be hit twice.  Source: Itanium C++ ABI, 5.1.4.2. */
static bool is_thunk(const struct mt_location *location, const char *text)
{
	return location->function && strstr(location->function, "thunk to ") &&
	       !strstr(text, "thunk");
}

static struct mt_error *found_one_of_glob(void *context, uint64_t address)
{
	struct search *search = context;

	add_site(search, address, true);
	return search->error;
}

/* Of the interpreter of Python, which people do not name. */
static struct mt_error *find_python(struct search *search, const char *name)
{
	const struct mt_mapping *mapping = search->mapping;
	const uint64_t address = mt_objfile_find_function_symbol(mapping->objfile, name);

	if (address && address + mapping->bias >= mapping->start &&
	    address + mapping->bias < mapping->end)
		add_site(search, address + mapping->bias, true);
	return search->error;
}

static struct mt_error *find_one(struct search *search)
{
	const struct mt_location_options options = {
	    .no_inlined = true, .no_stubs = true, .quiet_missing = true};
	const struct mt_session_trigger *trigger =
	    &search->session->triggers.items[search->number - 1];
	const char *text = search->is_begin ? trigger->spec.begin : trigger->spec.location;
	struct mt_locations locations;

	if (trigger->words >= MT_WORDS_PYTHON)
		return find_python(search, text);
	if (trigger->is_glob)
		return mt_session_each_of_glob(search->space, search->mapping, trigger,
					       found_one_of_glob, search);
	mt_try(mt_location_resolve(search->space, text, &options, &locations));
	mt_array_each (location, &locations) {
		if (location->address < search->mapping->start ||
		    location->address >= search->mapping->end || is_thunk(location, text))
			continue;
		if (location->is_resolver)
			mt_log(
			    search->session->options->engine.log, MT_LOG_WARNING,
			    "\"%s\" is one of several functions, chosen when the program begins, "
			    "but its code does not tell which: the trigger is hit when it is "
			    "chosen (give the name of the function itself)",
			    text);
		search->error = check_instruction(search, location, text);
		if (!search->error)
			add_site(search, location->address, location->address == location->entry);
		if (search->error)
			break;
	}
	mt_locations_deinit(&locations);
	return search->error;
}

static struct mt_error *find_both(struct search *search)
{
	search->is_begin = false;
	mt_try(find_one(search));
	search->is_begin = search->session->triggers.items[search->number - 1].spec.begin;
	return search->is_begin ? find_one(search) : NULL;
}

static void found_loader(void *context, uint64_t address, const char *name)
{
	struct search *search = context;

	(void)name;
	if (search->process->loader || !mt_session_has_register(search->session, search->process))
		return;
	search->process->loader = address + search->mapping->bias;
	search->error = search->session->engine->ops->breaks->set(
	    search->session->engine, search->process->pid, search->process->loader, NULL);
}

struct mt_error *mt_session_find_triggers(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_mapping *mapping)
{
	struct search search = {.session = session, .process = process};
	struct mt_error *error = NULL;

	if (!session->triggers.count && !session->watches.count && !process->program)
		return NULL;
	mt_try(mt_session_need_pool(session));
	mt_try(mt_space_create(session->pool, process->pid, &search.space));
	error = mt_space_add(search.space, mapping);
	if (!error)
		error = mt_session_see_code(session, process, mapping);
	if (!error)
		search.mapping = mt_space_find(search.space, mapping->start);
	/* An engine that does not look at libraries itself stops where the dynamic loader speaks to
	 * debuggers, so that triggers in them are found before they run.  Source: link.h, r_brk. */
	if (!error && mt_session_breaks_in_registers(session) && search.mapping &&
	    search.mapping->objfile) {
		mt_objfile_find_name(search.mapping->objfile, "_dl_debug_state", found_loader,
				     &search);
		error = search.error;
	}
	for (size_t i = 0; !error && search.mapping && i < session->triggers.count; i++) {
		search.number = (uint32_t)i + 1;
		if (mt_session_may_have(session->triggers.items[i].words, search.mapping->objfile))
			error = mt_session_tolerate_later(session, find_both(&search));
	}
	if (!error)
		error = mt_session_find_probes(session, process, search.mapping);
	if (!error)
		error = mt_session_find_watches(session, process, search.mapping);
	mt_space_destroy(search.space);
	return error;
}
