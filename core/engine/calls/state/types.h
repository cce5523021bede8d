/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of the engine `calls`: the engine has threads, they are in address spaces, and in these
 * object files have places, with patches and breakpoints in them. */
#ifndef MT_ENGINE_CALLS_TYPES_H
#define MT_ENGINE_CALLS_TYPES_H

#include "base/array.h"
#include "engine/calls/condition/condition.h"
#include "engine/calls/plan/plan.h"
#include "engine/calls/ring/ring.h"
#include "engine/calls/trampoline/image.h"
#include "engine/calls/trampoline/trampoline.h"
#include "engine/engine.h"
#include "process/inject.h"
#include "process/maps.h"
#include "space/space.h"

#include <pthread.h>
#include <uthash.h>

/* What is put into the program for unwinders (agent_code.S): code, and behind it the list that it
 * looks through.  Offsets into it. */
#define MT_AGENT_LIST        4096u /* a word: address of an entry; 0: there is none */
#define MT_AGENT_REST        4104u /* a word: the loader's _dl_find_object() */
#define MT_AGENT_ENTRIES     4160u /* struct mt_calls_entry */
#define MT_AGENT_ENTRY_COUNT 1024u
#define MT_AGENT_BYTES       (4096u * 26)

extern const uint8_t mt_agent_code[], mt_agent_code_end[];

/* In the agent, one a place.  All are addresses in the program. */
struct mt_calls_entry {
	uint64_t next;             /* entry */
	uint64_t code, code_bytes; /* the trampolines; 0 bytes: the entry is free */
	uint64_t module, module_bytes;
	uint64_t search_table; /* .eh_frame_hdr of what describes them */
	uint64_t object;       /* struct link_map */
	uint64_t holes;        /* of patches, by address */
	uint64_t hole_count;
	uint64_t unused[3];
};

/* What may be displaced together at an instruction: mt_plan_stretch_at(). */
struct mt_calls_stretch {
	uint64_t address; /* in the file */
	size_t length;
};

/* In a C library: what its _dl_find_object() calls; see detour.c. */
struct mt_calls_finder {
	bool is_known;    /* what follows is */
	uint64_t pointer; /* of a pointer to a structure, in the file; 0: there is none */
	int32_t offset;   /* of the function's address in that */
};

/* An object file that was planned, once an engine. */
struct mt_calls_file {
	char *path;
	struct mt_objfile *objfile; /* NULL: it could not be opened or planned */
	struct mt_plan *plan;       /* NULL as well: it is not to be recorded */
	uint64_t gs_user;           /* see struct mt_plan */
	struct mt_calls_finder finder;
	bool is_kept;           /* its plan, and what is made by it, from run to run */
	bool was_stored;        /* something of that, in this one */
	struct mt_kept_key key; /* of the plan, if it is kept */
	MT_ARRAY(struct mt_calls_stretch) stretches; /* that were asked for */
	UT_hash_handle hh;
};

/* A file at a place, with its trampolines.  Forked processes share it; it stays until the engine's
 * end, since events in rings refer to it by their sites. */
struct mt_calls_module {
	struct mt_calls_file *file;
	uint64_t bias;
	uint64_t start, end;            /* of the mapping: [start, end) */
	uint64_t offset, inode, device; /* what is mapped there */
	const uint8_t *clean; /* the file's bytes of it; lent by the file, or own_clean; NULL: they
			       * were not needed yet */
	uint8_t *own_clean;
	bool is_mapped_file; /* what is mapped there is the file, not another one of its name */
	uint32_t site_base;  /* site in a ring = site_base + index into the plan's sites */
	struct mt_image image;
	bool has_tables;                    /* the image has: they are fixed for the room */
	uint64_t room;                      /* address of the image */
	uint64_t room_bytes;                /* 0: none */
	uint64_t code_bytes;                /* of the trampolines, with which it begins, */
	uint64_t shared_bytes;              /* and of what they share */
	bool outlives_us;                   /* the process: trampolines look at the alive word */
	struct mt_trampoline_config config; /* of the trampolines */
	uint8_t *levels;                    /* of each patch: see order.c; NULL: not needed yet */
	/* Of each patch's trampoline; MT_CALLS_NONE: it is left out.  Lent by the image, or own. */
	const uint32_t *offsets;
	uint32_t *own_offsets;
	struct mt_calls_entry entry;  /* code_bytes 0: it is not in the program yet */
	struct mt_calls_again *again; /* see mt_calls_trampoline_again() */
	bool copy_told;               /* that the program runs a copy of its code */
};

