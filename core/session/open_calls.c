/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arguments of the calls that are open in a thread at its end: its stack is unwound while it stands
 * still, and each frame's parameters are read by what DWARF says of them there.  With the loop of
 * an interpreter of Python goes what that runs.  Nothing of it is ever an error: what cannot be had
 * is left out. */
#include "expr/expr.h"
#include "runtime/python.h"
#include "session/languages/python.h"
#include "session/private.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES         256u
#define MOST_WITH_ARGUMENTS 64u
#define MOST_TEXT_BYTES     1024u
/* Of the processor's time: on a busy machine as much is told as on an idle one. */
#define MOST_PATIENCE_NS 200000000u

struct walk {
	struct mt_session_here here; /* the innermost frame */
	struct mt_session *session;
	struct mt_session_process *process;
	struct mt_python_stack python;
	size_t with_arguments; /* so many of the innermost frames */
	size_t count;
	struct mt_unwind_frame frames[MOST_FRAMES];
	struct at {
		struct walk *walk;
		struct mt_expr_frame frame;
	} at[MOST_FRAMES];
};

static const struct mt_unwind_frame *unwound(const struct at *at)
{
	return &at->walk->frames[at - at->walk->at];
}

static void mend(void *context, struct mt_registers *registers)
{
	const struct mt_session_here *here = context;
	const struct mt_engine_text_ops *text = mt_session_engine_ops(here->session)->text;

	if (text)
		text->mend(here->session->engine, here->lwp, registers);
}

static size_t read_at(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct at *at = context;

	return mt_session_read(&at->walk->here, address, buffer, size);
}

/* Vector registers are those of the innermost frame: no callee saves them. */
static bool get_register(void *context, unsigned number, void *bytes, size_t size)
{
	const struct at *at = context;
	const struct mt_registers *registers = &unwound(at)->registers;

	if (number >= MT_REGISTER_COUNT) {
		const struct mt_expr_frame thread =
		    mt_session_frame_of(&at->walk->here, false, false);

		return at == at->walk->at &&
		       thread.ops->get_register(thread.context, number, bytes, size);
	}
	if (!(registers->known >> number & 1) || size > sizeof(uint64_t))
		return false;
	memcpy(bytes, &registers->values[number], size);
	return true;
}

static bool get_cfa(void *context, uint64_t *cfa)
{
	*cfa = unwound(context)->cfa;
	return *cfa != 0;
}

/* A handler was called by nobody. */
static bool get_caller(void *context, struct mt_expr_frame *caller)
{
	const struct at *at = context;

	if ((size_t)(at - at->walk->at) + 1 >= at->walk->count || unwound(at + 1)->signal)
		return false;
	*caller = at[1].frame;
	return true;
}

static const struct mt_expr_ops ops = {
    .read = read_at, .get_register = get_register, .get_cfa = get_cfa, .get_caller = get_caller};

/* What is outside of it belongs to the C library, or to a language's runtime. */
static bool is_outermost(const struct walk *walk, const struct mt_unwind_frame *frame)
{
	const struct mt_function *function =
	    mt_space_function_at(walk->process->code, mt_unwind_inside(frame));

	return function && function->name && strcmp(function->name, "main") == 0;
}

static void set_frame(struct walk *walk, size_t index)
{
	const struct mt_unwind_frame *frame = &walk->frames[index];
	const uint64_t inside = mt_unwind_inside(frame);
	const struct mt_function *function = mt_space_function_at(walk->process->code, inside);
	struct mt_inline_span span = {0};

	mt_space_inlines_at(walk->process->code, inside, &span);
	walk->at[index] = (struct at){
	    .walk = walk,
	    .frame = {.ops = &ops,
		      .context = &walk->at[index],
		      .pc = inside,
		      .next_pc = frame->pc,
		      .inner = (unsigned)span.depth,
		      .at_entry = !index && function && frame->pc == function->start},
	};
}

static void read_python(struct walk *walk, uint64_t thread_id)
{
	struct mt_python_memory memory = {.read = mt_session_read, .context = &walk->here};

	for (size_t i = 0; i < walk->count; i++) {
		const uint64_t inside = mt_unwind_inside(&walk->frames[i]);

		if (!mt_python_is_loop(mt_space_function_at(walk->process->code, inside)))
			continue;
		if (mt_session_find_python(walk->session, walk->process, inside, &memory))
			mt_python_stack_read(&memory, thread_id, SIZE_MAX, &walk->python);
		return;
	}
}

static struct mt_error *unwind(struct walk *walk)
{
	struct user_regs_struct user;
	struct mt_unwinder unwinder;

