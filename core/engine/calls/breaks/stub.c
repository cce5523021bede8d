/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An int3 in the text kills the program once nobody traces it, and who traces it may be killed at
 * any time, also while a thread stands for its int3.  So the text has a jump instead, to a stub
 * that asks whether we live, and if so sends its thread a signal that does nothing by default, but
 * which a tracer sees.  A thread that has it blocked asks for us in the memory that we share, and
 * waits until we come, which takes a millisecond or two, or are gone:
 *
 *	lea   rsp, [rsp-128]	; below the red zone
 *	push  rcx
 *	mov   rcx, alive	; the word of a robust lock: our number in its low 30 bits, or none
 *	mov   ecx, [rcx]
 *	lea   ecx, [rcx*4]	; no flag changes
 *	jecxz out
 *	push  rax, rdx, rsi, rdi, r11
 *	tgkill(getpid(), gettid(), SIGURG)
 * raised:			; the tracer takes the thread from here to go
 *	pop   r11, rdi, rsi, rdx, rax
 * wait:			; from here too, up to out
 *	mov   rcx, alive
 *	mov   ecx, [rcx]
 *	lea   ecx, [rcx*4]
 *	jecxz out
 *	mov   rcx, asked	; in the memory that we share
 *	mov   dword [rcx], 1
 *	pause
 *	jmp   wait
 * out:	pop   rcx
 *	lea   rsp, [rsp+128]
 * go:	the trampoline of the patch that begins there, or a copy of the instruction
 *
 * Before a gate, threads are let run and waited for by somebody else, whom nobody can ask: a thread
 * that has the signal blocked is counted, and goes on.
 *
 * System calls may be forbidden to a program under seccomp: it gets no such signal, and waits.
 *
 * A jump of its own is put in place of one instruction that is long enough, or of a return with
 * padding behind it, so that nobody can jump into its middle; but to a line's condition: line.c.
 *
 * Source: signal(7); sig_ignored() in the kernel's signal.c keeps ignored signals for tracers. */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/memory/memory.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"
#include "x86/insn.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#define JUMP 0xe9

#define ALIVE_AT       8
#define ASKS_AT        25
#define RAISE_AT       28
#define RAISED_AT      64
#define WAIT_AT        70
#define ALIVE_AGAIN_AT 72
#define ASK_AT         92
#define ASKED_AT       94
#define MOV_ASKED_AT   102
#define LOOP_AT        111
#define OUT_AT         113
#define RAISE_PUSHES   5 /* below rcx */
#define FIRST_BYTES    5 /* of the first instruction */

/* An instruction a line. */
/* clang-format off */
static const uint8_t template[] = {
    0x48, 0x8d, 0x64, 0x24, 0x80,          /* lea rsp, [rsp-128] */
    0x51,                                  /* push rcx */
    0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0,    /* mov rcx, alive */
    0x8b, 0x09,                            /* mov ecx, [rcx] */
    0x8d, 0x0c, 0x8d, 0, 0, 0, 0,          /* lea ecx, [rcx*4] */
    0x67, 0xe3, OUT_AT - RAISE_AT,         /* jecxz out */
    0x50, 0x52, 0x56, 0x57, 0x41, 0x53,    /* push rax, rdx, rsi, rdi, r11 */
    0xb8, SYS_getpid, 0, 0, 0,             /* mov eax, getpid */
    0x0f, 0x05,                            /* syscall */
    0x89, 0xc7,                            /* mov edi, eax */
    0xb8, SYS_gettid, 0, 0, 0,             /* mov eax, gettid */
    0x0f, 0x05,                            /* syscall */
    0x89, 0xc6,                            /* mov esi, eax */
    0xba, SIGURG, 0, 0, 0,                 /* mov edx, SIGURG */
    0xb8, SYS_tgkill, 0, 0, 0,             /* mov eax, tgkill */
    0x0f, 0x05,                            /* syscall */
    0x41, 0x5b, 0x5f, 0x5e, 0x5a, 0x58,    /* raised: pop r11, rdi, rsi, rdx, rax */
    0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0,    /* wait: mov rcx, alive */
    0x8b, 0x09,                            /* mov ecx, [rcx] */
    0x8d, 0x0c, 0x8d, 0, 0, 0, 0,          /* lea ecx, [rcx*4] */
    0x67, 0xe3, OUT_AT - ASK_AT,           /* jecxz out */
    0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0,    /* mov rcx, asked */
    0xc7, 0x41, 0, 1, 0, 0, 0,             /* mov dword [rcx], 1 */
    0xf3, 0x90,                            /* pause */
    0xeb, (uint8_t)(WAIT_AT - OUT_AT),     /* jmp wait */
    0x59,                                  /* out: pop rcx */
    0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0, /* lea rsp, [rsp+128] */
};
/* clang-format on */

