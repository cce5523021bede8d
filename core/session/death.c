/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a program of Go's dies.  Its runtime comes to one of a few functions then, which never
 * return.  These are triggers that nobody asked for: what the runtime is about to print is read
 * there, as a snapshot's reason, and what led there is taken before the report of all goroutines
 * goes over it. */
#include "elf/go_version.h"
#include "session/private.h"

#include <inttypes.h>
#include <string.h>

#define MOST_BYTES 1024

/* By what their results tell: of runtime._panic, which is in rax, an interface's two words. */
#define ARG 8
/* Of internal/abi.Type: the kind, without its flags. */
#define KIND_AT   23
#define KIND_MASK 31

/* Of runtime.g, which is in r14, its thread's runtime.m; of that the goroutine that it runs. */
#define M_OF_G       48
#define CURRENT_OF_M 192

enum { KIND_BOOL = 1, KIND_INT, KIND_INT64 = 6, KIND_UINT, KIND_UINTPTR = 12, KIND_STRING = 24 };

/* The thread that dies, in whose process we read. */
struct dying {
	struct mt_session *session;
	const struct mt_session_thread *thread;
	struct user_regs_struct registers;
};

static size_t read_bytes(const struct dying *dying, uint64_t address, void *out, size_t size)
{
	return mt_session_target_ops(dying->session)
	    ->read(dying->session->target, dying->thread->process->pid, address, out, size);
}

static uint64_t word_at(const struct dying *dying, uint64_t address)
{
	uint64_t word = 0;

	return read_bytes(dying, address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static void append_text(const struct dying *dying, uint64_t address, uint64_t length,
			struct mt_str *out)
{
	char text[MOST_BYTES];
	const size_t most = length < sizeof(text) ? (size_t)length : sizeof(text);
	const size_t got = read_bytes(dying, address, text, most);

	/* A reason is one line. */
	for (size_t i = 0; i < got; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	/* A note's strings end at a NUL. */
	mt_str_append_bytes(out, text, strnlen(text, got));
	mt_str_append(out, length > got ? "..." : "");
}

/* Integers have as many bytes as their kind says: int, int8, int16, int32, int64, and so on. */
static uint64_t integer_at(const struct dying *dying, uint64_t address, unsigned kind)
{
	static const unsigned char bytes[] = {8, 1, 2, 4, 8};
	const bool is_signed = kind <= KIND_INT64;
	const unsigned index = kind - (is_signed ? KIND_INT : KIND_UINT);
	const unsigned unused = 64 - 8 * (kind == KIND_UINTPTR ? 8 : bytes[index]);
	const uint64_t shifted = word_at(dying, address) << unused;

	return is_signed ? (uint64_t)((int64_t)shifted >> unused) : shifted >> unused;
}

/* The argument of panic(): of errors, and what has a method String(), the runtime has made a string
 * by now. */
static void append_panic(const struct dying *dying, struct mt_str *out)
{
	const uint64_t type = word_at(dying, dying->registers.rax + ARG);
	const uint64_t data = word_at(dying, dying->registers.rax + ARG + sizeof(type));
	const unsigned kind = (unsigned)(word_at(dying, type + KIND_AT) & KIND_MASK);

	if (!type)
		mt_str_append(out, "nil");
	else if (kind == KIND_STRING)
		append_text(dying, word_at(dying, data), word_at(dying, data + 8), out);
	else if (kind == KIND_BOOL)
		mt_str_append(out, word_at(dying, data) & 1 ? "true" : "false");
	else if (kind >= KIND_INT && kind <= KIND_INT64)
		mt_str_appendf(out, "%" PRId64, (int64_t)integer_at(dying, data, kind));
	else if (kind >= KIND_UINT && kind <= KIND_UINTPTR)
		mt_str_appendf(out, "%" PRIu64, integer_at(dying, data, kind));
	else
		mt_str_appendf(out, "a value at %#" PRIx64, data);
}

/* Its number; on the thread's own stack that of the goroutine for which the thread does something
 * there.  0: none. */
static uint64_t goroutine_of(const struct dying *dying)
{
	const unsigned at = dying->thread->process->goid_offset;
	const uint64_t g = dying->registers.r14;
	const uint64_t m = word_at(dying, g + M_OF_G);
	const uint64_t current = word_at(dying, m + CURRENT_OF_M);

	if (!at)
		return 0;
	const uint64_t id = word_at(dying, g + at);
	return !id && current && word_at(dying, current + M_OF_G) == m
		   ? word_at(dying, current + at)
		   : id;
}

/* What is told of the first process: its first reason.  If all goroutines wait for each other, the
 * first one is the program. */
static void keep(const struct dying *dying, const struct mt_str *reason)
{
	struct mt_session *session = dying->session;
	const struct mt_session_process *process = dying->thread->process;

	if (session->death || process->pid != session->result.pid || reason->failed)
		return;
	uint64_t id = goroutine_of(dying);
	if (!id && strstr(reason->text, "deadlock"))
		id = 1;
	session->death = strdup(reason->text);
	session->result.death = session->death;
	session->result.death_lwp = dying->thread->lwp;
	session->result.death_goroutine = id;
}

struct mt_error *mt_session_read_death(struct mt_session *session,
				       const struct mt_session_thread *thread,
				       const struct mt_session_trigger *trigger, struct mt_str *out)
{
	struct dying dying = {.session = session, .thread = thread};

	mt_try(mt_session_target_ops(session)->get_registers(session->target, thread->lwp,
							     &dying.registers));
	if (strcmp(trigger->text, MT_WORDS_PANIC_FUNCTION) == 0) {
		mt_str_append(out, "panic: ");
		append_panic(&dying, out);
	} else {
		mt_str_append(out, "fatal error: ");
		append_text(&dying, dying.registers.rax, dying.registers.rbx, out);
	}
	keep(&dying, out);
	return out->failed ? mt_error_no_memory() : NULL;
}
