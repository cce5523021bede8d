/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the encoder tells of random walks, libipt must decode to the same instructions, one by one,
 * at about the same times. */
#include "pt_walk.h"

#include "pt/packet.h"

#include <intel-pt.h>
#include <stdio.h>

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	const struct program *program = context;
	size_t copied = 0;

	(void)asid;
	for (; copied < size; copied++, ip++) {
		size_t quarter = 3;
		while (quarter && ip < bases[quarter])
			quarter--;
		uint64_t offset = ip - bases[quarter];
		if (offset >= sizeof(program->code))
			break;
		buffer[copied] = ((const uint8_t *)program->code)[offset];
	}
	return copied ? (int)copied : -pte_nomap;
}

static void set_config(struct pt_config *config, const struct mt_pt_timing *timing, uint8_t *bytes,
		       size_t size)
{
	pt_config_init(config);
	config->begin = bytes;
	config->end = bytes + size;
	config->cpuid_0x15_eax = timing->tsc_ctc_denominator;
	config->cpuid_0x15_ebx = timing->tsc_ctc_numerator;
	config->mtc_freq = timing->mtc_period;
	config->nom_freq = timing->max_nonturbo_ratio;
}

/* All that libipt sees; times of the moment it gave the instruction out. */
static size_t decode(struct walk *walk, uint8_t *bytes, size_t size, struct step *out,
		     size_t capacity)
{
	struct pt_config config;
	size_t count = 0;

	set_config(&config, &walk->options->config.timing, bytes, size);
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	pt_image_set_callback(pt_insn_get_image(decoder), read_code, &walk->program);
	int status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		while (status & pts_event_pending) {
			struct pt_event event;
			status = pt_insn_event(decoder, &event, sizeof(event));
			if (status < 0)
				fail_msg("event: %s", pt_errstr(pt_errcode(status)));
		}
		if (status & pts_eos)
			break;
		struct pt_insn insn;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status < 0 && status != -pte_eos) {
			uint64_t offset = 0;
			pt_insn_get_offset(decoder, &offset);
			fail_msg("insn %zu at %#lx, offset %#lx of %#zx: %s", count,
				 (unsigned long)insn.ip, (unsigned long)offset, size,
				 pt_errstr(pt_errcode(status)));
		}
		if (status < 0)
			break;
		if (count == capacity)
			fail_msg("libipt decodes more than %zu instructions", capacity);
		out[count].ip = insn.ip;
		pt_insn_time(decoder, &out[count].tsc, NULL, NULL);
		count++;
	}
	pt_insn_free_decoder(decoder);
	return count;
}

static void compare_steps(const struct walk *walk, const struct step *decoded, size_t count)
{
	const struct step *truth = walk->steps + walk->count - count;

	assert_true(count <= walk->count);
	for (size_t i = 0; i < count; i++) {
		if (decoded[i].ip != truth[i].ip)
			fail_msg("seed %lu: instruction %zu of %zu: %#lx decoded, %#lx ran",
				 (unsigned long)walk->options->seed, i, count,
				 (unsigned long)decoded[i].ip, (unsigned long)truth[i].ip);
	}
}

/* libipt reads on to the next packet that it needs, and gives a packet's time to all that it stands
 * for: so compare with the span of `window` times told before and after. */
static void compare_times(const struct walk *walk, const struct step *decoded, size_t count,
			  size_t window)
{
	const struct step *truth = walk->steps + walk->count - count;

	for (size_t i = 0; i < count; i++) {
		size_t told = truth[i].told;
		uint64_t low = walk->told[told > window ? told - window : 0];
		uint64_t high =
		    told + window < walk->told_count ? walk->told[told + window] : walk->tsc;
		if (decoded[i].tsc < low || decoded[i].tsc > high)
			fail_msg("seed %lu: instruction %zu of %zu: time %lu, not in %lu … %lu",
				 (unsigned long)walk->options->seed, i, count,
				 (unsigned long)decoded[i].tsc, (unsigned long)low,
				 (unsigned long)high);
		if (i && decoded[i].tsc < decoded[i - 1].tsc)
			fail_msg("seed %lu: instruction %zu: time runs backwards",
				 (unsigned long)walk->options->seed, i);
	}
}

static uint64_t ctc_of_tsc(const struct mt_pt_timing *timing, uint64_t tsc)
{
	return timing->mtc ? tsc * timing->tsc_ctc_denominator / timing->tsc_ctc_numerator : 0;
}

/* TSC and the CYCs behind it are the time, to the tick, of each packet; MTC and TMA agree. */
static void check_clock(const struct walk *walk, const uint8_t *bytes, size_t size)
{
	const struct mt_pt_timing *timing = &walk->options->config.timing;
	struct mt_pt_packet packet;
	uint64_t clock = 0;
	size_t told = 0;

	for (size_t at = 0; at < size; at += packet.size) {
		mt_pt_packet_decode(bytes + at, size - at, &packet);
		uint64_t ctc = ctc_of_tsc(timing, clock);
		switch (packet.kind) {
		case MT_PT_TSC:
			assert_true(clock <= packet.payload);
			clock = packet.payload;
			continue;
		case MT_PT_CYC:
			clock += packet.payload;
			continue;
		case MT_PT_MTC:
			assert_int_equal(packet.payload, ctc >> timing->mtc_period & 0xff);
			assert_int_equal(ctc % (1u << timing->mtc_period), 0);
			continue;
		case MT_PT_TMA:
			assert_int_equal(packet.payload & 0xffff, ctc & 0xffff);
			assert_int_equal(
			    packet.payload >> 24,
			    clock % (timing->tsc_ctc_numerator / timing->tsc_ctc_denominator));
			continue;
		case MT_PT_TNT:
			told += packet.count;
			break;
		case MT_PT_TIP:
		case MT_PT_TIP_PGE:
		case MT_PT_TIP_PGD:
			told++;
			break;
		default:
			continue;
		}
		assert_int_equal(clock, walk->told[told - 1]);
	}
	assert_int_equal(told, walk->told_count);
}

