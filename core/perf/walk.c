/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a recording one after the other.
 *
 * A record says how long it is, so one that lies about it takes the way to all that follow with it.
 * Then the next offset is looked for from which several plausible records follow one another.  What
 * a cut-off file ends with is no bad record. */
#include "perf/recording_private.h"

#define WINDOW_SIZE     (1u << 20) /* more than the largest record */
#define PLAUSIBLE_CHAIN 3

struct walk {
	const struct mt_recording *recording;
	const struct mt_progress *progress;
	mt_perf_visitor *visitor;
	mt_perf_run_visitor *run_visitor; /* NULL: there is none */
	void *context;
	struct mt_unpacker *unpacker; /* NULL: nothing was packed so far */
	struct mt_perf_walk_result *result;
	uint8_t *window; /* bytes of the file */
	uint64_t window_offset;
	size_t window_size;
};

/* SIZE bytes of the file; NULL with no error beyond the end of the data. */
static struct mt_error *look(struct walk *walk, uint64_t offset, size_t size, const uint8_t **bytes)
{
	uint64_t end = walk->recording->data_end;

	*bytes = NULL;
	if (offset > end || size > end - offset)
		return NULL;
	if (offset < walk->window_offset ||
	    offset + size > walk->window_offset + walk->window_size) {
		uint64_t wanted = end - offset < WINDOW_SIZE ? end - offset : WINDOW_SIZE;

		mt_try(mt_progress_step(walk->progress, "reading the recording", offset, end));
		walk->window_offset = offset;
		walk->window_size = 0;
		mt_try(mt_recording_read(walk->recording, walk->window, wanted, offset,
					 &walk->window_size));
		if (walk->window_size < size) /* the file became shorter meanwhile */
			return NULL;
	}
	*bytes = walk->window + (offset - walk->window_offset);
	return NULL;
}

/* A record's first bytes, which say how long it is with what follows it. */
#define HEAD_SIZE 16

/* How many bytes follow the record; 0 too where it is too short to say. */
static uint64_t following_size(const struct perf_event_header *header, const uint8_t *bytes)
{
	size_t head = header->size < HEAD_SIZE ? header->size : HEAD_SIZE;
	struct mt_cursor cursor = mt_cursor_over(bytes + sizeof(*header), head - sizeof(*header));

	if (header->type == MT_PERF_RECORD_AUXTRACE)
		return mt_cursor_u64(&cursor);
	if (header->type == MT_PERF_RECORD_HEADER_TRACING_DATA)
		return ((uint64_t)mt_cursor_u32(&cursor) + MT_PERF_ALIGNMENT - 1) &
		       ~(uint64_t)(MT_PERF_ALIGNMENT - 1);
	return 0;
}

enum verdict {
	WHOLE,
	CUT, /* its end lies beyond the data's */
	BAD,
};

static struct mt_error *read_record(struct walk *walk, uint64_t offset,
				    struct mt_perf_record *record, enum verdict *verdict)
{
	uint64_t left = walk->recording->data_end - offset;
	const uint8_t *bytes = NULL;

	*verdict = CUT;
	mt_try(look(walk, offset, sizeof(record->header), &bytes));
	if (!bytes)
		return NULL;
	memcpy(&record->header, bytes, sizeof(record->header));
	if (record->header.size < sizeof(record->header)) {
		*verdict = BAD;
		return NULL;
	}
	mt_try(look(walk, offset, record->header.size, &record->bytes));
	if (!record->bytes)
		return NULL;
	left -= record->header.size;
	record->offset = offset;
	record->data_size = following_size(&record->header, record->bytes);
	if (record->data_size <= left)
		*verdict = WHOLE;
	else
		record->data_size = left;
	return NULL;
}

static bool is_plausible(const struct perf_event_header *header)
{
	bool may_be_unaligned = header->type == MT_PERF_RECORD_COMPRESSED ||
				header->type == MT_PERF_RECORD_HEADER_FEATURE;

	return mt_perf_record_name(header->type) && header->size >= sizeof(*header) &&
	       (header->size % MT_PERF_ALIGNMENT == 0 || may_be_unaligned);
}

/* How many bytes the record at OFFSET takes with what follows it; 0: it cannot be one.  Where the
 * window does not reach no more than its head is read: what lies about its length may point
 * anywhere, from each offset anew. */
static struct mt_error *plausible_size(struct walk *walk, uint64_t offset, uint64_t *size)
{
	uint64_t left = walk->recording->data_end - offset;
	struct perf_event_header header;
	uint8_t head[HEAD_SIZE] = {0};
	size_t count = left < HEAD_SIZE ? left : HEAD_SIZE;

	*size = 0;
	if (offset >= walk->window_offset &&
	    offset + count <= walk->window_offset + walk->window_size)
		memcpy(head, walk->window + (offset - walk->window_offset), count);
	else
		mt_try(mt_recording_read(walk->recording, head, count, offset, &count));
	memcpy(&header, head, sizeof(header));
	if (count < sizeof(header) || !is_plausible(&header) || header.size > left)
		return NULL;
	uint64_t following = following_size(&header, head);
	if (following <= left - header.size)
		*size = header.size + following;
	return NULL;
}

