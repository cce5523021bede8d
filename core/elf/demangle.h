/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ and Rust names as people write them. */
#ifndef MT_ELF_DEMANGLE_H
#define MT_ELF_DEMANGLE_H

#include "base/str.h"

enum mt_demangle_style {
	MT_DEMANGLE_FULL, /* `ns::f(int)` */
	MT_DEMANGLE_BARE, /* `ns::f`: without parameters and the return type */
};

/* Appends to OUT.  False: RAW is no mangled name (or one that grows beyond all measure), and
 * nothing was appended. */
bool mt_demangle(const char *raw, enum mt_demangle_style style, struct mt_str *out);

#endif
