/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "elf/eh_reader.h"

#include <dwarf.h>
#include <string.h>

uint64_t mt_eh_read_bytes(struct mt_eh_reader *reader, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

uint64_t mt_eh_read_leb(struct mt_eh_reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint64_t byte;

	do {
		byte = mt_eh_read_bytes(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~0ULL << shift;
	return value;
}

uint64_t mt_eh_read_format(struct mt_eh_reader *reader, unsigned encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return mt_eh_read_bytes(reader, 8);
	case DW_EH_PE_udata2:
		return mt_eh_read_bytes(reader, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)mt_eh_read_bytes(reader, 2);
	case DW_EH_PE_udata4:
		return mt_eh_read_bytes(reader, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)mt_eh_read_bytes(reader, 4);
	case DW_EH_PE_uleb128:
		return mt_eh_read_leb(reader, false);
	case DW_EH_PE_sleb128:
		return mt_eh_read_leb(reader, true);
	default:
		reader->failed = true;
		return 0;
	}
}

bool mt_eh_read_pointer(struct mt_eh_reader *reader, unsigned encoding, uint64_t place,
			uint64_t *out)
{
	unsigned base = encoding & 0x70;

	if (encoding & DW_EH_PE_indirect || (base && base != DW_EH_PE_pcrel))
		return false;
	*out = mt_eh_read_format(reader, encoding);
	if (*out && base)
		*out += place;
	return true;
}
