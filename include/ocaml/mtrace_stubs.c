/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/* C's side of mtrace.ml. */
#include <caml/mlvalues.h>
#include <mtrace.h>
#include <stdbool.h>

/* Of the executable's data, where ocamlopt puts literals, with a NUL behind them; a library that
 * has this file does not know where that begins. */
extern const char __data_start[] __attribute__((__weak__));
extern const char _end[] __attribute__((__weak__));

static bool is_literal(const char *text)
{
	return __data_start && text >= __data_start && text < _end;
}

value mtrace_ocaml_mark(value text)
{
	if (is_literal(String_val(text)))
		mtrace_mark_literal(String_val(text));
	else
		(mtrace_mark)(String_val(text));
	return Val_unit;
}

value mtrace_ocaml_begin(value name)
{
	if (is_literal(String_val(name)))
		mtrace_begin_literal(String_val(name));
	else
		(mtrace_begin)(String_val(name));
	return Val_unit;
}

value mtrace_ocaml_end(value unit)
{
	mtrace_end();
	return unit;
}

value mtrace_ocaml_number(value name, double number)
{
	if (is_literal(String_val(name)))
		mtrace_number_bits(String_val(name), mtrace_bits(number));
	else
		mtrace_number_text(String_val(name), mtrace_bits(number));
	return Val_unit;
}

value mtrace_ocaml_number_byte(value name, value number)
{
	return mtrace_ocaml_number(name, Double_val(number));
}

value mtrace_ocaml_snapshot(value reason)
{
	mtrace_snapshot(String_val(reason));
	return Val_unit;
}
