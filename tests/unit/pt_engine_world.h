/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine `pt` over a kernel of ours: its system calls are wrapped at link time (see the
 * Makefile), and go to the stand-in that mtdb is preloaded with in tests/pt. */
#ifndef MT_TESTS_PT_ENGINE_WORLD_H
#define MT_TESTS_PT_ENGINE_WORLD_H

#define PT_STANDIN_WRAPPED
#include "../fixtures/pt_standin.c"
#include "check_sink.h"
#include "perf_fixture.h"
#include "sysfs_tree.h"

#include "engine/pt/private.h"

#define PID     4242
#define RING    (16u << 10)
#define HISTORY (1u << 20)

struct world {
	struct mt_target target;
	struct mt_engine *engine;
	struct mt_recording_writer *writer;
	struct mt_recording *recording;
	char *root;
	int halts, releases, interrupts, resumes;
	uint64_t pc;              /* where its threads stand */
	uint8_t history[HISTORY]; /* all that the processor wrote */
	size_t written;
	uint32_t random;
};

static struct mt_error *halt_program(struct mt_target *target, pid_t pid)
{
	(void)pid;
	((struct world *)target)->halts++;
	return NULL;
}

static void release_program(struct mt_target *target, pid_t pid, pid_t but)
{
	(void)but;
	(void)pid;
	((struct world *)target)->releases++;
}

static struct mt_error *interrupt_thread(struct mt_target *target, pid_t lwp)
{
	(void)lwp;
	((struct world *)target)->interrupts++;
	return NULL;
}

static struct mt_error *resume_thread(struct mt_target *target, pid_t lwp, enum mt_resume how,
				      int signal)
{
	(void)lwp;
	(void)how;
	(void)signal;
	((struct world *)target)->resumes++;
	return NULL;
}

static struct mt_error *get_registers(struct mt_target *target, pid_t lwp,
				      struct user_regs_struct *registers)
{
	(void)lwp;
	memset(registers, 0, sizeof(*registers));
	registers->rip = ((struct world *)target)->pc;
	return NULL;
}

static const struct mt_target_ops target_ops = {.get_registers = get_registers};
static const struct mt_run_ops run_ops = {
    .halt = halt_program,
    .release = release_program,
    .interrupt = interrupt_thread,
    .resume = resume_thread,
};

static void begin(struct world *world, const char *const *tree,
		  const struct mt_engine_options *options)
{
	struct mt_recording_pt pt;
	struct mt_recording_writer_options writer_options = {.pt = &pt};
	struct mt_engine_options all = *options;

	memset(world, 0, sizeof(*world));
	world->target.ops = &target_ops;
	world->target.run = &run_ops;
	world->random = 1;
	world->root = make_sysfs(tree);
	standin = (struct standin){
	    .sysfs = world->root, .paranoid = 2, .user_time = true, .counts = standin.counts};
	if (!all.ring_bytes)
		all.ring_bytes = RING;
	assert_true(mt_perf_kernel_conversion(&all.conversion));
	writer_options.conversion = all.conversion;
	assert_no_error(mt_engine_pt.create(&world->target, &all, &world->engine));
	mt_engine_pt.describe(world->engine, &pt);
	assert_no_error(mt_recording_writer_create(NULL, &writer_options, &world->writer));
}

static void take(struct world *world, uint32_t number)
{
	assert_no_error(mt_engine_pt.snapshot(world->engine, 0, number, world->writer));
}

static void finish_recording(struct world *world)
{
	assert_no_error(mt_recording_writer_finish(world->writer));
	assert_no_error(mt_recording_writer_reopen(world->writer, &world->recording));
}

/* Nothing stays behind. */
static void end(struct world *world)
{
	mt_engine_pt.destroy(world->engine);
	mt_recording_close(world->recording);
	mt_recording_writer_destroy(world->writer);
	assert_int_equal(standin.events, 0);
	assert_int_equal(standin.locked_bytes, 0);
	assert_int_equal(world->halts, world->releases);
	remove_sysfs(world->root);
	standin = (struct standin){0};
}

/* Bytes that hold no PSB. */
static void run(struct world *world, pid_t lwp, size_t size)
{
	uint8_t *begin_of = world->history + world->written;

	for (size_t i = 0; i < size; i++) {
		world->random = world->random * 1103515245u + 12345u;
		begin_of[i] = (uint8_t)(world->random >> 16 | 1);
	}
	world->written += standin_write(lwp, begin_of, size);
}

static const uint8_t *map(const struct world *world, size_t index, size_t *size)
{
	uint8_t *bytes;

	*size = mt_recording_auxtrace(world->recording, index)->size;
	assert_no_error(mt_recording_map_aux(world->recording, index, 0, *size, &bytes));
	return bytes;
}

/* The piece INDEX is SIZE bytes, and padding, that were written up to END. */
static void check_piece(const struct world *world, size_t index, size_t end_of, size_t size)
{
	size_t mapped;
	const uint8_t *bytes = map(world, index, &mapped);

	assert_int_equal(mapped, (size + 7) / 8 * 8);
	assert_memory_equal(bytes, world->history + end_of - size, size);
	mt_recording_unmap_aux(bytes, mapped);
}

#endif
