/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Call events in a recording: what is written comes back, and perf lists the same. */
#include "perf_fixture.h"

#include "perf/call_batch.h"
#include "perf/format.h"

#include <sys/stat.h>

#define MANY 100000

static const struct mt_event few[] = {
    {NOW + 1, 0x7ffc00001ff8, 0x401000, MT_EVENT_FRAME, 0, 0, 0},
    {NOW + 2, 0x7ffc00001f88, 0x401100, MT_EVENT_ENTRY, 0, 0x7f12, 0xfedc4321},
    {NOW + 3, 0x7ffc00001f08, 0x401200, MT_EVENT_ENTRY, MT_EVENT_TIME_IS_ESTIMATE, 0, 0},
    {NOW + 4, 0x7ffc00001f08, 0x401234, MT_EVENT_LEAVE, MT_EVENT_TIME_IS_ESTIMATE, 0, 0},
    {NOW + 5, 0x7ffc00001f88, 0x401123, MT_EVENT_LEAVE, 0, 0, 0},
    {NOW + 6, 0x7ffc00003f88, 0x401100, MT_EVENT_AGAIN, MT_EVENT_TIME_IS_ESTIMATE, 0, 0},
};
#define FEW (sizeof(few) / sizeof(few[0]))

static struct mt_recording_writer *start_calls(const char *path)
{
	const struct mt_recording_writer_options options = {.calls = true,
							    .conversion = hello_conversion};
	struct mt_recording_writer *writer = NULL;

	assert_no_error(mt_recording_writer_create(path, &options, &writer));
	return writer;
}

static void put_name(struct mt_recording_writer *writer, int32_t tid)
{
	struct mt_sideband record = {.kind = MT_SIDEBAND_COMM,
				     .time_ns = NOW,
				     .pid = 100,
				     .tid = tid,
				     .cpu = -1,
				     .comm = {.name = "hello"}};

	assert_no_error(mt_recording_writer_put(writer, &record));
}

static void put_calls(struct mt_recording_writer *writer, int32_t tid, const struct mt_event *calls,
		      size_t count)
{
	assert_no_error(mt_recording_writer_put_calls(writer, 100, tid, calls, count));
}

static void check_call(const struct mt_event *call, const struct mt_event *wanted)
{
	assert_int_equal(call->time_ns, wanted->time_ns);
	assert_int_equal(call->to, wanted->to);
	assert_int_equal(call->from, wanted->from);
	assert_int_equal(call->kind, wanted->kind);
	assert_int_equal(mt_event_return_address(call), mt_event_return_address(wanted));
	assert_int_equal(call->flags, wanted->flags);
}

static struct mt_event *many_calls(void)
{
	struct mt_event *calls = calloc(MANY, sizeof(*calls));

	for (size_t i = 0; i < MANY; i++)
		calls[i] = (struct mt_event){
		    .time_ns = NOW + 10 * i,
		    .to = 0x400000 + i % 1000 * 16,
		    .from = 0x7ffc00001ff8 - i % 7 * 64,
		    .kind = i % 2 ? MT_EVENT_LEAVE : MT_EVENT_ENTRY,
		    .flags = i % 7 != 0 ? MT_EVENT_TIME_IS_ESTIMATE : 0,
		    .detail = i % 2 ? 0 : 0x400000 + i % 300 * 16,
		};
	return calls;
}

/* All of one thread's, read in batches of an odd size. */
static void check_thread(struct mt_recording *recording, size_t index, int32_t tid,
			 const struct mt_event *wanted, size_t count)
{
	const struct mt_recording_call_thread *thread = mt_recording_call_thread(recording, index);
	struct mt_recording_calls *calls = NULL;
	struct mt_event batch[977];
	size_t got = 0, done = 0;

	assert_int_equal(thread->pid, 100);
	assert_int_equal(thread->tid, tid);
	assert_int_equal(thread->events, count);
	assert_no_error(mt_recording_calls_open(recording, index, &calls));
	do {
		assert_no_error(mt_recording_calls_next(calls, batch, 977, &got));
		assert_true(done + got <= count);
		for (size_t i = 0; i < got; i++)
			check_call(&batch[i], &wanted[done + i]);
		done += got;
	} while (got);
	assert_int_equal(done, count);
	mt_recording_calls_close(calls);
}

