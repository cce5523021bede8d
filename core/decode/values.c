/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which values were recorded with calls: notes say what their numbers mean, and what was read of
 * the calls that were open at the end. */
#include "decode/private.h"

#include <stdlib.h>

static struct mt_error *add_open_call(struct mt_decode_run *run, const struct mt_sideband *note)
{
	const char *at = (const char *)note->sample.raw;
	const char *text = mt_decode_next_string(&at, at + note->sample.raw_size);
	const struct mt_recorded_open_call call = {
	    .tid = note->tid,
	    .snapshot = (uint32_t)note->sample.weight,
	    .function = note->sample.ip,
	    .sp = note->sample.address,
	    .arguments = *text ? text : NULL,
	};

	return mt_array_push(&run->values.open_calls, call) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_decode_values(struct mt_decode_run *run)
{
	const struct mt_sideband *notes = mt_recording_sideband(run->recording);

	for (size_t i = 0; i < mt_recording_sideband_count(run->recording); i++) {
		const struct mt_sideband *note = &notes[i];

		if (note->sample.raw && mt_decode_note_of(run, note) == MT_NOTE_OPEN_CALL)
			mt_try(add_open_call(run, note));
		if (mt_decode_note_of(run, note) != MT_NOTE_VALUE_IS || !note->sample.raw)
			continue;
		const char *at = (const char *)note->sample.raw, *end = at + note->sample.raw_size;
		struct mt_recorded_value value = {
		    .number = note->sample.weight < MT_RECORDED_VALUES_LIMIT
				  ? (uint32_t)note->sample.weight
				  : MT_RECORDED_VALUES_LIMIT,
		    .function = note->sample.ip,
		    .is_result = note->sample.address,
		};

		value.name = mt_decode_next_string(&at, end);
		const char *form = mt_decode_next_string(&at, end);
		value.form = *form;
		value.size = *form ? (uint8_t)strtoul(form + 1, NULL, 10) : 0;
		value.names = at;
		value.names_bytes = (size_t)(end - at);
		mt_try(mt_recorded_values_add(&run->values, &value));
	}
	return NULL;
}
