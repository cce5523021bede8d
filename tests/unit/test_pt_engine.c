/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into the recording: snapshots, streams, losses, limits, threads that vanish. */
#include "pt_engine_world.h"

#include "decode/decode.h"
#include "decode/pt_stream.h"

#include <dlfcn.h>
#include <limits.h>

static void add(struct world *world, pid_t lwp)
{
	assert_no_error(mt_engine_pt.add_thread(world->engine, PID, lwp, 0));
}

static void snapshots_hold_what_is_new(void **state)
{
	struct world world;

	(void)state;
	for (int counts = 0; counts < 2; counts++) {
		standin.counts = counts;
		begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
		add(&world, PID);
		run(&world, PID, 1000);
		take(&world, 1);
		take(&world, 2); /* nothing is new: no piece, no note */
		run(&world, PID, RING - 500);
		take(&world, 3);
		run(&world, PID, 3 * RING);
		take(&world, 4);
		assert_true(standin_is_enabled(PID));
		finish_recording(&world);
		assert_int_equal(mt_recording_auxtrace_count(world.recording), 3);
		check_piece(&world, 0, 1000, 1000);
		check_piece(&world, 1, RING + 500, RING - 500);
		check_piece(&world, 2, 4 * RING + 500, RING);
		assert_int_equal(mt_recording_auxtrace(world.recording, 1)->offset, 1000);
		assert_true(mt_recording_auxtrace(world.recording, 2)->offset > 1000 + RING - 500);
		end(&world);
	}
}

static void live_snapshots_hold_it_all(void **state)
{
	struct world world;

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){.live = true});
	add(&world, PID);
	run(&world, PID, 1000);
	take(&world, 1);
	run(&world, PID, 1000);
	take(&world, 2);
	finish_recording(&world);
	check_piece(&world, 0, 1000, 1000);
	check_piece(&world, 1, 2000, 2000);
	end(&world);
}

/* Also where nothing was in them when the recording was first kept. */
static void filters_are_told_before_any_data(void **state)
{
	char filter[PATH_MAX + 8];
	const char *const filters[] = {filter, NULL};
	const struct mt_engine_options options = {.pt.filters = filters};
	struct world world;
	Dl_info info;

	/* Not of this program, which may be built where a comma is in the path. */
	(void)state;
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "abort"), &info));
	snprintf(filter, sizeof(filter), "abort@%s", info.dli_fname);
	begin(&world, sysfs_skylake, &options);
	assert_no_error(mt_engine_pt.add_thread(world.engine, getpid(), PID, 0));
	take(&world, 1);
	assert_no_error(mt_recording_writer_keep(world.writer));
	run(&world, PID, 1000);
	take(&world, 2);
	finish_recording(&world);
	check_piece(&world, 0, 1000, 1000);
	assert_int_equal(mt_recording_filter_count(world.recording), 1);
	assert_non_null(strstr(mt_recording_filter(world.recording, 0)->path, "/libc.so.6"));
	end(&world);
}

static void streams_lose_nothing_while_there_is_room(void **state)
{
	struct world world;
	size_t mapped, total = 0;

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){.pt = {.full_execution = true}});
	add(&world, PID);
	for (int i = 0; i < 40; i++) {
		run(&world, PID, 7777);
		standin_stretch(PID, 0);
		assert_no_error(mt_engine_pt.live->drain(world.engine, world.writer));
	}
	take(&world, 0);
	finish_recording(&world);
	for (size_t i = 0; i < mt_recording_auxtrace_count(world.recording); i++) {
		const uint8_t *bytes = map(&world, i, &mapped);
		size_t size = mapped < world.written - total ? mapped : world.written - total;

		assert_int_equal(mt_recording_auxtrace(world.recording, i)->offset, total);
		assert_memory_equal(bytes, world.history + total, size);
		mt_recording_unmap_aux(bytes, mapped);
		total += size;
	}
	assert_int_equal(total, 40 * 7777);
	end(&world);
}

static void full_streams_go_on_with_a_gap(void **state)
{
	struct world world;
	mt_pt_streams streams = {0};

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){.pt = {.full_execution = true}});
	add(&world, PID);
	run(&world, PID, 5 * RING); /* the ring is four times as large */
	assert_false(standin_is_enabled(PID));
	size_t first = world.written;
	assert_no_error(mt_engine_pt.live->drain(world.engine, world.writer));
	assert_true(standin_is_enabled(PID));
	run(&world, PID, 800);
	take(&world, 0);
	finish_recording(&world);
	check_piece(&world, 0, first, first);
	check_piece(&world, 1, first + 800, 800);
	assert_no_error(mt_pt_streams_read(world.recording, &streams));
	assert_int_equal(streams.items[0].pieces.count, 2);
	assert_true(streams.items[0].pieces.items[1].has_gap);
	mt_pt_streams_deinit(&streams);
	end(&world);
}