/* What differences of addresses and times may come to. */
static struct mt_event *odd_calls(void)
{
	static const uint8_t kinds[] = {MT_EVENT_ENTRY, MT_EVENT_LEAVE, MT_EVENT_FRAME,
					MT_EVENT_AGAIN};
	struct mt_event *calls = calloc(MANY, sizeof(*calls));
	uint64_t random = 1, time_ns = NOW;

	for (size_t i = 0; i < MANY; i++) {
		uint64_t words[4];

		for (size_t k = 0; k < 4; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			words[k] = random >> (random >> 58);
		}
		time_ns += words[0] >> 16;
		calls[i] = (struct mt_event){
		    .time_ns = time_ns,
		    .from = words[1],
		    .to = i % 9 ? words[2] >> 16 : words[2],
		    .kind = i % 9 ? kinds[random >> 40 & 3] : MT_EVENT_VALUE,
		};
		if (calls[i].kind >= MT_EVENT_AGAIN || (calls[i].kind < MT_EVENT_FRAME && i % 7))
			calls[i].flags = MT_EVENT_TIME_IS_ESTIMATE;
		if (calls[i].kind == MT_EVENT_VALUE)
			calls[i].detail = (uint32_t)words[3];
		else if (calls[i].kind == MT_EVENT_ENTRY) /* some to the address before */
			mt_event_set_return_address(&calls[i],
						    i % 5 ? words[3] >> 16 : calls[i - 1].to);
	}
	return calls;
}

/* A named one has samples, which others read too; else they are in batches. */
static void comes_back(const char *path)
{
	struct mt_recording_writer *writer = start_calls(path);
	struct mt_recording *recording = NULL;
	struct mt_event *many = many_calls(), *odd = odd_calls();

	put_calls(writer, 101, few, 2);
	put_calls(writer, 102, many, 10);
	put_name(writer, 101);
	put_calls(writer, 101, few + 2, 1);
	put_calls(writer, 101, few + 3, 0);
	put_calls(writer, 102, many + 10, MANY - 10);
	put_calls(writer, 101, few + 3, FEW - 3);
	put_calls(writer, 103, odd, MANY);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_int_equal(mt_recording_call_thread_count(recording), 3);
	assert_int_equal(mt_recording_sideband_count(recording), 1);
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	check_thread(recording, 0, 101, few, FEW);
	check_thread(recording, 1, 102, many, MANY);
	check_thread(recording, 2, 103, odd, MANY);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
	free(many);
	free(odd);
}

static void what_is_written_comes_back(void **state)
{
	char *path = make_path();

	(void)state;
	comes_back(NULL);
	comes_back(path);
	remove_path(path);
}

/* A sample and a batch's beginning are of the same size. */
static void a_batch_may_follow_samples(void **state)
{
	static uint8_t batch[MT_CALL_BATCH_MAX], bytes[1 << 20];
	static struct mt_call_packer packer;
	struct mt_recording_writer *writer = NULL;
	struct mt_recording *recording = NULL;
	struct mt_perf_header header;
	struct mt_call_batch head;
	char *path = make_path();

	(void)state;
	writer = start_calls(path);
	put_calls(writer, 101, few, 2);
	assert_no_error(mt_recording_writer_finish(writer));
	mt_recording_writer_destroy(writer);

	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	assert_true(fread(bytes, 1, sizeof(bytes), file) > sizeof(header));
	memcpy(&header, bytes, sizeof(header));
	/* Its id follows those of samples, which it is laid out like up to there. */
	const uint64_t end = header.data.offset + header.data.size;
	struct mt_perf_call_sample last;
	memcpy(&last, bytes + end - sizeof(last), sizeof(last));
	assert_int_equal(mt_call_batch_pack(&packer, batch, few + 2, FEW - 2), FEW - 2);
	memcpy(&head, batch, sizeof(head));
	head.id = last.id + MT_PERF_CALL_BATCH - MT_PERF_CALL;
	head.pid = 100;
	head.tid = 101;
	memcpy(batch, &head, sizeof(head));
	header.data.size += head.header.size;
	memset(header.features, 0, sizeof(header.features));
	rewind(file);
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	assert_int_equal(fseek(file, (long)end, SEEK_SET), 0);
	assert_int_equal(fwrite(batch, head.header.size, 1, file), 1);
	assert_int_equal(fclose(file), 0);

	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	check_thread(recording, 0, 101, few, FEW);
	mt_recording_close(recording);
	remove_path(path);
}

