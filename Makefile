# SPDX-License-Identifier: GPL-3.0-or-later
# all · check · demo · bench · lint · format · fuzz · soak · install · dist; SAN=address|undefined|thread
CC      ?= gcc
PYTHON  ?= /usr/bin/python3
SAN     ?=
BUILD   ?= build$(if $(SAN),/san-$(SAN))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
            -Wwrite-strings -Wundef -Wvla
CFLAGS   ?= -O2 -g
CPPFLAGS += -D_GNU_SOURCE -DHASH_NONFATAL_OOM=1 -Icore
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(if $(WERROR),-Werror) -fvisibility=hidden -fPIC $(CFLAGS) \
             $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CORE_LIBS := -lipt -ldw -lelf -lZydis -liberty -lz -lpopt -lpthread
CLI_LIBS  := -lreadline

CORE_SOURCES := $(wildcard core/*/*.c)
CLI_SOURCES  := $(wildcard cli/*.c)
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)

CORE_OBJECTS := $(CORE_SOURCES:%.c=$(BUILD)/obj/%.o)
CLI_OBJECTS  := $(CLI_SOURCES:%.c=$(BUILD)/obj/%.o)
UNIT_TESTS   := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/%)

.PHONY: all unit clean
all: $(BUILD)/libmtrace-core.a $(if $(CLI_SOURCES),$(BUILD)/mtdb)

$(BUILD)/libmtrace-core.a: $(CORE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/mtdb: $(CLI_OBJECTS) $(BUILD)/libmtrace-core.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CORE_LIBS) $(CLI_LIBS)

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/libmtrace-core.a
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -Itests/unit $(ALL_CFLAGS) -MMD -MP -o $@ $< $(BUILD)/libmtrace-core.a $(CORE_LIBS) -lcmocka

unit: $(UNIT_TESTS)
	@for test in $^; do $$test || exit 1; done

clean:
	rm -rf build

-include $(CORE_OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(UNIT_TESTS:=.d)
