/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/condition/code.h"

#include <string.h>

static size_t read_nothing(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	(void)address;
	(void)buffer;
	(void)size;
	return 0;
}

/* Its type is what counts. */
static bool get_any_register(void *context, unsigned number, void *bytes, size_t size)
{
	(void)context;
	(void)number;
	memset(bytes, 0, size);
	return true;
}

static const struct mt_expr_ops nowhere = {.read = read_nothing, .get_register = get_any_register};

/* Should nobody read the rings any more, nobody answers a fault either. */
static void check_alive(struct mt_asm *code)
{
	mt_asm(code, 0xa1); /* mov eax, [alive] */
	mt_asm_imm64(code, code->place.alive);
	mt_asm(code, 0xc1, 0xe0, 0x02); /* shl eax, 2 */
	mt_asm_jump(code, MT_ASM_EQUAL, &code->miss);
}

/* Whoever comes to WHICH, counts at byte COUNT of the errors, and goes to MISS. */
static void count_error(struct mt_asm *code, struct mt_asm_label *which, size_t count,
			uint32_t miss)
{
	if (!which->jumps.count)
		return;
	mt_asm_bind(code, which);
	mt_asm(code, 0x48, 0xb9); /* mov rcx, errors */
	mt_asm_imm64(code, code->place.errors);
	mt_asm(code, 0xf0, 0xff, 0x41, (uint8_t)count); /* lock inc dword [rcx+…] */
	mt_asm_jump_back(code, MT_ASM_ALWAYS, miss);
}

static struct mt_error *record_values(struct mt_compiler *compiler)
{
	const struct mt_condition_place *place = &compiler->code.place;
	struct mt_condition_value *last = NULL;

	for (size_t i = 0; i < place->value_count; i++)
		if (place->values[i].is_string)
			last = &place->values[i];
	if (place->entry_site)
		compiler->last_string = last;
	for (size_t i = 0; i < place->value_count; i++) {
		compiler->eval.program = place->values[i].expr->program;
		compiler->eval.language = place->values[i].expr->language;
		mt_try(mt_compile_recorded(compiler, &place->values[i]));
	}
	if (!last) {
		mt_compile_entry(compiler);
		return NULL;
	}
	/* What cannot be read ends it all: numbers come first. */
	for (struct mt_condition_value *value = place->values; value < last; value++)
		if (value->is_string) {
			mt_compile_waiting(compiler);
			mt_try(mt_compile_string(compiler, value));
		}
	return mt_compile_last_string(compiler, last);
}

/* What goes on straight is what does not hold, which is the rule; ROOT NULL: nothing is asked. */
static struct mt_error *compile(struct mt_compiler *compiler, const struct mt_node *root)
{
	struct mt_asm *code = &compiler->code;
	const enum mt_measure_part part = code->place.measure.part;
	struct mt_asm_label hit = {0};
	struct mt_error *error = NULL;

	mt_asm_enter(code);
	const bool is_begin = part && !mt_measure_is_end(part);
	const bool is_limited = !is_begin && mt_condition_is_limited(&code->place.limits);
	if (code->has_reads || part || code->place.value_count || is_limited)
		check_alive(code);
	if (part == MT_MEASURE_END && code->place.measure.looks_up)
		mt_asm_find_begin(code);
	else if (part == MT_MEASURE_SPAN_END || part == MT_MEASURE_SPAN_AGAIN)
		mt_asm_end_span(code);
	if (code->place.value_count)
		error = record_values(compiler);
	else if (root)
		error = mt_compile_truth(compiler, root, true, &hit);
	else if (part == MT_MEASURE_BEGIN)
		mt_asm_note_begin(code);
	else if (part == MT_MEASURE_SPAN_BEGIN)
		mt_asm_begin_span(code);
	else
		mt_asm_jump(code, MT_ASM_ALWAYS, &hit);
	mt_asm_bind(code, &code->miss);
	uint32_t miss = mt_asm_here(code);
	mt_asm_leave(code);
	mt_asm(code, 0xe9); /* jmp … */
	code->out->miss = mt_asm_here(code);
	mt_asm_imm32(code, 0);
	mt_asm_go_on(code);
	mt_asm_read_out_of_line(code);
	mt_asm_floats_out_of_line(code);
	count_error(code, &code->division, offsetof(struct mt_condition_errors, divisions), miss);
	count_error(code, &code->unset, offsetof(struct mt_condition_errors, unset), miss);
	count_error(code, &code->undecided, offsetof(struct mt_condition_errors, undecided), miss);
	mt_asm_bind(code, &hit);
	if (root && part == MT_MEASURE_BEGIN) {
		mt_asm_note_begin(code);
		mt_asm_jump_back(code, MT_ASM_ALWAYS, miss);
	}
	if (is_limited)
		mt_asm_limit(code);
	mt_array_each (jump, &code->miss.jumps) /* of what is out of line */
		mt_asm_link(code, *jump, miss);
	mt_asm_leave(code);
	return error;
}

static void code_deinit(struct mt_asm *code)
{
	mt_array_each (site, &code->read_sites) {
		mt_array_deinit(&site->crosses.jumps);
		mt_array_deinit(&site->unknown.jumps);
	}
	mt_array_deinit(&code->read_sites);
	mt_array_deinit(&code->miss.jumps);
	mt_array_deinit(&code->division.jumps);
	mt_array_deinit(&code->unset.jumps);
	mt_array_deinit(&code->undecided.jumps);
	for (size_t i = 0; i < MT_FLOAT_ROUTINES; i++)
		mt_array_deinit(&code->floats[i].jumps);
}

/* BEFORE: the same without knowing what it needs; NULL: this is that. */
static struct mt_error *compile_once(const struct mt_expr *expr,
				     const struct mt_condition_place *place, struct mt_asm *before,
				     struct mt_condition *out)
{
	const struct mt_expr_frame frame = {.ops = &nowhere,
					    .pc = place->entry,
					    .next_pc = place->entry,
					    .at_entry = !place->at_line};
	struct mt_arena arena = {0};

	*out = (struct mt_condition){0};
	struct mt_compiler compiler = {
	    .code = {.out = out,
		     .place = *place,
		     .has_reads = before && before->reads,
		     .has_room = before && (before->reads || before->computes),
		     .frame_slots = before ? before->most : 0},
	    .eval = {.frame = &frame, .arena = &arena},
	};
	if (expr) {
		compiler.eval.program = expr->program;
		compiler.eval.language = expr->language;
	}
	struct mt_error *error = compile(&compiler, expr ? expr->root : NULL);

	if (!error && compiler.code.failed)
		error = mt_error_no_memory();
	out->reads = compiler.code.reads;
	code_deinit(&compiler.code);
	mt_arena_deinit(&arena);
	if (error || before) {
		if (error)
			mt_condition_deinit(out);
		return error;
	}
	mt_condition_deinit(out);
	return compile_once(expr, place, &compiler.code, out);
}

struct mt_error *mt_condition_compile(const struct mt_expr *expr,
				      const struct mt_condition_place *place,
				      struct mt_condition *out)
{
	return compile_once(expr, place, NULL, out);
}

void mt_condition_deinit(struct mt_condition *condition)
{
	mt_trampolines_deinit(&condition->trampolines);
}