/* In place of the pushes: a short jump to the wait. */
static const uint8_t no_raise[] = {0xeb, WAIT_AT - RAISE_AT - 2};
/* In place of the jump back. */
static const uint8_t no_wait[] = {0x66, 0x90};
/* In place of the first jecxz, but for its last byte: nop; a short jump to where that leads. */
static const uint8_t no_ask[] = {0x90, 0xeb};

/* In place of the mov: pushfq; lock inc dword [rcx+4]; popfq; nop. */
static const uint8_t miss[] = {0x9c, 0xf0, 0xff, 0x41, MT_CALLS_MISSED - MT_CALLS_ASKED,
			       0x9d, 0x90};
#define COUNT_AT   (MOV_ASKED_AT + 1)
#define COUNTED_AT (MOV_ASKED_AT + 5) /* the popfq */

/* With the longest copy of an instruction. */
#define STUB_BYTES (sizeof(template) + 64)
/* Copies behind a line's condition, and what describes them to unwinders. */
#define LINE_BYTES 512

/* The next function begins at a multiple of 16. */
static bool is_padding(const uint8_t *bytes, size_t size, uint64_t address, size_t wanted)
{
	uint64_t left = ((address + 15) & ~15ull) - address;
	struct mt_insn insn;

	if (wanted > left)
		return false;
	for (size_t at = 0; at < wanted; at += insn.length) {
		if (mt_insn_decode(bytes + at, size - at, address + at, &insn) ||
		    !mt_plan_is_nop(bytes + at, insn.length))
			return false;
	}
	return true;
}

/* How many bytes a jump of its own may take; 0: there is no room for one. */
static uint8_t room_for_jump(uint64_t address, const uint8_t *bytes, size_t size, uint8_t *insns)
{
	struct mt_insn insn;

	if (mt_insn_decode(bytes, size, address, &insn) ||
	    !mt_plan_can_move(bytes, size, address, true))
		return 0;
	*insns = insn.length;
	if (insn.length >= MT_PATCH_JUMP_BYTES)
		return insn.length;
	if (insn.class != MT_INSN_RETURN || size < MT_PATCH_JUMP_BYTES ||
	    !is_padding(bytes + insn.length, size - insn.length, address + insn.length,
			MT_PATCH_JUMP_BYTES - insn.length))
		return 0;
	return MT_PATCH_JUMP_BYTES;
}

static struct mt_error *write_stub(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_break *one, struct mt_calls_room *room,
				   const uint8_t *go, size_t size)
{
	uint8_t bytes[STUB_BYTES];
	uint64_t alive = mt_calls_alive_word(space->rings);
	uint64_t asked = space->rings->address + MT_CALLS_ASKED;

	memcpy(bytes, template, sizeof(template));
	memcpy(bytes + ALIVE_AT, &alive, sizeof(alive));
	memcpy(bytes + ALIVE_AGAIN_AT, &alive, sizeof(alive));
	memcpy(bytes + ASKED_AT, &asked, sizeof(asked));
	if (mt_calls_sandbox(engine, space)) {
		memcpy(bytes + RAISE_AT, no_raise, sizeof(no_raise));
		if (!one->gate)
			mt_calls_note_asked(engine, space);
	}
	if (one->gate) {
		memcpy(bytes + MOV_ASKED_AT, miss, sizeof(miss));
		memcpy(bytes + LOOP_AT, no_wait, sizeof(no_wait));
	}
	memcpy(bytes + sizeof(template), go, size);
	mt_try(engine->target->ops->write(engine->target, space->pid, room->used, bytes,
					  sizeof(template) + size));
	one->stub = room->used;
	one->raised = room->used + RAISED_AT;
	one->copy = room->used + sizeof(template);
	room->used += sizeof(template) + size;
	return NULL;
}