/* All that a batch may hold instead of what was put there. */
static void garbled_batches_are_errors_or_other_calls(void **state)
{
	enum { BATCH = 100 };
	static uint8_t bytes[MT_CALL_BATCH_MAX + MT_CALL_BATCH_EVENT_MOST];
	static struct mt_call_packer packer;
	struct mt_event *many = odd_calls(), batch[BATCH];
	uint8_t whole[8192];
	struct mt_call_batch head;
	struct mt_call_unpacker unpacker;
	uint64_t random = 1;

	(void)state;
	assert_int_equal(mt_call_batch_pack(&packer, bytes, many, BATCH), BATCH);
	memcpy(&head, bytes, sizeof(head));
	assert_true(head.header.size <= sizeof(whole));
	memcpy(whole, bytes, head.header.size);
	for (size_t i = 0; i < MANY; i++) {
		size_t count = 0, more = 1;

		random = random * 6364136223846793005u + 1442695040888963407u;
		memcpy(bytes, whole, head.header.size);
		bytes[(random >> 33) % head.header.size] ^= (uint8_t)(1 << (random >> 29 & 7));
		if (!mt_call_unpacker_init(&unpacker, bytes, head.header.size))
			continue;
		for (; unpacker.left && more; count += more) {
			more = mt_call_unpacker_next(&unpacker, batch, BATCH);
			assert_true(unpacker.at <= unpacker.end);
		}
		assert_true(count <= head.header.size / MT_CALL_BATCH_EVENT_LEAST);
	}
	/* Shorter than it says. */
	assert_false(mt_call_unpacker_init(&unpacker, whole, head.header.size - 8));
	assert_false(mt_call_unpacker_init(&unpacker, whole, sizeof(head) - 1));
	free(many);
}

static void calls_alone_give_times(void **state)
{
	struct mt_recording_writer *writer = start_calls(NULL);
	struct mt_recording *recording = NULL;

	(void)state;
	put_calls(writer, 101, few, FEW);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	assert_true(mt_recording_info(recording)->has_time);
	mt_recording_close(recording);
	mt_recording_writer_destroy(writer);
}

static void a_recording_not_made_for_calls_takes_none(void **state)
{
	const struct mt_recording_writer_options options = {0};
	struct mt_recording_writer *writer = NULL;

	(void)state;
	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	struct mt_error *error = mt_recording_writer_put_calls(writer, 1, 1, few, FEW);
	assert_non_null(error);
	mt_error_destroy(error);
	mt_recording_writer_destroy(writer);
}

/* Written but never finished: the tracer was killed. */
static void a_cut_off_file_keeps_its_calls(void **state)
{
	struct mt_event *many = many_calls();
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);
	struct mt_recording *recording = NULL;
	size_t size = 0;

	(void)state;
	put_calls(writer, 101, many, MANY);
	finish(writer);
	uint8_t *bytes = read_bytes(path, &size);
	assert_non_null(bytes);
	if (!bytes)
		return;
	FILE *stream = fopen(path, "wb");
	memset(bytes + 48, 0, 8); /* the data's size */
	assert_int_equal(fwrite(bytes, 1, 480000, stream), 480000);
	fclose(stream);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_true(mt_recording_info(recording)->is_truncated);
	size_t kept = mt_recording_call_thread(recording, 0)->events;
	const struct mt_perf_header *header = (const struct mt_perf_header *)bytes;
	const size_t room = 480000 - header->data.offset;
	assert_in_range(kept, room / sizeof(struct mt_perf_call_sample) - 50,
			room / sizeof(struct mt_perf_call_sample));
	check_thread(recording, 0, 101, many, kept);
	mt_recording_close(recording);
	remove_path(path);
	free(bytes);
	free(many);
}

/* Makes of the bytes of a file that holds calls alone those of one from before return addresses
 * were recorded.  Returns how many there are; the header says of none how many. */
