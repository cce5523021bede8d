# SPDX-License-Identifier: GPL-3.0-or-later
# `make help` tells the targets.  Nothing is built outside of $(BUILD).
VERSION := 0.1

# "default" is make's own `cc`, which a machine may lack when it has gcc.
ifeq ($(origin CC),default)
CC      := gcc
endif
PYTHON  ?= /usr/bin/python3
PREFIX  ?= /usr/local
# address, undefined, thread, or several with commas: each has its own build directory.
SAN     ?=
BUILD   ?= build$(if $(SAN),/san-$(SAN))
FUZZ_SECONDS ?= 600

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
            -Wwrite-strings -Wundef -Wvla
CFLAGS   ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -DHASH_NONFATAL_OOM=1 -DMT_VERSION='"$(VERSION)"' -Icore -I.
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(if $(WERROR),-Werror) -fvisibility=hidden -fPIC $(CFLAGS) \
             $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
             $(if $(filter thread,$(SAN)),-Wno-tsan) # the rings' fence is for another process
CORE_LIBS := -lipt -ldw -lelf -lZydis -liberty -lz -lisal -llzma -lzstd -lpopt -lpthread
MTDB_LIBS := -lreadline -lncursesw -ltinfo

CORE_SOURCES := $(wildcard core/*/*.c core/*/*/*.c core/*/*/*/*.c)
CORE_ASSEMBLY := $(wildcard core/*/*/*.S core/*/*/*/*.S)
# An archive, since the plugin takes parts of it alone.
PTRACE_SOURCES := $(wildcard ptrace/*.c)
MTDB_SOURCES := $(wildcard cli/*.c prompt/*.c debug/*.c terminal/*.c screen/*.c)
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SOURCES := $(wildcard tests/bench/*.c)
MAN_SOURCES  := $(wildcard docs/man/*.md)

CORE_OBJECTS := $(CORE_SOURCES:%.c=$(BUILD)/obj/%.o) $(CORE_ASSEMBLY:%.S=$(BUILD)/obj/%.o) $(BUILD)/generated/syscall_table.o \
                $(BUILD)/generated/planner_number.o $(BUILD)/generated/html_viewer.o
PTRACE_OBJECTS := $(PTRACE_SOURCES:%.c=$(BUILD)/obj/%.o)
MTDB_OBJECTS := $(MTDB_SOURCES:%.c=$(BUILD)/obj/%.o)
UNIT_OBJECTS := $(UNIT_SOURCES:%.c=$(BUILD)/obj/%.o)
UNIT_TESTS   := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/%)
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(BUILD)/obj/%.o)
FUZZERS      := $(FUZZ_SOURCES:tests/fuzz/%.c=$(BUILD)/%)
FUZZ_SEEDS   := $(FUZZ_SOURCES:tests/fuzz/%.c=$(BUILD)/tests/%)
BENCH_OBJECTS := $(BENCH_SOURCES:%.c=$(BUILD)/obj/%.o)
BENCHES      := $(BENCH_SOURCES:tests/bench/%.c=$(BUILD)/bench/%)
MAN_PAGES    := $(MAN_SOURCES:docs/man/%.md=$(BUILD)/man/%)

# The plugin: for whatever Python GDB was built with, which it alone knows.
PLUGIN_SOURCES := $(wildcard gdb-plugin/*.c gdb-plugin/*/*.c)
PLUGIN_OBJECTS := $(PLUGIN_SOURCES:%.c=$(BUILD)/obj/%.o)
ifneq ($(filter-out help clean dist format lint demo check check-long,$(or $(MAKECMDGOALS),all)),)
-include $(BUILD)/gdb-python.mk
endif
PLUGIN := $(if $(GDB_PYTHON),$(BUILD)/mtrace.abi3.so $(BUILD)/mtrace.py)

