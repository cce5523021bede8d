/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPython 3.11 runs a function in Python that Python calls in the same call of its loop, unless the
 * interpreter has a frame evaluator (PEP 523): then each is a call in C, which can be recorded.  So
 * interpreters get one if the user wants that: the loop itself, which does what they do without
 * one, and which they name if they are asked.  No code of ours is in it, so that nothing breaks
 * should we be killed.
 *
 * The word changes while all threads stand still.  A thread that has read it uses what it has read:
 * so optimized code does, and other code is not known (is_laid_out()).
 *
 * Each such call takes some 500 bytes of the thread's stack, where it took none.  The program looks
 * itself if it recurses deeper than would fit into a quarter of that, which nobody does unless he
 * has raised sys.setrecursionlimit(), or made stacks small: then it has no evaluator from there
 * on. */
#include "elf/data_symbol.h"
#include "process/proc.h"
#include "runtime/python.h"
#include "session/languages/python.h"
#include "session/languages/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define SETTER "_PyInterpreterState_SetEvalFrameFunc"

#define DIGITS_OF(number) #number
#define DIGITS(number)    DIGITS_OF(number)
#define INTERPRETER       "*(long *) ($rdi + " DIGITS(MT_PYTHON_THREAD_INTERPRETER_AT) ")"
#define EVALUATOR         "*(long *) (" INTERPRETER " + " DIGITS(MT_PYTHON_INTERPRETER_EVALUATOR_AT) ")"
#define STACK             "*(long *) (" INTERPRETER " + " DIGITS(MT_PYTHON_INTERPRETER_STACK_AT) ")"
#define DEPTH                                                                                      \
	"*(int *) ($rdi + " DIGITS(MT_PYTHON_THREAD_LIMIT_AT) ") - *(int *) ($rdi + " DIGITS(      \
	    MT_PYTHON_THREAD_LEFT_AT) ")"

/* Four times what a call takes. */
#define CALL_BITS "11"
enum { CALL_BYTES = 1 << 11, UNLIMITED_STACK_BYTES = 2 << 20 };

struct exchange {
	struct mt_session_here here; /* the process */
	uint64_t from, to;
	size_t count; /* words that were changed */
};

static struct mt_error *exchange_one(struct exchange *exchange, uint64_t interpreter)
{
	const uint64_t at = interpreter + MT_PYTHON_INTERPRETER_EVALUATOR_AT;
	const struct mt_session *session = exchange->here.session;
	uint64_t word;

	if (mt_session_read(&exchange->here, at, &word, sizeof(word)) != sizeof(word) ||
	    word != exchange->from)
		return NULL;
	exchange->count++;
	return mt_session_target_ops(session)->write(session->target, exchange->here.pid, at,
						     &exchange->to, sizeof(exchange->to));
}

/* Of all interpreters that have FROM for an evaluator: they have TO from now on. */
static struct mt_error *exchange_all(struct mt_session *session,
				     const struct mt_session_process *process,
				     struct exchange *exchange)
{
	struct mt_python_memory memory = {.read = mt_session_read, .context = &exchange->here};
	uint64_t interpreters[MT_PYTHON_MOST_INTERPRETERS];
	struct mt_error *error = NULL;

	if (!mt_session_find_python(session, process, process->python_loop, &memory))
		return NULL;
	mt_try(mt_target_halt(session->target, exchange->here.pid));
	const size_t count = mt_python_interpreters(&memory, interpreters);
	for (size_t i = 0; i < count && !error; i++)
		error = exchange_one(exchange, interpreters[i]);
	mt_target_release(session->target, exchange->here.pid);
	return error;
}

/* That function stores its second argument where we do. */
static bool is_laid_out(struct mt_objfile *objfile)
{
	static const uint8_t store[] = {0x48, 0x89, 0xb7}; /* mov %rsi,DISTANCE(%rdi) */
	static const uint32_t distance = MT_PYTHON_INTERPRETER_EVALUATOR_AT;
	uint8_t wanted[sizeof(store) + sizeof(distance)], bytes[32] = {0};
	const uint64_t setter = mt_objfile_find_function_symbol(objfile, SETTER);

	memcpy(wanted, store, sizeof(store));
	memcpy(wanted + sizeof(store), &distance, sizeof(distance));
	return setter && mt_objfile_read(objfile, setter, bytes, sizeof(bytes)) &&
	       memmem(bytes, sizeof(bytes), wanted, sizeof(wanted));
}

/* Where it holds a thread has to stop at the loop. */
static struct mt_error *append_condition(pid_t pid, struct mt_str *out)
{
	uint64_t stack_bytes = mt_proc_stack_bytes(pid);

