/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++, Rust and OCaml names as people write them. */
#ifndef MT_ELF_DEMANGLE_H
#define MT_ELF_DEMANGLE_H

#include "base/str.h"

enum mt_demangle_style {
	MT_DEMANGLE_FULL,      /* `ns::f(int)` */
	MT_DEMANGLE_BARE,      /* `ns::f`: without parameters and the return type */
	MT_DEMANGLE_NO_RETURN, /* `ns::f<int>(int)`, where FULL has `int ns::f<int>(int)` */
};

/* Appends to OUT.  False: RAW is no mangled name (or one that grows beyond all measure), and
 * nothing was appended. */
bool mt_demangle(const char *raw, enum mt_demangle_style style, struct mt_str *out);

/* The same for OCaml, of which GDB has the raw name: `Ex.deep` of `camlEx__deep_82`.  A function
 * that has no name keeps its number: `Ex.fun_294`. */
bool mt_demangle_ocaml(const char *raw, struct mt_str *out);

/* A symbol of Rust's, by either of its schemes. */
bool mt_is_rust_name(const char *raw);

#endif
