/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hits that pause the trace in the kernel. */
#include "pt_engine_world.h"

#include "perf/event.h"

static struct mt_engine_news stop(const struct world *world, pid_t lwp, enum mt_stop_kind kind)
{
	const struct mt_stop it = {.kind = (uint8_t)kind,
				   .pid = lwp,
				   .lwp = lwp,
				   .signal = kind == MT_STOP_SIGNAL ? MT_TRAP_SIGNAL : 0,
				   .code = kind == MT_STOP_SIGNAL ? MT_TRAP_CODE : 0};
	struct mt_engine_news news;

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
	begin(&world, sysfs_skylake, &(struct mt_engine_options){0});
	standin.pauses = standin.capable = true;
	assert_no_error(mt_engine_pt.add_thread(world.engine, lwp, lwp, 0));
	assert_no_error(mt_engine_pt.set_breakpoint(world.engine, lwp, 0x1000));
	run(&world, lwp, 1000);
	standin_hit(lwp);
	run(&world, lwp, 500);
	news = stop(&world, lwp, MT_STOP_SIGNAL);
	assert_true(news.breakpoint && news.pc == 0x1000 && !news.ordinary);
	take(&world, 1);
	standin_switch(lwp); /* not what it waits for */
	run(&world, lwp, 500);
	assert_int_equal(world.written, 1000);

	go_on(&world, lwp);
	assert_int_equal(world.interrupts, 1);
	standin_switch(lwp);
	news = stop(&world, lwp, MT_STOP_INTERRUPTED);
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
		assert_int_equal(mt_engine_pt.leader(world.engine, lwp) >= 0, i == 3);
		end(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_hit_pauses_until_the_thread_goes_on),
	    cmocka_unit_test(not_all_can_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
