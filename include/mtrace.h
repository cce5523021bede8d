/* SPDX-License-Identifier: GPL-3.0-or-later OR MIT */
/* What a program says of itself on its timeline, for C and C++; for Rust, Go and OCaml there are
 * files of the same.  No library is needed, and nothing happens until mtdb records: each of these
 * is a call of a function that does nothing.
 *
 *	mtrace_mark("cache flushed");             an instant among the calls
 *	mtrace_begin("request");  mtrace_end();   a span, on a track of its thread's own
 *	MTRACE_SPAN("request");                   the same, to the end of the block
 *	mtrace_number("queue length", 17);        a counter
 *	mtrace_snapshot("balance is negative");   a snapshot of what came before
 *
 * A string literal is recorded by its address and shown whole; of other texts the first 32 bytes
 * are recorded.  See mtdb(1), "Programs that speak for themselves". */
#ifndef MTRACE_H
#define MTRACE_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One in each file; the linker, and the dynamic loader, take the first.  Weak functions are never
 * inlined, cloned or left out, as the compiler does not know which one that is. */
#define MTRACE_FUNCTION                                                                            \
	__attribute__((__weak__, __noinline__, __used__, __visibility__("default"),                \
		       __no_instrument_function__))

/* Room for a jump; the arguments are where a function has them. */
#if defined(__x86_64__)
#define MTRACE_BODY(argument, other)                                                               \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x1f, 0x44, 0, 0"                    \
			 :                                                                         \
			 : "r"(argument), "r"(other)                                               \
			 : "memory")

/* By this mtdb knows that a file has them. */
__asm__(".pushsection .note.mtrace, \"a\", @note\n\t"
	".balign 4\n\t"
	".long 7, 4, 1\n\t"
	".asciz \"mtrace\"\n\t"
	".balign 4\n\t"
	".long 1\n\t"
	".popsection");
#else
#define MTRACE_BODY(argument, other) __asm__ volatile("" : : "r"(argument), "r"(other) : "memory")
#endif

MTRACE_FUNCTION void mtrace_mark(const char *text);
MTRACE_FUNCTION void mtrace_mark(const char *text)
{
	MTRACE_BODY(text, 0);
}

MTRACE_FUNCTION void mtrace_mark_literal(const char *text);
MTRACE_FUNCTION void mtrace_mark_literal(const char *text)
{
	MTRACE_BODY(text, 1);
}

MTRACE_FUNCTION void mtrace_begin(const char *name);
MTRACE_FUNCTION void mtrace_begin(const char *name)
{
	MTRACE_BODY(name, 2);
}

MTRACE_FUNCTION void mtrace_begin_literal(const char *name);
MTRACE_FUNCTION void mtrace_begin_literal(const char *name)
{
	MTRACE_BODY(name, 3);
}

/* Of the span that the thread began last. */
MTRACE_FUNCTION void mtrace_end(void);
MTRACE_FUNCTION void mtrace_end(void)
{
	MTRACE_BODY(0, 4);
}

/* BITS: those of a double; NAME: a literal. */
MTRACE_FUNCTION void mtrace_number_bits(const char *name, uint64_t bits);
MTRACE_FUNCTION void mtrace_number_bits(const char *name, uint64_t bits)
{
	MTRACE_BODY(name, bits);
}

MTRACE_FUNCTION void mtrace_number_text(const char *name, uint64_t bits);
MTRACE_FUNCTION void mtrace_number_text(const char *name, uint64_t bits)
{
	(void)bits; /* no other function is the same, which linkers would make one of */
	MTRACE_BODY(name, 6);
}

MTRACE_FUNCTION void mtrace_snapshot(const char *reason);
MTRACE_FUNCTION void mtrace_snapshot(const char *reason)
{
	MTRACE_BODY(reason, 5);
}

/* The same, for programs that were written for magic-trace. */
#ifndef MTRACE_NO_STOP_INDICATOR
MTRACE_FUNCTION void magic_trace_stop_indicator(uint64_t one, uint64_t other);
MTRACE_FUNCTION void magic_trace_stop_indicator(uint64_t one, uint64_t other)
{
	MTRACE_BODY(one, other);
}
#endif

static inline uint64_t mtrace_bits(double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

#ifdef __cplusplus
}
#endif

#define mtrace_mark(text)                                                                          \
	(__builtin_constant_p(text) ? mtrace_mark_literal(text) : mtrace_mark(text))
#define mtrace_begin(name)                                                                         \
	(__builtin_constant_p(name) ? mtrace_begin_literal(name) : mtrace_begin(name))
#define mtrace_number(name, ...)                                                                   \
	(__builtin_constant_p(name) ? mtrace_number_bits(name, mtrace_bits(__VA_ARGS__))           \
				    : mtrace_number_text(name, mtrace_bits(__VA_ARGS__)))

/* A snapshot if more than LIMIT_NS have passed since BEGIN, which mtrace_clock() gave.  The clock
 * is read whether anybody records or not; "mtdb run --trigger 'mtrace_begin..mtrace_end > 5ms'" is
 * about spans, and costs nothing meanwhile.  Where <time.h> has the clock (-std=gnu…, POSIX). */
#include <time.h>
#ifdef CLOCK_MONOTONIC
static inline uint64_t mtrace_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void mtrace_snapshot_if_slower(uint64_t begin, uint64_t limit_ns, const char *reason)
{
	if (mtrace_clock() - begin > limit_ns)
		mtrace_snapshot(reason);
}
#endif

#define MTRACE_PASTE_(one, other) one##other
#define MTRACE_PASTE(one, other)  MTRACE_PASTE_(one, other)

/* A span to the end of the block, however that is left. */
#ifdef __cplusplus
struct mtrace_span_guard {
	~mtrace_span_guard()
	{
		mtrace_end();
	}
};
#define MTRACE_SPAN(name)                                                                          \
	mtrace_begin(name);                                                                        \
	const mtrace_span_guard MTRACE_PASTE(mtrace_span_, __LINE__) = mtrace_span_guard()
#else
static inline void mtrace_span_end(const char *span)
{
	(void)span;
	mtrace_end();
}
#define MTRACE_SPAN(name)                                                                          \
	__attribute__((__cleanup__(mtrace_span_end), __unused__)) const char MTRACE_PASTE(         \
	    mtrace_span_, __LINE__) = (mtrace_begin(name), (char)0)
#endif

#endif
