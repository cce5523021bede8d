/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packets' encodings as tables: one by the first byte, one by the byte behind 02 (the extended
 * opcodes), and what does not fit a table by hand: TNT, IP packets, CYC, MODE, PSB, BIP. */
#include "pt/packet.h"

#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CYC_MAX_BYTES 9 /* 61 bits */
#define PSB_BYTES     16

static const uint8_t psb[PSB_BYTES] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
				       0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

static const char *const names[MT_PT_PACKET_KINDS] = {
    [MT_PT_PAD] = "PAD",           [MT_PT_TNT] = "TNT",
    [MT_PT_TIP] = "TIP",           [MT_PT_TIP_PGE] = "TIP.PGE",
    [MT_PT_TIP_PGD] = "TIP.PGD",   [MT_PT_FUP] = "FUP",
    [MT_PT_PIP] = "PIP",           [MT_PT_MODE_EXEC] = "MODE.Exec",
    [MT_PT_MODE_TSX] = "MODE.TSX", [MT_PT_TRACESTOP] = "TraceSTOP",
    [MT_PT_CBR] = "CBR",           [MT_PT_TSC] = "TSC",
    [MT_PT_MTC] = "MTC",           [MT_PT_TMA] = "TMA",
    [MT_PT_CYC] = "CYC",           [MT_PT_VMCS] = "VMCS",
    [MT_PT_OVF] = "OVF",           [MT_PT_PSB] = "PSB",
    [MT_PT_PSBEND] = "PSBEND",     [MT_PT_MNT] = "MNT",
    [MT_PT_PTWRITE] = "PTWRITE",   [MT_PT_EXSTOP] = "EXSTOP",
    [MT_PT_MWAIT] = "MWAIT",       [MT_PT_PWRE] = "PWRE",
    [MT_PT_PWRX] = "PWRX",         [MT_PT_BBP] = "BBP",
    [MT_PT_BIP] = "BIP",           [MT_PT_BEP] = "BEP",
    [MT_PT_CFE] = "CFE",           [MT_PT_EVD] = "EVD",
    [MT_PT_TRIG] = "TRIG",
};

/* Little-endian, at most 8 bytes. */
static uint64_t get(const uint8_t *bytes, unsigned int count)
{
	uint64_t value = 0;

	memcpy(&value, bytes, count);
	return le64toh(value);
}

static int done(struct mt_pt_packet *out, enum mt_pt_packet_kind kind, unsigned int size,
		uint64_t payload)
{
	out->kind = (uint8_t)kind;
	out->name = names[kind];
	out->size = (uint8_t)size;
	out->payload = payload;
	return (int)size;
}

/* SIZE bytes in all, of which the last PAYLOAD_BYTES are the payload. */
static int fixed(const uint8_t *bytes, size_t size, struct mt_pt_packet *out,
		 enum mt_pt_packet_kind kind, unsigned int packet_bytes, unsigned int payload_bytes)
{
	if (size < packet_bytes)
		return -1;
	return done(out, kind, packet_bytes,
		    get(bytes + packet_bytes - payload_bytes, payload_bytes));
}

/* COUNT branches below a stop bit. */
static int tnt(struct mt_pt_packet *out, unsigned int size, uint64_t bits)
{
	if (bits < 2)
		return 0;
	out->count = (uint8_t)(63 - __builtin_clzll(bits));
	return done(out, MT_PT_TNT, size, bits & ~(UINT64_C(1) << out->count));
}

static int ip(const uint8_t *bytes, size_t size, struct mt_pt_packet *out,
	      enum mt_pt_packet_kind kind)
{
	static const int8_t payload_bytes[8] = {0, 2, 4, 6, 6, -1, 8, -1};

	out->count = bytes[0] >> 5;
	if (payload_bytes[out->count] < 0)
		return 0;
	unsigned int count = (unsigned int)payload_bytes[out->count];
	return fixed(bytes, size, out, kind, 1 + count, count);
}

static int mode(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	if (size < 2)
		return -1;
	switch (bytes[1] >> 5) {
	case 0:
		return fixed(bytes, size, out, MT_PT_MODE_EXEC, 2, 1);
	case 1:
		return fixed(bytes, size, out, MT_PT_MODE_TSX, 2, 1);
	default:
		return 0;
	}
}

