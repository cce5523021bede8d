/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of a text while its program runs: it may be unloaded, and other memory be there; and
 * which of several texts are exchanged at one stop. */
#include "engine/calls/memory/swap.h"

#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  4096u
#define PAGES 3u

struct text {
	struct mt_calls_swap swap;
	struct mt_calls_copy copy;
	uint8_t *at, clean[PAGES * PAGE], memory[PAGES * PAGE];
};

/* Of this program's own file, in this process. */
static struct text *map_text(void)
{
	struct text *text = calloc(1, sizeof(*text));
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_non_null(text);
	assert_int_equal(pread(fd, text->clean, sizeof(text->clean), 0), sizeof(text->clean));
	text->at = mmap(NULL, sizeof(text->clean), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(text->at != MAP_FAILED);
	close(fd);
	text->swap.pid = getpid();
	text->copy.start = (uint64_t)(uintptr_t)text->at;
	text->copy.end = text->copy.start + sizeof(text->clean);
	memcpy(text->memory, text->at, sizeof(text->memory));
	return text;
}

static bool is_read(struct text *text)
{
	return mt_calls_swap_is_read(&text->swap, &text->copy, text->memory, text->clean);
}

static void end(struct text *text)
{
	munmap(text->at, sizeof(text->clean));
	free(text);
}

static void test_unwritten(void **state)
{
	struct text *text = map_text();

	(void)state;
	assert_true(is_read(text));
	assert_int_equal(text->copy.changes, 0);
	end(text);
}

/* Whatever was read, the text is the file's again by now. */
static void test_other_memory(void **state)
{
	static const size_t places[] = {0, PAGE - 1, PAGE, 2 * PAGE + 7, PAGES * PAGE - 1};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct text *text = map_text();

		text->memory[places[i]] ^= 1;
		assert_false(is_read(text));
		end(text);
	}
}

static void test_written(void **state)
{
	struct text *text = map_text();

	(void)state;
	text->at[PAGE + 5] ^= 1;
	text->memory[PAGE + 5] ^= 1;
	assert_true(is_read(text));
	const uint64_t changes = text->copy.changes;
	assert_int_not_equal(changes, 0);

	/* What is in that page counts, and nothing may be in the others. */
	text->memory[PAGE + 6] ^= 1;
	assert_true(is_read(text));
	assert_int_not_equal(text->copy.changes, changes);
	text->memory[5] ^= 1;
	assert_false(is_read(text));
	text->memory[5] ^= 1;
	text->memory[2 * PAGE] ^= 1;
	assert_false(is_read(text));
	end(text);
}

/* Each text is due once: small ones together, a large one alone. */
static void test_turns(void **state)
{
	static const uint64_t sizes[] = {1, 27, 1, 1, 3};
	static const char *const due[] = {"10110", "01000", "00001", NULL};
	const uint64_t mib = 1u << 20;
	struct mt_calls_swap swap = {0};

	(void)state;
	assert_true(mt_calls_swap_all_had_turn(&swap));
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(mt_calls_swap_add(&swap, (i + 1) << 32,
						   ((i + 1) << 32) + sizes[i] * mib, "file"),
				 0);
	for (size_t turn = 0; due[turn]; turn++) {
		assert_false(mt_calls_swap_all_had_turn(&swap));
		mt_calls_swap_make_due(&swap, 4 * mib);
		for (uint64_t i = 0; i < 5; i++)
			assert_int_equal(mt_calls_swap_is_due(&swap, (i + 1) << 32),
					 due[turn][i] == '1');
	}
	assert_true(mt_calls_swap_all_had_turn(&swap));
	assert_false(mt_calls_swap_is_due(&swap, 7));
	mt_calls_swap_make_due(&swap, 4 * mib);
	assert_false(mt_calls_swap_is_due(&swap, 5ull << 32));
	mt_array_deinit(&swap.copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_unwritten),
	    cmocka_unit_test(test_other_memory),
	    cmocka_unit_test(test_written),
	    cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
