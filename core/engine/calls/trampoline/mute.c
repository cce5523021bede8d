/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trampoline that records no more, while threads may stand anywhere in it, or come back into it
 * from a signal: one instruction of five bytes, with which reserving a slot begins, becomes a jump
 * behind the recording. */
#include "engine/calls/trampoline/trampoline.h"

#include <string.h>

/* mov eax, BYTES; and the beginning of xadd gs:[written], rax */
static const uint8_t *find_reservation(const uint8_t *code, size_t size, uint8_t event_bytes)
{
	const uint8_t reserve[] = {0xb8, event_bytes, 0, 0, 0, 0x65, 0x48, 0x0f, 0xc1};

	return memmem(code, size, reserve, sizeof(reserve));
}

/* Where registers and stack are as they are at the reservation, and the event and its stamp are
 * done.  RECORDED: the first row that comes after the event. */
static uint32_t behind_recording(const struct mt_trampoline_row *recorded,
				 const struct mt_trampoline_row *end, int below)
{
	uint32_t offset = recorded->offset;

	for (; recorded < end && recorded->phase == MT_PHASE_RECORDED; recorded++)
		if (recorded->below == below)
			offset = recorded->offset;
	return offset;
}

void mt_trampoline_each_mute(const struct mt_trampolines *trampolines, uint32_t begin, uint32_t end,
			     void (*found)(void *context, const struct mt_trampoline_mute *mute),
			     void *context)
{
	const struct mt_trampoline_row *rows = trampolines->rows.items;
	const uint8_t *code = trampolines->code.items, *at;
	size_t count = trampolines->rows.count, first = 0;

	for (size_t i = 1; i < count; i++) {
		if (rows[i].phase == MT_PHASE_RECORDING && rows[i - 1].phase != MT_PHASE_RECORDING)
			first = i;
		if (rows[i].offset < begin || rows[i].offset >= end ||
		    rows[i].phase != MT_PHASE_RECORDED || rows[i - 1].phase != MT_PHASE_RECORDING)
			continue;
		at = find_reservation(code + rows[first].offset,
				      rows[i].offset - rows[first].offset, rows[i - 1].event_bytes);
		if (!at)
			continue; /* a line's stamp */
		struct mt_trampoline_mute mute = {.offset = (uint32_t)(at - code), .code = {0xe9}};
		const struct mt_trampoline_row *row =
		    mt_trampoline_row_at(trampolines, mute.offset);
		uint32_t distance = behind_recording(&rows[i], rows + count, row->below) -
				    (mute.offset + sizeof(mute.code));

		memcpy(mute.code + 1, &distance, sizeof(distance));
		found(context, &mute);
	}
}
