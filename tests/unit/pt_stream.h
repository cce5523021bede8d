/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the decoder: packets by hand (SDM vol. 3C, 33.4) over a page of made-up code. */
#ifndef MT_TESTS_UNIT_PT_STREAM_H
#define MT_TESTS_UNIT_PT_STREAM_H

#include "pt_decode.h"

#define USER   0x400000ull
#define KERNEL 0xffffffff81000000ull

static const uint8_t user_code[64] = {
    0x0f, 0x05,                                  /* 0: syscall */
    0x90, 0x90,                                  /* 2 */
    0xeb, 0xfe,                                  /* 4: jmp to itself */
    0xcc,                                        /* 6: int3 */
    0xe8, 1,    0,    0,    0,                   /* 7: call 0xd */
    0x90,                                        /* 12 */
    0xff, 0xe0,                                  /* 13: jmp *%rax */
    0x90,                                        /* 15 */
    0x0f, 0x01, 0xc2,                            /* 16: vmlaunch */
    0x90, 0x90,                                  /* 19 */
    0xd5, 0,    0xa1, 1,    2, 3, 4, 5, 6, 7, 8, /* 21: jmpabs */
    0x90, 0x90, 0x90, 0x90,                      /* 32 */
    0x48, 0xff, 0x28,                            /* 36: ljmp *(%rax) */
    0xe8, 1,    0,    0,    0,                   /* 39: call 45 */
    0xcb,                                        /* 44: lret */
    0x48, 0xc3,                                  /* 45: in 32 bits dec %eax; ret */
};
static const uint8_t kernel_code[64] = {
    0x90, 0x48, 0x0f, 0x07,       /* 0: nop, sysretq */
    0x90, 0x90, 0x48, 0xcf,       /* 4: nop, nop, iretq */
    0x0f, 0x22, 0xd8, 0xff, 0xe0, /* 8: mov %rax,%cr3; jmp *%rax */
    0xf3, 0x0f, 0x01, 0xca,       /* 13: eretu */
    0xfb, 0x90, 0xff, 0xe0,       /* 17: sti, nop; jmp *%rax */
};

struct stream {
	uint8_t bytes[1024];
	size_t size;
	char path[32];
	struct mt_pt_decoder_config config;
	struct mt_pt_image_cache *cache;
	struct pt_pieces *pieces;
};

static inline void put(struct stream *stream, const void *bytes, size_t size)
{
	memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
}
#define PUT(stream, ...) put(stream, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static inline void put_ip(struct stream *stream, uint8_t opcode, uint64_t ip)
{
	PUT(stream, (uint8_t)(6 << 5 | opcode));
	put(stream, &ip, sizeof(ip));
}
#define TIP 0x0d
#define FUP 0x1d
#define PGE 0x11

static inline void put_psb(struct stream *stream, uint64_t ip, uint64_t tsc)
{
	for (int i = 0; i < 8; i++)
		PUT(stream, 0x02, 0x82);
	PUT(stream, 0x19);
	put(stream, &tsc, 7);
	if (ip) {
		PUT(stream, 0x99, 0x01); /* MODE.Exec, 64 bits */
		put_ip(stream, FUP, ip);
	}
	PUT(stream, 0x02, 0x23);
}

static inline void put_stop(struct stream *stream, uint64_t ip)
{
	put_ip(stream, FUP, ip);
	PUT(stream, 0x01); /* TIP.PGD without IP */
}

static inline struct stream open_stream(void)
{
	struct stream stream = {.path = "/tmp/mtrace-flow-XXXXXX"};
	int fd = mkstemp(stream.path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, user_code, 64), 64);
	assert_int_equal(write(fd, kernel_code, 64), 64);
	close(fd);
	stream.pieces = calloc(1, sizeof(*stream.pieces));
	assert_null(mt_pt_image_cache_create(&stream.cache));
	assert_null(mt_pt_image_create(stream.cache, &stream.pieces->image));
	assert_null(mt_pt_image_add(stream.pieces->image, stream.path, 0, 64, USER));
	assert_null(mt_pt_image_add(stream.pieces->image, stream.path, 64, 64, KERNEL));
	return stream;
}

static inline struct pt_events close_stream(struct stream *stream)
{
	stream->pieces->items[0] =
	    (struct mt_pt_piece){.bytes = stream->bytes, .size = stream->size};
	stream->pieces->count = 1 + (stream->pieces->items[1].bytes != NULL);
	struct pt_events events = pt_decode(stream->config, stream->pieces, 16);
	mt_pt_image_destroy(stream->pieces->image);
	mt_pt_image_cache_destroy(stream->cache);
	free(stream->pieces);
	unlink(stream->path);
	return events;
}

static inline void assert_events(struct pt_events *events, const struct mt_event *wanted,
				 size_t count)
{
	for (size_t i = 0; i < count && i < events->events.count; i++) {
		const struct mt_event *event = &events->events.items[i];

		if (event->kind == wanted[i].kind && event->from == wanted[i].from &&
		    event->to == wanted[i].to && event->detail == wanted[i].detail)
			continue;
		pt_print(events, 0, 20);
		fail_msg("event %zu differs", i);
	}
	assert_int_equal(events->events.count, count);
	pt_events_free(events);
}
#define ASSERT_EVENTS(events, ...)                                                                 \
	do {                                                                                       \
		const struct mt_event wanted[] = {__VA_ARGS__};                                    \
		assert_events(events, wanted, sizeof(wanted) / sizeof(*wanted));                   \
	} while (0)

#endif