#define MT_CALLS_NONE MT_TRAMPOLINE_NONE

/* Why a patch is not to be in the text; 0: it is. */
enum mt_calls_off {
	MT_CALLS_ON,
	MT_CALLS_OFF_ROOM,    /* it has no trampoline */
	MT_CALLS_OFF_FOREIGN, /* what is there is not the file's */
	MT_CALLS_OFF_BREAK,   /* a trigger is in its middle */
	MT_CALLS_OFF_FAULT, /* an instruction in it faults, and is to do so where it was written */
	MT_CALLS_OFF_THROTTLE,
	MT_CALLS_OFF_REFUSED, /* nothing of the process is recorded any more */
	MT_CALLS_OFF_NEEDS,   /* bytes of one that is off */
};

/* A module in an address space. */
struct mt_calls_place {
	struct mt_calls_module *module;
	bool is_described;          /* to unwinders: see mt_calls_describe() */
	uint64_t entry;             /* in the agent; 0: none */
	uint8_t *off;               /* by patch: enum mt_calls_off */
	uint8_t *held;              /* by patch: not 0: nor is it until the next show() */
	size_t held_from, held_end; /* of patches [from, end), at most */
	bool *written;              /* by patch: it is in the text */
	bool is_current;            /* `written` follows from `off` and `held` */
	uint8_t *shown;             /* see mt_calls_shown_keep(); NULL: not kept */
	bool checked; /* patches were left out whose bytes in memory are not the file's */
	bool another; /* hardly any are: nothing is patched */
	bool seen;    /* in the walk over the mappings that goes on */
};

/* An argument, or a result, that is recorded. */
struct mt_calls_value {
	pid_t pid;         /* of whom first */
	uint64_t function; /* its entry */
	bool is_result;
	bool told;         /* it is in the recording */
	struct mt_str raw; /* what the recording says of it; empty: a word of a string before */
};

/* Of a breakpoint. */
struct mt_calls_condition {
	struct mt_engine_condition given;
	struct mt_expr_frame memory; /* of the process that it is compiled for */
	struct mt_target *target;    /* by which that is read */
	pid_t pid;
	uint32_t number; /* of those that have their errors there */
	bool is_compiled;
	bool is_gate;                 /* a gate's: who set it asks for its errors */
	struct mt_condition code;     /* is_compiled */
	uint64_t address;             /* of the code; 0: it is not in the program yet */
	uint64_t entry;               /* in the agent; 0: none */
	struct mt_calls_rings *rings; /* with its errors; a reference; NULL: none */
	uint32_t lost;                /* hits of a gate's that nobody could take */
	uint32_t faults;              /* it ran into */
	uint64_t fault;               /* the last one's address */
	bool is_end;                  /* of another one's calls, whose `number` it has */
	bool is_timed;                /* the slot tells how long took what ended there last */
	/* That are recorded there.  An end has those of its beginning. */
	MT_ARRAY(struct mt_condition_value) values;
	bool is_left; /* `expr` is for others to evaluate, at each such end */
	bool yields;  /* at a line: bytes that its jump would displace are wanted by another */
};

/* Threads do not stop where it is asked for, but where the calls that begin there end. */
static inline bool mt_calls_is_later(const struct mt_calls_condition *condition)
{
	return condition && (condition->given.slower_ns || condition->given.at_return);
}

