/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who called whom: from a thread's registers to its frames, innermost first, by the tables that
 * compilers write for exceptions (.eh_frame) and for debuggers (.debug_frame), and by the one that
 * Go's runtime has (.gopclntab).
 *
 * Code that has none is taken to keep a frame pointer, where the stack looks like that.  What is
 * read of the stack is never believed beyond what it can say: each caller's frame lies above, and
 * its code in a mapping.
 *
 *	struct mt_unwinder unwinder;
 *	mt_unwind_start(&unwinder, &source, &registers);
 *	while (mt_unwind_next(&unwinder, &frame))
 *		...
 *
 * One thread uses an unwinder, and the space behind it. */
#ifndef MT_SPACE_UNWIND_H
#define MT_SPACE_UNWIND_H

#include "space/space.h"
#include "x86/registers.h"

/* Those of a frame: to the program counter. */
struct mt_registers {
	uint64_t values[MT_REGISTER_COUNT];
	uint32_t known; /* a bit each */
};

struct mt_registers mt_registers_of(const struct user_regs_struct *user);

/* The thread's process. */
struct mt_unwind_source {
	struct mt_space *space; /* all mappings of code; what lies in none is no code */
	/* The process's memory: returns how many bytes from ADDRESS on, at the most SIZE. */
	size_t (*read)(void *context, uint64_t address, void *buffer, size_t size);
	/* A thread stood, or was interrupted by a signal, with these registers.  Where that is code
	 * that stands in for the program's own, put them right.  May be NULL. */
	void (*mend)(void *context, struct mt_registers *registers);
	void *context;
};

struct mt_unwind_frame {
	struct mt_registers registers;
	uint64_t pc; /* the instruction that runs next in this frame */
	/* The stack pointer after the frame's return; the return address lies right below.  0: not
	 * known. */
	uint64_t cfa;
	bool exact;  /* it stands at pc; else a call is to return there, which ends at pc */
	bool signal; /* made by the kernel: a signal handler returns to it, and it to what was
		      * interrupted */
};

/* An address within the instruction that the frame stands at, for names and lines. */
static inline uint64_t mt_unwind_inside(const struct mt_unwind_frame *frame)
{
	return frame->exact ? frame->pc : frame->pc - 1;
}

enum mt_unwind_end {
	MT_UNWIND_GOES_ON,
	MT_UNWIND_OUTERMOST, /* the tables say that nobody called it */
	MT_UNWIND_NO_TABLE,  /* nothing says how to go on from there */
	MT_UNWIND_BAD_STACK, /* the stack holds no frame there, or cannot be read */
};

/* In the unwinder is only state; nothing has to be released. */
struct mt_unwinder {
	struct mt_unwind_source source;
	struct mt_unwind_frame next;
	enum mt_unwind_end end; /* why there is no next frame */
	unsigned anywhere;      /* frames so far of which the caller's may lie anywhere */
	/* Where in memory the next frame's registers were saved; 0: they still are in registers. */
	uint64_t saved_at[MT_REGISTER_COUNT];
	uint64_t window_start; /* of the memory that was read last */
	size_t window_size;
	uint8_t window[4096];
};

/* Reads a file's .eh_frame, which the first question about its code would else. */
void mt_unwind_prepare(struct mt_objfile *objfile);
/* Where the canonical frame address lies at PC: OFFSET behind what a register (by DWARF's number)
 * holds.  For who asks often: the tables are read here.  False: it is not that simple. */
bool mt_unwind_cfa_rule(struct mt_space *space, uint64_t pc, unsigned *number, int64_t *offset);

void mt_unwind_start(struct mt_unwinder *unwinder, const struct mt_unwind_source *source,
		     const struct mt_registers *registers);
/* False: that was all, and unwinder->end says why. */
bool mt_unwind_next(struct mt_unwinder *unwinder, struct mt_unwind_frame *frame);

#endif
