/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The language of tests/golden/callstack (its README.md): a symbol table, events, and the slices
 * that they should become, in one file.  Here: its reader, and a symbolizer over its table. */
#ifndef MT_TESTS_TEXT_TRACE_H
#define MT_TESTS_TEXT_TRACE_H

#include "base/array.h"
#include "base/str.h"
#include "trace/event.h"
#include "trace/recorded_values.h"
#include "trace/symbolizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_FUNCTIONS = 64, TEXT_INLINES = 32 };

struct text_inline {
	uint64_t start, end;
	struct mt_function function;
	struct mt_inline site;
};

struct text_trace {
	struct mt_function functions[TEXT_FUNCTIONS];
	size_t function_count;
	struct text_inline inlines[TEXT_INLINES]; /* outer ones first */
	size_t inline_count;
	struct {
		uint64_t address;
		const struct mt_inline *chain[TEXT_INLINES];
	} chains[TEXT_INLINES * 4];
	size_t chain_count;
	MT_ARRAY(struct mt_event) events;
	struct mt_recorded_values values; /* of calls that were open at snapshot 1, in thread 1 */
	struct mt_str expected;
	char failure[256]; /* "": none */
};

static inline const struct mt_function *text_function_at(void *context, uint64_t address)
{
	static const struct mt_function unknown = {.kind = MT_FUNCTION_UNKNOWN,
						   .name = "[unknown]",
						   .module = "",
						   .start = 1,
						   .end = UINT64_MAX};
	struct text_trace *trace = context;

	for (size_t i = 0; i < trace->function_count; i++)
		if (address >= trace->functions[i].start && address < trace->functions[i].end)
			return &trace->functions[i];
	return &unknown;
}

static inline bool text_source_at(void *context, uint64_t address, struct mt_source *out)
{
	(void)context;
	*out = (struct mt_source){.file = "/t.c", .line = (uint32_t)(address & 0xffff)};
	return true;
}

/* Spans end wherever any inlined call begins or ends; a chain's storage is kept by its start. */
static inline void text_inlines_at(void *context, uint64_t address, struct mt_inline_span *out)
{
	struct text_trace *trace = context;
	const struct mt_inline *chain[TEXT_INLINES];

	*out = (struct mt_inline_span){.start = 0, .end = UINT64_MAX};
	for (size_t i = 0; i < trace->inline_count; i++) {
		struct text_inline *in = &trace->inlines[i];
		uint64_t edges[] = {in->start, in->end};

		for (int k = 0; k < 2; k++) {
			if (edges[k] <= address && edges[k] > out->start)
				out->start = edges[k];
			if (edges[k] > address && edges[k] < out->end)
				out->end = edges[k];
		}
		if (address >= in->start && address < in->end)
			chain[out->depth++] = &in->site;
	}
	for (size_t i = 0; i < trace->chain_count; i++)
		if (trace->chains[i].address == out->start) {
			out->chain = trace->chains[i].chain;
			return;
		}
	trace->chains[trace->chain_count].address = out->start;
	out->chain = trace->chains[trace->chain_count++].chain;
	memcpy((void *)out->chain, chain, out->depth * sizeof(chain[0]));
}

static inline struct mt_symbolizer text_symbolizer(struct text_trace *trace)
{
	return (struct mt_symbolizer){.function_at = text_function_at,
				      .source_at = text_source_at,
				      .inlines_at = trace->inline_count ? text_inlines_at : NULL,
				      .context = trace};
}

static inline bool text_fail(struct text_trace *trace, int line, const char *what, const char *word)
{
	snprintf(trace->failure, sizeof(trace->failure), "line %d: %s: %s", line, what,
		 word ? word : "nothing");
	return false;
}

