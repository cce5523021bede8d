/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what Go's runtime knows of a type at run time to the type. */
#ifndef MT_TYPES_GO_TYPES_H
#define MT_TYPES_GO_TYPES_H

#include "types/program.h"

/* The type whose description (internal/abi.Type) lies at ADDRESS in the process, and says that it
 * is of KIND (reflect.Kind).  NULL: no DWARF knows it, or no memory. */
struct mt_type *mt_go_type_at(struct mt_expr_program *program, uint64_t address, uint8_t kind);

#endif
