/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How well a text fits what somebody typed of it, as fuzzy finders rank: the typed letters in
 * their order, better close together and where words begin. */
#ifndef MT_BASE_FUZZY_H
#define MT_BASE_FUZZY_H

#include <stdint.h>

#define MT_FUZZY_NONE INT32_MIN

/* QUERY: words, separated by blanks, each of which must fit somewhere.  Case counts in a word with
 * a capital letter.  The higher the better; 0 for an empty query; MT_FUZZY_NONE: it does not fit.
 */
int32_t mt_fuzzy_score(const char *text, const char *query);

#endif