/* Hex, or function+hex. */
static inline bool text_address(struct text_trace *trace, const char *word, uint64_t *address)
{
	const char *plus = word ? strchr(word, '+') : NULL;
	const char *digits = plus ? plus + 1 : word;
	size_t length = plus ? (size_t)(plus - word) : word ? strlen(word) : 0;
	char *end;

	if (!word)
		return false;
	*address = 0;
	for (size_t i = 0; i < trace->function_count; i++) {
		const struct mt_function *function = &trace->functions[i];

		if (strlen(function->name) != length || strncmp(function->name, word, length) != 0)
			continue;
		*address = function->start;
		if (!plus)
			return true;
		plus = NULL;
		break;
	}
	if (plus)
		return false;
	*address += strtoull(digits, &end, 16);
	return *digits && !*end;
}

static inline bool text_read_function(struct text_trace *trace, int line)
{
	struct mt_function *function = &trace->functions[trace->function_count];
	const char *name = strtok(NULL, " "), *start = strtok(NULL, " "), *size = strtok(NULL, " ");
	const char *word;

	if (!size || trace->function_count == TEXT_FUNCTIONS)
		return text_fail(trace, line, "function NAME START SIZE is wanted, not", size);
	*function = (struct mt_function){.id = (uint32_t)trace->function_count++,
					 .name = strdup(name),
					 .module = "",
					 .start = strtoull(start, NULL, 16)};
	function->end = function->start + strtoull(size, NULL, 16);
	while ((word = strtok(NULL, " "))) {
		if (!strcmp(word, "plt"))
			function->kind = MT_FUNCTION_PLT;
		else if (!strcmp(word, "unknown"))
			function->kind = MT_FUNCTION_UNKNOWN;
		else if (!strcmp(word, "cold"))
			function->flags |= MT_FUNCTION_COLD;
		else if (!strcmp(word, "resolver"))
			function->flags |= MT_FUNCTION_RESOLVER;
		else if (!strcmp(word, "restorer"))
			function->flags |= MT_FUNCTION_SIGNAL_RETURN;
		else
			return text_fail(trace, line, "no such kind of function", word);
	}
	return true;
}

static inline bool text_read_inline(struct text_trace *trace, int line)
{
	struct text_inline *in = &trace->inlines[trace->inline_count];
	const char *start = strtok(NULL, " "), *end = strtok(NULL, " "), *name = strtok(NULL, " ");

	if (!name || trace->inline_count == TEXT_INLINES)
		return text_fail(trace, line, "inline START END NAME is wanted, not", name);
	if (!text_address(trace, start, &in->start) || !text_address(trace, end, &in->end))
		return text_fail(trace, line, "no such address", start);
	in->function = (struct mt_function){.kind = MT_FUNCTION_INLINED, .module = ""};
	in->function.name = strdup(name);
	in->site.function = &in->function;
	in->site.call = (struct mt_source){.file = "/t.c", .line = (uint32_t)in->start & 0xffff};
	trace->inline_count++;
	return true;
}

struct text_verb {
	const char *word;
	uint8_t kind;
	const char *operands; /* d: detail by name, n: number to detail, f: from, t: to, b: both,
				x: decimal or hex number to `from` */
	const char *const *details;
};

static const char *const text_ends[] = {"stop", "syscall", "async", "filter", NULL};
static const char *const text_gaps[] = {"overflow",    "aux",       "no-code", "bad",
					"events-lost", "collision", "partial", NULL};
static const char *const text_marks[] = {"trigger",   "snapshot", "exit", "throttle",
					 "own-stack", "exec",     NULL};

static const struct text_verb text_verbs[] = {
    {"call", MT_EVENT_CALL, "ft", NULL},          {"return", MT_EVENT_RETURN, "ft", NULL},
    {"jump", MT_EVENT_JUMP, "ft", NULL},          {"syscall", MT_EVENT_SYSCALL, "ft", NULL},
    {"sysret", MT_EVENT_SYSRET, "ft", NULL},      {"interrupt", MT_EVENT_INTERRUPT, "ft", NULL},
    {"iret", MT_EVENT_IRET, "ft", NULL},          {"start", MT_EVENT_TRACE_START, "t", NULL},
    {"end", MT_EVENT_TRACE_END, "df", text_ends}, {"begin-tx", MT_EVENT_TX_BEGIN, "b", NULL},
    {"commit-tx", MT_EVENT_TX_COMMIT, "b", NULL}, {"abort-tx", MT_EVENT_TX_ABORT, "ft", NULL},
    {"gap", MT_EVENT_GAP, "dft", text_gaps},      {"signal", MT_EVENT_SIGNAL, "nft", NULL},
    {"mark", MT_EVENT_MARK, "dt", text_marks},
};

