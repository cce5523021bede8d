/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The encoder's packets one by one, and what it refuses. */
#include "unit.h"

#include "pt/encoder.h"
#include "pt/packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct mt_pt_encoder_config plain = {
    .timing = {.tsc_ctc_numerator = 308,
	       .tsc_ctc_denominator = 2,
	       .mtc_period = 3,
	       .max_nonturbo_ratio = 37,
	       .tsc = true,
	       .mtc = true,
	       .cyc = true},
};

/* "PSB TSC …", as text, with the addresses as they stand. */
static void packets_as_text(struct mt_pt_encoder *encoder, char *text, size_t size)
{
	uint8_t *bytes;
	size_t count, length = 0;
	uint64_t lost;
	struct mt_pt_packet packet;

	assert_null(mt_pt_encoder_snapshot(encoder, &bytes, &count, &lost));
	text[0] = '\0';
	for (size_t at = 0; at < count; at += packet.size) {
		char one[96];
		assert_true(mt_pt_packet_decode(bytes + at, count - at, &packet) > 0);
		mt_pt_packet_format(&packet, one, sizeof(one));
		length += (size_t)snprintf(text + length, size - length, "%s; ", one);
		assert_true(length < size);
	}
	free(bytes);
}

/* What there is can be had, to the last packet. */
static void check_is_whole(struct mt_pt_encoder *encoder)
{
	uint8_t *bytes;
	size_t size, at = 0;
	uint64_t lost;
	struct mt_pt_packet packet;

	assert_null(mt_pt_encoder_snapshot(encoder, &bytes, &size, &lost));
	assert_int_equal(lost, 0);
	assert_true(size > 1 << 20);
	while (at < size) {
		assert_true(mt_pt_packet_decode(bytes + at, size - at, &packet) > 0);
		at += packet.size;
	}
	free(bytes);
}

static struct mt_pt_encoder *plain_encoder(void)
{
	struct mt_pt_encoder *encoder = NULL;

	assert_null(mt_pt_encoder_create(&plain, &encoder));
	return encoder;
}

/* The packets of a small story, as the SDM has them. */
static void test_packets_of_a_story(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[4096];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_branch(e, 154010, true, 0x401100);
	mt_pt_encode_call(e, 154020, 0x401105, 0x402000);
	mt_pt_encode_branch(e, 154030, false, 0x402004);
	mt_pt_encode_return(e, 154040, 0x401105); /* compressed */
	mt_pt_encode_call(e, 154050, 0x40110a, 0x40110a);
	mt_pt_encode_call_indirect(e, 154060, 0x40110c, 0x7ffff7d00000);
	mt_pt_encode_return(e, 154060, 0x40110c); /* compressed */
	mt_pt_encode_return(e, 154070, 0x40110c); /* there is no call for it */
	mt_pt_encode_syscall(e, 154080);
	mt_pt_encode_start(e, 154100, 0x40110e);
	mt_pt_encode_jump(e, 155000, 0x401200);
	mt_pt_encode_stop(e, 155300, 0x401203); /* two MTCs are due, at 1008 and 1008 + 8 */
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "PSB; TSC 0x25990; TMA CTC 0x3e8 FC 0x0; CBR 0x25; PSBEND; "
				  "MODE.Exec IF:0 64; TIP.PGE 0x401000; "
				  "CYC 0x28; TNT TNT (3); CYC 0x14; TIP 0x7ffff7d00000; "
				  "TNT T (1); CYC 0xa; TIP 0x40110c; CYC 0xa; TIP.PGD no ip; "
				  "CYC 0x14; TIP.PGE 0x110e; "
				  "CYC 0x46c; MTC 0x7e; CYC 0x44; FUP 0x1203; TIP.PGD no ip; ");
	mt_pt_encoder_destroy(e);
}

static size_t occurrences(const char *text, const char *word)
{
	size_t count = 0;

	while ((text = strstr(text, word)) != NULL) {
		text += strlen(word);
		count++;
	}
	return count;
}

/* Of 100 calls the last 64 are remembered. */
static void test_return_compression_depth(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[8192];

	(void)state;
	mt_pt_encode_start(e, 1000, 0x1000);
	for (uint64_t i = 0; i < 100; i++)
		mt_pt_encode_call(e, 1000, 0x2000 + i, 0x1000);
	for (uint64_t i = 0; i < 100; i++)
		mt_pt_encode_return(e, 1000, 0x2000 + 99 - i);
	packets_as_text(e, text, sizeof(text));
	assert_int_equal(occurrences(text, "TNT TTTTTT (6)"), 10);
	assert_int_equal(occurrences(text, "TNT TTTT (4)"), 1);
	assert_int_equal(occurrences(text, "TIP 0x"), 36);
	mt_pt_encoder_destroy(e);
}

/* A call to the next instruction is not remembered, an indirect one is. */
static void test_call_to_next(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[1024];

	(void)state;
	mt_pt_encode_start(e, 1000, 0x1000);
	mt_pt_encode_call(e, 1000, 0x1005, 0x1005);
	mt_pt_encode_return(e, 1000, 0x1005);
	mt_pt_encode_call_indirect(e, 1000, 0x1007, 0x1007);
	mt_pt_encode_return(e, 1000, 0x1007);
	packets_as_text(e, text, sizeof(text));
	assert_non_null(strstr(text, "TIP 0x1005; TIP 0x1007; TNT T (1); "));
	mt_pt_encoder_destroy(e);
}

