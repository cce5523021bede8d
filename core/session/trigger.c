/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where triggers stand: FUNCTION, FILE:LINE, *ADDRESS, *FUNCTION+OFFSET.  A name that no mapping
 * has is looked for in every mapping that comes: a library may bring it. */
#include "session/private.h"
#include "space/location.h"

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
		    MT_ERROR_USAGE,
		    "invalid location \"%s\" for a trigger: must be FUNCTION, FILE:LINE, "
		    "*ADDRESS or *FUNCTION+OFFSET",
		    text);
	return NULL;
}

struct mt_error *mt_session_add_triggers(struct mt_session *session)
{
	const char *const *text = session->options->triggers;
	const struct mt_session_trigger mark = {.text = MT_SESSION_MARK_FUNCTION, .mark = true};

	for (; text && *text; text++) {
		struct mt_session_trigger trigger = {.text = *text};

		mt_try(check(*text));
		if (mt_array_push(&session->triggers, trigger))
			return mt_error_no_memory();
	}
	if (mt_tracks_want_marks(session->options->events) &&
	    mt_array_push(&session->triggers, mark))
		return mt_error_no_memory();
	return NULL;
}

struct search {
	struct mt_session *session;
	struct mt_session_process *process;
	struct mt_space *space;           /* of one mapping */
	const struct mt_mapping *mapping; /* of the space, with its objfile */
	uint32_t number;
	struct mt_error *error;
};

static void add_site(struct search *search, uint64_t address)
{
	struct mt_session_trigger *trigger = &search->session->triggers.items[search->number - 1];
	const struct mt_engine_break_ops *breaks = search->session->engine->ops->breaks;
	struct mt_session_site site = {address, search->number};

	mt_array_each (known, &search->process->sites)
		if (known->address == address && known->trigger == site.trigger)
			return;
	trigger->found = true;
	if (mt_session_breaks_in_registers(search->session) &&
	    !mt_session_trigger_at(search->process, address) &&
	    !mt_session_take_register(search->session, search->process, trigger->text, address))
		return;
	if (mt_array_push(&search->process->sites, site))
		search->error = mt_error_no_memory();
	else if (breaks)
		search->error = breaks->set(search->session->engine, search->process->pid, address);
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
	add_site(&search, address);
	return search.error;
}

static struct mt_error *find_one(struct search *search)
{
	const struct mt_location_options options = {.no_inlined = true, .quiet_missing = true};
	const char *text = search->session->triggers.items[search->number - 1].text;
	struct mt_locations locations;

	mt_try(mt_location_resolve(search->space, text, &options, &locations));
	for (size_t i = 0; i < locations.count && !search->error; i++)
		add_site(search, locations.items[i].address);
	mt_locations_deinit(&locations);
	return search->error;
}

static void found_loader(void *context, uint64_t address, const char *name)
{
	struct search *search = context;

	(void)name;
	if (search->process->loader || !mt_session_has_register(search->session, search->process))
		return;
	search->process->loader = address + search->mapping->bias;
	search->error = search->session->engine->ops->breaks->set(
	    search->session->engine, search->process->pid, search->process->loader);
}

struct mt_error *mt_session_find_triggers(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_mapping *mapping)
{
	struct search search = {.session = session, .process = process};
	struct mt_error *error = NULL;

	if (!session->pool)
		return NULL;
	mt_try(mt_space_create(session->pool, process->pid, &search.space));
	error = mt_space_add(search.space, mapping);
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
	for (size_t i = 0; !error && i < session->triggers.count; i++) {
		search.number = (uint32_t)i + 1;
		error = find_one(&search);
	}
	if (!error)
		error = mt_session_find_probes(session, process, search.mapping);
	if (!error)
		error = mt_session_find_watches(session, process, search.mapping);
	mt_space_destroy(search.space);
	return error;
}
