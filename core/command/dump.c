/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a recording record by record, and its AUX data packet by packet.  Each line begins with
 * the offset in the file. */
#include "command/arguments.h"
#include "perf/format.h"
#include "perf/recording.h"
#include "pt/packet.h"

/* AUX data is mapped in windows; a packet that crosses one's end is read again from its start. */
#define WINDOW_BYTES (4u << 20)

static const char *const options[] = {"--packets", "--records", NULL};

struct dump {
	struct mt_command_context *context;
	struct mt_recording *recording;
	size_t next_piece; /* index of the next piece in the file */
	bool records;
	bool packets;
};

/* Prints the complete packets in BYTES and returns how many bytes they take: all of them at the
 * stream's end. */
static size_t print_packets(const struct dump *dump, const uint8_t *bytes, size_t size,
			    uint64_t file_offset, bool is_last)
{
	size_t at = 0;
	char text[128];

	while (at < size) {
		struct mt_pt_packet packet;
		int length = mt_pt_packet_decode(bytes + at, size - at, &packet);

		if (length < 0 && !is_last && at)
			break;
		if (length <= 0) {
			size_t psb = mt_pt_find_psb(bytes, size, at + 1);

			mt_command_printf(
			    dump->context, "%#010jx   %s: %zu bytes\n", (uintmax_t)file_offset + at,
			    length < 0 ? "truncated packet" : "not a packet", psb - at);
			at = psb;
			continue;
		}
		mt_pt_packet_format(&packet, text, sizeof(text));
		mt_command_printf(dump->context, "%#010jx   %s\n", (uintmax_t)file_offset + at,
				  text);
		at += (size_t)length;
	}
	return at;
}

static struct mt_error *dump_piece(const struct dump *dump, size_t index)
{
	const struct mt_auxtrace *piece = mt_recording_auxtrace(dump->recording, index);
	uint64_t at = 0;

	while (at < piece->size) {
		uint64_t size = piece->size - at < WINDOW_BYTES ? piece->size - at : WINDOW_BYTES;
		uint8_t *bytes = NULL;
		struct mt_error *error = mt_progress_step(dump->context->progress, "dumping",
							  piece->file_offset + at, 0);

		if (!error)
			error = mt_recording_map_aux(dump->recording, index, at, size, &bytes);
		if (error)
			return error;
		size_t done = print_packets(dump, bytes, size, piece->file_offset + at,
					    at + size == piece->size);
		mt_recording_unmap_aux(bytes, size);
		at += done;
	}
	return NULL;
}

static struct mt_error *dump_record(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				    uint64_t size, const char *name)
{
	struct dump *dump = context;
	const struct mt_auxtrace *piece =
	    dump->next_piece < mt_recording_auxtrace_count(dump->recording)
		? mt_recording_auxtrace(dump->recording, dump->next_piece)
		: NULL;

	if (dump->records)
		mt_command_printf(dump->context, "%#010jx %s (type %u, misc %#x, %ju bytes)\n",
				  (uintmax_t)offset, name, (unsigned int)type, (unsigned int)misc,
				  (uintmax_t)size);
	if (!piece || type != MT_PERF_RECORD_AUXTRACE || piece->file_offset - offset > size)
		return mt_progress_step(dump->context->progress, "dumping", offset, 0);
	if (dump->records)
		mt_command_printf(dump->context,
				  "%#010jx   AUX area %u, thread %d, CPU %d: %ju bytes from %#jx\n",
				  (uintmax_t)piece->file_offset, (unsigned int)piece->idx,
				  (int)piece->tid, (int)piece->cpu, (uintmax_t)piece->size,
				  (uintmax_t)piece->offset);
	size_t index = dump->next_piece++;
	return dump->packets ? dump_piece(dump, index) : NULL;
}

static struct mt_error *run(struct mt_command_context *context, int argc, char **argv)
{
	int packets = 0;
	int records = 0;
	const struct poptOption table[] = {
	    {"packets", 'p', POPT_ARG_NONE, &packets, 0, NULL, NULL},
	    {"records", 'r', POPT_ARG_NONE, &records, 0, NULL, NULL},
	    POPT_TABLEEND,
	};
	mt_auto(mt_arguments) struct mt_arguments arguments = {0};
	struct dump dump = {.context = context};
	struct mt_error *error =
	    mt_arguments_parse(&arguments, context, &mt_command_dump, table, argc, argv, 1, 1);

	if (!error)
		error = mt_recording_open(arguments.words[0], context->progress, &dump.recording);
	if (error)
		return error;
	dump.packets = packets || !records;
	dump.records = records || !packets;
	error = mt_recording_each_record(dump.recording, dump_record, &dump);
	mt_recording_close(dump.recording);
	return error;
}

const struct mt_command mt_command_dump = {
    .name = "dump",
    .summary = "Print the records and trace packets of a recording",
    .usage = "[--packets] [--records] RECORDING",
    .help =
	"Print each record of RECORDING and each Intel PT packet in its AUX data, with offsets\n"
	"in the file.  RECORDING \"-\" is standard input.\n"
	"\n"
	"Options:\n"
	"  -p, --packets  print only packets\n"
	"  -r, --records  print only records\n",
    .options = options,
    .where = MT_COMMAND_IN_SHELL | MT_COMMAND_IN_DEBUGGER,
    .takes = MT_COMMAND_TAKES_FILE,
    .run = run,
};
