/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The note by which files have the functions of include/mtrace.h: few do, and looking for these by
 * name would cost the others their symbols' index.  Go's programs have none, and are asked for a
 * name. */
#ifndef MT_ELF_HEADER_NOTE_H
#define MT_ELF_HEADER_NOTE_H

#include "elf/objfile.h"

bool mt_objfile_has_header_note(const struct mt_objfile *objfile);

#endif
