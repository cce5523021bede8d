/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions "a" to "z", and a symbolizer of them.  In each function, code from SP_INLINED on is of
 * an inlined call of "I", and from SP_INLINED_TWICE on of one of "J" within that.  The code of "v"
 * was made at run time, and "@" stands for that. */
#ifndef SP_NAMES_H
#define SP_NAMES_H

#include "trace/symbolizer.h"

#include <stdbool.h>

#define SP_FUNCTIONS 26
#define SP_SIZE      0x100

#define SP_INLINED       0x60
#define SP_INLINED_TWICE 0x70
#define SP_INLINED_END   0x80

struct sp_names {
	struct mt_function functions[SP_FUNCTIONS + 1];
	char names[SP_FUNCTIONS][2];
	struct mt_function inlined_functions[2];
	struct mt_inline inlined[SP_FUNCTIONS][2];
	const struct mt_inline *chains[SP_FUNCTIONS][2];
};

static inline uint64_t sp_address(char name)
{
	return 0x1000 + (uint64_t)(name - 'a') * SP_SIZE;
}

static inline void sp_names_init(struct sp_names *names)
{
	for (uint32_t i = 0; i < SP_FUNCTIONS; i++) {
		names->names[i][0] = (char)('a' + i);
		names->names[i][1] = '\0';
		names->functions[i] = (struct mt_function){
		    .id = i,
		    .name = names->names[i],
		    .module = "/bin/toy",
		    .start = sp_address((char)('a' + i)),
		    .end = sp_address((char)('a' + i)) + SP_SIZE,
		};
		for (uint32_t k = 0; k < 2; k++) {
			names->inlined[i][k] = (struct mt_inline){
			    .function = &names->inlined_functions[k],
			    .call = {"/src/toy.c", (uint32_t)sp_address((char)('a' + i)) + k, 0}};
			names->chains[i][k] = &names->inlined[i][k];
		}
	}
	for (uint32_t k = 0; k < 2; k++)
		names->inlined_functions[k] = (struct mt_function){.id = SP_FUNCTIONS + 1 + k,
								   .name = k ? "J" : "I",
								   .module = "/bin/toy",
								   .kind = MT_FUNCTION_INLINED};
	names->functions[SP_FUNCTIONS] = (struct mt_function){
	    .id = SP_FUNCTIONS, .name = "?", .module = "", .kind = MT_FUNCTION_UNKNOWN};
}

/* Of every address; but for the first one of "k", where what begins a stack returns to. */
static inline struct mt_call_before sp_call_before(void *context, uint64_t return_address)
{
	(void)context;
	return (struct mt_call_before){
	    .address = return_address == sp_address('k') ? 0 : return_address - 1};
}

/* Some have names of OCaml's runtime, and signals' handlers return to "w". */
static inline void sp_names_of_ocaml(struct sp_names *names)
{
	static const struct {
		char letter;
		const char *name;
	} known[] = {
	    {'q', "caml_c_call"}, {'p', "caml_start_program"},      {'r', "caml_runstack"},
	    {'u', "caml_resume"}, {'g', "caml_call_realloc_stack"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		names->functions[known[i].letter - 'a'].name = known[i].name;
	names->functions['w' - 'a'].flags = MT_FUNCTION_SIGNAL_RETURN;
}

static inline const struct mt_function *sp_function_at(void *context, uint64_t address)
{
	struct sp_names *names = context;
	uint64_t index = (address - sp_address('a')) / SP_SIZE;

	return &names->functions[index < SP_FUNCTIONS ? index : SP_FUNCTIONS];
}

static inline bool sp_source_at(void *context, uint64_t address, struct mt_source *out)
{
	(void)context;
	*out = (struct mt_source){.file = "/src/toy.c", .line = (uint32_t)address};
	return true;
}

static inline void sp_inlines_at(void *context, uint64_t address, struct mt_inline_span *out)
{
	struct sp_names *names = context;
	uint64_t index = (address - sp_address('a')) / SP_SIZE;
	uint64_t start = sp_address('a') + index * SP_SIZE, into = address - start;
	bool is_inlined = index < SP_FUNCTIONS && into >= SP_INLINED && into < SP_INLINED_END;

	*out = (struct mt_inline_span){.start = address, .end = address + 1};
	if (is_inlined) {
		out->depth = into >= SP_INLINED_TWICE ? 2 : 1;
		out->chain = names->chains[index];
	}
}

static inline const struct mt_function *sp_made_at(void *context, uint64_t address)
{
	static const struct mt_function made = {
	    .id = SP_FUNCTIONS + 3, .name = "@", .module = "", .kind = MT_FUNCTION_UNKNOWN};

	(void)context;
	return address - sp_address('v') < SP_SIZE ? &made : NULL;
}

static inline struct mt_symbolizer sp_symbolizer(struct sp_names *names)
{
	return (struct mt_symbolizer){.function_at = sp_function_at,
				      .source_at = sp_source_at,
				      .inlines_at = sp_inlines_at,
				      .made_at = sp_made_at,
				      .context = names};
}

#endif