/* Five bits, then seven a byte, as long as the low bit (in the first byte the third) says more. */
static int cyc(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	uint64_t value = bytes[0] >> 3;
	bool more = bytes[0] & 0x4;
	unsigned int at = 1;

	for (unsigned int shift = 5; more; shift += 7, at++) {
		if (shift > 63)
			return 0;
		if (at == size)
			return -1;
		uint64_t bits = bytes[at] >> 1;
		if (bits << shift >> shift != bits)
			return 0;
		value |= bits << shift;
		more = bytes[at] & 1;
	}
	return done(out, MT_PT_CYC, at, value);
}

static int psb_packet(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	size_t at_hand = size < PSB_BYTES ? size : PSB_BYTES;

	if (memcmp(bytes, psb, at_hand) != 0)
		return 0;
	return size < PSB_BYTES ? -1 : done(out, MT_PT_PSB, PSB_BYTES, 0);
}

/* 02 and ip:1 size:2 10010b. */
static int ptwrite(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	unsigned int size_field = bytes[1] >> 5 & 3;

	if (size_field > 1)
		return 0;
	out->count = bytes[1] >> 7;
	return size_field ? fixed(bytes, size, out, MT_PT_PTWRITE, 10, 8)
			  : fixed(bytes, size, out, MT_PT_PTWRITE, 6, 4);
}

/* d9, ip:1 icntv:1 mult:1, the vector, and where icntv says so a count of instructions. */
static int trig(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	if (size < 2)
		return -1;
	out->count = bytes[1] >> 7;
	return bytes[1] & 0x40 ? fixed(bytes, size, out, MT_PT_TRIG, 5, 4)
			       : fixed(bytes, size, out, MT_PT_TRIG, 3, 2);
}

struct encoding {
	uint8_t opcode;
	uint8_t kind;
	uint8_t packet_bytes;
	uint8_t payload_bytes;
	bool with_ip;
};

static const struct encoding extended_encodings[] = {
    {0x03, MT_PT_CBR, 4, 2, false},    {0x13, MT_PT_CFE, 4, 2, false},
    {0x22, MT_PT_PWRE, 4, 2, false},   {0x23, MT_PT_PSBEND, 2, 0, false},
    {0x33, MT_PT_BEP, 2, 0, false},    {0x43, MT_PT_PIP, 8, 6, false},
    {0x62, MT_PT_EXSTOP, 2, 0, false}, {0x63, MT_PT_BBP, 3, 1, false},
    {0x73, MT_PT_TMA, 7, 5, false},    {0x83, MT_PT_TRACESTOP, 2, 0, false},
    {0xa2, MT_PT_PWRX, 7, 5, false},   {0xb3, MT_PT_BEP, 2, 0, true},
    {0xc2, MT_PT_MWAIT, 10, 8, false}, {0xc8, MT_PT_VMCS, 7, 5, false},
    {0xe2, MT_PT_EXSTOP, 2, 0, true},  {0xf3, MT_PT_OVF, 2, 0, false},
};

static int extended(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	if (size < 2)
		return -1;
	switch (bytes[1]) {
	case 0x82:
		return psb_packet(bytes, size, out);
	case 0xa3:
		return size < 8 ? -1 : tnt(out, 8, get(bytes + 2, 6));
	case 0x53: /* EVD: a type of 6 bits, then the payload */
		if (size >= 3)
			out->count = bytes[2] & 0x3f;
		return fixed(bytes, size, out, MT_PT_EVD, 11, 8);
	case 0xc3:
		if (size < 3)
			return -1;
		return bytes[2] == 0x88 ? fixed(bytes, size, out, MT_PT_MNT, 11, 8) : 0;
	}
	if ((bytes[1] & 0x1f) == 0x12)
		return ptwrite(bytes, size, out);
	for (size_t i = 0; i < sizeof(extended_encodings) / sizeof(extended_encodings[0]); i++) {
		const struct encoding *e = &extended_encodings[i];
		if (e->opcode != bytes[1])
			continue;
		out->count = e->with_ip || (e->kind == MT_PT_CFE && size > 2 && bytes[2] >> 7);
		return fixed(bytes, size, out, e->kind, e->packet_bytes, e->payload_bytes);
	}
	return 0;
}

