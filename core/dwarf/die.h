/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of a DIE, also of those that it only refers to. */
#ifndef MT_DWARF_DIE_H
#define MT_DWARF_DIE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A DIE's name; NULL: none. */
const char *mt_die_name(Dwarf_Die *die);
/* "_ZN2ns1fIiEEvi"; NULL: it has no such name. */
const char *mt_die_linkage_name(Dwarf_Die *die);
/* Its first child with that tag.  False: none. */
bool mt_die_child(Dwarf_Die *parent, int tag, Dwarf_Die *out);
bool mt_die_flag(Dwarf_Die *die, unsigned which);
/* An attribute that is a location, as libdw takes it. */
bool mt_die_location(Dwarf_Die *die, unsigned which, Dwarf_Attribute *out);
/* Where a block begins, in the file: its first range, which need not be the lowest. */
bool mt_die_entry(Dwarf_Die *block, uint64_t *entry);
/* The DIE that DW_AT_abstract_origin or DW_AT_specification leads to, at last. */
Dwarf_Die mt_die_origin(const Dwarf_Die *die);

#endif