/* The next good offset behind a bad record: the data's end when there is none. */
static struct mt_error *find_next(struct walk *walk, uint64_t *offset)
{
	uint64_t end = walk->recording->data_end;
	const uint8_t *bytes;
	bool found = false;

	while (!found && ++*offset < end) {
		uint64_t at = *offset, size = 0;

		mt_try(look(walk, at, end - at < HEAD_SIZE ? end - at : HEAD_SIZE, &bytes));
		found = true;
		for (int i = 0; found && i < PLAUSIBLE_CHAIN && at != end; i++) {
			mt_try(plausible_size(walk, at, &size));
			found = size != 0;
			at += size;
		}
	}
	return NULL;
}

static struct mt_error *visit_unpacked(struct walk *walk, uint64_t offset, const uint8_t *bytes,
				       size_t count)
{
	size_t at = 0;

	while (count - at >= sizeof(struct perf_event_header)) {
		struct mt_perf_record record = {
		    .offset = offset, .bytes = bytes + at, .packed = true};

		memcpy(&record.header, bytes + at, sizeof(record.header));
		if (record.header.size < sizeof(record.header) ||
		    record.header.type >= MT_PERF_RECORD_USER_FIRST) {
			walk->result->bad_records++; /* nothing follows it that can be found */
			at = count;
			break;
		}
		if (record.header.size > count - at)
			break;
		mt_try(walk->visitor(walk->context, &record));
		at += record.header.size;
	}
	mt_unpacker_took(walk->unpacker, at);
	return NULL;
}

static struct mt_error *unpack(struct walk *walk, const struct mt_perf_record *record)
{
	struct mt_cursor body = mt_perf_record_body(record);
	uint64_t size = mt_cursor_left(&body);
	const uint8_t *bytes = NULL;
	size_t count = 0;

	if (record->header.type == MT_PERF_RECORD_COMPRESSED2)
		size = mt_cursor_u64(&body);
	const uint8_t *data = mt_cursor_bytes(&body, size);
	if (!walk->unpacker)
		walk->unpacker = mt_unpacker_create();
	if (!walk->unpacker)
		return mt_error_no_memory();
	enum mt_parsed parsed =
	    data ? mt_unpacker_feed(walk->unpacker, data, size, &bytes, &count) : MT_GARBLED;
	if (parsed == MT_NO_MEMORY)
		return mt_error_no_memory();
	if (parsed == MT_GARBLED) {
		walk->result->bad_records++;
		return NULL;
	}
	return visit_unpacked(walk, record->offset, bytes, count);
}

/* A record whose end is not there: the last of a file that was cut off, or one that lies. */
static bool is_cut_off(const struct walk *walk, const struct mt_perf_record *record)
{
	const struct mt_recording_info *info = &walk->recording->info;

	if (!info->is_truncated && !info->is_pipe)
		return false;
	return !record->header.size || is_plausible(&record->header);
}

/* How much the visitor of runs takes of what the window has from OFFSET on. */
static size_t visit_run(const struct walk *walk, uint64_t offset)
{
	const uint64_t at = offset - walk->window_offset;

	if (!walk->run_visitor || offset < walk->window_offset || at >= walk->window_size)
		return 0;
	return walk->run_visitor(walk->context, offset, walk->window + at, walk->window_size - at);
}

static struct mt_error *walk_all(struct walk *walk)
{
	uint64_t offset = walk->recording->data_offset;

	while (offset < walk->recording->data_end) {
		struct mt_perf_record record = {0};
		enum verdict verdict;
		const size_t taken = visit_run(walk, offset);

		if (taken) {
			offset += taken;
			continue;
		}
		mt_try(read_record(walk, offset, &record, &verdict));
		if (verdict == WHOLE || (verdict == CUT && is_cut_off(walk, &record))) {
			walk->result->is_truncated |= verdict == CUT;
			if (record.bytes)
				mt_try(walk->visitor(walk->context, &record));
			if (record.bytes && (record.header.type == MT_PERF_RECORD_COMPRESSED ||
					     record.header.type == MT_PERF_RECORD_COMPRESSED2))
				mt_try(unpack(walk, &record));
			if (verdict == CUT)
				break;
			offset += record.header.size + record.data_size;
		} else {
			walk->result->bad_records++;
			mt_try(find_next(walk, &offset));
		}
	}
	return NULL;
}

struct mt_error *mt_recording_walk(const struct mt_recording *recording,
				   const struct mt_progress *progress, mt_perf_visitor *visitor,
				   mt_perf_run_visitor *run_visitor, void *context,
				   struct mt_perf_walk_result *result)
{
	struct walk walk = {
	    .recording = recording,
	    .progress = progress,
	    .visitor = visitor,
	    .run_visitor = run_visitor,
	    .context = context,
	    .result = result,
	    .window = malloc(WINDOW_SIZE),
	};

	*result = (struct mt_perf_walk_result){0};
	struct mt_error *error = walk.window ? walk_all(&walk) : mt_error_no_memory();
	mt_unpacker_destroy(walk.unpacker);
	free(walk.window);
	return error;
}
