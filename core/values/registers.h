/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $rdi, $eax, $xmm0: the values of registers. */
#ifndef MT_VALUES_REGISTERS_H
#define MT_VALUES_REGISTERS_H

#include "values/value.h"
#include "x86/registers.h"

struct mt_error *mt_register_value(struct mt_eval *eval, const struct mt_register_name *reg,
				   struct mt_value *out);

#endif