static size_t make_old(uint8_t *bytes, size_t size)
{
	struct mt_perf_header *header = (struct mt_perf_header *)bytes;
	uint64_t type = MT_PERF_CALL_SAMPLE_TYPE, old_type = MT_PERF_CALL_SAMPLE_TYPE_1;
	size_t at = header->data.offset, end = at + header->data.size, to = at;

	for (size_t i = 0; i + sizeof(type) <= header->data.offset; i += sizeof(type))
		if (memcmp(bytes + i, &type, sizeof(type)) == 0)
			memcpy(bytes + i, &old_type, sizeof(old_type));
	assert_true(end <= size);
	while (at < end) {
		struct perf_event_header record;
		size_t is_call, whole;

		memcpy(&record, bytes + at, sizeof(record));
		whole = record.size;
		is_call = record.type == PERF_RECORD_SAMPLE;
		if (is_call)
			record.size = MT_PERF_CALL_SAMPLE_BYTES_1;
		memmove(bytes + to, bytes + at, record.size);
		memcpy(bytes + to, &record, sizeof(record));
		at += whole;
		to += record.size;
	}
	header->data.size = 0;
	return to;
}

static void recordings_without_return_addresses_are_read(void **state)
{
	struct mt_event *many = many_calls();
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);
	struct mt_recording *recording = NULL;
	size_t size = 0;

	(void)state;
	put_calls(writer, 101, many, MANY);
	finish(writer);
	uint8_t *bytes = read_bytes(path, &size);
	assert_non_null(bytes);
	if (!bytes)
		return;
	size = make_old(bytes, size);
	FILE *stream = fopen(path, "wb");
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	fclose(stream);
	for (size_t i = 0; i < MANY; i++)
		mt_event_set_return_address(&many[i], 0);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	check_thread(recording, 0, 101, many, MANY);
	mt_recording_close(recording);
	remove_path(path);
	free(bytes);
	free(many);
}

/* The INDEX-th call event among the bytes of a file. */
static struct mt_perf_call_sample *sample_at(uint8_t *bytes, size_t index)
{
	const struct mt_perf_header *header = (const struct mt_perf_header *)bytes;
	struct perf_event_header record;

	for (size_t at = header->data.offset;; at += record.size) {
		memcpy(&record, bytes + at, sizeof(record));
		assert_true(record.size >= sizeof(record));
		if (record.type == PERF_RECORD_SAMPLE && !index--)
			return (struct mt_perf_call_sample *)(bytes + at);
	}
}

/* Amid many of one thread: one of another thread, one of no thread, and one of no event. */
static void runs_end_where_something_else_stands(void **state)
{
	enum { OTHER = 30000, NOBODY = 50000, NOTHING = 50001, LEFT = 3 };
	struct mt_event *many = many_calls();
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);
	struct mt_recording *recording = NULL;
	size_t size = 0, kept = 0;

	(void)state;
	put_calls(writer, 101, many, MANY);
	finish(writer);
	uint8_t *bytes = read_bytes(path, &size);
	assert_non_null(bytes);
	if (!bytes)
		return;
	sample_at(bytes, OTHER)->tid = 102;
	sample_at(bytes, NOBODY)->tid = -5;
	sample_at(bytes, NOTHING)->id += 1 << 20;
	FILE *stream = fopen(path, "wb");
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	fclose(stream);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_int_equal(mt_recording_info(recording)->bad_records, 2);
	assert_int_equal(mt_recording_call_thread_count(recording), 2);
	check_thread(recording, 1, 102, &many[OTHER], 1);
	for (size_t i = 0; i < MANY; i++)
		if (i != OTHER && i != NOBODY && i != NOTHING)
			many[kept++] = many[i];
	check_thread(recording, 0, 101, many, MANY - LEFT);
	mt_recording_close(recording);
	remove_path(path);
	free(bytes);
	free(many);
}

