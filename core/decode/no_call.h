/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Somebody asked for the calls of a function, and a recording contains none. */
#ifndef MT_DECODE_NO_CALL_H
#define MT_DECODE_NO_CALL_H

#include "perf/recording.h"

/* NOT_FOUND: it contains no call of FUNCTION, as mt_function_matches() takes it.  Where the engine
 * `calls` made it, and cannot record any function of that name, the error says why; that takes
 * planning the files of the program that have one.  Errors: NO_MEMORY. */
struct mt_error *mt_decode_no_call(struct mt_recording *recording, const char *function);

#endif