static void what_the_kernel_says_is_lost_is_a_gap(void **state)
{
	static const struct {
		uint64_t flag;
		enum mt_gap_cause cause;
	} losses[] = {
	    {PERF_AUX_FLAG_TRUNCATED, MT_GAP_AUX_LOST},
	    {PERF_AUX_FLAG_PARTIAL, MT_GAP_PARTIAL},
	    {PERF_AUX_FLAG_COLLISION, MT_GAP_COLLISION},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct world world;
		mt_pt_streams streams = {0};

		begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
		add(&world, PID);
		run(&world, PID, 1000);
		standin_stretch(PID, losses[i].flag);
		run(&world, PID, 600);
		take(&world, 1);
		finish_recording(&world);
		assert_no_error(mt_pt_streams_read(world.recording, &streams));
		assert_int_equal(streams.items[0].pieces.count, 2);
		assert_int_equal(streams.items[0].pieces.items[0].size, 1000);
		assert_true(streams.items[0].pieces.items[1].has_gap);
		assert_int_equal(streams.items[0].pieces.items[1].gap_cause, losses[i].cause);
		mt_pt_streams_deinit(&streams);
		end(&world);
	}
}

static void threads_that_vanish_are_no_error(void **state)
{
	struct world world;

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
	standin.vanished = PID + 1;
	add(&world, PID);
	add(&world, PID + 1);
	assert_int_equal(standin.events, 1);
	take(&world, 1);
	mt_engine_pt.remove_thread(world.engine, PID + 1);
	mt_engine_pt.remove_thread(world.engine, PID);
	assert_int_equal(standin.events, 0);
	end(&world);
}

static void rings_shrink_to_what_may_be_locked(void **state)
{
	struct world world;

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){.ring_bytes = 1u << 20});
	standin.mlock_kb = 400;
	add(&world, PID); /* 36 kB, and 256 of 1024 */
	assert_int_equal(standin.locked_bytes, (36 + 256) << 10);
	add(&world, PID + 1); /* and 64 */
	assert_int_equal(standin.locked_bytes, (36 + 256 + 36 + 64) << 10);
	add(&world, PID + 2); /* nothing is left */
	assert_int_equal(standin.events, 2);
	end(&world);
}

