/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hits that pause the trace in the kernel. */
#include "pt_engine_world.h"

#include "decode/pt_stream.h"
#include "kernel/event.h"

static void begin_pausing(struct world *world, pid_t lwp)
{
	begin(world, sysfs_skylake, &(struct mt_engine_options){0});
	standin.pauses = standin.capable = true;
	assert_no_error(mt_engine_pt.add_thread(world->engine, lwp, lwp, 0));
	assert_no_error(mt_engine_pt.breaks->set(world->engine, lwp, 0x1000, NULL));
}

static struct mt_engine_news stop(const struct world *world, pid_t lwp, enum mt_stop_kind kind,
				  int signal)
{
	const struct mt_stop it = {.kind = (uint8_t)kind,
				   .pid = lwp,
				   .lwp = lwp,
				   .signal = signal,
				   .code = signal == MT_TRAP_SIGNAL ? MT_TRAP_CODE : 0};
	struct mt_engine_news news;

	standin_stretch(lwp, 0);
	assert_no_error(mt_engine_pt.stopped(world->engine, &it, &news));
	return news;
}

static void go_on(const struct world *world, pid_t lwp)
{
	assert_no_error(mt_engine_pt.resume(world->engine, lwp, 0));
}

static void a_hit_pauses_until_the_thread_goes_on(void **state)
{
	pid_t lwp = getpid(); /* its signal has to have somebody to go to */
	struct world world;
	struct mt_engine_news news;

	(void)state;
	begin_pausing(&world, lwp);
	run(&world, lwp, 1000);
	standin_hit(lwp);
	run(&world, lwp, 500);
	news = stop(&world, lwp, MT_STOP_SIGNAL, MT_TRAP_SIGNAL);
	assert_true(news.breakpoint && news.pc == 0x1000 && !news.ordinary);
	take(&world, 1);
	standin_switch(lwp); /* not what it waits for */
	run(&world, lwp, 500);
	assert_int_equal(world.written, 1000);

	go_on(&world, lwp);
	assert_int_equal(world.interrupts, 1);
	standin_switch(lwp);
	news = stop(&world, lwp, MT_STOP_INTERRUPTED, 0);
	assert_true(news.ordinary && !news.breakpoint);
	go_on(&world, lwp);
	assert_int_equal(world.interrupts, 1);
	assert_int_equal(world.resumes, 2);
	run(&world, lwp, 700);
	standin_hit(lwp);
	standin_switch(lwp); /* the stop itself */
	run(&world, lwp, 500);
	take(&world, 2);
	finish_recording(&world);
	assert_int_equal(mt_recording_auxtrace_count(world.recording), 2);
	check_piece(&world, 0, 1000, 1000);
	check_piece(&world, 1, 1700, 700);
	end(&world);
}

/* What a thread does between a hit and a late stop is lost; a handler that was entered meanwhile
 * did nothing yet. */
static void a_stop_that_comes_late_is_a_gap(void **state)
{
	static const struct {
		uint64_t signal_at, stop_at;
		bool late;
	} stops[] = {{0, 0x1000, false}, {0, 0x2000, true}, {0x1000, 0x2000, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		pid_t lwp = getpid();
		struct world world;
		mt_pt_streams streams = {0};

		begin_pausing(&world, lwp);
		run(&world, lwp, 1000);
		standin_hit(lwp);
		world.pc = stops[i].signal_at;
		if (world.pc)
			stop(&world, lwp, MT_STOP_SIGNAL, SIGALRM);
		world.pc = stops[i].stop_at;
		stop(&world, lwp, MT_STOP_SIGNAL, MT_TRAP_SIGNAL);
		take(&world, 1);
		go_on(&world, lwp);
		standin_switch(lwp);
		stop(&world, lwp, MT_STOP_INTERRUPTED, 0);
		run(&world, lwp, 700);
		take(&world, 2);
		finish_recording(&world);
		assert_no_error(mt_pt_streams_read(world.recording, &streams));
		assert_int_equal(streams.items[0].pieces.count, 2);
		assert_int_equal(streams.items[0].pieces.items[1].has_gap, stops[i].late);
		mt_pt_streams_deinit(&streams);
		end(&world);
	}
}

/* All stand still for a snapshot while a thread is on its way to the stop in which its trace goes
 * on. */
static void that_stop_may_be_somebody_elses(void **state)
{
	pid_t lwp = getpid();
	struct world world;

	(void)state;
	begin_pausing(&world, lwp);
	standin_hit(lwp);
	stop(&world, lwp, MT_STOP_SIGNAL, MT_TRAP_SIGNAL);
	go_on(&world, lwp);
	standin_switch(lwp);
	take(&world, 1);
	run(&world, lwp, 700);
	standin_hit(lwp);
	standin_switch(lwp);
	run(&world, lwp, 500);
	assert_int_equal(world.written, 700);
	end(&world);
}

/* Not before Linux 6.13; not who may not see the kernel; not where all is recorded. */
static void not_all_can_pause(void **state)
{
	const struct mt_engine_options all = {.pt.full_execution = true};
	pid_t lwp = getpid();
	struct world world;

	(void)state;
	for (int i = 0; i < 4; i++) {
		begin(&world, sysfs_skylake, i == 2 ? &all : &(struct mt_engine_options){0});
		standin.pauses = i != 0;
		standin.capable = i != 1;
		assert_no_error(mt_engine_pt.add_thread(world.engine, lwp, lwp, 0));
		assert_int_equal(mt_engine_pt.group->leader(world.engine, lwp) >= 0, i == 3);
		end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_hit_pauses_until_the_thread_goes_on),
	    cmocka_unit_test(a_stop_that_comes_late_is_a_gap),
	    cmocka_unit_test(that_stop_may_be_somebody_elses),
	    cmocka_unit_test(not_all_can_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