	if (!stack_bytes || stack_bytes == RLIM_INFINITY)
		stack_bytes = UNLIMITED_STACK_BYTES;
	mt_str_appendf(out,
		       EVALUATOR " == 0 || " DEPTH " > %" PRIu64 " || (" STACK " != 0 && " DEPTH
				 " > (" STACK " >> " CALL_BITS "))",
		       stack_bytes / CALL_BYTES);
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *add_trigger(struct mt_session *session, pid_t pid)
{
	/* By its address the engine tells it from the values that are recorded there. */
	static const char location[] = MT_PYTHON_LOOP;
	static const struct mt_session_trigger trigger = {
	    .text = location, .option = "--python-calls", .words = MT_WORDS_PYTHON_EVALUATOR};
	mt_auto(mt_str) struct mt_str condition = {0};

	mt_try(append_condition(pid, &condition));
	return mt_session_add_word(session, trigger, condition.text);
}

static struct mt_error *set(struct mt_session *session, const struct mt_session_process *process,
			    size_t *count)
{
	struct exchange exchange = {.here = {.session = session, .pid = process->pid},
				    .to = process->python_loop};
	struct mt_error *error = exchange_all(session, process, &exchange);

	*count = exchange.count;
	return error;
}

struct mt_error *mt_session_set_evaluators(struct mt_session *session,
					   struct mt_session_process *process,
					   struct mt_objfile *objfile)
{
	size_t count;

	if (!session->options->python_calls)
		return NULL;
	if (!is_laid_out(objfile)) {
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "of functions in Python those are not recorded that Python calls: the "
		       "interpreter of process %d is CPython 3.11, but not as it is released (a "
		       "debug build?)",
		       process->pid);
		return NULL;
	}
	process->has_evaluators = true;
	if (session->options->engine.live)
		return NULL;
	if (!session->has_evaluators)
		mt_try(add_trigger(session, process->pid));
	session->has_evaluators = true;
	return set(session, process, &count);
}

/* ERROR is why there is no gate. */
static void do_without_guard(struct mt_session *session, struct mt_session_process *process,
			     const struct mt_error *error)
{
	/* Before the program is patched it runs none of its functions. */
	if (mt_error_code(error) != MT_ERROR_BUSY)
		mt_session_clear_evaluators(session, process, process->pid);
	if (mt_error_code(error) != MT_ERROR_UNSUPPORTED || process->guard_is_told)
		return;
	process->guard_is_told = true;
	mt_log(session->options->engine.log, MT_LOG_WARNING,
	       "of functions in Python those are not recorded that Python calls: nothing would "
	       "look at how deep it recurses (" MT_PYTHON_LOOP ": %s)",
	       mt_error_message(error));
}

struct mt_error *mt_session_guard_evaluators(struct mt_session *session,
					     struct mt_session_process *process,
					     mt_session_set_guard *set_guard, void *context)
{
	mt_auto(mt_str) struct mt_str condition = {0};
	size_t count;

	if (!process->has_evaluators || process->is_python_deep)
		return NULL;
	mt_try(append_condition(process->pid, &condition));
	struct mt_error *error =
	    set_guard(context, MT_PYTHON_LOOP, condition.text, process->python_loop);
	session->has_evaluators = true;
	if (!error)
		return set(session, process, &count);
	do_without_guard(session, process, error);
	return error;
}

struct mt_error *mt_session_check_evaluators(struct mt_session *session,
					     struct mt_session_process *process)
{
	size_t count;

	if (process->is_python_deep)
		return NULL;
	mt_try(set(session, process, &count));
	if (count)
		return NULL;
	mt_log(session->options->engine.log, MT_LOG_WARNING,
	       "process %d recurses so deep in Python that its stack might not last: from here on "
	       "functions in Python that Python calls are not recorded",
	       process->pid);
	process->is_python_deep = true;
	mt_session_clear_evaluators(session, process, process->pid);
	return NULL;
}

void mt_session_clear_evaluators(struct mt_session *session,
				 const struct mt_session_process *process, pid_t pid)
{
	struct exchange exchange = {.here = {.session = session, .pid = pid},
				    .from = process->python_loop};

	if (!session->has_evaluators || !process->python_loop)
		return;
	struct mt_error *error = exchange_all(session, process, &exchange);
	if (error && mt_error_code(error) != MT_ERROR_GONE && !mt_proc_is_dying(pid))
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "in process %d each function in Python stays a call in C: %s", pid,
		       mt_error_message(error));
	mt_error_destroy(error);
}
