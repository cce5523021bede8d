/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_decode WHAT RECORDING: one way of decoding, which is timed from outside.  Prints blocks and
 * bytes of trace.
 *
 *	libipt  bare pt_blk over each piece
 *	events  our decoder alone, its events thrown away
 *	stacks  to call stacks, the slices thrown away
 *	fxt     to a file, OUTPUT in the environment */
#include "decode/decode.h"
#include "no_sink.h"
#include "output/trace_writer.h"
#include "pt/decoder.h"

#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t blocks, bytes;

static void fail(const char *what)
{
	fprintf(stderr, "bench_decode: %s\n", what);
	exit(1);
}

static void must(struct mt_error *error)
{
	if (error)
		fail(mt_error_message(error));
}

/* The files of code that the recording says were mapped: the next one at or behind RECORD; NULL:
 * that was all. */
static const struct mt_sideband *next_code(const struct mt_recording *recording,
					   const struct mt_sideband *record)
{
	const struct mt_sideband *end =
	    mt_recording_sideband(recording) + mt_recording_sideband_count(recording);

	while (record < end && (record->kind != MT_SIDEBAND_MMAP || !record->mmap.executable ||
				record->mmap.path[0] != '/'))
		record++;
	return record < end ? record : NULL;
}

#define EACH_CODE(record, recording)                                                               \
	const struct mt_sideband *record = next_code(recording, mt_recording_sideband(recording)); \
	record;                                                                                    \
	record = next_code(recording, record + 1)

static struct mt_pt_timing timing_of(const struct mt_recording_pt *pt)
{
	return (struct mt_pt_timing){
	    .tsc_ctc_numerator = pt->tsc_ctc_numerator,
	    .tsc_ctc_denominator = pt->tsc_ctc_denominator,
	    .mtc_period = pt->mtc_period,
	    .max_nonturbo_ratio = pt->max_nonturbo_ratio,
	    .tsc = pt->tsc,
	    .mtc = pt->mtc,
	    .cyc = pt->cyc,
	};
}

/* ---- libipt alone ---- */

static void decode_piece(struct pt_config *config, struct pt_image *image)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	struct pt_event event;
	struct pt_block block;

	if (!decoder || pt_blk_set_image(decoder, image) < 0)
		fail("libipt: no memory");
	int status = pt_blk_sync_forward(decoder);
	while (status >= 0) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(decoder, &event, sizeof(event));
		if (status < 0 || status & pts_eos)
			break;
		status = pt_blk_next(decoder, &block, sizeof(block));
		blocks++;
	}
	if (status < 0 && status != -pte_eos)
		fail(pt_errstr(pt_errcode(status)));
	pt_blk_free_decoder(decoder);
}

static struct pt_image *libipt_image(const struct mt_recording *recording,
				     struct pt_image_section_cache *cache)
{
	struct pt_image *image = pt_image_alloc(NULL);

	for (EACH_CODE(record, recording)) {
		int isid = pt_iscache_add_file(cache, record->mmap.path, record->mmap.offset,
					       record->mmap.length, record->mmap.start);

		if (isid < 0 || pt_image_add_cached(image, cache, isid, NULL) < 0)
			fail("libipt: no code");
	}
	return image;
}

static void run_libipt(struct mt_recording *recording)
{
	const struct mt_recording_pt *pt = mt_recording_pt(recording);
	struct pt_image_section_cache *cache = pt_iscache_alloc(NULL);
	struct pt_image *image = libipt_image(recording, cache);
	struct pt_config config;

	pt_iscache_set_limit(cache, 1ull << 30);
	pt_config_init(&config);
	config.cpuid_0x15_eax = pt->tsc_ctc_denominator;
	config.cpuid_0x15_ebx = pt->tsc_ctc_numerator;
	config.mtc_freq = pt->mtc_period;
	config.nom_freq = pt->max_nonturbo_ratio;
	config.flags.variant.block.end_on_call = 1;
	config.flags.variant.block.end_on_jump = 1;
	for (size_t i = 0; i < mt_recording_auxtrace_count(recording); i++) {
		uint64_t size = mt_recording_auxtrace(recording, i)->size;
		uint8_t *piece;

		must(mt_recording_map_aux(recording, i, 0, size, &piece));
		config.begin = (uint8_t *)(uintptr_t)piece;
		config.end = config.begin + size;
		decode_piece(&config, image);
		mt_recording_unmap_aux(piece, size);
		bytes += size;
	}
	pt_image_free(image);
	pt_iscache_free(cache);
}

