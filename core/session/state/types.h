/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types of a session: it has triggers and watchpoints, processes in which these have their
 * places, and their threads. */
#ifndef MT_SESSION_STATE_TYPES_H
#define MT_SESSION_STATE_TYPES_H

#include "base/array.h"
#include "elf/probe.h"
#include "kernel/event_set.h"
#include "process/jit_list.h"
#include "session/spec/options.h"
#include "session/spec/trigger.h"
#include "session/spec/values.h"
#include "session/spec/watch.h"
#include "session/state/result.h"
#include "space/space.h"
#include "trace/words.h"
#include "tracks/tracks.h"

#include <uthash.h>

/* items NULL: none. */
struct mt_session_value_list {
	struct mt_engine_value *items;
	size_t count;
};

/* Where a trigger stands in a process. */
struct mt_session_site {
	uint64_t address;
	uint32_t trigger;                    /* its number, from 1 */
	bool is_entry;                       /* of a function */
	bool is_begin;                       /* of a span: nobody stops there */
	struct mt_expr *condition;           /* NULL: it has none, or it is not bound yet */
	bool is_bound;                       /* the engine has it */
	struct mt_session_value_list values; /* that the engine records */
	MT_ARRAY(struct mt_expr *) printed;  /* the trigger's `expressions`, once it is bound */
};

/* Where a watchpoint lies in a process. */
struct mt_session_watch_site {
	uint32_t watch; /* its index */
	uint64_t code;  /* where the mapping begins whose file has the variable; 0: of no file */
	struct mt_breakpoint breakpoint;
	uint64_t value; /* that was seen last */
};

/* Where one of the program's own probes lies in a process. */
struct mt_session_probe {
	uint64_t address;
	struct mt_probe probe;
};

/* Where the program itself asks whether a thread is to stop for a debugger's breakpoint. */
struct mt_session_gate {
	struct mt_engine_gate gate;
	char *text;                          /* of the trigger */
	struct mt_expr *parsed;              /* its condition; NULL: none */
	bool is_wanted;                      /* since mt_session_gates_begin() */
	bool is_begin;                       /* of a span */
	bool is_line;                        /* not at a function's entry */
	struct mt_session_value_list values; /* that are recorded there instead */
};

/* A function by which a program says something without being asked: of mtrace.h, or of Go's
 * runtime.
 */
struct mt_session_word_spec {
	const char *function;
	enum mt_words words;
	const char *option; /* what it is called in messages */
};

/* Where one lies. */
struct mt_session_word {
	uint64_t address;
	struct mt_session_word_spec spec;
};

/* Functions of whose calls a debugger's user wants values. */
struct mt_session_value_set {
	uint32_t number;
	size_t mapping_count; /* of the process, when functions were looked for */
	size_t functions;     /* that were found */
};

/* An executable mapping that the recording knows of. */
struct mt_session_map {
	uint64_t start, end, offset;
	uint64_t inode;
	char *path;    /* its own */
	bool is_there; /* it was when the mappings were last read */
	bool is_under; /* code of no file lay in its place then */
};

struct mt_session_process {
	pid_t pid;
	unsigned last_thread;                     /* its number */
	MT_ARRAY(struct mt_session_map) maps;     /* by their starts */
	MT_ARRAY(struct mt_session_map) replaced; /* of files, by code of none: maybe by copies */
	MT_ARRAY(struct mt_session_site) sites;
	MT_ARRAY(struct mt_session_watch_site) watch_sites;
	MT_ARRAY(struct mt_session_probe) probes;
	uint64_t loader;       /* where a breakpoint sees the dynamic loader; 0: nowhere */
	uint64_t entry;        /* of its program; 0: not known, or not needed */
	struct mt_space *code; /* that names in conditions are looked up in; NULL: none yet */
	struct mt_expr_program *program; /* of that */
	MT_ARRAY(struct mt_session_gate) gates;
	MT_ARRAY(struct mt_session_value_set) value_sets;
	struct mt_jit_list *objects;            /* registered for GDB; NULL: there is no list */
	uint64_t objects_ns;                    /* when they were looked at last; 0: never */
	bool moved_told;                        /* that some of its code is not recorded */
	bool has_header;                        /* a file with the functions of mtrace.h came */
	bool is_go;                             /* a program of Go's did */
	unsigned goid_offset;                   /* in its runtime.g; 0: types tell */
	MT_ARRAY(struct mt_session_word) words; /* with gates: where they are */
	size_t words_mappings;                  /* of the process, when they were looked for */
	uint64_t python_loop;  /* CPython's, whose calls are recorded; 0: it has none */
	bool has_python_ended; /* once, of which a snapshot was taken */
	bool has_evaluators;   /* if they are wanted: languages/python_inline.c */
	bool guard_is_told;    /* that it cannot have them */
	bool is_python_deep;   /* it recursed too deep for a frame evaluator */
	UT_hash_handle hh;
};