static void the_first_thread_must_have_one(void **state)
{
	static const struct {
		struct standin limits;
		enum mt_error_code code;
		const char *text;
	} cases[] = {
	    {{.mlock_kb = 20}, MT_ERROR_PERMISSION, "perf_event_mlock_kb"},
	    {{.busy = true}, MT_ERROR_BUSY, "record btrace"},
	    {{.refuse_errno = EMFILE}, MT_ERROR_SYSTEM, "ulimit -n"},
	    {{.refuse_errno = EOPNOTSUPP}, MT_ERROR_UNSUPPORTED, "does not have it"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct world world;

		begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
		standin.mlock_kb = cases[i].limits.mlock_kb;
		standin.busy = cases[i].limits.busy;
		standin.refuse_errno = cases[i].limits.refuse_errno;
		assert_error(mt_engine_pt.add_thread(world.engine, PID, PID, 0), cases[i].code,
			     cases[i].text);
		end(&world);
	}
}

static void a_renamed_thread_keeps_its_ring(void **state)
{
	struct world world;

	(void)state;
	begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
	add(&world, PID);
	add(&world, PID + 7);
	run(&world, PID + 7, 500);
	mt_engine_pt.rename_thread(world.engine, PID + 7, PID);
	assert_int_equal(standin.events, 1);
	take(&world, 1);
	finish_recording(&world);
	assert_int_equal(mt_recording_auxtrace_count(world.recording), 1);
	assert_int_equal(mt_recording_auxtrace(world.recording, 0)->tid, PID);
	end(&world);
}

struct mapping_record {
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint8_t identity[24];
	uint32_t protection, flags;
	char path[256];
};

/* Packets of a Skylake, with the program that ran: from the ring to the instructions. */
static void packets_of_real_hardware_come_through(void **state)
{
	static const char *const tree[] = {"intel_pt/type",
					   "8",
					   SYSFS_FORMAT,
					   "intel_pt/caps/psb_cyc",
					   "1",
					   "intel_pt/caps/mtc",
					   "1",
					   "intel_pt/caps/mtc_periods",
					   "8",
					   "intel_pt/caps/psb_periods",
					   "3f",
					   "intel_pt/max_nonturbo_ratio",
					   "37",
					   "intel_pt/tsc_art_ratio",
					   "308:2",
					   NULL};
	struct mapping_record mapping = {
	    PID, PID, 0x401000, 0x1000, 0x1000, {0}, PROT_READ | PROT_EXEC, MAP_PRIVATE, ""};
	size_t size = 0;
	uint8_t *bytes = read_bytes(HELLO "/pt.bin", &size);
	struct check_sink check = {0};
	struct mt_decode_stats stats = {0};
	struct world world;

	(void)state;
	if (!bytes) {
		print_message(HELLO " is not here: skipped\n");
		skip();
	}
	assert_non_null(realpath(HELLO "/hello", mapping.path));
	begin(&world, tree, &(struct mt_engine_options){.ring_bytes = 1u << 20});
	add(&world, PID);
	standin_record(PID, PERF_RECORD_MMAP2, 0, &mapping, sizeof(mapping));
	assert_int_equal(standin_write(PID, bytes, size), size);
	take(&world, 1);
	finish_recording(&world);
	assert_no_error(mt_decode(world.recording, NULL,
				  (struct mt_slice_sink){&check_sink_ops, &check}, &stats));
	assert_string_equal(check_sink_failure(&check), "");
	assert_int_equal(stats.instructions, 8);
	assert_int_equal(stats.gaps, 0);
	check_sink_deinit(&check);
	free(bytes);
	end(&world);
}

/* PSB TSC TMA CBR PSBEND; MTC, CBR, PTW; by the crystal 100 ticks of the TSC later. */
static void values_stand_beside_the_calls(void **state)
{
	static const uint8_t packets[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
					  0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x19, 0x00,
					  0x00, 0x10, 0x00, 0x00, 0x00, 0x00, /* TSC 0x100000 */
					  0x02, 0x73, 0x00, 0x00, 0x00, 0x00, 0x00, /* TMA: CTC 0 */
					  0x02, 0x03, 0x18, 0x00, 0x02, 0x23,  /* CBR 24, PSBEND */
					  0x59, 0x02,                          /* MTC 2 */
					  0x02, 0x03, 0x0c, 0x00,              /* CBR 12 */
					  0x02, 0x12, 0x78, 0x56, 0x34, 0x12}; /* PTW, 4 bytes */
	struct world world;
	uint64_t frequencies[2], times[2];
	size_t count = 0, marks = 0;

	(void)state;
	begin(&world, sysfs_alder_lake,
	      &(struct mt_engine_options){.pt = {.power_events = true, .ptwrite = true}});
	add(&world, PID);
	standin_write(PID, packets, sizeof(packets));
	take(&world, 1);
	finish_recording(&world);
	for (size_t i = 0; i < mt_recording_sideband_count(world.recording); i++) {
		const struct mt_sideband *it = &mt_recording_sideband(world.recording)[i];

		if (it->kind != MT_SIDEBAND_SAMPLE || !it->sample.raw_size)
			continue;
		if (strcmp((const char *)it->sample.raw, "frequency (MHz)") == 0 && count < 2) {
			frequencies[count] = it->sample.weight;
			times[count++] = it->time_ns;
		}
		marks += strcmp((const char *)it->sample.raw, "ptwrite 0x12345678") == 0;
	}
	assert_int_equal(count, 2);
	assert_int_equal(marks, 1);
	assert_int_equal(frequencies[0], 2000 * 24 / 21); /* the clock ticks twice a nanosecond */
	assert_int_equal(frequencies[1], 2000 * 12 / 21);
	/* Two MTCs of 2^3 ticks of the crystal, 55 of the TSC each, two a nanosecond. */
	assert_int_equal(times[1] - times[0], 2 * 8 * 55 / 2);
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(snapshots_hold_what_is_new),
	    cmocka_unit_test(live_snapshots_hold_it_all),
	    cmocka_unit_test(filters_are_told_before_any_data),
	    cmocka_unit_test(streams_lose_nothing_while_there_is_room),
	    cmocka_unit_test(full_streams_go_on_with_a_gap),
	    cmocka_unit_test(what_the_kernel_says_is_lost_is_a_gap),
	    cmocka_unit_test(threads_that_vanish_are_no_error),
	    cmocka_unit_test(rings_shrink_to_what_may_be_locked),
	    cmocka_unit_test(the_first_thread_must_have_one),
	    cmocka_unit_test(a_renamed_thread_keeps_its_ring),
	    cmocka_unit_test(packets_of_real_hardware_come_through),
	    cmocka_unit_test(values_stand_beside_the_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
