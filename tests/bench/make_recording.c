/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make_recording PROGRAM TEXT-ADDRESS TEXT-OFFSET TEXT-SIZE BLOCKS TICKS RECORDING: a recording of
 * a walk through PROGRAM's code, which never runs: its branches go as chance wants them, and a
 * block takes up to TICKS of the TSC.
 *
 * Standard input has the functions, "ADDRESS LEVEL" a line; indirect calls go one level down. */
#include "base/array.h"
#include "perf/recording_writer.h"
#include "pt/encoder.h"
#include "x86/insn.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEVELS       64
#define LEVEL_MAX    256 /* functions */
#define STACK_MAX    1024
#define PIECE_BLOCKS 2000000
#define PID          4242
/* A 2 GHz processor with a crystal of 25 MHz. */
#define TSC_START 2000000000000ull

static const struct mt_pt_timing timing = {
    .tsc_ctc_numerator = 80,
    .tsc_ctc_denominator = 1,
    .mtc_period = 3,
    .max_nonturbo_ratio = 20,
    .tsc = true,
    .mtc = true,
    .cyc = true,
};
static const struct mt_time_conversion conversion = {.shift = 10, .mult = 512};

/* The block that begins at an address, found when control first gets there. */
struct block {
	uint32_t end; /* of its last instruction; offsets into the text; 0: not known yet */
	uint32_t after;
	uint32_t target;
	uint8_t class;
	uint8_t taken; /* of 16 */
};

struct walk {
	const uint8_t *text;
	uint64_t address;
	size_t size;
	struct block *blocks;
	int8_t *levels; /* of the function at an address */
	uint32_t functions[LEVELS][LEVEL_MAX];
	size_t counts[LEVELS];
	struct mt_pt_encoder *encoder;
	uint32_t stack[STACK_MAX];
	size_t depth;
	uint64_t tsc;
	uint32_t ticks;
	uint64_t seed;
};

static void fail(const char *what)
{
	fprintf(stderr, "make_recording: %s\n", what);
	exit(1);
}

static void must(struct mt_error *error)
{
	if (error)
		fail(mt_error_message(error));
}

static uint32_t chance(struct walk *walk)
{
	walk->seed ^= walk->seed << 13;
	walk->seed ^= walk->seed >> 7;
	walk->seed ^= walk->seed << 17;
	return (uint32_t)(walk->seed >> 16);
}

static void read_functions(struct walk *walk)
{
	uint64_t address;
	int level;

	while (scanf("%lx %d", &address, &level) == 2) {
		size_t offset = address - walk->address;

		if (offset >= walk->size || level < -1 || level >= LEVELS)
			continue;
		/* From here to the next function; they come sorted. */
		memset(walk->levels + offset, level, walk->size - offset);
		if (level >= 0 && walk->counts[level] < LEVEL_MAX)
			walk->functions[level][walk->counts[level]++] = (uint32_t)offset;
	}
}

static void find_block(struct walk *walk, uint32_t at)
{
	static const uint8_t likely[] = {1, 4, 8, 12, 15};
	struct block *block = &walk->blocks[at];
	struct mt_insn insn;
	uint32_t end = at;

	for (;; end += insn.length) {
		if (mt_insn_decode(walk->text + end, walk->size - end, walk->address + end, &insn))
			fail("cannot decode the program's code");
		if (insn.class != MT_INSN_OTHER)
			break;
	}
	block->end = end;
	block->after = end + insn.length;
	block->target = (uint32_t)(insn.target - walk->address);
	block->class = insn.class;
	block->taken = likely[(end * 2654435761u >> 16) % 5];
	if (block->target <= end && block->taken > 12)
		block->taken = 12;
}

static uint32_t below(struct walk *walk, uint32_t at)
{
	int level = walk->levels[at] + 1;

	if (level >= LEVELS || !walk->counts[level])
		fail("an indirect call from the lowest level");
	return walk->functions[level][chance(walk) % walk->counts[level]];
}

static void push(struct walk *walk, uint32_t after)
{
	if (walk->depth == STACK_MAX)
		fail("too deep");
	walk->stack[walk->depth++] = after;
}

static uint32_t step(struct walk *walk, uint32_t at)
{
	struct block *block = &walk->blocks[at];
	uint64_t base = walk->address;
	uint32_t to;

	if (!block->end)
		find_block(walk, at);
	walk->tsc += 1 + chance(walk) % walk->ticks;
	switch (block->class) {
	case MT_INSN_BRANCH: {
		bool taken = chance(walk) % 16 < block->taken;

		to = taken ? block->target : block->after;
		mt_pt_encode_branch(walk->encoder, walk->tsc, taken, base + to);
		return to;
	}
	case MT_INSN_CALL:
		push(walk, block->after);
		mt_pt_encode_call(walk->encoder, walk->tsc, base + block->after,
				  base + block->target);
		return block->target;
	case MT_INSN_CALL_INDIRECT:
		push(walk, block->after);
		to = below(walk, block->end);
		mt_pt_encode_call_indirect(walk->encoder, walk->tsc, base + block->after,
					   base + to);
		return to;
	case MT_INSN_JUMP:
		mt_pt_encode_jump(walk->encoder, walk->tsc, base + block->target);
		return block->target;
	case MT_INSN_JUMP_INDIRECT:
		to = below(walk, block->end);
		mt_pt_encode_jump_indirect(walk->encoder, walk->tsc, base + to);
		return to;
	case MT_INSN_RETURN:
		to = walk->stack[--walk->depth];
		mt_pt_encode_return(walk->encoder, walk->tsc, base + to);
		return to;
	case MT_INSN_SYSCALL:
		mt_pt_encode_syscall(walk->encoder, walk->tsc);
		walk->tsc += 400;
		mt_pt_encode_start(walk->encoder, walk->tsc, base + block->after);
		return block->after;
	default:
		fail("an instruction that the walk does not know");
		return 0;
	}
}

