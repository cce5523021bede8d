/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process and one of its threads, as values are read from it. */
#ifndef MT_VALUES_FRAME_H
#define MT_VALUES_FRAME_H

#include "types/program.h"
#include "x86/registers.h"

struct mt_expr_frame;

/* A process and one of its threads: stopped, dumped or made up. */
struct mt_expr_ops {
	/* How many bytes from ADDRESS on could be had, at the most SIZE. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/* NULL: nothing can be written. */
	struct mt_error *(*write)(void *context, uint64_t address, const void *bytes, size_t size);
	/* A register (MT_REGISTER_…) as the selected frame has it: the first SIZE of its bytes.
	 * False: it was not saved. */
	bool (*get_register)(void *context, unsigned number, void *bytes, size_t size);
	/* NULL: cannot be written. */
	struct mt_error *(*set_register)(void *context, unsigned number, const void *bytes,
					 size_t size);
	/* The selected frame's canonical frame address.  False: not known. */
	bool (*get_cfa)(void *context, uint64_t *cfa);
	/* Where the thread's copy of OBJFILE's thread-local storage begins.  NULL: it is found by
	 * the thread's pointer for the program itself, and by libc's lists for libraries. */
	bool (*get_tls)(void *context, const struct mt_objfile *objfile, uint64_t bias,
			uint64_t *base);
	/* The frame that called the selected one, of which it is known that it did.  Lent until the
	 * next question.  NULL: frames have no callers; values at entry are not known then. */
	bool (*get_caller)(void *context, struct mt_expr_frame *caller);
};

/* Where an expression's names are looked up, and where it is evaluated. */
struct mt_expr_frame {
	const struct mt_expr_ops *ops;
	void *context; /* of ops: the selected frame */
	/* An address within the instruction that the frame stands at: mt_unwind_inside().  0: no
	 * frame is selected; only what is static has a value. */
	uint64_t pc;
	/* Where the frame goes on, which for callers is behind pc; 0: at pc. */
	uint64_t next_pc;
	/* Inlined calls at pc that are inner to the selected frame; 0: it is the innermost. */
	unsigned inner;
	/* pc is a function's very first instruction: its parameters are where the System V ABI puts
	 * them, whatever DWARF says, since that begins to hold behind the prologue. */
	bool at_entry;
	/* The same, but all is about the moment at which that function returns: $_ret is what it
	 * returns, and of its parameters and locals none is there any more. */
	bool at_return;
};

#endif