static void test_long_gap_is_told_by_tsc(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[4096];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_branch(e, 154010, true, 0x401100);
	mt_pt_encode_branch(e, 1154010, true, 0x401100);
	packets_as_text(e, text, sizeof(text));
	/* CTC 7493 is MTC 936; the gap ends at MTC 934, which is TSC 1150688. */
	assert_non_null(strstr(text, "TIP.PGE 0x401000; CYC 0xa; TNT T (1); CYC 0xf3546; "
				     "TSC 0x118ee0; TMA CTC 0x1d30 FC 0x0; "
				     "CYC 0x4d0; MTC 0xa7; CYC 0x4d0; MTC 0xa8; "
				     "CYC 0x35a; TNT T (1); "));
	mt_pt_encoder_destroy(e);
}

/* Told while it cannot be so: ignored. */
static void test_ignored_while_off(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	uint8_t *bytes = (uint8_t *)e;
	size_t size = 1;
	uint64_t lost = 1;

	(void)state;
	mt_pt_encode_branch(e, 1, true, 2);
	mt_pt_encode_call(e, 1, 2, 3);
	mt_pt_encode_call_indirect(e, 1, 2, 3);
	mt_pt_encode_jump(e, 1, 2);
	mt_pt_encode_return(e, 1, 2);
	mt_pt_encode_syscall(e, 1);
	mt_pt_encode_stop(e, 1, 2);
	assert_false(mt_pt_encoder_is_tracing(e));
	assert_null(mt_pt_encoder_snapshot(e, &bytes, &size, &lost));
	assert_null(bytes);
	assert_int_equal(size, 0);
	assert_int_equal(lost, 0);
	mt_pt_encode_start(e, 100, 0x1000);
	assert_true(mt_pt_encoder_is_tracing(e));
	mt_pt_encode_start(e, 100, 0x2000);
	mt_pt_encode_stop(e, 50, 0x1004);
	char text[512];
	packets_as_text(e, text, sizeof(text));
	assert_null(strstr(text, "0x2000"));
	assert_non_null(strstr(text, "TIP.PGE 0x1000; FUP 0x1004; TIP.PGD no ip; "));
	assert_false(mt_pt_encoder_failed(e));
	mt_pt_encoder_destroy(e);
}

/* Cleared in the middle: it begins anew with a PSB+ that says where the thread is. */
static void test_clear_while_tracing(void **state)
{
	struct mt_pt_encoder *e = plain_encoder();
	char text[1024];

	(void)state;
	mt_pt_encode_start(e, 154000, 0x401000);
	mt_pt_encode_call(e, 154010, 0x401105, 0x402000);
	mt_pt_encode_branch(e, 154020, true, 0x402100);
	mt_pt_encoder_clear(e);
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "");
	mt_pt_encode_return(e, 154030, 0x401105);
	packets_as_text(e, text, sizeof(text));
	assert_string_equal(text, "PSB; TSC 0x259ae; TMA CTC 0x3e8 FC 0x1e; CBR 0x25; "
				  "MODE.Exec IF:0 64; FUP 0x402100; PSBEND; TIP 0x1105; ");
	mt_pt_encoder_destroy(e);
}

static void refuses(size_t ring_bytes, size_t psb_period_bytes)
{
	struct mt_pt_encoder_config config = {.ring_bytes = ring_bytes,
					      .psb_period_bytes = psb_period_bytes};
	struct mt_pt_encoder *encoder = NULL;
	struct mt_error *error = mt_pt_encoder_create(&config, &encoder);

	assert_int_equal(mt_error_code(error), MT_ERROR_USAGE);
	assert_null(encoder);
	mt_error_destroy(error);
}

static void test_refused_rings(void **state)
{
	struct mt_pt_encoder_config least = {.ring_bytes = 8192};
	struct mt_pt_encoder *encoder = NULL;

	(void)state;
	refuses(1, 0);
	refuses(8191, 0);
	refuses(8192, 4096);
	refuses(65536, SIZE_MAX);
	assert_null(mt_pt_encoder_create(&least, &encoder));
	mt_pt_encoder_destroy(encoder);
	mt_pt_encoder_destroy(NULL);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY 0 /* their shadows want more than any limit */
#else
#define LIMITS_MEMORY 1
#endif

/* A growing ring under a limit of 64 MiB more than now. */
static void test_out_of_memory(void **state)
{
	struct mt_pt_encoder *e = NULL;
	struct mt_pt_encoder_config config = plain;
	struct rlimit before, limit;
	long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	(void)state;
	if (!LIMITS_MEMORY)
		skip();
	config.psb_period_bytes = 1 << 20;
	assert_null(mt_pt_encoder_create(&config, &e));
	assert_int_equal(fscanf(statm, "%ld", &pages), 1);
	fclose(statm);
	getrlimit(RLIMIT_AS, &before);
	limit = before;
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (64 << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	mt_pt_encode_start(e, 1000, 0x1000);
	for (uint64_t i = 0; i < 40000000 && !mt_pt_encoder_failed(e); i++)
		mt_pt_encode_jump_indirect(e, 1000 + i, i << 20);
	setrlimit(RLIMIT_AS, &before);
	assert_true(mt_pt_encoder_failed(e));
	mt_pt_encode_branch(e, UINT32_MAX, true, 0x1000); /* dropped */
	mt_pt_encode_stop(e, UINT32_MAX, 0x1000);
	check_is_whole(e);
	mt_pt_encoder_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_packets_of_a_story),
	    cmocka_unit_test(test_return_compression_depth),
	    cmocka_unit_test(test_call_to_next),
	    cmocka_unit_test(test_long_gap_is_told_by_tsc),
	    cmocka_unit_test(test_ignored_while_off),
	    cmocka_unit_test(test_clear_while_tracing),
	    cmocka_unit_test(test_refused_rings),
	    cmocka_unit_test(test_out_of_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