	mt_try(mt_session_see_all(walk->session, walk->process));
	mt_try(mt_session_target_ops(walk->session)
		   ->get_registers(walk->session->target, walk->here.lwp, &user));
	const struct mt_registers registers = mt_registers_of(&user);
	const struct mt_unwind_source source = {.space = walk->process->code,
						.read = mt_session_read,
						.mend = mend,
						.context = &walk->here};
	mt_unwind_start(&unwinder, &source, &registers);
	while (walk->count < MOST_FRAMES && mt_unwind_next(&unwinder, &walk->frames[walk->count])) {
		set_frame(walk, walk->count);
		if (is_outermost(walk, &walk->frames[walk->count++]))
			break;
	}
	read_python(walk, user.fs_base);
	return NULL;
}

/* What runs in the frame, if that is of an interpreter's loop. */
static const struct mt_python_loop *loop_in(const struct walk *walk,
					    const struct mt_unwind_frame *frame)
{
	const uint64_t sp = frame->registers.values[MT_REGISTER_RSP];

	return frame->registers.known >> MT_REGISTER_RSP & 1
		   ? mt_python_loop_in(&walk->python, sp, frame->cfa)
		   : NULL;
}

/* The text, with its NUL, of at the most so many bytes. */
static void cut(struct mt_str *text)
{
	size_t length = MOST_TEXT_BYTES;

	if (text->length > length) {
		while (length && ((unsigned char)text->text[length] & 0xc0) == 0x80)
			length--;
		text->length = length;
		mt_str_append(text, "...");
	}
	mt_str_append_bytes(text, "", 1);
}

/* A frame of which nothing can be told has its note, too: who knows no stack pointers counts them.
 */
static struct mt_error *put(const struct walk *walk, const struct at *at, uint32_t snapshot,
			    uint64_t time_ns, struct mt_recording_writer *writer)
{
	mt_auto(mt_str) struct mt_str text = {0};
	const struct mt_python_loop *loop = loop_in(walk, unwound(at));
	struct mt_error *error =
	    (size_t)(at - walk->at) < walk->with_arguments
		? mt_expr_known_arguments(walk->process->program, &at->frame, &text)
		: NULL;

	if (error)
		text.length = 0;
	mt_error_destroy(error);
	cut(&text);
	if (loop)
		mt_session_append_python(&walk->python, loop, &text);
	if (text.failed)
		return mt_error_no_memory();
	const struct mt_sideband note = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = walk->here.pid,
	    .tid = walk->here.lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_OPEN_CALL,
		       .ip = at->frame.pc,
		       .address = unwound(at)->cfa - sizeof(uint64_t),
		       .weight = snapshot,
		       .raw = (const uint8_t *)text.text,
		       .raw_size = (uint32_t)text.length},
	};
	return mt_recording_writer_put(writer, &note);
}

static struct mt_error *put_all(const struct walk *walk, uint32_t snapshot, uint64_t time_ns,
				struct mt_recording_writer *writer)
{
	const uint64_t begin_ns = mt_clock_ns(CLOCK_THREAD_CPUTIME_ID);

	const size_t most = walk->python.loops.count ? MOST_FRAMES : walk->with_arguments;

	for (size_t i = 0; i < walk->count && i < most; i++) {
		const struct mt_unwind_frame *frame = &walk->frames[i];

		if (frame->signal || !frame->cfa)
			continue;
		if (mt_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns > MOST_PATIENCE_NS)
			break;
		mt_try(put(walk, &walk->at[i], snapshot, time_ns, writer));
	}
	return NULL;
}

struct mt_error *mt_session_put_open_calls(struct mt_session *session, pid_t lwp, bool is_dying,
					   uint32_t snapshot, struct mt_recording_writer *writer)
{
	const struct mt_session_thread *thread = mt_session_find_thread(session, lwp);
	/* Samples know of no call that could have them. */
	const bool has_calls = !mt_session_engine_ops(session)->samples;
	const bool has_any = thread && has_calls && (is_dying || thread->process->python_loop);
	struct walk *walk = has_any ? calloc(1, sizeof(*walk)) : NULL;

	if (!walk)
		return NULL;
	walk->session = session;
	walk->process = thread->process;
	walk->with_arguments = is_dying ? MOST_WITH_ARGUMENTS : 0;
	walk->here =
	    (struct mt_session_here){.session = session, .pid = thread->process->pid, .lwp = lwp};
	struct mt_error *error = unwind(walk);
	mt_error_destroy(error);
	error = put_all(walk, snapshot, mt_session_now(session), writer);
	mt_python_stack_deinit(&walk->python);
	free(walk);
	return error;
}
