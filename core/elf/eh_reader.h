/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers and pointers of .eh_frame and of the tables that it points to (LSB Core, "Exception
 * Frames", "DWARF Exception Header Encoding"). */
#ifndef MT_ELF_EH_READER_H
#define MT_ELF_EH_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reading beyond the end gives 0 and sets `failed`, which stays. */
struct mt_eh_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

uint64_t mt_eh_read_bytes(struct mt_eh_reader *reader, size_t size);
uint64_t mt_eh_read_leb(struct mt_eh_reader *reader, bool is_signed);
/* The value as it stands there, by the low four bits of a DW_EH_PE encoding. */
uint64_t mt_eh_read_format(struct mt_eh_reader *reader, unsigned encoding);
/* An absolute or pc-relative pointer, of which PLACE is the address; 0 is no pointer.  False: an
 * encoding of another kind. */
bool mt_eh_read_pointer(struct mt_eh_reader *reader, unsigned encoding, uint64_t place,
			uint64_t *out);

#endif