int mt_pt_packet_decode(const uint8_t *bytes, size_t size, struct mt_pt_packet *out)
{
	*out = (struct mt_pt_packet){.name = "none"};
	if (!size)
		return -1;
	switch (bytes[0]) {
	case 0x00:
		return done(out, MT_PT_PAD, 1, 0);
	case 0x02:
		return extended(bytes, size, out);
	case 0x19:
		return fixed(bytes, size, out, MT_PT_TSC, 8, 7);
	case 0x59:
		return fixed(bytes, size, out, MT_PT_MTC, 2, 1);
	case 0x99:
		return mode(bytes, size, out);
	case 0xd9:
		return trig(bytes, size, out);
	}
	if ((bytes[0] & 1) == 0)
		return tnt(out, 1, bytes[0] >> 1);
	if ((bytes[0] & 3) == 3)
		return cyc(bytes, size, out);
	switch (bytes[0] & 0x1f) {
	case 0x01:
		return ip(bytes, size, out, MT_PT_TIP_PGD);
	case 0x0d:
		return ip(bytes, size, out, MT_PT_TIP);
	case 0x11:
		return ip(bytes, size, out, MT_PT_TIP_PGE);
	case 0x1d:
		return ip(bytes, size, out, MT_PT_FUP);
	}
	return 0;
}

int mt_pt_packet_decode_in_block(const uint8_t *bytes, size_t size, struct mt_pt_block *block,
				 struct mt_pt_packet *out)
{
	/* SDM 33.4.2, BIP: id:5 100b, then 4 or 8 bytes. */
	if (block->item_bytes && size && (bytes[0] & 7) == 4) {
		*out = (struct mt_pt_packet){.name = "none", .count = bytes[0] >> 3};
		return fixed(bytes, size, out, MT_PT_BIP, 1 + block->item_bytes, block->item_bytes);
	}
	int result = mt_pt_packet_decode(bytes, size, out);
	if (result <= 0)
		return result;
	if (out->kind == MT_PT_BBP)
		block->item_bytes = out->payload & 0x80 ? 4 : 8;
	else if (out->kind == MT_PT_BEP || out->kind == MT_PT_PSB || out->kind == MT_PT_OVF)
		block->item_bytes = 0;
	return result;
}

bool mt_pt_packet_is_impossible(const struct mt_pt_packet *packet)
{
	if (packet->kind == MT_PT_CYC)
		return packet->size > CYC_MAX_BYTES;
	/* CTC, a reserved byte, FC of 9 bits (SDM table 33-31). */
	return packet->kind == MT_PT_TMA && (packet->payload >> 16 & 0xff || packet->payload >> 33);
}

bool mt_pt_packet_ip(unsigned int ip_bytes, uint64_t payload, uint64_t *last_ip)
{
	static const uint8_t bits[8] = {[1] = 16, [2] = 32, [4] = 48};
	const uint64_t above = ip_bytes < 8 && bits[ip_bytes] ? ~UINT64_C(0) << bits[ip_bytes] : 0;

	if (!ip_bytes)
		return false;
	if (ip_bytes == 3) /* 48 bits, whose highest goes on */
		payload = (uint64_t)((int64_t)(payload << 16) >> 16);
	*last_ip = (*last_ip & above) | payload;
	return true;
}

static void format_tnt(const struct mt_pt_packet *packet, char *text, size_t text_size)
{
	char bits[64];

	for (unsigned int i = 0; i < packet->count; i++)
		bits[i] = packet->payload >> (packet->count - 1 - i) & 1 ? 'T' : 'N';
	snprintf(text, text_size, "TNT %.*s (%u)", packet->count, bits, packet->count);
}