static inline bool text_operand(struct text_trace *trace, const struct text_verb *verb, char kind,
				const char *word, struct mt_event *event)
{
	if (!word)
		return false;
	if (kind == 'n') {
		event->detail = (uint32_t)atoi(word);
		return true;
	}
	if (kind == 'd') {
		for (event->detail = 0; verb->details[event->detail]; event->detail++)
			if (!strcmp(verb->details[event->detail], word))
				return true;
		return false;
	}
	if (kind == 't')
		return text_address(trace, word, &event->to);
	if (!text_address(trace, word, &event->from))
		return false;
	if (kind == 'b')
		event->to = event->from;
	return true;
}

static inline bool text_read_event(struct text_trace *trace, const char *time, int line)
{
	struct mt_event event = {.time_ns = strtoull(time, NULL, 10)};
	const char *word = strtok(NULL, " ");
	const struct text_verb *verb = text_verbs;
	const struct text_verb *end = verb + sizeof(text_verbs) / sizeof(text_verbs[0]);

	while (verb < end && (!word || strcmp(verb->word, word) != 0))
		verb++;
	if (verb == end)
		return text_fail(trace, line, "no such event", word);
	event.kind = verb->kind;
	if (strchr(time, '~'))
		event.flags = MT_EVENT_TIME_IS_ESTIMATE;
	for (const char *kind = verb->operands; *kind; kind++) {
		word = strtok(NULL, " ");
		if (!text_operand(trace, verb, *kind, word, &event))
			return text_fail(trace, line, "not what is wanted here", word);
	}
	word = strtok(NULL, " ");
	if (word && !strcmp(word, "runs-on"))
		event.flags |= MT_EVENT_RUNS_ON;
	return mt_array_push(&trace->events, event) == 0;
}

static inline bool text_read_open(struct text_trace *trace, int line)
{
	struct mt_recorded_open_call call = {.tid = 1, .snapshot = 1};
	const char *address = strtok(NULL, " "), *arguments = strtok(NULL, " ");

	if (!text_address(trace, address, &call.function))
		return text_fail(trace, line, "no such address", address);
	call.arguments = arguments ? strdup(arguments) : NULL;
	return mt_array_push(&trace->values.open_calls, call) == 0;
}

static inline bool text_read_line(struct text_trace *trace, char *text, int line)
{
	const char *word;

	text[strcspn(text, "#\n")] = '\0';
	word = strtok(text, " ");
	if (!word)
		return true;
	if (!strcmp(word, "function"))
		return text_read_function(trace, line);
	if (!strcmp(word, "inline"))
		return text_read_inline(trace, line);
	if (!strcmp(word, "open"))
		return text_read_open(trace, line);
	return text_read_event(trace, word, line);
}

/* The part above "---" into the trace, what is below into `expected`.  On failure `failure` says
 * what and where. */
static inline void text_trace_read(struct text_trace *trace, FILE *file)
{
	bool below = false;
	char *text = NULL;
	size_t size = 0;

	mt_str_append(&trace->expected, "");
	for (int line = 1; getline(&text, &size, file) >= 0; line++) {
		if (below)
			mt_str_append(&trace->expected, text);
		else if (!strcmp(text, "---\n"))
			below = true;
		else if (!text_read_line(trace, text, line))
			break;
	}
	free(text);
}

static inline void text_trace_deinit(struct text_trace *trace)
{
	for (size_t i = 0; i < trace->function_count; i++)
		free((char *)trace->functions[i].name);
	for (size_t i = 0; i < trace->inline_count; i++)
		free((char *)trace->inlines[i].function.name);
	mt_array_each (call, &trace->values.open_calls)
		free((char *)call->arguments);
	mt_recorded_values_deinit(&trace->values);
	mt_array_deinit(&trace->events);
	mt_str_deinit(&trace->expected);
}

#endif
