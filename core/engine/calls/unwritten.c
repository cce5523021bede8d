/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that have their place in a ring, and are not whole there.  A thread that stands in a
 * trampoline may be about to write its newest event.  A signal may have come in between, too: then
 * the handler's events lie behind the place, in which the ring's last round is to be read yet. */
#include "engine/calls/private.h"

bool mt_calls_find_unwritten(const struct mt_calls_thread *thread, uint64_t pc, uint64_t rax,
			     uint64_t rcx, struct mt_calls_unwritten *out)
{
	const struct mt_calls_rings *rings = thread->rings;
	const struct mt_calls_place *place = mt_calls_place_of_trampoline(thread->space, pc);
	const struct mt_trampoline_row *row =
	    place ? mt_calls_row_at(place->module, pc) : mt_calls_condition_row(thread->space, pc);

	if (!row || !row->reserved)
		return false;
	*out = (struct mt_calls_unwritten){
	    .at = mt_trampoline_reserved_at(row, rax, rcx, mt_calls_slot(rings, thread->ring)->ring,
					    rings->ring_bytes, mt_calls_written(thread)),
	    .bytes = row->reserved * (unsigned)sizeof(struct mt_ring_event),
	};
	return true;
}

void mt_calls_clear_unwritten(const struct mt_calls_thread *thread,
			      const struct mt_calls_unwritten *unwritten)
{
	const struct mt_calls_rings *rings = thread->rings;

	mt_ring_clear(mt_calls_ring_here(rings, thread->ring), rings->ring_bytes,
		      mt_calls_written(thread), unwritten->at, unwritten->bytes);
}

uint64_t mt_calls_written_whole(struct mt_calls_engine *engine,
				const struct mt_calls_thread *thread, uint64_t written)
{
	struct user_regs_struct registers;
	struct mt_calls_unwritten unwritten;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);

	if (error) {
		mt_error_destroy(error);
		return written;
	}
	return mt_calls_find_unwritten(thread, registers.rip, registers.rax, registers.rcx,
				       &unwritten) &&
		       unwritten.at + unwritten.bytes >= written
		   ? unwritten.at
		   : written;
}