void mt_pt_packet_format(const struct mt_pt_packet *packet, char *text, size_t text_size)
{
	const char *name = packet->name;
	uint64_t p = packet->payload;
	unsigned int low = p & 0xff, high = p >> 8 & 0xff;

	switch (packet->kind) {
	case MT_PT_PAD:
	case MT_PT_TRACESTOP:
	case MT_PT_OVF:
	case MT_PT_PSB:
	case MT_PT_PSBEND:
		snprintf(text, text_size, "%s", name);
		break;
	case MT_PT_TNT:
		format_tnt(packet, text, text_size);
		break;
	case MT_PT_TIP:
	case MT_PT_TIP_PGE:
	case MT_PT_TIP_PGD:
	case MT_PT_FUP:
		if (packet->count == 0)
			snprintf(text, text_size, "%s no ip", name);
		else
			snprintf(text, text_size, "%s 0x%" PRIx64, name, p);
		break;
	case MT_PT_PIP:
		snprintf(text, text_size, "%s cr3 0x%" PRIx64 " (NR=%u)", name, p >> 1 << 5,
			 low & 1);
		break;
	case MT_PT_MODE_EXEC:
		snprintf(text, text_size, "%s IF:%u %s", name, low >> 2 & 1,
			 p & 1   ? "64"
			 : p & 2 ? "32"
				 : "16");
		break;
	case MT_PT_MODE_TSX:
		snprintf(text, text_size, "%s TXAbort:%u InTX:%u", name, low >> 1 & 1, low & 1);
		break;
	case MT_PT_TMA:
		snprintf(text, text_size, "%s CTC 0x%x FC 0x%x", name, (unsigned int)(p & 0xffff),
			 (unsigned int)(p >> 24 & 0x1ff));
		break;
	case MT_PT_PTWRITE:
		snprintf(text, text_size, "%s 0x%" PRIx64 " IP:%u", name, p, packet->count);
		break;
	case MT_PT_EXSTOP:
	case MT_PT_BEP:
		snprintf(text, text_size, "%s IP:%u", name, packet->count);
		break;
	case MT_PT_BBP:
		snprintf(text, text_size, "%s SZ %s Type 0x%x", name,
			 low & 0x80 ? "4-byte" : "8-byte", low & 0x1f);
		break;
	case MT_PT_BIP:
		snprintf(text, text_size, "%s ID 0x%02x Value 0x%" PRIx64, name, packet->count, p);
		break;
	case MT_PT_MWAIT:
		snprintf(text, text_size, "%s 0x%" PRIx64 " Hints 0x%x Extensions 0x%x", name, p,
			 low, (unsigned int)(p >> 32 & 3));
		break;
	case MT_PT_PWRE:
		snprintf(text, text_size, "%s 0x%" PRIx64 " HW:%u CState:%u Sub-CState:%u", name, p,
			 low >> 7, high >> 4, high & 0xf);
		break;
	case MT_PT_PWRX:
		snprintf(text, text_size,
			 "%s 0x%" PRIx64 " Last CState:%u Deepest CState:%u Wake Reason 0x%x", name,
			 p, low >> 4, low & 0xf, high & 0xf);
		break;
	case MT_PT_CFE:
		snprintf(text, text_size, "%s IP:%u Type 0x%02x Vector 0x%x", name, low >> 7,
			 low & 0x1f, high);
		break;
	case MT_PT_EVD:
		snprintf(text, text_size, "%s Type 0x%02x Payload 0x%" PRIx64, name, packet->count,
			 p);
		break;
	case MT_PT_TRIG:
		if (packet->size > 3)
			snprintf(text, text_size, "%s IP:%u Mult:%u Vector 0x%02x ICnt %u", name,
				 packet->count, low >> 5 & 1, high, (unsigned int)(p >> 16));
		else
			snprintf(text, text_size, "%s IP:%u Mult:%u Vector 0x%02x", name,
				 packet->count, low >> 5 & 1, high);
		break;
	default:
		snprintf(text, text_size, "%s 0x%" PRIx64, name, p);
	}
}

/* A packet in front of a PSB may end in 02 82: the PSB is the end of such a run, not its
 * beginning. */
size_t mt_pt_find_psb(const uint8_t *bytes, size_t size, size_t from)
{
	const uint8_t *found =
	    from < size ? memmem(bytes + from, size - from, psb, PSB_BYTES) : NULL;

	if (!found)
		return size;
	size_t end = (size_t)(found - bytes) + PSB_BYTES;
	while (end + 1 < size && bytes[end] == 0x02 && bytes[end + 1] == 0x82)
		end += 2;
	return end - PSB_BYTES;
}

size_t mt_pt_find_last_psb(const uint8_t *bytes, size_t size)
{
	for (size_t at = size; at >= PSB_BYTES; at--) {
		if (bytes[at - 1] == 0x82 && !memcmp(bytes + at - PSB_BYTES, psb, PSB_BYTES))
			return at - PSB_BYTES;
	}
	return size;
}
