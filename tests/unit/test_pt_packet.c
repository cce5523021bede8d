/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets against two other readers of them: the strings of perf's own test, and libipt on random
 * bytes and on what real processors wrote. */
#include "pt/packet.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RECORDINGS "../shared/recordings/"

static size_t parse_hex_bytes(const char *text, uint8_t *bytes, size_t capacity, const char **end)
{
	size_t count = 0;
	char *stop;

	while (count < capacity && strspn(text, "0123456789abcdef") == 2) {
		bytes[count++] = (uint8_t)strtoul(text, &stop, 16);
		text = stop + 1;
	}
	*end = text + strspn(text, " ");
	return count;
}

/* perf prints a PIP's payload, we the CR3 that it stands for. */
static void expected_text(const char *perf, char *out, size_t size)
{
	unsigned long payload;
	unsigned int nr;

	if (sscanf(perf, "PIP %lx (NR=%u)", &payload, &nr) == 2)
		snprintf(out, size, "PIP cr3 0x%lx (NR=%u)", payload << 5, nr);
	else
		snprintf(out, size, "%s", perf);
	out[strcspn(out, "\n")] = '\0';
	while (*out && out[strlen(out) - 1] == ' ')
		out[strlen(out) - 1] = '\0';
}

static void check_perf_line(const char *line)
{
	uint8_t bytes[32];
	const char *rest;
	char expected[128], text[128];
	size_t size = parse_hex_bytes(line, bytes, sizeof(bytes), &rest);
	bool is_bip = strncmp(rest, "BIP", 3) == 0;
	struct mt_pt_block block = {.item_bytes = is_bip ? (uint8_t)(size - 1) : 0};
	struct mt_pt_packet packet;

	expected_text(rest, expected, sizeof(expected));
	int result = mt_pt_packet_decode_in_block(bytes, size, &block, &packet);
	if (result != (int)size)
		fail_msg("%s: %d, not %zu bytes", expected, result, size);
	mt_pt_packet_format(&packet, text, sizeof(text));
	assert_string_equal(text, expected);
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *exact = malloc(cut + 1);
		memcpy(exact, bytes, cut);
		block.item_bytes = is_bip ? (uint8_t)(size - 1) : 0;
		assert_int_equal(mt_pt_packet_decode_in_block(exact, cut, &block, &packet), -1);
		free(exact);
	}
}

static void test_strings_of_perf(void **state)
{
	static const char mark[] = "Decoded ok: ";
	char *line = NULL;
	size_t capacity = 0, compared = 0;
	FILE *perf = popen("perf test -v 'Intel PT packet decoder' 2>&1", "r");

	(void)state;
	assert_non_null(perf);
	while (getline(&line, &capacity, perf) > 0) {
		if (strncmp(line, mark, strlen(mark)) != 0)
			continue;
		check_perf_line(line + strlen(mark));
		compared++;
	}
	free(line);
	pclose(perf);
	if (compared == 0) {
		print_message(
		    "skipped: perf (package linux-perf) with its own tests is not here\n");
		skip();
	}
	print_message("%zu byte strings as perf reads them\n", compared);
}

static const uint8_t kind_of_libipt[] = {
    [ppt_pad] = MT_PT_PAD,         [ppt_psb] = MT_PT_PSB,   [ppt_psbend] = MT_PT_PSBEND,
    [ppt_fup] = MT_PT_FUP,         [ppt_tip] = MT_PT_TIP,   [ppt_tip_pge] = MT_PT_TIP_PGE,
    [ppt_tip_pgd] = MT_PT_TIP_PGD, [ppt_tnt_8] = MT_PT_TNT, [ppt_tnt_64] = MT_PT_TNT,
    [ppt_mode] = MT_PT_MODE_EXEC,  [ppt_pip] = MT_PT_PIP,   [ppt_vmcs] = MT_PT_VMCS,
    [ppt_cbr] = MT_PT_CBR,         [ppt_tsc] = MT_PT_TSC,   [ppt_tma] = MT_PT_TMA,
    [ppt_mtc] = MT_PT_MTC,         [ppt_cyc] = MT_PT_CYC,   [ppt_stop] = MT_PT_TRACESTOP,
    [ppt_ovf] = MT_PT_OVF,         [ppt_mnt] = MT_PT_MNT,   [ppt_exstop] = MT_PT_EXSTOP,
    [ppt_mwait] = MT_PT_MWAIT,     [ppt_pwre] = MT_PT_PWRE, [ppt_pwrx] = MT_PT_PWRX,
    [ppt_ptw] = MT_PT_PTWRITE,
};

