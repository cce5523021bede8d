/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes of <sys/sdt.h> that the program itself has are marks: "provider:name(1, -5)". */
#include "elf/probe.h"
#include "session/private.h"
#include "x86/registers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* A library's are many and often hot, such as those of libc's locks: nobody asked for them. */
static bool is_executable(pid_t pid, const char *path)
{
	char link[64], target[PATH_BYTES];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	ssize_t length = readlink(link, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = 0;
	return strcmp(target, path) == 0;
}

struct search {
	struct mt_session *session;
	struct mt_session_process *process;
	const struct mt_mapping *mapping;
	unsigned refused;
};

static struct mt_error *found_probe(void *context, const struct mt_probe *probe)
{
	struct search *search = context;
	const struct mt_mapping *mapping = search->mapping;
	const struct mt_session_probe site = {probe->address + mapping->bias, *probe};

	if (probe->guarded || site.address < mapping->start || site.address >= mapping->end)
		return NULL;
	if (mt_session_breaks_in_registers(search->session)) {
		search->refused++;
		return NULL;
	}
	if (mt_array_push(&search->process->probes, site))
		return mt_error_no_memory();
	return mt_session_add_mark(search->session, search->process, site.address);
}

struct mt_error *mt_session_find_probes(struct mt_session *session,
					struct mt_session_process *process,
					const struct mt_mapping *mapping)
{
	struct search search = {session, process, mapping, 0};

	if (!mt_tracks_want_marks(session->options->events) || !mapping || !mapping->objfile ||
	    !is_executable(process->pid, mapping->path))
		return NULL;
	mt_try(mt_objfile_each_probe(mapping->objfile, found_probe, &search));
	if (search.refused)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "ignoring %u probes of %s as marks: each would need a debug register; use "
		       "--engine calls or step",
		       search.refused, mapping->path);
	return NULL;
}

/* "%edi" at the beginning of TEXT, which is moved on. */
static bool take_register(const char **text, const struct user_regs_struct *registers,
			  uint64_t *value)
{
	const char *begin = *text + 1;
	size_t length = strcspn(begin, ",)");
	char name[8];

	if (**text != '%' || length >= sizeof(name))
		return false;
	memcpy(name, begin, length);
	name[length] = 0;
	const struct mt_register_name *known = mt_register_named(name);
	if (!known || known->size > sizeof(*value))
		return false;
	int offset = mt_register_offset(known->number);
	*value = 0;
	if (offset >= 0)
		memcpy(value, (const char *)registers + offset + known->offset,
		       sizeof(*value) - known->offset);
	*text = begin + length;
	return true;
}

/* "-16(%rbp)", "(%rax,%rdx,8)". */
static bool take_address(const char *text, const struct user_regs_struct *registers,
			 uint64_t *address)
{
	char *end = NULL;
	uint64_t base = 0, index = 0, scale = 1;

	*address = (uint64_t)strtoll(text, &end, 0);
	if (*end != '(')
		return false;
	text = end + 1;
	if (*text != ',' && !take_register(&text, registers, &base))
		return false;
	if (*text == ',') {
		text++;
		if (!take_register(&text, registers, &index))
			return false;
	}
	if (*text == ',')
		scale = strtoull(text + 1, &end, 0), text = end;
	*address += base + index * scale;
	return strcmp(text, ")") == 0;
}

struct reading {
	struct mt_session *session;
	pid_t pid;
	const struct user_regs_struct *registers;
};

static bool read_operand(const struct reading *reading, const char *text, size_t size,
			 uint64_t *value)
{
	uint64_t address;

	if (*text == '$') {
		*value = (uint64_t)strtoll(text + 1, NULL, 0);
		return true;
	}
	if (*text == '%')
		return take_register(&text, reading->registers, value) && !*text;
	*value = 0;
	return take_address(text, reading->registers, &address) &&
	       mt_session_target_ops(reading->session)
		       ->read(reading->session->target, reading->pid, address, value, size) == size;
}

/* "-4@%edi": "?" for what cannot be read, as a vector's register. */
static void tell_argument(const struct reading *reading, char *text, struct mt_str *out)
{
	char *end = NULL;
	long size = strtol(text, &end, 10);
	uint64_t value;
	bool is_known = *end == '@' && size && labs(size) <= (long)sizeof(value) &&
			read_operand(reading, end + 1, (size_t)labs(size), &value);

	if (is_known) {
		unsigned unused = 64 - 8 * (unsigned)labs(size);

		if (size < 0)
			mt_str_appendf(out, "%lld", (long long)(value << unused) >> unused);
		else
			mt_str_appendf(out, "%llu",
				       (unsigned long long)(value << unused >> unused));
	} else {
		mt_str_append(out, "?");
	}
}

struct mt_error *mt_session_tell_probe(struct mt_session *session,
				       const struct mt_session_process *process, uint64_t address,
				       const struct user_regs_struct *registers, struct mt_str *out)
{
	const struct reading reading = {session, process->pid, registers};
	const struct mt_session_probe *found = NULL;

	mt_array_each (probe, &process->probes)
		if (probe->address == address)
			found = probe;
	if (!found)
		return NULL;
	mt_str_appendf(out, "%s:%s", found->probe.provider, found->probe.name);
	char *arguments = strdup(found->probe.arguments), *rest = arguments;
	const char *separator = "(";
	for (char *word; arguments && (word = strsep(&rest, " "));) {
		if (!*word)
			continue;
		mt_str_append(out, separator);
		tell_argument(&reading, word, out);
		separator = ", ";
	}
	mt_str_append(out, *separator == ',' ? ")" : "");
	free(arguments);
	return arguments && !out->failed ? NULL : mt_error_no_memory();
}