/* A jump of the stub's to TARGET. */
static struct mt_error *write_stub_to(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      struct mt_calls_break *one, struct mt_calls_room *room,
				      uint64_t target)
{
	uint8_t jump[MT_PATCH_JUMP_BYTES] = {JUMP};
	uint32_t distance = (uint32_t)(target - (room->used + sizeof(template) + sizeof(jump)));

	memcpy(jump + 1, &distance, sizeof(distance));
	return write_stub(engine, space, one, room, jump, sizeof(jump));
}

/* Behind a line's condition. */
static struct mt_error *make_behind(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    struct mt_calls_break *one, struct mt_calls_room *room,
				    const uint8_t *bytes, uint8_t length)
{
	const uint64_t address = (room->used + 7) & ~7ull;
	uint64_t copy = 0;

	mt_try(mt_calls_line_displace(engine, one, address, bytes, length, &copy));
	if (!copy) { /* its operands are too far away */
		struct mt_error *error = mt_error_new(MT_ERROR_UNSUPPORTED, "%s", MT_CALLS_NO_JUMP);

		if (one->gate)
			return error;
		mt_calls_condition_leave(engine, one->condition, error);
		return NULL;
	}
	room->used = address + one->condition->code.trampolines.code.count;
	mt_try(mt_calls_condition_write(engine, space, one->condition, address, copy));
	mt_try(write_stub_to(engine, space, one, room, copy));
	one->length = length;
	return mt_calls_condition_describe(engine, space, one->condition, room);
}

/* With a copy of the instruction. */
static struct mt_error *make_own(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 struct mt_calls_break *one, struct mt_calls_room *room,
				 const uint8_t *bytes, uint8_t insn_length, uint8_t length)
{
	const struct mt_patch patch = {.address = one->address, .length = insn_length};
	const struct mt_trampoline_config config = {.address = room->used + sizeof(template),
						    .ring_bytes =
							(uint32_t)engine->options.ring_bytes};
	struct mt_trampolines code = {0};
	struct mt_error *error = NULL;
	int failed = mt_trampoline_append(&code, &config, &patch, bytes, 0);

	if (failed == -1)
		error = mt_error_no_memory();
	else if (!failed && code.code.count <= STUB_BYTES - sizeof(template))
		error = write_stub(engine, space, one, room, code.code.items, code.code.count);
	if (one->stub)
		one->length = length;
	mt_trampolines_deinit(&code);
	return error;
}

/* In front of the stub.  Where it does not hold, the thread goes on in what the program's unwinder
 * knows. */
static struct mt_error *put_condition(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      struct mt_calls_room *room, const struct mt_calls_break *one)
{
	if (!mt_calls_break_is_compiled(one))
		return NULL;
	uint64_t address = (room->used + 7) & ~7ull;
	room->used = address + one->condition->code.trampolines.code.count;
	return mt_calls_condition_write(engine, space, one->condition, address, one->next);
}

/* In front of code that goes on at TARGET. */
static struct mt_error *make_before(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    struct mt_calls_break *one, struct mt_calls_room *room,
				    uint64_t target)
{
	one->next = target;
	mt_try(put_condition(engine, space, room, one));
	one->length = 0;
	mt_try(write_stub_to(engine, space, one, room, target));
	return mt_calls_break_is_compiled(one)
		   ? mt_calls_condition_describe(engine, space, one->condition, room)
		   : NULL;
}

static void include(struct mt_calls_room_wish *wish, uint64_t address)
{
	if (address < wish->start)
		wish->start = address;
	if (address + MT_PATCH_JUMP_BYTES > wish->end)
		wish->end = address + MT_PATCH_JUMP_BYTES;
}

/* What leads to the stub of ONE, which goes on at TARGET, and all that comes to stand right behind
 * it when others go: these may lie farther apart than any jump reaches. */
