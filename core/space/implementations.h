/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that the dynamic loader chooses among when the program begins: of the symbol `memcpy`,
 * whose type is STT_GNU_IFUNC, the address is that of a resolver, which returns the address of the
 * implementation for this processor.  Nobody calls the resolver by that name.
 *
 * Source: System V ABI x86-64, "Symbol Table" (STT_GNU_IFUNC). */
#ifndef MT_SPACE_IMPLEMENTATIONS_H
#define MT_SPACE_IMPLEMENTATIONS_H

#include "elf/objfile.h"

/* Calls FOUND with the entry of each function that the resolver at ADDRESS may return: those of the
 * same file that its code refers to, or, where there are none, the code that it calls or jumps to.
 * So they are known before the program begins, and one of them is the one.  Returns 0 (also if none
 * is found), or -1 without memory. */
int mt_objfile_each_implementation(struct mt_objfile *objfile, uint64_t address,
				   void (*found)(void *context, uint64_t address), void *context);

#endif