# One command after the other, each on all processors, whether or not -j was given.
PARALLEL_MAKE = $(MAKE) $(if $(findstring --jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all unit pytest man check check-long check-kernel check-kernel-newer check-hardware check-gdb-testsuite demo bench bench-calls lint format fuzz fuzzers soak install uninstall pictures dist \
        deb clean help
all: $(BUILD)/libmtrace-core.a $(BUILD)/mtrace-view \
     $(BUILD)/mtdb $(PLUGIN)

$(BUILD)/libmtrace-core.a: $(CORE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libmtrace-ptrace.a: $(PTRACE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/mtdb: $(MTDB_OBJECTS) $(BUILD)/libmtrace-ptrace.a $(BUILD)/libmtrace-core.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CORE_LIBS) $(MTDB_LIBS)

$(BUILD)/gdb-python.mk: scripts/gdb-python
	@mkdir -p $(@D)
	@scripts/gdb-python >$@ || rm $@

# One exported symbol, and nothing of the libraries of GDB's process is ours to meet.
$(BUILD)/mtrace.abi3.so: $(PLUGIN_OBJECTS) $(BUILD)/libmtrace-ptrace.a $(BUILD)/libmtrace-core.a
	$(CC) -shared $(ALL_CFLAGS) $(LDFLAGS) -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -o $@ $^ $(CORE_LIBS)

$(BUILD)/mtrace.py: gdb-plugin/mtrace.py
	@install -m 644 $< $@

$(BUILD)/obj/gdb-plugin/%.o: gdb-plugin/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DPy_LIMITED_API=0x03060000 -isystem $(GDB_PYTHON) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/obj/%.o: %.S Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/mtrace-view: scripts/mtrace-view
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/generated/syscall_table.c: scripts/syscall-table
	@mkdir -p $(@D)
	@scripts/syscall-table $(CC) >$@ || { rm $@; false; }

# What is kept from run to run is made anew when what it was computed by has changed.
PLANNER_SOURCES := $(sort $(wildcard $(addsuffix /*.[ch],core/elf core/x86 core/engine/calls/plan \
                     core/engine/calls/ring core/engine/calls/trampoline)))
$(BUILD)/generated/planner_number.c: $(PLANNER_SOURCES) Makefile
	@mkdir -p $(@D)
	@number=$$(cat $(PLANNER_SOURCES) | sha256sum | cut -c 1-16); \
	echo "#include <stdint.h>" >$@; \
	echo "extern const uint64_t mt_planner_number;" >>$@; \
	echo "const uint64_t mt_planner_number = 0x$${number};" >>$@

# What stands in front of the data of a timeline in HTML, in this order.
VIEWER_SOURCES := $(addprefix core/output/viewer/,head.html viewer.css body.html data.js rows.js counters.js \
                    losses.js draw.js details.js search.js input.js)
$(BUILD)/generated/html_viewer.c: scripts/embed $(VIEWER_SOURCES) Makefile
	@mkdir -p $(@D)
	@scripts/embed mt_html_viewer $(VIEWER_SOURCES) >$@ || { rm $@; false; }

$(BUILD)/generated/%.o: $(BUILD)/generated/%.c Makefile
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# A kernel of the test's own behind kernel/system.h.
PT_ENGINE_TESTS := $(addprefix $(BUILD)/tests/,test_pt_engine test_pt_pause)
$(PT_ENGINE_TESTS): UNIT_LDFLAGS := \
	$(foreach name,syscall mmap munmap ioctl open close,-Wl,--wrap=$(name))
$(PT_ENGINE_TESTS): $(wildcard tests/fixtures/pt_standin*)
$(BUILD)/tests/test_output_stream: UNIT_LDFLAGS := -Wl,--wrap=mt_pool_create
$(BUILD)/tests/test_target_decode_pt: UNIT_LDFLAGS := \
	$(foreach name,pool_processors pool_create pool_destroy pt_decoder_create recording_map_aux,-Wl,--wrap=mt_$(name))
$(BUILD)/tests/test_target_decode_threads: UNIT_LDFLAGS := -Wl,--wrap=mt_pool_processors,--wrap=mt_pool_create
$(BUILD)/tests/test_ptrace_call: UNIT_LDFLAGS := -Wl,--wrap=ptrace -Wl,--wrap=mt_clock_monotonic_ns
$(BUILD)/tests/test_perf_event: UNIT_LDFLAGS := \
	$(foreach name,open_event close read map read_file,-Wl,--wrap=mt_system_$(name))

$(UNIT_OBJECTS) $(FUZZ_OBJECTS): CPPFLAGS += -Itests/unit
# It evaluates expressions over its own variables.
$(BUILD)/obj/tests/unit/test_calls_condition.o $(BUILD)/obj/tests/unit/test_calls_recorded.o: ALL_CFLAGS += -g
$(BUILD)/tests/test_ptrace_call $(BUILD)/tests/test_ptrace_padding $(BUILD)/tests/test_ptrace_wait: $(BUILD)/obj/terminal/ending.o $(BUILD)/libmtrace-ptrace.a
$(BUILD)/tests/test_screen: $(BUILD)/obj/screen/keys.o $(BUILD)/obj/screen/draw.o $(BUILD)/obj/screen/source.o
$(BUILD)/tests/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libmtrace-core.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(UNIT_LDFLAGS) -o $@ $(filter %.o %-ptrace.a,$^) $(BUILD)/libmtrace-core.a $(CORE_LIBS) -lcmocka

$(FUZZ_SEEDS): $(BUILD)/obj/tests/fuzz/seeds.o
$(BUILD)/tests/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/libmtrace-core.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(CORE_LIBS) -lcmocka

$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libmtrace-core.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(CORE_LIBS)

$(BUILD)/man/%: docs/man/%.md
	@mkdir -p $(@D)
	pandoc --standalone --from markdown-smart-tex_math_dollars-citations --to man --variable footer='mtrace $(VERSION)' -o $@ $<

# What a change of the core may break is compiled with them, and fuzzers try their seeds.
unit: $(UNIT_TESTS) $(FUZZ_SEEDS) $(BENCH_OBJECTS)
	@scripts/run-unit $(UNIT_TESTS) $(FUZZ_SEEDS)

pytest: all
	MTRACE_BUILD=$(abspath $(BUILD)) $(PYTHON) -m pytest tests -q -n $$(($$(nproc) + 1))

man: $(MAN_PAGES)

demo:
	@scripts/install-deps build demo
	@$(PARALLEL_MAKE) --no-print-directory -s all
	@scripts/demo $(BUILD)

check:
	@scripts/install-deps build demo test lint
	@scripts/check $(BUILD)

check-long:
	@scripts/install-deps build demo test lint
	@scripts/check --long $(BUILD)

check-kernel: all
	@tests/kernel/run $(BUILD)

check-kernel-newer: all
	@tests/kernel/run --newer $(BUILD)

check-hardware: all
	@scripts/install-deps --report test
	MTRACE_BUILD=$(abspath $(BUILD)) $(PYTHON) -m pytest tests/pt -q -rs -m hardware

check-gdb-testsuite: all
	@scripts/with-plain-debug tests/gdb_testsuite/run --build $(BUILD) $(FILES)

bench: all $(BENCHES)
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_stats
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_output
	@$(if $(PLUGIN),MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_gdb)
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_mtdb

bench-calls: all
	@scripts/install-deps --report bench
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_calls
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_triggers
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_words
	@MTRACE_BUILD=$(abspath $(BUILD)) tests/bench/run_pauses

lint:
	@scripts/lint

format:
	git ls-files -z '*.[ch]' ':!tests/fixtures' ':!tests/kernel' ':!tests/bench' | xargs -0 clang-format -i

# Fuzzers, and the core under them, are built by clang in directories of their own; for
# MemorySanitizer, which has to see all that is written, those that need next to no library, and
# what they need of the core.
MEMORY_FUZZERS := fuzz_pt_packet fuzz_pt_decode
MEMORY_SOURCES := $(wildcard core/base/*.c core/pt/*.c core/x86/*.c)

fuzz:
	@scripts/install-deps build fuzz
	@$(PARALLEL_MAKE) --no-print-directory -s CC=clang SAN=fuzzer-no-link,address,undefined BUILD=$(BUILD)/fuzz fuzzers
	@$(PARALLEL_MAKE) --no-print-directory -s CC=clang SAN=fuzzer-no-link,memory BUILD=$(BUILD)/fuzz-memory \
		CFLAGS='$(CFLAGS) -fsanitize-ignorelist=tests/fuzz/memory.ignorelist' \
		CORE_SOURCES='$(MEMORY_SOURCES)' $(MEMORY_FUZZERS:%=$(BUILD)/fuzz-memory/%)
	@scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)
	@scripts/fuzz $(BUILD)/fuzz-memory $(FUZZ_SECONDS) $(FUZZ_SEED)

fuzzers: $(FUZZERS)

$(BUILD)/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(BUILD)/libmtrace-core.a
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $^ $(CORE_LIBS)

soak: all
	MTRACE_BUILD=$(abspath $(BUILD)) $(PYTHON) -m pytest tests -q -m soak

install: all
	@scripts/install-deps --report docs
	@$(if $(shell command -v pandoc),$(MAKE) --no-print-directory man)
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' VERSION='$(VERSION)' LIBS='$(CORE_LIBS)' \
	 scripts/install $(BUILD)

uninstall:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' scripts/install --uninstall $(BUILD)

# README's, of what is recorded here.
pictures: all
	scripts/pictures $(BUILD) docs/pictures

dist:
	@mkdir -p $(BUILD)
	git archive --prefix=mtrace-$(VERSION)/ -o $(BUILD)/mtrace-$(VERSION).tar.gz HEAD
	@echo $(BUILD)/mtrace-$(VERSION).tar.gz

deb: all
	@VERSION='$(VERSION)' scripts/make-deb $(BUILD)

clean:
	rm -rf build

help:
	@echo 'make demo       record a program that crashes, in GDB, and show its last calls'
	@echo 'make check      lint and all tests but the long ones'
	@echo 'make check-long long comparisons, clang-tidy, the tests under the sanitizers'
	@echo 'make check-kernel a kernel in qemu, with a PMU intel_pt that plays what tests give it'
	@echo 'make check-kernel-newer the same with a kernel of a later release, which it downloads'
	@echo 'make check-hardware  what only a processor with Intel PT can show'
	@echo 'make check-gdb-testsuite  FILES=gdb.base/step*.exp of GDB'\''s own tests, plain beside recorded'
	@echo 'make            build/mtdb and build/libmtrace-core.a; SAN=address|undefined|thread'
	@echo 'make unit       the tests in C'
	@echo 'make pytest     the tests in Python'
	@echo 'make lint       style, layering, static analysis'
	@echo 'make format     put the sources into the style of .clang-format'
	@echo 'make fuzz       FUZZ_SECONDS=600 of each fuzzer; FUZZ_SEED=N: the same inputs each time'
	@echo 'make soak       the tests that take long'
	@echo 'make bench      how fast recordings are decoded, and what conditions and the plugin cost'
	@echo 'make bench-calls what recording calls costs, and triggers on them, beside other tools'
	@echo 'make install    PREFIX=/usr/local DESTDIR=; and make uninstall'
	@echo 'make pictures   README'\''s pictures anew, by chromium-headless-shell'
	@echo 'make dist       a tarball of what is committed'
	@echo 'make deb        Debian packages: mtrace, gdb-mtrace, mtrace-dev'
	@echo 'make clean      remove build/'

-include $(CORE_OBJECTS:.o=.d) $(MTDB_OBJECTS:.o=.d) $(PTRACE_OBJECTS:.o=.d) $(PLUGIN_OBJECTS:.o=.d) $(UNIT_OBJECTS:.o=.d) $(FUZZ_OBJECTS:.o=.d) \
         $(BENCH_OBJECTS:.o=.d)
