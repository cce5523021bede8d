/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What triggers print at their hits: expressions that are bound where a trigger was found, as its
 * condition is, and evaluated while the thread that is hit stands still. */
#include "expr/expr.h"
#include "session/private.h"

/* A note holds 4 KiB, and more than the values. */
#define MOST_VALUE_BYTES 1024u
#define MOST_ALL_BYTES   2048u

/* A trigger of slow calls is hit where they end. */
static struct mt_expr_frame frame_of(const struct mt_session *session,
				     const struct mt_session_site *site,
				     struct mt_session_here *here)
{
	const struct mt_trigger_spec *spec = &session->triggers.items[site->trigger - 1].spec;

	return mt_session_frame_of(here, site->is_entry, spec->at_return || spec->slower_ns);
}

static struct mt_error *add(const struct mt_session_process *process,
			    const struct mt_expr_frame *frame, const char *text,
			    struct mt_session_site *site)
{
	struct mt_expr *expr = NULL;

	mt_try(mt_expr_parse(process->program, frame, text, &expr));
	if (mt_array_push(&site->printed, expr)) {
		mt_expr_destroy(expr);
		return mt_error_no_memory();
	}
	return mt_expr_check_alone(expr);
}

struct mt_error *mt_session_parse_printed(const struct mt_session *session,
					  const struct mt_session_process *process,
					  struct mt_session_site *site)
{
	const struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	struct mt_session_here here = {
	    .session = session, .pid = process->pid, .pc = site->address};
	const struct mt_expr_frame frame = frame_of(session, site, &here);

	mt_array_each (text, &trigger->spec.expressions) {
		struct mt_error *error = add(process, &frame, *text, site);
		mt_auto(mt_str) struct mt_str what = {0};

		if (!error)
			continue;
		mt_str_appendf(&what, "-print %s", *text);
		return mt_session_invalid(trigger, what.failed ? "-print" : what.text, error);
	}
	return NULL;
}

void mt_session_forget_printed(struct mt_session_site *site)
{
	mt_array_each (expr, &site->printed)
		mt_expr_destroy(*expr);
	mt_array_deinit(&site->printed);
}

/* At the most MOST bytes of TEXT, and whole characters of UTF-8. */
static void append_cut(struct mt_str *out, const struct mt_str *text, size_t most)
{
	size_t length = text->length;

	if (length > most)
		for (length = most; length && ((unsigned char)text->text[length] & 0xc0) == 0x80;)
			length--;
	mt_str_append_bytes(out, text->text, length);
	if (length < text->length)
		mt_str_append(out, "...");
}

/* "NAME = VALUE", or "NAME: why not". */
static void print_one(struct mt_expr *expr, const char *name, const struct mt_expr_frame *frame,
		      struct mt_str *out)
{
	struct mt_value *value = NULL;
	struct mt_error *error = mt_expr_evaluate(expr, frame, &value);
	const size_t before = out->length;

	mt_str_appendf(out, "%s = ", name);
	if (!error)
		error = mt_value_print(value, frame, NULL, out);
	if (error) {
		out->length = before;
		mt_str_appendf(out, "%s: %s", name, mt_error_message(error));
	}
	mt_error_destroy(error);
	mt_value_destroy(value);
}

void mt_session_print(struct mt_session *session, const struct mt_session_thread *thread,
		      const struct mt_session_site *site, uint64_t took_ns, struct mt_str *out)
{
	const struct mt_trigger_spec *spec = &session->triggers.items[site->trigger - 1].spec;
	struct mt_session_here here = {.session = session,
				       .pid = thread->process->pid,
				       .lwp = thread->lwp,
				       .pc = site->address};
	const struct mt_expr_frame frame = frame_of(session, site, &here);
	mt_auto(mt_str) struct mt_str all = {0}, one = {0};

	if (!site->printed.count || mt_session_set_variables(thread, took_ns))
		return;
	mt_array_each (expr, &site->printed) {
		mt_str_clear(&one);
		print_one(*expr, spec->expressions.items[expr - site->printed.items], &frame, &one);
		mt_str_append(&all, all.length ? ", " : "");
		append_cut(&all, &one, MOST_VALUE_BYTES);
	}
	mt_str_append(out, out->length ? ", " : "");
	append_cut(out, &all, MOST_ALL_BYTES);
}