static struct mt_calls_room_wish wish_of(const struct mt_calls_space *space,
					 const struct mt_calls_break *one, uint64_t target)
{
	const uint64_t from = one->hook ? one->hook : one->address;
	struct mt_calls_room_wish wish = {
	    .start = from, .end = from + MT_PATCH_JUMP_BYTES, .bytes = STUB_BYTES};

	if (mt_calls_break_is_compiled(one))
		wish.bytes += mt_calls_condition_bytes(one->condition);
	include(&wish, target);
	mt_array_each (other, &space->breaks) {
		if (!other->next || other->hook != one->hook || other->address != one->address)
			continue;
		include(&wish, mt_calls_stub_entry(other));
		include(&wish, other->next);
	}
	return wish;
}

struct mt_error *mt_calls_stub_make_before(struct mt_calls_engine *engine,
					   struct mt_calls_space *space, pid_t lwp,
					   struct mt_calls_break *one, uint64_t target)
{
	const struct mt_calls_room_wish wish = wish_of(space, one, target);
	struct mt_calls_room *room = NULL;

	mt_try(mt_calls_room_find(engine, space, lwp, target, &wish, &room));
	return make_before(engine, space, one, room, target);
}

struct mt_error *mt_calls_stub_make(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, struct mt_calls_break *one, const uint8_t *bytes,
				    size_t size)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	ssize_t patch = !place      ? -1
			: one->gate ? mt_calls_planned_at(place, one->address)
				    : mt_calls_patch_at(place, one->address);
	struct mt_calls_room *room = NULL;
	uint8_t insn_length = 0;
	uint8_t length = room_for_jump(one->address, bytes, size, &insn_length);
	bool turns =
	    patch >= 0 && mt_calls_patch_address(place->module, (size_t)patch) == one->address;
	struct mt_calls_line line = {0};

	if (one->condition && !turns)
		mt_try(mt_calls_line_room(engine, space, place, one, insn_length, size, &line));
	if (one->condition)
		mt_try(mt_calls_condition_compile(engine, space, one->condition, one->address,
						  line.why_not));
	const bool is_line = mt_calls_break_is_compiled(one) && line.length;
	if (!turns && !length && !is_line)
		return NULL;
	/* In front of a patch's trampoline, and of those that are there already. */
	const uint64_t target =
	    turns ? mt_calls_stub_before(space, one->address,
					 place->module->room + place->module->offsets[patch])
		  : one->address;
	struct mt_calls_room_wish wish = wish_of(space, one, target);
	if (is_line)
		wish.bytes += LINE_BYTES;
	struct mt_error *error = mt_calls_room_find(engine, space, lwp, one->address, &wish, &room);
	if (error && mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
		mt_error_destroy(error); /* none is free */
		return NULL;
	}
	if (error)
		return error;
	if (turns)
		return make_before(engine, space, one, room, target);
	return is_line ? make_behind(engine, space, one, room, bytes, line.length)
		       : make_own(engine, space, one, room, bytes, insn_length, length);
}

struct mt_error *mt_calls_stub_silence(struct mt_calls_engine *engine,
				       const struct mt_calls_break *one, pid_t pid)
{
	mt_try(engine->target->ops->write(engine->target, pid, one->stub + ASKS_AT, no_ask,
					  sizeof(no_ask)));
	return engine->target->ops->write(engine->target, pid, one->stub + LOOP_AT, no_wait,
					  sizeof(no_wait));
}

bool mt_calls_stub_waits(const struct mt_calls_break *one, uint64_t pc)
{
	return pc >= one->stub + WAIT_AT && pc < one->stub + OUT_AT;
}

/* Whether a thread asked since the last time. */
static bool take_question(const struct mt_calls_space *space)
{
	uint32_t *asked;

	if (!space->rings || !space->breaks.count)
		return false;
	asked = (uint32_t *)(space->rings->slots + MT_CALLS_ASKED);
	return __atomic_load_n(asked, __ATOMIC_RELAXED) &&
	       __atomic_exchange_n(asked, 0, __ATOMIC_ACQ_REL);
}

void mt_calls_note_asked(struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	if (!engine->is_asked)
		mt_log(
		    engine->options.log, MT_LOG_DEBUG,
		    "process %d may block SIGURG, by which threads stop for triggers: whether one "
		    "waits for us is looked at each millisecond",
		    space->pid);
	engine->is_asked = true;
}