static struct mt_sideband record_of(enum mt_sideband_kind kind, uint64_t tsc)
{
	return (struct mt_sideband){
	    .time_ns = mt_tsc_to_ns(&conversion, tsc),
	    .kind = (uint8_t)kind,
	    .pid = PID,
	    .tid = PID,
	    .cpu = 0,
	};
}

static void put_birth(struct mt_recording_writer *writer, const char *program, uint64_t address,
		      uint64_t offset, uint64_t size)
{
	struct mt_sideband comm = record_of(MT_SIDEBAND_COMM, TSC_START);
	struct mt_sideband map = record_of(MT_SIDEBAND_MMAP, TSC_START);
	struct mt_sideband start = record_of(MT_SIDEBAND_ITRACE_START, TSC_START);

	comm.comm.name = "program";
	comm.comm.exec = true;
	map.mmap.start = address;
	map.mmap.length = (size + 4095) & ~4095ull;
	map.mmap.offset = offset;
	map.mmap.path = program;
	map.mmap.executable = true;
	must(mt_recording_writer_put(writer, &comm));
	must(mt_recording_writer_put(writer, &map));
	must(mt_recording_writer_put(writer, &start));
}

/* What the encoder holds, as the stream's next piece. */
static void put_piece(struct walk *walk, struct mt_recording_writer *writer, uint64_t *offset)
{
	struct mt_sideband aux = record_of(MT_SIDEBAND_AUX, walk->tsc);
	struct mt_auxtrace piece = {
	    .offset = *offset, .reference = walk->tsc, .tid = PID, .cpu = -1};
	uint8_t *bytes;
	uint64_t bytes_lost;
	size_t size;

	must(mt_pt_encoder_snapshot(walk->encoder, &bytes, &size, &bytes_lost));
	mt_pt_encoder_clear(walk->encoder);
	piece.size = size;
	aux.aux.offset = *offset;
	aux.aux.size = (size + 7) & ~7ull;
	must(mt_recording_writer_put(writer, &aux));
	must(mt_recording_writer_put_aux(writer, &piece, bytes));
	*offset += aux.aux.size;
	free(bytes);
}

static const uint8_t *read_text(const char *path, uint64_t offset, size_t size)
{
	uint8_t *text = malloc(size + MT_INSN_MAX_BYTES);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !text || pread(fd, text, size, (off_t)offset) != (ssize_t)size)
		fail("cannot read the program");
	close(fd);
	return text;
}

static void make(struct walk *walk, struct mt_recording_writer *writer, uint64_t count)
{
	struct mt_sideband exit_record;
	uint64_t offset = 0;
	uint32_t at = 0;

	while (walk->levels[at] != -1)
		at++; /* _start */
	mt_pt_encode_start(walk->encoder, walk->tsc, walk->address + at);
	for (uint64_t i = 1; i <= count; i++) {
		at = step(walk, at);
		if (i % PIECE_BLOCKS == 0)
			put_piece(walk, writer, &offset);
	}
	mt_pt_encode_stop(walk->encoder, walk->tsc, walk->address + at);
	put_piece(walk, writer, &offset);
	exit_record = record_of(MT_SIDEBAND_EXIT, walk->tsc + 1000);
	must(mt_recording_writer_put(writer, &exit_record));
	printf("%lu\n", (unsigned long)offset);
}

int main(int argc, char **argv)
{
	if (argc != 8)
		fail("usage: PROGRAM TEXT-ADDRESS TEXT-OFFSET TEXT-SIZE BLOCKS TICKS RECORDING");
	uint64_t offset = strtoull(argv[3], NULL, 0);
	struct mt_pt_encoder_config config = {.timing = timing, .psb_period_bytes = 16384};
	struct mt_recording_pt pt = {
	    .present = true,
	    .tsc = true,
	    .mtc = true,
	    .cyc = true,
	    .return_compression = true,
	    .mtc_period = timing.mtc_period,
	    .max_nonturbo_ratio = timing.max_nonturbo_ratio,
	    .tsc_ctc_numerator = timing.tsc_ctc_numerator,
	    .tsc_ctc_denominator = timing.tsc_ctc_denominator,
	};
	struct mt_recording_writer_options options = {.pt = &pt, .conversion = conversion};
	struct mt_recording_writer *writer;
	struct walk *walk = calloc(1, sizeof(*walk));

	walk->address = strtoull(argv[2], NULL, 0);
	walk->size = strtoull(argv[4], NULL, 0);
	walk->text = read_text(argv[1], offset, walk->size);
	walk->blocks = calloc(walk->size, sizeof(*walk->blocks));
	walk->levels = malloc(walk->size);
	walk->ticks = (uint32_t)strtoul(argv[6], NULL, 0);
	if (!walk->ticks)
		fail("a block takes a tick at least");
	walk->tsc = TSC_START;
	walk->seed = 88172645463325252ull;
	memset(walk->levels, LEVELS, walk->size);
	read_functions(walk);
	must(mt_pt_encoder_create(&config, &walk->encoder));
	must(mt_recording_writer_create(argv[7], &options, &writer));
	put_birth(writer, argv[1], walk->address, offset, walk->size);
	make(walk, writer, strtoull(argv[5], NULL, 0));
	if (mt_pt_encoder_failed(walk->encoder))
		fail("no memory");
	must(mt_recording_writer_finish(writer));
	mt_recording_writer_destroy(writer);
	return 0;
}