struct mt_session_thread {
	pid_t lwp;
	unsigned number; /* $_thread; 0: not known */
	struct mt_session_process *process;
	char name[16];               /* as the recording knows it */
	uint64_t last_pc;            /* of the instruction that runs next */
	struct mt_event_set watched; /* the watchpoints' events */
	uint64_t hit_pc; /* a trigger's hit that was counted, but its instruction did not run yet */
	UT_hash_handle hh;
};

struct mt_session_trigger {
	const char *text;
	enum mt_session_values values; /* recorded with each call, which hits nothing */
	const char *option;            /* with `values`: that the user gave: "--args" */
	char *names;                   /* ARGUMENTS: "name, count"; NULL: all parameters */
	struct mt_trigger_spec spec;
	struct mt_trigger_count count; /* where its limits are kept here */
	uint32_t snapshots;            /* that were taken for it */
	bool is_glob;                  /* of names, with `values` */
	bool found;                    /* somewhere, once */
	bool begin_found;              /* likewise where its span begins */
	bool mark;                     /* none of the user's: where the program says marks */
	enum mt_words words;           /* nor is one of mtrace.h */
	uint32_t problems;             /* how often the condition could not be evaluated here */
	char *problem;                 /* why, the first time */
	uint32_t left_out;             /* functions of a glob's whose values cannot be had */
};

struct mt_session {
	struct mt_target *target;
	const struct mt_session_options *options;
	struct mt_engine *engine;
	struct mt_recording_writer *writer;
	struct mt_time_conversion conversion;
	struct mt_tracks *tracks;   /* NULL: no side tracks */
	struct mt_space_pool *pool; /* for triggers' names; NULL without triggers */
	struct mt_session_process *processes;
	struct mt_session_thread *threads;
	MT_ARRAY(struct mt_session_trigger) triggers;
	MT_ARRAY(struct mt_watch_spec) watches;
	struct mt_perf_clock clock;     /* of the watchpoints' hits */
	MT_ARRAY(struct mt_stop) stops; /* that came together */
	struct mt_session_result result;
	struct mt_str why; /* which engine, and why */
	char *death;       /* the result's; NULL: none */
	bool attached;
	bool leaving;        /* all processes: triggers do not count any more */
	bool taking;         /* stops are being handled: see breathe() */
	pid_t hit_lwp;       /* it stands for a trigger until the snapshot is copied; 0: none */
	bool has_bound;      /* triggers, once: see mt_session_tolerate_later() */
	bool has_header;     /* the triggers of mtrace.h are there */
	bool is_asked;       /* for a snapshot: check_request() takes it */
	uint32_t asked;      /* how many of the snapshots were asked for, or no trigger's */
	uint64_t most_bytes; /* of the recording, but for the last snapshots */
	uint64_t told_bytes; /* when it has so many, that is said */
	uint64_t left_out;   /* snapshots for which there was no room */
	bool hidden_is_told; /* that the mappings of a process cannot be read any more */
	bool python_is_told; /* that a version of it is not known */
	bool has_evaluators; /* an interpreter came that can have a frame evaluator */
	struct mt_session_python_text *python_texts; /* that the recording has */
	uint64_t end_ns;                 /* when an attached process is let go; 0: not by time */
	uint64_t request_ns;             /* when the user asked for a snapshot; 0: not */
	uint64_t began_ns, next_look_ns; /* see mt_session_look_for_made() */
	uint64_t ended_ns; /* when the first process ended, and others stayed; 0: not, or said */
};

#endif
