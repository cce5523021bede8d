/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as packets: never past the end, always forward, always a text. */
#include "pt/packet.h"

#include <stdlib.h>
#include <string.h>

static void check(int holds)
{
	if (!holds)
		abort();
}

static void walk(const uint8_t *bytes, size_t size, size_t at)
{
	struct mt_pt_block block = {0};
	struct mt_pt_packet packet;
	char text[96];

	while (at < size) {
		int result = mt_pt_packet_decode_in_block(bytes + at, size - at, &block, &packet);
		check(result >= -1 && result <= (int)(size - at < 16 ? size - at : 16));
		if (result <= 0) {
			at++;
			continue;
		}
		check(packet.size == result && packet.kind < MT_PT_PACKET_KINDS);
		mt_pt_packet_format(&packet, text, sizeof(text));
		check(strncmp(text, packet.name, strlen(packet.name)) == 0);
		at += (size_t)result;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	size_t first = mt_pt_find_psb(bytes, size, 0), last = mt_pt_find_last_psb(bytes, size);

	check((first == size) == (last == size) && first <= last);
	walk(bytes, size, 0);
	walk(bytes, size, first);
	return 0;
}