/* Every byte belongs to a packet, and the packets begin with a PSB. */
static void check_packets(const uint8_t *bytes, size_t size)
{
	struct mt_pt_packet packet;

	assert_int_equal(mt_pt_find_psb(bytes, size, 0), 0);
	for (size_t at = 0; at < size; at += packet.size) {
		if (mt_pt_packet_decode(bytes + at, size - at, &packet) <= 0)
			fail_msg("offset %#zx of %#zx: no packet", at, size);
	}
}

struct result {
	size_t instructions;
	size_t bytes;
	uint64_t bytes_lost;
	size_t deepest;
};

static struct result run_walk(const struct walk_options *options)
{
	static struct walk walk;
	struct result result = {0};
	uint8_t *bytes = NULL;

	walk_run(&walk, options);
	assert_null(
	    mt_pt_encoder_snapshot(walk.encoder, &bytes, &result.bytes, &result.bytes_lost));
	check_packets(bytes, result.bytes);
	size_t capacity = walk.count + 1000;
	struct step *decoded = malloc(capacity * sizeof(*decoded));
	assert_non_null(decoded);
	result.instructions = decode(&walk, bytes, result.bytes, decoded, capacity);
	result.deepest = walk.deepest;
	compare_steps(&walk, decoded, result.instructions);
	if (options->config.timing.cyc)
		compare_times(&walk, decoded, result.instructions,
			      options->config.long_tnt ? 60 : 20);
	if (!options->config.ring_bytes)
		assert_int_equal(result.instructions, walk.count);
	if (!options->config.ring_bytes && options->config.timing.cyc && !options->config.long_tnt)
		check_clock(&walk, bytes, result.bytes);
	free(decoded);
	free(bytes);
	walk_end(&walk);
	return result;
}

static void test_random_walks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.config.psb_period_bytes = 256 << seed % 6;
		options.config.long_tnt = seed % 3 == 0;
		options.config.no_return_compression = seed % 5 == 0;
		options.snapshots = seed % 7 == 0;
		run_walk(&options);
	}
}

/* Far deeper than what return compression remembers, and all the way back. */
static void test_deep_recursion(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.swings = true;
		options.weights[END_JUMP_INDIRECT] = 4;
		options.weights[END_CALL_INDIRECT] = 4;
		options.wrong_return_percent = seed % 2 ? 0 : 2;
		options.config.psb_period_bytes = 1 << 20;
		assert_true(run_walk(&options).deepest > 150);
	}
}

static void test_timing_variants(void **state)
{
	/* What there is of TSC, MTC, CYC; the crystal's ratio; the period; whether time leaps. */
	static const struct mt_pt_timing timings[] = {
	    {0},
	    {.tsc = true},
	    {.tsc = true, .cyc = true, .max_nonturbo_ratio = 20},
	    {.tsc = true,
	     .mtc = true,
	     .tsc_ctc_numerator = 84,
	     .tsc_ctc_denominator = 1,
	     .mtc_period = 0},
	    {.tsc = true,
	     .mtc = true,
	     .cyc = true,
	     .tsc_ctc_numerator = 200,
	     .tsc_ctc_denominator = 2,
	     .mtc_period = 0,
	     .max_nonturbo_ratio = 25},
	    {.tsc = true,
	     .mtc = true,
	     .cyc = true,
	     .tsc_ctc_numerator = 250,
	     .tsc_ctc_denominator = 2,
	     .mtc_period = 9,
	     .max_nonturbo_ratio = 30},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(timings) / sizeof(timings[0]); i++) {
		struct walk_options options = plain;
		options.seed = 100 + i;
		options.config.timing = timings[i];
		options.gap_per_mille = i % 2 ? 200 : 5;
		options.gap_ticks = i % 2 ? 60000 : UINT64_C(10000000000);
		run_walk(&options);
	}
}

/* A ring's snapshot is the end of what a ring without limit holds, byte by byte. */
static void test_ring_is_a_suffix(void **state)
{
	static struct walk endless, ringed;

	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct walk_options options = plain, in_ring = plain;
		uint8_t *all, *kept;
		size_t all_bytes, kept_bytes;
		uint64_t none_lost, lost;

		options.seed = in_ring.seed = seed;
		options.instructions = in_ring.instructions = 10000 * seed;
		options.config.psb_period_bytes = in_ring.config.psb_period_bytes = 512 * seed;
		in_ring.config.ring_bytes = 8192 + 1111 * seed;
		walk_run(&endless, &options);
		walk_run(&ringed, &in_ring);
		assert_null(mt_pt_encoder_snapshot(endless.encoder, &all, &all_bytes, &none_lost));
		assert_null(mt_pt_encoder_snapshot(ringed.encoder, &kept, &kept_bytes, &lost));
		assert_int_equal(none_lost, 0);
		assert_int_equal(kept_bytes + lost, all_bytes);
		assert_memory_equal(kept, all + lost, kept_bytes);
		/* As much as there is room for, but for a PSB period and the edge. */
		if (lost)
			assert_true(kept_bytes + options.config.psb_period_bytes + 1024 >
				    in_ring.config.ring_bytes);
		free(all);
		free(kept);
		walk_end(&endless);
		walk_end(&ringed);
		struct result result = run_walk(&in_ring);
		assert_true(result.instructions > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_walks),
	    cmocka_unit_test(test_deep_recursion),
	    cmocka_unit_test(test_timing_variants),
	    cmocka_unit_test(test_ring_is_a_suffix),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