/* The time from one place to another is measured; where it begins no thread stops. */
static inline bool mt_calls_is_span(const struct mt_calls_condition *condition)
{
	return condition && condition->given.span;
}
static inline bool mt_calls_begins_span(const struct mt_calls_condition *condition)
{
	return condition && condition->given.span == MT_ENGINE_SPAN_BEGIN;
}

/* No thread stops there: values are recorded. */
static inline bool mt_calls_records_values(const struct mt_calls_condition *condition)
{
	return condition && condition->given.values;
}

#define MT_CALLS_BREAK_BYTES 16

/* A breakpoint of ours: a jump to a stub that does no harm when we are gone (stub.c).  The
 * jump is a patch's, when one begins there, or the breakpoint's own.  In a program that dies with
 * us it may be an int3 in the text. */
/* What lies at an address of a program. */
struct mt_calls_code {
	uint64_t inode, device; /* of the file; 0: it is of none */
	uint64_t from;          /* the file's first byte would be there */
	bool is_known;
};

static inline struct mt_calls_code mt_calls_code_of(const struct mt_map *map)
{
	return (struct mt_calls_code){.inode = map->inode,
				      .device = map->device,
				      .from = map->start - map->offset,
				      .is_known = true};
}

static inline bool mt_calls_is_same_code(const struct mt_calls_code *one,
					 const struct mt_calls_code *other)
{
	return one->is_known == other->is_known && one->inode == other->inode &&
	       one->device == other->device && one->from == other->from;
}

struct mt_calls_break {
	uint64_t address;
	struct mt_calls_code code; /* that it was asked for in */
	uint64_t asked;            /* for: the endbr64 before it; 0: itself */
	uint64_t copy;             /* where the instruction stands that it hides; 0: not made yet */
	uint64_t stub;             /* 0: the int3 is in the text */
	uint64_t raised;           /* in the stub, behind what sends the signal */
	uint8_t length; /* of what is overwritten in the text; 0: the patch's jump is turned */
	uint8_t original[MT_CALLS_BREAK_BYTES];
	bool loader;   /* at r_brk; else a trigger's */
	bool behind;   /* of a patch's, one that was made later stands in front of it */
	bool shared;   /* several conditions were given for it, and none is evaluated here */
	uint64_t next; /* of a patch's: where threads go on: the trampoline, or the one behind */
	/* In a trampoline, behind the event of the return at `address`: nothing of it is in the
	 * text; 0: it is. */
	uint64_t hook;
	bool gate;                            /* of a debugger's: see struct mt_engine_gate_ops */
	uint32_t trigger;                     /* and that one's number */
	bool held;                            /* its own jump is left out of the text for now */
	bool written;                         /* it is in the text, or about to be */
	uint64_t back;                        /* retired: where threads in its copies go on */
	bool retired;                         /* nothing leads to it; threads may be in its stub */
	struct mt_calls_condition *condition; /* the engine's; NULL: none */
};

static inline bool mt_calls_break_is_timed(const struct mt_calls_break *one)
{
	return one->condition && one->condition->is_timed;
}

/* Its condition is code. */
static inline bool mt_calls_break_is_compiled(const struct mt_calls_break *one)
{
	return one->condition && one->condition->is_compiled;
}

/* At a line whose condition the program evaluates. */
static inline bool mt_calls_break_is_line(const struct mt_calls_break *one)
{
	return one->length && one->condition && one->condition->address;
}

/* Threads that come to ADDRESS come to it, at an entry or to end a call that began there. */
static inline bool mt_calls_break_is_at(const struct mt_calls_break *one, uint64_t address)
{
	return !one->retired && (one->address == address || one->asked == address);
}

/* Addresses [low, high) where nothing is mapped. */
struct mt_calls_gap {
	uint64_t low, high;
};