/* Whatever stands in the file: no crash, and never more events than there is room for. */
static void garbled_calls_do_no_harm(void **state)
{
	struct mt_event *many = many_calls();
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);
	size_t size = 0;

	(void)state;
	put_calls(writer, 101, many, 500);
	put_calls(writer, 102, many, 500);
	finish(writer);
	uint8_t *bytes = read_bytes(path, &size);
	assert_true(size);
	srand(1);
	for (int round = 0; round < 300; round++) {
		struct mt_recording *recording = NULL;
		size_t at = (size_t)rand() % size;
		uint8_t old = bytes[at];
		uint64_t events = 0;

		bytes[at] = (uint8_t)rand();
		FILE *stream = fopen(path, "wb");
		assert_int_equal(fwrite(bytes, 1, size, stream), size);
		fclose(stream);
		bytes[at] = old;
		mt_error_destroy(mt_recording_open(path, NULL, &recording));
		for (size_t i = 0; recording && i < mt_recording_call_thread_count(recording);
		     i++) {
			struct mt_recording_calls *calls = NULL;
			struct mt_event batch[64];
			size_t got = 0, sum = 0;

			assert_no_error(mt_recording_calls_open(recording, i, &calls));
			do {
				assert_no_error(mt_recording_calls_next(calls, batch, 64, &got));
				sum += got;
			} while (got);
			assert_int_equal(sum, mt_recording_call_thread(recording, i)->events);
			events += sum;
			mt_recording_calls_close(calls);
		}
		assert_true(events <= 1000);
		mt_recording_close(recording);
	}
	remove_path(path);
	free(bytes);
	free(many);
}

static void perf_lists_the_calls(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);

	(void)state;
	require_perf();
	put_name(writer, 101);
	put_calls(writer, 101, few, FEW);
	finish(writer);
	char *text =
	    output_of("perf script --ns -F tid,time,event,ip,addr -i %s 2>&1 | tr -s ' '", path);
	assert_string_equal(text, " 101 1385530.563887105: mtrace:frame: 7ffc00001ff8 401000\n"
				  " 101 1385530.563887106: mtrace:call: 7ffc00001f88 401100\n"
				  " 101 1385530.563887107: mtrace:call~: 7ffc00001f08 401200\n"
				  " 101 1385530.563887108: mtrace:return~: 7ffc00001f08 401234\n"
				  " 101 1385530.563887109: mtrace:return: 7ffc00001f88 401123\n"
				  " 101 1385530.563887110: mtrace:again: 7ffc00003f88 401100\n");
	free(text);
	remove_path(path);
}

static void perf_needs_no_options(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);

	(void)state;
	require_perf();
	put_name(writer, 101);
	put_calls(writer, 101, few, FEW);
	finish(writer);
	char *text = output_of("perf script -i %s 2>&1 | tr -s ' '", path);
	check_contains(text, "hello 101 1385530.563887: 1 mtrace:call: 401100");
	free(text);
	text = output_of("perf report -i %s --stdio 2>&1 | tr -s ' '", path);
	check_contains(text, "Samples: 1 of event 'mtrace:call~'");
	free(text);
	remove_path(path);
}

static void perf_counts_the_same(void **state)
{
	struct mt_event *many = many_calls();
	char *path = make_path();
	struct mt_recording_writer *writer = start_calls(path);

	(void)state;
	require_perf();
	put_name(writer, 101);
	put_name(writer, 102);
	put_calls(writer, 101, many, MANY);
	put_calls(writer, 102, many, MANY / 2);
	finish(writer);
	char *text =
	    output_of("perf script -F tid,event -i %s 2>&1 | tr -d ' ' | LC_ALL=C sort | uniq -c | "
		      "tr -s ' '",
		      path);
	assert_string_equal(text, " 7143 101mtrace:call:\n"
				  " 42857 101mtrace:call~:\n"
				  " 7143 101mtrace:return:\n"
				  " 42857 101mtrace:return~:\n"
				  " 3572 102mtrace:call:\n"
				  " 21428 102mtrace:call~:\n"
				  " 3571 102mtrace:return:\n"
				  " 21429 102mtrace:return~:\n");
	free(text);
	remove_path(path);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_comes_back),
	    cmocka_unit_test(a_batch_may_follow_samples),
	    cmocka_unit_test(garbled_batches_are_errors_or_other_calls),
	    cmocka_unit_test(calls_alone_give_times),
	    cmocka_unit_test(a_recording_not_made_for_calls_takes_none),
	    cmocka_unit_test(a_cut_off_file_keeps_its_calls),
	    cmocka_unit_test(recordings_without_return_addresses_are_read),
	    cmocka_unit_test(runs_end_where_something_else_stands),
	    cmocka_unit_test(garbled_calls_do_no_harm),
	    cmocka_unit_test(perf_lists_the_calls),
	    cmocka_unit_test(perf_needs_no_options),
	    cmocka_unit_test(perf_counts_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
