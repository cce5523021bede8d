/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that belong to this build: next to the program or library that the core was linked
 * into, or where `make install` puts them relative to it. */
#ifndef MT_BASE_INSTALLED_H
#define MT_BASE_INSTALLED_H

/* The real path of NAME, the caller's to free; NULL, and errno: it is in none of the directories
 * (ENOENT), one of them cannot be searched (EACCES), or there is no memory. */
char *mt_installed_find(const char *name);

#endif