/* Room for copies of single instructions near some text. */
struct mt_calls_room {
	uint64_t start, used, end;
};

#define MT_CALLS_ALIVE_BYTES (4096u * 16)
/* Where in these pages the word stands that tells whether we live. */
#define MT_CALLS_ALIVE_WORD (MT_CALLS_ALIVE_BYTES - 24)
#define MT_CALLS_ALIVE_NAME "mtrace alive"
/* With which all private memory of ours ends in a program. */
#define MT_CALLS_MARK_BYTES      16u
#define MT_CALLS_DIRECTORY_MAGIC "mtrace mapped 1" /* the layout's version at its end */
#define MT_CALLS_DIRECTORY_ITEMS 2000u

/* What is mapped in a program, but for rings: these have a name.  In front of the word. */
struct mt_calls_directory {
	char magic[16];
	uint8_t mark[MT_CALLS_MARK_BYTES];
	uint32_t count;      /* of items */
	uint32_t is_short;   /* something is not in here */
	uint32_t is_removed; /* something was, and children may still have it */
	uint32_t pid;        /* of the process that it was made for */
	struct mt_calls_listed {
		uint64_t start, end; /* [start, end) */
		uint64_t gone;  /* so many bytes of it are not there any more, but in children */
		uint64_t inode; /* of the file of a copy; 0: it ends with the mark */
	} items[MT_CALLS_DIRECTORY_ITEMS];
};

/* Behind slot 0's words: a thread in a stub wants us to come. */
#define MT_CALLS_ASKED 96u
_Static_assert(sizeof(struct mt_ring_position) <= MT_CALLS_ASKED &&
		   MT_CALLS_ASKED + 2 * sizeof(uint32_t) <= MT_RING_SLOT_BYTES,
	       "slot 0 has room for them");
/* And behind that: how often one passed a gate's stub without being seen. */
#define MT_CALLS_MISSED (MT_CALLS_ASKED + 4)
/* Behind each ring: the calls and spans that are open and measured, and pages that were read. */
#define MT_CALLS_TABLES_BYTES (MT_MEASURE_TABLE_BYTES + MT_CONDITION_PAGES_BYTES)
/* Behind the slots: errors of conditions. */
#define MT_CALLS_CONDITIONS_BYTES 12288u
/* Behind these: the results of lists of remote calls. */
#define MT_CALLS_RESULTS_BYTES 4096u
#define MT_CALLS_RINGS_NAME    "mtrace rings"

/* One memfd, mapped in a program and in us. */
struct mt_calls_rings {
	unsigned references;
	uint64_t address; /* in the program: of the slots, and behind them the rings */
	uint8_t *slots;   /* here */
	uint8_t *bytes;   /* of the first ring, here */
	int fd;
	/* A robust lock that we hold.  Should we be killed, the kernel takes our number out of its
	 * word before it lets go of the program. */
	pthread_mutex_t *alive;
	uint8_t
	    *alive_pages; /* here: a directory and the word; and a page of our own behind them */
	uint64_t alive_address; /* of these pages in the program */
	bool is_forked;         /* a child has them, too, and the memory that they list */
	uint64_t ring_bytes;
	uint32_t count;      /* that addresses are kept for; ring 0 is the discard ring */
	uint32_t reached;    /* that the file holds */
	bool short_told;     /* that there are not enough */
	bool has_conditions; /* which write into the tables behind rings */
	bool *taken;
	bool *hot;      /* its pages are there */
	uint32_t spare; /* hot and not taken */
	uint32_t given; /* so many threads had one */
};

typedef MT_ARRAY(uint64_t) mt_calls_entries; /* addresses */

/* How far a program has come, which only goes up. */
enum mt_calls_stage {
	MT_CALLS_NEW,
	MT_CALLS_PREPARED, /* its dynamic loader is watched, or it was attached */
	MT_CALLS_LOADED,   /* the agent is there */
	MT_CALLS_REFUSED,  /* it is not recorded, or not any more */
};