/* ---- our decoder alone ---- */

struct stream {
	struct mt_recording *recording;
	struct mt_pt_image *image;
	size_t next;
	uint8_t *mapped;
	uint64_t mapped_size;
};

static int next_piece(void *context, struct mt_pt_piece *piece)
{
	struct stream *stream = context;

	if (stream->mapped)
		mt_recording_unmap_aux(stream->mapped, stream->mapped_size);
	stream->mapped = NULL;
	if (stream->next == mt_recording_auxtrace_count(stream->recording))
		return 0;
	stream->mapped_size = mt_recording_auxtrace(stream->recording, stream->next)->size;
	must(mt_recording_map_aux(stream->recording, stream->next, 0, stream->mapped_size,
				  &stream->mapped));
	piece->bytes = stream->mapped;
	piece->size = stream->mapped_size;
	piece->joined = stream->next++ != 0;
	return 1;
}

static struct mt_pt_image *image_at(void *context, uint64_t time_ns, void **places)
{
	(void)places;
	(void)time_ns;
	return ((struct stream *)context)->image;
}

static void run_events(struct mt_recording *recording)
{
	struct stream stream = {.recording = recording};
	struct mt_pt_decoder_config config = {
	    .timing = timing_of(mt_recording_pt(recording)),
	    .conversion = mt_recording_info(recording)->conversion,
	    .source = {next_piece, image_at, NULL, NULL, &stream},
	};
	struct mt_pt_image_cache *cache;
	struct mt_pt_decoder *decoder;
	struct mt_event *events;
	size_t count;

	must(mt_pt_image_cache_create(&cache));
	must(mt_pt_image_create(cache, &stream.image));
	for (EACH_CODE(record, recording))
		must(mt_pt_image_add(stream.image, record->mmap.path, record->mmap.offset,
				     record->mmap.length, record->mmap.start));
	must(mt_pt_decoder_create(&config, &decoder));
	do {
		must(mt_pt_decoder_next(decoder, &events, &count));
	} while (count);
	struct mt_pt_decoder_stats stats = mt_pt_decoder_stats(decoder);
	if (stats.gaps)
		fail("gaps");
	blocks = stats.blocks;
	bytes = stats.bytes;
	mt_pt_decoder_destroy(decoder);
	mt_pt_image_destroy(stream.image);
	mt_pt_image_cache_destroy(cache);
}

/* ---- the whole way ---- */

static void run_decode(struct mt_recording *recording, struct mt_slice_sink sink)
{
	struct mt_decode_stats stats;

	must(mt_decode(recording, NULL, sink, &stats));
	if (stats.gaps || stats.missing_files)
		fail("gaps, or code that is missing");
	blocks = stats.blocks;
	bytes = stats.bytes;
}

static void run_fxt(struct mt_recording *recording)
{
	struct mt_trace_writer *writer;

	must(mt_trace_writer_create(getenv("OUTPUT"), "fxt", NULL, &writer));
	run_decode(recording, mt_trace_writer_sink(writer));
	must(mt_trace_writer_finish(writer));
	mt_trace_writer_destroy(writer);
}

int main(int argc, char **argv)
{
	struct mt_recording *recording;

	if (argc != 3)
		fail("usage: libipt|events|stacks|fxt RECORDING");
	must(mt_recording_open(argv[2], NULL, &recording));
	if (strcmp(argv[1], "libipt") == 0)
		run_libipt(recording);
	else if (strcmp(argv[1], "events") == 0)
		run_events(recording);
	else if (strcmp(argv[1], "stacks") == 0)
		run_decode(recording, (struct mt_slice_sink){.ops = &no_ops});
	else if (strcmp(argv[1], "fxt") == 0)
		run_fxt(recording);
	mt_recording_close(recording);
	printf("%lu %lu\n", (unsigned long)blocks, (unsigned long)bytes);
	return 0;
}
