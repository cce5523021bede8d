/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's events.  The clock is the time for which it runs, and not the processor's cycles:
 * those many virtual machines do not have, and a sample is to stand for a time. */
#include "engine/sample/private.h"
#include "kernel/event.h"
#include "kernel/system.h"
#include "perf/kernel_record.h"

#include <asm/perf_regs.h>
#include <unistd.h>

/* The first thread loads a program's libraries. */
#define FIRST_MAPS_BYTES (32u << 10)
#define MAPS_BYTES       (8u << 10)
#define MOST_RING_BYTES  (4u << 20)
/* Of an ordinary user, who may lock little memory: so many threads have rings of one size. */
#define MOST_USER_BYTES (512u << 10)
#define SHARERS         8
#define MOST_HALVINGS   5
#define WHAT            "samples of stacks"

#define REGISTER(name) (1ull << PERF_REG_X86_##name)
/* Those that rules for unwinding are about, and the program counter. */
#define REGISTERS                                                                                  \
	(REGISTER(AX) | REGISTER(BX) | REGISTER(CX) | REGISTER(DX) | REGISTER(SI) | REGISTER(DI) | \
	 REGISTER(BP) | REGISTER(SP) | REGISTER(IP) | REGISTER(R8) | REGISTER(R9) |                \
	 REGISTER(R10) | REGISTER(R11) | REGISTER(R12) | REGISTER(R13) | REGISTER(R14) |           \
	 REGISTER(R15))

static struct perf_event_attr attr_of(const struct mt_engine_sample_options *options, bool kernel,
				      bool raw)
{
	const bool unwinds = options->stack_bytes != 0;
	const struct mt_perf_spec spec = {
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_TASK_CLOCK,
	    .period = options->period_ns,
	    .sample_type = MT_RECORDING_STACK_TYPE |
			   (unwinds ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0),
	    .registers = unwinds ? REGISTERS : 0,
	    .kernel = kernel,
	    .disabled = true,
	    .backward = true,
	    .switches = true,
	    .raw_clock = raw,
	};
	struct perf_event_attr attr = mt_perf_spec_attr(&spec);

	attr.exclude_callchain_kernel = !kernel;
	/* The one or the other: perf shows a stack twice that is there twice. */
	attr.exclude_callchain_user = unwinds;
	attr.sample_stack_user = (uint32_t)options->stack_bytes;
	return attr;
}

struct perf_event_attr mt_sample_attr(const struct mt_sample_engine *engine)
{
	return attr_of(&engine->options.sample, engine->options.kernel, engine->clock.raw);
}

static struct perf_event_attr attr_of_maps(const struct mt_sample_engine *engine)
{
	const struct mt_perf_spec spec = {
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = MT_KERNEL_RECORD_SAMPLE_TYPE,
	    .sideband = true,
	    .raw_clock = engine->clock.raw,
	};
	struct perf_event_attr attr = mt_perf_spec_attr(&spec);

	attr.build_id = mt_perf_kernel_is_at_least(5, 12);
	return attr;
}

static struct mt_error *open_event(const struct perf_event_attr *attr, pid_t lwp, int *fd)
{
	*fd = mt_system_open_event(attr, lwp, -1, -1);
	return *fd >= 0 ? NULL : mt_perf_event_explain(attr, WHAT, lwp, -1, -*fd);
}

struct mt_error *mt_sample_probe(void)
{
	const struct mt_engine_sample_options options = {
	    .period_ns = MT_ENGINE_DEFAULT_SAMPLE_NS,
	    .stack_bytes = MT_ENGINE_DEFAULT_STACK_BYTES,
	};
	const struct perf_event_attr attr = attr_of(&options, false, false);
	int fd = -1;

	mt_try(open_event(&attr, 0, &fd));
	mt_system_close(fd);
	return NULL;
}

