/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as an expression over the fuzzer's own DWARF, in the scope of a function here: whatever
 * comes out, it comes out.  The first byte chooses what is done with the text. */
#include "base/array.h"
#include "expr/expr.h"
#include "space/location.h"
#include "space/unwind.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define RUNS_A_PROGRAM 20000

struct node {
	int value;
	struct node *next;
	unsigned three : 3;
	signed five : 5;
	char name[16];
	union {
		int whole;
		float part;
	} either;
};

enum flags { FLAG_ONE = 1, FLAG_TWO = 2 };

static struct node nodes[4];
static int matrix[2][3];
static double number = 2.5;
static enum flags flags = FLAG_ONE;
static const char *message = "message";
static int (*callback)(int, struct node *);
static uint64_t stack[64];

/* The scope; what its variables hold is what lies in `stack`. */
static int subject(int count, struct node *node)
{
	struct node copy = *node;
	char buffer[8] = "buffer";
	int total = count;

	for (int i = 0; i < count; i++)
		total += matrix[i % 2][i % 3] + buffer[i % 8] + copy.value + flags;
	return total + (int)number + message[0];
}

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	(void)context;
	return got > 0 ? (size_t)got : 0;
}

static bool get_register(void *context, unsigned which, void *bytes, size_t size)
{
	static uint64_t values[4];

	(void)context;
	values[0] = (uint64_t)(uintptr_t)&stack[32];
	if (size > sizeof(values))
		return false;
	memcpy(bytes, values, size);
	return which < MT_REGISTER_MXCSR;
}

static bool get_cfa(void *context, uint64_t *cfa)
{
	(void)context;
	*cfa = (uint64_t)(uintptr_t)&stack[60];
	return true;
}

static const struct mt_expr_ops ops = {
    .read = read_memory, .get_register = get_register, .get_cfa = get_cfa};

static struct mt_space_pool *pool;
static struct mt_space *space;
static struct mt_expr_program *program;

static void check(struct mt_error *error)
{
	if (error)
		abort();
}

static void add_maps(void)
{
	char line[4096], path[4096];
	struct mt_mapping mapping = {.path = path};
	FILE *maps = fopen("/proc/self/maps", "r");
	char own[4096] = "";

	if (!maps || readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
		abort();
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s",
			   &mapping.start, &mapping.end, &mapping.offset, path) == 4 &&
		    strcmp(path, own) == 0)
			check(mt_space_add(space, &mapping));
	fclose(maps);
}

static void begin(void)
{
	static unsigned runs;

	if (program && runs++ % RUNS_A_PROGRAM)
		return;
	mt_expr_program_destroy(program);
	if (!space) {
		callback = subject;
		stack[40] = (uint64_t)(uintptr_t)nodes;
		nodes[0].next = &nodes[1];
		check(mt_space_pool_create(NULL, &pool));
		check(mt_space_create(pool, getpid(), &space));
		add_maps();
	}
	check(mt_expr_program_create(space, &program));
}

static struct mt_error *is_true(const struct mt_expr_frame *frame, const char *text)
{
	struct mt_expr *expr = NULL;
	struct mt_error *error;
	bool truth;

	mt_try(mt_expr_parse(program, frame, text, &expr));
	error = mt_expr_is_true(expr, frame, &truth);
	mt_expr_destroy(expr);
	return error;
}

static struct mt_error *locate(const char *text)
{
	struct mt_location_options options = {.file = "fuzz_expr.c", .line = 50};
	struct mt_locations locations = {0};

	mt_try(mt_location_resolve(space, text, &options, &locations));
	mt_locations_deinit(&locations);
	return NULL;
}

static struct mt_error *run(uint8_t choice, const struct mt_expr_frame *frame, const char *text,
			    struct mt_str *out)
{
	switch (choice % 8) {
	case 0:
		return mt_expr_output(program, frame, text, out);
	case 1:
		return mt_expr_whatis(program, frame, text, out);
	case 2:
		return mt_expr_ptype(program, frame, text, out);
	case 3:
		return mt_expr_examine(program, frame, text, out);
	case 4:
		return mt_expr_printf(program, frame, text, out);
	case 5:
		return is_true(frame, text);
	case 6:
		return locate(text);
	default:
		return mt_expr_print(program, frame, text, false, out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_expr_frame frame = {.ops = &ops, .pc = (uint64_t)(uintptr_t)subject + 40};
	char text[4096];

	if (!size || size > sizeof(text))
		return 0;
	begin();
	memcpy(text, bytes + 1, size - 1);
	text[size - 1] = '\0';
	frame.at_entry = bytes[0] & 8;
	mt_error_destroy(run(bytes[0], &frame, text, &out));
	return 0;
}