void mt_calls_stub_answer(struct mt_calls_engine *engine)
{
	bool asked = false;

	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		asked |= take_question(thread->space);
	if (!asked)
		return;
	mt_calls_note_asked(engine, engine->threads->space);
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		struct user_regs_struct registers;
		const struct mt_calls_break *there;

		mt_error_destroy(mt_target_halt(engine->target, thread->pid));
		struct mt_error *error =
		    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
		there = error ? NULL : mt_calls_break_of_stub(thread->space, registers.rip);
		if (there && mt_calls_stub_waits(there, registers.rip))
			error = mt_target_interrupt(engine->target, thread->lwp);
		mt_error_destroy(error);
	}
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		mt_target_release(engine->target, thread->pid);
}

static struct mt_error *no_stack(pid_t lwp)
{
	return mt_error_new(MT_ERROR_GONE, "thread %d has no stack", lwp);
}

struct mt_error *mt_calls_stub_leave(struct mt_calls_engine *engine,
				     const struct mt_calls_break *one, pid_t pid, pid_t lwp)
{
	struct user_regs_struct registers;
	uint64_t words[RAISE_PUSHES + 1] = {0}, *word = words;

	mt_try(engine->target->ops->get_registers(engine->target, lwp, &registers));
	size_t size = registers.rip == one->raised ? sizeof(words) : sizeof(words[0]);
	if (engine->target->ops->read(engine->target, pid, registers.rsp, words, size) != size)
		return no_stack(lwp);
	if (registers.rip == one->raised) {
		registers.r11 = *word++;
		registers.rdi = *word++;
		registers.rsi = *word++;
		registers.rdx = *word++;
		registers.rax = *word++;
	}
	registers.rcx = *word;
	registers.rsp += size + MT_RING_RED_ZONE;
	registers.rip = one->copy;
	registers.orig_rax = (uint64_t)-1; /* nothing is to be done again */
	return engine->target->ops->set_registers(engine->target, lwp, &registers);
}

/* How many words are pushed at an offset: rcx, rax, rdx, rsi, rdi, r11. */
static unsigned words_at(uint64_t at)
{
	static const struct {
		uint8_t from, words;
	} steps[] = {
	    {0, 0},  {6, 1},  {29, 2}, {30, 3}, {31, 4}, {32, 5},         {34, 6},
	    {66, 5}, {67, 4}, {68, 3}, {69, 2}, {70, 1}, {OUT_AT + 1, 0},
	};
	unsigned words = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && steps[i].from <= at; i++)
		words = steps[i].words;
	return words;
}

struct mt_error *mt_calls_stub_retreat(struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	uint64_t pushed[RAISE_PUSHES + 1] = {0};

	mt_try(engine->target->ops->get_registers(engine->target, thread->lwp, &registers));
	const struct mt_calls_break *one = mt_calls_break_of_stub(thread->space, registers.rip);
	if (!one || !one->gate)
		return NULL;
	const uint64_t at = registers.rip - one->stub;
	const unsigned words = words_at(at);
	const bool is_counting = at >= COUNT_AT && at <= COUNTED_AT;
	if (one->hook && registers.rip <= one->raised)
		one->condition->lost++; /* nobody asks at a return again */
	else if (mt_calls_break_is_timed(one) && registers.rip <= one->raised)
		mt_calls_reopen_span(thread, one->condition);
	unsigned long long *const values[] = {&registers.rcx, &registers.rax, &registers.rdx,
					      &registers.rsi, &registers.rdi, &registers.r11};

	if (is_counting) {
		if (engine->target->ops->read(engine->target, thread->pid, registers.rsp,
					      &registers.eflags,
					      sizeof(registers.eflags)) != sizeof(registers.eflags))
			return no_stack(thread->lwp);
		registers.rsp += sizeof(registers.eflags);
	}
	if (words &&
	    engine->target->ops->read(engine->target, thread->pid, registers.rsp, pushed,
				      words * sizeof(pushed[0])) != words * sizeof(pushed[0]))
		return no_stack(thread->lwp);
	for (unsigned i = 0; i < words; i++)
		*values[i] = pushed[words - 1 - i];
	registers.rsp += words * sizeof(pushed[0]);
	if (at >= FIRST_BYTES && registers.rip < one->copy)
		registers.rsp += MT_RING_RED_ZONE;
	registers.rip = one->address;
	registers.orig_rax = (uint64_t)-1;
	return engine->target->ops->set_registers(engine->target, thread->lwp, &registers);
}
