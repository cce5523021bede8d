/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where one function calls another, read from the code: for tail calls, and for recordings that do
 * not say where a function returns to.  Only what is certain is shown: the one call, or several of
 * one line. */
#ifndef MT_DECODE_CALL_SITES_H
#define MT_DECODE_CALL_SITES_H

#include "space/space.h"
#include "trace/symbolizer.h"

struct mt_call_sites;

struct mt_call_sites *mt_call_sites_create(void);        /* NULL without memory */
void mt_call_sites_destroy(struct mt_call_sites *sites); /* NULL is fine */

/* The address of the direct call or jump, or, where IS_JUMP, of the jump, by which CALLER comes to
 * CALLEE; 0: there is none, or there are several in different lines, or not all of CALLER's code
 * can be read. */
uint64_t mt_call_sites_find(struct mt_call_sites *sites, struct mt_space *space,
			    const struct mt_function *caller, const struct mt_function *callee,
			    bool is_jump);
/* The call that returns to RETURN_ADDRESS. */
struct mt_call_before mt_call_sites_before(struct mt_call_sites *sites, struct mt_space *space,
					   uint64_t return_address);

#endif
