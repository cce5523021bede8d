/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $rdi, $eax, $xmm0: names of registers, and their values. */
#ifndef MT_VALUES_REGISTERS_H
#define MT_VALUES_REGISTERS_H

#include "values/value.h"

enum mt_register_shape {
	MT_SHAPE_INTEGER,
	MT_SHAPE_DATA_POINTER,
	MT_SHAPE_CODE_POINTER,
	MT_SHAPE_FLAGS,
	MT_SHAPE_VECTOR,
	MT_SHAPE_X87,
	MT_SHAPE_MXCSR,
};

struct mt_register_name {
	char name[12];
	uint8_t number, size, offset;
	uint8_t shape;
};

/* NAME without its '$'.  NULL: no register. */
const struct mt_register_name *mt_register_named(const char *name);
struct mt_error *mt_register_value(struct mt_eval *eval, const struct mt_register_name *reg,
				   struct mt_value *out);

#endif
