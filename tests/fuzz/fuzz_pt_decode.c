/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a trace of a fixed piece of code, cut in two anywhere: time never runs backwards,
 * the batches are as asked for, it ends, and libipt sees the same in the packets.  The first two
 * bytes say where the cut is.  The code changes whenever it is asked for, at the same addresses,
 * through more images than the decoder keeps the blocks of. */
#include "pt/decoder.h"
#include "pt/packet.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE   0x400000
#define IMAGES 10

/* A call, branches, a return, an indirect jump and call, a syscall, an endless loop. */
static const uint8_t code[64] = {
    0x90, 0xe8, 0x0a, 0,    0,    0,    0x74, 0x02, 0x90, 0x90, 0xeb, 0xf4, 0x90, 0x90, 0x90, 0x90,
    0x75, 0xfe, 0x0f, 0x84, 0x04, 0,    0,    0,    0xff, 0xd0, 0x0f, 0x05, 0xc3, 0x90, 0xff, 0xe0,
    0xeb, 0xfe, 0xcc, 0xcf, 0x48, 0x0f, 0x07, 0x0f, 0x01, 0xc2, 0xe2, 0xf0, 0xf3, 0xa4, 0xc2, 8,
};

struct stream {
	struct mt_pt_piece pieces[2];
	size_t next;
	struct mt_pt_image *const *images;
	size_t asked;
};

static void check(int holds)
{
	if (!holds)
		abort();
}

static int next_piece(void *context, struct mt_pt_piece *piece)
{
	struct stream *stream = context;

	if (stream->next == 2)
		return 0;
	*piece = stream->pieces[stream->next++];
	return 1;
}

static struct mt_pt_image *image_at(void *context, uint64_t time_ns, void **places)
{
	(void)places;
	struct stream *stream = context;

	(void)time_ns;
	return stream->images[stream->asked++ % IMAGES];
}

/* Of 16 bytes each, and some of the code in none. */
static bool place_at(void *context, void *places, uint64_t address, uint64_t *start, uint64_t *end)
{
	(void)places;
	(void)context;
	*start = address & ~UINT64_C(15);
	*end = *start + 16;
	return !(address & 32);
}

static char path[] = "/tmp/mtrace-fuzz-XXXXXX";

static void remove_code(void)
{
	unlink(path);
}

/* The same code, some of it further on in each. */
static struct mt_pt_image *const *make_images(void)
{
	static struct mt_pt_image_cache *cache;
	static struct mt_pt_image *images[IMAGES];

	if (cache)
		return images;
	int fd = mkstemp(path);
	check(fd >= 0 && write(fd, code, sizeof(code)) == sizeof(code));
	check(!mt_pt_image_cache_create(&cache));
	for (size_t i = 0; i < IMAGES; i++) {
		check(!mt_pt_image_create(cache, &images[i]));
		check(!mt_pt_image_add(images[i], path, i / 2, sizeof(code) - i / 2, BASE));
	}
	close(fd);
	/* libipt opens it by name whenever it maps it. */
	atexit(remove_code);
	return images;
}

/* An event in a number that depends on all before it; but of what was lost not how much, since an
 * error may be found at another packet than by libipt. */
static uint64_t mix(uint64_t sum, const struct mt_event *event)
{
	const uint64_t words[] = {
	    event->time_ns, event->kind == MT_EVENT_GAP ? 0 : event->from, event->to,
	    (uint64_t)event->kind << 40 | (uint64_t)event->flags << 32 | event->detail};

	for (size_t i = 0; i < 4; i++)
		sum = (sum ^ words[i]) * 0x9e3779b97f4a7c15u >> 1;
	return sum;
}

static uint64_t decode(const struct mt_pt_decoder_config *config)
{
	struct mt_pt_decoder *decoder;
	struct mt_event *events;
	size_t count;
	uint64_t time_ns = 0, sum = 1;

	check(!mt_pt_decoder_create(config, &decoder));
	do {
		check(!mt_pt_decoder_next(decoder, &events, &count) && count <= 64);
		for (size_t i = 0; i < count; i++) {
			check(events[i].time_ns >= time_ns);
			time_ns = events[i].time_ns;
			sum = mix(sum, &events[i]);
		}
	} while (count);
	mt_pt_decoder_destroy(decoder);
	return sum;
}

static uint64_t decode_copy(const uint8_t *bytes, size_t size, bool by_libipt, bool with_places)
{
	/* Broadwell, Skylake, Goldmont and one that nobody knows: by their errata. */
	static const uint8_t models[] = {0x4f, 0x5e, 0x5c, 0xff};
	struct stream stream = {.images = make_images()};
	const struct mt_pt_decoder_config config = {
	    .cpu = {.intel = true, .family = 6, .model = models[bytes[0] % 4]},
	    /* Without the crystal's frequency ours counts on, and libipt does not. */
	    .timing = {with_places ? 0 : 168, with_places ? 0 : 2, 3, 20, true, true, true},
	    .source = {next_piece, image_at, with_places ? place_at : NULL, NULL, &stream},
	    .by_libipt = by_libipt,
	    .batch_events = 64,
	};
	size_t cut = ((size_t)bytes[0] << 8 | bytes[1]) % (size - 1);
	uint8_t *copy = malloc(size); /* the decoder writes into it */

	check(copy != NULL);
	size -= 2;
	memcpy(copy, bytes + 2, size);
	stream.pieces[0] = (struct mt_pt_piece){.bytes = copy, .size = cut};
	stream.pieces[1] =
	    (struct mt_pt_piece){.bytes = copy + cut, .size = size - cut, .joined = true};
	uint64_t sum = decode(&config);
	free(copy);
	return sum;
}

/* A packet reaches into a PSB, as none does that a processor writes.  What is masked for libipt is
 * read from one beginning, and it may read from the other. */
static bool is_ambiguous(const uint8_t *bytes, size_t size)
{
	struct mt_pt_packet packet;
	size_t next, at = mt_pt_find_psb(bytes, size, 0);

	for (; at < size; at = next) {
		struct mt_pt_block block = {0};
		int length = 1;

		next = mt_pt_find_psb(bytes, size, at + 1);
		while (at < next && length > 0) {
			length =
			    mt_pt_packet_decode_in_block(bytes + at, size - at, &block, &packet);
			at += length > 0 ? (size_t)length : 0;
		}
		if (at > next)
			return true;
	}
	return false;
}

/* What libipt, which is not built for it, writes MemorySanitizer takes for undefined. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define WITHOUT_LIBIPT 1
#endif
#endif
#ifndef WITHOUT_LIBIPT
#define WITHOUT_LIBIPT 0
#endif

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size < 2)
		return 0;
	uint64_t sum = decode_copy(bytes, size, false, false);
	check(WITHOUT_LIBIPT || is_ambiguous(bytes + 2, size - 2) ||
	      decode_copy(bytes, size, true, false) == sum);
	decode_copy(bytes, size, false, true);
	return 0;
}
