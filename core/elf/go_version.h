/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which version of Go made a program, as its linker notes (.go.buildinfo, debug/buildinfo), also in
 * a stripped one. */
#ifndef MT_ELF_GO_VERSION_H
#define MT_ELF_GO_VERSION_H

#include "elf/objfile.h"

/* False: it is no program of Go's. */
bool mt_objfile_is_go(const struct mt_objfile *objfile);
/* 19 of Go 1.19.8; 0: it is not known, as before Go 1.18, or it is none that was released. */
unsigned mt_objfile_go_minor(const struct mt_objfile *objfile);

#endif
