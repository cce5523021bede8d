/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_output SLICES PATH…: has a format's writer write so many calls, and prints for each path
 * the CPU time of this thread, that of all, and the clock, in seconds, and the bytes that came out.
 * For "none" they are thrown away: that is the cost of the walk.
 *
 * The calls are a walk through 500 functions of 40 files, each called from four lines, down to
 * fourteen levels.  Of 15 times 14 are estimates, as in recordings with sampled stamps. */
#include "no_sink.h"
#include "output/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FUNCTIONS = 500, FILES = 40, LEVELS = 14, SITES = 4 };

static struct mt_function functions[FUNCTIONS];

static void must(struct mt_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "bench_output: %s\n", mt_error_message(error));
	exit(1);
}

static void make_functions(void)
{
	static char names[FUNCTIONS][32], files[FILES][64];

	for (unsigned i = 0; i < FILES; i++)
		snprintf(files[i], sizeof(files[i]), "/usr/src/program/part%u/file%u.c", i / 8, i);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%u", i);
		functions[i] = (struct mt_function){
		    .id = i,
		    .name = names[i],
		    .module = "/usr/bin/program",
		    .start = 0x401000 + i * 0x100,
		    .end = 0x401100 + i * 0x100,
		    .source = {.file = files[i % FILES], .line = 10 + i},
		};
	}
}

static void write_slices(struct mt_slice_sink *sink, uint64_t slices)
{
	const struct mt_slice_sink_ops *ops = sink->ops;
	const struct mt_thread thread = {
	    .pid = 100, .tid = 101, .name = "thread", .process = "program"};
	struct mt_thread_segment segment = {.begin_ns = 1000000, .snapshot = 1};
	uint32_t depth = 0, random = 1;
	uint64_t time_ns = segment.begin_ns;

	must(ops->thread(sink->self, &thread));
	must(ops->segment_begin(sink->self, &segment));
	for (uint64_t begun = 0; begun < slices || depth;) {
		bool is_estimated;

		random = random * 1664525 + 1013904223;
		time_ns += 1 + (random >> 26);
		is_estimated = (random >> 8) % 15 != 0;
		if (begun < slices && depth < LEVELS && (!depth || random >> 31)) {
			const unsigned callee = (random >> 12) % FUNCTIONS;
			const unsigned caller = (callee * 7 + (random >> 28) % SITES) % FUNCTIONS;
			const struct mt_slice slice = {
			    .time_ns = time_ns,
			    .kind = MT_SLICE_CALL,
			    .flags = is_estimated ? MT_SLICE_TIME_ESTIMATED : 0,
			    .depth = depth++,
			    .function = &functions[callee],
			    .address = functions[callee].start,
			    .call_site = functions[caller].start + 20,
			    .call_source = {functions[caller].source.file,
					    functions[caller].source.line + 2, 0},
			};

			must(ops->begin(sink->self, &slice));
			begun++;
		} else {
			const struct mt_slice_end end = {
			    .time_ns = time_ns,
			    .flags = is_estimated ? MT_SLICE_END_TIME_ESTIMATED : 0,
			    .depth = --depth,
			};

			must(ops->end(sink->self, &end));
		}
	}
	segment.end_ns = time_ns;
	must(ops->segment_end(sink->self, &segment));
	if (ops->finish)
		must(ops->finish(sink->self));
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run(const char *path, uint64_t slices)
{
	static const clockid_t clocks[] = {CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID,
					   CLOCK_MONOTONIC};
	struct mt_trace_writer *writer = NULL;
	double before[3];
	struct stat file;

	for (int i = 0; i < 3; i++)
		before[i] = seconds(clocks[i]);
	struct mt_slice_sink sink = {&no_ops, NULL};
	if (strcmp(path, "none") != 0) {
		must(mt_trace_writer_create(path, NULL, NULL, &writer));
		sink = mt_trace_writer_sink(writer);
	}
	write_slices(&sink, slices);
	if (writer)
		must(mt_trace_writer_finish(writer));
	mt_trace_writer_destroy(writer);
	printf("%s", path);
	for (int i = 0; i < 3; i++)
		printf(" %.3f", seconds(clocks[i]) - before[i]);
	printf(" %lld\n", stat(path, &file) ? 0LL : (long long)file.st_size);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: bench_output SLICES PATH...\n");
		return 2;
	}
	make_functions();
	for (int i = 2; i < argc; i++)
		run(argv[i], strtoull(argv[1], NULL, 10));
	return 0;
}
