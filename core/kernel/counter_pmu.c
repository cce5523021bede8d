/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters of one PMU, "cpu/cache-misses/" or "cpu/event=0x2e,umask=0x41/": what sysfs knows of it.
 * Source: linux/Documentation/ABI/testing/sysfs-bus-event_source-devices-{events,format}. */
#include "kernel/counter_private.h"
#include "kernel/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES    "/sys/bus/event_source/devices"
#define TEXT_BYTES 512

struct pmu_counter {
	const char *name; /* as it was typed */
	char pmu[64];
	struct mt_perf_spec *spec;
};

static struct mt_error *bad(const struct pmu_counter *counter, const char *what, const char *word)
{
	return mt_error_new(MT_ERROR_USAGE,
			    "the counter \"%s\": %s \"%s\" (" DEVICES " lists "
			    "them)",
			    counter->name, what, word);
}

static bool read_line(const struct pmu_counter *counter, const char *folder, const char *name,
		      char text[TEXT_BYTES])
{
	char path[256];

	if (strchr(name, '/') ||
	    snprintf(path, sizeof(path), DEVICES "/%s/%s%s", counter->pmu, folder, name) >=
		(int)sizeof(path) ||
	    mt_system_read_file(path, text, TEXT_BYTES) < 0)
		return false;
	text[strcspn(text, "\n")] = 0;
	return true;
}

/* VALUE's lowest bits go to where "config:0-7,32-35" says. */
static bool put_bits(struct mt_perf_spec *spec, const char *format, uint64_t value)
{
	const char *at = strchr(format, ':');
	uint64_t *word = NULL;

	if (strncmp(format, "config:", 7) == 0)
		word = &spec->config;
	else if (strncmp(format, "config1:", 8) == 0)
		word = &spec->config1;
	else if (strncmp(format, "config2:", 8) == 0)
		word = &spec->config2;
	while (word && at) {
		unsigned first = 64, last = 64;

		if (sscanf(at + 1, "%2u-%2u", &first, &last) < 2)
			last = first;
		if (first > last || last > 63)
			return false;
		for (unsigned bit = first; bit <= last; bit++, value >>= 1)
			*word = (*word & ~(1ull << bit)) | (value & 1) << bit;
		at = strchr(at + 1, ',');
	}
	return word != NULL;
}

static struct mt_error *put_terms(const struct pmu_counter *counter, char *terms, bool is_event);

/* "umask=0x41", "edge", or the name of an event, which stands for terms of its own. */
static struct mt_error *put_term(const struct pmu_counter *counter, char *term, bool is_event)
{
	char *equals = strchr(term, '=');
	char text[TEXT_BYTES];
	uint64_t value = 1;

	if (!equals && !is_event && read_line(counter, "events/", term, text))
		return put_terms(counter, text, true);
	if (equals) {
		char *end;

		*equals = 0;
		value = strtoull(equals + 1, &end, 0);
		if (end == equals + 1 || *end)
			return bad(counter, "no number is", equals + 1);
	}
	if (!read_line(counter, "format/", term, text))
		return bad(counter, "its PMU has nothing called", term);
	if (!put_bits(counter->spec, text, value))
		return bad(counter, "not understood is the format", text);
	return NULL;
}

static struct mt_error *put_terms(const struct pmu_counter *counter, char *terms, bool is_event)
{
	char *rest = NULL;

	for (char *term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest))
		mt_try(put_term(counter, term, is_event));
	return NULL;
}

struct mt_error *mt_counter_find_pmu(const char *name, struct mt_perf_spec *spec)
{
	struct pmu_counter counter = {.name = name, .spec = spec};
	size_t length = strcspn(name, "/"), left;
	char text[TEXT_BYTES], terms[TEXT_BYTES];

	spec->what = name;
	if (!length || length >= sizeof(counter.pmu))
		return bad(&counter, "no PMU is", name);
	memcpy(counter.pmu, name, length);
	if (!read_line(&counter, "", "type", text))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "the counter \"%s\": this machine has no PMU \"%s\" (" DEVICES
				    " lists them)",
				    name, counter.pmu);
	spec->type = (uint32_t)strtoul(text, NULL, 10);
	left = strlen(name + length + 1);
	if (!left || left >= sizeof(terms) || name[length + left] != '/')
		return bad(&counter, "a / must stand at the end, not", name + length);
	memcpy(terms, name + length + 1, left - 1);
	terms[left - 1] = 0;
	return put_terms(&counter, terms, false);
}