/* The payload as ours gives it, for the kinds where libipt's is a number too. */
static bool payload_of_libipt(const struct pt_packet *packet, uint64_t *payload, uint8_t *count)
{
	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		*count = (uint8_t)packet->payload.ip.ipc;
		*payload = packet->payload.ip.ip;
		return true;
	case ppt_tnt_8:
	case ppt_tnt_64:
		*count = packet->payload.tnt.bit_size;
		*payload = packet->payload.tnt.payload;
		return true;
	case ppt_tsc:
		*payload = packet->payload.tsc.tsc;
		return true;
	case ppt_mtc:
		*payload = packet->payload.mtc.ctc;
		return true;
	case ppt_cyc:
		*payload = packet->payload.cyc.value;
		return true;
	case ppt_mnt:
		*payload = packet->payload.mnt.payload;
		return true;
	case ppt_ptw:
		*count = packet->payload.ptw.ip;
		*payload = packet->payload.ptw.payload;
		return true;
	default:
		return false;
	}
}

static void same_packet(const struct pt_packet *theirs, const struct mt_pt_packet *ours)
{
	uint64_t payload = 0;
	uint8_t count = ours->count;

	assert_int_equal(ours->size, theirs->size);
	if (theirs->type == ppt_mode && theirs->payload.mode.leaf == pt_mol_tsx)
		assert_int_equal(ours->kind, MT_PT_MODE_TSX);
	else
		assert_int_equal(ours->kind, kind_of_libipt[theirs->type]);
	if (payload_of_libipt(theirs, &payload, &count)) {
		assert_int_equal(ours->count, count);
		assert_int_equal(ours->payload, payload);
	} else if (theirs->type == ppt_tma) {
		assert_int_equal(ours->payload & 0xffff, theirs->payload.tma.ctc);
		assert_int_equal(ours->payload >> 24 & 0x1ff, theirs->payload.tma.fc);
	} else if (theirs->type == ppt_cbr) {
		assert_int_equal(ours->payload & 0xff, theirs->payload.cbr.ratio);
	} else if (theirs->type == ppt_pip) {
		assert_int_equal(ours->payload >> 1 << 5, theirs->payload.pip.cr3);
	}
}

struct counts {
	size_t kinds[MT_PT_PACKET_KINDS];
	size_t tnt_bits;
	size_t packets;
	size_t bad;
};

/* Where perf's reading is wider than libipt 2.0.5's: packets it does not know, a CYC of 64 bits, a
 * TMA whose reserved bits are not zero. */
static bool unknown_to_libipt(const struct mt_pt_packet *packet, int their_result)
{
	switch (packet->kind) {
	case MT_PT_BBP:
	case MT_PT_BEP:
	case MT_PT_CFE:
	case MT_PT_EVD:
	case MT_PT_TRIG:
		return true;
	case MT_PT_CYC:
		return packet->size == 10;
	case MT_PT_TMA:
		return their_result == -pte_bad_packet;
	default:
		return false;
	}
}

/* One packet of both; returns how far to go on. */
static size_t compare_packet(struct pt_packet_decoder *decoder, const uint8_t *bytes, size_t size,
			     size_t at, struct counts *counts)
{
	struct pt_packet theirs;
	struct mt_pt_packet ours;

	assert_int_equal(pt_pkt_sync_set(decoder, at), 0);
	int their_result = pt_pkt_next(decoder, &theirs, sizeof(theirs));
	int our_result = mt_pt_packet_decode(bytes + at, size - at, &ours);
	if (our_result > 0)
		counts->kinds[ours.kind]++;
	if (our_result > 0 && unknown_to_libipt(&ours, their_result))
		return (size_t)our_result;
	if (their_result < 0) {
		int expected = their_result == -pte_eos ? -1 : 0;
		if (our_result != expected && our_result != 0)
			fail_msg("offset %#zx: %02x %02x: %d, libipt: %s", at, bytes[at],
				 at + 1 < size ? bytes[at + 1] : 0, our_result,
				 pt_errstr(pt_errcode(their_result)));
		counts->bad++;
		return 1;
	}
	if (our_result != their_result)
		fail_msg("offset %#zx: %02x %02x: %d, libipt: %d", at, bytes[at],
			 at + 1 < size ? bytes[at + 1] : 0, our_result, their_result);
	same_packet(&theirs, &ours);
	counts->packets++;
	if (ours.kind == MT_PT_TNT)
		counts->tnt_bits += ours.count;
	return (size_t)our_result;
}

