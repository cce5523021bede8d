/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB's Python functions, for C. */
#ifndef MT_GDB_PLUGIN_GDB_GDB_H
#define MT_GDB_PLUGIN_GDB_GDB_H

#include "base/str.h"
#include "gdb-plugin/gdb/py.h"

/* Runs a command line.  Its output is appended to OUTPUT; NULL: it is shown. */
struct mt_error *mt_gdb_execute(const char *command, struct mt_str *output);
struct mt_error *mt_gdb_executef(struct mt_str *output, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same where GDB reports a stop: silently, and without the commands of the breakpoint that was
 * hit, which must not run before the stop is printed.  COMMAND cannot fail. */
struct mt_error *mt_gdb_execute_at_stop(const char *command);

/* Prints to GDB's standard output.  After Ctrl-C or "q" at the pager nothing more is shown, and
 * mt_gdb_interrupted() gives the error, once. */
void mt_gdb_print(const char *text); /* as it is */
void mt_gdb_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line "mtrace: TEXT" to GDB's standard error. */
void mt_gdb_warn(const char *text);
/* Prints to the same, as it is. */
void mt_gdb_print_error(const char *text);
struct mt_error *mt_gdb_interrupted(void);
/* Ctrl-C was seen elsewhere; and whether it was. */
void mt_gdb_interrupt(void);
bool mt_gdb_is_interrupted(void);

/* $NAME */
void mt_gdb_set_convenience(const char *name, long long value);

/* How GDB reaches the selected inferior: "native", "core", "remote" …, the caller's to free; NULL:
 * it does not, or it is not known. */
char *mt_gdb_connection(void);
/* Whether GDB's own `record` is on, by whatever method. */
bool mt_gdb_is_recording(void);
/* The value of a setting that is on or off. */
bool mt_gdb_parameter(const char *name);
/* The selected inferior's memory as GDB shows it, without its breakpoints: bytes.  NULL with an
 * exception. */
PyObject *mt_gdb_read_memory(uint64_t address, size_t size);
/* A byte as GDB shows it, which is what is beneath its breakpoints.  False: it shows none. */
bool mt_gdb_read_byte(uint64_t address, uint8_t *byte);
/* Where a breakpoint of GDB's stands, it goes on to stand there, over what is written. */
struct mt_error *mt_gdb_write_memory(uint64_t address, const void *bytes, size_t size);
/* GDB's number of the selected inferior. */
int mt_gdb_inferior(void);
/* Selects one with a process, and some thread of it, silently. */
struct mt_error *mt_gdb_select_inferior(int number);
/* Selects that of a process for a moment; BACK: what mt_gdb_return() selects again, if anything. */
struct mt_error *mt_gdb_visit(pid_t pid, PyObject **back);
void mt_gdb_return(PyObject *back);
/* Has GDB keep the registers of all threads that stand still, as by itself it keeps those of
 * threads that a breakpoint stopped: once it resumes them one by one, any may end the process, and
 * then there are none to be read. */
void mt_gdb_read_registers(void);
/* The process and LWP of the selected inferior and thread; 0: none. */
pid_t mt_gdb_pid(void);
pid_t mt_gdb_lwp(void);
/* Whether the selected thread runs, by "continue &" for instance. */
bool mt_gdb_is_running(void);
/* Whether there is one, and it does not. */
bool mt_gdb_is_standing(void);
/* Whether LWP of the selected inferior does; 0: any of its threads. */
bool mt_gdb_thread_is_running(pid_t lwp);

#endif
