/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where triggers stand: FUNCTION, FILE:LINE, *ADDRESS, *FUNCTION+OFFSET.  A name that no mapping
 * has is looked for in every mapping that comes: a library may bring it. */
#include "target/session_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "FILE:LINE": true, and the line; the file is what stands before the last colon. */
static bool is_line(const char *text, size_t *file_length, uint32_t *line)
{
	const char *colon = strrchr(text, ':');
	char *end = NULL;
	unsigned long number = 0;

	if (!colon || colon == text || colon[-1] == ':' || colon[1] < '0' || colon[1] > '9')
		return false;
	number = strtoul(colon + 1, &end, 10);
	if (*end || !number || number > UINT32_MAX)
		return false;
	*file_length = (size_t)(colon - text);
	*line = (uint32_t)number;
	return true;
}

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
		return mt_error_new(MT_ERROR_USAGE,
				    "no location for a trigger: \"%s\" (it can be FUNCTION, "
				    "FILE:LINE, *ADDRESS or *FUNCTION+OFFSET)",
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
	const struct mt_mapping *mapping; /* of the space, with its objfile */
	uint32_t number;
	uint64_t offset;
	struct mt_error *error;
};

static void add_site(struct search *search, uint64_t address)
{
	const struct mt_session_trigger *trigger =
	    &search->session->triggers.items[search->number - 1];
	const struct mt_engine_ops *ops = search->session->engine->ops;
	struct mt_session_site site = {address, search->number};

	mt_array_each (known, &search->process->sites)
		if (known->address == address && known->trigger == site.trigger)
			return;
	if (mt_array_push(&search->process->sites, site))
		search->error = mt_error_no_memory();
	else if (ops->set_breakpoint)
		search->error =
		    ops->set_breakpoint(search->session->engine, search->process->pid, address);
	if (!search->error)
		mt_log(search->session->options->log, MT_LOG_DEBUG, "trigger %u: %s at 0x%llx",
		       search->number, trigger->text, (unsigned long long)address);
	search->session->triggers.items[search->number - 1].found = true;
}

static void found(struct search *search, uint64_t file_address)
{
	uint64_t address = file_address + search->mapping->bias + search->offset;

	if (address >= search->mapping->start && address < search->mapping->end)
		add_site(search, address);
}

static void found_name(void *context, uint64_t address, const char *name)
{
	(void)name;
	found(context, address);
}

static void found_line(void *context, uint64_t address, uint32_t line)
{
	(void)line;
	found(context, address);
}

static struct mt_error *find_line(struct search *search, const char *text, size_t file_length,
				  uint32_t line)
{
	char *file = strndup(text, file_length);

	if (!file)
		return mt_error_no_memory();
	mt_objfile_find_line(search->mapping->objfile, file, line, found_line, search);
	free(file);
	return NULL;
}

/* "FUNCTION+OFFSET" or "FUNCTION". */
static struct mt_error *find_offset(struct search *search, const char *text)
{
	const char *plus = strrchr(text, '+');
	char *name;

	if (!plus || !parse_address(plus + 1, &search->offset)) {
		search->offset = 0;
		plus = text + strlen(text);
	}
	name = strndup(text, (size_t)(plus - text));
	if (!name)
		return mt_error_no_memory();
	mt_objfile_find_name(search->mapping->objfile, name, found_name, search);
	free(name);
	return NULL;
}

static struct mt_error *find_one(struct search *search)
{
	const char *text = search->session->triggers.items[search->number - 1].text;
	size_t file_length = 0;
	uint32_t line = 0;
	uint64_t address;

	search->offset = 0;
	if (text[0] == '*' && parse_address(text + 1, &address)) {
		add_site(search, address);
		return search->error;
	}
	if (!search->mapping || !search->mapping->objfile)
		return NULL;
	if (text[0] == '*')
		mt_try(find_offset(search, text + 1));
	else if (is_line(text, &file_length, &line))
		mt_try(find_line(search, text, file_length, line));
	else
		mt_objfile_find_name(search->mapping->objfile, text, found_name, search);
	return search->error;
}

static void found_loader(void *context, uint64_t address, const char *name)
{
	struct search *search = context;

	(void)name;
	search->error = search->session->engine->ops->set_breakpoint(
	    search->session->engine, search->process->pid, address + search->mapping->bias);
}

/* An engine that does not look at libraries itself stops where the dynamic loader speaks to
 * debuggers, so that triggers in them are found before they run.  Source: link.h, r_brk. */
static struct mt_error *watch_loader(struct search *search)
{
	const struct mt_engine_ops *ops = search->session->engine->ops;

	if (ops->set_breakpoint && !ops->records_calls && search->mapping &&
	    search->mapping->objfile)
		mt_objfile_find_name(search->mapping->objfile, "_dl_debug_state", found_loader,
				     search);
	return search->error;
}

struct mt_error *mt_session_find_triggers(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_mapping *mapping)
{
	struct search search = {.session = session, .process = process};
	struct mt_error *error = NULL;
	struct mt_space *space = NULL;

	if (!session->pool)
		return NULL;
	mt_try(mt_space_create(session->pool, process->pid, &space));
	error = mt_space_add(space, mapping);
	if (!error)
		search.mapping = mt_space_find(space, mapping->start);
	if (!error)
		error = watch_loader(&search);
	for (size_t i = 0; !error && i < session->triggers.count; i++) {
		search.number = (uint32_t)i + 1;
		error = find_one(&search);
	}
	if (!error)
		error = mt_session_find_watches(session, process, search.mapping);
	mt_space_destroy(space);
	return error;
}