static struct counts compare_with_libipt(uint8_t *bytes, size_t size)
{
	struct counts counts = {0};
	struct pt_config config;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + size;
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	assert_non_null(decoder);
	for (size_t at = mt_pt_find_psb(bytes, size, 0); at < size;)
		at += compare_packet(decoder, bytes, size, at, &counts);
	pt_pkt_free_decoder(decoder);
	return counts;
}

/* Random bytes behind the first bytes of packets, so that all kinds come. */
static void test_random_bytes_as_libipt(void **state)
{
	static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
	static uint8_t bytes[200000];
	unsigned int random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		random = random * 1103515245 + 12345;
		bytes[i] = random >> 28 == 0 ? 2 : (uint8_t)(random >> 16);
	}
	memcpy(bytes, psb, sizeof(psb));
	struct counts counts = compare_with_libipt(bytes, sizeof(bytes));
	for (int kind = 0; kind < MT_PT_PACKET_KINDS; kind++) {
		if (kind != MT_PT_BIP && kind != MT_PT_MNT && !counts.kinds[kind])
			fail_msg("no packet of kind %d", kind);
	}
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");

	if (!file) {
		print_message("skipped: no %s\n", path);
		skip();
	}
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	uint8_t *bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static struct counts compare_file(const char *path)
{
	size_t size;
	uint8_t *bytes = read_file(path, &size);
	struct counts counts = compare_with_libipt(bytes, size);

	assert_int_equal(counts.bad, 0);
	free(bytes);
	return counts;
}

static void test_dynamorio_recording(void **state)
{
	(void)state;
	struct counts counts = compare_file(RECORDINGS "dynamorio-hello/pt.bin");
	assert_int_equal(counts.kinds[MT_PT_MTC], 538);
	assert_int_equal(counts.kinds[MT_PT_CYC], 545);
	assert_int_equal(counts.kinds[MT_PT_TIP_PGE], counts.kinds[MT_PT_TIP_PGD]);
}

static void test_lldb_recordings(void **state)
{
	(void)state;
	assert_true(compare_file(RECORDINGS "lldb-intelpt-trace/3842849.trace").packets > 0);
	assert_true(
	    compare_file(RECORDINGS "lldb-intelpt-trace-multi-file/multi-file.trace").packets > 0);
}

/* The PT bytes behind the AUXTRACE records (type 71) of a perf.data. */
static void test_quipper_recording(void **state)
{
	size_t size, psbs = 0, tnt_bits = 0;
	uint8_t *file = read_file(RECORDINGS "quipper/perf.data.intel_pt-4.14", &size);
	uint64_t at, data_bytes;

	(void)state;
	memcpy(&at, file + 40, sizeof(at));
	memcpy(&data_bytes, file + 48, sizeof(data_bytes));
	for (uint64_t end = at + data_bytes; at < end && end <= size;) {
		uint32_t type;
		uint16_t record_bytes;
		memcpy(&type, file + at, sizeof(type));
		memcpy(&record_bytes, file + at + 6, sizeof(record_bytes));
		uint64_t trace_bytes = 0;
		if (type == 71)
			memcpy(&trace_bytes, file + at + 8, sizeof(trace_bytes));
		at += record_bytes;
		struct counts counts = compare_with_libipt(file + at, trace_bytes);
		assert_int_equal(counts.bad, 0);
		psbs += counts.kinds[MT_PT_PSB];
		tnt_bits += counts.tnt_bits;
		at += trace_bytes;
	}
	free(file);
	assert_int_equal(psbs, 10);
	assert_int_equal(tnt_bits, 377248);
}

/* A BIP's byte is a TNT's outside of a block. */
static void test_blocks(void **state)
{
	static const uint8_t bytes[] = {0x02, 0x63, 0x80, 0x0c, 1, 2, 3, 4, 0x02, 0x33, 0x0c};
	static const uint8_t kinds[] = {MT_PT_BBP, MT_PT_BIP, MT_PT_BEP, MT_PT_TNT};
	struct mt_pt_block block = {0};
	struct mt_pt_packet packet;
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		int result =
		    mt_pt_packet_decode_in_block(bytes + at, sizeof(bytes) - at, &block, &packet);
		assert_true(result > 0);
		assert_int_equal(packet.kind, kinds[i]);
		at += (size_t)result;
	}
	assert_int_equal(at, sizeof(bytes));
}

