/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack of a thread that stands still, as a sample like the kernel's: where it was hit, or
 * crashed, is what a snapshot is about, and the last sample may be older by a whole period. */
#include "engine/sample/private.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES 127 /* as by default the kernel's: kernel.perf_event_max_stack */

static void put(struct mt_str *record, uint64_t word)
{
	mt_str_append_bytes(record, (const char *)&word, sizeof(word));
}

/* The lower half is the first of two fields of 32 bits. */
static void put_pair(struct mt_str *record, int32_t first, int32_t second)
{
	put(record, (uint64_t)(uint32_t)second << 32 | (uint32_t)first);
}

/* What the kernel would do.  Frames lie above one another. */
static void put_chain(const struct mt_sample_engine *engine, const struct mt_sample_thread *thread,
		      const struct user_regs_struct *registers, struct mt_str *record)
{
	uint64_t words[MOST_FRAMES + 1] = {PERF_CONTEXT_USER, registers->rip};
	uint64_t frame[2] = {registers->rbp}, at = 0, count = 2;

	while (count <= MOST_FRAMES && frame[0] > at) {
		at = frame[0];
		if (engine->target->ops->read(engine->target, thread->pid, at, frame,
					      sizeof(frame)) != sizeof(frame) ||
		    !frame[1])
			break;
		words[count++] = frame[1];
	}
	put(record, count);
	mt_str_append_bytes(record, (const char *)words, count * sizeof(*words));
}

/* The registers in the order of the kernel's numbers. */
static void put_registers(const struct user_regs_struct *registers, struct mt_str *record)
{
	const uint64_t words[] = {
	    registers->rax, registers->rbx, registers->rcx, registers->rdx, registers->rsi,
	    registers->rdi, registers->rbp, registers->rsp, registers->rip, registers->r8,
	    registers->r9,  registers->r10, registers->r11, registers->r12, registers->r13,
	    registers->r14, registers->r15,
	};

	put(record, PERF_SAMPLE_REGS_ABI_64);
	mt_str_append_bytes(record, (const char *)words, sizeof(words));
}

static void put_memory(const struct mt_sample_engine *engine, const struct mt_sample_thread *thread,
		       uint64_t address, struct mt_str *record)
{
	const uint64_t size = engine->options.sample.stack_bytes;
	char *bytes = calloc(1, size);

	record->failed |= !bytes;
	if (!bytes)
		return;
	put(record, size);
	size_t filled =
	    engine->target->ops->read(engine->target, thread->pid, address, bytes, size);
	mt_str_append_bytes(record, bytes, size);
	put(record, filled);
	free(bytes);
}

struct mt_error *mt_sample_put_stop(const struct mt_sample_engine *engine,
				    const struct mt_sample_thread *thread, uint64_t time_ns,
				    struct mt_recording_writer *writer)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE,
					   .misc = PERF_RECORD_MISC_USER};
	const bool unwinds = engine->options.sample.stack_bytes != 0;
	mt_auto(mt_str) struct mt_str record = {0};
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);

	/* It was killed meanwhile, or runs. */
	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	mt_str_append_bytes(&record, (const char *)&header, sizeof(header));
	put(&record, 0); /* the event's id, and the time: the writer knows them */
	put(&record, registers.rip);
	put_pair(&record, thread->pid, thread->lwp);
	put(&record, 0);
	put_pair(&record, -1, 0); /* the CPU */
	if (unwinds) {
		put(&record, 0); /* no chain */
		put_registers(&registers, &record);
		put_memory(engine, thread, registers.rsp, &record);
	} else {
		put_chain(engine, thread, &registers, &record);
	}
	if (record.failed)
		return mt_error_no_memory();
	header.size = (uint16_t)record.length;
	memcpy(record.text, &header, sizeof(header));
	const struct mt_sideband left = {
	    .time_ns = time_ns,
	    .kind = MT_SIDEBAND_SWITCH,
	    .pid = thread->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .context_switch = {.out = true, .other_pid = -1, .other_tid = -1},
	};

	mt_try(mt_recording_writer_put_stack(writer, MT_STACK_STOP, (const void *)record.text,
					     time_ns));
	return mt_recording_writer_put(writer, &left);
}
