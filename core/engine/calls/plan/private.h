/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the parts of the planner.  They run one after the other: text.c decodes the whole text
 * once into a map, fence.c finds what is not to be touched, reach.c marks in it whatever can be
 * jumped to, room.c finds room for each entry and return, hole.c finds holes for those whose room
 * is short, again.c leads branches back to an entry past its recording, lone.c redirects those to
 * returns that have no room.  On the way gs.c looks for what uses GS, and flags.c for functions
 * whose callers' flags are in use. */
#ifndef MT_ENGINE_CALLS_PLAN_PRIVATE_H
#define MT_ENGINE_CALLS_PLAN_PRIVATE_H

#include "elf/references.h"
#include "engine/calls/plan/plan.h"
#include "x86/insn.h"

/* The map has a byte for each of the text.  At an instruction's first byte: its length, and what
 * matters of it.  At any byte: whether something may jump there. */
#define MT_MAP_LENGTH 0x0f /* 0: inside of an instruction */
#define MT_MAP_KIND   0x70
#define MT_MAP_TARGET 0x80

#define MT_MAP_KIND_SHIFT 4
enum mt_map_kind {
	MT_MAP_PLAIN,  /* goes on at the next one */
	MT_MAP_BRANCH, /* perhaps goes on there */
	MT_MAP_CALL,
	MT_MAP_JUMP,   /* never goes on at the next one */
	MT_MAP_RETURN, /* near, or a jump that counts as one */
	MT_MAP_STUCK,  /* cannot be displaced, or is no instruction */
	MT_MAP_DEAD,   /* padding, which no flow reaches: each byte counts for itself */
	MT_MAP_TAKEN,  /* by a patch */
};

/* A stretch of code: what stands in the file, and the map of it. */
struct mt_plan_range {
	uint64_t start; /* [start, end) */
	uint64_t end;
	const uint8_t *bytes; /* the objfile's */
	uint8_t *map;
};

/* An instruction, and the function that it was found in. */
struct mt_plan_place {
	uint64_t address;
	uint32_t function; /* MT_PLAN_NOWHERE: in none */
};

/* Facts on a function, found while its code was decoded. */
#define MT_FACT_SIGNAL  0x1   /* returns from a signal */
#define MT_FACT_START   0x2   /* the program begins there */
#define MT_FACT_CHOSEN  0x4   /* not wanted */
#define MT_FACT_LOOP    0x8   /* jumps back to its own entry, by a branch that stays */
#define MT_FACT_TABLE   0x10  /* has a table of its code's addresses behind a lea */
#define MT_FACT_UNKNOWN 0x20  /* has an indirect jump that goes who knows where */
#define MT_FACT_ARCH    0x40  /* names the system call arch_prctl */
#define MT_FACT_SET_GS  0x80  /* names ARCH_SET_GS */
#define MT_FACT_FLAGS   0x100 /* flags are in use where it is entered, or returns */
#define MT_FACT_FENCED  0x200 /* between pages of ud2 */
#define MT_FACT_CHECKED 0x400 /* the program computes a checksum of it */

/* A patch, before it is known whether it has its hole. */
struct mt_plan_draft {
	struct mt_patch patch;
	uint64_t return_address; /* of the return in it; 0: none */
	uint8_t holes;           /* given away */
	bool open;               /* its last instruction goes on at the next one */
	bool dropped;
};

struct mt_drafts {
	struct mt_plan_draft *items;
	size_t count;
	size_t capacity;
};

/* Flags that instructions read straight on have left as they were. */
struct mt_plan_flags {
	uint16_t kept;   /* MT_STATUS_FLAGS */
	uint64_t behind; /* the call since which that is so */
	uint64_t callee; /* of that call; 0: there is none, but the begin of a function */
};

/* Such a flag is read behind a call. */
struct mt_plan_flag_reader {
	uint64_t behind;
	uint64_t address;
	uint64_t callee;
};

/* Constants that a call from here would give to its callee; 0: others. */
struct mt_plan_arguments {
	uint32_t first, second;
};

struct mt_planner {
	struct mt_objfile *objfile;
	struct mt_plan *plan;
	struct mt_fdes fdes;
	MT_ARRAY(struct mt_plan_range) ranges;
	MT_ARRAY(uint16_t) facts;              /* MT_FACT_…, of each function */
	MT_ARRAY(struct mt_plan_place) tables; /* the address: what a lea takes */
	MT_ARRAY(struct mt_plan_place) jumps;  /* indirect ones */
	MT_ARRAY(struct mt_plan_place) loops;  /* branches back to the entry of that function */
	struct mt_drafts drafts;               /* by address */
	struct mt_drafts late; /* patches that were thought of later, to make room for others */
	MT_ARRAY(struct mt_plan_place) lone; /* returns that stay for want of room */
	MT_ARRAY(uint64_t) far_returns;      /* those that something far away leads to */
	const struct mt_plan_range *latest;
	struct mt_plan_arguments arguments;
	MT_ARRAY(struct mt_plan_place) gs_users; /* perhaps: they may be data */
	MT_ARRAY(struct mt_plan_place)
	gs_calls; /* with ARCH_SET_GS: the address is whom they call */
	MT_ARRAY(struct mt_plan_flag_reader) flag_readers;
	bool relocated_code;
	bool failed; /* for want of memory */
};