/* Code that the program has copied out of the text that begins there. */
struct mt_calls_code_copy {
	uint64_t start;
	uint64_t distance; /* from the text to the copy */
	bool is_fixed;     /* it cannot be written */
};

/* An address space: of a process and, until it execs, of its vfork child. */
struct mt_calls_space {
	unsigned references;
	pid_t pid; /* whose memory is asked for */
	enum mt_calls_stage stage;
	bool roots_pending;  /* its threads' roots are to be noted as soon as they have rings */
	bool stampless;      /* it may not read the time stamp counter, and the log says so */
	bool sandbox_told;   /* that libraries are left out since it is under seccomp */
	bool leaks_told;     /* that its leak check will fail */
	bool unseen;         /* its mappings are not to be seen any more */
	bool hidden;         /* nothing of ours is to be in the text */
	bool masked;         /* hidden from who reads through the target, but still in the text */
	uint64_t hidden_tsc; /* since when; 0: always */
	bool attached;       /* it outlives us */
	bool is_left;        /* its texts are cleaned: nothing is patched any more */
	bool shared;    /* another process runs in it, or did, that its maker did not wait for */
	bool inherited; /* another tracer of ours was killed here: its patches may be there */
	struct mt_calls_left *left; /* what such a tracer left; NULL: nothing is known of any */
	uint64_t loader;            /* load address of the dynamic loader; 0: a static program */
	char *loader_path;
	bool loader_is_libc;          /* as musl's */
	uint64_t entry;               /* of the program */
	uint64_t debug;               /* address of _r_debug; 0: not known */
	uint64_t debug_pointer;       /* where that stands, when the loader is about; 0: nowhere */
	uint64_t agent;               /* address; 0: none */
	uint64_t detour_at;           /* address of the pointer; 0: none */
	uint64_t detour_original;     /* its value */
	struct mt_calls_rings *rings; /* NULL: none yet */
	const struct mt_calls_swap *swap; /* whose copies of texts are mapped; NULL: none are */
	struct mt_space *code;            /* what is mapped, for unwinding; NULL: not looked at */
	MT_ARRAY(struct mt_calls_place) places;
	mt_calls_entries missed;  /* which were left out for a debugger's breakpoints */
	mt_calls_entries covered; /* which begin with one */
	MT_ARRAY(struct mt_calls_break) breaks;
	MT_ARRAY(struct mt_calls_break) waiting;    /* that could not be made yet */
	MT_ARRAY(struct mt_calls_code) looked_at;   /* files' code that was mapped then */
	MT_ARRAY(struct mt_calls_code_copy) copies; /* that are run: see copied.c */
	MT_ARRAY(struct mt_calls_room) rooms;
	MT_ARRAY(struct mt_calls_gap) gaps; /* see mt_calls_rooms_begin() */
	bool keeps_gaps;
	struct mt_inject_padding inject_padding;
	uint64_t inject_code; /* what mt_calls_inject() made; 0: nothing */
};

struct mt_calls_frames {
	struct mt_event *items;
	size_t count, capacity;
};

typedef MT_ARRAY(struct mt_ring_anchor) mt_calls_anchors;

/* A copy of a ring. */
struct mt_calls_history {
	pid_t pid, lwp;
	uint64_t pc, stack, own_stack, own_stack_bytes; /* the thread's */
	uint64_t tsc;                                   /* when it was made */
	struct mt_ring_view view;
	uint8_t *bytes;                        /* the view's */
	mt_calls_anchors anchors;              /* the view's */
	struct mt_calls_frames before, frames; /* that were open at its first anchor and its last */
	size_t unreported;                     /* of `frames`: see mt_calls_unreported_frames() */
	bool forked, is_continued;             /* see mt_calls_thread */
};

typedef MT_ARRAY(struct mt_calls_history) mt_calls_histories;