static void assert_trig(const char *text, const uint8_t *bytes, size_t size)
{
	struct mt_pt_packet packet;
	char found[128];

	for (size_t i = 1; i < size; i++)
		assert_int_equal(mt_pt_packet_decode(bytes, i, &packet), -1);
	assert_int_equal(mt_pt_packet_decode(bytes, size, &packet), size);
	mt_pt_packet_format(&packet, found, sizeof(found));
	assert_string_equal(found, text);
}

/* SDM vol. 3C, "Trigger Tracing", by libipt 2.3's reading: perf 6.1 does not know it. */
static void test_triggers(void **state)
{
	(void)state;
	assert_trig("TRIG IP:0 Mult:0 Vector 0x1a", (uint8_t[]){0xd9, 0x00, 0x1a}, 3);
	assert_trig("TRIG IP:1 Mult:1 Vector 0x03", (uint8_t[]){0xd9, 0xa0, 0x03}, 3);
	assert_trig("TRIG IP:0 Mult:0 Vector 0xa1 ICnt 258",
		    (uint8_t[]){0xd9, 0x40, 0xa1, 0x02, 0x01}, 5);
}

static void test_addresses_are_completed(void **state)
{
	static const struct {
		unsigned int ip_bytes;
		uint64_t payload, wanted;
	} cases[] = {
	    {1, 0x1234, 0x7fff89abcdef1234},         {2, 0x12345678, 0x7fff89ab12345678},
	    {3, 0x123456789abc, 0x123456789abc},     {3, 0x923456789abc, 0xffff923456789abc},
	    {4, 0x123456789abc, 0x7fff123456789abc}, {6, 0x123456789abcdef0, 0x123456789abcdef0},
	};
	uint64_t ip = 0x7fff89abcdef0123;

	(void)state;
	assert_false(mt_pt_packet_ip(0, 0, &ip));
	assert_int_equal(ip, 0x7fff89abcdef0123);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ip = 0x7fff89abcdef0123;
		assert_true(mt_pt_packet_ip(cases[i].ip_bytes, cases[i].payload, &ip));
		assert_int_equal(ip, cases[i].wanted);
	}
}

static void test_find_psb(void **state)
{
	/* A TSC that ends in 02 82, a PSB, PSBEND, half a PSB. */
	static const uint8_t bytes[] = {0x19, 1,    2, 3,    4, 5,    0x02, 0x82, 2, 0x82,
					2,    0x82, 2, 0x82, 2, 0x82, 2,    0x82, 2, 0x82,
					2,    0x82, 2, 0x82, 2, 0x23, 2,    0x82, 2, 0x82};
	const size_t size = sizeof(bytes);

	(void)state;
	assert_int_equal(mt_pt_find_psb(bytes, size, 0), 8);
	assert_int_equal(mt_pt_find_psb(bytes, size, 8), 8);
	assert_int_equal(mt_pt_find_psb(bytes, size, 9), size);
	assert_int_equal(mt_pt_find_psb(bytes, size, size), size);
	assert_int_equal(mt_pt_find_psb(bytes, size, size + 5), size);
	assert_int_equal(mt_pt_find_psb(bytes, 21, 0), 21);
	assert_int_equal(mt_pt_find_psb(bytes, 0, 0), 0);
	assert_int_equal(mt_pt_find_last_psb(bytes, size), 8);
	assert_int_equal(mt_pt_find_last_psb(bytes, 21), 21);
	assert_int_equal(mt_pt_find_last_psb(bytes, 0), 0);
}

static void test_format_cuts(void **state)
{
	const uint8_t tip[] = {0x6d, 1, 2, 3, 4, 5, 6};
	struct mt_pt_packet packet;
	char text[8];

	(void)state;
	assert_int_equal(mt_pt_packet_decode(tip, sizeof(tip), &packet), 7);
	mt_pt_packet_format(&packet, text, sizeof(text));
	assert_string_equal(text, "TIP 0x6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_strings_of_perf),
	    cmocka_unit_test(test_random_bytes_as_libipt),
	    cmocka_unit_test(test_dynamorio_recording),
	    cmocka_unit_test(test_lldb_recordings),
	    cmocka_unit_test(test_quipper_recording),
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_triggers),
	    cmocka_unit_test(test_addresses_are_completed),
	    cmocka_unit_test(test_find_psb),
	    cmocka_unit_test(test_format_cuts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