static inline enum mt_map_kind mt_map_kind(uint8_t byte)
{
	return (enum mt_map_kind)((byte & MT_MAP_KIND) >> MT_MAP_KIND_SHIFT);
}

static inline void mt_map_set_kind(uint8_t *byte, enum mt_map_kind kind)
{
	*byte = (uint8_t)((*byte & ~MT_MAP_KIND) | kind << MT_MAP_KIND_SHIFT);
}

/* NULL: no code is there. */
const struct mt_plan_range *mt_plan_range_at(struct mt_planner *planner, uint64_t address);
/* Something may jump to ADDRESS, if it is code. */
void mt_plan_mark(struct mt_planner *planner, uint64_t address);
/* The same of a direct branch in the function itself. */
void mt_plan_mark_near(struct mt_planner *planner, uint64_t address);
/* Where an entry is recorded: behind an endbr64. */
uint64_t mt_plan_entry(const struct mt_plan_range *range, const struct mt_plan_function *function);
void mt_plan_leave(struct mt_planner *planner, uint32_t function, uint64_t address, bool is_return,
		   enum mt_plan_reason reason);

/* plan.c: the functions, and the map of their text with whatever can be jumped to.  Errors:
 * INTERRUPTED, NO_MEMORY. */
struct mt_error *mt_plan_read(struct mt_planner *planner, const struct mt_plan_options *options);
/* But for the plan. */
void mt_planner_deinit(struct mt_planner *planner);
/* text.c: needs the functions. */
int mt_plan_read_text(struct mt_planner *planner);
/* gs.c: an instruction of a function, in their order; then, when it is known what is jumped to,
 * what they say together. */
void mt_plan_see_gs(struct mt_planner *planner, struct mt_plan_place place, const uint8_t *bytes,
		    const struct mt_insn *insn);
void mt_plan_decide_gs(struct mt_planner *planner);
/* flags.c: an instruction, of which ROOM bytes are in its region, in their order; then, when it is
 * known what is jumped to, what follows of that. */
void mt_plan_see_flags(struct mt_planner *planner, struct mt_plan_flags *flags,
		       struct mt_plan_place place, const uint8_t *bytes, size_t room,
		       const struct mt_insn *insn);
void mt_plan_decide_flags(struct mt_planner *planner);
/* fence.c: needs the text. */
void mt_plan_find_fences(struct mt_planner *planner);
/* reach.c */
void mt_plan_mark_reach(struct mt_planner *planner);
/* Instructions on end that may be displaced together, and the padding behind them. */
struct mt_plan_stretch {
	size_t begin, end;
	uint64_t return_address;    /* 0: there is none in it */
	bool closed;                /* nothing can be added at its end */
	enum mt_plan_reason reason; /* why it went no further */
};

struct mt_plan_room {
	struct mt_planner *planner;
	const struct mt_plan_range *range;
	uint32_t function;
};

#define MT_PLAN_RET 0xc3

/* room.c */
/* Lengthen until WANTED bytes, if it can be, by instructions and padding behind. */
void mt_plan_extend(const struct mt_plan_range *range, struct mt_plan_stretch *stretch,
		    size_t wanted);
/* Lengthen by the instruction before.  False: it cannot be. */
bool mt_plan_prepend(const struct mt_plan_room *room, struct mt_plan_stretch *stretch);
/* MT_LEFT_REASONS: the instruction at AT (an index into the range) can be displaced.  FIRST: as the
 * first of its patch, so that something may jump to it. */
enum mt_plan_reason mt_plan_obstacle(const struct mt_plan_range *range, size_t at, bool first);
/* The begin of the instruction that goes on at AT; AT: there is none that is known. */
size_t mt_plan_before(const struct mt_plan_range *range, size_t at);
void mt_plan_take(const struct mt_plan_range *range, size_t begin, size_t end);
void mt_plan_find_room(struct mt_planner *planner);
/* hole.c */
void mt_plan_find_holes(struct mt_planner *planner);
/* For one whose bytes are taken.  False: there is none within reach. */
bool mt_plan_find_hole(struct mt_planner *planner, struct mt_plan_draft *draft);
/* How many of the drafts begin at or below ADDRESS. */
size_t mt_plan_search(const struct mt_drafts *drafts, uint64_t address);
/* lone.c */
void mt_plan_redirect(struct mt_planner *planner);
/* The patch that displaces the direct branch at AT (an index into the range), made for it if need
 * be; NULL: there is no room. */
struct mt_plan_draft *mt_plan_displace(const struct mt_plan_room *room, size_t at);
/* Whether the bytes may be a branch that can be redirected: jmp, jcc, or their long forms. */
bool mt_plan_is_plain_branch(const uint8_t *bytes);
/* again.c */
void mt_plan_lead_loops(struct mt_planner *planner);

#endif