static bool is_too_large(const struct mt_error *error)
{
	enum mt_error_code code = error ? mt_error_code(error) : 0;

	return code == MT_ERROR_PERMISSION || code == MT_ERROR_NO_MEMORY;
}

/* The kernel's position moves down from 0. */
uint64_t mt_sample_unread(const struct mt_data_ring *ring)
{
	uint64_t unread = 0;

	if (ring->page)
		unread = ring->read_to - __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	return unread < ring->size_bytes ? unread : ring->size_bytes;
}

uint64_t mt_sample_least_bytes(const struct mt_engine_options *options)
{
	return 2 * (options->sample.stack_bytes + MT_SAMPLE_RECORD_BYTES);
}

/* Enough for what comes between a few looks; GDB looks only when the program stops. */
static uint64_t ring_bytes(const struct mt_sample_engine *engine)
{
	const struct mt_engine_options *options = &engine->options;
	const uint64_t samples = 6ull * MT_ENGINE_TICK_MS * 1000000 / options->sample.period_ns + 1;
	const unsigned halvings = HASH_COUNT(engine->threads) / SHARERS;
	uint64_t size = samples * (options->sample.stack_bytes + MT_SAMPLE_RECORD_BYTES);

	if (options->live || size > MOST_RING_BYTES)
		size = MOST_RING_BYTES;
	if (geteuid() && size > MOST_USER_BYTES)
		size = MOST_USER_BYTES;
	if (geteuid())
		size >>= halvings < MOST_HALVINGS ? halvings : MOST_HALVINGS;
	if (size > options->ring_bytes)
		size = options->ring_bytes;
	return size > mt_sample_least_bytes(options) ? size : mt_sample_least_bytes(options);
}

/* Halves the ring until what may be locked, and what there is, suffices for it. */
static struct mt_error *map_stacks(const struct mt_sample_engine *engine,
				   struct mt_sample_thread *thread)
{
	struct mt_sample_ring *ring = &thread->stacks;
	uint64_t size = ring_bytes(engine);
	struct mt_error *first = mt_data_ring_map(ring->fd, size, true, &ring->data);
	struct mt_error *error = first;

	while (is_too_large(error) && size / 2 >= mt_sample_least_bytes(&engine->options)) {
		if (error != first)
			mt_error_destroy(error);
		size /= 2;
		error = mt_data_ring_map(ring->fd, size, true, &ring->data);
	}
	if (error != first)
		mt_error_destroy(first);
	return error;
}

static struct mt_error *open_all(struct mt_sample_engine *engine, struct mt_sample_thread *thread)
{
	const struct perf_event_attr stacks = mt_sample_attr(engine), maps = attr_of_maps(engine);
	const size_t maps_bytes = thread->lwp == thread->pid ? FIRST_MAPS_BYTES : MAPS_BYTES;

	mt_try(open_event(&maps, thread->lwp, &thread->maps.fd));
	mt_try(mt_data_ring_map(thread->maps.fd, maps_bytes, false, &thread->maps.data));
	mt_try(open_event(&stacks, thread->lwp, &thread->stacks.fd));
	mt_try(map_stacks(engine, thread));
	mt_system_ioctl(thread->stacks.fd, PERF_EVENT_IOC_ENABLE, 0);
	return NULL;
}

struct mt_error *mt_sample_open(struct mt_sample_engine *engine, struct mt_sample_thread *thread)
{
	struct mt_error *error = open_all(engine, thread);

	if (!error) {
		engine->has_ring = true;
		return NULL;
	}
	mt_sample_close(thread);
	/* A thread that has ended needs none. */
	if (mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}

static void close_ring(struct mt_sample_ring *ring)
{
	mt_data_ring_unmap(&ring->data);
	if (ring->fd >= 0)
		mt_system_close(ring->fd);
	ring->fd = -1;
}

void mt_sample_close(struct mt_sample_thread *thread)
{
	close_ring(&thread->stacks);
	close_ring(&thread->maps);
}