struct mt_calls_thread {
	pid_t pid, lwp;
	struct mt_calls_space *space;
	struct mt_calls_rings *rings; /* that its ring is of; NULL: it has none */
	uint32_t ring;
	bool kept;                /* let_go() was called, but the session keeps it until it execs */
	bool guest;               /* a vfork child: it writes into its parent's ring */
	bool forked;              /* of what was open at its birth nothing is known yet */
	uint64_t begin;           /* bytes that are in the recording already, or do not count */
	uint64_t used;            /* bytes that were written when it was last copied */
	bool is_continued;        /* what is before `begin` is in a snapshot */
	mt_calls_anchors anchors; /* the first one is of `begin` */
	uint64_t seen, seen_tsc;  /* how far it had come when the throttle looked */
	/* Its last call that record_missed() wrote: its entry, and the stack pointer there; and how
	 * far its ring was then. */
	uint64_t entered, entered_sp, entered_written;
	unsigned number;    /* $_thread; 0: not known */
	uint64_t stack;     /* a stack pointer of it: for the upper half of those in the ring */
	uint64_t own_stack; /* no coroutine's: a place above all of its frames */
	uint64_t own_stack_bytes; /* that may be as large */
	uint64_t pc;              /* at its last stop */
	uint64_t quiet_sp; /* masked: above it no signal handler's frame was found; 0: one was */
	bool urged;        /* the signal that a stub has sent it is to come yet */
	bool heeded;       /* whether it has that blocked was looked at */
	uint64_t held_tsc; /* since when we have it stopped; 0: we have not, or that is not known */
	uint64_t resumed_tsc, resumed_cpu_ns; /* when it last went on; 0: not known */
	struct mt_calls_frames frames; /* that were open at its first mark, innermost first */
	UT_hash_handle hh;
};

/* A child that was born, and neither added nor let go yet. */
struct mt_calls_birth {
	pid_t pid;
	struct mt_calls_space *parent; /* a reference */
	bool shares;                   /* its parent's memory */
	bool waits;                    /* its parent does, until it execs or ends: vfork */
};

/* A function that is not recorded any more. */
struct mt_calls_throttled {
	pid_t pid, lwp; /* lwp: whose ring it filled */
	uint64_t key;   /* of the function */
	uint64_t address, tsc;
	const char *name; /* lent by the file */
	bool told;        /* it is in the recording */
};

struct mt_calls_engine {
	struct mt_engine base;
	struct mt_target *target;
	struct mt_engine_options options;
	struct mt_calls_file *files;
	struct mt_space_pool *pool; /* for unwinding; NULL: not needed yet */
	struct mt_objfile *vdso;    /* NULL: not seen yet */
	uint8_t *scratch;           /* see mt_calls_scratch(); NULL: not needed yet */
	struct mt_calls_texts_memory {
		uint8_t *bytes; /* or NULL */
		size_t size;
	} texts[2]; /* in which they are composed: what is there, and what is to be */
	bool texts_are_lent;
	struct mt_calls_thread *threads;
	MT_ARRAY(struct mt_calls_module *) modules; /* by site_base */
	MT_ARRAY(struct mt_calls_place) ready;      /* of a process that is to be attached to */
	MT_ARRAY(struct mt_calls_birth) births;
	uint64_t next_tick_ns;
	bool is_asked; /* a thread that comes to a stub may wait there until the next tick */
	bool breathes; /* see mt_calls_breathe() */
	mt_calls_histories ended; /* of threads, in the order of their ends */
	MT_ARRAY(struct mt_calls_throttled) throttled;
	MT_ARRAY(struct mt_calls_condition *) conditions;
	MT_ARRAY(struct mt_calls_value) values; /* by number */
	MT_ARRAY(uint32_t) values_told; /* numbers of triggers of many functions: one was told */
	uint32_t forgotten;             /* so many more ended, for whom there was no room */
};

#endif
